"""The only place that looks below the public interface of fbtwsvm; names here follow the package when it moves."""

from contextlib import ExitStack
from copy import deepcopy
from dataclasses import replace
from unittest import mock

import numpy as np

from fbtwsvm import FBTWSVM
from fbtwsvm.batch import choose_gamma, ridge
from fbtwsvm.batch.prepare import ordered
from fbtwsvm.batch.trial_rows import TrialRows
from fbtwsvm.classifier import model_of, parameters_of
from fbtwsvm.online.resolve import resolve
from fbtwsvm.solver.factors import gram_matrix

# What `profile` measures: where a function is defined, and what it is called in the table.
FUNCTIONS = (
    ("fbtwsvm.model.rows.arrange", "sort and check rows"),
    ("fbtwsvm.model.mapping.Mapping.fit", "map"),
    ("fbtwsvm.batch.solve.solve", "learn, the rest of it"),
    ("fbtwsvm.batch.solve._class_sums", "class means"),
    ("fbtwsvm.model.membership.distances_to_means", "distances to means"),
    ("fbtwsvm.solver.dual.solve_path", "planes in the dual, the rest"),
    ("fbtwsvm.solver.newton.solve_newton", "planes by Newton's method"),
    ("fbtwsvm.solver.kernel.solve_kernel_path", "planes on the kernel, the rest"),
    ("fbtwsvm.solver._descent_loops.solve_kernel_blocks", "coordinate descent on the kernel, with left-out values"),
    ("fbtwsvm.solver.factors.gram_matrix", "Gram matrices"),
    ("fbtwsvm.solver.factors.Whitener.rows", "whitening"),
    ("fbtwsvm.solver.factors.LowRankRoot.rows", "whitening, few rows a class"),
    ("fbtwsvm.solver.dual._plane_values", "plane values of all rows"),
    ("fbtwsvm.solver._descent_loops.solve_row_blocks", "coordinate descent"),
    ("fbtwsvm.solver._working_set_loops.select_violators", "certificates"),
    ("fbtwsvm.solver.left_out.left_out_features", "left-out values"),
)


def smallest_eigenvalue(model):
    """Return the smallest eigenvalue of G = Gram matrix + ridge of all classes of a stream, over the ridge."""
    member = model_of(model).members[0]
    ridge = member.ridge[0]
    return min(
        float(np.linalg.eigvalsh(gram + ridge * np.eye(len(gram))).min() / ridge) for gram in member.moments.grams
    )


def distance_to_fresh_solve(model):
    """Return the relative distance of a stream's planes to those solved again from its sums and kept rows."""
    member = deepcopy(model_of(model.settle())).members[0]
    known = member.planes.copy()
    member.kept = replace(member.kept, alpha=np.zeros_like(member.kept.alpha))
    member.policy = replace(member.policy, decay=1.0, memory=None)
    for k in range(member.n_classes):
        member.refresh(k)
    member.mark_changed(slice(None), sums=True, rows=True)
    resolve(member)
    return float(np.linalg.norm(member.planes - known) / np.linalg.norm(known))


def plane_distance(one, other, X, y):
    """Return the largest ||u - v|| / ||v|| of the planes of two models with one map, in the norm u'G_a u."""
    rows, worst = model_of(other).mapping.rows(X), 0.0
    for a, label in enumerate(other.classes_):
        own = rows[y == label]
        gram = gram_matrix(own, np.ones(len(own))) + other.reg * np.eye(rows.shape[1])
        for b in np.flatnonzero(np.arange(len(other.classes_)) != a):
            u, v = one.planes_[a, b].astype(np.float64), other.planes_[a, b].astype(np.float64)
            worst = max(worst, float(np.sqrt((u - v) @ gram @ (u - v) / (v @ gram @ v))))
    return worst


def chosen_gamma(X, y, changes):
    """Return what gamma="auto" is on these rows, with other values of some constants of its search."""
    parameters = parameters_of(FBTWSVM(random_state=0, n_jobs=1))
    rows = ordered(parameters, X, y, None)[1]
    with ExitStack() as stack:
        for name, value in changes.items():
            stack.enter_context(mock.patch.object(ridge if hasattr(ridge, name) else choose_gamma, name, value))
        return choose_gamma.choose_gamma(parameters, TrialRows(rows, None, 0))
