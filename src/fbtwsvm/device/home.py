"""Mapped rows on a device: held there if they fit, mapped anew in every pass otherwise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .._arrays import Array, tiles
from .._namespace import device_of, free_bytes, has_half_products, namespace, rows_at
from ..batch.row_homes import Home
from ..model.mapping import Mapping
from ..solver.row_reader import MappedRows, Result, Visit
from .maps import DeviceMap
from .rows import DeviceRows

_TILE = 2**20  # rows that are looked at together
_TILE_BYTES = 2**32  # the most that they take
_LEFT_FOR_WORK = 0.75  # share of the free memory of the device that mapped rows may take


class DeviceHome(Home):
    """Mapped training rows on a device; `held` are those of each class, or None if they do not fit."""

    def __init__(self, rows: DeviceRows, mapping: Mapping, precision: str) -> None:
        self.rows, self.mapping = rows, mapping
        self.starts, self.class_weights = rows.starts, rows.class_weights
        self.map = DeviceMap(mapping, rows.place, mapped_dtype(rows.place, precision))
        self.held: list[Any] | None = None

    @property
    def n_columns(self) -> int:
        """Number of columns of a mapped row on the device: with the bias, and zeros behind it."""
        return self.map.width

    def hold(self) -> None:
        """Map all rows and hold them, if the device has the memory."""
        place = self.rows.place
        if self.rows.n * self.map.width * _bytes_of(self.map.dtype) > _LEFT_FOR_WORK * free_bytes(place):
            return
        xp, dtype = namespace(place), self.map.dtype
        shape = [(int(count), self.map.width) for count in np.diff(self.starts)]
        held = [xp.empty(one, dtype=dtype, device=device_of(place)) for one in shape]
        for piece in self.rows.pieces():
            first = int(self.starts[piece.label])
            self.map.write(piece.X, held[piece.label][piece.numbers.start - first : piece.numbers.stop - first, :])
        self.held = held

    def take(self, numbers: Array) -> MappedRows:
        """Return the rows with these numbers, on the device."""
        labels = self.labels_of(numbers)
        if self.held is None:
            rows = self.map.rows(self.rows.take(numbers))
        else:
            xp = namespace(self.rows.place)
            parts = [rows_at(held, numbers[labels == k] - self.starts[k]) for k, held in enumerate(self.held)]
            rows = xp.concat(parts, axis=0)
        return MappedRows(numbers, rows, labels, self.rows.weights_of(numbers))

    def raw(self, numbers: Array) -> Any:
        """Return the rows with these numbers as they are before the map, as an array of NumPy."""
        return self.rows.take_here(numbers)

    def reduce(self, function: Visit[Result], state: Any, name: str, classes: Sequence[int] | None = None) -> Result:
        """Pass over the rows of some classes; weights of None are all one."""
        return function(self._tiles(range(self.n_classes) if classes is None else classes), state)

    def _tiles(self, classes: Sequence[int]) -> Iterator[MappedRows]:
        size = max(1, min(_TILE, _TILE_BYTES // (self.map.width * _bytes_of(self.map.dtype))))
        if self.held is None:
            for piece in self.rows.pieces(classes, size):
                yield MappedRows(piece.numbers, self.map.rows(piece.X), np.array([piece.label]), piece.weights)
            return
        for k in classes:
            first = int(self.starts[k])
            for part in tiles(first, self.starts[k + 1], size):
                rows = self.held[k][part.start - first : part.stop - first, :]
                weights: Any = None if self.rows.weights is None else self.rows.weights[part]
                yield MappedRows(part, rows, np.array([k]), weights)


def _bytes_of(dtype: Any) -> int:
    """Return the bytes of a floating-point number."""
    return {"bfloat16": 2, "float32": 4, "float64": 8}[str(dtype).rpartition(".")[2]]


def mapped_dtype(place: Any, precision: str) -> Any:
    """Return the precision of mapped rows: bf16 for "high" where products of it are fast, else that of the rows."""
    if precision == "highest" or not has_half_products(place):
        return None
    import torch

    return torch.bfloat16
