"""Plots of two-dimensional problems, searches, importances and streams (extra ``[plot]``)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from .._arrays import Array
from ..classifier import FBTWSVM
from ._drawing import (
    Extent,
    add_legend,
    class_colours,
    draw_importances,
    drawn,
    grid,
    largest,
    name_the_rest,
    new_axes,
    new_figure,
    show_colours,
)
from ._search_plot import plot_search

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from ..search.cv import FBTWSVMCV

__all__ = ["decision_regions", "figure_of_search", "importances", "planes", "prequential_curve", "search"]

_MARGIN = 0.08  # of the range of the rows, around them
_POINT: dict[str, Any] = {"s": 14, "edgecolor": "white", "linewidth": 0.4, "zorder": 2}
_ZERO: dict[str, Any] = {"linewidth": 2.2, "linestyle": "solid"}  # where the value of a plane is zero
_MINUS_ONE: dict[str, Any] = {"linewidth": 1.2, "linestyle": "dashed"}
_SHORT_NAMES = 24  # letters of two classes that have room in a title with other words
_UNKNOWN = "not a class of the model"


def figure_of_search(tuned: FBTWSVMCV) -> Figure:
    """Return a new figure with the plot of a search, for instance to write it to a file."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 4), layout="constrained")
    search(tuned, axes=list(figure.subplots(1, 2)))
    return figure


