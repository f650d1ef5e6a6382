"""The duals of rows that the solver does not hold: they follow from the planes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._arrays import Array
from .newton_sums import by_class, smooth_duals
from .row_reader import Boxes, MappedRows


@dataclass(frozen=True)
class SharpDuals:
    """Duals of planes that `finish` has solved.

    planes   (n_classes, n_classes): which planes these are
    numbers  rows near the margin of any of them, sorted
    alpha    (len(numbers), n_classes): their duals; NaN where a row is not near the margin of a plane.  The dual of
             such a row, as that of every other row, is zero or at its bound.
    """

    planes: Array
    numbers: Array
    alpha: Array

    @classmethod
    def joined(cls, parts: list[SharpDuals], n_classes: int) -> SharpDuals:
        """Return the duals of several groups of planes, which push different classes."""
        planes = np.zeros((n_classes, n_classes), dtype=bool)
        for part in parts:
            planes |= part.planes
        numbers = np.concatenate([np.empty(0, dtype=np.int64), *(part.numbers for part in parts)])
        alpha = np.concatenate([np.empty((0, n_classes)), *(part.alpha for part in parts)])
        order = np.argsort(numbers)
        return cls(planes, numbers[order], alpha[order])


@dataclass(frozen=True)
class PlaneDuals:
    """Computes the duals of rows from the planes: those of the smoothed hinge, or of `sharp` planes.

    boxes   function that returns C w s of rows
    planes  (n_classes, n_classes, D)
    widths  (n_classes, n_classes): widths of the zones
    """

    boxes: Boxes
    planes: Array
    widths: Array
    sharp: SharpDuals

    def __call__(self, rows: MappedRows) -> Array:
        """Return the duals (n, n_classes) of rows; that of the own class is zero."""
        duals = np.zeros((len(rows), len(self.planes)))
        for label, own in by_class(rows):
            some = rows.take(own)
            near = np.flatnonzero(np.arange(len(self.planes)) != label)
            box = self.boxes(some)[:, near]
            x, found = smooth_duals(some, box, self.planes[near, label], self.widths[near, label])
            sharp = self.sharp.planes[near, label]
            found = np.where(sharp[:, None], np.where(x > 0, box.T, 0.0), found)
            places, held = self._held(some.each_number)
            near_margin = self.sharp.alpha[np.ix_(held, near[sharp])].T
            others = found[np.ix_(sharp, places)]
            found[np.ix_(sharp, places)] = np.where(np.isnan(near_margin), others, near_margin)
            duals[np.ix_(own, near)] = found.T
        return duals

    def _held(self, numbers: Array) -> tuple[Array, Array]:
        """Return the places of rows near the margin among some rows, and among those rows."""
        held = np.searchsorted(self.sharp.numbers, numbers)
        found = np.zeros(len(numbers), dtype=bool)
        inside = held < len(self.sharp.numbers)
        found[inside] = self.sharp.numbers[held[inside]] == numbers[inside]
        return np.flatnonzero(found), held[found]
