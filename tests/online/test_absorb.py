"""New rows: what they add to the sums, and which of them are accepted."""

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from helpers import FOURIER, clouds, stream


@pytest.mark.parametrize("decision", ["calibrated", "value", "distance"])
def test_every_row_counts_towards_the_moments(decision):
    X, y = clouds(300)
    model = FBTWSVM(gamma=0.1, n_components=20, feature_map="fourier", warm_up=50, memory=10, decision=decision)
    stream(model, X, y, 60).settle()
    member = model_of(model).members[0]
    for k, label in enumerate(model.classes_):
        rows = model_of(model).mapping.rows(X[y == label])
        np.testing.assert_allclose(member.moments.grams[k], rows.T @ rows, atol=1e-8)
        np.testing.assert_allclose(member.moments.sums[k], rows.sum(axis=0), atol=1e-8)


@pytest.mark.parametrize("accept", ["inside", "outside"])
def test_bounds_of_the_last_cold_solve_decide(accept):
    X, y = clouds(300, 2)
    model = FBTWSVM(gamma=0.1, n_components=20, warm_up=100, feature_map="fourier", accept=accept, second_look=0)
    model.set_params(statistics="kept", decision="distance", memory=None, random_state=0)
    stream(model, X[:100], y[:100], 100)
    member = model_of(model).members[0]
    low, high = member.bounds[..., 0], member.bounds[..., 1]
    assert low[0, 1] <= -1.0
    rows = model_of(model).mapping.rows(X[100:101])
    own = int(y[100])
    gradient = -(rows @ member.planes[1 - own, own]).item() - 1.0
    inside = low[1 - own, own] < gradient < high[1 - own, own]
    kept = len(member.kept)
    model.partial_fit(X[100:101], y[100:101]).settle()
    assert len(model_of(model).members[0].kept) == kept + (inside == (accept == "inside"))


@pytest.mark.parametrize("accept", ["kkt", "inside"])
@pytest.mark.parametrize("size", [1, 50, 400])
def test_the_papers_sums_start_from_one_class(accept, size):
    X, y = clouds(600, 2)
    order = np.concatenate([np.flatnonzero(y == 0)[:60], np.flatnonzero(y == 1), np.flatnonzero(y == 0)[60:]])
    model = FBTWSVM(statistics="kept", accept=accept, warm_up=30, memory=None, **FOURIER)
    stream(model, X[order], y[order], size).settle()
    assert (model_of(model).members[0].moments.counts > 0).all()
    assert model.score(X, y) > FBTWSVM(gamma=0.1).fit(X, y).score(X, y) - 0.05


@pytest.mark.parametrize("size", [1, 20, 400])
def test_bounds_of_a_class_that_arrives_in_small_chunks(size):
    X, y = clouds(900, 3)
    old, new = np.flatnonzero(y != 2), np.flatnonzero(y == 2)
    model = FBTWSVM(accept="inside", statistics="kept", second_look=0, memory=None, warm_up=100, **FOURIER)
    stream(model, X[old], y[old], 100)
    stream(model, X[new], y[new], size).settle()
    member = model_of(model).members[0]
    assert (member.bounds[0, 2, 0], member.bounds[2, 0, 0]) <= (-1.0, -1.0)
    assert (member.kept.labels == 2).sum() > 0.3 * len(new)
