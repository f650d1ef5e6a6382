"""The only place that looks below the public interface of fbtwsvm; names here follow the package when it moves."""

from copy import deepcopy
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

# What `profile` measures: where a function is defined, and what it is called in the table.
FUNCTIONS = (
    ("fbtwsvm.rows.arrange", "sort and check rows"),
    ("fbtwsvm.maps.Mapping.fit", "map"),
    ("fbtwsvm.machine.learn_path", "learn, the rest of it"),
    ("fbtwsvm.moments.class_means", "class means"),
    ("fbtwsvm.membership.distances_to_means", "distances to means"),
    ("fbtwsvm.planes.solve_path", "planes in the dual, the rest"),
    ("fbtwsvm.newton.solve_newton", "planes by Newton's method"),
    ("fbtwsvm.kernel_form.solve_kernel_path", "planes on the kernel, the rest"),
    ("fbtwsvm.kernels.solve_kernel_blocks", "coordinate descent on the kernel, with left-out values"),
    ("fbtwsvm.moments.gram_matrix", "Gram matrices"),
    ("fbtwsvm.moments.Whitener.rows", "whitening"),
    ("fbtwsvm.moments.LowRankWhitener.rows", "whitening, few rows a class"),
    ("fbtwsvm.planes._plane_values", "plane values of all rows"),
    ("fbtwsvm.kernels.solve_row_blocks", "coordinate descent"),
    ("fbtwsvm.kernels.select_violators", "certificates"),
    ("fbtwsvm.planes._NearPlanes._leave_out", "left-out values"),
)


def inspect(model):
    """Return what a stream model holds: `kept` (rows) and `bytes`."""
    if hasattr(model, "inspect"):
        return model.inspect()
    report = model.memory_report()  # until inspect() lands
    return SimpleNamespace(kept=len(report.rows["id"]), bytes=report.total_bytes)


def smallest_eigenvalue(model):
    """Return the smallest eigenvalue of G = Gram matrix + ridge of all classes of a stream, over the ridge."""
    member = model._learner.members[0]
    ridge = member.ridge[0]
    return min(
        float(np.linalg.eigvalsh(gram + ridge * np.eye(len(gram))).min() / ridge) for gram in member.moments.grams
    )


def distance_to_fresh_solve(model):
    """Return the relative distance of a stream's planes to those solved again from its sums and kept rows."""
    member = deepcopy(model.settle()._learner).members[0]
    known = member.planes.copy()
    member.kept = replace(member.kept, alpha=np.zeros_like(member.kept.alpha))
    member.policy = replace(member.policy, decay=1.0, memory=None)
    for k in range(member.n_classes):
        member.refresh(k)
    member.moved[:], member.pushed[:] = True, True
    member.settle()
    return float(np.linalg.norm(member.planes - known) / np.linalg.norm(known))
