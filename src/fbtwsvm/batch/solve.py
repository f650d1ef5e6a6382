"""From mapped rows to planes and a decision rule: sums, memberships, the solver, calibration."""

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
from .homes import Home, MemoryHome


@dataclass
class ClassState:
    """What is known of the classes before planes are solved: sums, Gram matrices, ranges of the memberships.

    `boxes` returns C w s of mapped rows with given numbers.
    """

    totals: Array
    grams: Sequence[Array] | None
    extremes: Extremes
    ranges: Ranges
    boxes: Callable[[Index, Array], Array]


@dataclass
class Solved:
    """Solved planes, the rule that compares them, and the memberships behind them where all are held."""

    decision: Decision
    solution: Solution
    memberships: Array | None
    state: ClassState | None = None

    @property
    def rule(self) -> PairRule:
        """What turns mapped rows into answers."""
        return PairRule(self.decision, self.solution.planes)


@dataclass
class ClassSums:
    """Sums over mapped rows of one or several classes: class -> sum of w_i h_i and, where asked for, w_i h_i h_i'."""

    totals: dict[int, Array]
    grams: dict[int, Array]

    def __add__(self, other: ClassSums) -> ClassSums:
        return ClassSums(_added(self.totals, other.totals), _added(self.grams, other.grams))


def solve_kernel(
    settings: Settings, kernel: Array, starts: Array, weights: Array, wanted: Array, multiples: Sequence[float] = (1.0,)
) -> list[Solved]:
    """Solve every plane from the kernel matrix, without bias, for several multiples of C.

    Planes are coefficients of the training rows, with their sum as the bias.  `wanted` marks the rows that the decision
    rule is calibrated on.
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
) -> list[Solved]:
    """Solve every plane on mapped rows, wherever they live, for several multiples of C.

    `wanted` marks the rows that the decision rule is calibrated on; `grams` are the Gram matrices of the classes, where
    they are known.  `with_grams` makes them in any case, for going on from the result.
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
        assert grams is not None  # made with the sums
        solution = solve_read(RowReader(home.rows, boxes), problem, means, grams, seed)
        return [Solved(calibrated(solution, problem, settings), solution, None, state)]
    shares = ranges.memberships(distances, training.labels)
    solutions = solve_mapped(
        home.data,
        shares * training.weights[:, None] * settings.C,
        problem,
        means,
        multiples,
        grams=grams,
        make_grams=lambda: _all_grams(home),
        seed=seed,
    )
    return [Solved(calibrated(one, problem, settings), one, shares, state) for one in solutions]


def calibrated(solution: Solution, problem: Problem, settings: Settings, kernel: Array | None = None) -> Decision:
    """Fit the decision rule on the left-out values of the wanted rows; `kernel` is the matrix of an exact kernel."""
    numbers = np.flatnonzero(problem.wanted)
    totals = np.array([problem.weights[problem.block(k)].sum() for k in range(problem.n_classes)])
    decision = Decision.fit(
        solution.near,
        solution.far,
        np.searchsorted(numbers, problem.starts),
        problem.weights[numbers],
        totals,
        settings.decision,
        settings.multiclass,
    )
    if settings.decision == "distance":
        decision = decision.with_distances(norms(solution.planes[..., :-1], kernel))
    return decision


def _sums(k: int, numbers: slice, rows: Array, state: tuple[Array, bool]) -> ClassSums:
    """Add up a tile: the state is all weights, and whether Gram matrices are wanted."""
    weights, with_grams = state[0][numbers], state[1]
    total = (weights.astype(rows.dtype) @ rows).astype(np.float64)
    return ClassSums({k: total}, {k: gram_matrix(rows, weights)} if with_grams else {})


def _all_grams(home: Home) -> list[Array]:
    """Gram matrix of every class."""
    made = home.reduce(_sums, (home.training.weights, True)).grams
    return [made[k] for k in range(home.n_classes)]


def _extremes(k: int, numbers: slice, rows: Array, means: Array) -> Extremes:
    """Extreme distances in a tile to the class means."""
    return Extremes.of_class(k, distances_to_means(rows, means))


def _boxes(index: Index, rows: Array, home: Home, means: Array, ranges: Ranges, settings: Settings) -> Array:
    """C w s of rows that were just read."""
    training = home.training
    numbers = np.arange(index.start, index.stop) if isinstance(index, slice) else index
    shares = ranges.memberships(distances_to_means(rows, means), training.labels_of(numbers))
    return np.asarray(shares * training.weights[numbers][:, None] * settings.C)


def _added(one: dict[int, Any], other: dict[int, Any]) -> dict[int, Any]:
    """Add two dictionaries, class by class."""
    both = dict(one)
    for k, value in other.items():
        both[k] = both[k] + value if k in both else value
    return both
