"""Fitting rows whose mapped form would not fit into memory: it never exists but tile by tile.

Passes over the rows: one for the Gram matrices and means, one for the range of the memberships, then those of Newton's
method.  Of each row only a few numbers are held: its label and place, and x, box and alpha in each plane of its class.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._log import LOG
from ..model.mapping import Mapping
from ..model.membership import Ranges, distances_to_means
from ..model.rows import TrainingRows
from ..model.settings import Settings
from ..solver.choose import first_planes
from ..solver.factors import Whitener, gram_matrix
from ..solver.newton import Bulk, Index, solve_newton
from ..solver.problem import Problem, Solution, Start
from .machine import Machine, decision_of

_PIECE = 16384  # rows that a thread adds up
_TILE = 4096  # of these are mapped at a time


@dataclass(frozen=True)
class Larger:
    """A machine, and which rows have a dual in any plane (in the engine's order)."""

    machine: Machine
    supports: Array


def learn_larger(settings: Settings, mapping: Mapping, rows: TrainingRows, judged: Array, seed: int) -> Larger:
    """Solve every plane and fit the decision rule, as `machine.learn` does, without ever holding the mapped rows."""
    n_classes = rows.n_classes

    def mapped(index: Index) -> Array:
        return mapping.rows(rows.X, rows.index[index])

    problem = Problem(
        starts=rows.starts,
        weights=rows.weights,
        box=np.empty((0, n_classes)),
        reg=settings.reg,
        wanted=judged,
        tol=settings.tol,
        max_iter=settings.max_iter,
        n_jobs=settings.n_jobs if mapping.threaded else 1,
    )
    means, grams = _moments(mapped, problem)
    LOG.info("Gram matrices formed")
    ranges = _ranges(mapped, problem, means, settings)

    def boxes(index: Index, tile: Array) -> Array:
        places = np.arange(index.start, index.stop) if isinstance(index, slice) else index
        labels = np.searchsorted(rows.starts, places, side="right") - 1
        share = ranges.memberships(distances_to_means(tile, means), labels)
        return share * rows.weights[places][:, None] * settings.C

    bulk = Bulk(mapped, boxes)
    todo = ~np.eye(n_classes, dtype=bool)
    factors = [Whitener(gram.copy(), float(reg), mapping.dtype) for gram, reg in zip(grams, settings.reg, strict=True)]
    first, _ = first_planes(bulk, problem, Start(factors.__getitem__, means, todo, np.zeros(todo.shape)), seed)
    del factors
    solution = Solution.empty(replace(problem, weights=rows.weights[:0]))
    solution.planes = np.zeros_like(first)
    solution.near, solution.far = np.zeros((2, int(judged.sum()), n_classes))
    supports = np.zeros((rows.n, n_classes), dtype=bool)
    solve_newton(bulk, problem, grams, todo, first, solution, supports)
    chosen = np.flatnonzero(judged)
    places = np.searchsorted(chosen, rows.starts)
    totals = np.array([rows.weights[a:b].sum() for a, b in zip(rows.starts[:-1], rows.starts[1:], strict=True)])
    decision = decision_of(solution, places, rows.weights[chosen], np.ones(len(chosen), bool), settings, None, totals)
    return Larger(Machine(decision, solution, np.empty((0, n_classes))), np.asarray(supports.any(axis=1)))


def _pieces(problem: Problem) -> list[tuple[int, slice]]:
    """Pieces of the classes, in order."""
    return [
        (k, slice(i, min(i + _PIECE, int(problem.starts[k + 1]))))
        for k in range(problem.n_classes)
        for i in range(int(problem.starts[k]), int(problem.starts[k + 1]), _PIECE)
    ]


def _tiles(piece: slice) -> list[slice]:
    return [slice(i, min(i + _TILE, piece.stop)) for i in range(piece.start, piece.stop, _TILE)]


def _moments(mapped: Any, problem: Problem) -> tuple[Array, list[Array]]:
    """Mean and Gram matrix of every class, in one pass."""

    def add_up(item: tuple[int, slice]) -> tuple[Array, Array]:
        total: Any = 0.0
        gram: Any = 0.0
        for tile in _tiles(item[1]):
            rows, weights = mapped(tile), problem.weights[tile]
            total = total + weights.astype(rows.dtype) @ rows
            gram = gram + gram_matrix(rows, weights)
        return total.astype(np.float64), gram

    pieces = _pieces(problem)
    sums: list[Any] = [0.0] * problem.n_classes
    grams: list[Any] = [0.0] * problem.n_classes
    for (k, _), (total, gram) in zip(pieces, problem.stream(add_up, pieces), strict=True):
        sums[k] = sums[k] + total
        grams[k] = grams[k] + gram
    counts = [problem.weights[problem.block(k)].sum() for k in range(problem.n_classes)]
    return np.stack([total / count for total, count in zip(sums, counts, strict=True)]), grams


def _ranges(mapped: Any, problem: Problem, means: Array, settings: Settings) -> Ranges:
    """Range of the memberships of every class, in one pass."""
    found = Ranges(problem.n_classes, settings.mu, settings.membership, np.diff(problem.starts))
    if settings.membership == "none":
        return found

    def look(item: tuple[int, slice]) -> Ranges:
        mine = Ranges(problem.n_classes, settings.mu, settings.membership, np.diff(problem.starts))
        for tile in _tiles(item[1]):
            mine.widen(item[0], distances_to_means(mapped(tile), means))
        return mine

    for mine in problem.stream(look, _pieces(problem)):
        found.merge(mine)
    return found
