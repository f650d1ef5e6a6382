"""A metric on a stream: learned at the end of the warm-up, kept, saved, forgotten and merged."""

import pickle
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from fbtwsvm import FBTWSVM, FBTWSVMCV
from fbtwsvm.classifier import model_of
from fbtwsvm.features import NystroemFeatures
from fbtwsvm.model.mapping import Mapping
from fbtwsvm.model.new_map import columns_change, new_kernel
from fbtwsvm.model.standard_columns import StandardColumns
from fbtwsvm.online.drift import HoeffdingDrift
from fbtwsvm.online.newest import NewestRows
from fbtwsvm.river import RiverFBTWSVM
from helpers import assert_same_answers, stream

GIVEN = [2.0, 1.0, 0.1, 0.0]


def rows(n, n_noise=8, seed=0):
    """Return rows of which two columns tell the class, and others nothing."""
    X = np.random.default_rng(seed).normal(size=(n, 2 + n_noise))
    return X, (X[:, 0] * X[:, 1] > 0).astype(int)


@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_a_metric_is_learned_at_the_end_of_the_warm_up(decay):
    X, y = rows(3000)
    models = [FBTWSVM(decay=decay, random_state=0, metric=metric) for metric in ("none", "auto")]
    plain, model = (stream(model, X[:2000], y[:2000], 100) for model in models)
    assert model.n_rounds_ >= 1
    assert model.metric_[:2].min() > 3.0 * model.metric_[2:].max()
    assert plain.n_rounds_ == 0
    assert model.score(X[2000:], y[2000:]) > plain.score(X[2000:], y[2000:]) + 0.02


def test_there_is_no_metric_before_the_warm_up_ends():
    X, y = rows(600)
    model = stream(FBTWSVM(random_state=0), X[:400], y[:400], 100)
    assert model.n_rounds_ == 0
    np.testing.assert_array_equal(model.metric_, 1.0)
    assert stream(model, X[400:], y[400:], 100).n_rounds_ >= 1


@pytest.mark.parametrize("sizes", [(1,), (7, 100), (250,)])
def test_the_metric_does_not_depend_on_chunks(sizes):
    X, y = rows(700)
    whole, parts = FBTWSVM(random_state=0).partial_fit(X, y), FBTWSVM(random_state=0)
    done = 0
    while done < len(y):
        for size in sizes:
            if done < len(y):
                parts.partial_fit(X[done : done + size], y[done : done + size])
            done += size
    assert whole.n_rounds_ >= 1
    np.testing.assert_array_equal(parts.metric_, whole.metric_)
    assert parts.gamma_ == whole.gamma_


def test_a_stream_of_one_class_at_first_has_no_metric():
    X, y = rows(700)
    model = FBTWSVM(random_state=0, metric="columns").partial_fit(X[:550], np.zeros(550, dtype=int))
    np.testing.assert_array_equal(model.partial_fit(X[550:], y[550:]).metric_, 1.0)


def test_a_given_metric_is_that_of_multiplied_columns():
    X, y = rows(900, 2)
    for options in ({}, {"feature_map": "fourier", "n_components": 40}):
        options |= {"gamma": 0.2, "random_state": 0, "warm_up": 200}
        own = stream(FBTWSVM(metric=GIVEN, **options), X, y, 50)
        plain = stream(FBTWSVM(metric="none", **options), X * GIVEN, y, 50)
        np.testing.assert_allclose(own.predict_proba(X), plain.predict_proba(X * GIVEN), atol=1e-6)


def test_new_landmarks_are_rows_as_they_were_given():
    """The rows move far away, so that the landmarks are renewed; the factors stay."""
    X, y = rows(2000, 2)
    X[1000:] += [4.0, -4.0, 0.0, 0.0]
    model = FBTWSVM(gamma=0.2, metric=GIVEN, warm_up=200, n_components=100, random_state=0)
    plain = FBTWSVM(gamma=0.2, metric="none", warm_up=200, n_components=100, random_state=0)
    first = model_of(stream(model, X[:900], y[:900], 50)).mapping.transformer.landmarks_
    stream(model, X[900:], y[900:], 50)
    landmarks = model_of(model).mapping.transformer.landmarks_
    assert not np.array_equal(first, landmarks)
    keys = {row.tobytes() for row in X}
    assert all(row.tobytes() in keys for row in landmarks)
    stream(plain, X * GIVEN, y, 50)
    assert np.mean(model.predict(X) == plain.predict(X * GIVEN)) > 0.99
    np.testing.assert_array_equal(model.metric_, GIVEN)


