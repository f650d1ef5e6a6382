"""`fit`: all rows at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array
from .._log import LOG
from ..model.rows import CheckedRows, TrainingRows
from ..model.settings import Parameters, Settings
from .machine import Machine, learn
from .model import BatchModel
from .prepare import Prepared, prepare, prepare_larger
from .tiled import learn_larger

_MOST_MAPPED = 2 * 2**30  # bytes of mapped rows that a fit holds


def fit_rows(parameters: Parameters, rows: CheckedRows, *, quick: bool = False) -> BatchModel:
    """Fit on rows in memory; `quick` takes gamma "scale" and the exact kernel."""
    found = prepare(parameters, rows.X, rows.y, rows.weights, quick=quick)
    exact = found.mapping.exact
    LOG.info("solving the planes of %d classes on %d features", len(found.classes), found.data.shape[1] - (not exact))
    order = found.rows
    machine = learn(found.settings, found.data, order.starts, order.weights, found.judged, exact=exact)
    support, n_support = _supports(machine, order, found.settings)
    return _model(found, machine, support, n_support, order.spread(machine.memberships, shared=False), rows.X.dtype)


def fit_larger(parameters: Parameters, X: Any, y: Array, weights: Array | None) -> BatchModel:
    """Fit on rows that are mapped tile by tile."""
    found, seed = prepare_larger(parameters, X, y, weights)
    result = learn_larger(found.settings, found.mapping, found.rows, found.judged, seed)
    support = np.sort(found.rows.index[result.supports]).astype(np.int64)
    owners = np.searchsorted(found.rows.starts, np.flatnonzero(result.supports), side="right") - 1
    n_support = np.bincount(owners, minlength=len(found.classes))
    return _model(found, result.machine, support, n_support, None, X.dtype)


def is_larger(parameters: Parameters, X: Any) -> bool:
    """Whether the mapped rows would take too much memory."""
    if sp.issparse(X) or not parameters.names_map or parameters.n_components == "auto":
        return False
    return bool(X.shape[0] * (int(parameters.n_components) + 1) * X.dtype.itemsize > _MOST_MAPPED)


def _model(
    found: Prepared, machine: Machine, support: Array, n_support: Array, memberships: Array | None, dtype: Any
) -> BatchModel:
    """Put the model together."""
    solution = machine.solution
    return BatchModel(
        classes=found.classes,
        gamma=found.gamma,
        mapping=found.mapping,
        decision=machine.decision,
        planes=solution.planes.astype(found.mapping.dtype, copy=False),
        gaps=solution.gaps,
        n_iter=int(solution.sweeps.max()),
        dtype=dtype,
        support=support,
        n_support=n_support,
        memberships=memberships,
    )


def _supports(machine: Machine, rows: TrainingRows, settings: Settings) -> tuple[Array, Array]:
    """Given rows with a dual above zero in any plane, and how many each class has."""
    # A box that the farthest row's membership has closed does not make a support.
    smallest = 1e-9 * settings.C.min() * rows.given_weights
    support = np.flatnonzero(rows.spread(machine.solution.alpha, shared=True).max(axis=1) > smallest)
    return support, np.bincount(rows.labels[rows.source[support]], minlength=rows.n_classes)
