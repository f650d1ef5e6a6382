"""Who leaves the kept rows, in which order, and what stays of them."""

from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.online.condense import condense, forget
from fbtwsvm.online.forgotten import Forgotten, Traces
from fbtwsvm.online.kept import Kept
from helpers import clouds, stream

EVERY = np.True_  # all rows are of classes that were re-solved


def make_kept(labels, alpha, box, times=None, reserve=None, idle_count=None, ids=None):
    n = len(labels)
    return Kept(
        rows=np.random.default_rng(0).normal(size=(n, 3)),
        labels=np.asarray(labels),
        weights=np.ones(n),
        times=np.arange(n) if times is None else np.asarray(times),
        ids=np.full(n, None, dtype=object) if ids is None else np.array(ids, dtype=object),
        raw=None,
        alpha=np.asarray(alpha, dtype=float),
        box=np.asarray(box, dtype=float),
        idle_count=np.zeros(n, dtype=np.int64) if idle_count is None else np.asarray(idle_count),
        reserve=np.zeros(n, dtype=bool) if reserve is None else np.asarray(reserve),
    )


def one_class(duals, **arguments):
    """Rows of class 0 with these duals against class 1, in boxes of one."""
    alpha = np.column_stack([np.zeros(len(duals)), duals])
    box = np.column_stack([np.zeros(len(duals)), np.ones(len(duals))])
    return make_kept(np.zeros(len(duals), dtype=int), alpha, box, **arguments)


def condensed(kept, memory, second_look=100):
    forgotten = Forgotten.nothing(2, 3)
    rest = condense(kept, np.arange(2), memory, second_look, np.arange(1.0, len(kept) + 1.0), np.ones(2), forgotten)
    return rest, forgotten


def test_idle_rows_are_counted_in_a_row_or_not():
    kept = one_class([0.0, 1e-6, 0.5, 0.0], idle_count=[0, 4, 4, 1])
    rest = forget(kept, EVERY, None, 1e-5)
    assert rest.idle_count.tolist() == [1, 5, 4, 2]  # what a busy row has missed before is not taken back
    assert not rest.reserve.any()


def test_a_row_that_was_idle_often_enough_goes_to_the_reserve():
    kept = one_class([0.0, 0.0, 0.5], idle_count=[1, 2, 9])
    assert forget(kept, EVERY, 3, 1e-5).reserve.tolist() == [False, True, False]


def test_rows_of_classes_that_were_not_re_solved_are_left_alone():
    kept = one_class([0.0, 0.0], idle_count=[2, 2])
    rest = forget(kept, np.array([True, False]), 3, 1e-5)
    assert rest.idle_count.tolist() == [3, 2]
    assert rest.reserve.tolist() == [True, False]
    whole, forgotten = make_kept([0, 0, 1, 1], np.ones((4, 2)), np.ones((4, 2))), Forgotten.nothing(2, 3)
    rest = condense(whole, np.array([1]), 1, 100, np.ones(4), np.ones(2), forgotten)
    assert rest.labels.tolist() == [0, 0, 1]


def test_a_row_is_idle_only_if_every_dual_is():
    kept = make_kept([0, 0], [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]], np.ones((2, 3)))
    assert forget(kept, EVERY, 1, 1e-5).reserve.tolist() == [False, True]


def test_a_row_of_the_reserve_that_does_something_is_back_and_starts_anew():
    kept = one_class([0.5, 0.0], idle_count=[7, 7], reserve=[True, True])
    rest = forget(kept, EVERY, 3, 1e-5)
    assert rest.reserve.tolist() == [False, True]
    assert rest.idle_count.tolist() == [0, 7]  # a row that waits is not counted


def test_rows_at_a_bound_go_first_and_the_oldest_of_them_before_the_others():
    #               free  bound  free  bound  bound
    kept = one_class([0.5, 1.0, 0.1, 1.0, 1.0], times=[10, 12, 14, 11, 13])
    order = []
    for memory in (4, 3, 2, 1):
        rest, _ = condensed(kept, memory)
        order.append(sorted(set(kept.times.tolist()) - set(rest.times.tolist()) - set(order))[0])
        assert len(rest) == memory
    assert order == [11, 12, 13, 14]  # the three at their bound by age, then the least free dual


def test_a_dual_is_free_only_well_within_its_box():
    kept = one_class([1.0 - 1e-12, 1e-3, 0.9], times=[2, 1, 0])
    rest, _ = condensed(kept, 2)
    assert 2 not in rest.times.tolist()


def test_rows_beyond_the_memory_that_do_nothing_wait_instead_of_leaving():
    kept = one_class([0.0, 0.5, 0.0, 0.5], times=[0, 1, 2, 3])
    rest, forgotten = condensed(kept, 2)
    assert rest.times.tolist() == [0, 1, 2, 3]
    assert rest.reserve.tolist() == [True, False, True, False]
    assert forgotten.counts.tolist() == [0, 0]


def test_of_those_that_wait_the_newest_remain():
    kept = one_class(np.zeros(5), times=[4, 8, 0, 6, 2], reserve=np.ones(5, dtype=bool))
    rest, forgotten = condensed(kept, None, second_look=2)
    assert sorted(rest.times.tolist()) == [6, 8]
    assert forgotten.counts.tolist() == [3, 0]
    assert forgotten.n_condensed.tolist() == [0, 0]  # they left no pull


