"""A metric for the newest rows of a stream, if it is better than the present one."""

from __future__ import annotations

import numpy as np

from .._arrays import Array
from .._steps import Steps, one_thread_each
from ..batch.choose_gamma import largest_gamma
from ..batch.choose_kernel import KernelChoice
from ..batch.choose_metric import better_metric
from ..batch.trial_rows import TrialRows
from ..features.kernels import gamma_scale, scaled
from ..model.mapping import Mapping
from ..model.rows import arrange

_MOST_FOLLOWED = 100.0  # factor by which the scale of a column may change


def study(
    X: Array, labels: Array, mapping: Mapping, spread: Array, count: int, seed: int, *, any_gamma: bool
) -> Steps[KernelChoice | None]:
    """Return gamma and metric for the newest rows, in pieces; None if the present ones are as good.

    X, labels  the rows and their class indices
    spread     standard deviation of each column when the stream began: columns whose scale has moved are brought back
    count      number of features of the map
    any_gamma  whether gamma may change too
    """
    _, labels = np.unique(labels, return_inverse=True)
    n_classes = int(labels.max()) + 1
    if n_classes < 2:
        return None
    trial = TrialRows(arrange(X, labels, np.ones(len(labels)), n_classes, merge=False), None, seed)
    now = X.std(axis=0, dtype=np.float64)
    moved = np.where((now > 0) & (spread > 0), spread / np.where(now > 0, now, 1.0), 1.0)
    followed = np.clip(moved, 1.0 / _MOST_FOLLOWED, _MOST_FOLLOWED)
    kernel, present = mapping.transformer.kernel, mapping.metric
    gamma = float(mapping.transformer.gamma_)
    alike = np.ones(X.shape[1]) if present is None else present
    found = yield from one_thread_each(better_metric(trial, kernel, alike, gamma, followed, any_gamma=any_gamma))
    if found is None:
        return None
    if any_gamma:
        start = gamma_scale(X, kernel, metric=found.factors)
        gamma = yield from largest_gamma(scaled(X, found.factors), kernel, start, count, seed)
    return KernelChoice(gamma, found.factors, found.rounds)
