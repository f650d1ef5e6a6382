"""Products of mapped rows with vectors and with themselves on a device, through the array API.

Rows of 16 bits (bf16) are multiplied as they are and added up in float32; a vector is cut into three such numbers each,
so that nothing of it is lost.  Sums over tiles are float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, tiles
from .._namespace import as_float, has_fast_double, like, namespace, zeros

_ROWS_OF_GRAM = 4096  # rows of a Gram matrix, or of a sum, that are added up in float32
_ROWS_OF_HESSIAN = 16384  # the same of a Hessian
_ROWS_OF_SUM = 1024  # and of a sum of bf16 rows, which loses more
_MOST_DOUBLE = 800  # columns of bf16 rows up to which their product in float64 takes less time
_DOUBLE_NUMBERS = 2**25  # numbers that are in float64 at a time
_AT_ONCE = 2**26  # numbers up to which the rows of several planes are multiplied at once
_ALIGNED = 8  # columns of a product of bf16 numbers, which is slow with fewer


def is_half(rows: Any) -> bool:
    """Whether rows have 16 bits."""
    return str(rows.dtype).endswith("bfloat16")


def width_of(n_columns: int) -> int:
    """Return the number of columns that rows are stored with: zeros fill up 16 bytes of bf16."""
    return -(-n_columns // _ALIGNED) * _ALIGNED


def _working(rows: Any) -> str:
    """Return the precision of numbers that are computed from rows."""
    return "float64" if str(rows.dtype).endswith("float64") else "float32"


def row_values(rows: Any, vectors: Any) -> Any:
    """Return h_i.v (n_vectors, n) of rows with vectors (n_vectors, D)."""
    xp = namespace(rows)
    if not is_half(rows):
        return xp.matmul(vectors_like(rows, vectors), rows.T)
    if _in_double(rows):
        return as_float(xp.matmul(as_float(vectors, "float64"), as_float(rows, "float64").T), "float32")
    count, parts = vectors.shape[0], _thirds(as_float(vectors, "float32").T)
    values = _half_product(rows, parts)[:, : 3 * count]
    return xp.sum(xp.reshape(values, (-1, 3, count)), axis=1).T


def vectors_like(rows: Any, vectors: Any) -> Any:
    """Return vectors in the precision of rows."""
    return as_float(vectors, _working(rows))


def weighted_sums(weights: Any, rows: Any) -> Any:
    """Return sum_i w_i h_i (n_sums, D) in float64, for weights (n_sums, n)."""
    xp, double = namespace(rows), _in_double(rows)
    if not is_half(rows) or double:
        precision, total = "float64" if double else _working(rows), zeros((weights.shape[0], rows.shape[1]), rows)
        for part in tiles(0, rows.shape[0], max(1, _DOUBLE_NUMBERS // rows.shape[1]) if double else _ROWS_OF_GRAM):
            product = xp.matmul(as_float(weights[:, part], precision), as_float(rows[part, :], precision))
            total += as_float(product, "float64")
        return total
    count, parts = weights.shape[0], _thirds(as_float(weights, "float32").T)
    sums = _half_product_in_float64(rows, parts, _ROWS_OF_SUM)[:, : 3 * count]
    return xp.sum(xp.reshape(sums, (-1, 3, count)), axis=1).T


def add_gram(total: Any, rows: Any, weights: Any | None = None) -> Any:
    """Return a sum plus w_i h_i h_i' of rows; no weights are all one.

    Of rows in float64 where such products are as fast as others; otherwise in their own precision, few rows at a time,
    because a GPU rounds sums of bf16 products towards zero.
    """
    xp, half, n_columns = namespace(rows), is_half(rows), rows.shape[1]
    if _in_double(rows):
        for part in tiles(0, rows.shape[0], max(1, _DOUBLE_NUMBERS // n_columns)):
            tile = as_float(rows[part, :], "float64")
            total += xp.matmul(tile.T, tile if weights is None else tile * weights[part][:, None])
        return total
    for part in tiles(0, rows.shape[0], _ROWS_OF_GRAM):
        tile = rows[part, :]
        if weights is None:
            total += as_float(_half_product(tile.T, tile) if half else xp.matmul(tile.T, tile), "float64")
            continue
        scaled = as_float(tile, _working(rows)) * vectors_like(rows, weights[part])[:, None]
        if not half:
            total += as_float(xp.matmul(tile.T, scaled), "float64")
            continue
        product = as_float(_half_product(tile.T, _thirds(scaled)), "float64")[:, : 3 * n_columns]
        product = xp.sum(xp.reshape(product, (n_columns, 3, n_columns)), axis=1)
        total += 0.5 * (product + product.T)
    return total


def _add_rounded_gram(total: Any, rows: Any, roots: Any) -> Any:
    """Return a sum plus r_i^2 h_i h_i' of rows, which need not be precise: it is part of a Hessian."""
    if not is_half(rows) or _in_double(rows):
        return add_gram(total, rows, as_float(roots, "float64") ** 2)
    for part in tiles(0, rows.shape[0], _ROWS_OF_HESSIAN):
        scaled = rows[part, :] * namespace(rows).astype(roots[part], rows.dtype)[:, None]
        total += as_float(_half_product(scaled.T, scaled), "float64")
    return total


def _in_double(rows: Any) -> bool:
    """Whether products of rows with themselves are computed in float64, because that takes no longer."""
    return has_fast_double(rows) and (not is_half(rows) or rows.shape[1] <= _MOST_DOUBLE)


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


def _half_product_in_float64(rows: Any, columns: Any, n_rows: int) -> Any:
    """Return rows' columns (D, k) of bf16 matrices: so many rows are added up in float32, their sums in float64."""
    import torch

    count = rows.shape[0] // n_rows
    whole = count * n_rows
    total = _half_product(rows[whole:].T, columns[whole:]).double()
    if count:
        some, others = (part[:whole].unflatten(0, (count, n_rows)) for part in (rows, columns))
        total += _half_product(some.mT, others).sum(0, dtype=torch.float64)
    return total


def _half_product(one: Any, other: Any) -> Any:
    """Return the product of bf16 matrices, or of stacks of them, in float32."""
    import torch

    return (torch.mm if one.ndim == 2 else torch.bmm)(one, other, out_dtype=torch.float32)


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
        precision = "float64" if _in_double(rows) else _working(rows)
        scaled = as_float(rows, precision)[None, :, :] * as_float(roots, precision)[:, :, None]
        totals += as_float(xp.matmul(xp.matrix_transpose(scaled), scaled), "float64")
        return
    for place in range(count):
        if most is None:
            totals[place, ...] = _add_rounded_gram(totals[place, ...], rows, roots[place, :])
            continue
        (places,) = xp.nonzero(roots[place, :])
        every = max(1, -(-int(places.shape[0]) // most))
        places = places[::every]
        if places.shape[0]:
            some = xp.take(roots[place, :], places) * float(np.sqrt(every))
            totals[place, ...] = _add_rounded_gram(totals[place, ...], xp.take(rows, places, axis=0), some)
