"""The plots of a report (need matplotlib)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import PowerNorm
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from .._arrays import Array
from ..classifier import model_of
from ..data.table_model import TableModel
from ..evaluate._drawing import (
    class_colours,
    draw_importances,
    drawn,
    grid,
    largest,
    legend_below,
    name_the_rest,
    show_colours,
)
from ..evaluate.prequential import Prequential
from .tables import CLASS_HEADER, class_rows, classes_shown

_MOST_BANDS = 9  # classes that have a band of their own
_MOST_CELLS = 10  # classes in a confusion matrix that shows numbers
_MOST_PAIRS = 10  # of classes that are confused
_MOST_IMPORTANT = 10  # columns
_MOST_IN_PICTURE = 12  # classes in the table of a picture
_TABLE_PLACES = (0.0, 0.55, 0.7, 0.85, 1.0)  # of the columns of that table
_MOST_TICKS = 16
_MOST_LETTERS = 12  # of a label
_GRID = 160
_STEPS = [1, 2, 5, 10]  # between round numbers on an axis
_LEAST_RANGE = 0.04  # of the accuracies on their axis
BLUE, ORANGE, GREY, RED = "#2a5d9f", "#d9822b", "#8a8a8a", "#b5322c"

Panel = Callable[[Axes, TableModel], None]


def accuracy(ax: Axes, model: TableModel) -> None:
    """Plot the accuracy, that of repeating the label before, and the rows at which the error rate rose.

    The axis has the range of the model's own curves; the line of the label before is drawn as far as it fits.
    """
    record = _record(model)
    rows = [snapshot.rows for snapshot in record.snapshots]
    curves = np.array([(s.window_accuracy, s.accuracy, s.window_repeated) for s in record.snapshots])
    low, high = _range(curves[:, :2])
    outside = " (below)" if np.nanmax(curves[:, 2]) < low else ""
    before = f"label before: {100 * record.score.repeated():.0f} %{outside}"
    _line(ax, rows, curves[:, 0], color=BLUE, label="last rows")
    _line(ax, rows, curves[:, 1], color=ORANGE, label="all rows so far")
    _line(ax, rows, curves[:, 2], color=GREY, linestyle="--", linewidth=1.2, label=before)
    for number, row in enumerate(record.marks):
        ax.axvline(row, color=RED, linestyle=":", linewidth=1.0, label=None if number else "error rate rose")
    ax.set(ylabel="accuracy", ylim=(low, high))
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    ax.yaxis.set_major_locator(MaxNLocator(6, steps=_STEPS))
    _against_rows(ax, columns=2)


def _range(curves: Array) -> tuple[float, float]:
    """Return the limits of an axis of accuracies: those of the curves, and a little more."""
    low, high = float(np.nanmin(curves)), float(np.nanmax(curves))
    low = min(low, max(0.0, high - _LEAST_RANGE))
    high = max(high, low + _LEAST_RANGE)
    return low - 0.05 * (high - low), high + 0.05 * (high - low)


def speed(ax: Axes, model: TableModel) -> None:
    """Plot the rows per second between two snapshots."""
    snapshots = _record(model).snapshots
    rows = np.array([0, *(s.rows for s in snapshots)])
    seconds = np.array([0.0, *(s.seconds for s in snapshots)])
    _line(ax, rows[1:], np.diff(rows) / np.maximum(np.diff(seconds), 1e-9), color=BLUE)
    ax.set_ylabel("rows a second")
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(EngFormatter(sep=""))
    _against_rows(ax)


def memory(ax: Axes, model: TableModel) -> None:
    """Plot the numbers of rows kept and forgotten."""
    snapshots = _record(model).snapshots
    rows = [s.rows for s in snapshots]
    _line(ax, rows, [s.kept for s in snapshots], color=BLUE, label="kept")
    _line(ax, rows, [s.forgotten for s in snapshots], color=GREY, label="forgotten")
    ax.set_yscale("symlog", linthresh=10)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("rows")
    ax.yaxis.set_major_formatter(EngFormatter(sep=""))
    _against_rows(ax, columns=2)


def balance(ax: Axes, model: TableModel) -> None:
    """Plot the share of each class in the window."""
    record = _record(model)
    labels = list(record.score.class_index)
    snapshots = [snapshot for snapshot in record.snapshots if sum(snapshot.window_classes)]
    counts = np.zeros((len(snapshots), len(labels)))
    for row, snapshot in zip(counts, snapshots, strict=True):
        row[: len(snapshot.window_classes)] = snapshot.window_classes
    shares = counts / counts.sum(axis=1, keepdims=True)
    rows = [snapshot.rows for snapshot in snapshots]
    if len(rows) == 1:  # a band from the first row on
        rows, shares = [0, *rows], np.repeat(shares, 2, axis=0)
    colours = _colours(model)
    named = sorted(largest(shares.sum(axis=0), _MOST_BANDS).tolist(), key=lambda k: labels[k])
    bands = [shares[:, k] for k in named]
    names = [drawn(labels[k], _MOST_LETTERS) for k in named]
    band_colours = [colours[labels[k]] for k in named]
    if len(named) < len(labels):
        bands.append(np.delete(shares, named, axis=1).sum(axis=1))
        names.append(f"{len(labels) - len(named)} others")
        band_colours.append((0.8, 0.8, 0.8))
    ax.stackplot(rows, bands, labels=names, colors=band_colours, alpha=0.85)
    ax.set_ylabel("share of the last rows")
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    _against_rows(ax, columns=5)


def trust(ax: Axes, model: TableModel) -> None:
    """Plot the trust in each member of decay="auto"."""
    report = model.estimator.memory_report()
    bars = ax.barh(report.members, report.trust, color=BLUE, height=0.6)
    ax.bar_label(bars, [f"{share:.2f}" for share in report.trust], fontsize=9, padding=2)
    ax.invert_yaxis()
    ax.margins(x=0.25)
    ax.xaxis.set_major_locator(MaxNLocator(4, steps=_STEPS))
    ax.set(xlabel="trust", ylabel="member")


def confusion(ax: Axes, model: TableModel) -> None:
    """Plot the confusion matrix: counts, coloured by their share of the true class."""
    labels, counts = _record(model).score.confusion()
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    few = len(labels) <= _MOST_CELLS
    # Of many classes the small shares are the ones to see.
    picture = ax.imshow(shares, cmap="Blues", aspect="auto", norm=PowerNorm(1.0 if few else 0.5, vmin=0, vmax=1))
    names = [drawn(label, _MOST_LETTERS) for label in labels]
    long = max(map(len, names)) > 4
    most = _MOST_CELLS if long else _MOST_TICKS
    ticks = range(0, len(labels), -(-len(labels) // most))
    ax.set_xticks(ticks, [names[k] for k in ticks], rotation=45 if long else 0)
    ax.set_yticks(ticks, [names[k] for k in ticks])
    if few:
        for (row, column), count in np.ndenumerate(counts):
            colour = "white" if shares[row, column] > 0.5 else "black" if count else "0.6"
            text = _count(count, 5 if len(labels) > 4 else 9)
            ax.text(column, row, text, ha="center", va="center", color=colour, fontsize=9)
    else:
        ax.figure.colorbar(picture, ax=ax, ticks=[0.01, 0.1, 0.25, 0.5, 1], format=PercentFormatter(1.0))
    ax.set(xlabel="answer", ylabel="true class")


def _count(count: int, letters: int) -> str:
    """Return a number of rows, in thousands or millions if it has too many letters."""
    text = f"{count:,}"
    return text if len(text) <= letters else str(EngFormatter(places=0, sep="")(count))


def confused(ax: Axes, model: TableModel) -> None:
    """Plot the pairs of classes that were confused most often."""
    labels, counts = _record(model).score.confusion()
    wrong = counts - np.diag(np.diag(counts))
    order = np.argsort(-wrong, axis=None, kind="stable")[:_MOST_PAIRS]
    pairs = [(k // len(labels), k % len(labels)) for k in order.tolist() if wrong.flat[k]]
    names = [" → ".join(drawn(labels[k], _MOST_LETTERS) for k in pair) for pair in pairs]
    places = range(len(pairs))
    bars = ax.barh(places, [wrong[pair] for pair in pairs], color=ORANGE, height=0.7)
    shares = [wrong[pair] / counts[pair[0]].sum() for pair in pairs]
    ax.bar_label(bars, [f"{100 * share:.0f} %" for share in shares], fontsize=9, padding=2)
    ax.set_yticks(places, names)
    ax.invert_yaxis()
    ax.margins(x=0.35)
    ax.xaxis.set_major_locator(MaxNLocator(4, integer=True, steps=_STEPS))
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.set(xlabel="rows", ylabel="true class → answer")


def regions(ax: Axes, model: TableModel) -> None:
    """Plot the predicted class over two columns of numbers, and the rows that are kept."""
    columns = model.columns
    classes = model.estimator.classes_
    kept, labels = _kept_rows(model)
    low, high = np.quantile(kept, (0.01, 0.99), axis=0)  # a few rows far away would hide the rest
    *scaled, points = grid(low, high, 0.05, _GRID)
    predicted = np.searchsorted(classes, model.estimator.predict(points.astype(columns.choices.precision)))
    first, second = (axis * columns.scale[j] + columns.shift[j] for j, axis in enumerate(scaled))
    by_label = _colours(model)
    colours = np.array([by_label[label] for label in classes.tolist()])
    extent = show_colours(ax, 0.5 + 0.5 * colours[predicted], first, second, interpolation="nearest")
    rows = kept * columns.scale + columns.shift
    named = largest(np.bincount(labels, minlength=len(classes)), _MOST_BANDS)
    for k in range(len(classes)):
        x, y = rows[labels == k].T
        name = drawn(classes[k], _MOST_LETTERS) if k in named else None
        ax.scatter(x, y, s=7, color=[colours[k]], edgecolor="white", linewidth=0.3, label=name)
    name_the_rest(ax, len(classes) - len(named))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5))
    names = [drawn(name, _MOST_LETTERS) for name in columns.names]
    ax.set(xlabel=names[0], ylabel=names[1], xlim=extent[:2], ylim=extent[2:])
    _legend(ax, 5, markerscale=2.5)


def draw_classes(ax: Axes, model: TableModel) -> None:
    """Draw the figures of the classes as a table."""
    rows = [[drawn(row[0], 2 * _MOST_LETTERS), *row[1:]] for row in class_rows(model, _MOST_IN_PICTURE)]
    for line, cells in enumerate([list(CLASS_HEADER), *rows, [classes_shown(model, _MOST_IN_PICTURE)]]):
        for place, cell in zip(_TABLE_PLACES, cells, strict=False):
            side, colour = "right" if place else "left", "black" if 0 < line <= len(rows) else "0.4"
            ax.text(place, 1 - line / (_MOST_IN_PICTURE + 2), cell, ha=side, va="top", color=colour, fontsize=10)
    ax.set_axis_off()


def _has_regions(model: TableModel) -> bool:
    """Whether decision regions can be plotted: there are two columns of numbers, and kept rows that set the limits."""
    two = len(model.columns.names) == 2 and all(c.categories is None for c in model.columns.columns)
    return two and len(_kept_rows(model)[1]) > 1


def _kept_rows(model: TableModel) -> tuple[Array, Array]:
    """Return the scaled kept rows and their class indices; none if the model keeps mapped rows only."""
    inspection = model.estimator.inspect()
    if inspection.kept_rows is None or inspection.kept_labels is None:
        return np.empty((0, 2)), np.empty(0, dtype=np.int64)
    return np.asarray(inspection.kept_rows, dtype=np.float64), inspection.kept_labels


def _record(model: TableModel) -> Prequential:
    assert model.run is not None
    return model.run.record


def _colours(model: TableModel) -> dict[Any, Any]:
    """Return the colour of each label, the same one in all plots."""
    labels = sorted({*_record(model).score.class_index, *model.estimator.classes_.tolist()})
    return dict(zip(labels, class_colours(len(labels)).tolist(), strict=True))


def _line(ax: Axes, rows: Any, values: Any, **options: Any) -> None:
    """Plot a line, with markers where it would be short or invisible."""
    ax.plot(rows, values, **{"linewidth": 1.6, "marker": "o" if len(rows) < 4 else None, **options})


def _against_rows(ax: Axes, columns: int = 0) -> None:
    """Format the x axis as a number of rows, and add a legend with so many columns."""
    ax.set_xlabel("rows")
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.xaxis.set_major_locator(MaxNLocator(5, integer=True, steps=_STEPS))
    ax.set_xlim(left=0)
    ax.grid(color="0.9")
    ax.set_axisbelow(True)
    if columns:
        _legend(ax, columns)


def _legend(ax: Axes, columns: int, **options: Any) -> None:
    legend_below(ax, columns, letters=55, fontsize=9, **options)


def important(ax: Axes, model: TableModel) -> None:
    """Plot the importance of the columns."""
    shares = model.importances()
    draw_importances(ax, list(shares), np.array(list(shares.values())), _MOST_IMPORTANT)


def _always(model: TableModel) -> bool:
    return True


def _has_members(model: TableModel) -> bool:
    return model.estimator.decay == "auto"


def _has_many_classes(model: TableModel) -> bool:
    _, counts = _record(model).score.confusion()
    return len(counts) > _MOST_CELLS and bool(counts.sum() > np.trace(counts))


def _has_importances(model: TableModel) -> bool:
    own = model_of(model.estimator)
    return len(model.columns.columns) > 1 and own.held_rows is not None and own.mapping.differentiable


_IMPORTANT = "How fast the probability of the answer changes, per standard deviation of a column."
_TRUST = (
    "Share of each member in the answer now. A half-life is the number of rows after which a row counts half; linear "
    "members see the columns themselves, all others the feature map."
)
_PANELS: tuple[tuple[str, Panel, str, Callable[[TableModel], bool]], ...] = (
    (
        "Accuracy, tested before learned",
        accuracy,
        "Dashed: label of the row before, where it fits. Dotted: the error rate rose.",
        _always,
    ),
    ("Speed", speed, "Rows tested and learned per second.", _always),
    ("Memory", memory, "Rows that are kept, and rows of which only sums are left.", _always),
    ("Trust in the members", trust, _TRUST, _has_members),
    ("Class balance", balance, "Share of each class among the last rows.", _always),
    ("Confusion", confusion, "Answers for each true class. The colour is their share of its rows.", _always),
    ("Most confused", confused, "Pairs of classes by rows, with their share of the true class.", _has_many_classes),
    ("Important columns", important, _IMPORTANT, _has_importances),
    ("Decision regions", regions, "The predicted class, and the rows that are kept.", _has_regions),
)


def panels_for(model: TableModel) -> list[tuple[str, Panel, str]]:
    """Return titles, plots and explanations of the plots that a model can have."""
    return [(title, draw, text) for title, draw, text, fits in _PANELS if fits(model)]
