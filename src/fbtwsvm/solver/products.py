"""Products of mapped rows with vectors and with themselves on a device, through the array API.

Rows of 16 bits (bf16) are multiplied as they are and added up in float32; a vector is cut into three such numbers each,
so that nothing of it is lost.  Sums over tiles are float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import tiles
from .._namespace import as_float, namespace, zeros

_ROWS_OF_GRAM = 65536  # rows whose products are added up in float32; sums of more rows lose definiteness
_ALIGNED = 8  # columns of a product of bf16 numbers, which is slow with fewer


def is_half(rows: Any) -> bool:
    """Whether rows have 16 bits."""
    return str(rows.dtype).endswith("bfloat16")


def width_of(n_columns: int) -> int:
    """Return the number of columns that rows are stored with: zeros are added, so that rows begin at even addresses."""
    return -(-n_columns // _ALIGNED) * _ALIGNED


def _working(rows: Any) -> str:
    """Return the precision of numbers that are computed from rows."""
    return "float64" if str(rows.dtype).endswith("float64") else "float32"


def row_values(rows: Any, vectors: Any) -> Any:
    """Return h_i.v (n_vectors, n) of rows with vectors (n_vectors, D)."""
    xp = namespace(rows)
    if not is_half(rows):
        return xp.matmul(vectors_like(rows, vectors), rows.T)
    count, parts = vectors.shape[0], _thirds(as_float(vectors, "float32").T)
    values = _half_product(rows, parts)[:, : 3 * count]
    return xp.sum(xp.reshape(values, (-1, 3, count)), axis=1).T


def vectors_like(rows: Any, vectors: Any) -> Any:
    """Return vectors in the precision of rows."""
    return as_float(vectors, _working(rows))


def weighted_sums(weights: Any, rows: Any) -> Any:
    """Return sum_i w_i h_i (n_sums, D) in float64, for weights (n_sums, n)."""
    xp = namespace(rows)
    if not is_half(rows):
        return as_float(xp.matmul(vectors_like(rows, weights), rows), "float64")
    count, parts = weights.shape[0], _thirds(as_float(weights, "float32").T)
    sums = _half_product(rows.T, parts)[:, : 3 * count]
    return as_float(xp.sum(xp.reshape(sums, (-1, 3, count)), axis=1).T, "float64")


def add_gram(total: Any, rows: Any, roots: Any | None = None) -> Any:
    """Return a sum plus h_i h_i' of rows; each row is multiplied by its root first, if there are roots."""
    xp = namespace(rows)
    for part in tiles(0, rows.shape[0], _ROWS_OF_GRAM):
        tile = rows[part, :]
        if roots is not None:
            scaled = as_float(tile, _working(rows)) * vectors_like(rows, roots[part])[:, None]
            tile = xp.astype(scaled, rows.dtype, copy=False)
        total += _half_product(tile.T, tile) if is_half(rows) else xp.matmul(tile.T, tile)
    return total


def row_squares(rows: Any) -> Any:
    """Return h_i.h_i (n,) of rows."""
    if is_half(rows):
        import torch  # rows of 16 bits are Torch's

        return torch.linalg.vector_norm(rows, dim=1, dtype=torch.float32) ** 2
    return namespace(rows).sum(rows * rows, axis=1)


def _thirds(columns: Any) -> Any:
    """Return float32 columns (n, k) as bf16 columns (n, 3 k or more), whose sum by threes they are."""
    import torch

    parts, rest = [], columns
    for _ in range(3):
        parts.append(rest.bfloat16())
        rest = rest - parts[-1].float()
    cut = torch.cat(parts, dim=1)
    return torch.nn.functional.pad(cut, (0, -cut.shape[1] % _ALIGNED))


def _half_product(one: Any, other: Any) -> Any:
    """Return the product of bf16 matrices in float32."""
    import torch

    return torch.mm(one, other, out_dtype=torch.float32)


def smooth_hinge(x: Any, box: Any, widths: list[float]) -> tuple[Any, Any, Any]:
    """Compute what `_newton_loops.smooth_hinge` does, on a device: sums of losses (n_planes, 2), duals and roots."""
    xp = namespace(x)
    width = xp.asarray(widths, dtype=x.dtype, device=x.device)[:, None]
    half = 0.5 * width
    slope = xp.clip((x + half) / width, 0.0, 1.0)
    inside = xp.abs(x) < half
    hinge = xp.clip(x, 0.0, None)
    smooth = xp.where(inside, 0.5 * width * slope * slope, hinge)
    losses = xp.stack([xp.sum(box * part, axis=1, dtype=xp.float64) for part in (hinge, smooth)], axis=1)
    return losses, box * slope, xp.where(inside, xp.sqrt(box / width), xp.zeros_like(x))


def damped_roots(x: Any, box: Any, widths: list[float]) -> Any:
    """Return square roots of a curvature that bounds the hinge from above wherever a row goes: box / (2 |x|).

    Within the zone it is that of the smoothed hinge.
    """
    xp = namespace(x)
    width = xp.asarray(widths, dtype=x.dtype, device=x.device)[:, None]
    return xp.sqrt(box / xp.maximum(2.0 * xp.abs(x), xp.broadcast_to(width, x.shape)))


def zone_gram(total: Any, rows: Any, roots: Any, most: int) -> Any:
    """Return a sum plus r_i^2 h_i h_i' of the rows with a root; of more than `most` rows, evenly spaced ones."""
    xp = namespace(rows)
    (places,) = xp.nonzero(roots)
    every = max(1, -(-int(places.shape[0]) // most))
    places = places[::every]
    if not places.shape[0]:
        return total
    some = xp.take(roots, places) * float(np.sqrt(every))
    return add_gram(total, xp.take(rows, places, axis=0), some)


def square_zeros(count: int, n_columns: int, rows: Any) -> Any:
    """Return zeros (count, D, D) on the device of rows."""
    return zeros((count, n_columns, n_columns), rows)
