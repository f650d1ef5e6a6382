"""Products of mapped rows with vectors and with themselves on a device, through the array API.

Rows of 16 bits (bf16) are multiplied as they are and added up in float32; a vector is cut into three such numbers each,
so that nothing of it is lost.  Sums over tiles are float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, tiles
from .._namespace import as_float, like, namespace

_ROWS_OF_GRAM = 65536  # rows whose products are added up in float32; sums of more rows lose definiteness
_AT_ONCE = 2**26  # numbers up to which the rows of several planes are multiplied at once
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
        total += as_float(_half_product(tile.T, tile) if is_half(rows) else xp.matmul(tile.T, tile), "float64")
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


def smooth_hinge(x: Any, box: Any, widths: Array) -> tuple[Any, Any, Any]:
    """Compute what `_newton_loops.smooth_hinge` does, on a device: sums of losses (n_planes, 2), duals and roots."""
    xp = namespace(x)
    width = like(widths, x, _working(x))[:, None]
    half = 0.5 * width
    slope = xp.clip((x + half) / width, 0.0, 1.0)
    inside = xp.abs(x) < half
    hinge = xp.clip(x, 0.0, None)
    smooth = xp.where(inside, half * slope * slope, hinge)
    losses = xp.stack([xp.sum(box * part, axis=1, dtype=xp.float64) for part in (hinge, smooth)], axis=1)
    return losses, box * slope, xp.where(inside, xp.sqrt(box / width), xp.zeros_like(x))


def add_zone_grams(totals: Any, rows: Any, roots: Any, most: int | None = None) -> None:
    """Add r_i^2 h_i h_i' of the rows with a root to the sum of each plane, from roots (n_planes, n).

    Of more than `most` rows with a root, evenly spaced ones stand for all; None is for rows that all have one.
    """
    xp, count = namespace(rows), int(roots.shape[0])
    if count > 1 and (most is None or rows.shape[0] <= most) and count * rows.shape[0] * rows.shape[1] <= _AT_ONCE:
        scaled = as_float(rows, _working(rows))[None, :, :] * roots[:, :, None]
        totals += xp.matmul(xp.matrix_transpose(scaled), scaled)
        return
    for place in range(count):
        if most is None:
            totals[place, ...] = add_gram(totals[place, ...], rows, roots[place, :])
            continue
        (places,) = xp.nonzero(roots[place, :])
        every = max(1, -(-int(places.shape[0]) // most))
        places = places[::every]
        if places.shape[0]:
            some = xp.take(roots[place, :], places) * float(np.sqrt(every))
            totals[place, ...] = add_gram(totals[place, ...], xp.take(rows, places, axis=0), some)
