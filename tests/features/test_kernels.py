"""Each kernel against its formula, its domain and its usual width."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from fbtwsvm.features.kernels import KERNELS, check_domain, gamma_scale, is_normalised, similarity

FORMULAS = {
    "linear": lambda x, y: x @ y,
    "rbf": lambda x, y: np.exp(-0.7 * ((x - y) ** 2).sum()),
    "laplacian": lambda x, y: np.exp(-0.7 * np.abs(x - y).sum()),
    "chi2": lambda x, y: sum(2 * a * b / (a + b) for a, b in zip(x, y, strict=True) if a + b > 0),
    "intersection": lambda x, y: np.minimum(x, y).sum(),
    "skewed_chi2": lambda x, y: np.prod(2 * np.sqrt(x + 1) * np.sqrt(y + 1) / (x + y + 2)),
    "skewed_intersection": lambda x, y: np.prod(np.sqrt(np.minimum((x + 1) / (y + 1), (y + 1) / (x + 1)))),
}


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("sparse", [False, True])
def test_kernel_is_its_formula(name, sparse, X):
    exact = np.array([[FORMULAS[name](x, y) for y in X[:9]] for x in X[:12]])
    convert = sp.csr_array if sparse else np.asarray
    assert similarity(name, 0.7)(convert(X[:12]), convert(X[:9])) == pytest.approx(exact, abs=1e-10)
    assert is_normalised(name) == np.allclose(np.diag(similarity(name, 0.7)(X[:9], X[:9])), 1.0)


@pytest.mark.parametrize(("kernel", "value"), [("chi2", -0.1), ("intersection", -0.1), ("skewed_chi2", -1.0)])
def test_values_outside_the_kernels_domain(kernel, value, X):
    X[2, 2] = value
    with pytest.raises(ValueError, match="Shift the data"):
        check_domain(kernel, X)


def test_gamma_scale(X):
    assert gamma_scale(X) == pytest.approx(1 / (5 * X.var()))
    assert gamma_scale(sp.csr_array(X)) == pytest.approx(1 / (5 * X.var()))
    assert gamma_scale(X, "laplacian") == pytest.approx(1 / (5 * X.std()))
    weights = np.arange(80)
    assert gamma_scale(X, weights=weights) == pytest.approx(gamma_scale(np.repeat(X, weights, axis=0)))
    assert gamma_scale(np.full((10, 4), 3.7)) == 0.25  # constant data has no scale
    assert gamma_scale(1e6 + X) == pytest.approx(gamma_scale(X), rel=1e-6)


def test_rbf_keeps_its_digits_far_from_the_origin(X):
    exact = rbf_kernel(X, gamma=0.7)
    far = (1000.0 + X).astype(np.float32)
    assert similarity("rbf", 0.7)(far, far) == pytest.approx(rbf_kernel(far.astype(np.float64), gamma=0.7), abs=1e-5)
    assert similarity("laplacian", 0.7)(X, X) == pytest.approx(laplacian_kernel(X, gamma=0.7))
    assert similarity("rbf", 0.7)(X, X) == pytest.approx(exact)
