"""Gradients of the decision, and from them the importance of each column.

The probability of class k is that of the closed form of coupling, proportional to 1 / sum_j exp(m_kj), where m are the
pair margins.  A committee (decay="auto") combines these probabilities of its members, each at least `least_chance`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import logsumexp

from .._arrays import Array, tiles
from . import _pair_loops
from .decision import Answers, PairRule

_TILE_BYTES = 16 * 2**20  # size of the plane values of the rows whose gradients are computed together
_MOST_ROWS, _MOST_VALUES = 500, 10_000_000  # rows that importances are the mean of, and plane values of these


def gradients(answers: Answers, X: Any) -> Array:
    """Return the gradient of the probability of the predicted class at each row: (n, n_columns)."""
    size = max(1, _TILE_BYTES // (8 * len(answers.classes) ** 2))
    parts = [X[part] for part in tiles(0, X.shape[0], size)]
    return np.concatenate([_gradients(answers, part.toarray() if sp.issparse(part) else part) for part in parts])


def _gradients(answers: Answers, X: Array) -> Array:
    rule, rows = answers.rule, answers.mapping.rows(X)
    members = rule.members()
    softened = [_softened(PairRule(rule.decision, planes), rows) for planes in members]
    logs = [-sums - logsumexp(-sums, axis=1, keepdims=True) for _, _, sums in softened]
    pulls = rule.slopes([np.maximum(log, rule.least_chance) for log in logs], rule.winners(rows))
    slopes = np.triu(rule.decision.slopes, 1)
    total = np.zeros((len(rows), rows.shape[1]))
    for planes, (values, shares, _), log, pull in zip(members, softened, logs, pulls, strict=True):
        free = pull * (log > rule.least_chance)
        free -= np.exp(log) * free.sum(axis=1, keepdims=True)  # the probabilities of a member add up to one
        of_margins = -free[:, :, None] * shares
        of_margins = (of_margins - of_margins.transpose(0, 2, 1)) * slopes  # m_ba = -m_ab: one of each pair
        of_planes = of_margins - of_margins.transpose(0, 2, 1)
        # A margin has the logarithms of both values; below the floor they are constant.
        slope = np.divide(1.0, values, out=np.zeros_like(values), where=np.abs(values) > _pair_loops.FLOOR)
        of_planes *= slope
        total += of_planes.reshape(len(rows), -1) @ planes.reshape(-1, rows.shape[1])
    return answers.mapping.gradient(X, total[:, :-1])


def _softened(rule: PairRule, rows: Array) -> tuple[Array, Array, Array]:
    """Return plane values (n, K, K), the shares of exp(m_kj) in their sum over j, and the logarithms of these sums."""
    n_classes, n_columns = len(rule.planes), rule.planes.shape[2]
    values = (rows @ rule.planes.reshape(-1, n_columns).T).astype(np.float64).reshape(-1, n_classes, n_classes)
    margins = values.copy()
    _pair_loops.pair_margins(margins, rule.decision.learned_offsets, rule.decision.slopes)
    largest = margins.max(axis=2, keepdims=True)
    grown = np.exp(margins - largest)
    sums = grown.sum(axis=2, keepdims=True)
    return values, grown / sums, (largest + np.log(sums))[..., 0]


def importances(answers: Answers, rows: Any) -> Array:
    """Return the importance of each column, in all 1.

    It is the mean of |slope| times the standard deviation of the column, over some of the rows.
    """
    most = min(rows.shape[0], _MOST_ROWS, max(20, _MOST_VALUES // len(answers.classes) ** 2))
    some = np.unique(np.linspace(0, rows.shape[0] - 1, most).astype(np.int64))
    rows = rows[some]
    dense = (rows.toarray() if sp.issparse(rows) else rows).astype(np.float64)
    found = np.abs(gradients(answers, dense)).mean(axis=0) * dense.std(axis=0)
    total = float(found.sum())
    return found / total if total > 0 else np.full(len(found), 1.0 / len(found))
