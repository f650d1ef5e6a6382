"""A quick judge of feature maps: ridge regression of the labels on mapped rows, some of which are held out.

It ranks maps as the planes do (docs/benchmarks/defaults.md), in a small part of their time: one Gram matrix serves all
classes, and those of the folds add up to that of the training rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_solve

from .._arrays import Array
from .._linalg import lower_factor

_JITTER = 1e-7  # times the number of landmarks: keeps their kernel matrix definite
_ROWS_OF_LANDMARK = 6  # rows of a sample for each landmark
_FEWEST_ROWS, _LANDMARKS = 3, 200  # in a small sample, so few rows for each of so many landmarks
RIDGE = 0.01  # for mapped rows with a mean square norm of about one: the default `reg` of the planes


@dataclass(frozen=True)
class HeldOut:
    """Which rows are held out together: `folds` numbers the parts, -1 for rows that are never held out.

    `judged` marks the rows that count, since some are held out only to keep what they tell from the others.
    """

    folds: Array
    judged: Array


def held_out_hits(
    rows: Array,
    labels: Array,
    weights: Array,
    held_out: HeldOut,
    ridges: dict[int, float] | None = None,
    penalty: Array | None = None,
) -> Array:
    """Return which judged rows are classified correctly by the first columns of the rows.

    `ridges` has the ridge for each number of leading columns to use, and the result a line for each of them; without it
    there is one line, for all columns.  `labels` are 0, 1, 2, ...  The ridge is multiplied by the matrix `penalty`, by
    default the identity.  Rows that are not judged are False.
    """
    ridges = ridges or {rows.shape[1]: RIDGE}
    targets = one_against_rest(labels).astype(rows.dtype)
    root = np.sqrt(weights / weights.mean()).astype(rows.dtype)[:, None]
    parts = {int(fold): _sums(rows, targets, root, held_out.folds == fold) for fold in np.unique(held_out.folds)}
    hits = np.zeros((len(ridges), len(rows)), dtype=bool)
    for fold in parts.keys() - {-1}:
        others = [part for other, part in parts.items() if other != fold]
        if not others:
            continue  # nothing to learn from
        gram, sums = (sum(part) for part in zip(*others, strict=True))
        judged = np.flatnonzero((held_out.folds == fold) & held_out.judged)
        tested = rows[judged]
        for line, (size, ridge) in zip(hits, ridges.items(), strict=True):
            factor = ridge_factor(gram[:size, :size], ridge, None if penalty is None else penalty[:size, :size])
            planes = cho_solve((factor, True), sums[:size], check_finite=False)
            values = tested[:, :size] @ planes.astype(rows.dtype)
            line[judged] = values.argmax(axis=1) == labels[judged]
    return hits


def _sums(rows: Array, targets: Array, root: Array, part: Array) -> tuple[Array, Array]:
    """Return the weighted Gram matrix of part of the rows, and the products of their columns with the targets."""
    own = rows[part] * root[part]
    return (own.T @ own).astype(np.float64), (own.T @ (targets[part] * root[part])).astype(np.float64)


def one_against_rest(labels: Array) -> Array:
    """Return targets (n, n_classes) of labels 0, 1, 2, ...: 1 for the class of a row, -1 for the others."""
    return np.where(labels[:, None] == np.arange(labels.max() + 1), 1.0, -1.0)


def landmark_count(n: int, most: int | None = None) -> int:
    """Return the number of landmarks of a sample: one for six rows, and in a small one up to 200, one for three."""
    usual = n // _ROWS_OF_LANDMARK
    return max(usual if most is None else min(usual, most), min(n // _FEWEST_ROWS, _LANDMARKS), 1)


def landmark_rows(similarities: Array, landmarks: Array) -> tuple[Array, Array]:
    """Return similarities to landmarks with a bias column, and the penalty that makes them as good as mapped rows.

    `landmarks` are the numbers of the rows that are landmarks.  The penalty of planes over landmarks is their kernel
    matrix, so no row needs to be mapped.
    """
    n, count = similarities.shape
    rows = np.ones((n, count + 1))
    rows[:, :-1] = similarities
    penalty = np.eye(count + 1)
    penalty[:-1, :-1] = similarities[landmarks]
    penalty[np.diag_indices(count)] += _JITTER * count
    return rows, penalty


def ridge_factor(gram: Array, ridge: float, penalty: Array | None) -> Array:
    """Return the Cholesky factor of the system, with a further ridge where rounding in float32 needs it."""
    rounding = 1e-6 * float(np.trace(gram))
    message = "A feature map returned NaN or infinity."
    if penalty is None:
        return lower_factor(gram, message, ridges=(ridge, ridge + rounding))
    return lower_factor(gram + ridge * penalty, message, ridges=(0.0, rounding))
