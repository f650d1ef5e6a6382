"""A summary of a model in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._arrays import Array


@dataclass(frozen=True)
class Inspection:
    """Counts and sizes of a model, as returned by `FBTWSVM.inspect`.

    Attributes
    ----------
    stage : {"batch", "warm_up", "stream"}
        "batch" after `fit`, "warm_up" while the first rows of a stream are collected, then "stream".
    seen : int
        Number of rows learned.
    kept : int
        Number of support rows of a fit, of rows collected in the warm-up, or of kept rows of a stream.
    forgotten : int
        Number of rows of a stream that are no longer kept, only their sums.
    drifts : int
        Number of drifts detected.
    bytes : int
        Size of all arrays.
    kept_rows, kept_labels : ndarray or None
        Kept rows of a stream before the map and their class indices, if the map can be renewed.
    warm_up : int
        Number of rows that the warm-up collects; 0 when it is over.
    """

    stage: str
    seen: int
    kept: int
    forgotten: int = 0
    drifts: int = 0
    bytes: int = 0
    kept_rows: Any = field(default=None, repr=False)  # many numbers, and perhaps of people
    kept_labels: Array | None = field(default=None, repr=False)
    warm_up: int = 0
