"""The drift detector, against its definition and on streams whose change is known."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fbtwsvm.evaluate import chunked, prequential
from fbtwsvm.online.drift import HoeffdingDrift


def slowly(errors, confidence):
    """Find alarms from the definition, looking at all prefixes anew at each row."""
    alarms, start = [], 0
    for end in range(1, len(errors) + 1):
        seen = errors[start:end]
        best = None
        for size in range(1, len(seen) + 1):
            bound = sum(seen[:size]) / size + math.sqrt(math.log(1 / confidence) / (2 * size))
            if best is None or bound <= best[0] + 1e-15:
                best = (bound, size)
        size, n = best[1], len(seen)
        if size < n:
            limit = math.sqrt(0.5 * (n - size) / (n * size) * math.log(2 / confidence))
            if sum(seen) / n - sum(seen[:size]) / size >= limit:
                alarms.append(end - 1)
                start = end
    return alarms


@given(st.lists(st.booleans(), max_size=120), st.sampled_from([0.3, 0.05, 0.001]), st.integers(1, 50))
def test_alarms_are_those_of_the_definition(errors, confidence, cut):
    whole, rows, cuts = HoeffdingDrift(confidence), HoeffdingDrift(confidence), HoeffdingDrift(confidence)
    found = whole.update_rows(np.array(errors, dtype=bool)).tolist()
    one_by_one = []
    for i, error in enumerate(errors):
        rows.update(error)
        if rows.drift_detected:
            one_by_one.append(i)
    pieces = [*cuts.update_rows(errors[:cut]), *(cut + cuts.update_rows(errors[cut:]))]
    assert found == one_by_one == pieces == slowly([int(e) for e in errors], confidence)
    np.testing.assert_array_equal(whole.counts, rows.counts)


def test_a_change_is_seen_and_a_steady_stream_is_not():
    random = np.random.default_rng(0)
    steady = random.random(100_000) < 0.2
    assert len(HoeffdingDrift().update_rows(steady)) == 0
    change = np.concatenate([steady[:5000], random.random(2000) < 0.4])
    alarms = HoeffdingDrift().update_rows(change)
    assert len(alarms) == 1
    assert 5000 < alarms[0] < 5400


def test_a_run_marks_where_the_error_rate_rose():
    from fbtwsvm import FBTWSVM

    X = np.random.default_rng(0).normal(size=(4000, 2))
    y = (X[:, 0] > 0).astype(int)
    y[2000:] = 1 - y[2000:]
    run = prequential(FBTWSVM(n_components=30, gamma=0.5, random_state=0), chunked(X, y, 50), every=500).run()
    assert len(run.marks) >= 1
    assert 2000 <= run.marks[0] < 2200


def test_confidence_is_a_chance():
    with pytest.raises(ValueError, match="between 0 and 1"):
        HoeffdingDrift(1.5)
