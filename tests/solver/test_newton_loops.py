"""The compiled loop of Newton's method against plain formulas."""

import numpy as np
import pytest

from fbtwsvm.solver._newton_loops import smooth_hinge


def rounded_loss(x, box, width):
    """Return the hinge rounded over |x| < width / 2, times the box."""
    return box * np.where(x >= width / 2, x, np.where(x <= -width / 2, 0.0, (x + width / 2) ** 2 / (2 * width)))


@pytest.fixture
def values():
    """Values inside, at the ends of and beyond the zones of three planes."""
    random = np.random.default_rng(0)
    x = np.concatenate([random.normal(size=(3, 40)), random.uniform(-0.1, 0.1, size=(3, 40))], axis=1)
    x[:, :4] = [0.0, 0.25, -0.25, 2.0]
    return x, random.uniform(0.1, 3.0, x.shape), np.array([0.06, 0.2, 0.5])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_sums_are_those_of_the_true_and_of_the_rounded_hinge(values, dtype):
    x, box, widths = (array.astype(dtype) for array in values)
    losses, duals, roots = smooth_hinge(x, box, widths.astype(np.float64))
    np.testing.assert_allclose(losses[:, 0], (box * np.maximum(x, 0.0)).sum(axis=1), rtol=1e-6)
    np.testing.assert_allclose(losses[:, 1], rounded_loss(x, box, widths[:, None]).sum(axis=1), rtol=1e-6)
    assert (duals.dtype, roots.dtype) == (dtype, dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_slope_and_curvature_are_those_of_the_formula(values, dtype):
    x, box, widths = values
    _, duals, roots = smooth_hinge(x.astype(dtype), box.astype(dtype), widths)
    share = np.clip(x / widths[:, None] + 0.5, 0.0, 1.0)
    accuracy = {"rtol": 1e-5, "atol": 1e-5} if dtype == np.float32 else {"rtol": 1e-12, "atol": 1e-13}
    np.testing.assert_allclose(duals, box * share, **accuracy)
    inside = np.abs(np.abs(x) - widths[:, None] / 2) > 1e-6  # at the ends of a zone the curvature jumps
    curvature = np.where(np.abs(x) < widths[:, None] / 2, box / widths[:, None], 0.0)
    np.testing.assert_allclose(roots[inside] ** 2, curvature[inside], **accuracy)


def test_slope_and_curvature_are_those_of_finite_differences(values):
    x, box, widths = values
    width, step = widths[:, None], 1e-5
    x = np.where(np.abs(np.abs(x) - width / 2) > 3 * step, x, x + 0.01)
    _, duals, roots = smooth_hinge(x, box, widths)
    slope = (rounded_loss(x + step, box, width) - rounded_loss(x - step, box, width)) / (2 * step)
    np.testing.assert_allclose(duals, slope, atol=1e-8)
    ahead, behind = (smooth_hinge(x + sign * step, box, widths)[1] for sign in (1.0, -1.0))
    np.testing.assert_allclose(roots**2, (ahead - behind) / (2 * step), atol=1e-8)


def test_duals_never_leave_their_box(values):
    x, box, widths = values
    _, duals, _ = smooth_hinge(x, box, widths)
    assert (duals >= 0.0).all()
    assert (duals <= box).all()
    assert ((duals == box) == (x >= widths[:, None] / 2)).all()