def test_nobody_leaves_without_a_limit():
    kept = one_class([0.5, 1.0, 0.0])
    rest, forgotten = condensed(kept, None)
    assert np.array_equal(rest.times, kept.times)
    assert not forgotten.counts.any()


def test_what_leaves_is_summed_into_duals_boxes_counts_and_extremes():
    kept = make_kept([0, 0, 0, 1, 1], [[0, 1], [0, 1], [0, 0.5], [1, 0], [1, 0]], [[0, 1]] * 3 + [[1, 0]] * 2)
    forgotten = Forgotten.nothing(2, 3)
    distances = np.array([4.0, 2.0, 9.0, 5.0, 6.0])
    rest = condense(kept, np.arange(2), 1, 100, distances, np.ones(2), forgotten)
    assert rest.times.tolist() == [2, 4]
    assert forgotten.counts.tolist() == forgotten.n_condensed.tolist() == [2, 1]
    assert (forgotten.nearest.tolist(), forgotten.farthest.tolist()) == ([2.0, 5.0], [4.0, 5.0])
    np.testing.assert_allclose(forgotten.dual_sums[1, 0], kept.rows[0] + kept.rows[1])
    np.testing.assert_allclose(forgotten.dual_sums[0, 1], kept.rows[3])
    np.testing.assert_allclose(forgotten.box_sums, [[0.0, 1.0], [2.0, 0.0]])
    assert not forgotten.dual_sums[[0, 1], [0, 1]].any()


def test_a_row_with_a_name_leaves_a_trace_that_others_do_not_share():
    kept = one_class([1.0, 0.5], ids=["first", "second"])
    forgotten = Forgotten.nothing(2, 3)
    other = deepcopy(forgotten, {id(forgotten.traces): forgotten.traces})
    condense(kept, np.arange(2), 1, 100, np.ones(2), np.array([2.0, 1.0]), forgotten)
    trace = forgotten.traces["first"]
    assert (trace.label, trace.time, trace.weight) == (0, 0, 1.0)
    assert trace.alpha.tolist() == [0.0, 0.5]  # that of a class with factor 1
    assert trace.total == pytest.approx(kept.rows[0].sum())
    assert (trace.box.tolist(), trace.distance) == ([0.0, 0.5], 1.0)
    assert list(forgotten.traces) == ["first"]
    assert not len(other.traces)


def test_traces_in_layers_are_a_dictionary():
    random, traces, expected = np.random.default_rng(0), Traces(), {}
    for step in range(60):
        new = {(step, i): f"trace {step} {i}" for i in range(random.integers(0, 9))}
        before, size = traces, len(traces)
        traces = traces.joined(new)
        expected |= new
        assert len(before) == size
    assert dict(traces) == expected
    assert len(traces._layers) < 12
    assert traces.get("unknown") is None


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.sampled_from([0.0, 0.3, 0.7, 1.0]), st.booleans()), min_size=1, max_size=40
    ),
    st.integers(1, 6),
    st.integers(0, 4),
)
def test_memory_and_second_look_are_hard_limits_and_no_row_is_lost(rows, memory, second_look):
    rows = sorted(rows, key=lambda row: row[0])
    labels = np.array([row[0] for row in rows])
    alpha = np.array([[row[1]] * 3 for row in rows]) * (np.arange(3) != labels[:, None])
    kept = make_kept(labels, alpha, 1.0 * (np.arange(3) != labels[:, None]))
    kept = replace(kept, reserve=np.array([row[2] for row in rows]) & ~alpha.any(axis=1))
    forgotten = Forgotten.nothing(3, 3)
    rest = condense(kept, np.arange(3), memory, second_look, np.ones(len(kept)), np.ones(3), forgotten)
    assert np.bincount(rest.labels[~rest.reserve], minlength=3).max() <= memory
    assert np.bincount(rest.labels[rest.reserve], minlength=3).max() <= second_look
    np.testing.assert_array_equal(
        forgotten.counts + np.bincount(rest.labels, minlength=3), np.bincount(labels, minlength=3)
    )
    pulls = np.einsum("ia,ij->aj", kept.alpha, kept.rows)  # by near class; nothing of a pull is lost either
    left = np.einsum("ia,ij->aj", rest.alpha, rest.rows)
    np.testing.assert_allclose(left + forgotten.dual_sums.sum(axis=1), pulls, atol=1e-9)


def test_condensed_rows_still_push():
    """With condensing, a small memory gives nearly the planes of a large one; dropping the rows instead does not."""
    X, y = clouds(2000, 2, spread=2.5, seed=3)
    options = {"gamma": 0.05, "n_components": 25, "warm_up": 100, "decision": "value", "random_state": 0}
    whole = stream(FBTWSVM(memory=None, **options), X, y, 100).settle().planes_
    small_model = stream(FBTWSVM(memory=30, **options), X, y, 100).settle()
    assert model_of(small_model).members[0].forgotten.dual_sums.any()
    error = np.linalg.norm(small_model.planes_ - whole) / np.linalg.norm(whole)
    assert error < 0.15
    model_of(small_model).members[0].forgotten.dual_sums[:] = 0.0
    model_of(small_model).members[0].changed_sums[:] = True
    dropped = small_model.settle().planes_
    assert np.linalg.norm(dropped - whole) / np.linalg.norm(whole) > 2 * error
