"""Choose the method for each plane.

Planes are solved from inner products (`kernel`) if that is cheaper, otherwise on mapped rows in the dual (`dual`).  If
a class has very many rows, a sample is solved first.  It shows how many rows push each plane: planes with few such rows
are then solved in the dual, planes with very many (the classes overlap) by Newton's method (`newton`).  Rows that are
not held in memory are read in passes, by Newton's method or by `finish`; see `_solve_by_passes`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._arrays import Array, tiles
from .dual import solve_features, solve_path
from .factors import Whitener
from .finish import finish, most_rows
from .kernel import solve_kernel_path
from .newton import FEW_STEPS, MOST_STEPS, WIDEST, Course, Task, solve_newton
from .plane_duals import PlaneDuals
from .problem import Factor, Outline, Problem, Solution, Start
from .row_reader import Boxes, GivenBoxes, MappedRows, RowReader

MANY_ROWS = 8192  # if the largest class has more rows than this, a sample is solved first
_MOST_KERNEL_ROWS = 8192  # their kernel matrix takes half a gigabyte
_SAMPLED = 16  # one row in 16 is sampled
_SMALLEST_SAMPLE, _LARGEST_SAMPLE = 1024, 16384  # rows of each class
LARGEST_READ = 4096  # the same of rows that do not fit into memory
_ROWS_OF_COLUMN = 32  # a class with so many rows for each column is pushed by Newton's method
_COARSE_START, _SHARP_START = 10.0, 0.01  # times tol: the tolerance of the sample
_SHARPEST = 1e-4  # smallest tolerance for which rows in memory are solved by Newton's method
_CROWDED = 64  # Newton's method is faster if more than 64 rows per column have a positive dual
_ROUNDING = 30.0  # units of rounding that an inner product may be wrong by, with room to spare
_TILE = 8192  # rows whose duals are computed at a time
_MOST_FACTORS = 2**30  # bytes of factors kept between the sample and the final solve

Grams = Callable[[], Sequence[Array]]


def solve_mapped(
    rows: Array,
    box: Array,
    problem: Problem,
    means: Array,
    multiples: Sequence[float],
    *,
    grams: Sequence[Array] | None,
    make_grams: Grams,
    reader: RowReader,
    seed: int,
    alpha: Array | None = None,
) -> list[Solution]:
    """Solve all planes on mapped rows in memory for several multiples of the boxes, each from the solution before it.

    `grams` are the Gram matrices of the classes without the ridge, if already computed.  `make_grams` computes them; it
    is called only if all of them are needed at once.  `reader` reads the same rows.  `alpha` are duals of a similar
    problem, to start from.
    """
    if _kernel_is_cheaper(problem.starts, rows.shape[1]):
        inner_products, rounding = _inner_products(rows, problem)
        solutions = solve_kernel_path(inner_products, box, problem, multiples, rows, rounding)
        for solution in solutions:
            solution.planes = solution.planes.astype(rows.dtype, copy=False)
        return solutions
    if np.diff(problem.starts).max() > MANY_ROWS:
        grams = make_grams() if grams is None else grams
        return [_solve_many_rows(rows, multiple * box, problem, means, grams, seed, reader) for multiple in multiples]
    start = Start.cold(rows, means, problem, grams)
    if alpha is not None:
        box, multiples = multiples[0] * box, [multiple / multiples[0] for multiple in multiples]
        start = replace(start, alpha=np.minimum(alpha, box))
    return solve_path(rows, box, problem, start, multiples)


@dataclass(frozen=True)
class ReadSolution:
    """Solved planes of rows that are not held, and a function that returns the duals of such rows."""

    solution: Solution
    duals: PlaneDuals


def solve_read(
    reader: RowReader,
    boxes: Boxes,
    problem: Outline,
    means: Array,
    grams: Sequence[Array],
    wanted: MappedRows,
    seed: int,
) -> ReadSolution:
    """Solve all planes on rows that are read in passes; `wanted` are the calibration rows."""
    dtype = wanted.rows.dtype
    start = _start(means, grams, problem, dtype)
    sample = first_sample(problem.starts, seed, LARGEST_READ)
    # Sharp, so that rounding errors of the sums, which depend on the pieces of the rows, do not decide where to start.
    first, _ = _first_planes(reader, boxes, problem, start, sample, _SHARP_START)
    solution = Solution.zeros((0, len(wanted)), problem.n_classes, means.shape[1], dtype)
    return ReadSolution(solution, _solve_by_passes(reader, boxes, problem, grams, wanted, start, first, solution))


def _solve_by_passes(
    reader: RowReader,
    boxes: Boxes,
    problem: Outline,
    grams: Sequence[Array],
    wanted: MappedRows,
    start: Start,
    first: Array,
    solution: Solution,
) -> PlaneDuals:
    """Solve the planes of `start.todo` and write them into the solution; return a function for their duals.

    Newton's method is for classes with many more rows than columns, and for those whose rows cannot all be brought
    together; `finish` solves all other planes, and those whose gap is above tol then.
    """
    sizes, most = np.diff(problem.starts), most_rows(first.shape[2], wanted.rows.dtype)
    by_newton = start.todo & (sizes > min(_ROWS_OF_COLUMN * first.shape[2], most))
    steps = np.where(sizes > most, MOST_STEPS, FEW_STEPS)
    crowded = replace(start, todo=by_newton, planes=first)
    course = Course.before_finish(problem.options.tol)
    task = Task(reader, boxes, problem, grams, crowded, wanted, steps, np.full(len(steps), WIDEST), course)
    widths = solve_newton(task, solution)
    solution.gaps[start.todo & ~by_newton] = np.inf
    rest = start.todo & (solution.gaps > problem.options.tol)
    planes = np.where(by_newton[..., None], solution.planes, first)
    sharp = finish(reader, boxes, problem, grams, replace(start, todo=rest, planes=planes), wanted, solution)
    return PlaneDuals(boxes, solution.planes.astype(np.float64), widths, sharp)


def _solve_many_rows(
    rows: Array,
    box: Array,
    problem: Problem,
    means: Array,
    grams: Sequence[Array],
    seed: int,
    reader: RowReader,
) -> Solution:
    """Solve all planes if some classes have very many rows."""
    boxes = GivenBoxes(box)
    start = _start(means, grams, problem, rows.dtype)
    first, pushing = _first_planes(reader, boxes, problem, start, first_sample(problem.starts, seed))
    crowded = start.todo & (pushing > _CROWDED * rows.shape[1]) & (problem.options.tol >= _SHARPEST)
    solution = solve_features(rows, box, problem, replace(start, todo=start.todo & ~crowded, planes=first))
    if crowded.any():
        wanted = reader.take(np.flatnonzero(problem.wanted))
        start = replace(start, todo=crowded)
        duals = _solve_by_passes(reader, boxes, problem, grams, wanted, start, first, solution)
        _fill_duals(rows, duals, problem, crowded, solution)
    return solution


def _fill_duals(rows: Array, duals: PlaneDuals, problem: Problem, planes: Array, solution: Solution) -> None:
    """Write the duals of planes that were solved by passes into the solution."""

    def fill(part: tuple[int, slice]) -> None:
        k, place = part
        labels = np.full(place.stop - place.start, k)
        tile = MappedRows(place, rows[place], labels, problem.weights[place])
        solution.alpha[place] = np.where(planes[:, k], duals(tile), solution.alpha[place])

    blocks = (problem.block(k) for k in range(problem.n_classes))
    problem.each(fill, [(k, part) for k, block in enumerate(blocks) for part in tiles(block.start, block.stop, _TILE)])


def _start(means: Array, grams: Sequence[Array], problem: Outline, dtype: np.dtype) -> Start:
    """Start from Gram matrices; keep their factors for the second use if memory allows."""
    kept: dict[int, Factor] = {}
    fits = len(grams) * means.shape[1] ** 2 * dtype.itemsize <= _MOST_FACTORS

    def factor(a: int) -> Factor:
        if a not in kept:
            whitener = Whitener(grams[a].copy(), float(problem.reg[a]), dtype)
            if not fits:
                return whitener
            kept[a] = whitener
        return kept[a]

    todo = problem.every_plane
    return Start(factor, means, todo, np.zeros(todo.shape))


def first_sample(starts: Array, seed: int, largest: int = _LARGEST_SAMPLE) -> Array:
    """Return the numbers, sorted, of the rows on which planes are solved first: about one in 16 of each class."""
    random = np.random.default_rng(seed)
    sizes = np.diff(starts)
    counts = np.minimum(sizes, np.clip(sizes // _SAMPLED, _SMALLEST_SAMPLE, largest))
    return np.concatenate(
        [
            np.sort(random.choice(size, count, replace=False)) + first
            for size, count, first in zip(sizes, counts, starts[:-1], strict=True)
        ]
    )


def _first_planes(
    reader: RowReader, boxes: Boxes, problem: Outline, start: Start, chosen: Array, tol: float = _COARSE_START
) -> tuple[Array, Array]:
    """Solve on a sample, to so many times the tolerance.

    Returns the planes, and an estimate of how many rows push each of them.
    """
    rows = reader.take(chosen)
    starts = np.searchsorted(chosen, problem.starts)
    counts = np.diff(starts)
    share = np.repeat(np.diff(problem.starts) / counts, counts)[:, None]
    sampled = Problem(
        starts=starts,
        reg=problem.reg,
        options=replace(problem.options, tol=tol * problem.options.tol),
        weights=rows.weights,
        wanted=np.zeros(len(chosen), dtype=bool),
    )
    solution = solve_features(rows.rows, boxes(rows) * share, sampled, start)
    pushing = np.add.reduceat((solution.alpha > 0) * share, starts[:-1], axis=0).T
    return solution.planes, pushing


def _inner_products(rows: Array, problem: Problem) -> tuple[Array, float]:
    """Return the inner products of all rows in float64, and their rounding error.

    They are computed in the precision of the rows if their error, divided by reg, is below the gap asked for, with
    much room.
    """
    largest = float(np.einsum("ij,ij->i", rows, rows, dtype=np.float64).max())
    rounding = _ROUNDING * float(np.finfo(rows.dtype).eps) * largest
    if rounding > problem.options.tol * float(problem.reg.min()):
        rows, rounding = rows.astype(np.float64), 0.0
    return (rows @ rows.T).astype(np.float64, copy=False), rounding


def _kernel_is_cheaper(starts: Array, n_columns: int) -> bool:
    """Compare the multiplications of `kernel` and `dual`, which whitens about a quarter of all rows."""
    sizes = np.diff(starts).astype(float)
    n, n_classes = sizes.sum(), len(sizes)
    feature = n * n_columns**2 / 2 + n_classes * n_columns**3 / 3 + n_classes * n * n_columns**2 / 4
    shared = n**2 * n_columns + (2 * sizes**2 * n).sum()
    pairs = (sizes[:, None] * sizes**2).sum() + n_classes * (sizes**2).sum() * 30
    return bool(n <= _MOST_KERNEL_ROWS and shared + pairs < feature)