@pytest.mark.parametrize("n", [900, 2600])
def test_a_fit_goes_on_with_its_metric(n):
    """Also where the exact kernel becomes landmarks."""
    X, y = rows(n)
    model = FBTWSVM(random_state=0).fit(X, y)
    metric, gamma, rounds = model.metric_, model.gamma_, model.n_rounds_
    assert rounds >= 1
    model.partial_fit(*rows(100, seed=1))
    np.testing.assert_array_equal(model.metric_, metric)
    assert (model.gamma_, model.n_rounds_) == (gamma, rounds)


@pytest.mark.parametrize("n", [900, 2600])
def test_unlearn_names_the_metric(n):
    X, y = rows(n)
    model = FBTWSVM(random_state=0).fit(X, y)
    metric = model.metric_
    result = model.unlearn(X[:3], y[:3])
    assert result.remaining["metric"] == [0, 1, 2]
    assert "metric='none'" in str(result)
    np.testing.assert_array_equal(model.metric_, metric)
    given = FBTWSVM(random_state=0, gamma=model.gamma_, metric=metric).fit(X, y)
    assert "metric" not in given.unlearn(X[:3], y[:3]).remaining


def test_unlearn_on_a_stream_names_the_metric_for_rows_of_the_warm_up():
    X, y = rows(700)
    model = stream(FBTWSVM(random_state=0), X, y, 100, ids=np.arange(700))
    result = model.unlearn(X[[10, 600]], y[[10, 600]], ids=[10, 600])
    assert result.remaining["metric"] == [0]


def test_models_with_different_metrics_are_not_merged():
    X, y = rows(600, 2)
    options = {"gamma": 0.2, "feature_map": "fourier", "n_components": 30, "random_state": 0, "warm_up": 100}
    one = FBTWSVM(metric=GIVEN, **options).partial_fit(X[:300], y[:300])
    same = FBTWSVM(metric=np.array(GIVEN), **options).partial_fit(X[300:], y[300:])
    other = FBTWSVM(metric="none", **options).partial_fit(X[300:], y[300:])
    before = pickle.dumps(one)
    with pytest.raises(ValueError, match=r"different metrics.*metric=first.metric_"):
        one.merge(other)
    assert pickle.dumps(one) == before
    assert one.merge(same).inspect().seen == 600


@pytest.mark.parametrize("kind", [list, tuple, np.array, pd.Series])
def test_a_given_metric_of_any_kind_goes_on_after_a_fit(kind):
    X, y = rows(600, 2)
    for options in ({}, {"n_components": 40}):
        model = FBTWSVM(gamma=0.2, metric=kind(GIVEN), random_state=0, **options).fit(X[:300], y[:300])
        assert model.partial_fit(X[300:], y[300:]).inspect().seen == 600
    with pytest.raises(ValueError, match="metric was"):
        FBTWSVM(gamma=0.2, metric=kind(GIVEN)).fit(X, y).set_params(metric=np.ones(4)).partial_fit(X, y)


@pytest.mark.parametrize("options", [{}, {"feature_map": "fourier", "n_components": 100}])
def test_unlearn_names_a_metric_that_was_learned_with_a_given_gamma(options):
    X, y = rows(500)
    model = FBTWSVM(gamma=0.2, metric="columns", random_state=0, **options)
    assert set(model.fit(X, y).unlearn(X[:2], y[:2]).remaining) == {"metric"}
    model = FBTWSVM(gamma=0.2, metric="columns", warm_up=200, random_state=0, **options)
    assert model.partial_fit(X, y).unlearn(X[:2], y[:2]).remaining["metric"] == [0, 1]


def test_unlearn_names_a_metric_that_a_search_has_learned():
    X, y = rows(600)
    best = FBTWSVMCV(gamma=3, C=[1.0], reg=[0.01], membership=None).fit(X, y).best_estimator_
    assert best.n_rounds_ > 0
    assert "metric" in best.unlearn(X[:1], y[:1]).remaining


