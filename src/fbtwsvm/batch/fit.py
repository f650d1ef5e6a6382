"""`fit`: from checked rows to a batch model."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import numpy as np
import scipy.sparse as sp

from .._arrays import Array, tiles
from .._log import LOG
from ..model.mapping import Mapping
from ..model.rows import CheckedRows, TrainingRows
from ..model.settings import Parameters, Settings
from .model import BatchModel
from .prepare import Prepared, prepare
from .remember import keeps_rows, sums_of, support_of
from .solve import Solved, marked
from .support import LEAST_DUAL, Support

_TILE = 65536  # rows that are looked at together
_MOST_MAPPED = 2 * 2**30  # most bytes of mapped rows that a fit holds in memory


def fit_rows(
    parameters: Parameters,
    X: Any,
    y: Array,
    weights: Array | None,
    *,
    ids: Array | None = None,
    mapped: bool = True,
    quick: bool = False,
    fitted: Mapping | None = None,
    groups: Array | None = None,
) -> BatchModel:
    """Fit a model; unless `mapped`, the mapped rows are never all in memory at once.

    `quick` uses gamma "scale" and keeps nothing to continue from.  A map that is `fitted` is used without change.  For
    `groups` see `prepare`.
    """
    prepared = prepare(parameters, X, y, weights, mapped=mapped, quick=quick, fitted=fitted, groups=groups)
    rows, home = prepared.rows, prepared.home
    # To continue later, the model keeps its rows or sums over them, whichever is smaller.
    with_rows = ids is not None or home is None or keeps_rows(X, rows, home.n_columns, parameters.memory)
    LOG.info("solving the planes of %d classes", len(prepared.classes))
    keeps_sums = not (with_rows or quick)
    (solved,) = prepared.solve(prepared.settings, with_grams=keeps_sums)
    found: Support | None = None
    if home is not None and (keeps_sums or not home.in_memory):
        found = support_of(home, solved, prepared, parameters.memory, with_numbers=not home.in_memory)
    if found is None or mapped:
        numbers = _support_numbers(solved.solution.alpha, rows, prepared.settings)
    else:
        numbers = found.numbers
    support, n_support = rows.given(marked(numbers, rows.n))
    model = batch_model(prepared, solved, X.dtype)
    return replace(
        model,
        support=support,
        n_support=n_support,
        memberships=None if solved.memberships is None else rows.spread(solved.memberships),
        rows=_checked(X, y, weights, ids) if with_rows and not quick else None,
        sums=None if not keeps_sums or found is None else sums_of(prepared, solved, found, parameters),
    )


def batch_model(prepared: Prepared, solved: Solved, dtype: np.dtype) -> BatchModel:
    """Return the model of solved planes, without what it continues from."""
    solution = solved.solution
    return BatchModel(
        classes=prepared.classes,
        gamma=prepared.gamma,
        mapping=prepared.mapping,
        decision=solved.decision,
        planes=solution.planes.astype(prepared.mapping.dtype, copy=False),
        gaps=solution.gaps,
        n_iter=int(solution.sweeps.max()),
        dtype=dtype,
        lineage=frozenset([uuid4().hex]),
    )


def refit(model: BatchModel, rows: CheckedRows, parameters: Parameters) -> BatchModel:
    """Fit some of the rows of a model once more, with the same gamma and the same map."""
    ids = None if all(key is None for key in rows.ids) else rows.ids
    mapped = fits_in_memory(parameters, rows.X)
    if model.mapping.exact:  # its map is the rows themselves
        metric = "none" if model.mapping.metric is None else model.mapping.metric
        again = replace(parameters, gamma=parameters.gamma if model.gamma is None else model.gamma, metric=metric)
        fit = fit_rows(again, rows.X, rows.y, rows.weights, ids=ids)
        fit.mapping.rounds = model.mapping.rounds
    else:
        fit = fit_rows(parameters, rows.X, rows.y, rows.weights, ids=ids, mapped=mapped, fitted=model.mapping)
    return replace(fit, gamma=model.gamma, lineage=model.lineage)


def _checked(X: Any, y: Array, weights: Array | None, ids: Array | None) -> CheckedRows:
    """Return a copy of the rows of positive weight."""
    rows = CheckedRows.unnamed(X, y, weights)
    rows = rows if ids is None else replace(rows, ids=ids)
    return rows.take(np.flatnonzero(rows.weights > 0))


def fits_in_memory(parameters: Parameters, X: Any) -> bool:
    """Whether all mapped rows may be in memory at once."""
    if sp.issparse(X) or not parameters.names_map or parameters.n_components == "auto":
        return True
    return bool(X.shape[0] * (int(parameters.n_components) + 1) * X.dtype.itemsize <= _MOST_MAPPED)


def _support_numbers(alpha: Array, rows: TrainingRows, settings: Settings) -> Array:
    """Return the numbers of the sorted rows with a dual above zero in any plane, from the duals of all rows."""
    least = LEAST_DUAL * settings.C.min()
    parts = [
        np.flatnonzero(alpha[part].max(axis=1) > least * rows.weights[part]) + part.start
        for part in tiles(0, rows.n, _TILE)
    ]
    return np.concatenate(parts)
