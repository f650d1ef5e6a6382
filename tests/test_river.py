"""The river face: river's own checks, and agreement with the model behind it."""

import numpy as np
import pandas as pd
import pytest
from river import checks

from fbtwsvm import FBTWSVM
from fbtwsvm.river import RiverFBTWSVM
from helpers import clouds, stream


def committee():
    """Return the default with fewer features, for the checks' many rows."""
    return RiverFBTWSVM(RiverFBTWSVM().model_.set_params(n_components=40, random_state=0))


def small():
    return RiverFBTWSVM(FBTWSVM(gamma=0.1, n_components=15, warm_up=30, random_state=0, tol=1e-6))


@pytest.mark.parametrize(
    ("model", "check"),
    [
        pytest.param(model, check, id=f"{name}-{getattr(check, '__name__', str(check))}")
        for name, model in (("committee", committee()), ("small", small()))
        for check in checks.yield_checks(model)
    ],
)
def test_river_contract(model, check):
    check(model.clone() if hasattr(model, "clone") else model)


def test_same_as_partial_fit():
    X, y = clouds(200)
    river = small()
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        river.learn_one(dict(enumerate(row)), label)
    model = stream(FBTWSVM(gamma=0.1, n_components=15, warm_up=30, random_state=0, tol=1e-6), X, y, 1)
    np.testing.assert_allclose(river.model_.planes_, model.planes_, atol=1e-4)
    for row in X[:20].tolist():
        assert river.predict_one(dict(enumerate(row))) == model.predict([row])[0]
        chances = river.predict_proba_one(dict(enumerate(row)))
        np.testing.assert_allclose(list(chances.values()), model.predict_proba([row])[0], atol=1e-4)


def test_many_rows_at_once():
    X, y = clouds(300)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    river = small()
    assert river.predict_many(frame[:3]).empty
    for first in range(0, 300, 50):
        river.learn_many(frame[first : first + 50], pd.Series(y[first : first + 50]))
    answers = river.predict_many(frame)
    assert (answers.to_numpy() == y).mean() > 0.7
    chances = river.predict_proba_many(frame)
    assert chances.columns.tolist() == [0, 1, 2]
    np.testing.assert_allclose(chances.sum(axis=1), 1.0)


def test_columns_turn_up_and_go():
    X, y = clouds(200)
    river = small()
    for i, (row, label) in enumerate(zip(X.tolist(), y.tolist(), strict=True)):
        x = dict(zip("abc", row, strict=True)) if i >= 10 else {"a": row[0]}
        river.learn_one({**x, "late": 1.0} if i > 100 else x, label)
    assert river.columns == ["a", "b", "c"]
    assert river.predict_one({}) in (0, 1, 2)


def test_nan_is_refused():
    X, y = clouds(60)
    river = small()
    for row, label in zip(X.tolist(), y.tolist(), strict=True):
        river.learn_one(dict(enumerate(row)), label)
    clock = river.model_.inspect().seen
    with pytest.raises(ValueError, match="NaN"):
        river.learn_one({0: float("nan"), 1: 0.0, 2: 0.0}, 1)
    assert river.model_.inspect().seen == clock


def test_no_row_yet():
    assert small().predict_one({"a": 1.0}) is None
    assert small().predict_proba_one({"a": 1.0}) == {}


def test_river_first_row_is_bad():
    river = RiverFBTWSVM(FBTWSVM(warm_up=20))
    with pytest.raises(ValueError, match="NaN"):
        river.learn_one({"a": float("nan")}, 1)
    assert river.predict_one({"a": 1.0}) is None
    river.learn_one({"a": 1.0, "b": 2.0}, 1)
    assert river.predict_one({"a": 1.0}) == 1
    for i in range(60):
        river.learn_one({"a": float(i % 7), "b": 1.0}, i % 2)
    with pytest.raises(ValueError, match="another kind"):
        river.learn_one({"a": 1.0}, "x")