def test_a_provisional_model_learns_no_metric():
    X, y = rows(600)
    assert FBTWSVM(metric="columns").partial_fit(X[:200], y[:200]).n_rounds_ == 0


def test_a_metric_cannot_change_on_a_stream():
    X, y = rows(600, 2)
    model = FBTWSVM(gamma=0.2, metric=GIVEN, warm_up=100).partial_fit(X[:300], y[:300])
    model.set_params(metric=np.array(GIVEN)).partial_fit(X[300:310], y[300:310])  # the same one
    with pytest.raises(ValueError, match="metric was"):
        model.set_params(metric="none").partial_fit(X[310:320], y[310:320])


def test_sparse_rows():
    X, y = rows(900)
    model = stream(FBTWSVM(random_state=0), sp.csr_matrix(X), y, 100)
    dense = stream(FBTWSVM(random_state=0), X, y, 100)
    assert model.n_rounds_ >= 1
    np.testing.assert_allclose(model.metric_, dense.metric_, rtol=1e-6)
    assert np.mean(model.predict(sp.csr_matrix(X)) == dense.predict(X)) > 0.99


def test_river():
    X, y = rows(700)
    model = RiverFBTWSVM(FBTWSVM(random_state=0, warm_up=400))
    for x, label in zip(X, y, strict=True):
        model.learn_one(dict(enumerate(x)), label)
    plain = FBTWSVM(random_state=0, warm_up=400).partial_fit(X, y)
    assert plain.n_rounds_ >= 1
    assert [model.predict_one(dict(enumerate(x))) for x in X[:50]] == plain.predict(X[:50]).tolist()


def test_copies_and_pickles_keep_the_metric():
    X, y = rows(900)
    for model in (FBTWSVM().fit(X, y), stream(FBTWSVM(random_state=0), X, y, 100)):
        again = pickle.loads(pickle.dumps(model))
        assert_same_answers(again, model, X)
        np.testing.assert_array_equal(again.metric_, model.metric_)


def changing(n, changes, n_noise=8, seed=0):
    """Return rows of which two columns tell the class, other ones after each change."""
    X = np.random.default_rng(seed).normal(size=(n, 2 + n_noise))
    first = 2 * np.searchsorted(changes, np.arange(n), side="right")
    row = np.arange(n)
    return X, (X[row, first] * X[row, first + 1] > 0).astype(int)


@pytest.mark.parametrize("detector", [None, HoeffdingDrift()], ids=["committee", "a detector of the user"])
def test_a_metric_is_learned_again_when_other_columns_matter(detector):
    X, y = changing(5000, [2000])
    decay = 1.0 if detector else "auto"
    options = {"random_state": 0, "n_components": 150, "drift_detector": detector}
    model = stream(FBTWSVM(decay=decay, **options), X[:1900], y[:1900], 50)
    assert set(np.argsort(-model.metric_)[:2]) == {0, 1}
    stream(model, X[1900:4000], y[1900:4000], 50)
    assert set(np.argsort(-model.metric_)[:2]) == {2, 3}
    plain = stream(FBTWSVM(decay=decay, metric="none", **options), X[:4000], y[:4000], 50)
    assert model.score(X[4000:], y[4000:]) > plain.score(X[4000:], y[4000:]) + 0.03


def test_a_metric_does_not_change_without_a_reason():
    """A single member, of which all sums would have to be carried over, learns it once."""
    X, y = rows(3000)
    model = stream(FBTWSVM(random_state=0), X[:700], y[:700], 50)
    metric = model.metric_
    np.testing.assert_array_equal(stream(model, X[700:], y[700:], 50).metric_, metric)


def test_a_scale_that_moves_is_followed():
    """A column is measured in another unit from row 2,000 on; the map finds that and brings it back."""
    random = np.random.default_rng(0)
    X = random.normal(size=(6000, 3))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int)
    X[2000:, 2] *= 30.0  # tells nothing, and drowns the other two
    model = stream(FBTWSVM(decay="auto", random_state=0, n_components=150), X[:4500], y[:4500], 50)
    assert model.metric_[2] < 0.1 * model.metric_[:2].min()
    assert model.score(X[4500:], y[4500:]) > 0.9


