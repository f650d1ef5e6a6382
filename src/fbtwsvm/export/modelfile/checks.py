"""Checks between the parts of a model from a file; each part alone has been checked when it was read."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import AdditiveChi2Sampler

from ..._arrays import Array, tiles
from ..._linalg import is_definite
from ...batch.model import BatchModel
from ...classifier import Model
from ...features.additive import AdditiveIntersectionFeatures
from ...features.exact import ExactKernel
from ...features.fourier import FourierFeatures
from ...features.kernels import check_metric, is_normalised, similarity
from ...features.nystroem import NystroemFeatures
from ...model.fit_sums import FitSums
from ...model.mapping import Mapping
from ...model.rows import CheckedRows
from ...model.settings import Parameters, Settings
from ...online.drift import HoeffdingDrift
from ...online.member import Member
from ...online.model import StreamModel, stream_components
from ...online.policy import possible_policies, settings_of
from .container import ModelFileError
from .value_types import MOST

_ROUNDING = 1e-6  # error of sums, relative to their largest number, that is taken for rounding
_KERNEL_MAPS = (ExactKernel, FourierFeatures, NystroemFeatures)
_TILE = 256  # rows whose similarities to each other are computed at a time
_ADDITIVE = (AdditiveIntersectionFeatures, AdditiveChi2Sampler)


def check_model(model: Model, n_features: int, n_bytes: int) -> None:
    """Refuse a model whose parts contradict each other; `n_bytes` is the size of its file."""
    check_classes(model.classes)
    _refuse(len(model.classes) != len(model.planes), "its planes do not fit its classes")
    check_map(model.mapping, n_features, model.planes.shape[2], n_bytes)
    if isinstance(model, StreamModel):
        _check_stream(model)
    elif model.rows is not None:
        _check_rows(model.rows, model.classes)
    elif model.sums is not None:
        _check_fit_sums(model, model.sums)


def check_classes(classes: Array) -> None:
    """Refuse a model without classes, and classes that are not sorted: the code finds indices by bisection."""
    _refuse(not len(classes), "it has no classes")
    try:
        increasing = bool((classes[1:] > classes[:-1]).all())
    except TypeError as error:
        raise ModelFileError("classes cannot be compared") from error
    _refuse(not increasing, "classes are not sorted")


def check_promised(promised: Array | None, classes: Array) -> None:
    """Refuse promised classes that are not sorted, or do not have those learned so far among them."""
    if promised is not None:
        check_classes(promised)
        _refuse(not np.isin(classes, promised).all(), "it has learned a class that was not promised")


def check_map(mapping: Mapping, n_features: int, n_columns: int, n_bytes: int) -> None:
    """Refuse a map that does not turn a row of `n_features` numbers into one of `n_columns`, with the bias.

    The sizes of its arrays tell.  Then a row is mapped, if the file is larger than that row: a map of sparse rows may
    have any number of columns, and no memory is taken that the file does not pay for.
    """
    transformer = mapping.transformer
    n_mapped = mapped_features(transformer, n_features) + mapping.n_plain
    _refuse(n_mapped + 1 != n_columns, "its planes do not fit its feature map")
    check_transformer(transformer, n_features)
    _refuse(not _can_be_scale(mapping), "the scale of its feature map is out of bounds")
    if 8 * n_features > n_bytes:
        return
    row = np.zeros((1, n_features), dtype=mapping.dtype)
    try:
        with np.errstate(all="ignore"):
            mapped = mapping.rows(row)
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise ModelFileError(f"its feature map does not work ({error})") from error
    _refuse(mapped.shape[1] != n_columns, "its planes do not fit its feature map")
    _refuse(not np.isfinite(mapped).all(), "its feature map gives numbers that are not finite")


def _can_be_scale(mapping: Mapping) -> bool:
    """Whether a map can have its scale: 1 over the mean of k(x, x), or over the root of it."""
    transformer, scale = mapping.transformer, mapping.scale
    if isinstance(transformer, _KERNEL_MAPS) and is_normalised(transformer.kernel):
        return scale == 1.0
    if not mapping.exact:
        most = MOST[mapping.dtype.itemsize]
        return 1.0 / most <= scale <= most
    kernel = similarity(transformer.kernel, transformer.gamma_)
    rows = transformer.rows_.astype(np.float64)
    with np.errstate(all="ignore"):
        own = np.concatenate([np.diag(kernel(rows[part], rows[part])) for part in tiles(0, rows.shape[0], _TILE)])
        least, largest = scale * float(own.min()), scale * float(own.max())
    return scale == 1.0 if largest <= 0.0 else least < 1.0 + _ROUNDING and largest > 1.0 - _ROUNDING


def check_transformer(transformer: Any, n_features: int) -> None:
    """Refuse a map whose numbers of columns contradict each other; None is the map of plain columns."""
    if isinstance(transformer, FrozenEstimator):
        transformer = transformer.estimator
    if transformer is None:
        return
    count = mapped_features(transformer, n_features)
    agree = count >= 1 and transformer.n_features_in_ == n_features
    agree &= getattr(transformer, "_n_features_out", count) == count
    if isinstance(getattr(transformer, "n_components", None), int) and not isinstance(transformer, NystroemFeatures):
        agree &= transformer.n_components == count
    _refuse(not agree, "the sizes of its feature map do not agree")
    if getattr(transformer, "metric_", None) is not None:
        try:
            check_metric(transformer.metric_, transformer.kernel, n_features)
        except ValueError as error:
            raise ModelFileError(str(error)) from error


def mapped_features(transformer: Any, n_features: int) -> int:
    """Return the number of features of a map, from the sizes of its arrays alone."""
    if transformer is None:
        return n_features
    if isinstance(transformer, _ADDITIVE):
        return n_features * (2 * int(transformer.sample_steps) - 1)
    names = {NystroemFeatures: "landmarks_", ExactKernel: "rows_", FourierFeatures: "phases_"}
    return int(getattr(transformer, names.get(type(transformer), "random_offset_")).shape[0])


def differences(model: StreamModel, parameters: Parameters) -> list[str]:
    """Return the names of parameters that are not those which a stream began with, and still learns with."""
    wanted = {
        "C": (model.C, parameters.C),
        "reg": (model.reg, parameters.reg),
        "n_components": (model.n_components, stream_components(parameters)),
        "drift_detector": (model.detector is None, parameters.drift_detector is None),
        **{
            name: (getattr(model.settings, name), getattr(parameters, name))
            for name in ("mu", "membership", "decision", "multiclass")
        },
    }
    differ = [name for name, (one, other) in wanted.items() if not np.array_equal(one, other)]
    policies = possible_policies(parameters, model.mapping)
    return differ if model.policies == policies else [*differ, "memory, decay or forgetting"]


def _refuse(wrong: Any, reason: str) -> None:
    if wrong:
        raise ModelFileError(reason)


def _check_rows(rows: CheckedRows, classes: Array) -> None:
    """Refuse rows of no known class."""
    _refuse(not len(rows) or not np.isin(rows.y, classes).all(), "its rows do not fit its classes")


def _check_stream(model: StreamModel) -> None:
    members = model.members
    numbers = {len(members), len(model.policies), len(model.trust)}
    _refuse(not members or len(numbers) > 1, "its parts have different numbers of members")
    _refuse(not isinstance(model.detector, HoeffdingDrift | None), "its drift detector is none")
    _refuse((model.monitor is not None) != model.mapping.renewable, "its landmarks cannot be watched")
    if model.newest is not None:
        _refuse(model.monitor is None or model.spread is None, "its newest rows cannot be used")
        _refuse(model.newest.X.dtype != model.mapping.dtype, "its newest rows have another precision")
    try:
        wanted = model.settings_for(len(model.classes))
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"C or reg is out of bounds ({error})") from error
    for member, policy in zip(members, model.policies, strict=True):
        n_own, n_most = member.planes.shape[2] - 1, model.mapping.n_plain if policy.linear else model.n_features
        _refuse(not 0 < n_own <= n_most, "a member has features that do not exist")
        _refuse(policy.linear and n_own != n_most, "sizes of arrays do not agree")
        _refuse(member.policy != policy, "a member has another policy than its stream")
        own = settings_of(policy, wanted)
        _refuse(not _same_settings(member.settings, own), "a member has other settings than its stream")
        _check_member(member, model.mapping)


def _same_settings(one: Settings, other: Settings) -> bool:
    names = ("C", "reg", "mu", "membership", "decision", "multiclass")
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def _check_member(member: Member, mapping: Mapping) -> None:
    _refuse(member.dtype != mapping.dtype, "a member has another precision than its feature map")
    _refuse(member.faded_at > member.clock, "rows have faded before they were learned")
    _refuse((member.solved_at > member.clock).any(), "planes were solved before their rows were learned")
    stores = [store for store in (member.kept, member.pending.kept()) if len(store)]
    _refuse(mapping.renewable and any(store.raw is None for store in stores), "rows for new landmarks are missing")
    values = [part for trace in member.forgotten.traces.values() for part in (trace.alpha, trace.box)]
    widths = {len(part) for part in values if part is not None}
    _refuse(widths - {member.n_classes}, "sizes of arrays do not agree")
    largest = member.settings.C.max() * (member.moments.counts * member.class_factors).sum()
    _refuse((member.forgotten.box_sums < -_ROUNDING * largest).any(), "a sum of bounds is below zero")
    _check_grams(member.moments.grams, member.class_factors, member.ridge)


def _check_fit_sums(model: BatchModel, sums: FitSums) -> None:
    kept = np.bincount(sums.support.labels, minlength=len(model.classes))
    _refuse((sums.n_rows < np.maximum(kept, 1)).any(), "its counts of rows do not agree")
    renewable = model.mapping.renewable and len(sums.support.labels)
    _refuse(renewable and sums.support.raw is None, "rows for new landmarks are missing")
    _check_grams(sums.grams, sums.factors, np.zeros(len(model.classes)))


def _check_grams(grams: Iterable[Array], factors: Array, ridges: Array) -> None:
    """Refuse sums of products that cannot be such sums: they are symmetric, and have no eigenvalue below zero."""
    for gram, factor, ridge in zip(grams, factors, ridges, strict=True):
        slack = _ROUNDING * max(float(gram.max()), -float(gram.min()))
        _refuse((np.abs(gram - gram.T) > slack).any(), "sums of products are not symmetric")
        system = factor * gram
        system[np.diag_indices_from(system)] += ridge + factor * slack + 1e-300
        _refuse(not is_definite(system), "sums of products have a negative eigenvalue")
