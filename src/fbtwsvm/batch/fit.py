"""`fit`: from checked rows to a batch model, wherever the rows live."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array
from .._log import LOG
from ..model.rows import TrainingRows
from ..model.settings import Parameters, Settings
from .model import BatchModel
from .prepare import prepare

_MOST_MAPPED = 2 * 2**30  # bytes of mapped rows that a fit holds


def fit_rows(
    parameters: Parameters, X: Any, y: Array, weights: Array | None, *, mapped: bool = True, quick: bool = False
) -> BatchModel:
    """Fit rows; unless `mapped`, the mapped rows are never held all at once.  `quick` takes gamma "scale"."""
    found = prepare(parameters, X, y, weights, mapped=mapped, quick=quick)
    rows, settings = found.rows, found.settings
    LOG.info("solving the planes of %d classes", len(found.classes))
    (solved,) = found.solve(settings)
    solution = solved.solution
    support, n_support = _supports(solution.alpha, rows, settings)
    return BatchModel(
        classes=found.classes,
        gamma=found.gamma,
        mapping=found.mapping,
        decision=solved.decision,
        planes=solution.planes.astype(found.mapping.dtype, copy=False),
        gaps=solution.gaps,
        n_iter=int(solution.sweeps.max()),
        dtype=X.dtype,
        support=support,
        n_support=n_support,
        memberships=None if solved.memberships is None else rows.spread(solved.memberships),
    )


def fits_in_memory(parameters: Parameters, X: Any) -> bool:
    """Whether the mapped rows may be held all at once."""
    if sp.issparse(X) or not parameters.names_map or parameters.n_components == "auto":
        return True
    return bool(X.shape[0] * (int(parameters.n_components) + 1) * X.dtype.itemsize <= _MOST_MAPPED)


def _supports(alpha: Array, rows: TrainingRows, settings: Settings) -> tuple[Array, Array]:
    """Given rows with a dual above zero in any plane, and how many each class has."""
    # A box that the farthest row's membership has closed does not make a support.
    supports = alpha.max(axis=1) > 1e-9 * settings.C.min() * rows.weights
    given, labels = rows.given(supports)
    return given, np.bincount(labels, minlength=rows.n_classes)