def test_sums_are_carried_over_to_another_kernel():
    """Second moments of rows that are not kept are about those of the rows mapped by the new kernel."""
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 4))
    old = Mapping(NystroemFeatures(gamma=0.2, n_components=60, random_state=0).fit(X), 1.0, X.dtype)
    factors = np.array([1.5, 1.0, 0.5, 0.2])
    transformer = old.transformer.with_landmarks(X[100:160], gamma=0.2, metric=factors)
    new = new_kernel(old, transformer, 1, None, X[:500])
    rows_before, rows_after = old.rows(X[500:]), new.mapping.rows(X[500:])
    wanted = rows_after.T @ rows_after
    carried = new.change @ (rows_before.T @ rows_before) @ new.change.T
    with_missed = carried + 400 * new.missed
    assert np.linalg.norm(with_missed - wanted) < 0.05 * np.linalg.norm(wanted)
    assert abs(np.trace(with_missed) / np.trace(wanted) - 1.0) < 0.01
    assert np.trace(carried) < np.trace(wanted)  # without it, directions that the old map does not see would be lost


def test_columns_standardised_anew_are_carried_over_exactly():
    random = np.random.default_rng(0)
    X = 3.0 + random.normal(size=(400, 3)) * [1.0, 5.0, 0.5]
    old, new = StandardColumns.of(X[:200]), StandardColumns.of(1.5 * X[200:] - 1.0)
    before, after = np.empty((400, 3)), np.empty((400, 3))
    old.write(X, before)
    new.write(X, after)
    change = columns_change(old, new)
    inside = (np.abs(before) < old.most).all(axis=1) & (np.abs(after) < new.most).all(axis=1)
    assert inside.sum() > 300
    with_bias = np.column_stack([before, np.ones(400)])
    np.testing.assert_allclose((with_bias @ change.T)[inside, :-1], after[inside], atol=1e-12)


def test_the_newest_rows_are_a_ring():
    ring, random = NewestRows(2, np.dtype(np.float64)), np.random.default_rng(0)
    X, labels, done = random.normal(size=(9000, 2)), random.integers(0, 3, 9000), 0
    for n in (1, 700, 999, 1, 1, 3000, 5, 999, 999, 40):
        ring.add(X[done : done + n], labels[done : done + n])
        done += n
        for each in (ring, pickle.loads(pickle.dumps(ring)), deepcopy(ring)):
            rows_now, labels_now = each.last(10**6)
            np.testing.assert_array_equal(rows_now, X[max(0, done - ring.most) : done])
            np.testing.assert_array_equal(labels_now, labels[max(0, done - ring.most) : done])
    ring.remove(X[done - 3 : done - 1], labels[done - 3 : done - 1])
    np.testing.assert_array_equal(ring.last(2)[0], X[[done - 4, done - 1]])
    assert X[done - 2].tobytes() not in pickle.dumps(ring)
    ring.insert_class(1)
    assert set(ring.last(10**6)[1]) == {0, 2, 3}
    ring.delete_class(2)
    assert set(ring.last(10**6)[1]) == {0, 2}


def test_unlearned_rows_are_not_among_the_newest_any_more():
    X, y = rows(900)
    model = stream(FBTWSVM(decay="auto", random_state=0), X, y, 100, ids=np.arange(900))
    model.unlearn(X[880:890], y[880:890], ids=np.arange(880, 890))
    keys = {row.tobytes() for row in model_of(model).newest.last(10**6)[0]}
    assert X[885].tobytes() not in keys
    assert X[891].tobytes() in keys


@pytest.mark.parametrize("sizes", [(7,), (999,), (1, 250, 3, 41)])
def test_a_metric_that_is_learned_again_does_not_depend_on_chunks(sizes):
    X, y = changing(2600, [1200], n_noise=4)
    options = {"decay": "auto", "random_state": 0, "n_components": 60}
    one, other, done = stream(FBTWSVM(**options), X, y, 1), FBTWSVM(**options), 0
    while done < len(y):
        for size in sizes:
            if done < len(y):
                other.partial_fit(X[done : done + size], y[done : done + size])
            done += size
    assert set(np.argsort(-one.metric_)[:2]) == {2, 3}
    np.testing.assert_allclose(other.metric_, one.metric_, rtol=1e-6)
    np.testing.assert_allclose(other.predict_proba(X), one.predict_proba(X), atol=1e-6)
