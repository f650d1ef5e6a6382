"""A fit on a Dask collection is the fit of one process, however the rows are partitioned."""

import warnings

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator

from collected import arrays, frame, large, model
from fbtwsvm import FBTWSVM, FBTWSVMCV
from fbtwsvm.batch.prepare import draw_sample, wanted_of_sample
from fbtwsvm.classifier import collected_rows, model_of, parameters_of
from fbtwsvm.features import FourierFeatures
from fbtwsvm.solver import choose, finish, newton
from fbtwsvm.solver.factors import gram_matrix
from helpers import Chunks, clouds, noisy_rows

N = 3000


@pytest.fixture(scope="module")
def rows():
    """Return 5,000 rows of three classes that overlap, in float64."""
    X, y = noisy_rows(N + 2000)
    return X.astype(np.float64), y


@pytest.fixture
def passes():
    """Let more than 400 rows be fitted in passes."""
    with large(400):
        yield


def distance(one, other, X, y, weights=None):
    """Return the largest ||u - v|| / ||v|| over all planes, in the norm of the problem, u'G_a u."""
    H = model_of(other).mapping.rows(X)
    weights, worst = np.ones(len(y)) if weights is None else weights, 0.0
    for a, label in enumerate(other.classes_):
        own = y == label
        G = gram_matrix(H[own], weights[own]) + other.reg * np.eye(H.shape[1])
        for b in np.flatnonzero(np.arange(len(other.classes_)) != a):
            u, v = one.planes_[a, b].astype(float), other.planes_[a, b].astype(float)
            worst = max(worst, np.sqrt((u - v) @ G @ (u - v) / (v @ G @ v)))
    return worst


problems = st.fixed_dictionaries(
    {
        "count": st.sampled_from([1, 3, 17]),
        "seed": st.integers(0, 1000),
        "n_classes": st.integers(2, 4),
        "weighted": st.booleans(),
        "membership": st.sampled_from(["fuzzy", "none", "printed"]),
    }
)


@settings(max_examples=12)
@given(problems)
def test_the_planes_are_those_of_one_process(problem):
    """At a sharp tolerance they are the solution, whichever way it is found."""
    X, y = clouds(1500, problem["n_classes"], n_columns=4, seed=problem["seed"], spread=2.0)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y)) if problem["weighted"] else None
    dX, dy, dw = arrays(problem["count"], X, y, np.ones(len(y)) if weights is None else weights, seed=problem["seed"])
    exact = model(membership=problem["membership"], tol=1e-10, max_iter=100_000)
    sharp = model(membership=problem["membership"], tol=1e-6)
    with large(400):
        exact.fit(X, y, weights)
        sharp.fit(dX, dy, None if weights is None else dw)
    assert sharp.n_passes_ > 5
    assert sharp.duality_gap_.max() <= 1e-6
    assert distance(sharp, exact, X, y, weights) <= 1e-4


@settings(max_examples=12)
@given(problems)
def test_the_answers_are_those_of_one_process(problem):
    """At the default tolerance, of a fit that reads the same rows from disk."""
    X, y = clouds(2500, problem["n_classes"], n_columns=4, seed=problem["seed"], spread=2.0)
    dX, dy = arrays(problem["count"], X[:1500], y[:1500], seed=problem["seed"])
    with large(400):
        local = model(membership=problem["membership"]).fit(Chunks(X[:1500], y[:1500], 400))
        spread = model(membership=problem["membership"]).fit(dX, dy)
    assert spread.duality_gap_.max() <= 1e-3
    assert (spread.predict(X[1500:]) == local.predict(X[1500:])).mean() >= 0.999
    assert distance(spread, local, X[:1500], y[:1500]) <= 0.01
    np.testing.assert_allclose(spread.n_support_, local.n_support_, atol=3)


