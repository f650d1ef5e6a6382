"""From mapped rows to planes and a decision rule: class means, memberships, solver, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from .._arrays import Array, class_starts, tiles
from .._log import LOG
from .._threads import Threads
from ..model.decision import Decision, PairRule, norms
from ..model.membership import Extremes, Ranges, distances_from_kernel, distances_to_means
from ..model.settings import Settings
from ..solver.choose import solve_mapped, solve_read
from ..solver.factors import add_gram
from ..solver.kernel import solve_kernel_path
from ..solver.left_out import leave_out_one_copy
from ..solver.problem import Outline, Problem, Solution
from ..solver.row_reader import Boxes, ByClass, GivenBoxes, MappedRows, Tiles
from .row_homes import Home, MemoryHome
from .support import Duals, GivenDuals

_MOST_GRAMS = 2**30  # bytes of Gram matrices that a pass adds up


@dataclass(frozen=True)
class MembershipBoxes:
    """Boxes C w s that are computed when they are needed: from class means and the ranges of memberships."""

    means: Array
    ranges: Ranges
    C: Array

    def __call__(self, rows: MappedRows) -> Array:
        """Return the boxes (n, n_classes) of rows."""
        shares = self.ranges.memberships(distances_to_means(rows.rows, self.means), rows.labels)
        return np.asarray(shares * rows.weights[:, None] * self.C)


@dataclass
class ClassState:
    """What is computed for the classes before planes are solved.

    totals    (n_classes, n_columns): sum of w_i h_i
    grams     sum of w_i h_i h_i' of each class, or None
    extremes  distances behind `ranges`, the ranges of the memberships
    boxes     function that returns C w s of mapped rows
    duals     function that returns the duals of mapped rows
    """

    totals: Array
    grams: Sequence[Array] | None
    extremes: Extremes
    ranges: Ranges
    boxes: Boxes
    duals: Duals


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

    totals: ByClass[Array]
    grams: ByClass[Array]

    def __add__(self, other: ClassSums) -> ClassSums:
        return ClassSums(self.totals + other.totals, self.grams + other.grams)


def solve_kernel(
    settings: Settings,
    kernel: Array,
    starts: Array,
    weights: Array,
    wanted: Array,
    multiples: Sequence[float] = (1.0,),
    share: Array | None = None,
) -> list[Solved]:
    """Solve every plane from the kernel matrix, without bias, for several multiples of C.

    Planes are coefficients of the training rows; their sum is the bias.  `wanted` are the numbers of the calibration
    rows, `share` says of which part of their weight one copy is, where few distinct rows stand for many.
    """
    distances = distances_from_kernel(kernel, weights, starts)
    labels = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    ranges = Extremes.of_classes(distances, starts).ranges(settings.mu, settings.membership)
    shares = ranges.memberships(distances, labels)
    problem = Problem(starts, settings.reg, settings.options, weights, marked(wanted, len(weights)))
    box = shares * weights[:, None] * settings.C
    solutions = solve_kernel_path(kernel + 1.0, box, problem, multiples)
    calibration, found = Calibration.of_problem(problem), []
    for solution, multiple in zip(solutions, multiples, strict=True):
        bias = solution.planes.sum(axis=2, keepdims=True)
        solution.planes = np.concatenate([solution.planes, bias], axis=2)
        copies = None
        if share is not None:
            rows = np.column_stack([kernel[wanted], np.ones(len(wanted))])
            copies = Copies(rows, share, solution.alpha[wanted], multiple * box[wanted])
        found.append(Solved(calibration.decide(solution, settings, kernel, copies), solution, shares))
    return found


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
    share: Array | None = None,
) -> list[Solved]:
    """Solve every plane on mapped rows, in memory or not, for several multiples of C.

    `wanted` are the numbers of the calibration rows, `share` is as in `solve_kernel`; `grams` are the Gram matrices of
    the classes, if already computed.
    `with_grams` computes them in any case, for `remember`.  `alpha` are duals of a similar problem, to start from.
    """
    with_grams = not home.in_memory or (with_grams and grams is None)
    sums = _class_sums(home, with_grams)
    totals = np.stack([sums.totals.by_class[k] for k in range(home.n_classes)])
    means = totals / home.class_weights[:, None]
    if with_grams:
        grams = [sums.grams.by_class[k] for k in range(home.n_classes)]
    if not isinstance(home, MemoryHome):
        assert grams is not None  # computed with the sums
        return [_solve_in_passes(settings, home, wanted, seed, totals, means, grams)]
    training = home.training
    mask = marked(wanted, training.n)
    problem = Problem(training.starts, settings.reg, settings.options, training.weights, mask)
    distances = distances_to_means(home.data, means, Threads(settings.options.n_jobs))
    extremes = Extremes.of_classes(distances, training.starts)
    ranges = extremes.ranges(settings.mu, settings.membership)
    LOG.info("class means and memberships found")
    shares = ranges.memberships(distances, training.labels)
    del distances  # with many classes these arrays are large
    plain = bool((training.weights == 1.0).all() and (settings.C == 1.0).all())
    box = shares if plain else shares * training.weights[:, None] * settings.C
    solutions = solve_mapped(
        home.data,
        box,
        problem,
        means,
        multiples,
        grams=grams,
        make_grams=lambda: _all_grams(home),
        reader=home,
        seed=seed,
        alpha=alpha,
    )
    calibration, found = Calibration.of_problem(problem), []
    for one, multiple in zip(solutions, multiples, strict=True):
        copies = None if share is None else Copies(home.data[wanted], share, one.alpha[wanted], multiple * box[wanted])
        decision = calibration.decide(one, settings, copies=copies)
        state = ClassState(totals, grams, extremes, ranges, GivenBoxes(box), GivenDuals(one.alpha))
        found.append(Solved(decision, one, shares, state))
    return found


def _solve_in_passes(
    settings: Settings, home: Home, wanted: Array, seed: int, totals: Array, means: Array, grams: Sequence[Array]
) -> Solved:
    """Solve every plane on rows that are not all in memory."""
    extremes = Extremes(home.n_classes)
    if settings.membership != "none":
        extremes = home.reduce(add_extremes, means, "ranges of the memberships")
    ranges = extremes.ranges(settings.mu, settings.membership)
    LOG.info("class means and memberships found")
    boxes = MembershipBoxes(means, ranges, settings.C)
    calibration_rows = home.take(wanted)
    problem = Outline(home.starts, settings.reg, settings.options)
    read = solve_read(home, boxes, problem, means, grams, calibration_rows, seed)
    state = ClassState(totals, grams, extremes, ranges, boxes, read.duals)
    calibration = Calibration(calibration_rows.labels, calibration_rows.weights, home.class_weights)
    return Solved(calibration.decide(read.solution, settings), read.solution, None, state)


@dataclass(frozen=True)
class Copies:
    """Calibration rows that stand for many: mapped, the share of one copy in their weight, their duals and boxes."""

    rows: Array
    share: Array
    alpha: Array
    box: Array


@dataclass(frozen=True)
class Calibration:
    """The calibration rows: class indices and weights, and the weight of all rows of each class."""

    labels: Array
    weights: Array
    class_weights: Array

    @classmethod
    def of_problem(cls, problem: Problem) -> Calibration:
        """Return the calibration rows of a problem whose rows are in memory."""
        blocks = [problem.block(k) for k in range(problem.n_classes)]
        labels = np.repeat(np.arange(problem.n_classes), [problem.wanted[block].sum() for block in blocks])
        class_weights = np.array([problem.weights[block].sum() for block in blocks])
        return cls(labels, problem.weights[problem.wanted], class_weights)

    def decide(
        self, solution: Solution, settings: Settings, kernel: Array | None = None, copies: Copies | None = None
    ) -> Decision:
        """Return the decision rule, learned from the left-out values; `kernel` is the matrix of the exact kernel.

        Where few distinct rows stand for many, new rows are `copies`, and a row without any of its copies may tell
        nothing of them: it is left out one copy at a time.
        """
        if copies is not None:
            leave_out_one_copy(solution, copies.rows, self.labels, copies.share, copies.alpha, copies.box)
        starts = class_starts(self.labels, len(self.class_weights))
        decision = Decision.fit(
            solution.near,
            solution.far,
            starts,
            self.weights,
            self.class_weights,
            settings.decision,
            settings.multiclass,
        )
        if settings.decision == "distance":
            decision = decision.with_distances(norms(solution.planes[..., :-1], kernel))
        return decision


def add_sums(rows: Tiles, with_grams: bool) -> ClassSums:
    """Return the sums over some rows, with or without Gram matrices."""
    totals: dict[int, Array] = {}
    grams: dict[int, Array] = {}
    for tile in rows:
        n_columns = tile.rows.shape[1]
        total = totals.setdefault(tile.label, np.zeros(n_columns))
        total += tile.weights.astype(tile.rows.dtype) @ tile.rows
        if with_grams:
            if tile.label not in grams:
                grams[tile.label] = np.zeros((n_columns, n_columns))
            add_gram(grams[tile.label], tile.rows, tile.weights)
    return ClassSums(ByClass(totals), ByClass(grams))


def _class_sums(home: Home, with_grams: bool) -> ClassSums:
    """Return the sums over all rows; Gram matrices of very many classes are computed in several passes."""
    at_once = max(1, _MOST_GRAMS // (8 * home.n_columns**2)) if with_grams else home.n_classes
    parts = tiles(0, home.n_classes, at_once)
    groups = [range(part.start, part.stop) for part in parts]
    return reduce(add, [home.reduce(add_sums, with_grams, "sums of the classes", group) for group in groups])


def _all_grams(home: Home) -> list[Array]:
    """Return the Gram matrix of every class."""
    grams = _class_sums(home, with_grams=True).grams.by_class
    return [grams[k] for k in range(home.n_classes)]


def add_extremes(rows: Tiles, means: Array) -> Extremes:
    """Return the extremes of some rows: distances to the class means."""
    extremes = Extremes(len(means))
    for tile in rows:
        extremes = extremes + Extremes.of_class(tile.label, distances_to_means(tile.rows, means))
    return extremes


def marked(numbers: Array, n: int) -> Array:
    """Mark some of n rows."""
    marked = np.zeros(n, dtype=bool)
    marked[numbers] = True
    return marked
