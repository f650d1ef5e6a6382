"""The compiled loops over pairs of classes: margins, walks, coupling, offsets."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fbtwsvm.model import _pair_loops


def test_values_are_floored_before_the_logarithm():
    assert np.isfinite(_pair_loops.pair_margin(0.0, 1.0, 0.0, 1.0))
    assert _pair_loops.pair_margin(0.0, 1.0, 0.0, 1.0) < 0 < _pair_loops.pair_margin(1.0, 0.0, 0.0, 1.0)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000), n_classes=st.integers(2, 7))
def test_walking_planes_and_walking_margins_agree(seed, n_classes):
    random = np.random.default_rng(seed)
    rows, planes = random.normal(size=(20, 5)), random.normal(size=(n_classes, n_classes, 5))
    offsets = np.triu(random.normal(size=(n_classes, n_classes)))
    slopes = random.uniform(0.5, 3.0, size=(n_classes, n_classes))
    by_planes = _pair_loops.walk_planes(rows, planes, offsets, slopes)
    values = np.einsum("ij,abj->iab", rows, planes)
    _pair_loops.pair_margins(values, offsets, slopes)
    assert np.array_equal(by_planes, _pair_loops.walk_margins(values))


def test_coupling_recovers_consistent_probabilities():
    """Pairwise probabilities made from class probabilities lead back to them."""
    true = np.array([[0.5, 0.3, 0.15, 0.05], [0.25, 0.25, 0.25, 0.25], [0.97, 0.01, 0.01, 0.01]])
    margins = np.log(true[:, None, :] / true[:, :, None])
    assert _pair_loops.couple(margins) == pytest.approx(true, abs=0.01)


def test_a_pair_with_few_rows_stays_near_the_plain_rule():
    ratio, second, weight = np.array([-1.0, 2.0, 1.5]), np.array([False, True, True]), np.ones(3)
    few = _pair_loops.fit_offset(ratio, second, weight, 2.0, 1.0)
    many = _pair_loops.fit_offset(ratio - 3.0, second, 1000 * weight, 2.0, 1.0)
    assert abs(few[0]) < 0.5
    assert many[0] == pytest.approx(-2.4, abs=0.5)


def test_offset_fit_finds_the_minimum():
    from scipy.optimize import minimize

    random = np.random.default_rng(3)
    ratio, weight = random.normal(size=200), random.uniform(0.5, 2, 200)
    second = random.uniform(size=200) < 1 / (1 + np.exp(-(1.3 * ratio - 0.4)))

    def loss(p):
        z = p[0] * ratio - p[1]
        return (weight * (np.logaddexp(0, z) - second * z)).sum() + 0.5 * ((p[0] - 2) ** 2 + p[1] ** 2)

    slope, shift = minimize(loss, [2.0, 0.0], tol=1e-12).x
    assert _pair_loops.fit_offset(ratio, second, weight, 2.0, 1.0) == pytest.approx((shift / slope, slope), abs=1e-4)
