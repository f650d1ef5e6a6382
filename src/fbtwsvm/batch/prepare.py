"""Prepare a fit: sort the rows, choose gamma and metric, fit the map, choose the calibration rows.

Of large data, all of this is chosen on a sample.  It is drawn by the numbers of the rows in the order of the solver, so
it is the same wherever the rows are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from .._arrays import Array, tiles
from .._log import LOG
from .._threads import Threads
from ..features import ExactKernel, FourierFeatures, NystroemFeatures
from ..features.base import FeatureMap
from ..features.kernels import gamma_scale
from ..model.choose_map import auto_components, choose_map, most_components
from ..model.mapping import Mapping
from ..model.rows import (
    LARGE,
    Extent,
    TrainingRows,
    arrange,
    calibration_rows,
    check_class_names,
    class_factors,
    present_classes,
)
from ..model.settings import Parameters, Settings
from ..solver.row_reader import Tiles
from .choose_kernel import KernelChoice, choose_kernel
from .choose_size import choose_size
from .hold_out import sample_rows
from .row_homes import Home, MemoryHome, UnmappedHome
from .solve import Solved, solve, solve_kernel
from .spool import CodedLabels, code_type
from .trial_rows import TrialRows

_ROWS_OF_LANDMARK = 4  # rows of the sample for each feature of the map
_TILE = 8192  # rows that are looked at together
_SOME_COPIES, _COPIES, _MANY_COPIES = 1.25, 2.0, 10.0  # given rows for each distinct one, see `_copies`
_MIXED = 0.1  # share of the given rows that equal a row of another class
_FEW = 50  # distinct rows
_SCATTER = 0.5  # least variance of counts, over their mean; it is about one if the rows are drawn at random
_MOST_WANTED = 512  # most calibration rows of a class, unless the data is small


@dataclass(frozen=True)
class Prepared:
    """Sorted training rows with the fitted map.

    rows     the sorted rows; a sample of them if they are on other machines
    home     where the mapped rows are read from; None for the exact kernel, whose matrix is `kernel`
    wanted   numbers of the calibration rows, sorted
    factors  (n_classes,): factors of class_weight, already part of the weights
    """

    classes: Array
    settings: Settings
    gamma: float | None
    rows: TrainingRows
    mapping: Mapping
    home: Home | None
    kernel: Array | None
    wanted: Array
    factors: Array
    seed: int

    @property
    def data(self) -> Array:
        """Mapped rows, or the kernel matrix, if they are in memory."""
        if self.kernel is not None:
            return self.kernel
        assert isinstance(self.home, MemoryHome)
        return self.home.data

    def solve(
        self,
        settings: Settings,
        multiples: Sequence[float] = (1.0,),
        grams: Sequence[Array] | None = None,
        *,
        with_grams: bool = False,
        alpha: Array | None = None,
    ) -> list[Solved]:
        """Solve all planes with these settings, for several multiples of C; see `batch.solve`."""
        if self.kernel is not None:
            rows = self.rows
            return solve_kernel(
                settings, self.kernel, rows.starts, rows.weights, self.wanted, multiples, self._share_of_a_copy()
            )
        assert self.home is not None
        return solve(
            settings, self.home, self.wanted, self.seed, multiples, grams,
            with_grams=with_grams, alpha=alpha, share=self._share_of_a_copy(),
        )  # fmt: skip

    def _share_of_a_copy(self) -> Array | None:
        """Return the share of one copy in the weight of each calibration row, if few distinct rows stand for many."""
        copies = _copies(self.rows, self.factors)
        return None if copies is None else np.asarray(1.0 / np.maximum(copies[self.wanted], 1.0))


@dataclass(frozen=True)
class Choice:
    """The kernel and the map that were chosen; the map is not fitted yet."""

    kernel: KernelChoice
    transformer: Any


def prepare(
    parameters: Parameters,
    X: Any,
    y: Array,
    weights: Array | None,
    *,
    mapped: bool = True,
    quick: bool = False,
    grows: bool = True,
    known: Callable[[Mapping], Array | None] | None = None,
    fitted: Mapping | None = None,
    groups: Array | None = None,
) -> Prepared:
    """Sort the rows, choose gamma and metric, fit the map and choose the calibration rows.

    mapped   hold all mapped rows in memory; otherwise the map is fitted on a sample and the rows are mapped when read
    quick    use gamma "scale" and feature_map "auto"
    grows    with n_components "auto", search for the number of features; otherwise take it from the number of rows
    known    function that returns X mapped by an equal map if it was computed before, or None
    fitted   a fitted map to use without change
    groups   groups of the rows: gamma and the metric are judged on groups that were held out
    """
    classes, rows, _, factors = (ordered if mapped else _ordered_compactly)(parameters, X, y, weights)
    if not quick:  # the first rows of a stream may lack classes
        check_class_names(parameters.class_weight, classes)
    seed, settings = parameters.seed(), parameters.settings(len(classes))
    if fitted is not None:
        home: Home | None = UnmappedHome(rows, fitted, parameters.n_jobs)
        if mapped:
            home = MemoryHome(rows, fitted.rows(X, rows.index, Threads(parameters.n_jobs)), parameters.n_jobs)
        landmarks = _without_copies(np.flatnonzero(fitted.is_landmark(X)[rows.index]), rows, factors)
        wanted = calibration_rows(rows.starts, landmarks, seed, _limit(rows))
        return Prepared(classes, settings, None, rows, fitted, home, None, wanted, factors, seed)
    if rows.n <= LARGE or quick:
        sample, trial = rows, TrialRows(rows, groups, seed, copies=_copies(rows, factors))
    else:
        drawn = draw_sample(parameters, rows.starts, seed)
        sample = rows.subset(drawn)
        scale = partial(gamma_scale, rows.X, weights=rows.given_weights)
        trial = TrialRows(sample, None if groups is None else groups[rows.index[drawn]], seed, scale)
    choice = choose(parameters, rows, trial, seed, quick=quick, grows=grows)
    LOG.info("mapping %d %srows", rows.n, "distinct " if rows.small else "")
    threads = Threads(parameters.n_jobs)
    matrix: Array | None = None
    home = None
    if mapped and (sample is rows or not isinstance(choice.transformer, FeatureMap | None)):
        mapping = Mapping.fitted(choice.transformer, rows, y)
    else:
        sample = rows.subset(np.arange(rows.n)) if sample is rows else sample
        mapping = fit_on_sample(choice.transformer, sample, classes)
    if mapped:
        data = mapping.scaled_rows(rows, parameters.kernel, threads, known)
        if mapping.exact:
            matrix = data
        else:
            home = MemoryHome(rows, data, parameters.n_jobs)
    else:
        home = UnmappedHome(rows, mapping, parameters.n_jobs)
        find_scale(mapping, home, parameters)
    mapping.rounds = choice.kernel.rounds
    if trial.all is rows:
        landmarks = np.flatnonzero(mapping.landmarks(rows if mapped else sample))
        landmarks = _without_copies(landmarks, rows, factors)
        wanted = calibration_rows(rows.starts, landmarks, seed, _limit(rows))
    else:
        wanted = wanted_of_sample(rows.starts, drawn, seed)
        if mapping.frozen:
            wanted = without_landmarks(wanted, mapping, rows.subset(wanted))
    return Prepared(classes, settings, choice.kernel.gamma, rows, mapping, home, matrix, wanted, factors, seed)


def choose(
    parameters: Parameters, rows: Extent, trial: TrialRows, seed: int, *, quick: bool = False, grows: bool = True
) -> Choice:
    """Choose kernel and map by trials; `rows` is the extent of all rows."""
    feature_map, n_components = (parameters.feature_map, parameters.n_components) if not quick else ("auto", "auto")

    def make(count: int | str, kernel: KernelChoice) -> Any:
        return choose_map(parameters.kernel, feature_map, count, kernel.gamma, rows, seed, kernel.metric)

    make(n_components, KernelChoice(None))  # raises an error for an impossible map before any time is spent
    kernel = choose_kernel(parameters, trial, quick=quick)
    if n_components == "auto" and grows and not quick:
        n_components = _grown(parameters, rows, trial.all, lambda count: make(count, kernel), seed)
    return Choice(kernel, make(n_components, kernel))


def draw_sample(parameters: Parameters, starts: Array, seed: int) -> Array:
    """Return the numbers, sorted, of the rows of large data on which kernel and map are chosen."""
    given = parameters.n_components
    features = most_components(int(starts[-1]), len(starts) - 1) if isinstance(given, str) else int(given)
    return sample_rows(starts, max(LARGE, _ROWS_OF_LANDMARK * features), np.random.default_rng(seed))


def wanted_of_sample(starts: Array, drawn: Array, seed: int) -> Array:
    """Return the numbers of the calibration rows of large data; the map, fitted on a sample, has not seen them."""
    return calibration_rows(starts, drawn, seed, _MOST_WANTED)


def without_landmarks(wanted: Array, mapping: Mapping, rows: TrainingRows) -> Array:
    """Leave calibration rows out that are landmarks of a map which the user has fitted, if half of them remain."""
    others = ~mapping.is_landmark(rows.X)
    return wanted[others] if 2 * others.sum() >= len(wanted) else wanted


def fit_on_sample(transformer: Any, sample: TrainingRows, classes: Array) -> Mapping:
    """Fit the map on a sample of the rows, without its scale."""
    if isinstance(transformer, ExactKernel):
        raise ValueError("feature_map='exact' needs all rows in memory: give them as one array, or use 'nystroem'.")
    return Mapping.fitted(transformer, sample, classes[sample.labels])


def find_scale(mapping: Mapping, home: Home, parameters: Parameters) -> None:
    """Set the scale of a map that has one, by a pass over the rows."""
    if mapping.needs_scale(parameters.kernel):
        mapping.set_scale(float(home.reduce(_add_squares, None, "scale of the features")) / home.class_weights.sum())


def _add_squares(rows: Tiles, _: None) -> float:
    """Return the sum of w ||z||^2 over some rows."""
    total = 0.0
    for tile in rows:
        plain = tile.rows[:, :-1]
        total += float(tile.weights @ np.einsum("ij,ij->i", plain, plain, dtype=np.float64))
    return total


def _copies(rows: TrainingRows, factors: Array) -> Array | None:
    """Return how many given rows each distinct row stands for, if few stand for many, as in tables of few categories.

    New rows then equal known ones.  That is not so where somebody has made copies of rows (a class filled up, a sample
    drawn with replacement) or has given weights: such rows hardly occur in several classes, are hardly twice there on
    average, or have many different values in some column, or weights that differ less than counts do by chance.
    `factors` are those of the classes.
    """
    if not rows.small:
        return None
    sizes = np.diff(rows.starts)
    copies: Array = rows.weights / np.repeat(factors, sizes)  # a weight of 2 is a row twice
    large = 2 * sizes >= sizes.max()  # classes: somebody may have made copies of a small one
    mean = (np.bincount(rows.labels, copies, len(sizes))[large] / sizes[large]).min()
    if mean < _SOME_COPIES:
        return None
    numbers = rows.numbers()
    in_several_classes = np.bincount(numbers)[numbers] > 1  # equal rows of one class have been merged
    if copies[in_several_classes].sum() >= _MIXED * copies.sum():
        return copies
    if rows.n <= _FEW and mean >= _MANY_COPIES:
        return copies if rows.most_values() < rows.n else None
    counted = np.allclose(copies, np.rint(copies), rtol=1e-6) and copies.var() >= _SCATTER * copies.mean()
    return copies if counted and mean >= _COPIES and 2 * rows.most_values() <= rows.n else None


def _without_copies(landmarks: Array, rows: TrainingRows, factors: Array) -> Array:
    """Return the landmarks that no new row will equal: none if few distinct rows stand for many."""
    return landmarks if _copies(rows, factors) is None else landmarks[:0]


def _limit(rows: TrainingRows) -> int:
    """Return the largest number of calibration rows of a class."""
    return rows.n if rows.small else _MOST_WANTED


def ordered(
    parameters: Parameters, X: Any, y: Array, weights: Array | None
) -> tuple[Array, TrainingRows, Array, Array]:
    """Return classes, rows sorted by class and weighted by class_weight, class indices, and factors of class_weight."""
    weights = np.ones(len(y)) if weights is None else weights
    classes, labels = present_classes(y, weights)
    factors = class_factors(parameters.class_weight, classes, labels, weights)
    return classes, arrange(X, labels, weights * factors[labels], len(classes)), labels, factors


def _ordered_compactly(
    parameters: Parameters, X: Any, y: Array | CodedLabels, weights: Array | None
) -> tuple[Array, TrainingRows, Array, Array]:
    """Do the same for very many rows, in little memory; duplicates are not merged."""
    classes, labels = _coded(y, weights)
    order = _sorted_by_class(labels, len(classes))
    factors = np.ones(len(classes))
    if weights is None and parameters.class_weight is None:
        weights = sorted_weights = np.broadcast_to(1.0, len(y))
    else:
        weights = np.ones(len(y)) if weights is None else weights
        order = order[weights[order] > 0]
        factors = class_factors(parameters.class_weight, classes, labels, weights)
        weights = weights * factors[labels]
        sorted_weights = weights[order]
    counts = sum(np.bincount(labels[order[part]], minlength=len(classes)) for part in tiles(0, len(order), _TILE))
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = TrainingRows(X, order, sorted_weights, starts, np.empty(0, dtype=np.int64), weights, small=False)
    return classes, rows, labels, factors


def _coded(y: Array | CodedLabels, weights: Array | None) -> tuple[Array, Array]:
    """Return the classes of very many rows, and the class index of each row."""
    if isinstance(y, CodedLabels):
        classes, _ = present_classes(y.names)
        return classes, y.codes
    classes, _ = present_classes(np.unique(y if weights is None else y[weights > 0]))
    # np.unique(return_inverse=True) sorts, which takes many times the memory of the labels.
    labels = np.empty(len(y), dtype=code_type(len(classes)))
    for part in tiles(0, len(y), _TILE):
        labels[part] = np.minimum(np.searchsorted(classes, y[part]), len(classes) - 1)
    return classes, labels


def _sorted_by_class(labels: Array, n_classes: int) -> Array:
    """Return what np.argsort(labels, kind="stable") does, which takes twice the memory of its result."""
    order = np.empty(len(labels), dtype=np.int32 if len(labels) < 2**31 else np.int64)
    parts = tiles(0, len(labels), _TILE)
    counts = np.array([np.bincount(labels[part], minlength=n_classes) for part in parts])
    ends = np.cumsum(counts.sum(axis=0))
    places = np.concatenate([[0], ends[:-1]]) + np.cumsum(counts, axis=0) - counts  # of each class of each part
    for part, count, place in zip(parts, counts, places, strict=True):
        own = np.argsort(labels[part], kind="stable")
        first = np.cumsum(count) - count
        order[np.repeat(place - first, count) + np.arange(len(own))] = own + part.start
    return order


def _grown(
    parameters: Parameters, rows: Extent, sample: TrainingRows, make: Callable[[int | str], Any], seed: int
) -> int | str:
    """Search for the number of features of a random map on large data; every other map keeps "auto"."""
    if rows.small or not isinstance(make("auto"), FourierFeatures | NystroemFeatures):
        return "auto"
    usual, largest = auto_components(rows.n, rows.n_classes), most_components(rows.n, rows.n_classes)
    chosen = choose_size(sample, make, (usual, largest), seed, parameters.n_jobs)
    LOG.info("features: %d (between %d and %d)", chosen, usual, largest)
    return chosen
