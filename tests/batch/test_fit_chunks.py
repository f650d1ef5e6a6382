"""fit on chunks and on rows that are mapped tile by tile."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_info

from fbtwsvm import FBTWSVM
from fbtwsvm.batch.row_homes import UnmappedHome
from fbtwsvm.classifier import model_of
from fbtwsvm.features import NystroemFeatures
from fbtwsvm.model.choose_map import auto_components
from fbtwsvm.model.mapping import Mapping
from helpers import Chunks, noisy_rows

N = 5000


@pytest.fixture(scope="module")
def rows():
    """Return 7,000 rows of three classes that overlap."""
    return noisy_rows(N + 2000)


@pytest.fixture(autouse=True)
def few_rows(monkeypatch):
    """So many rows, of chunks, are no longer learned as one array."""
    monkeypatch.setattr("fbtwsvm.classifier.LARGE", 3000)


def model(**changes):
    return FBTWSVM(**{"feature_map": "fourier", "n_components": 80, "gamma": 0.3, "random_state": 0} | changes)


@pytest.mark.parametrize("membership", ["fuzzy", "none", "printed"])
def test_chunks_give_the_planes_of_the_array(rows, membership):
    X, y = rows
    whole = model(membership=membership).fit(X[:N], y[:N])
    parts = model(membership=membership).fit(Chunks(X[:N], y[:N]))
    assert parts.duality_gap_.max() <= 1e-3
    assert whole.duality_gap_.max() <= 1e-3
    assert (parts.predict(X[N:]) == whole.predict(X[N:])).mean() > 0.985
    assert parts.score(X[N:], y[N:]) == pytest.approx(whole.score(X[N:], y[N:]), abs=0.01)
    assert parts.classes_.tolist() == ["low", "mid", "top"]
    shared = np.intersect1d(parts.support_, whole.support_)
    assert len(shared) > 0.9 * len(whole.support_)
    assert parts.n_support_.sum() == len(parts.support_)


def test_the_planes_are_solved_for_all_rows(rows):
    """The certificate is checked from outside: primal less dual at the planes that come back."""
    X, y = rows
    parts = model(membership="none", decision="value").fit(Chunks(X[:N], y[:N]))
    H = model_of(parts).mapping.rows(X[:N]).astype(np.float64)
    a, b = H[y[:N] == "low"], H[y[:N] == "mid"]
    gram = a.T @ a + 0.01 * np.eye(H.shape[1])
    u = parts.planes_[0, 1].astype(np.float64)
    primal = 0.5 * u @ gram @ u + np.maximum(0.0, 1.0 + b @ u).sum()
    # The best plane is no more than the gap below: an independent descent from here finds nothing better.
    from scipy.optimize import minimize

    def smooth(v, width=1e-3):
        x = 1.0 + b @ v
        inside = np.clip((x + width / 2) / width, 0.0, 1.0)
        loss = np.where(x > width / 2, x, width / 2 * inside**2)
        return 0.5 * v @ gram @ v + loss.sum(), gram @ v + b.T @ inside

    better = minimize(smooth, u, jac=True, method="L-BFGS-B", options={"maxiter": 2000}).fun
    assert primal - better <= 1.5e-3 * len(b)


def test_few_chunks_are_one_array(rows):
    X, y = rows
    whole, parts = model().fit(X[:3000], y[:3000]), model().fit([(X[:2000], y[:2000]), (X[2000:3000], y[2000:3000])])
    assert (whole.planes_ == parts.planes_).all()


def test_rows_whose_mapped_form_is_too_large_are_mapped_in_tiles(rows, monkeypatch, tmp_path):
    X, y = rows
    place = np.memmap(tmp_path / "rows", dtype=np.float32, mode="w+", shape=(N, 4))
    place[:] = X[:N]
    place.flush()
    read_only = np.memmap(tmp_path / "rows", dtype=np.float32, mode="r", shape=(N, 4))
    monkeypatch.setattr("fbtwsvm.batch.prepare.LARGE", 1000)  # both choose on the same sample
    whole = model().fit(read_only, y[:N])
    monkeypatch.setattr("fbtwsvm.batch.fit._MOST_MAPPED", 400_000)
    monkeypatch.setattr("fbtwsvm.solver.finish._MOST_ROWS", 1000)  # rows near the margin that are brought together
    monkeypatch.setattr(UnmappedHome, "tile", 512)
    largest = []
    seen = Mapping.rows

    def watched(self, X, index=None, threads=None):
        largest.append(len(X if index is None else index))
        return seen(self, X, index, threads)

    monkeypatch.setattr(Mapping, "rows", watched)
    tiled = model().fit(read_only, y[:N])
    assert max(largest) <= 3 * 1024  # the sample that first planes are solved on
    assert tiled.duality_gap_.max() <= 1e-3
    assert (tiled.predict(X[N:]) == whole.predict(X[N:])).mean() > 0.985


@pytest.mark.slow
def test_nystroem_gamma_and_size_are_chosen_on_chunks_too(rows):
    X, y = rows
    parts = FBTWSVM(random_state=0).fit(Chunks(X[:N], y[:N]))
    assert parts.score(X[N:], y[N:]) > 0.82
    assert parts.n_components_ >= auto_components(N, 4)
    assert parts.gamma_ > 0


def test_the_same_for_every_number_of_threads(rows, monkeypatch):
    monkeypatch.setattr("fbtwsvm.batch.row_homes._PIECE", 1024)  # so that there is work for several threads
    monkeypatch.setattr(UnmappedHome, "tile", 512)
    X, y = rows
    one, two = (model(n_jobs=n).fit(Chunks(X[:N], y[:N])) for n in (1, 2))
    assert (one.planes_ == two.planes_).all()


def test_an_iterator_is_refused_and_pointed_to_partial_fit(rows):
    X, y = rows
    fitted = model().fit(X[:500], y[:500])
    planes = fitted.planes_
    with pytest.raises(ValueError, match="partial_fit"):
        fitted.fit(iter(Chunks(X, y)))
    assert fitted.planes_ is planes


@pytest.mark.parametrize(
    ("chunks", "message"),
    [
        (lambda X, y: [(X[:10], y[:10]), (X[:10, :2], y[:10])], "X has 2 features"),
        (lambda X, y: [(X[:10], y[:10]), (X[:10], y[:9])], "inconsistent"),
        (lambda X, y: [(X[:10], y[:10]), X[:10]], "Chunk 1 is not a pair"),
        (lambda X, y: [(X[:10] * np.nan, y[:10])], "NaN"),
        (lambda X, y: [(X[:10], y[:10]), (X[:10], np.arange(10))], "one kind"),
        (lambda X, y: [(X[:10], np.repeat("a", 10))], "class"),
    ],
)
def test_bad_chunks_leave_the_model_as_it_was(rows, chunks, message):
    X, y = rows
    fitted = model().fit(X[:500], y[:500])
    planes = fitted.planes_
    with pytest.raises(ValueError, match=message):
        fitted.fit(chunks(X, y))
    assert fitted.planes_ is planes


def test_weights_beside_chunks_are_refused(rows):
    X, y = rows
    with pytest.raises(ValueError, match="class_weight"):
        model().fit(Chunks(X, y), sample_weight=np.ones(len(X)))


def test_partial_fit_goes_on_from_chunks(rows):
    X, y = rows
    fitted = model().fit(Chunks(X[:N], y[:N]))
    assert fitted.inspect().seen == N
    before = fitted.predict_proba(X[:50])
    fitted.partial_fit(X[:1], y[:1])
    assert fitted.inspect().seen == N + 1
    np.testing.assert_allclose(fitted.predict_proba(X[:50]), before, atol=0.1)


def test_maps_of_users_and_classes_of_one_row(rows):
    X, y = rows
    y = y[:N].astype(object)
    y[17] = "only"
    for feature_map in (PCA(2), NystroemFeatures(gamma=0.1)):
        fitted = FBTWSVM(feature_map=feature_map, random_state=0).fit(Chunks(X[:N], y))
        assert fitted.classes_.tolist() == ["low", "mid", "only", "top"]
        assert fitted.predict(X[N:]).shape == (2000,)


def test_the_exact_kernel_needs_all_rows(rows):
    X, y = rows
    with pytest.raises(ValueError, match="one array"):
        FBTWSVM(feature_map="exact", gamma=1.0).fit(Chunks(X[:N], y[:N]))


def test_predicting_in_many_threads_leaves_the_threads_of_blas_alone(rows):
    X, y = rows
    fitted = model().fit(X[:500], y[:500])
    before = [pool["num_threads"] for pool in threadpool_info()]
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: model().fit(X[:600], y[:600]).predict(X[:9000]), range(8)))
        list(pool.map(lambda _: fitted.predict(X[:9000]), range(20)))
    assert [pool["num_threads"] for pool in threadpool_info()] == before
