"""The exact kernel as a map: similarities to all training rows."""

import numpy as np
import pytest

from fbtwsvm.features import ExactKernel
from fbtwsvm.features.kernels import gamma_scale, similarity


@pytest.mark.parametrize("kernel", ["rbf", "linear", "chi2"])
def test_columns_are_similarities_to_the_training_rows(kernel, X):
    exact = ExactKernel(kernel=kernel).fit(X)
    gamma = gamma_scale(X)
    np.testing.assert_allclose(exact.transform(X[:9]), similarity(kernel, gamma)(X[:9], X), rtol=1e-12)
    assert exact.transform(X[:9].astype(np.float32)).dtype == np.float32
