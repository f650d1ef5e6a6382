"""From parameters to the numbers of a problem."""

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import parameters_of


@pytest.mark.parametrize(("n_classes", "expected"), [(0, []), (1, [1.0]), (2, [1.0, 3.0])])
def test_a_pair_of_values_waits_for_its_second_class(n_classes, expected):
    settings = parameters_of(FBTWSVM(C=(1.0, 3.0), reg=(1.0, 3.0))).settings(n_classes)
    assert settings.C.tolist() == settings.reg.tolist() == expected


def test_options_of_the_solver_are_those_of_the_classifier():
    options = parameters_of(FBTWSVM(tol=1e-4, max_iter=7, n_jobs=3)).settings(2).options
    assert (options.tol, options.max_iter, options.n_jobs) == (1e-4, 7, 3)


@pytest.mark.parametrize(
    ("changes", "uses"),
    [({}, True), ({"kernel": "chi2"}, False), ({"kernel": np.dot}, False), ({"feature_map": 1}, False)],
)
def test_gamma_means_something_for_named_maps_of_some_kernels(changes, uses):
    assert parameters_of(FBTWSVM(**changes)).uses_gamma == uses


def test_the_seed_is_that_of_random_state():
    assert parameters_of(FBTWSVM(random_state=3)).seed() == parameters_of(FBTWSVM(random_state=3)).seed()
    assert parameters_of(FBTWSVM(random_state=3)).seed() != parameters_of(FBTWSVM(random_state=4)).seed()
