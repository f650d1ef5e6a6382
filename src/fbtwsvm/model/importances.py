"""Gradients of the decision, and from them the importance of each column.

The probability of a class is that of the closed form of coupling: p_k is proportional to exp(a_k), where a_k is the sum
over the members of a committee (one, unless decay="auto") of -trust log sum_j exp(m_kj), and m are the pair margins.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import softmax

from .._arrays import Array, tiles
from . import _pair_loops
from .decision import Answers, PairRule

_TILE = 256  # rows whose gradients are computed together
_MOST_ROWS = 500  # rows that importances are the mean of


def gradients(answers: Answers, X: Any) -> Array:
    """Return the gradient of the probability of the class that is most probable, at each row: (n, n_columns)."""
    parts = [X[part] for part in tiles(0, X.shape[0], _TILE)]
    return np.concatenate([_gradients(answers, part.toarray() if sp.issparse(part) else part) for part in parts])


def _gradients(answers: Answers, X: Array) -> Array:
    rule, rows = answers.rule, answers.mapping.rows(X)
    members = rule.members()
    softened = [_softened(PairRule(rule.decision, planes), rows) for _, planes in members]
    scores = sum(trust * -sums for (trust, _), (_, _, sums) in zip(members, softened, strict=True))
    chances = softmax(scores, axis=1)
    every, best = np.arange(len(rows)), chances.argmax(axis=1)
    pulls = -chances * chances[every, best][:, None]  # slopes of the probability in the scores
    pulls[every, best] += chances[every, best]
    slopes = np.triu(rule.decision.slopes, 1)
    total = np.zeros((len(rows), rows.shape[1]))
    for (trust, planes), (values, shares, _) in zip(members, softened, strict=True):
        of_margins = -trust * pulls[:, :, None] * shares
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
    some = np.unique(np.linspace(0, rows.shape[0] - 1, min(rows.shape[0], _MOST_ROWS)).astype(np.int64))
    rows = rows[some]
    dense = (rows.toarray() if sp.issparse(rows) else rows).astype(np.float64)
    found = np.abs(gradients(answers, dense)).mean(axis=0) * dense.std(axis=0)
    total = float(found.sum())
    return found / total if total > 0 else np.full(len(found), 1.0 / len(found))
