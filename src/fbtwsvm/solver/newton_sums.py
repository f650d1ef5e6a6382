"""Passes over the rows of Newton's method: what the planes need to know of the rows that they push.

Rows in memory, on disk or on a cluster are added up by compiled loops (`add_up`), rows on a device through the array
API (`add_up_on_device`); sums over the latter stay on the device.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._arrays import Array
from .._namespace import as_float, is_foreign, namespace, rows_at, to_numpy, zeros
from . import _newton_loops, products
from .dual import values_of
from .row_reader import Boxes, ByClass, MappedRows, Tiles

_ROWS_OF_PRODUCT = 4096  # rows in the zone that are multiplied at a time
_MOST_OF_ZONE = 60_000  # rows of a class from which a Hessian on a device is added up


@dataclass(frozen=True)
class Look:
    """Where a pass looks.

    boxes   function that returns C w s of rows
    planes  for each pushed class the near classes, planes (m, D) and widths of the zones (m,)
    sizes   (n_classes,): rows of each class
    """

    boxes: Boxes
    planes: dict[int, tuple[Array, Array, Array]]
    sizes: Array


@dataclass
class PushedSums:
    """Sums over the rows of one pushed class, for m planes.

    losses     (m, 4): true hinge loss, smoothed hinge loss, duals, boxes
    dual_sums  (m, D): sum of alpha_i h_i
    curvature  (m, D, D): sum of box_i / delta h_i h_i' over the zone
    """

    losses: Array
    dual_sums: Array
    curvature: Array
    waiting: list[list[Array]] = field(default_factory=list)  # rows in the zone that are not multiplied yet

    @classmethod
    def zero(cls, planes: Array) -> PushedSums:
        """Return sums over no rows for planes (m, D)."""
        count, n_columns = planes.shape
        shapes = (count, 4), (count, n_columns), (count, n_columns, n_columns)
        losses, dual_sums, curvature = (zeros(shape, planes) for shape in shapes)
        return cls(losses, dual_sums, curvature, [[] for _ in range(count)])

    def add_zone(self, place: int, rows: Array) -> None:
        """Add h h' over rows; a product of many rows at a time is fast."""
        waiting = self.waiting[place]
        waiting.append(rows)
        if sum(map(len, waiting)) >= _ROWS_OF_PRODUCT:
            self._multiply(place)

    def _multiply(self, place: int) -> None:
        waiting = self.waiting[place]
        rows = np.concatenate(waiting) if len(waiting) > 1 else waiting[0]
        self.curvature[place] += rows.T @ rows
        self.waiting[place] = []

    def finish(self) -> None:
        """Multiply the rows that are left."""
        for place, waiting in enumerate(self.waiting):
            if waiting:
                self._multiply(place)

    def __add__(self, other: PushedSums) -> PushedSums:
        return PushedSums(
            self.losses + other.losses, self.dual_sums + other.dual_sums, self.curvature + other.curvature
        )


def add_up(rows: Tiles, look: Look) -> ByClass[PushedSums]:
    """Add up what the planes need to know of their pushed rows."""
    found: dict[int, PushedSums] = {}
    for tile in rows:
        near, planes, widths = look.planes[tile.label]
        sums = found.setdefault(tile.label, PushedSums.zero(planes))
        box = np.ascontiguousarray(look.boxes(tile)[:, near].T, dtype=tile.rows.dtype)
        losses, duals, roots = _newton_loops.smooth_hinge(margins(tile.rows, planes), box, widths)
        sums.losses += np.column_stack([losses, *(part.sum(axis=1, dtype=np.float64) for part in (duals, box))])
        sums.dual_sums += duals @ tile.rows
        for place in range(len(near)):
            inside = np.flatnonzero(roots[place])
            sums.add_zone(place, tile.rows[inside] * roots[place, inside, None])
    for sums in found.values():
        sums.finish()
    return ByClass(found)


def add_up_on_device(rows: Tiles, look: Look) -> ByClass[PushedSums]:
    """Add up the same on a device; the Hessians of very many rows in the zone are those of a part of them."""
    found: dict[int, PushedSums] = {}
    for tile in rows:
        near, planes, widths = look.planes[tile.label]
        xp = namespace(tile.rows)
        if tile.label not in found:
            found[tile.label] = PushedSums.zero(planes)
        sums = found[tile.label]
        box = rows_at(look.boxes(tile).T, near)
        x = products.row_values(tile.rows, planes) + 1.0
        losses, duals, roots = products.smooth_hinge(x, box, widths)
        totals = xp.stack([xp.sum(part, axis=1, dtype=xp.float64) for part in (duals, box)], axis=1)
        sums.losses += xp.concat([losses, totals], axis=1)
        sums.dual_sums += products.weighted_sums(duals, tile.rows)
        most = max(1, int(_MOST_OF_ZONE * len(tile) / look.sizes[tile.label]))
        products.add_zone_grams(sums.curvature, tile.rows, roots, most)
    return ByClass(found)


def margins(rows: Array, planes: Array) -> Array:
    """Return 1 + h.u (n_planes, n) of rows, as an array of NumPy."""
    if is_foreign(rows):
        return to_numpy(as_float(products.row_values(rows, planes), "float64")) + 1.0
    x = np.empty((len(planes), len(rows)), dtype=rows.dtype)
    values_of(rows, planes.astype(rows.dtype), x)
    x += rows.dtype.type(1.0)
    return x


def smooth_duals(rows: MappedRows, box: Array, planes: Array, widths: Array) -> tuple[Array, Array]:
    """Return 1 + h.u and the duals (n_planes, n) of rows in some planes that push their class.

    `box` (n, n_planes) are the boxes, `widths` those of the zones.
    """
    x = margins(rows.rows, planes)
    return x, _newton_loops.smooth_hinge(x, np.ascontiguousarray(box.T, dtype=x.dtype), widths)[1]


def by_class(rows: MappedRows) -> list[tuple[int, Array]]:
    """Return each class among rows, and the places of its rows."""
    return [(int(label), np.flatnonzero(rows.labels == label)) for label in np.unique(rows.labels)]