def search(tuned: FBTWSVMCV, *, axes: Sequence[Axes] | None = None) -> list[Axes]:
    """Plot the scores of a search.

    The left plot shows the scores against gamma, or against the next parameter if gamma was not searched.  The right
    one shows the scores over C and reg: of a grid at the best values of the other parameters, of another search those
    of all candidates.  A star marks the best.  The titles say so when the best value of a parameter is the smallest or
    the largest that was tried, so that a wider search may find a better one.

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
    if "stopped" not in getattr(tuned, "cv_results_", ()):
        kind = type(tuned).__name__
        raise TypeError(f"Give a fitted FBTWSVMCV, not {kind}; of a pipeline, its last step: pipeline[-1].")
    if axes is None:
        axes = new_figure(1, 2, figsize=(10, 4), layout="constrained")[1]
    left, right = axes
    plot_search(left, right, tuned)
    return [left, right]


def decision_regions(model: Any, X: Any, y: Any = None, *, ax: Axes | None = None, resolution: int = 300) -> Axes:
    """Plot the predicted class over the plane, in stronger colours where the model is more certain.

    The legend names the classes, of more than thirteen the twelve with most rows and the largest regions.  Rows with a
    label that the model does not know are black crosses.

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
        Axes to draw on; by default those of a new figure.  The legend is below the axes of a figure with a layout
        ("constrained" or "tight"), which makes room for it, and otherwise inside them.
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
    'x0'
    """
    check_is_fitted(model)
    X = _two_columns(X)
    if y is not None and len(y) != len(X):
        raise ValueError(f"X has {len(X)} rows, y has {len(y)}.")
    ax = new_axes(ax)
    first, second, points = grid(X.min(axis=0), X.max(axis=0), _MARGIN, resolution)
    classes = model.classes_
    colours = class_colours(len(classes))
    with _ignore_missing_names():
        predicted = np.searchsorted(classes, model.predict(points))
        chances = model.predict_proba(points) if hasattr(model, "predict_proba") else np.ones((len(points), 1))
    by_chance = 1 / max(len(classes), 2)  # one class is certain
    certainty = np.clip((chances.max(axis=1) - by_chance) / (1 - by_chance), 0, 1)
    strength = 0.15 + 0.45 * certainty  # from nearly white at chance level to the class colour at certainty
    extent = show_colours(ax, 1 - strength[:, None] * (1 - colours[predicted]), first, second, zorder=0)
    own = np.full(len(X), -1) if y is None else _class_indices(classes, y)
    _draw_classes(ax, classes, colours, predicted, X, own)
    unknown = X[own < 0]
    if y is not None and len(unknown):
        style: dict[str, Any] = {"marker": "x", "s": 14, "color": "black", "linewidth": 0.8, "zorder": 2}
        ax.scatter(unknown[:, 0], unknown[:, 1], label=_UNKNOWN, **style)
    add_legend(ax, 4, fontsize=8, title="class", title_fontsize=8, markerscale=2)
    _name_axes(ax, model, extent)
    return ax


def _class_indices(classes: Array, y: Any) -> Array:
    """Return the class index of each label; -1 for a label that is not one of the classes."""
    places = {label: k for k, label in enumerate(classes.tolist())}
    return np.array([places.get(label, -1) for label in np.asarray(y).tolist()], dtype=np.int64)


def _draw_classes(ax: Axes, classes: Array, colours: Array, predicted: Array, X: Array, own: Array) -> None:
    """Draw the rows of each class, and name the classes with most rows and the largest regions in the legend."""
    count = len(classes)
    regions = np.bincount(predicted, minlength=count) / len(predicted)
    named = set(largest(regions + np.bincount(own[own >= 0], minlength=count) / len(own)).tolist())
    for k, label in enumerate(classes):
        rows = X[own == k]
        name = drawn(label) if k in named else None
        ax.scatter(rows[:, 0], rows[:, 1], color=[colours[k]], label=name, **_POINT)
    name_the_rest(ax, count - len(named))


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
        Axes to draw on; by default those of a new figure.  The legend is below the axes of a figure with a layout
        ("constrained" or "tight"), which makes room for it, and otherwise inside them.
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
        name = drawn(classes[own])
        with _ignore_missing_names():
            values = model.plane_values(points, classes[own], classes[other]).reshape(resolution, resolution)
        dark = tuple(0.75 * colours[own])
        for level, line in ((0.0, _ZERO), (-1.0, _MINUS_ONE)):
            style = {"linewidths": line["linewidth"], "linestyles": line["linestyle"]}
            ax.contour(first, second, values, levels=[level], colors=[dark], zorder=3, **style)
        rows = y == classes[own]
        edge = np.where(supports[rows], "black", "white")
        size = 6 + 44 * model.memberships_[rows, other]
        ax.scatter(X[rows, 0], X[rows, 1], s=size, color=colours[own], edgecolor=edge, linewidth=0.8, zorder=2)
        ax.scatter([], [], s=28, color=[colours[own]], label=f"class {name}")
        ax.plot([], [], color=dark, label=f"plane near {name}", **_ZERO)
        ax.plot([], [], color=dark, label="its value is -1", **_MINUS_ONE)
    ax.scatter([], [], s=40, color="white", edgecolor="black", label="support point")
    ax.scatter([], [], s=40, color="0.75", label="size: membership")
    add_legend(ax, 3, fontsize=8)
    names = f"{drawn(classes[a])} and {drawn(classes[b])}"
    between = " " if len(names) <= _SHORT_NAMES else "\n"
    ax.set_title(f"Twin planes of classes{between}{names}", fontsize="medium")
    _name_axes(ax, model, (first[0], first[-1], second[0], second[-1]))
    return ax


def importances(model: Any, names: Sequence[str] | None = None, *, ax: Axes | None = None, most: int = 20) -> Axes:
    """Plot the importance of the columns, the most important first.

    Columns with few values, such as categories, get far too little: for these use `permutation_importance` of
    scikit-learn.

    Parameters
    ----------
    model : fitted classifier
        A classifier with `feature_importances_`, or a pipeline that ends in one.
    names : sequence of str, default=None
        Names of the columns; by default those that the model has seen, or x0, x1, ...  Of a pipeline, those that its
        steps before the classifier return.
    ax : matplotlib Axes, default=None
        Axes to draw on; by default those of a new figure.
    most : int, default=20
        Largest number of columns that are shown.

    Returns
    -------
    matplotlib Axes
        The axes.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from sklearn.datasets import load_iris
    >>> from fbtwsvm import FBTWSVM
    >>> from fbtwsvm.evaluate.plot import importances
    >>> iris = load_iris()
    >>> ax = importances(FBTWSVM().fit(iris.data, iris.target), iris.feature_names)
    >>> len(ax.patches)
    4
    """
    if isinstance(model, Pipeline):
        if names is None and len(model) > 1:
            with suppress(AttributeError):  # of a step that does not know the names of its columns
                names = model[:-1].get_feature_names_out()
                plain = [name.split("__", 1)[-1] for name in names]  # without the name of a step
                names = plain if len(set(plain)) == len(plain) else names
        return importances(model[-1], names, ax=ax, most=most)
    shares = np.asarray(model.feature_importances_)
    if names is None:
        names = getattr(model, "feature_names_in_", [f"x{j}" for j in range(len(shares))])
    if most < 1:
        raise ValueError(f"most={most}: show at least one column.")
    if len(names) != len(shares):
        raise ValueError(f"The model has {len(shares)} columns, and there are {len(names)} names.")
    ax = new_axes(ax)
    draw_importances(ax, list(names), shares, most)
    return ax


def _two_columns(X: Any) -> Array:
    rows = np.asarray(X, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"The plot needs two columns, X has shape {rows.shape}.")
    return rows


def _name_axes(ax: Axes, model: Any, extent: Extent) -> None:
    first, second = getattr(model, "feature_names_in_", ("x0", "x1"))
    ax.set(xlabel=drawn(first), ylabel=drawn(second), xlim=extent[:2], ylim=extent[2:])


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
    last = f"last {sum(snapshots[-1].window_classes):,} rows" if snapshots else "last rows"
    ax.plot(rows, [snapshot.window_accuracy for snapshot in snapshots], label=last, linewidth=1)
    ax.plot(rows, [snapshot.accuracy for snapshot in snapshots], label="all rows so far", linewidth=2)
    for number, row in enumerate(drifts):
        ax.axvline(row, color="0.6", linestyle=":", label="drift detected" if number == 0 else None)
    ax.set_xlabel("rows")
    ax.set_ylabel("accuracy, tested before learned")
    ax.legend(frameon=False)
    return ax
