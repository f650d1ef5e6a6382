"""From checked rows to what the engine solves: order, gamma, map, judged rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from .._arrays import Array
from .._log import LOG
from ..features.exact import ExactKernel
from ..features.fourier import FourierFeatures
from ..features.kernels import gamma_scale
from ..features.nystroem import NystroemFeatures
from ..model.choose_map import auto_components, choose_map, most_components
from ..model.mapping import Mapping
from ..model.rows import TrainingRows, arrange, calibration_rows, class_factors, present_classes
from ..model.settings import Parameters, Settings
from .choose_gamma import search_gamma
from .choose_size import grow

_MAP_SAMPLE = 8192  # rows that a map is fitted on when it cannot be all
_MOST_JUDGED = 512  # rows of a class that the decision rule is fitted on, unless the data is small


@dataclass(frozen=True)
class Prepared:
    """Training rows, mapped; `data` is the kernel matrix where the map is the exact kernel."""

    classes: Array
    settings: Settings
    gamma: float | None
    rows: TrainingRows
    mapping: Mapping
    data: Array
    judged: Array


def ordered(parameters: Parameters, X: Any, y: Array, weights: Array) -> tuple[Array, TrainingRows]:
    """Return the classes, and the rows in the order of the engine with class weights applied."""
    classes, labels = present_classes(y, weights)
    weights = weights * class_factors(parameters.class_weight, classes, labels, weights)
    return classes, arrange(X, labels, weights, len(classes))


def prepare(
    parameters: Parameters,
    X: Any,
    y: Array,
    weights: Array,
    *,
    quick: bool = False,
    grows: bool = True,
    known: Callable[[Mapping], Array | None] | None = None,
) -> Prepared:
    """Prepare checked rows for a classifier's parameters; `quick` takes the plain width and the exact kernel.

    Unless it `grows`, a map of as many features as seem right is as large as rows of that number usually want.
    `known` may have rows mapped already: given the fitted map, it returns X mapped, or None.
    """
    classes, rows = ordered(parameters, X, y, weights)
    seed, settings = parameters.seed(), parameters.settings(len(classes))
    feature_map, n_components = (parameters.feature_map, parameters.n_components) if not quick else ("auto", "auto")
    # Once before the ladder, so that a map that cannot be is refused before any time is spent.
    choose_map(parameters.kernel, feature_map, n_components, None, rows, seed)
    gamma = choose_gamma(parameters, rows, settings, seed, quick=quick)
    if n_components == "auto" and grows and not quick:
        n_components = _grown(parameters, rows, settings, gamma, seed)
    transformer = choose_map(parameters.kernel, feature_map, n_components, gamma, rows, seed)
    LOG.info("mapping %d %srows", rows.n, "distinct " if rows.small else "")
    mapping, data = Mapping.fit(transformer, rows, y, parameters.kernel, parameters.n_jobs, known)
    judged = calibration_rows(rows.starts, mapping.landmarks(rows), seed, rows.n if rows.small else _MOST_JUDGED)
    return Prepared(classes, settings, gamma, rows, mapping, data, judged)


def prepare_larger(parameters: Parameters, X: Any, y: Array, weights: Array | None) -> tuple[Prepared, int]:
    """Prepare rows that are not to be mapped all at once; `data` stays empty.  Returns the seed too.

    The map is fitted on a sample of the rows.  Weights of None are all one; what is held of each row is kept small.
    """
    classes, _ = present_classes(np.unique(y if weights is None else y[weights > 0]))
    # Sorting, as np.unique does for these places, would take many times the memory of the labels.
    labels = np.empty(len(y), dtype=np.int16 if len(classes) < 2**15 else np.int64)
    for first in range(0, len(y), _MAP_SAMPLE):
        part = slice(first, first + _MAP_SAMPLE)
        labels[part] = np.minimum(np.searchsorted(classes, y[part]), len(classes) - 1)
    order = np.argsort(labels, kind="stable").astype(np.int32 if len(y) < 2**31 else np.int64)
    if weights is None and parameters.class_weight is None:
        weights = sorted_weights = np.broadcast_to(1.0, len(y))
    else:
        weights = np.ones(len(y)) if weights is None else weights
        order = order[weights[order] > 0]
        weights = weights * class_factors(parameters.class_weight, classes, labels, weights)
        sorted_weights = weights[order]
    starts = np.searchsorted(labels[order], np.arange(len(classes) + 1))
    rows = TrainingRows(X, order, sorted_weights, starts, np.empty(0, dtype=np.int64), weights, small=False)
    seed, settings = parameters.seed(), parameters.settings(len(classes))
    choose_map(parameters.kernel, parameters.feature_map, parameters.n_components, None, rows, seed)
    gamma = choose_gamma(parameters, rows, settings, seed)
    n_components = (
        _grown(parameters, rows, settings, gamma, seed)
        if parameters.n_components == "auto"
        else parameters.n_components
    )
    transformer = choose_map(parameters.kernel, parameters.feature_map, n_components, gamma, rows, seed)
    if isinstance(transformer, ExactKernel):
        raise ValueError("feature_map='exact' needs all rows in memory: give them as one array, or use 'nystroem'.")
    features = getattr(transformer, "n_components", None)
    count = min(len(order), max(_MAP_SAMPLE, 2 * int(features) if isinstance(features, Integral) else 0))
    some = np.sort(np.random.default_rng(seed).choice(len(order), count, replace=False))
    some = np.sort(order[some])
    sample = arrange(X[some], labels[some], weights[some], len(classes), merge=False)
    mapping, _ = Mapping.fit(transformer, sample, y[some], parameters.kernel, parameters.n_jobs)
    marked = np.isin(order, some[mapping.landmark_places(sample)])
    judged = calibration_rows(starts, marked, seed, _MOST_JUDGED)
    return Prepared(classes, settings, gamma, rows, mapping, np.empty((0, 0)), judged), seed


def _grown(parameters: Parameters, rows: TrainingRows, settings: Settings, gamma: float | None, seed: int) -> int | str:
    """Let a random map of a large set of rows grow as long as it pays; every other map stays as it is ("auto")."""

    def make(count: int | str) -> Any:
        return choose_map(parameters.kernel, parameters.feature_map, count, gamma, rows, seed)

    if rows.small or not isinstance(make("auto"), FourierFeatures | NystroemFeatures):
        return "auto"
    usual = auto_components(rows.n, rows.n_classes)
    largest = most_components(rows.n, rows.n_classes)
    chosen = grow(rows, settings, make, parameters.kernel, (usual, largest), seed)
    LOG.info("features: %d (between %d and %d)", chosen, usual, largest)
    return chosen


def choose_gamma(
    parameters: Parameters, rows: TrainingRows, settings: Settings, seed: int, *, quick: bool = False
) -> float | None:
    """Resolve gamma: given, from the variance, or by the ladder; None where the kernel has none."""
    if not parameters.uses_gamma:
        return None
    if not isinstance(parameters.gamma, str):
        return float(parameters.gamma)
    if rows.small:  # in canonical order, so that rounding is the same however the rows came
        scale = gamma_scale(rows.X[rows.index], parameters.kernel, rows.weights)
    else:
        scale = gamma_scale(rows.X, parameters.kernel, rows.given_weights)
    if quick or parameters.gamma == "scale":
        return scale
    chosen = search_gamma(rows, str(parameters.kernel), scale, settings, seed)
    LOG.info("gamma: %.6g (%.4g times scale)", chosen, chosen / scale)
    return chosen
