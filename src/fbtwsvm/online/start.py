"""Start a stream: from its first rows, or from a fit."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._log import warn
from .._steps import Steps, finish
from ..batch.choose_gamma import choose_gamma, largest_gamma
from ..batch.choose_kernel import KernelChoice, kernel_steps
from ..batch.model import BatchModel
from ..batch.trial_rows import TrialRows
from ..features.kernels import scaled
from ..model.choose_map import stream_map
from ..model.mapping import Mapping
from ..model.rows import CheckedRows, arrange
from ..model.settings import Parameters
from ..model.standard_columns import StandardColumns
from .calibration import CalibrationRows
from .member import Member
from .model import StreamModel, class_factors_by_name, stream_components
from .policy import MOST_PLAIN
from .resolve import resolve


def start_stream(
    rows: CheckedRows,
    parameters: Parameters,
    mapping: Mapping | None = None,
    gamma: float | None = None,
    kernel: KernelChoice | None = None,
) -> StreamModel:
    """Return a stream model of the rows; the map is chosen from them unless given, or its kernel alone is.

    `gamma` is that of a given map.
    """
    return finish(start_steps(rows, parameters, parameters.seed(), mapping, gamma, kernel))


def prepare_start(rows: CheckedRows, parameters: Parameters, seed: int) -> Steps[StreamModel]:
    """Return, in pieces, a stream model of the rows that is not to answer yet: another model does."""
    model = yield from start_steps(rows, parameters, seed)
    model.answering = False
    return model


def start_steps(
    rows: CheckedRows,
    parameters: Parameters,
    seed: int,
    mapping: Mapping | None = None,
    gamma: float | None = None,
    kernel: KernelChoice | None = None,
) -> Steps[StreamModel]:
    """Do the work of `start_stream` in pieces."""
    classes, labels = np.unique(rows.y, return_inverse=True)
    settings = parameters.settings(len(classes))
    landmarks = np.zeros(len(rows), dtype=bool)
    if mapping is None:
        count = stream_components(parameters)
        weights = rows.weights * class_factors_by_name(parameters, classes)[labels]
        order = arrange(rows.X, labels, weights, len(classes), merge=False)
        if kernel is None:
            kernel = yield from _choose_kernel(parameters, TrialRows(order, None, seed), count)
        gamma, metric = kernel.gamma, kernel.metric
        transformer = stream_map(parameters.kernel, parameters.feature_map, count, gamma, order, seed, metric)
        mapping, _ = Mapping.fit(transformer, order, rows.y, parameters.kernel)
        mapping.rounds = kernel.rounds
        mapping.columns = plain_columns(parameters, mapping, rows.X)
        landmarks = mapping.landmarks(order)[order.source]
        yield
    elif mapping.columns is None and not mapping.frozen:
        mapping = replace(mapping, columns=plain_columns(parameters, mapping, rows.X))
    n_columns = mapping.rows(rows.X[:1]).shape[1]
    model = StreamModel(parameters, settings, mapping, gamma, n_columns, seed)
    _warn_of_size(len(classes), n_columns, mapping.dtype, len(model.policies))
    yield from model.begin(rows, parameters, landmarks)
    return model


def _choose_kernel(parameters: Parameters, trial: TrialRows, count: int) -> Steps[KernelChoice]:
    """Return gamma and metric of a stream with `count` features from its first rows, which may be of one class."""

    def gamma_in(metric: Array | None) -> Steps[float | None]:
        scale = choose_gamma(parameters, trial, metric=metric, quick=True)
        if scale is None or parameters.gamma != "auto":
            return scale
        X = scaled(trial.all.X, metric)
        return (yield from largest_gamma(X, str(parameters.kernel), scale, count, trial.seed))

    return kernel_steps(parameters, trial, gamma_in)


def start_from_sums(fit: BatchModel, parameters: Parameters) -> StreamModel:
    """Return a stream model that continues from the sums and support rows of a fit; none of its rows has faded."""
    sums = fit.sums
    assert sums is not None
    seed, settings = parameters.seed(), parameters.settings(len(fit.classes))
    model = StreamModel(parameters, settings, fit.mapping, fit.gamma, fit.planes.shape[2], seed)
    model.classes = fit.classes
    model.clock = model.n_warm_up = int(sums.n_rows.sum())
    model.members = [Member.from_sums(fit, settings, policy, model.features_of(policy)) for policy in model.policies]
    for member in model.members:
        if member.changed_sums.any():
            resolve(member)
    model.tested = CalibrationRows(len(fit.classes))
    numbers = len(sums.support.labels) + np.arange(len(sums.labels))
    model.tested.add(sums.labels, np.minimum(numbers, model.clock - 1), sums.near, sums.far)
    model.tested.new_rows = 0
    model.decision = fit.decision
    if model.committee:
        model.calibrate()
    return model


def plain_columns(parameters: Parameters, mapping: Mapping, X: Any) -> StandardColumns | None:
    """Return the features of linear members, which a committee has if there are few columns; None without them."""
    suits = parameters.decay == "auto" and parameters.uses_gamma and mapping.bounded and X.shape[1] <= MOST_PLAIN
    return StandardColumns.of(X) if suits else None


def _warn_of_size(n_classes: int, n_columns: int, dtype: np.dtype, n_members: int) -> None:
    """Warn if the Gram matrices and their roots need more than half of the free memory."""
    needed = 2 * n_members * n_classes * n_columns**2 * (8 + dtype.itemsize)
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # not available on this system
        return
    if needed > 0.5 * free:
        warn(
            f"{n_classes} classes with {n_columns - 1} features need about {needed / 2**30:.1f} GiB for their Gram "
            f"matrices while they learn; {free / 2**30:.1f} GiB are free. Use a smaller n_components"
            + (", or a number for decay." if n_members > 1 else "."),
            ResourceWarning,
        )
