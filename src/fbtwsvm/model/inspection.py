"""What a model holds, in a few numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arrays import Array


@dataclass(frozen=True)
class Inspection:
    """What `FBTWSVM.inspect` returns.

    Attributes
    ----------
    stage : {"batch", "warm_up", "stream"}
        How far the model has come: fitted at once, collecting the first rows of a stream, or learning from it.
    seen : int
        Rows learned.
    kept : int
        Rows that are stored: support rows of a fit, waiting rows in the warm-up, kept rows of a stream.
    forgotten : int
        Rows of a stream of which only sums are left.
    drifts : int
        Drifts that the detector has seen.
    bytes : int
        Size of all arrays.
    kept_rows, kept_labels : ndarray or None
        Stored rows of a stream as they came and their class indices, where the model needs them.
    warm_up : int
        Rows that the warm-up waits for; 0 when it is over.
    """

    stage: str
    seen: int
    kept: int
    forgotten: int = 0
    drifts: int = 0
    bytes: int = 0
    kept_rows: Any = None
    kept_labels: Array | None = None
    warm_up: int = 0
