"""Pictures of two-dimensional problems and of searches (extra ``[plot]``)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from ..classifier import FBTWSVM

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..search.cv import FBTWSVMCV


def figure_of_search(tuned: FBTWSVMCV) -> Figure:
    """Return a figure of its own with the picture of a search, for writing to a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    search(tuned, axes=list(figure.subplots(1, 2)))
    return figure


def search(tuned: FBTWSVMCV, *, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Show what a search found: the score along gamma, and over C and reg at the best of the other parameters.

    Where gamma was not searched for, the score is shown along C.

    Parameters
    ----------
    tuned : fitted FBTWSVMCV
        The search.
    axes : pair of matplotlib Axes, default=None
        Where to draw; a new figure by default.

    Returns
    -------
    list of matplotlib Axes
        The two axes drawn on.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from fbtwsvm import FBTWSVMCV
    >>> from fbtwsvm.evaluate.plot import search
    >>> X, y = load_iris(return_X_y=True)
    >>> left, right = search(FBTWSVMCV(gamma=3, C=2, reg=2, membership=None).fit(X, y))
    >>> left.get_xlabel(), right.get_xlabel()
    ('gamma', 'C')
    """
    check_is_fitted(tuned)
    results = tuned.cv_results_
    if axes is None:
        from matplotlib import pyplot as plt

        axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")[1]
    left, right = axes
    params, scores = results["params"], np.asarray(results["mean_test_score"])
    along = "gamma" if "gamma" in params[0] else "C"
    # Of a pair, one value for each plane, the first is shown.
    places = np.array([float(np.ravel(values.get(along, 1.0))[0]) for values in params])
    stopped = results["stopped"]
    for marked, colour, label in ((stopped, "0.75", "stopped early"), (~stopped, "tab:blue", "tried in all folds")):
        left.scatter(places[marked], scores[marked], s=16, color=colour, label=label)
    left.set(xscale="log", xlabel=along, ylabel="mean score of the folds")
    left.legend(loc="lower left", fontsize="small")
    best = tuned.best_params_
    others = [name for name in best if name not in ("C", "reg")]
    chosen = [k for k, values in enumerate(params) if all(values[name] == best[name] for name in others)]
    # A pair, one value for each plane, is shown where the first plane has it, with the best of the second.
    table: dict[tuple[float, float], float] = {}
    for k in chosen:
        place = tuple(float(np.ravel(params[k].get(name, np.nan))[0]) for name in ("C", "reg"))
        table[place[0], place[1]] = max(table.get((place[0], place[1]), -np.inf), scores[k])
    prices, ridges = sorted({c for c, _ in table}), sorted({r for _, r in table})
    image = np.array([[table.get((c, r), np.nan) for c in prices] for r in ridges])
    picture = right.imshow(image, origin="lower", aspect="auto", cmap="viridis")
    right.set_xticks(range(len(prices)), [f"{c:.3g}" for c in prices])
    right.set_yticks(range(len(ridges)), [f"{r:.3g}" for r in ridges])
    right.set(xlabel="C", ylabel="reg", title="at the best of the others", facecolor="white")
    right.figure.colorbar(picture, ax=right, label="mean score")
    return [left, right]


def decision_regions(model: Any, X: Any, y: Any = None, *, ax: Axes | None = None, resolution: int = 300) -> Axes:
    """Colour the plane by predicted class, darker where the model is surer, with rows on top.

    Parameters
    ----------
    model : fitted classifier
        Anything with `predict` and `classes_`, trained on two columns; without `predict_proba` colours are flat.
    X : array-like of shape (n_samples, 2)
        Rows that set the frame, drawn when `y` is given.
    y : array-like of shape (n_samples,), default=None
        Labels of the rows.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.
    resolution : int, default=300
        Points along each side of the grid.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import make_moons
    >>> from fbtwsvm import FBTWSVM
    >>> from fbtwsvm.evaluate.plot import decision_regions
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> decision_regions(FBTWSVM().fit(X, y), X, y, resolution=50).get_xlabel()
    'x1'
    """
    check_is_fitted(model)
    X, ax = _two_columns(X), _axes(ax)
    first, second, grid = _grid(X, resolution)
    colours = _colours(len(model.classes_))
    with _quiet_about_names():
        winner = np.searchsorted(model.classes_, model.predict(grid))
        certain = not hasattr(model, "predict_proba")
        sureness = np.ones(len(grid)) if certain else model.predict_proba(grid).max(axis=1)
    # From white at chance level to the class colour at certainty.
    strength = 0.15 + 0.45 * np.clip((sureness - 1 / len(colours)) / (1 - 1 / len(colours)), 0, 1)
    image = 1 - strength[:, None] * (1 - colours[winner])
    extent = (first[0], first[-1], second[0], second[-1])
    ax.imshow(image.reshape(resolution, resolution, 3), origin="lower", extent=extent, aspect="auto", zorder=0)
    if y is not None:
        if len(y) != len(X):
            raise ValueError(f"X has {len(X)} rows, y has {len(y)}.")
        for k, label in enumerate(model.classes_):
            rows = X[np.asarray(y) == label]
            ax.scatter(
                rows[:, 0],
                rows[:, 1],
                s=14,
                color=colours[k],
                edgecolor="white",
                linewidth=0.4,
                label=f"class {label}",
                zorder=2,
            )
        _legend_below(ax)
    _name_axes(ax, model, extent)
    return ax


def planes(
    model: FBTWSVM,
    X: Any,
    y: Any,
    *,
    pair: tuple[Any, Any] | None = None,
    ax: Axes | None = None,
    resolution: int = 300,
) -> Axes:
    """Draw the twin planes of a pair of classes on a two-dimensional problem.

    Solid lines are where a plane's value h.u is zero: each runs through its own class.  Dashed lines are where it is
    -1: the other class is kept beyond them.  A point's size is its membership; a black ring marks a support point.

    Parameters
    ----------
    model : FBTWSVM
        Fitted on exactly these rows.
    X : array-like of shape (n_samples, 2)
        The training rows.
    y : array-like of shape (n_samples,)
        Their labels.
    pair : pair of labels, default=None
        Which two classes; the first two by default.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.
    resolution : int, default=300
        Points along each side of the grid.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import make_moons
    >>> from fbtwsvm import FBTWSVM
    >>> from fbtwsvm.evaluate.plot import planes
    >>> X, y = make_moons(100, noise=0.2, random_state=0)
    >>> planes(FBTWSVM().fit(X, y), X, y, resolution=50).get_title()
    'Twin planes of classes 0 and 1'
    """
    if not isinstance(model, FBTWSVM):
        raise TypeError(
            f"planes draws the planes of an FBTWSVM, got {type(model).__name__}. Of a pipeline pass its last step, and "
            "the rows as that step sees them."
        )
    check_is_fitted(model)
    X, y, ax = _two_columns(X), np.asarray(y), _axes(ax)
    if len(X) != len(model.memberships_):
        raise ValueError(
            f"The model was fitted on {len(model.memberships_)} rows, X has {len(X)}: memberships and support points "
            "belong to the training rows. Pass those."
        )
    labels = tuple(model.classes_[:2]) if pair is None else tuple(pair)
    known = model.classes_.tolist()
    missing = [label for label in labels if label not in known]
    if missing or len(labels) != 2:
        raise ValueError(f"pair must be two of the classes {known}, got {labels}.")
    a, b = (known.index(label) for label in labels)
    first, second, grid = _grid(X, resolution)
    colours = _colours(len(known))
    supports = np.zeros(len(X), dtype=bool)
    supports[model.support_] = True
    for own, other in ((a, b), (b, a)):
        with _quiet_about_names():
            values = model.plane_values(grid, known[own], known[other]).reshape(resolution, resolution)
        colour = [tuple(0.75 * colours[own])]
        ax.contour(first, second, values, levels=[0.0], colors=colour, linewidths=2.2, zorder=3)
        ax.contour(first, second, values, levels=[-1.0], colors=colour, linewidths=1.2, linestyles="dashed", zorder=3)
        rows = y == known[own]
        edge = np.where(supports[rows], "black", "white")
        size = 6 + 44 * model.memberships_[rows, other]
        ax.scatter(X[rows, 0], X[rows, 1], s=size, color=colours[own], edgecolor=edge, linewidth=0.8, zorder=2)
        ax.plot([], [], color=colour[0], linewidth=2.2, label=f"near class {known[own]} (dashed: -1)")
    ax.scatter([], [], s=40, color="white", edgecolor="black", label="support point (size: membership)")
    _legend_below(ax)
    ax.set_title(f"Twin planes of classes {known[a]} and {known[b]}")
    _name_axes(ax, model, (first[0], first[-1], second[0], second[-1]))
    return ax


def _two_columns(X: Any) -> Array:
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"A picture needs two columns, X has shape {rows.shape}.")
    return rows


def _axes(ax: Axes | None) -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Pictures need matplotlib: pip install 'fbtwsvm[plot]'.") from error
    return pyplot.subplots(figsize=(6, 5))[1] if ax is None else ax


def _grid(X: Array, resolution: int) -> tuple[Array, Array, Array]:
    low, high = X.min(axis=0), X.max(axis=0)
    margin = 0.08 * np.where(high > low, high - low, 1.0)
    first, second = (np.linspace(low[j] - margin[j], high[j] + margin[j], resolution) for j in range(2))
    return first, second, np.column_stack([part.ravel() for part in np.meshgrid(first, second)])


def _colours(count: int) -> Array:
    from matplotlib import colormaps

    table = colormaps["tab10"] if count <= 10 else colormaps["hsv"].resampled(count + 1)
    return np.array([table(k)[:3] for k in range(count)])


def _legend_below(ax: Axes) -> None:
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, fontsize=8, frameon=False)


def _name_axes(ax: Axes, model: Any, extent: tuple[float, float, float, float]) -> None:
    first, second = getattr(model, "feature_names_in_", ("x1", "x2"))
    ax.set(xlabel=first, ylabel=second, xlim=extent[:2], ylim=extent[2:])


@contextmanager
def _quiet_about_names() -> Iterator[None]:
    """Silence the warning that a grid of points has no column names: it need not have any."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def prequential_curve(snapshots: Any, drifts: Any = (), ax: Axes | None = None) -> Axes:
    """Draw the accuracy of a prequential run against rows, over all and over the window, with drift events.

    Parameters
    ----------
    snapshots : list of Snapshot
        What `fbtwsvm.stream.prequential` has seen.
    drifts : sequence of int, default=()
        Rows at which drift was detected.
    ax : matplotlib Axes, default=None
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    ax = _axes(ax)
    rows = [snapshot.rows for snapshot in snapshots]
    ax.plot(rows, [snapshot.window_accuracy for snapshot in snapshots], label="last rows", linewidth=1)
    ax.plot(rows, [snapshot.accuracy for snapshot in snapshots], label="all rows so far", linewidth=2)
    for number, row in enumerate(drifts):
        ax.axvline(row, color="0.6", linestyle=":", label="drift detected" if number == 0 else None)
    ax.set_xlabel("rows")
    ax.set_ylabel("accuracy, tested before learned")
    ax.legend(frameon=False)
    return ax