@pytest.mark.parametrize("way", ["array", "chunks", "dask"])
def test_few_distinct_rows_of_which_many_are_on_the_margin(way, monkeypatch):
    """More rows lie on the margin than may be brought together: what Newton's method has found must not get lost."""
    monkeypatch.setattr(finish, "_MOST_ROWS", 500)
    random = np.random.default_rng(0)
    X = (random.random((30_000, 3)) < 0.5).astype(float)
    y = (random.random(30_000) < np.where(X[:, 0] > 0, 0.95, 0.05)).astype(int)
    found = FBTWSVM(kernel="linear", random_state=0)
    rows = {"array": (X, y), "chunks": (Chunks(X, y, 7000),), "dask": arrays(3, X, y)}[way]
    found.fit(*rows)
    assert found.duality_gap_.max() <= 1e-3
    assert found.score(X, y) > 0.94


def test_gaps_are_never_negative_where_memberships_depend_on_rounding(passes):
    """All rows are equally near to both means: the side that a row is on is a matter of rounding errors."""
    X, y = np.ones((1200, 5)), np.arange(1200) % 2
    for components in (30, "auto"):
        found = model(n_components=components, gamma=1.0).fit(*arrays(3, X, y))
        assert (found.duality_gap_ >= 0).all()


def test_calibration_rows_are_no_landmarks():
    """Also if most rows are in the sample that the map is fitted on."""
    starts = np.array([0, 12_500, 25_000])
    drawn = draw_sample(parameters_of(model(n_components=1500)), starts, 0)
    wanted = wanted_of_sample(starts, drawn, 0)
    assert len(drawn) == 20_000
    assert len(wanted) == 1024
    assert not np.isin(wanted, drawn).any()


@pytest.mark.parametrize("count", [1, 3, 17])
def test_a_few_rows_give_the_very_same_model(rows, count):
    X, y = rows[0][:900], rows[1][:900]
    dX, dy = arrays(count, X, y)
    local, spread = FBTWSVM().fit(X, y), FBTWSVM().fit(dX, dy)
    assert np.array_equal(local.planes_, spread.planes_)
    assert local.gamma_ == spread.gamma_
    assert spread.n_passes_ == 2
    assert not hasattr(local, "n_passes_")


def test_gamma_metric_size_and_landmarks_do_not_depend_on_the_partitions(rows, passes):
    """They are chosen on a sample, drawn by the numbers of the rows: the one that a fit in memory draws."""
    X, y = rows[0][:N], rows[1][:N]
    local = FBTWSVM(random_state=0).fit(X, y)
    for count in (1, 7):
        found = FBTWSVM(random_state=0).fit(*arrays(count, X, y))
        assert found.gamma_ == pytest.approx(local.gamma_, rel=1e-12)
        np.testing.assert_allclose(found.metric_, local.metric_, rtol=1e-9)
        assert found.n_components_ == local.n_components_
        np.testing.assert_array_equal(
            model_of(found).mapping.transformer.landmarks_, model_of(local).mapping.transformer.landmarks_
        )
        assert (found.predict(rows[0][N:]) == local.predict(rows[0][N:])).mean() > 0.99


@pytest.mark.parametrize("kernel", ["linear", "chi2", "intersection", "laplacian", "skewed_chi2"])
def test_kernels_with_a_scale_and_without(rows, passes, kernel):
    X, y = np.abs(rows[0][:N]), rows[1][:N]
    changes = {"kernel": kernel, "feature_map": "auto", "gamma": "scale", "tol": 1e-6}
    if kernel in ("laplacian", "skewed_chi2"):
        changes["feature_map"] = "fourier"
    local = model(**changes, max_iter=100_000).fit(X, y)
    spread = model(**changes).fit(*arrays(3, X, y))
    assert model_of(spread).mapping.scale == pytest.approx(model_of(local).mapping.scale, rel=1e-9)
    assert distance(spread, local, X, y) <= 3e-3  # the fit in memory stops at a gap of 1e-6


