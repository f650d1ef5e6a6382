"""inspect(): the stage of a model, and what it holds."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from fbtwsvm import FBTWSVM
from helpers import FOURIER, clouds, stream


def test_the_three_stages_of_a_model():
    X, y = clouds(300, spread=2.0)
    with pytest.raises(NotFittedError):
        FBTWSVM().inspect()
    batch = FBTWSVM(gamma=0.1).fit(X, y)
    assert (batch.inspect().stage, batch.inspect().kept) == ("batch", len(batch.support_))
    early = FBTWSVM(**FOURIER, warm_up=100).partial_fit(X[:60], y[:60]).inspect()
    assert (early.stage, early.seen, early.kept, early.warm_up) == ("warm_up", 60, 60, 100)
    late = stream(FBTWSVM(**FOURIER, warm_up=100, memory=10, second_look=0), X, y, 50).settle().inspect()
    assert (late.stage, late.seen, late.warm_up) == ("stream", 300, 0)
    assert late.kept + late.forgotten == 300
    assert late.kept_rows is None  # Fourier features need no rows as they came
    assert late.bytes > 3 * 31 * 31 * 8


def test_kept_rows_are_there_where_landmarks_may_need_them():
    X, y = clouds(300)
    seen = stream(FBTWSVM(gamma=0.1, n_components=20, warm_up=100, random_state=0), X, y, 1).inspect()
    assert len(seen.kept_rows) == len(seen.kept_labels) == seen.kept
    places = {row.tobytes(): i for i, row in enumerate(X)}
    assert np.array_equal(y[[places[row.tobytes()] for row in seen.kept_rows]], seen.kept_labels)
