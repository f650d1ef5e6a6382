"""The plots of a report (need matplotlib)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter

from .._arrays import Array
from ..data.table_model import TableModel
from ..evaluate._drawing import class_colours, grid, show_colours

_MOST_BANDS = 9  # classes that have a band of their own
_MOST_CELLS = 10  # classes in a confusion matrix that shows numbers
_MOST_TICKS = 16
_MOST_LETTERS = 12  # of a label
_LINE_LETTERS = 50  # of a line of a legend
_GRID = 160
_LINE: dict[str, Any] = {"linewidth": 1.6}
BLUE, ORANGE, GREY, RED = "#2a5d9f", "#d9822b", "#8a8a8a", "#b5322c"

Panel = Callable[[Axes, TableModel], None]


def accuracy(ax: Axes, model: TableModel) -> None:
    """Plot the accuracy, that of repeating the label before, and the rows at which the error rate rose."""
    record = _record(model)
    rows = [snapshot.rows for snapshot in record.snapshots]
    ax.plot(rows, [s.window_accuracy for s in record.snapshots], color=BLUE, label="last rows", **_LINE)
    ax.plot(rows, [s.accuracy for s in record.snapshots], color=ORANGE, label="all rows so far", **_LINE)
    before = [s.window_repeated for s in record.snapshots]
    ax.plot(rows, before, color=GREY, linestyle="--", linewidth=1.2, label="label before")
    for number, row in enumerate(record.marks):
        ax.axvline(row, color=RED, linestyle=":", linewidth=1.0, label=None if number else "error rate rose")
    ax.set_ylabel("accuracy")
    ax.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=0))
    _against_rows(ax, columns=2)


def speed(ax: Axes, model: TableModel) -> None:
    """Plot the rows per second between two snapshots."""
    snapshots = _record(model).snapshots
    rows = np.array([0, *(s.rows for s in snapshots)])
    seconds = np.array([0.0, *(s.seconds for s in snapshots)])
    ax.plot(rows[1:], np.diff(rows) / np.maximum(np.diff(seconds), 1e-9), color=BLUE, **_LINE)
    ax.set_ylabel("rows a second")
    ax.set_ylim(bottom=0)
    ax.yaxis.set_major_formatter(EngFormatter(sep=""))
    _against_rows(ax)


def memory(ax: Axes, model: TableModel) -> None:
    """Plot the numbers of rows kept and forgotten."""
    snapshots = _record(model).snapshots
    rows = [s.rows for s in snapshots]
    ax.plot(rows, [s.kept for s in snapshots], color=BLUE, label="kept", **_LINE)
    ax.plot(rows, [s.forgotten for s in snapshots], color=GREY, label="forgotten", **_LINE)
    ax.set_yscale("symlog", linthresh=10)
    ax.set_ylim(bottom=0)
    ax.set_ylabel("rows")
    ax.yaxis.set_major_formatter(EngFormatter(sep=""))
    _against_rows(ax, columns=2)


def balance(ax: Axes, model: TableModel) -> None:
    """Plot the share of each class in the window."""
    record = _record(model)
    names = [_short(label) for label in record.score.class_index]
    snapshots = [snapshot for snapshot in record.snapshots if sum(snapshot.window_classes)]
    counts = np.zeros((len(snapshots), len(names)))
    for row, snapshot in zip(counts, snapshots, strict=True):
        row[: len(snapshot.window_classes)] = snapshot.window_classes
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    order = np.argsort(-shares.sum(axis=0), kind="stable")
    shown = sorted(order[:_MOST_BANDS].tolist(), key=lambda k: names[k])
    bands = [shares[:, k] for k in shown]
    labels = [names[k] for k in shown]
    if len(order) > _MOST_BANDS:
        bands.append(shares[:, order[_MOST_BANDS:]].sum(axis=1))
        labels.append(f"{len(order) - _MOST_BANDS} others")
    ax.stackplot([s.rows for s in snapshots], bands, labels=labels, colors=class_colours(len(bands)), alpha=0.85)
    ax.set_ylabel("share of the last rows")
    ax.set_ylim(0, 1)
    ax.yaxis.set_major_formatter(PercentFormatter(1.0))
    _against_rows(ax, columns=5)


def confusion(ax: Axes, model: TableModel) -> None:
    """Plot the confusion matrix, each row as shares of its class."""
    labels, counts = _record(model).score.confusion()
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    ax.imshow(shares, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    step = -(-len(labels) // _MOST_TICKS)
    ticks = range(0, len(labels), step)
    names = [_short(labels[k]) for k in ticks]
    ax.set_xticks(ticks, names, rotation=45 if max(map(len, names), default=0) > 4 else 0)
    ax.set_yticks(ticks, names)
    if len(labels) <= _MOST_CELLS:
        for (row, column), share in np.ndenumerate(shares):
            colour = "white" if share > 0.5 else "black"
            ax.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color=colour, fontsize=9)
    ax.set(xlabel="answer", ylabel="true class")


def regions(ax: Axes, model: TableModel) -> None:
    """Plot the predicted class over two columns of numbers, and the rows that are kept."""
    columns = model.columns
    classes = model.estimator.classes_
    kept, labels = _kept_rows(model)
    low, high = np.quantile(kept, (0.01, 0.99), axis=0)  # a few rows far away would hide the rest
    *scaled, points = grid(low, high, 0.05, _GRID)
    predicted = np.searchsorted(classes, model.estimator.predict(points.astype(columns.choices.precision)))
    first, second = (axis * columns.scale[j] + columns.shift[j] for j, axis in enumerate(scaled))
    colours = class_colours(len(classes))
    extent = show_colours(ax, 0.5 + 0.5 * colours[predicted], first, second, interpolation="nearest")
    rows = kept * columns.scale + columns.shift
    for k in np.unique(labels)[:_MOST_BANDS]:
        x, y = rows[labels == k].T
        ax.scatter(x, y, s=7, color=colours[k], edgecolor="white", linewidth=0.3, label=_short(classes[k]))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5))
    ax.set(xlabel=_short(columns.names[0]), ylabel=_short(columns.names[1]), xlim=extent[:2], ylim=extent[2:])
    _legend(ax, 5)


def has_regions(model: TableModel) -> bool:
    """Whether decision regions can be plotted: there are two columns of numbers, and kept rows that set the limits."""
    two = len(model.columns.names) == 2 and all(c.categories is None for c in model.columns.columns)
    return two and len(_kept_rows(model)[1]) > 1


def _kept_rows(model: TableModel) -> tuple[Array, Array]:
    """Return the scaled kept rows and their class indices; none if the model keeps mapped rows only."""
    inspection = model.estimator.inspect()
    if inspection.kept_rows is None or inspection.kept_labels is None:
        return np.empty((0, 2)), np.empty(0, dtype=np.int64)
    return np.asarray(inspection.kept_rows, dtype=np.float64), inspection.kept_labels


def _record(model: TableModel) -> Any:
    assert model.run is not None
    return model.run.record


def _against_rows(ax: Axes, columns: int = 0) -> None:
    """Format the x axis as a number of rows, and add a legend with so many columns."""
    ax.set_xlabel("rows")
    ax.xaxis.set_major_formatter(EngFormatter(sep=""))
    ax.xaxis.set_major_locator(MaxNLocator(5))
    ax.margins(x=0.02)
    ax.grid(color="0.9")
    ax.set_axisbelow(True)
    if columns:
        _legend(ax, columns)


def _short(label: Any) -> str:
    """Return a label, or its beginning if it is long."""
    text = str(label)
    text = text if len(text) <= _MOST_LETTERS else text[: _MOST_LETTERS - 1] + "…"
    # matplotlib hides labels that begin with _ and reads $ as the start of a formula
    return ("\u200b" if text.startswith("_") else "") + text.replace("$", r"\$")


def _legend(ax: Axes, columns: int) -> None:
    names = ax.get_legend_handles_labels()[1]
    if names:
        columns = max(1, min(columns, _LINE_LETTERS // (max(map(len, names)) + 6)))  # 6 for the symbol
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18), ncols=columns, frameon=False, fontsize=9)


PANELS: tuple[tuple[str, Panel, str], ...] = (
    ("Accuracy, tested before learned", accuracy, "Dashed: label of the row before. Dotted: the error rate rose."),
    ("Speed", speed, "Rows tested and learned per second."),
    ("Memory", memory, "Rows that are kept, and rows of which only sums are left."),
    ("Class balance", balance, "Share of each class among the last rows."),
    ("Confusion", confusion, "Answers for each true class, in % of its rows."),
    ("Decision regions", regions, "The predicted class, and the rows that are kept."),
)


def panels_for(model: TableModel) -> list[tuple[str, Panel, str]]:
    """Return the plots that a model can have."""
    return [panel for panel in PANELS if panel[1] is not regions or has_regions(model)]