@pytest.mark.parametrize("class_weight", [None, "balanced", {"low": 3.0}])
def test_weights_and_class_weights(rows, passes, class_weight):
    X, y = rows[0][:N], rows[1][:N]
    weights = np.random.default_rng(0).uniform(0.2, 2.0, N) * (np.arange(N) % 7 > 0)  # some are zero
    changes = {"class_weight": class_weight, "gamma": "scale", "tol": 1e-6, "max_iter": 100_000}
    local, spread = model(**changes).fit(X, y, weights), model(**changes).fit(*arrays(5, X, y, weights))
    assert spread.gamma_ == pytest.approx(local.gamma_, rel=1e-9)
    np.testing.assert_allclose(spread.planes_, local.planes_, atol=2e-3 * np.abs(local.planes_).max())
    left_out = model(**changes).fit(*arrays(5, X[weights > 0], y[weights > 0], weights[weights > 0]))
    np.testing.assert_allclose(spread.planes_, left_out.planes_, atol=1e-6 * np.abs(local.planes_).max())


@pytest.mark.parametrize("known", [True, False])
def test_lengths_of_partitions_need_not_be_known(rows, passes, known):
    X, y = rows[0][:N], rows[1][:N]
    found = model().fit(*arrays(4, X, y, known=known))
    np.testing.assert_array_equal(found.planes_, model().fit(*arrays(4, X, y)).planes_)


def test_frames_with_names_and_labels_that_are_categories(rows, passes):
    X, y = rows[0][:N], rows[1][:N]
    table = frame(5, X, y)
    columns = [f"x{j}" for j in range(X.shape[1])]
    plain = model().fit(table[columns], table["y"])
    assert plain.feature_names_in_.tolist() == columns
    assert plain.classes_.tolist() == ["low", "mid", "top"]
    categories = model().fit(table[columns], table["y"].astype("category"))
    np.testing.assert_array_equal(plain.planes_, categories.planes_)
    np.testing.assert_array_equal(plain.planes_, model().fit(*arrays(5, X, y)).planes_)
    with pytest.raises(ValueError, match="feature names should match"):
        plain.predict(table[columns[::-1]]).compute()


def test_float32_stays_float32(rows, passes):
    X, y = rows[0][:N].astype(np.float32), rows[1][:N]
    found = model().fit(*arrays(3, X, y))
    assert found.planes_.dtype == np.float32
    assert found.duality_gap_.max() <= 1e-3
    mixed = model().fit(*arrays(3, X.astype(np.float16), y))
    assert mixed.planes_.dtype == np.float64


def test_classes_that_are_in_one_partition_only(passes):
    """Rows sorted by class: every partition holds one class, and one class a single row."""
    X, y = clouds(1200, 4, n_columns=3, seed=2, spread=2.0)
    order = np.argsort(y, kind="stable")
    X, y = X[order], np.array(["a", "b", "c", "d", "single"])[y[order]]
    y[-1] = "single"
    found = model(tol=1e-6).fit(*arrays(17, X, y))
    local = model(tol=1e-10, max_iter=100_000).fit(X, y)
    assert found.classes_.tolist() == ["a", "b", "c", "d", "single"]
    assert distance(found, local, X, y) <= 1e-4


def test_sparse_partitions(rows, passes):
    sp = pytest.importorskip("scipy.sparse")
    X, y = np.maximum(rows[0][:N], 0.0), rows[1][:N]
    dX, dy = arrays(3, X, y)
    found = model(gamma="scale").fit(dX.map_blocks(sp.csr_matrix), dy)
    np.testing.assert_allclose(found.planes_, model(gamma="scale").fit(dX, dy).planes_, atol=1e-6)
    assert np.array_equal(found.predict(dX.map_blocks(sp.csr_matrix)).compute(), found.predict(X))


@pytest.mark.parametrize("frozen", [False, True])
def test_maps_of_users(rows, passes, frozen):
    X, y = rows[0][:N], rows[1][:N]
    feature_map = (
        FrozenEstimator(FourierFeatures(gamma=0.2, n_components=30, random_state=1).fit(X)) if frozen else PCA(3)
    )
    found = FBTWSVM(feature_map=feature_map, random_state=0).fit(*arrays(3, X, y))
    assert found.n_components_ == (30 if frozen else 3)
    assert found.score(rows[0][N:], rows[1][N:]) > 0.5


