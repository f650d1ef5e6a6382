"""The slow, obvious solver: problem (P) for one plane as a quadratic program, by a general interior-point method.

With it, small problems and what is measured on their planes.
"""

from itertools import pairwise

import clarabel
import numpy as np
import scipy.sparse as sp

from fbtwsvm.batch.row_homes import MemoryHome
from fbtwsvm.model.rows import TrainingRows
from fbtwsvm.solver import choose
from fbtwsvm.solver.dual import solve_features
from fbtwsvm.solver.factors import gram_matrix
from fbtwsvm.solver.kernel import solve_kernel_path
from fbtwsvm.solver.problem import Problem, SolverOptions, Start


def class_means(rows, weights, starts):
    """Return the weighted mean of every class."""
    blocks = [slice(first, last) for first, last in pairwise(starts)]
    return np.stack([np.average(rows[block].astype(np.float64), axis=0, weights=weights[block]) for block in blocks])


def solve_plane(near, pushed, near_weights, box, reg):
    """Return u of  min 1/2 reg |u|^2 + 1/2 sum w (h.u)^2 + sum box xi,  xi >= 1 + h.u,  xi >= 0,  and its gap."""
    n_columns, n_pushed = near.shape[1], len(pushed)
    gram = near.T @ (near * near_weights[:, None]) + reg * np.eye(n_columns)
    hessian = sp.block_diag([sp.csc_array(gram), sp.csc_array((n_pushed, n_pushed))], format="csc")
    constraints = sp.block_array(
        [[sp.csc_array(pushed), -sp.eye_array(n_pushed)], [None, -sp.eye_array(n_pushed)]], format="csc"
    )
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-13
    solver = clarabel.DefaultSolver(
        sp.csc_matrix(sp.triu(hessian)),
        np.concatenate([np.zeros(n_columns), box]),
        sp.csc_matrix(constraints),
        np.concatenate([-np.ones(n_pushed), np.zeros(n_pushed)]),
        [clarabel.NonnegativeConeT(2 * n_pushed)],
        settings,
    )
    result = solver.solve()
    u = np.array(result.x)[:n_columns]
    alpha = np.clip(np.array(result.z)[:n_pushed], 0, box)
    # The certificate is computed here, from the definition, and not taken from the solver.
    pull = pushed.T @ alpha
    primal = 0.5 * u @ gram @ u + (box * np.maximum(0, 1 + pushed @ u)).sum()
    dual = alpha.sum() - 0.5 * pull @ np.linalg.solve(gram, pull)
    return u, (primal - dual) / box.sum()


def solve_cold(rows, box, problem):
    """Solve every plane in the feature form from nothing but the rows."""
    means = class_means(rows, problem.weights, problem.starts)
    return solve_features(rows, box, problem, Start.cold(rows, means, problem))


# At the least point of the rounded problem a row in the zone adds at most width / 16 to the gap, see `newton`.
NEWTON_TOL = 2e-3


# It holds 1 + h.u, boxes and duals in single precision: what the sums of a gap, over the sum of the boxes, are off by.
SINGLE = 4 * float(np.finfo(np.float32).eps)


def solve_kernel(kernel, box, problem, rows=None):
    """Solve every plane from inner products."""
    return solve_kernel_path(kernel, box, problem, (1.0,), rows)[0]


def solve_newton_for_all(rows, box, problem):
    """Solve every plane as a fit with crowded classes does; see the fixture `newton_for_all`."""
    means = class_means(rows, problem.weights, problem.starts)
    blocks = [problem.block(k) for k in range(problem.n_classes)]
    grams = [gram_matrix(rows[block], problem.weights[block]) for block in blocks]
    return choose._solve_many_rows(rows, box, problem, means, grams, 0, home_of(rows, problem))


def home_of(rows, problem):
    """Return the home of mapped rows in memory."""
    every = np.arange(len(rows))
    training = TrainingRows(rows, every, problem.weights, problem.starts, every, problem.weights, small=False)
    return MemoryHome(training, rows, None)


