"""Plots of two-dimensional problems, searches and streams (extra ``[plot]``)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from ..classifier import FBTWSVM
from ._drawing import Extent, class_colours, grid, new_axes, show_colours

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..search.cv import FBTWSVMCV

_MARGIN = 0.08  # of the range of the rows, around them


def figure_of_search(tuned: FBTWSVMCV) -> Figure:
    """Return a new figure with the plot of a search, for instance to write it to a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    search(tuned, axes=list(figure.subplots(1, 2)))
    return figure


def search(tuned: FBTWSVMCV, *, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Plot the scores of a search.

    The left plot shows the scores against gamma, or against C if gamma was not searched.  The right one shows the
    scores over C and reg, at the best values of the other parameters.

    Parameters
    ----------
    tuned : fitted FBTWSVMCV
        The search.
    axes : pair of matplotlib Axes, default=None
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    list of matplotlib Axes
        The two axes.

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
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.subplots(1, 2, figsize=(10, 4), layout="constrained")[1]
    left, right = axes
    _plot_scores(left, tuned)
    _plot_C_and_reg(right, tuned)
    return [left, right]


def _plot_scores(ax: Axes, tuned: FBTWSVMCV) -> None:
    """Plot the scores of all candidates against gamma, or C where gamma was not searched."""
    results = tuned.cv_results_
    name = "gamma" if "gamma" in tuned.best_params_ else "C"
    values = np.array([_first_plane(params, name, 1.0) for params in results["params"]])
    stopped = results["stopped"]
    for marked, colour, label in ((stopped, "0.75", "stopped early"), (~stopped, "tab:blue", "tried in all folds")):
        ax.scatter(values[marked], results["mean_test_score"][marked], s=16, color=colour, label=label)
    ax.set(xscale="log", xlabel=name, ylabel="mean score of the folds")
    ax.legend(loc="lower left", fontsize="small")


def _plot_C_and_reg(ax: Axes, tuned: FBTWSVMCV) -> None:  # noqa: N802
    """Plot the scores over C and reg of the candidates with the best values of the other parameters."""
    best = tuned.best_params_
    others = [name for name in best if name not in ("C", "reg")]
    scores: dict[tuple[float, float], float] = {}  # the best one where a second plane has values of its own
    for params, score in zip(tuned.cv_results_["params"], tuned.cv_results_["mean_test_score"], strict=True):
        if all(params[name] == best[name] for name in others):
            place = _first_plane(params, "C", np.nan), _first_plane(params, "reg", np.nan)
            scores[place] = max(scores.get(place, -np.inf), score)
    columns = sorted({C for C, _ in scores})
    rows = sorted({reg for _, reg in scores})
    image = np.array([[scores.get((C, reg), np.nan) for C in columns] for reg in rows])
    picture = ax.imshow(image, origin="lower", aspect="auto", cmap="viridis")
    ax.set_xticks(range(len(columns)), [f"{C:.3g}" for C in columns])
    ax.set_yticks(range(len(rows)), [f"{reg:.3g}" for reg in rows])
    ax.set(xlabel="C", ylabel="reg", title="at the best of the others", facecolor="white")
    ax.figure.colorbar(picture, ax=ax, label="mean score")


def _first_plane(params: dict[str, Any], name: str, default: float) -> float:
    """Return the value of a parameter; of a pair, which has one for each plane, the first."""
    return float(np.ravel(params.get(name, default))[0])


def decision_regions(model: Any, X: Any, y: Any = None, *, ax: Axes | None = None, resolution: int = 300) -> Axes:
    """Plot the predicted class over the plane, in stronger colours where the model is more certain.

    Parameters
    ----------
    model : fitted classifier
        A classifier with `predict` and `classes_`, fitted on two columns; without `predict_proba` all colours have the
        same strength.
    X : array-like of shape (n_samples, 2)
        Rows, which set the limits of the plot.
    y : array-like of shape (n_samples,), default=None
        Labels of the rows; if given, the rows are drawn.
    ax : matplotlib Axes, default=None
        Axes to draw on; by default those of a new figure.
    resolution : int, default=300
        Number of points along each side of the grid.

    Returns
    -------
    matplotlib Axes
        The axes.

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
    X = _two_columns(X)
    ax = new_axes(ax)
    first, second, points = grid(X.min(axis=0), X.max(axis=0), _MARGIN, resolution)
    colours = class_colours(len(model.classes_))
    with _ignore_missing_names():
        predicted = np.searchsorted(model.classes_, model.predict(points))
        chances = model.predict_proba(points) if hasattr(model, "predict_proba") else np.ones((len(points), 1))
    certainty = chances.max(axis=1)
    # From nearly white at chance level to the class colour at certainty.
    strength = 0.15 + 0.45 * np.clip((certainty - 1 / len(colours)) / (1 - 1 / len(colours)), 0, 1)
    extent = show_colours(ax, 1 - strength[:, None] * (1 - colours[predicted]), first, second, zorder=0)
    if y is not None:
        if len(y) != len(X):
            raise ValueError(f"X has {len(X)} rows, y has {len(y)}.")
        for k, label in enumerate(model.classes_):
            rows = X[np.asarray(y) == label]
            style: dict[str, Any] = {"s": 14, "edgecolor": "white", "linewidth": 0.4, "zorder": 2}
            ax.scatter(rows[:, 0], rows[:, 1], color=colours[k], label=f"class {label}", **style)
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
    """Plot the twin planes of a pair of classes of a two-dimensional problem.

    A solid line is where the value h.u of a plane is zero: it runs through its own class.  A dashed line is where the
    value is -1: the other class is kept beyond it.  The size of a point is its membership; a black ring marks a support
    point.

    Parameters
    ----------
    model : FBTWSVM
        A classifier fitted on these rows.
    X : array-like of shape (n_samples, 2)
        The training rows.
    y : array-like of shape (n_samples,)
        Labels of the training rows.
    pair : pair of labels, default=None
        The two classes; by default the first two.
    ax : matplotlib Axes, default=None
        Axes to draw on; by default those of a new figure.
    resolution : int, default=300
        Number of points along each side of the grid.

    Returns
    -------
    matplotlib Axes
        The axes.

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
            f"model must be an FBTWSVM, got {type(model).__name__}. Of a pipeline pass the last step, and the rows as "
            "that step gets them."
        )
    check_is_fitted(model)
    X = _two_columns(X)
    y = np.asarray(y)
    ax = new_axes(ax)
    if len(X) != len(model.memberships_):
        raise ValueError(
            f"The model was fitted on {len(model.memberships_)} rows, X has {len(X)}: pass the training rows, to which "
            "memberships and support points belong."
        )
    classes = model.classes_.tolist()
    labels = tuple(classes[:2]) if pair is None else tuple(pair)
    if len(labels) != 2 or any(label not in classes for label in labels):
        raise ValueError(f"pair must be two of the classes {classes}, got {labels}.")
    a, b = (classes.index(label) for label in labels)
    first, second, points = grid(X.min(axis=0), X.max(axis=0), _MARGIN, resolution)
    colours = class_colours(len(classes))
    supports = np.zeros(len(X), dtype=bool)
    supports[model.support_] = True
    for own, other in ((a, b), (b, a)):
        with _ignore_missing_names():
            values = model.plane_values(points, classes[own], classes[other]).reshape(resolution, resolution)
        colour = [tuple(0.75 * colours[own])]
        ax.contour(first, second, values, levels=[0.0], colors=colour, linewidths=2.2, zorder=3)
        ax.contour(first, second, values, levels=[-1.0], colors=colour, linewidths=1.2, linestyles="dashed", zorder=3)
        rows = y == classes[own]
        edge = np.where(supports[rows], "black", "white")
        size = 6 + 44 * model.memberships_[rows, other]
        ax.scatter(X[rows, 0], X[rows, 1], s=size, color=colours[own], edgecolor=edge, linewidth=0.8, zorder=2)
        ax.plot([], [], color=colour[0], linewidth=2.2, label=f"near class {classes[own]} (dashed: -1)")
    ax.scatter([], [], s=40, color="white", edgecolor="black", label="support point (size: membership)")
    _legend_below(ax)
    ax.set_title(f"Twin planes of classes {classes[a]} and {classes[b]}")
    _name_axes(ax, model, (first[0], first[-1], second[0], second[-1]))
    return ax