def test_a_sharp_tolerance_is_reached_when_few_rows_may_be_brought_together(rows, passes, monkeypatch):
    monkeypatch.setattr(finish, "_MOST_ROWS", 300)
    X, y = rows[0][:N], rows[1][:N]
    found = model(tol=1e-6).fit(*arrays(3, X, y))
    assert found.duality_gap_.max() <= 1e-6
    assert distance(found, model(tol=1e-10, max_iter=100_000).fit(X, y), X, y) <= 3e-3


def test_planes_that_share_passes_and_planes_that_do_not(rows, passes, monkeypatch):
    """With many features and classes, the Hessians of all planes do not fit: groups of planes have their own passes."""
    X, y = rows[0][:N], rows[1][:N]
    monkeypatch.setattr(choose, "_ROWS_OF_COLUMN", 0)  # all planes by Newton's method
    together = model().fit(*arrays(3, X, y))
    monkeypatch.setattr(newton, "_MOST_PRODUCTS", 2 * 8 * 41**2)
    apart = model().fit(*arrays(3, X, y))
    assert apart.n_passes_ > together.n_passes_
    np.testing.assert_allclose(apart.planes_, together.planes_, atol=1e-9)


@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_never_more_passes_than_documented(rows, passes, tol):
    """See docs/benchmarks/performance.md."""
    X, y = rows[0][:N], rows[1][:N]
    for changes in ({}, {"kernel": "linear", "feature_map": "auto"}, {"membership": "none"}):
        found = model(**changes, tol=tol).fit(*arrays(4, X, y))
        assert found.n_passes_ <= 7 + newton.FEW_STEPS + 2 * finish.MOST_ROUNDS + 3


def test_partitions_are_read_once_in_each_pass_and_empty_ones_only_once(rows, passes):
    X, y = rows[0][:N], rows[1][:N]
    dX, dy = arrays(3, X, y)
    read = []

    def reading(block):
        read.append(len(block))
        return block

    found = model().fit(dX.map_blocks(reading, meta=np.empty((0, 4))), dy)
    assert len(read) == 3 + 2 * (found.n_passes_ - 1)


def test_rows_that_change_between_passes_are_refused(rows, passes):
    X, y = rows[0][:N], rows[1][:N]
    dX, dy = arrays(3, X, y)
    random = np.random.default_rng(0)
    shuffled = dy.map_blocks(lambda block: random.choice(block, len(block)) if len(block) else block, dtype=dy.dtype)
    with pytest.raises(RuntimeError, match="Persist"):
        model().fit(dX, shuffled)


def test_partial_fit_merge_and_unlearn_go_on_from_it(rows, passes):
    X, y = rows[0][:N], rows[1][:N]
    found = model().fit(*arrays(3, X, y))
    assert found.inspect().seen == N
    before = found.predict_proba(X[:50])
    found.partial_fit(X[:1], y[:1])
    assert found.inspect().seen == N + 1
    np.testing.assert_allclose(found.predict_proba(X[:50]), before, atol=0.1)
    other = model().fit(*arrays(2, rows[0][N:], rows[1][N:]))
    assert found.merge(other).inspect().seen == N + 1 + 2000
    assert found.unlearn(X[:5], y[:5]).removed == 5


def test_a_search_splits_the_sample_in_the_order_of_the_collection():
    X, y = clouds(3000, 2, n_columns=3, seed=1)
    rows, _ = collected_rows(model(class_weight="balanced"), *arrays(5, X, y), None)
    numbers = np.sort(np.random.default_rng(0).choice(3000, 700, replace=False))
    found, labels, weights = rows.in_order(numbers, "sample")
    places = np.flatnonzero((X[:, None, 0] == found[None, :, 0]).any(axis=1))
    np.testing.assert_array_equal(found, X[places])
    np.testing.assert_array_equal(labels, y[places])
    np.testing.assert_allclose(weights, 1.0)


