"""Curves of accuracy against time, and the floor."""

import numpy as np
import pytest

from benchmarks.accuracy.curves import Curve, crossings
from benchmarks.rivals.methods import OURS
from benchmarks.speed.fit import least_work


def test_area_under_steps():
    curve = Curve.of([100.0, 1.0, 10.0], [60.0, 50.0, 40.0])  # a worse setting that takes longer does not count
    assert [curve.at(t) for t in (0.5, 1.0, 50.0, 100.0)] == [-np.inf, 50.0, 50.0, 60.0]
    assert curve.area(1.0, 1000.0) == pytest.approx((50 + 50 + 60) / 3)
    assert curve.area(0.5, 10.0) is None


def test_crossings_name_who_is_ahead_and_by_how_much():
    found = {
        OURS: Curve.of([2.0, 10.0], [60.0, 80.0]),
        "a": Curve.of([1.0, 4.0, 6.0], [50.0, 65.0, 70.0]),
        "b": Curve.of([20.0, 30.0, 40.0], [80.0, 82.0, 82.0]),
    }
    assert crossings(found) == [(1, 2, "a", np.inf), (4, 10, "a", 10.0), (30, 40, "b", 2.0)]


def test_floor_is_the_sum_over_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5)).astype(np.float32)
    y = np.repeat([2, 0, 1], [200, 90, 10])[random.permutation(300)]
    landmarks, normalisation = X[:40].copy(), random.normal(size=(40, 40)).astype(np.float32) / 6
    found = least_work(X, y, landmarks, normalisation, 0.1)
    mapped = np.exp(-0.1 * np.square(X[:, None].astype(float) - landmarks).sum(axis=2)) @ normalisation
    for k in (0, 2):
        np.testing.assert_allclose(found[k], mapped[y == k].T @ mapped[y == k], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[1], mapped[y == 1] @ mapped[y == 1].T, rtol=1e-4, atol=1e-4)  # fewer rows
