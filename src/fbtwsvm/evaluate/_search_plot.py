"""The two plots of a search: scores against one parameter, and over C and reg."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.ticker import Locator

    from ..search.cv import FBTWSVMCV

_NUMBERS = ("gamma", "C", "reg", "n_components")  # searched parameters that have a logarithmic axis
_RIGHT = ("C", "reg")  # those of the right plot
_SHOWN = ("params", "mean_test_score", "stopped")
_MOST_TICKS = 7
_BEST: dict[str, Any] = {
    "marker": "*",
    "s": 130,
    "color": "#d9822b",
    "edgecolor": "black",
    "linewidth": 0.7,
    "zorder": 4,
}


def plot_search(left: Axes, right: Axes, tuned: FBTWSVMCV) -> None:
    """Plot the scores against gamma, or the next parameter that was searched, and over C and reg."""
    searched = [name for name in _NUMBERS if name in tuned.best_params_]
    on_the_right = [name for name in _RIGHT if name in searched]
    if len(on_the_right) == 2:
        _plot_C_and_reg(right, tuned)
    elif on_the_right and searched[0] not in _RIGHT:
        _plot_one(right, tuned, on_the_right[0], on_the_right)
    else:
        on_the_right = []
        right.set_axis_off()
    _plot_one(left, tuned, searched[0] if searched else None, [n for n in searched if n not in on_the_right])


def _plot_one(ax: Axes, tuned: FBTWSVMCV, name: str | None, named: list[str]) -> None:
    """Plot the scores of all candidates against a parameter; `named` are those whose edges the title names."""
    results = tuned.cv_results_
    values = np.ones(len(results["params"])) if name is None else _values(tuned, name)
    stopped = results["stopped"]
    for marked, colour, label in ((stopped, "0.7", "stopped early"), (~stopped, "#2a5d9f", "tried in all folds")):
        if marked.any():
            ax.scatter(values[marked], results["mean_test_score"][marked], s=16, color=colour, label=label)
    ax.scatter(values[tuned.best_index_], tuned.best_score_, label="best", **_BEST)
    ax.set_ylabel("mean score of the folds")
    _title(ax, _edges(tuned, named))
    if name is None:
        ax.set_xticks([])
    else:
        _log_axis(ax, "x", name, values)
    ax.legend(loc="best", fontsize="small")


def _plot_C_and_reg(ax: Axes, tuned: FBTWSVMCV) -> None:  # noqa: N802
    """Plot the scores over C and reg: of a grid as a table, of another search as points."""
    if tuned.search == "grid":
        title, picture = _table_of_scores(ax, tuned)
    else:
        title, picture = "all candidates", _points(ax, tuned)
    ax.set(xlabel="C", ylabel="reg")
    _title(ax, title, _edges(tuned, _RIGHT))
    ax.figure.colorbar(picture, ax=ax, label="mean score")


def _table_of_scores(ax: Axes, tuned: FBTWSVMCV) -> tuple[str, Any]:
    """Draw the scores of the candidates with the best values of the other parameters, one cell for each C and reg.

    Return a title and the picture.
    """
    best = tuned.best_params_
    others = [name for name in best if name not in _RIGHT]
    # The best one where a second plane has values of its own; a score of all folds before one of some of them.
    cells: dict[tuple[float, ...], tuple[bool, float]] = {}
    results = tuned.cv_results_
    for params, score, stopped in zip(*(results[name] for name in _SHOWN), strict=True):
        if all(params[name] == best[name] for name in others):
            place = tuple(_first_plane(params[name]) for name in _RIGHT)
            cells[place] = max(cells.get(place, (False, -np.inf)), (not stopped, score))
    scores = {place: score for place, (_, score) in cells.items()}
    columns, rows = (sorted(set(values)) for values in zip(*scores, strict=True))
    image = np.array([[scores.get((C, reg), np.nan) for C in columns] for reg in rows])
    picture = ax.imshow(image, origin="lower", aspect="auto", cmap="viridis")
    early = [place for place, (whole, _) in cells.items() if not whole]
    if early:
        x, y = [columns.index(C) for C, _ in early], [rows.index(reg) for _, reg in early]
        ax.scatter(x, y, marker="x", s=20, color="0.7", linewidth=0.8)
    ax.scatter(columns.index(_first_plane(best["C"])), rows.index(_first_plane(best["reg"])), **_BEST)
    for set_ticks, values in ((ax.set_xticks, columns), (ax.set_yticks, rows)):
        places = range(0, len(values), -(-len(values) // _MOST_TICKS))
        set_ticks(places, [format_number(values[k]) for k in places])
    return "at the best of the others" + (" (x: stopped early)" if early else ""), picture


def _points(ax: Axes, tuned: FBTWSVMCV) -> Any:
    """Draw the scores of all candidates as points, the best ones on top."""
    C, reg = (_values(tuned, name) for name in _RIGHT)
    scores = tuned.cv_results_["mean_test_score"]
    order = np.argsort(scores)
    picture = ax.scatter(C[order], reg[order], c=scores[order], cmap="viridis", edgecolor="0.5", linewidth=0.4)
    ax.scatter(C[tuned.best_index_], reg[tuned.best_index_], **_BEST)
    _log_axis(ax, "x", "C", C)
    _log_axis(ax, "y", "reg", reg)
    return picture


def _title(ax: Axes, *lines: str) -> None:
    ax.set_title("\n".join(filter(None, lines)), fontsize="medium")


def _edges(tuned: FBTWSVMCV, names: Any) -> str:
    """Return a sentence that names the parameters whose best value is the smallest or largest tried; or nothing."""
    found = []
    for name in names:
        if name in tuned.best_params_:
            tried = np.concatenate([np.ravel(params[name]) for params in tuned.cv_results_["params"]])
            best = np.ravel(tuned.best_params_[name])
            if tried.min() < tried.max() and ((best == tried.min()) | (best == tried.max())).any():
                found.append(name)
    if not found:
        return ""
    tried_in = "grid" if tuned.search == "grid" else "range"
    verb = "lies" if len(found) == 1 else "lie"
    return f"the best {' and '.join(found)} {verb} on the edge of the {tried_in}:\ngive FBTWSVMCV more values"


def _values(tuned: FBTWSVMCV, name: str) -> Array:
    return np.array([_first_plane(params[name]) for params in tuned.cv_results_["params"]])


def _first_plane(value: Any) -> float:
    """Return a value; of a pair, which has one for each plane, the first."""
    return float(np.ravel(value)[0])


def _log_axis(ax: Axes, which: str, name: str, values: Array) -> None:
    """Make axis "x" or "y" logarithmic, with ticks at the values themselves, or at powers where they are many."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    ax.set(**{f"{which}scale": "log", f"{which}label": name})
    axis = ax.xaxis if which == "x" else ax.yaxis
    axis.set_major_locator(_locator(np.unique(values)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value)))


def _locator(values: Array) -> Locator:
    """Return where the ticks of sorted values are: no two of them nearer than a tenth of the axis."""
    from matplotlib.ticker import FixedLocator, LogLocator

    span = values[-1] / values[0]
    if len(values) > _MOST_TICKS and span > 4:
        return LogLocator(base=2 if span < 100 else 10, numticks=_MOST_TICKS)
    ticks = [values[0]]
    for value in values:
        if value / ticks[-1] > span**0.1:
            ticks.append(value)
    return FixedLocator(ticks)


def format_number(value: float) -> str:
    """Return a number with three digits; very large and small ones as a power of two or ten where they are one."""
    if 0.001 <= abs(value) < 100_000 or value == 0:
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    for base in (10, 2):
        power = round(np.log(abs(value)) / np.log(base))
        if value > 0 and np.isclose(value, float(base) ** power, rtol=1e-9):
            return f"${base}^{{{power}}}$"
    digits, _, power = f"{value:.2e}".partition("e")
    return f"${float(digits):g} \\times 10^{{{int(power)}}}$"
