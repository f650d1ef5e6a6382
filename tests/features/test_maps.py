"""Each map against the kernel that it approximates."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import AdditiveChi2Sampler, SkewedChi2Sampler

from fbtwsvm.features import AdditiveIntersectionFeatures, ExactKernel, FourierFeatures, NystroemFeatures
from fbtwsvm.features.kernels import similarity


@pytest.mark.parametrize(
    ("map_", "kernel", "error"),
    [
        (FourierFeatures(gamma=0.7, n_components=8000), "rbf", 0.06),
        (FourierFeatures(gamma=0.7, n_components=8000, orthogonal=True), "rbf", 0.05),
        (FourierFeatures(kernel="laplacian", gamma=0.7, n_components=8000), "laplacian", 0.06),
        (FourierFeatures(kernel="skewed_intersection", n_components=8000), "skewed_intersection", 0.06),
        (SkewedChi2Sampler(skewedness=1.0, n_components=8000), "skewed_chi2", 0.06),
        (AdditiveChi2Sampler(sample_steps=3), "chi2", 0.1),
        (AdditiveIntersectionFeatures(sample_steps=60, sample_interval=0.2), "intersection", 0.06),
        (NystroemFeatures(gamma=0.7, n_components=60), "rbf", 3e-2),
        (NystroemFeatures(gamma=0.7, n_components=60, landmarks="leverage"), "rbf", 3e-2),
        (NystroemFeatures(gamma=0.7, n_components=60, landmarks="kmeans"), "rbf", 3e-2),
        (NystroemFeatures(kernel="laplacian", gamma=0.7, n_components=80), "laplacian", 1e-6),
        (NystroemFeatures(kernel="intersection", n_components=80), "intersection", 1e-6),
        (NystroemFeatures(kernel="chi2", n_components=80), "chi2", 1e-6),
    ],
)
def test_map_approximates_kernel(map_, kernel, error, X):
    map_ = clone(map_)
    if "random_state" in map_.get_params():
        map_.set_params(random_state=0)
    Z = map_.fit_transform(X)
    exact = similarity(kernel, 0.7)(X, X)
    assert np.abs(Z @ Z.T - exact).max() < error * np.diag(exact).mean()
    assert np.array_equal(Z, clone(map_).fit_transform(X))  # the same seed, the same map


@pytest.mark.parametrize(
    "map_", [FourierFeatures(n_components=20, random_state=0), NystroemFeatures(random_state=0), ExactKernel()]
)
def test_float32_and_sparse_rows(map_, X):
    Z = clone(map_).fit_transform(X)
    single = clone(map_).fit(X.astype(np.float32)).transform(X.astype(np.float32))
    assert single.dtype == np.float32
    assert clone(map_).fit_transform(sp.csr_array(X)) == pytest.approx(Z, abs=1e-6)
    gram = single @ single.T if not isinstance(map_, ExactKernel) else single
    assert gram == pytest.approx(Z @ Z.T if not isinstance(map_, ExactKernel) else Z, abs=2e-3)
