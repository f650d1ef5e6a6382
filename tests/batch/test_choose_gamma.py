"""gamma="auto": the kernel that classifies held-out rows best, whatever the order of the rows."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import config_context
from sklearn.datasets import make_blobs, make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fbtwsvm import FBTWSVM


def test_the_search_finds_the_width_and_says_so(capsys):
    """Ten stripes need a width far from "scale"."""
    random = np.random.default_rng(0)
    X = random.uniform(0, 10, size=(1200, 2))
    y = (X[:, 0].astype(int) % 2).astype(int)
    model = FBTWSVM(verbose=1).fit(X[:800], y[:800])
    assert model.score(X[800:], y[800:]) > FBTWSVM(gamma="scale").fit(X[:800], y[:800]).score(X[800:], y[800:]) + 0.1
    assert f"{model.gamma_:.6g}" in capsys.readouterr().out


def test_very_many_classes(monkeypatch):
    monkeypatch.setattr("fbtwsvm.batch.trial_rows._MOST_CLASSES", 20)
    X, y = make_blobs(400, centers=40, n_features=4, cluster_std=0.2, random_state=0)
    for copies in (1, 6):  # small and large data
        rows, labels = np.tile(X, (copies, 1)), np.tile(y, copies)
        rows = rows + np.random.default_rng(0).normal(0, 0.05, rows.shape)
        model = FBTWSVM(random_state=0, n_components="auto" if copies == 1 else 200).fit(rows, labels)
        assert model.score(X, y) > 0.9


def clusters(n=2400):
    """Return rows of two classes in 100 clusters each, and their clusters."""
    random = np.random.default_rng(0)
    cluster = random.integers(200, size=n)
    X = random.normal(0, 1.0, size=(200, 6))[cluster] + random.normal(0, 0.1, size=(n, 6))
    y = cluster % 2
    X[:, 0] += 2.5 * y
    return X, y, cluster


ORDERS = {
    "given": lambda X, y: np.arange(len(y)),
    "by class": lambda X, y: np.argsort(y, kind="stable"),
    "by column": lambda X, y: np.argsort(X[:, 1]),
    "by column, downwards": lambda X, y: np.argsort(-X[:, 1]),
    "by a sum of columns": lambda X, y: np.argsort(X.sum(axis=1)),
}


@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_the_rows_does_not_matter(order):
    X, y, _ = clusters()
    order = ORDERS[order](X, y)
    random = np.random.default_rng(0).permutation(len(y))
    gammas = [FBTWSVM(random_state=0, n_components=50).fit(X[rows], y[rows]).gamma_ for rows in (random, order)]
    assert 0.2 < gammas[1] / gammas[0] < 5.0


def test_rows_that_come_cluster_by_cluster_get_a_wider_kernel_and_a_line_in_the_log(caplog):
    """A narrow kernel knows the clusters; rows of new clusters want a wide one."""
    caplog.set_level("INFO", logger="fbtwsvm")
    X, y, cluster = clusters()
    order = np.argsort(cluster, kind="stable")
    mixed = FBTWSVM(random_state=0, n_components=50).fit(X, y).gamma_
    assert "neighbouring rows are alike" not in caplog.text
    in_order = FBTWSVM(random_state=0, n_components=50).fit(X[order], y[order]).gamma_
    assert in_order < mixed
    assert "neighbouring rows are alike" in caplog.text


@pytest.mark.parametrize("n", [1200, 2400])
def test_groups_decide(n):
    X, y, cluster = clusters(n)
    model = FBTWSVM(random_state=0, n_components=50)
    alone = model.fit(X, y).gamma_
    assert model.fit(X, y, groups=cluster).gamma_ < alone
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, y, groups=cluster[:-1])
    with pytest.raises(ValueError, match="one group only"):
        model.fit(X, y, groups=np.zeros(n))
    assert model.gamma_ < alone  # a call that fails changes nothing


@pytest.mark.parametrize("n", [1200, 2400])
def test_groups_that_tell_nothing_say_so(n, caplog):
    """Each class in one group, or a second group that the sample does not see."""
    X, y, _ = clusters(n)
    model = FBTWSVM(random_state=0, n_components=50)
    alone = model.fit(X, y).gamma_
    assert model.fit(X, y, groups=y).gamma_ == alone
    assert "no class is in several groups" in caplog.text
    X, y = np.tile(X, (5, 1)), np.tile(y, 5)
    X = X + np.random.default_rng(0).normal(0, 0.05, X.shape)
    alone = model.fit(X, y).gamma_
    assert model.fit(X, y, groups=np.arange(len(y)) == 5).gamma_ == alone


def test_groups_of_equal_rows_do_not_depend_on_their_order():
    X, y, _ = clusters(100)
    X, y, groups = np.tile(X, (3, 1)), np.tile(y, 3), np.random.default_rng(0).integers(4, size=300)
    gammas = set()
    for seed in range(4):
        order = np.random.default_rng(seed).permutation(300)
        gammas.add(FBTWSVM().fit(X[order], y[order], groups=groups[order]).gamma_)
    assert len(gammas) == 1


def test_copies_of_rows_are_held_out_together():
    """A rare class is filled up with copies of its rows: found again from each other, they would like any kernel."""
    X, y = make_classification(
        4000, 8, n_informative=4, n_redundant=0, class_sep=0.6, weights=[0.93], flip_y=0.05, random_state=1
    )
    rare = np.flatnonzero(y == 1)
    more = np.random.default_rng(0).choice(rare, (y == 0).sum() - len(rare))
    X, y = np.concatenate([X, X[more]]), np.concatenate([y, y[more]])
    auto, scale = (
        FBTWSVM(random_state=0, n_components=50, gamma=gamma).fit(X, y).gamma_ for gamma in ("auto", "scale")
    )
    assert auto < 0.5 * scale  # 12 points of balanced accuracy better than scale


def test_groups_reach_the_model_through_metadata_routing():
    X, y, cluster = clusters(600)
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(StandardScaler(), FBTWSVM(random_state=0).set_fit_request(groups=True))
        with_groups = pipeline.fit(X, y, groups=cluster)[-1].gamma_
    assert with_groups < make_pipeline(StandardScaler(), FBTWSVM(random_state=0)).fit(X, y)[-1].gamma_


def test_chunks_have_no_groups():
    X, y, cluster = clusters(600)
    with pytest.raises(ValueError, match="beside chunks"):
        FBTWSVM().fit([(X, y)], groups=cluster)


def test_the_choice_is_near_the_best_gamma_of_the_planes():
    """Judged by the planes themselves, on new rows, the choice loses less than a point on average."""
    behind = []
    for seed in range(3):
        random = np.random.default_rng(seed)
        X = random.normal(size=(3000, 4))
        y = (np.sin(2.0 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + random.normal(0, 0.3, size=3000) > 0.5).astype(int)

        def score(gamma, X=X, y=y):
            return FBTWSVM(gamma=gamma, random_state=0).fit(X[:1000], y[:1000]).score(X[1000:], y[1000:])

        scores = [score(gamma) for gamma in (0.25 * 2.0 ** np.arange(-4, 5)).tolist()]
        assert max(scores) - min(scores) > 0.05  # the choice matters
        behind.append(max(scores) - score("auto"))
    assert np.mean(behind) < 0.01


def test_sparse_rows_of_very_many_columns_are_not_made_dense():
    random = np.random.default_rng(0)
    y = random.integers(2, size=2500)
    places = random.integers(50_000, size=(2500, 20)) + 50_000 * y[:, None] * (random.uniform(size=(2500, 20)) < 0.7)
    X = sp.csr_array((np.ones(50_000), places.ravel(), np.arange(0, 50_001, 20)), shape=(2500, 100_000))
    model = FBTWSVM(random_state=0, n_components=50)
    tracemalloc.start()
    model.fit(X, y)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 100 * 2**20  # the rows of the sample, made dense, would take 960 MB