def _two_columns(X: Any) -> Array:
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"The plot needs two columns, X has shape {rows.shape}.")
    return rows


def _legend_below(ax: Axes) -> None:
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3, fontsize=8, frameon=False)


def _name_axes(ax: Axes, model: Any, extent: Extent) -> None:
    first, second = getattr(model, "feature_names_in_", ("x1", "x2"))
    ax.set(xlabel=first, ylabel=second, xlim=extent[:2], ylim=extent[2:])


@contextmanager
def _ignore_missing_names() -> Iterator[None]:
    """Silence the warning that the points of a grid have no column names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


def prequential_curve(snapshots: Any, drifts: Any = (), ax: Axes | None = None) -> Axes:
    """Plot the accuracy of a prequential run, over all rows and over the window.

    Parameters
    ----------
    snapshots : list of Snapshot
        Snapshots of the run, see :func:`fbtwsvm.evaluate.prequential`.
    drifts : sequence of int, default=()
        Rows at which drift was detected; they are marked.
    ax : matplotlib Axes, default=None
        Axes to draw on; by default those of a new figure.

    Returns
    -------
    matplotlib Axes
        The axes.
    """
    ax = new_axes(ax)
    rows = [snapshot.rows for snapshot in snapshots]
    ax.plot(rows, [snapshot.window_accuracy for snapshot in snapshots], label="last rows", linewidth=1)
    ax.plot(rows, [snapshot.accuracy for snapshot in snapshots], label="all rows so far", linewidth=2)
    for number, row in enumerate(drifts):
        ax.axvline(row, color="0.6", linestyle=":", label="drift detected" if number == 0 else None)
    ax.set_xlabel("rows")
    ax.set_ylabel("accuracy, tested before learned")
    ax.legend(frameon=False)
    return ax
