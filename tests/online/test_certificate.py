"""The duality gap of a stream is true whenever it is read: it is computed again here from the rows themselves."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from helpers import clouds, fourier, stream

C, REG = 1.5, 0.02


def gaps_from_rows(model, X, y, present, half_life=None):
    """Return P(u) - D(alpha) over the primal at zero, from all rows that the model should know, in float64.

    Every row has membership one and an id, its number.  Only the dual variables are those of the model.
    """
    inner = model_of(model)
    member, n_classes = inner.leader, len(inner.classes)
    unit = member.current_weight
    weights = np.ones(len(y)) if half_life is None else 0.5 ** ((len(y) - 1 - np.arange(len(y))) / half_life)
    rows = inner.mapping.rows(X).astype(np.float64)
    alpha = np.zeros((len(y), n_classes))
    fixed = np.ones(len(y), dtype=bool)
    for kept in (member.kept, member.pending.kept()):
        places = kept.ids.astype(int)
        fixed[places], alpha[places] = False, kept.alpha / unit
    for key, trace in member.forgotten.traces.items():
        scale = np.exp(member.forgotten.log_scales[trace.label] - trace.log_scale) / unit
        alpha[key] = 0.0 if trace.alpha is None else trace.alpha * scale
    gaps = np.zeros((n_classes, n_classes))
    for a in range(n_classes):
        near = present & (y == inner.classes[a])
        gram = (rows[near] * weights[near][:, None]).T @ rows[near] + REG * np.eye(rows.shape[1])
        for b in range(n_classes):
            if a == b:
                continue
            pushed = np.flatnonzero(present & (y == inner.classes[b]))
            u, box = member.planes[a, b].astype(np.float64), C * weights[pushed]
            values, free = 1.0 + rows[pushed] @ u, ~fixed[pushed]
            dual = np.where(free, np.minimum(alpha[pushed, a], box), alpha[pushed, a])
            primal = 0.5 * u @ gram @ u + box[free] @ np.maximum(values[free], 0.0) + dual[~free] @ values[~free]
            total = dual @ rows[pushed]
            gaps[a, b] = (primal - dual.sum() + 0.5 * total @ np.linalg.solve(gram, total)) / box.sum()
    return gaps


def new_model(X, **options):
    plain = {"C": C, "reg": REG, "membership": "none", "decision": "value", "warm_up": 90, "second_look": 5}
    return FBTWSVM(feature_map=fourier(X), **{**plain, **options})


STEPS = st.lists(st.sampled_from(["one", "few", "many", "unlearn", "settle", "merge"]), min_size=3, max_size=9)


@settings(max_examples=20, deadline=None)
@given(
    steps=STEPS, seed=st.integers(0, 50), memory=st.sampled_from([None, 8]), half_life=st.sampled_from([None, 300.0])
)
def test_the_gap_is_that_of_the_rows_after_any_sequence_of_steps(steps, seed, memory, half_life):
    X, y = clouds(1700, 3, seed=seed, spread=2.0)
    random = np.random.default_rng(seed)
    model, other = (new_model(X, memory=memory, half_life=half_life) for _ in range(2))
    present, seen = np.zeros(len(y), dtype=bool), 0
    for step in ["many", *steps]:
        size = {"one": 1, "few": 17, "many": 140}.get(step, 0)
        if size:
            rows = np.arange(seen, seen + size)
            model.partial_fit(X[rows], y[rows], ids=rows)
        elif step == "unlearn":
            rows = random.choice(np.flatnonzero(present), 11, replace=False)
            model.unlearn(X[rows], y[rows], ids=rows)
            present[rows] = False
            continue
        elif step == "merge" and half_life is None:
            rows = np.arange(seen, seen + 100)
            other = new_model(X, memory=memory).partial_fit(X[rows], y[rows], ids=rows)
            model.merge(other)
        else:
            model.settle()
            continue
        present[rows] = True
        seen = rows[-1] + 1
    expected = gaps_from_rows(model, X[:seen], y[:seen], present[:seen], half_life)
    np.testing.assert_allclose(model.duality_gap_, expected, rtol=1e-6, atol=1e-8)
    model.settle()
    expected = gaps_from_rows(model, X[:seen], y[:seen], present[:seen], half_life)
    np.testing.assert_allclose(model.duality_gap_, expected, rtol=1e-6, atol=1e-8)
    assert model.duality_gap_.max() <= model.tol


def test_most_rows_unlearned():
    """The sum of C w s of rows that have left leaves with them: it is the unit of the gap."""
    X, y = clouds(3000, 2, spread=2.5)
    model = stream(new_model(X, memory=30), X, y, 100, ids=np.arange(3000))
    out = np.arange(75, 3000)
    model.unlearn(X[out], y[out], ids=out)
    present = np.arange(3000) < 75
    np.testing.assert_allclose(model.duality_gap_, gaps_from_rows(model, X, y, present), rtol=1e-6, atol=1e-8)
    forgotten = model_of(model).members[0].forgotten
    assert (forgotten.box_sums.sum(axis=0) <= C * forgotten.counts * (1.0 + 1e-9)).all()


def test_without_ids_the_gap_is_never_too_small():
    X, y = clouds(1500, 2, spread=2.5)
    options = {"C": C, "reg": REG, "warm_up": 30, "memory": 20, "second_look": 5, "feature_map": fourier(X)}
    model = stream(FBTWSVM(**options), X, y, 100).settle()
    named = stream(FBTWSVM(**options), X, y, 100, ids=np.arange(1500)).settle()
    out = np.arange(500, 700)
    model.unlearn(X[out], y[out])
    named.unlearn(X[out], y[out], ids=out)
    boxes = [model_of(each).members[0].forgotten.box_sums for each in (model, named)]
    assert (boxes[0] <= boxes[1] + 1e-9).all()


@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_between_re_solves_the_gap_is_that_of_the_planes_now(decay):
    """Each row moves the planes; the gap at the last re-solve says nothing of them."""
    X, y = clouds(900, 2, spread=2.5)
    model = stream(FBTWSVM(gamma=0.2, n_components=40, warm_up=100, decay=decay, random_state=0), X[:600], y[:600], 50)
    model.settle()
    solved = model.duality_gap_.max()
    model.partial_fit(X[600:650], y[600:650])
    assert model.duality_gap_.max() > solved
    assert model_of(model).leader.gaps.max() <= model.tol  # that of the last re-solve


def test_a_re_solve_that_stops_early_warns():
    X, y = clouds(400, 2, spread=2.5)
    model = FBTWSVM(gamma=0.2, n_components=40, warm_up=100, max_iter=1, tol=1e-6, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.partial_fit(X, y)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model.settle()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.set_params(max_iter=100_000).settle()
    assert model.duality_gap_.max() <= 1e-6


@pytest.mark.parametrize("accept", ["kkt", "inside", "outside", "all"])
def test_planes_that_a_re_solve_leaves_alone_keep_their_duals(accept):
    random = np.random.default_rng(0)
    options = {"gamma": 0.3, "n_components": 20, "feature_map": "fourier", "membership": "none", "random_state": 0}
    model = FBTWSVM(warm_up=30, memory=50, second_look=0, accept=accept, **options)
    for step in range(8):
        y = random.integers(0, 5, 30)
        model.partial_fit(random.normal(size=(30, 4)) + 1.5 * y[:, None] * [1.0, -1.0, 0.5, 0.0], y)
        if step % 2:
            model.settle()
            assert model.duality_gap_.max() <= model.tol
