"""Answers for Dask collections: lazy, partitioned as the rows are, and those of arrays."""

from itertools import pairwise

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from collected import arrays, frame, model
from fbtwsvm import FBTWSVM, TableClassifier
from helpers import clouds

METHODS = ["predict", "predict_proba", "predict_log_proba", "decision_function", "gradients"]
X, Y = clouds(500, 3, n_columns=3, seed=4, spread=1.5)
Y = np.array(["ant", "bee", "cat"])[Y]


@pytest.fixture(scope="module")
def fitted():
    return model().fit(X, Y)


@pytest.fixture(scope="module")
def of_two():
    return model().fit(X, Y == "ant")


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("classes", [2, 3])
def test_answers_are_those_of_the_array(fitted, of_two, method, classes, known):
    estimator = of_two if classes == 2 else fitted
    (dX,) = arrays(5, X, known=known)
    answers = getattr(estimator, method)(dX)
    expected = getattr(estimator, method)(X)
    assert isinstance(answers, da.Array)
    assert answers.dtype == expected.dtype
    assert answers.ndim == expected.ndim
    assert answers.chunks[0] == dX.chunks[0] or not known
    assert answers.numblocks[0] == 5
    computed = answers.compute()
    assert computed.dtype == expected.dtype
    if method == "predict":
        assert np.array_equal(computed, expected)
    else:
        np.testing.assert_allclose(computed, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_frames_give_series_and_frames(method):
    table = frame(4, X, Y)
    columns = ["x0", "x1", "x2"]
    estimator = model().fit(table[columns].compute(), Y)
    answers = getattr(estimator, method)(table[columns])
    expected = getattr(estimator, method)(table[columns].compute())
    assert isinstance(answers, dd.Series if expected.ndim == 1 else dd.DataFrame)
    assert answers.npartitions == 4
    computed = answers.compute()
    assert computed.index.equals(table.compute().index)
    if expected.ndim == 2:
        assert computed.columns.tolist() == (columns if method == "gradients" else estimator.classes_.tolist())
    pd.testing.assert_frame_equal(pd.DataFrame(answers._meta), pd.DataFrame(computed).iloc[:0], check_index_type=False)
    if method == "predict":
        assert np.array_equal(computed, expected)
    else:  # rounding depends on how many rows are multiplied at a time
        np.testing.assert_allclose(computed.to_numpy(), expected, rtol=1e-9, atol=1e-12)


def test_nothing_is_computed_before_it_is_asked_for(fitted):
    read = []

    def reading(block):
        read.append(len(block))
        return block

    (dX,) = arrays(3, X)
    answers = fitted.predict(dX.map_blocks(reading, meta=np.empty((0, 3))))
    assert read == []
    assert len(answers.compute()) == len(X)
    assert len(read) == 3


def test_plane_values(fitted):
    (dX,) = arrays(3, X)
    np.testing.assert_allclose(
        fitted.plane_values(dX, "ant", "bee").compute(), fitted.plane_values(X, "ant", "bee"), rtol=1e-12
    )


@pytest.mark.parametrize("weighted", [False, True])
def test_scores(fitted, weighted):
    weights = np.arange(len(Y)) % 3 if weighted else None
    dX, dy, dw = arrays(3, X, Y, np.ones(len(Y)) if weights is None else weights)
    assert fitted.score(dX, dy, dw if weighted else None) == pytest.approx(fitted.score(X, Y, weights))
    with pytest.raises(ValueError, match="no row to score"):
        fitted.score(dX, dy, 0 * dw)


def test_answers_are_those_of_the_time_of_the_call():
    """A stream that learns on does not change them."""
    learner = FBTWSVM(gamma=0.2, n_components=30, warm_up=100, random_state=0).partial_fit(X[:300], Y[:300])
    (dX,) = arrays(3, X)
    answers, expected = learner.predict_proba(dX), learner.predict_proba(X)
    learner.partial_fit(X[300:], np.roll(Y, 1)[300:]).settle()
    np.testing.assert_allclose(answers.compute(), expected, rtol=1e-9)
    assert np.abs(learner.predict_proba(X) - expected).max() > 1e-3


def test_what_travels_holds_no_training_rows():
    """Only what answers need: a model that keeps its rows would send them with every prediction."""
    import cloudpickle

    big = np.random.default_rng(0).normal(size=(1500, 200))
    fitted = FBTWSVM(kernel="linear", random_state=0).fit(big, big[:, 0] > 0)
    assert len(cloudpickle.dumps(fitted._answering())) < big.nbytes / 10


def test_partial_fit_learns_the_partitions_in_order():
    dX, dy, dw = arrays(7, X, Y, np.linspace(0.5, 2.0, len(Y)))
    local = FBTWSVM(gamma=0.2, n_components=30, warm_up=100, random_state=0)
    spread = FBTWSVM(gamma=0.2, n_components=30, warm_up=100, random_state=0)
    ends = np.cumsum([0, *dX.chunks[0]])
    for first, last in pairwise(ends):
        if last > first:
            part = slice(first, last)
            local.partial_fit(X[part], Y[part], sample_weight=np.linspace(0.5, 2.0, len(Y))[part])
    spread.partial_fit(dX, dy, sample_weight=dw)
    np.testing.assert_array_equal(local.planes_, spread.planes_)
    assert spread.inspect().seen == len(X)


def test_a_partition_that_cannot_be_learned_undoes_the_whole_call():
    bad = X.copy()
    bad[-1] = np.nan
    dX, dy = arrays(5, bad, Y)
    learner = FBTWSVM(gamma=0.2, n_components=30, warm_up=100, random_state=0).partial_fit(X[:200], Y[:200])
    before = learner.predict_proba(X)
    with pytest.raises(ValueError, match=r"Nothing was learned. Partition 4: .*NaN"):
        learner.partial_fit(dX, dy)
    assert learner.inspect().seen == 200
    np.testing.assert_array_equal(learner.predict_proba(X), before)
    learner.partial_fit(X[200:], Y[200:])
    assert learner.inspect().seen == 500


def test_ids_beside_a_collection_are_refused():
    dX, dy = arrays(2, X, Y)
    for call in (model().partial_fit, model().fit):
        with pytest.raises(ValueError, match="ids cannot be given"):
            call(dX, dy, ids=np.arange(len(Y)))


def test_the_scheduler_is_the_current_one(fitted):
    (dX,) = arrays(3, X)
    with dask.config.set(scheduler="synchronous"):
        assert np.array_equal(fitted.predict(dX).compute(), fitted.predict(X))


def test_a_table_classifier_says_that_it_takes_no_collection():
    table = frame(2, X, Y)
    with pytest.raises((TypeError, ValueError)):
        TableClassifier().fit(table[["x0", "x1"]], table["y"])
