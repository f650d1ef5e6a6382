"""Which of two ways solves a plane when classes have very many rows.

A plane that few rows push is solved in the dual, on a working set (`planes`); one that very many rows push, because
classes overlap, by Newton's method in the primal (`newton`).  A sample of the rows, each standing for many, tells
which is which, and gives both their first planes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from .._arrays import Array
from .dual import solve_features
from .factors import Whitener, gram_matrix
from .newton import Bulk, solve_newton
from .problem import Problem, Solution, Start

MANY_ROWS = 8192  # rows of the largest class from which on a sample comes first
_SAMPLED = 16  # one row in so many makes the sample
_SMALLEST_SAMPLE, _LARGEST_SAMPLE = 1024, 16384  # of a class
_PIECE = 32768  # rows whose Gram matrix one thread forms
_SHARPEST = 1e-4  # gap that the rounded hinge of Newton's method can still reach
_CROWDED = 64  # pushing rows, in units of columns, from which on Newton's method is the faster


def solve_many_rows(rows: Array, means: Array, problem: Problem, grams: Sequence[Array], seed: int) -> Solution:
    """Solve all planes of classes of which some have very many rows; `grams` are without the ridge."""
    factors = problem.each(lambda a: Whitener(grams[a].copy(), float(problem.reg[a]), rows.dtype), range(len(grams)))
    todo = ~np.eye(len(grams), dtype=bool)
    start = Start(factors.__getitem__, means, todo, np.zeros(todo.shape))
    bulk = Bulk(lambda index: rows[index], lambda index, _: problem.box[index])
    first, pushing = first_planes(bulk, problem, start, seed)
    crowded = todo & (pushing > _CROWDED * rows.shape[1]) & (problem.tol >= _SHARPEST)
    solution = solve_features(rows, problem, replace(start, todo=todo & ~crowded, planes=first))
    solve_newton(bulk, problem, grams, crowded, first, solution, solution.alpha)
    return solution


def class_grams(rows: Callable[[slice], Array], problem: Problem) -> list[Array]:
    """Form the Gram matrix of every class, without the ridge; `rows` gives the mapped rows of a slice."""
    pieces = [
        (k, slice(i, min(i + _PIECE, int(problem.starts[k + 1]))))
        for k in range(problem.n_classes)
        for i in range(int(problem.starts[k]), int(problem.starts[k + 1]), _PIECE)
    ]
    grams: list[Array] = []
    found = problem.stream(lambda piece: gram_matrix(rows(piece[1]), problem.weights[piece[1]]), pieces)
    for (k, _), gram in zip(pieces, found, strict=True):
        if k < len(grams):
            grams[k] += gram
        else:
            grams.append(gram)
    return grams


def first_planes(bulk: Bulk, problem: Problem, start: Start, seed: int) -> tuple[Array, Array]:
    """Solve on a sample; return the planes, and about how many rows push each."""
    random = np.random.default_rng(seed)
    sizes = np.diff(problem.starts)
    counts = np.minimum(sizes, np.clip(sizes // _SAMPLED, _SMALLEST_SAMPLE, _LARGEST_SAMPLE))
    chosen = np.concatenate(
        [
            np.sort(random.choice(size, count, replace=False)) + first
            for size, count, first in zip(sizes, counts, problem.starts[:-1], strict=True)
        ]
    )
    share = np.repeat(sizes / counts, counts)[:, None]
    starts = np.concatenate([[0], np.cumsum(counts)])
    rows = bulk.rows(chosen)
    sampled = replace(
        problem,
        starts=starts,
        weights=problem.weights[chosen],
        box=bulk.boxes(chosen, rows) * share,
        wanted=np.zeros(len(chosen), dtype=bool),
        tol=10.0 * problem.tol,
    )
    solution = solve_features(rows, sampled, start)
    pushing = np.add.reduceat((solution.alpha > 0) * share, starts[:-1], axis=0).T
    return solution.planes, pushing
