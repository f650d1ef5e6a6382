"""From mapped rows to planes and a decision rule: class means, memberships, solver, calibration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, Index
from .._log import LOG
from .._threads import Threads
from ..model.decision import Decision, PairRule, norms
from ..model.membership import Extremes, Ranges, distances_from_kernel, distances_to_means
from ..model.settings import Settings
from ..solver.choose import solve_mapped, solve_read
from ..solver.factors import gram_matrix
from ..solver.kernel import solve_kernel_path
from ..solver.newton import RowReader
from ..solver.problem import Problem, Solution
from .row_homes import Home, MemoryHome


@dataclass
class ClassState:
    """What is computed for the classes before planes are solved.

    totals    (n_classes, n_columns): sum of w_i h_i
    grams     sum of w_i h_i h_i' of each class, or None
    extremes  distances behind `ranges`, the ranges of the memberships
    boxes     function that returns C w s of mapped rows with given numbers
    """

    totals: Array
    grams: Sequence[Array] | None
    extremes: Extremes
    ranges: Ranges
    boxes: Callable[[Index, Array], Array]


@dataclass
class Solved:
    """Solved planes and their decision rule; memberships are None if the rows were not all in memory."""

    decision: Decision
    solution: Solution
    memberships: Array | None
    state: ClassState | None = None

    @property
    def rule(self) -> PairRule:
        """The decision rule with its planes."""
        return PairRule(self.decision, self.solution.planes)


@dataclass
class ClassSums:
    """Sums over mapped rows by class: `totals` of w_i h_i and, where asked for, `grams` of w_i h_i h_i'."""

    totals: dict[int, Array]
    grams: dict[int, Array]

    def __add__(self, other: ClassSums) -> ClassSums:
        return ClassSums(_added(self.totals, other.totals), _added(self.grams, other.grams))


def solve_kernel(
    settings: Settings, kernel: Array, starts: Array, weights: Array, wanted: Array, multiples: Sequence[float] = (1.0,)
) -> list[Solved]:
    """Solve every plane from the kernel matrix, without bias, for several multiples of C.

    Planes are coefficients of the training rows; their sum is the bias.  `wanted` marks the calibration rows.
    """
    distances = distances_from_kernel(kernel, weights, starts)
    labels = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    ranges = Extremes.of_classes(distances, starts).ranges(settings.mu, settings.membership)
    shares = ranges.memberships(distances, labels)
    problem = Problem(starts, weights, settings.reg, wanted, settings.options)
    box = shares * weights[:, None] * settings.C
    solutions = solve_kernel_path(kernel + 1.0, box, problem, multiples)
    for solution in solutions:
        bias = solution.planes.sum(axis=2, keepdims=True)
        solution.planes = np.concatenate([solution.planes, bias], axis=2)
    return [Solved(calibrated(one, problem, settings, kernel), one, shares) for one in solutions]


def solve(
    settings: Settings,
    home: Home,
    wanted: Array,
    seed: int,
    multiples: Sequence[float] = (1.0,),
    grams: Sequence[Array] | None = None,
    *,
    with_grams: bool = False,
    alpha: Array | None = None,
) -> list[Solved]:
    """Solve every plane on mapped rows, in memory or not, for several multiples of C.

    `wanted` marks the calibration rows; `grams` are the Gram matrices of the classes, if already computed.
    `with_grams` computes them in any case, for `remember`.  `alpha` are duals of a similar problem, to start from.
    """
    training = home.training
    problem = Problem(training.starts, training.weights, settings.reg, wanted, settings.options)
    in_memory = isinstance(home, MemoryHome)
    sums = home.reduce(_sums, (training.weights, not in_memory or (with_grams and grams is None)))
    totals = np.stack([sums.totals[k] for k in range(home.n_classes)])
    counts = np.array([training.weights[problem.block(k)].sum() for k in range(home.n_classes)])
    means = totals / counts[:, None]
    if sums.grams:
        grams = [sums.grams[k] for k in range(home.n_classes)]
    extremes, distances = Extremes(home.n_classes), np.empty((0, 0))
    if isinstance(home, MemoryHome):
        distances = distances_to_means(home.data, means, Threads(settings.options.n_jobs))
        extremes = Extremes.of_classes(distances, training.starts)
    elif settings.membership != "none":
        extremes = home.reduce(_extremes, means)
    ranges = extremes.ranges(settings.mu, settings.membership)
    LOG.info("class means and memberships found")

    def boxes(index: Index, rows: Array) -> Array:
        return _boxes(index, rows, home, means, ranges, settings)

    state = ClassState(totals, grams, extremes, ranges, boxes)
    if not isinstance(home, MemoryHome):
        assert grams is not None  # computed with the sums
        solution = solve_read(RowReader(home.rows, boxes), problem, means, grams, seed)
        return [Solved(calibrated(solution, problem, settings), solution, None, state)]
    shares = ranges.memberships(distances, training.labels)
    del distances  # with many classes these arrays are large
    plain = bool((training.weights == 1.0).all() and (settings.C == 1.0).all())
    solutions = solve_mapped(
        home.data,
        shares if plain else shares * training.weights[:, None] * settings.C,
        problem,
        means,
        multiples,
        grams=grams,
        make_grams=lambda: _all_grams(home),
        seed=seed,
        alpha=alpha,
    )
    return [Solved(calibrated(one, problem, settings), one, shares, state) for one in solutions]


def calibrated(solution: Solution, problem: Problem, settings: Settings, kernel: Array | None = None) -> Decision:
    """Return the decision rule, learned from the left-out values; `kernel` is the matrix of the exact kernel."""
    numbers = np.flatnonzero(problem.wanted)
    totals = np.array([problem.weights[problem.block(k)].sum() for k in range(problem.n_classes)])
    starts, weights = np.searchsorted(numbers, problem.starts), problem.weights[numbers]
    decision = Decision.fit(
        solution.near, solution.far, starts, weights, totals, settings.decision, settings.multiclass
    )
    if settings.decision == "distance":
        decision = decision.with_distances(norms(solution.planes[..., :-1], kernel))
    return decision


def _sums(k: int, numbers: slice, rows: Array, state: tuple[Array, bool]) -> ClassSums:
    """Return the sums over a tile; the state is all weights, and whether to compute Gram matrices."""
    weights, with_grams = state[0][numbers], state[1]
    total = (weights.astype(rows.dtype) @ rows).astype(np.float64)
    return ClassSums({k: total}, {k: gram_matrix(rows, weights)} if with_grams else {})


def _all_grams(home: Home) -> list[Array]:
    """Return the Gram matrix of every class."""
    grams = home.reduce(_sums, (home.training.weights, True)).grams
    return [grams[k] for k in range(home.n_classes)]


def _extremes(k: int, numbers: slice, rows: Array, means: Array) -> Extremes:
    """Return the extremes of a tile: distances to the class means."""
    return Extremes.of_class(k, distances_to_means(rows, means))


def _boxes(index: Index, rows: Array, home: Home, means: Array, ranges: Ranges, settings: Settings) -> Array:
    """Return C w s of mapped rows with the given numbers."""
    training = home.training
    numbers = np.arange(index.start, index.stop) if isinstance(index, slice) else index
    shares = ranges.memberships(distances_to_means(rows, means), training.labels_of(numbers))
    return np.asarray(shares * training.weights[numbers][:, None] * settings.C)


def _added(one: dict[int, Any], other: dict[int, Any]) -> dict[int, Any]:
    """Return the sum of two dictionaries, class by class."""
    both = dict(one)
    for k, value in other.items():
        both[k] = both[k] + value if k in both else value
    return both
