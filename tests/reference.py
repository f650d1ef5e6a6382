"""The slow, obvious solver: problem (P) for one plane as a quadratic program, by a general interior-point method."""

import clarabel
import numpy as np
import scipy.sparse as sp


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