@pytest.mark.parametrize("many", [False, True])
def test_a_search_on_a_sample_and_a_fit_on_all_rows(rows, many):
    X, y = rows[0][:N], rows[1][:N]
    search = FBTWSVMCV(model(), gamma=None, C=[0.5, 2.0], reg=None, membership=None, sample=600, random_state=0)
    with large(400 if many else 10_000):
        search.fit(*arrays(3, X, y))
    assert search.best_params_["C"] in (0.5, 2.0)
    assert search.best_estimator_.inspect().seen == N
    assert search.n_features_in_ == 4
    dX, dy = arrays(3, rows[0][N:], rows[1][N:])
    assert search.score(dX, dy) == pytest.approx(search.score(rows[0][N:], rows[1][N:]))


def test_a_search_on_few_rows_is_that_of_one_process(rows):
    X, y = rows[0][:600], rows[1][:600]
    search = {"gamma": [0.1, 0.4], "C": [0.5, 2.0], "reg": None, "random_state": 0}
    local, spread = FBTWSVMCV(model(), **search).fit(X, y), FBTWSVMCV(model(), **search).fit(*arrays(3, X, y))
    assert np.array_equal(local.cv_results_["mean_test_score"], spread.cv_results_["mean_test_score"])
    assert np.array_equal(local.best_estimator_.planes_, spread.best_estimator_.planes_)


def test_passes_have_readable_names(rows, passes, caplog):
    X, y = rows[0][:N], rows[1][:N]
    keys = []
    with caplog.at_level("INFO", logger="fbtwsvm"), dask.callbacks.Callback(pretask=lambda key, *_: keys.append(key)):
        found = model().fit(*arrays(2, X, y))
    names = {dask.utils.key_split(key) for key in keys}
    assert {"fbtwsvm-check", "fbtwsvm-sample", "fbtwsvm-sums-of-the-classes", "fbtwsvm-Newton-step"} <= names
    assert f"{found.n_passes_} passes over the rows" in caplog.text
    assert "pass 3 over the rows: sums of the classes" in caplog.text


def test_columns_of_unequal_scale_are_warned_of(rows, passes):
    X, y = rows[0][:N] * [1.0, 1.0, 1.0, 1e6], rows[1][:N]
    with pytest.warns(UserWarning, match="of a frame X.map_partitions"):
        model(gamma="scale").fit(*arrays(2, X, y))


def test_columns_in_several_blocks(rows, passes):
    X, y = rows[0][:N], rows[1][:N]
    dX, dy = arrays(3, X, y)
    np.testing.assert_array_equal(model().fit(dX.rechunk({1: 2}), dy).planes_, model().fit(dX, dy).planes_)


def test_labels_with_other_chunks_and_labels_in_memory(rows, passes):
    X, y = rows[0][:N], rows[1][:N]
    dX, dy = arrays(3, X, y)
    planes = model().fit(dX, dy).planes_
    np.testing.assert_array_equal(model().fit(dX, dy.rechunk(500)).planes_, planes)
    np.testing.assert_array_equal(model().fit(dX, y).planes_, planes)
    np.testing.assert_array_equal(model().fit(dX, y.tolist(), np.ones(N)).planes_, planes)


def test_no_warnings_from_a_fit(rows, passes):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model().fit(*arrays(3, rows[0][:N], rows[1][:N]))


def test_labels_of_a_parquet_file_have_the_partitions_of_its_rows(tmp_path):
    """Dask reads more files at once where only one column of them is wanted."""
    X, y = noisy_rows(2000)
    names = [f"column {j}" for j in range(X.shape[1])]
    pd.DataFrame(X, columns=names).assign(label=y).to_parquet(tmp_path / "rows.parquet")
    whole = dd.read_parquet(tmp_path / "rows.parquet").repartition(npartitions=1)
    whole.repartition(npartitions=7).to_parquet(tmp_path / "parts")
    collection = dd.read_parquet(tmp_path / "parts")
    assert collection["label"].optimize().npartitions < collection.npartitions  # or this tests nothing
    rows, labels = collection[names], collection["label"]
    found = model().fit(rows, labels)
    expected = model().fit(rows.compute(), labels.compute())
    assert found.score(rows, labels) == expected.score(rows.compute(), labels.compute()) > 0.6