def make_problem(sizes, n_columns, seed, weighted, tol=1e-10):
    """Return rows, boxes and the problem of overlapping clouds."""
    random = np.random.default_rng(seed)
    rows = np.concatenate([random.normal(0.6 * random.normal(size=n_columns), 1, (n, n_columns)) for n in sizes])
    rows = np.column_stack([rows / np.sqrt(n_columns), np.ones(len(rows))])
    weights = random.uniform(0.2, 3.0, len(rows)) if weighted else np.ones(len(rows))
    box = weights[:, None] * random.uniform(0.01, 2.0, (len(rows), len(sizes)))
    problem = Problem(
        starts=np.concatenate([[0], np.cumsum(sizes)]),
        weights=weights,
        reg=random.uniform(0.01, 0.5, len(sizes)),
        wanted=np.ones(len(rows), dtype=bool),
        options=SolverOptions(tol, max_iter=100_000, n_jobs=None),
    )
    return rows, box, problem


def largest_error(planes, rows, box, problem):
    """Largest relative error ||L'(u - u*)|| / ||L'u*|| over all planes; checks the reference's own gap as well."""
    worst = 0.0
    for a in range(problem.n_classes):
        near, near_weights = rows[problem.block(a)], problem.weights[problem.block(a)]
        gram = near.T @ (near * near_weights[:, None]) + problem.reg[a] * np.eye(rows.shape[1])
        for b in range(problem.n_classes):
            if a != b:
                pushed = problem.block(b)
                best, gap = solve_plane(near, rows[pushed], near_weights, box[pushed, a], problem.reg[a])
                assert gap < 1e-11
                error = planes[a, b] - best
                worst = max(worst, np.sqrt(error @ gram @ error / (best @ gram @ best)))
    return worst


def certificate(u, alpha, rows, box, problem, a, b):
    """Return the gap of the plane [a, b], from its definition."""
    near, pushed = problem.block(a), problem.block(b)
    box = box[pushed, a]
    alpha = np.clip(alpha[pushed, a], 0.0, box)  # rounding may carry a dual beyond its bound
    gram = rows[near].T @ (rows[near] * problem.weights[near, None]) + problem.reg[a] * np.eye(rows.shape[1])
    pull = rows[pushed].T @ alpha
    primal = 0.5 * u @ gram @ u + (box * np.maximum(0, 1 + rows[pushed] @ u)).sum()
    dual = alpha.sum() - 0.5 * pull @ np.linalg.solve(gram, pull)
    return (primal - dual) / box.sum()


def assert_planes_within_gap(planes, gaps, rows, box, problem, rounding=0.0):
    """Every plane is as near to the reference as its gap says.

    The objective curves at least as G_a does, so a plane u whose objective is `excess` above the least one has
    1/2 (u - u*)'G_a(u - u*) <= excess; and the excess is at most gap * sum C w s.  That holds for the reference too.
    """
    for a in range(problem.n_classes):
        near, near_weights = rows[problem.block(a)], problem.weights[problem.block(a)]
        gram = near.T @ (near * near_weights[:, None]) + problem.reg[a] * np.eye(rows.shape[1])
        for b in np.flatnonzero(np.arange(problem.n_classes) != a):
            pushed = problem.block(int(b))
            bounds = box[pushed, a]
            best, gap = solve_plane(near, rows[pushed], near_weights, bounds, problem.reg[a])
            assert gap < 1e-11
            error = planes[a, b] - best
            bound = sum(np.sqrt(2.0 * excess * bounds.sum()) for excess in (gaps[a, b] + rounding, max(gap, 0.0)))
            assert np.sqrt(error @ gram @ error) <= bound


SHAPES = [
    ((30, 20), 5),
    ((8, 40), 20),
    ((40, 8), 20),
    ((5, 6), 30),
    ((60, 150), 10),
    ((1, 2, 3), 4),
    ((25, 30, 35), 12),
    ((4, 50, 12), 25),
]


REG = 0.3


def some_rows(n, n_columns=6, seed=0, dtype=np.float64):
    random = np.random.default_rng(seed)
    return random.normal(size=(n, n_columns)).astype(dtype), random.uniform(0.2, 3.0, n)


def system(rows, weights, reg=REG):
    rows = rows.astype(np.float64)
    return rows.T @ np.diag(weights) @ rows + reg * np.eye(rows.shape[1])
