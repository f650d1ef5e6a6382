"""Each map against the kernel that it approximates, each kernel against its formula."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import AdditiveChi2Sampler, SkewedChi2Sampler
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from fbtwsvm.features import AdditiveIntersectionFeatures, ExactKernel, FourierFeatures, NystroemFeatures
from fbtwsvm.features.kernels import KERNELS, check_domain, gamma_scale, is_normalised, similarity


@pytest.fixture
def X():
    random = np.random.default_rng(0)
    rows = random.uniform(0.0, 1.0, size=(80, 5))
    rows[3] = 0.0  # an empty histogram
    rows[7] = rows[8]  # twins
    return rows


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


def test_orthogonal_directions_beat_independent_ones():
    X = np.random.default_rng(1).normal(size=(60, 16))
    exact = rbf_kernel(X, gamma=0.03)

    def error(orthogonal):
        maps = [
            FourierFeatures(gamma=0.03, n_components=64, orthogonal=orthogonal, random_state=seed) for seed in range(40)
        ]
        return np.mean([((Z @ Z.T - exact) ** 2).mean() for Z in (m.fit_transform(X) for m in maps)])

    assert error(True) < 0.9 * error(False)


@pytest.mark.parametrize("landmarks", ["kmeans", "leverage"])
def test_chosen_landmarks_beat_random_ones(landmarks):
    random = np.random.default_rng(2)
    X = np.concatenate([random.normal(size=(400, 3)), random.normal(6, 0.3, size=(12, 3))])  # a small far cloud
    exact = rbf_kernel(X, gamma=0.3)

    def error(kind):
        maps = [NystroemFeatures(gamma=0.3, n_components=40, landmarks=kind, random_state=s) for s in range(8)]
        return np.mean([np.abs(Z @ Z.T - exact).max() for Z in (m.fit_transform(X) for m in maps)])

    assert error(landmarks) < error("random")


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


def test_nystroem_refuses_more_landmarks_than_rows(X):
    with pytest.raises(ValueError, match="n_components=81 is more than the 80 distinct rows"):
        NystroemFeatures(n_components=81).fit(X)


def test_orthogonal_needs_rbf(X):
    with pytest.raises(ValueError, match="kernel='rbf' only"):
        FourierFeatures(kernel="laplacian", orthogonal=True).fit(X)


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
