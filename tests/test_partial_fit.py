"""Learning from chunks: chunk sizes, new classes, containers, and going on from a fit."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from fbtwsvm import FBTWSVM
from helpers import KEEP_ALL, clouds, fourier, stream


@settings(max_examples=25, deadline=None)
@given(
    size=st.integers(1, 120),
    n_classes=st.integers(2, 4),
    seed=st.integers(0, 100),
    membership=st.sampled_from(["fuzzy", "none"]),
)
def test_everything_kept_equals_fit(size, n_classes, seed, membership):
    """accept="all", nothing forgotten, a fixed map: the planes of fit, whatever the chunks."""
    X, y = clouds(150, n_classes, seed=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(y))
    model = FBTWSVM(feature_map=fourier(X), tol=1e-11, max_iter=100_000, membership=membership, **KEEP_ALL)
    batch = clone(model).fit(X, y, sample_weight=weights)
    stream(model, X, y, size, sample_weight=weights).settle()
    np.testing.assert_allclose(model.planes_, batch.planes_, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), batch.predict(X))


def test_small_chunks_do_not_matter_at_all():
    """Below a hundred rows every way of cutting gives the same model."""
    X, y = clouds(400)
    model = FBTWSVM(gamma=0.1, n_components=20, warm_up=60, random_state=0, tol=1e-9)
    whole = stream(clone(model), X, y, 1).planes_
    for size in (7, 10, 50):
        np.testing.assert_allclose(stream(clone(model), X, y, size).planes_, whole, atol=1e-6)


def test_one_class_then_more_in_any_order():
    X, y = clouds(400, 4)
    order = np.argsort(np.array([2, 0, 3, 1])[y], kind="stable")
    model = FBTWSVM(gamma=0.1, n_components=30, warm_up=20, feature_map="fourier")
    model.partial_fit(X[order[:5]], y[order[:5]])
    assert set(model.predict(X)) == {y[order[0]]}
    assert model.predict_proba(X[:3]).tolist() == [[1.0]] * 3
    for first in range(5, len(y), 45):
        chunk = order[first : first + 45]
        model.partial_fit(X[chunk], y[chunk])
        assert (np.diff(model.classes_) > 0).all()
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.score(X, y) > FBTWSVM(gamma=0.1).fit(X, y).score(X, y) - 0.05


def test_a_new_class_leaves_the_others_alone():
    X, y = clouds(500, 4)
    old = y != 1
    model = stream(FBTWSVM(gamma=0.1, n_components=30, warm_up=50, feature_map="fourier"), X[old], y[old], 100).settle()
    before = model.planes_.copy()
    model.partial_fit(X[y == 1][:40], y[y == 1][:40])
    others = np.ix_([0, 2, 3], [0, 2, 3])
    np.testing.assert_array_equal(model.planes_[others], before)
    assert model.planes_[1, 0].any()
    assert model.planes_[0, 1].any()


def test_strings_and_data_frames_on_a_stream():
    pandas = pytest.importorskip("pandas")
    X, y = clouds(200)
    frame, names = pandas.DataFrame(X, columns=["a", "b", "c"]), np.array(["one", "two", "zebra"])[y]
    model = stream(FBTWSVM(gamma=0.1, n_components=20, warm_up=30), frame, names, 40)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert set(model.predict(frame)) <= {"one", "two", "zebra"}
    with pytest.raises(ValueError, match="another kind"):
        model.partial_fit(frame[:2], [0, 1])


@pytest.mark.parametrize("one", range(4))
@pytest.mark.parametrize("other", range(4))
def test_labels_of_another_kind_are_refused(one, other):
    """NumPy would take numbers for durations."""
    X, y = clouds(60)
    labels = [y, np.array(["one", "two", "zebra"])[y], np.datetime64("2024-01-01") + y, y.astype("m8[s]")]
    model = FBTWSVM(gamma=0.1, n_components=20, warm_up=30).partial_fit(X, labels[one])
    if one == other:
        assert model.partial_fit(X, labels[other]).inspect().seen == 120
        return
    with pytest.raises(ValueError, match="another kind than those learned so far"):
        model.partial_fit(X, labels[other])
    assert model.inspect().seen == 60
    with pytest.raises(ValueError, match="another kind"):
        FBTWSVM().partial_fit(X, labels[one], classes=np.unique(labels[other]))


def test_models_with_labels_of_another_kind_are_not_merged():
    X, y = clouds(120)
    settings = {"feature_map": "fourier", "gamma": 0.1, "n_components": 20, "warm_up": 30, "random_state": 0}
    one, other, third = (FBTWSVM(**settings) for _ in range(3))
    one.partial_fit(X[:60], y[:60])
    with pytest.raises(ValueError, match="merge"):
        one.merge(other.partial_fit(X[60:], y[60:].astype("m8[s]")))
    assert one.merge(third.partial_fit(X[60:], y[60:])).inspect().seen == 120


def test_sparse_rows_on_a_stream():
    import scipy.sparse as sp

    X, y = clouds(300)
    options = {"gamma": 0.1, "n_components": 20, "warm_up": 50, "random_state": 0}
    dense = stream(FBTWSVM(**options), X, y, 60)
    sparse = stream(FBTWSVM(**options), sp.csr_matrix(X), y, 60)
    assert (sparse.predict(sp.csr_matrix(X)) == dense.predict(X)).mean() > 0.97
