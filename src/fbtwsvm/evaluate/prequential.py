"""Prequential evaluation: test a model on each chunk of a stream, then let it learn the chunk."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sized
from contextlib import nullcontext
from dataclasses import InitVar, asdict, dataclass, field
from importlib.util import find_spec
from operator import index
from time import perf_counter
from typing import Any

import numpy as np

from .._arrays import array_bytes
from ..model.inspection import Inspection
from ..online.drift import HoeffdingDrift
from .late import LateLabels, Waiting
from .score import Score

_MOST_MARKS = 1000
_MEASURES = ("accuracy", "kappa", "kappa_temporal", "balanced_accuracy", "window_accuracy")
_FORMATS = {"rows": "{:,}", **dict.fromkeys(_MEASURES, "{:.4f}")}  # of the columns of the table
_FORMATS |= {"rows_per_second": "{:,.0f}", "kept": "{:,}", "bytes": "{:,}", "drifts": "{}"}


def chunked(X: Any, y: Any, size: int) -> Iterator[tuple[Any, Any]]:
    """Return rows and labels in chunks.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Rows.
    y : array of shape (n_samples,)
        Labels.
    size : int
        Number of rows in a chunk; the last chunk may be smaller.

    Returns
    -------
    iterator of (X, y)
        Rows and labels of each chunk.

    Examples
    --------
    >>> import numpy as np
    >>> from fbtwsvm.evaluate import chunked
    >>> [len(labels) for _, labels in chunked(np.zeros((5, 2)), np.zeros(5), 2)]
    [2, 2, 1]
    """
    if index(size) < 1:
        raise ValueError(f"size must be at least 1, got {size}.")
    if np.shape(X)[0] != len(y):
        raise ValueError(f"There are {np.shape(X)[0]} rows and {len(y)} labels: give X, then y, of the same rows.")
    return ((X[first : first + size], y[first : first + size]) for first in range(0, len(y), size))


@dataclass(frozen=True)
class Snapshot:
    """Results of a model after a number of rows; `window_...` are those of the last rows only.

    `kappa` compares with guessing by class frequencies.  `kappa_temporal` compares with repeating the label of the row
    before, and `window_repeated` is the accuracy of doing so.  `kept` and `forgotten` count rows.  `drifts` counts
    what the `drift_detector` of the model has reported; it is 0 without one.  `window_classes` counts the rows of each
    class, in the order in which classes first came.  `seconds` is the time of testing and learning.
    """

    rows: int
    accuracy: float
    kappa: float
    kappa_temporal: float
    balanced_accuracy: float
    window_accuracy: float
    window_kappa: float
    window_kappa_temporal: float
    window_balanced_accuracy: float
    rows_per_second: float
    kept: int
    bytes: int
    drifts: int
    window_repeated: float = float("nan")
    forgotten: int = 0
    seconds: float = 0.0
    window_classes: tuple[int, ...] = ()


@dataclass(eq=False, repr=False)
class Prequential:
    """A run of test-then-train: iterate over it for snapshots, or call `run()`; then see `table()` and `plot()`.

    :func:`prequential` makes it.

    Attributes
    ----------
    snapshots : list of Snapshot
        Results after every so many rows.
    score : Score
        Counts of all tested rows: `score.by_class()` has precision, recall and F1 of each class, `score.confusion()`
        the confusion matrix.
    marks : list of int
        Rows at which the error rate rose, by Hoeffding's bound: where the data has probably drifted.  A model that
        follows a slow drift well leaves none.
    rows : int
        Number of rows so far.
    seconds : float
        Time of testing and learning.
    """

    model: Any
    chunks: Iterable[tuple[Any, Any]]
    window: InitVar[int]
    every: int
    classes: Any
    progress: bool | None
    most: int | None = None  # snapshots that are kept
    late: LateLabels | None = None  # when labels are known; None is at once
    snapshots: list[Snapshot] = field(default_factory=list)
    rows: int = 0
    seconds: float = 0.0
    monitor: HoeffdingDrift = field(default_factory=HoeffdingDrift)
    marks: list[int] = field(default_factory=list)  # rows at which the error rate rose

    def __post_init__(self, window: int) -> None:
        self.score = Score(window)

    def __iter__(self) -> Iterator[Snapshot]:
        total = len(self.chunks) if isinstance(self.chunks, Sized) else None
        with _progress(self.progress, total) as report:
            for X, y in self.chunks:
                snapshot = self.step(X, y)
                report(self.rows, self.score)
                if snapshot is not None:
                    yield snapshot
        if self.late is not None and len(self.late):
            self._learn_late(self.late.rest())
            if self.snapshots and self.snapshots[-1].rows == self.rows:  # it has not seen the labels that came last
                self.snapshots.pop()
        snapshot = self.finish()
        if snapshot is not None:
            yield snapshot

    def run(self) -> Prequential:
        """Test and learn all chunks, and return the run itself."""
        for _ in self:
            pass
        return self

    def step(self, X: Any, y: Any, **options: Any) -> Snapshot | None:
        """Test and learn one chunk, and return a snapshot if one is due.  Options are passed to `partial_fit`."""
        if self.late is None:
            self._test_then_learn(X, y, options)
        else:
            self._test_then_wait(X, y, self.late, options)
        due = self.rows // self.every > (self.rows - len(y)) // self.every
        return self._snapshot() if due else None

    def finish(self) -> Snapshot | None:
        """Return a last snapshot if rows have come since the last one."""
        return self._snapshot() if not self.snapshots or self.snapshots[-1].rows < self.rows else None

    def _test_then_learn(self, X: Any, y: Any, options: dict[str, Any]) -> None:
        """Predict a chunk, then learn it; the rows before the model has learned anything are not tested."""
        start = perf_counter()
        answers = self.model.predict(X) if self.rows or hasattr(self.model, "classes_") else None
        if self.classes is not None and not self.rows:
            options["classes"] = self.classes
        self.model.partial_fit(X, y, **options)
        self.seconds += perf_counter() - start
        self._count(y, answers, self.rows)
        self.rows += len(y)

    def _test_then_wait(self, X: Any, y: Any, late: LateLabels, options: dict[str, Any]) -> None:
        """Predict a chunk, row by row, and learn each row when its label is known."""
        for i in range(len(y)):
            self._learn_late(late.known_at(self.rows))  # labels that came before this row
            start = perf_counter()
            answer = self.model.predict(X[i : i + 1]) if hasattr(self.model, "classes_") else None
            self.seconds += perf_counter() - start
            own = {name: values[i : i + 1] for name, values in options.items()}
            late.add(self.rows, X[i : i + 1], y[i : i + 1], answer, own)
            self.rows += 1

    def _learn_late(self, waiting: list[Waiting]) -> None:
        """Learn rows whose labels are known now; the answers of when they came count."""
        for row in waiting:
            start = perf_counter()
            first = self.classes is not None and not hasattr(self.model, "classes_")
            classes = {"classes": self.classes} if first else {}
            self.model.partial_fit(row.X, row.y, **classes, **row.options)
            self.seconds += perf_counter() - start
            self._count(row.y, row.answer, row.number)

    def _count(self, y: Any, answers: Any, first: int) -> None:
        """Count answers, of rows from number `first` on; None are rows that were not tested."""
        if answers is None:
            self.score.skip(y)
            return
        self.score.add(y, answers)
        alarms = self.monitor.update_rows(np.asarray(answers) != np.asarray(y))
        self.marks = (self.marks + [first + int(row) for row in alarms])[-_MOST_MARKS:]

    def _snapshot(self) -> Snapshot:
        """Record a snapshot, and return it."""
        if hasattr(self.model, "inspect") and hasattr(self.model, "classes_"):
            inspection = self.model.inspect()
        else:
            inspection = Inspection("", 0, 0, bytes=array_bytes(self.model))
        snapshot = Snapshot(
            self.rows,
            *self.score.all(),
            *self.score.window(),
            rows_per_second=self._speed(),
            kept=inspection.kept if inspection.stage == "stream" else 0,
            bytes=inspection.bytes,
            drifts=inspection.drifts,
            window_repeated=self.score.window_repeated(),
            forgotten=inspection.forgotten,
            seconds=self.seconds,
            window_classes=self.score.window_classes(),
        )
        self.snapshots.append(snapshot)
        if self.most is not None and len(self.snapshots) > self.most:  # half as many, twice as far apart
            self.snapshots = self.snapshots[1::2]
            self.every *= 2
        return snapshot

    def _speed(self) -> float:
        return self.rows / max(self.seconds, 1e-9)

    def summary(self) -> dict[str, Any]:
        """Return the results over all rows; those of the model's memory are as of the last snapshot."""
        accuracy, kappa, temporal, balanced = self.score.all()
        last = self.snapshots[-1] if self.snapshots else None
        return {
            "tested": self.score.tested,
            "accuracy": accuracy,
            "balanced_accuracy": balanced,
            "kappa": kappa,
            "kappa_temporal": temporal,
            "label_before": self.score.repeated(),
            "drift_marks": self.marks,
            "rows_per_second": self._speed(),
            "kept": last.kept if last else 0,
            "forgotten": last.forgotten if last else 0,
            "bytes": last.bytes if last else 0,
        }

    def table(self) -> str:
        """Return the snapshots as a table in plain text."""
        cells = [list(_FORMATS)]
        cells += [[form.format(getattr(shot, name)) for name, form in _FORMATS.items()] for shot in self.snapshots]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        return "\n".join("  ".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in cells)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Return the snapshots as dictionaries, for instance for a data frame."""
        return [asdict(snapshot) for snapshot in self.snapshots]

    def plot(self, ax: Any = None) -> Any:
        """Plot the accuracy against rows, over all rows and over the window, and return the axes."""
        from .plot import prequential_curve  # matplotlib is an extra

        return prequential_curve(self.snapshots, self.marks, ax)


def prequential(
    model: Any,
    chunks: Iterable[tuple[Any, Any]],
    *,
    window: int = 1000,
    every: int = 1000,
    classes: Any = None,
    delay: Any = 0,
    progress: bool | None = None,
) -> Prequential:
    """Evaluate a model on a stream: predict each chunk, then learn it.

    Parameters
    ----------
    model : estimator with `predict` and `partial_fit`
        The model, which learns the stream.
    chunks : iterable of (X, y)
        The stream, for instance :func:`chunked`.
    window : int, default=1000
        Number of tested rows in the sliding window.
    every : int, default=1000
        Number of rows between two snapshots, which are taken at the ends of chunks.
    classes : array-like, default=None
        Classes to pass to the first `partial_fit`, for models that need them.
    delay : int or array-like of int, default=0
        When labels are known.  A number says how many further rows come first: with 2, rows 1 and 2 come before the
        label of row 0 is known.  An array has absolute numbers: the label of row i is known as soon as `delay[i]` rows
        have come in all, so `delay[i]` is at least i + 1.  A label that is known only after the last row is learned at
        the end.  The prediction that counts is the one made when the row came; rows are tested and learned one by one,
        whatever the chunks, in the order in which their labels come.  Snapshots count the rows that have come, and
        score those with a known label.
    progress : bool or None, default=None
        Whether to show a progress bar, which needs rich (extra ``stream``).  None shows one on a terminal if rich is
        installed.

    Returns
    -------
    Prequential
        The run.  Iterate over it for snapshots, or call `run()`; then see `table()`, `plot()` and `to_dicts()`.

    Examples
    --------
    >>> import numpy as np
    >>> from fbtwsvm import FBTWSVM
    >>> from fbtwsvm.evaluate import chunked, prequential
    >>> X = np.random.default_rng(0).normal(size=(600, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> run = prequential(FBTWSVM(gamma=0.5, n_components=50, warm_up=100), chunked(X, y, 50), every=300).run()
    >>> [snapshot.rows for snapshot in run.snapshots]
    [300, 600]
    >>> bool(run.snapshots[-1].window_accuracy > 0.9)
    True
    """
    if window < 1 or every < 1:
        raise ValueError(f"window and every must be at least 1, got {window} and {every}.")
    if not (hasattr(model, "predict") and hasattr(model, "partial_fit")):
        raise TypeError(f"{type(model).__name__} has no predict and partial_fit: prequential(model, chunks).")
    parts = chunks if isinstance(chunks, tuple | list) else ()
    if hasattr(chunks, "shape") or any(hasattr(part, "shape") for part in parts):
        raise TypeError("chunks must be pairs (X, y), such as those of chunked(X, y, 100), not arrays.")
    late = None if np.ndim(delay) == 0 and delay == 0 else LateLabels(delay)
    return Prequential(model, chunks, window, every, classes, progress, late=late)


def _progress(wanted: bool | None, total: int | None) -> Any:
    """Return a context whose value is to be called with (rows, score) after each chunk."""
    if wanted is False or (wanted is None and not (sys.stderr.isatty() and find_spec("rich"))):
        return nullcontext(lambda rows, score: None)
    try:
        from .._progress import stream_bar
    except ImportError as error:
        raise ImportError("A progress bar needs rich: pip install 'fbtwsvm[stream]', or progress=False.") from error
    return stream_bar(total)
