"""Taking rows out: as if they had not been learned."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from helpers import FOURIER, KEEP_ALL, Every, clouds, fourier, state, stream


@settings(max_examples=25, deadline=None)
@given(
    n_classes=st.integers(2, 4),
    seed=st.integers(0, 100),
    n_out=st.integers(1, 90),
    size=st.sampled_from([1, 33, 150]),
    named=st.booleans(),
)
def test_learning_and_unlearning_leaves_no_trace(n_classes, seed, n_out, size, named):
    """Learn A and B, unlearn B: the planes of A alone, with weights, in any order, down to classes that disappear."""
    X, y = clouds(140, n_classes, seed=seed)
    random = np.random.default_rng(seed)
    weights = random.uniform(0.5, 2.0, len(y))
    out = random.permutation(len(y))[:n_out]
    out = np.union1d(out, np.flatnonzero(y == n_classes - 1)) if n_classes > 2 else out  # one class goes altogether
    rest = np.setdiff1d(np.arange(len(y)), out)
    if len(np.unique(y[rest])) < 2:
        return
    model = FBTWSVM(feature_map=fourier(X), tol=1e-11, max_iter=100_000, **KEEP_ALL)
    expected = clone(model).fit(X[rest], y[rest], sample_weight=weights[rest])
    arguments = {"sample_weight": weights, "ids": np.arange(len(y))} if named else {"sample_weight": weights}
    stream(model, X, y, size, **arguments)
    taken = {"ids": out} if named else {}
    report = model.unlearn(X[out], y[out], sample_weight=weights[out], **taken)
    assert report.complete
    assert report.removed == len(out)
    assert model.classes_.tolist() == np.unique(y[rest]).tolist()
    np.testing.assert_allclose(model.planes_, expected.planes_, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))


def test_moments_are_exact_for_rows_that_are_not_kept():
    X, y = clouds(400, 3, spread=2.0)
    options = {"gamma": 0.1, "n_components": 20, "feature_map": "fourier", "memory": 8, "second_look": 4, "warm_up": 40}
    model = stream(FBTWSVM(random_state=0, **options), X, y, 50)
    report = model.unlearn(X[200:300], y[200:300])
    rest = np.r_[0:200, 300:400]
    member = model_of(model).members[0]
    for k in range(3):
        rows = model_of(model).mapping.rows(X[rest][y[rest] == k])
        np.testing.assert_allclose(member.moments.grams[k], rows.T @ rows, atol=1e-7)
    assert set(report.remaining) == {"condensed", "memberships", "planes", "offsets"}
    assert 0 < len(report.remaining["condensed"]) <= 100
    assert (report.removed, report.without_trace, report.values_removed) == (100, 0, False)


def test_ids_take_condensed_rows_out_as_well():
    """What a row left in the planes when it was condensed goes too; without its id it stays."""
    X, y = clouds(600, 2, spread=2.5)
    options = {"feature_map": fourier(X), "memory": 10, "second_look": 0, "decision": "value", "warm_up": 40}
    model = stream(FBTWSVM(**options), X, y, 50, ids=np.arange(600)).settle()
    gone = model_of(model).members[0].forgotten
    condensed = [key for key, trace in gone.traces.items() if trace.alpha is not None]
    assert len(condensed) > 50
    frozen = gone.dual_sums.copy()
    expected = frozen.copy()
    for key in condensed:
        trace = gone.traces[key]
        expected[:, y[key]] -= np.outer(trace.alpha, model_of(model).mapping.rows(X[[key]])[0])
    report = model.unlearn(X[condensed], y[condensed], ids=condensed)
    assert report.removed == len(condensed)
    assert set(report.remaining) <= {"planes", "offsets", "memberships"}
    member = model_of(model).members[0]
    # Settling afterwards may condense further rows; nothing else has changed.
    assert np.linalg.norm(member.forgotten.dual_sums - expected) < 0.2 * np.linalg.norm(frozen)
    assert not set(condensed) & set(member.forgotten.traces)
    with pytest.raises(ValueError, match="never learned"):
        model.unlearn(X[condensed[:1]], y[condensed[:1]], ids=condensed[:1])


@pytest.mark.parametrize("seen", [30, 200])
def test_a_row_never_learned_is_refused(seen):
    X, y = clouds(300)
    model = stream(FBTWSVM(feature_map=fourier(X), **{**KEEP_ALL, "warm_up": 60}), X[:seen], y[:seen], 20)
    before = state(model)
    with pytest.raises(ValueError, match="never learned"):
        model.unlearn(X[[0, 250]], y[[0, 250]])
    with pytest.raises(ValueError, match="no class"):
        model.unlearn(X[:1], [17])
    with pytest.raises(ValueError, match="never learned"):
        model.unlearn(X[[0, 0]], y[[0, 0]])  # the same row twice, learned once
    assert state(model) == before


def test_subtracting_what_was_not_there_is_refused():
    """Rows far from all that was learned would leave a Gram matrix with a negative eigenvalue."""
    X, y = clouds(400, 2)
    model = FBTWSVM(gamma=0.5, n_components=300, feature_map="fourier", memory=5, second_look=0, warm_up=50)
    stream(model, X, y, 50)
    before = state(model)
    with pytest.raises(ValueError, match="less than nothing"):
        model.unlearn(X[y == 0][:1] + 50.0, [0])
    assert state(model) == before
    report = model.unlearn(X[y == 0][:20], np.zeros(20, dtype=int))
    assert report.removed == 20
    assert all(np.linalg.eigvalsh(gram).min() > -1e-8 for gram in model_of(model).members[0].moments.grams)


def test_nothing_can_be_left():
    X, y = clouds(60, 2)
    for warm_up in (10, 100):
        model = stream(FBTWSVM(feature_map=fourier(X), **{**KEEP_ALL, "warm_up": warm_up}), X, y, 20)
        with pytest.raises(ValueError, match="empty"):
            model.unlearn(X, y)


def test_fading_rows_need_a_known_age():
    X, y = clouds(500, 2, spread=2.0)
    options = {"gamma": 0.1, "n_components": 15, "feature_map": "fourier", "half_life": 200.0, "warm_up": 50}
    model = stream(FBTWSVM(memory=10, second_look=0, **options), X, y, 50)
    report = model.unlearn(X[100:150], y[100:150])
    assert len(report.remaining["age"]) > 30
    assert report.removed == 50 - len(report.remaining["age"])  # those are still in the sums
    named = stream(FBTWSVM(memory=10, second_look=0, random_state=0, **options), X, y, 50, ids=np.arange(500))
    report = named.unlearn(X[100:150], y[100:150], ids=np.arange(100, 150))
    assert (report.removed, set(report.remaining)) == (50, {"memberships", "planes", "offsets"})
    member = model_of(named).members[0]
    weights = 0.5 ** (np.arange(499, -1, -1.0) / 200.0)
    weights[100:150] = 0.0
    for k in range(2):
        rows = model_of(named).mapping.rows(X[y == k])
        expected = (rows * weights[y == k][:, None]).T @ rows
        np.testing.assert_allclose(member.moments.grams[k] / member.current_weight, expected, atol=1e-6)


def test_landmarks_and_warm_up_are_reported():
    X, y = clouds(300)
    model = stream(FBTWSVM(gamma="scale", n_components=30, warm_up=100, random_state=0), X, y, 50)
    landmarks = model_of(model).mapping.transformer.landmark_indices_
    place = {tuple(row): i for i, row in enumerate(X)}
    used = [place[tuple(row)] for row in model_of(model).mapping.transformer.landmarks_]
    assert len(landmarks) == 30
    report = model.unlearn(X[[*used[:2], 250]], y[[*used[:2], 250]])
    assert report.remaining["landmark"] == [0, 1]
    assert report.remaining["warm_up"] == [0, 1]
    assert "landmark" in str(report)
    assert report.remaining["residual"] == [0, 1, 2]
    assert "3 rows taken out; something remains of each" in str(report)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_of_a_removed_row_remains_in_the_bytes(dtype):
    """Fourier features, a fixed gamma: the row, its mapped form and its id are not in the pickled model."""
    X, y = clouds(400)
    X = X.astype(dtype)
    names = [f"person {number} of many" for number in range(400)]
    options = {"gamma": 0.1, "feature_map": "fourier", "n_components": 20, "warm_up": 100, "decision": "value"}
    for keep in ({"memory": 20, "second_look": 10}, {"accept": "all", "memory": None}):
        model = stream(FBTWSVM(random_state=0, **options, **keep), X, y, 50, ids=np.array(names, dtype=object))
        chosen = np.arange(0, 400, 7)
        kept = model_of(model.settle()).members[0].kept
        mapped = kept.rows[np.isin(kept.times, chosen)]
        held = pickle.dumps(model)
        assert len(mapped) > 5
        assert all(row.tobytes() in held for row in mapped)
        assert names[7].encode() in held
        report = model.unlearn(X[chosen], y[chosen], ids=[names[i] for i in chosen])
        assert report.complete if "accept" in keep else set(report.remaining) <= {"memberships", "planes", "offsets"}
        held = pickle.dumps(model)
        assert not any(row.tobytes() in held for row in mapped)
        assert not any(names[i].encode() in held or X[i].tobytes() in held for i in chosen)


@pytest.mark.parametrize("feature_map", ["fourier", "nystroem"])
def test_an_id_with_other_values_is_refused(feature_map):
    """A row that is no longer kept can only be subtracted as it is given: it must be the one that was learned."""
    X, y = clouds(600)
    model = FBTWSVM(
        feature_map=feature_map, gamma=0.2, n_components=30, warm_up=100, memory=10, second_look=5, random_state=0
    )
    for first in range(0, 600, 50):
        part = slice(first, first + 50)
        model.partial_fit(X[part], y[part], ids=range(first, first + 50))
    gone = [key for key in model_of(model).members[0].forgotten.traces if key >= 100]
    rows = np.array(gone[5:10])  # none of them is the nearest or the farthest of its class
    before = model.planes_.copy()
    with pytest.raises(ValueError, match="was learned with other values"):
        model.unlearn(X[rows] + 0.05, y[rows], ids=rows)
    np.testing.assert_array_equal(model.planes_, before)
    assert model.unlearn(X[rows], y[rows], ids=rows).values_removed


def test_an_id_with_other_values_is_refused_for_stored_and_waiting_rows():
    X, y = clouds(200)
    model = FBTWSVM(warm_up=60, **FOURIER)
    for seen in (40, 100, 101):  # in the warm-up, stored, and learned since the last re-solve
        part = slice(model.inspect().seen if seen > 40 else 0, seen)
        model.partial_fit(X[part], y[part], ids=range(part.start, seen))
        before = state(model)
        with pytest.raises(ValueError, match="other values"):
            model.unlearn(X[[seen - 1]] + 0.05, y[[seen - 1]], ids=[seen - 1])
        with pytest.raises(ValueError, match="another label"):
            model.unlearn(X[[seen - 1]], (y[[seen - 1]] + 1) % 3, ids=[seen - 1])
        assert state(model) == before


def test_kept_rows_are_found_by_value_in_single_precision():
    """Rows are mapped among others than when they were learned, and rounding differs."""
    X = np.random.default_rng(0).normal(size=(700, 2)).astype(np.float32)
    y = (X[:, 0] > 0).astype(int)
    model = (
        FBTWSVM(gamma="scale", n_components=100, memory=None, accept="all", random_state=0).partial_fit(X, y).settle()
    )
    before = model.kept_
    for row in range(600, 610):
        model.unlearn(X[[row]], y[[row]])
    assert model.kept_ == before - 10


def test_ids_are_unique_and_tied_to_their_label():
    X, y = clouds(400, 2, spread=2.0)
    model = FBTWSVM(warm_up=100, memory=5, second_look=0, **FOURIER)
    stream(model, X, y, 50, ids=np.arange(400)).settle()
    gone = next(iter(model_of(model).members[0].forgotten.traces))
    before = state(model)
    with pytest.raises(ValueError, match="another label"):
        model.unlearn(X[[gone]], 1 - y[[gone]], ids=[gone])
    with pytest.raises(ValueError, match="learned already"):
        model.partial_fit(X[:2], y[:2], ids=[1000, gone])
    assert state(model) == before
    waiting = FBTWSVM(**FOURIER).partial_fit(X[:5], y[:5], ids=range(5))
    with pytest.raises(ValueError, match="learned already"):
        waiting.partial_fit(X[5:6], y[5:6], ids=[3])


def test_a_row_just_learned_is_unlearned_once():
    X, y = clouds(301, 2, spread=0.3)
    model = FBTWSVM(warm_up=100, second_look=0, **FOURIER)
    stream(model, X, y, 300, ids=np.arange(301))  # the last row waits for the next settle
    total = model_of(model).members[0].moments.counts.sum()
    assert model.unlearn(X[300:], y[300:], ids=[300]).values_removed
    assert model_of(model).members[0].moments.counts.sum() == total - 1
    with pytest.raises(ValueError, match="never learned"):
        model.unlearn(X[300:], y[300:], ids=[300])


def test_reported_positions_are_those_of_the_call_with_rows_without_weight():
    X, y = clouds(300)
    model = stream(FBTWSVM(n_components=30, gamma=0.1, warm_up=100, random_state=0), X, y, 100)
    landmark = next(i for i, row in enumerate(X) if model_of(model).mapping.is_landmark(row[None])[0])
    report = model.unlearn(X[[5, landmark]], y[[5, landmark]], sample_weight=[0.0, 1.0])
    assert report.remaining["landmark"] == [1]


@pytest.mark.parametrize("decision", ["value", "calibrated", "distance"])
@pytest.mark.parametrize("membership", ["none", "fuzzy"])
@pytest.mark.parametrize(("accept", "class_weight"), [("kkt", None), ("all", None), ("all", "balanced")])
def test_nothing_remains_where_the_docs_promise_it(decision, membership, accept, class_weight):
    """Every number of the model is that of training without the rows, probabilities included."""
    X, y = clouds(400, 3, spread=2.0)
    out = np.random.default_rng(0).permutation(400)[:60]
    rest = np.setdiff1d(np.arange(400), out)
    options = {"decision": decision, "membership": membership, "accept": accept, "tol": 1e-10, "max_iter": 10**6}
    options |= {"memory": None, "second_look": 10**6, "warm_up": 50, "class_weight": class_weight, **FOURIER}
    model = stream(FBTWSVM(**options), X, y, 37, ids=np.arange(400))
    report = model.unlearn(X[out], y[out], ids=out)
    again = stream(FBTWSVM(**options), X[rest], y[rest], 37, ids=rest).settle()
    assert report.complete
    assert (report.removed, report.without_trace) == (60, 60)
    one, two = model_of(model), model_of(again)
    for name in ("offsets", "learned_offsets", "slopes"):
        np.testing.assert_allclose(getattr(one.decision, name), getattr(two.decision, name), atol=1e-3, err_msg=name)
    np.testing.assert_array_equal(np.sort(one.tested.near != 0.0, axis=None), np.sort(two.tested.near != 0, axis=None))
    first, second = (part.members[0] for part in (one, two))
    for name in ("counts", "sums", "grams"):
        np.testing.assert_allclose(getattr(first.moments, name), getattr(second.moments, name), atol=1e-9)
    for name in ("planes", "low", "high", "farthest", "class_factors", "seen", "since_solve", "solved"):
        np.testing.assert_allclose(getattr(first, name), getattr(second, name), atol=1e-5, err_msg=name)
    kept, others = first.kept.by_class(), second.kept.by_class()
    np.testing.assert_array_equal(kept.ids, others.ids)
    for name in ("rows", "weights", "box", "alpha", "idle_count"):
        np.testing.assert_allclose(getattr(kept, name), getattr(others, name), atol=1e-3, err_msg=name)
    clear = (kept.alpha > 1e-6).any(axis=1) | ~(np.maximum(kept.alpha, others.alpha) > 0.0).any(axis=1)
    np.testing.assert_array_equal(kept.reserve[clear], others.reserve[clear])
    for name in ("dual_sums", "box_sums", "nearest", "farthest", "counts", "n_condensed"):
        assert not getattr(first.forgotten, name).any(), name
    assert not len(first.forgotten.traces)
    assert (first.mean_weight, first.current_weight) == (second.mean_weight, second.current_weight)
    np.testing.assert_allclose(model.predict_proba(X), again.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(model.decision_function(X), again.decision_function(X), atol=1e-3)


def test_trust_and_detectors_are_named_where_they_have_met_the_row():
    X, y = clouds(300)
    model = stream(FBTWSVM(decay="auto", warm_up=100, drift_detector=Every(10**6), **FOURIER), X, y, 50, ids=range(300))
    report = model.unlearn(X[200:203], y[200:203], ids=range(200, 203))
    assert report.removed == 3
    assert {"trust", "detector", "planes"} <= set(report.remaining)
    assert not report.complete
    assert "members" in str(report)


def test_support_rows_alone_in_the_sums_leave_a_trace():
    """Which rows were support rows, and so part of the sums, depends on those that were unlearned."""
    X, y = clouds(420, 3, spread=2.0)
    options = {"statistics": "kept", "accept": "all", "forget_after": 1, "memory": None, "second_look": 5000}
    model = stream(FBTWSVM(warm_up=50, **options, **FOURIER), X, y, 40, ids=np.arange(420))
    report = model.unlearn(X[150:190], y[150:190], ids=np.arange(150, 190))
    assert {"planes", "offsets"} <= set(report.remaining)


def with_ids(options, n=300):
    X, y = clouds(n, 3, n_columns=4)
    model = stream(FBTWSVM(**options, random_state=0), X, y, 25, ids=np.arange(n))
    return model, X, y


@pytest.mark.parametrize("feature_map", ["fourier", "nystroem"])
@pytest.mark.parametrize("decay", [1.0, "auto"])
@pytest.mark.parametrize("warm_up", [100, 400])
def test_ids_are_enough_where_rows_are_stored(feature_map, decay, warm_up):
    options = {"gamma": 0.1, "feature_map": feature_map, "n_components": 30, "warm_up": warm_up, "decay": decay}
    model, X, y = with_ids({**options, "memory": None, "second_look": 1000})
    twin = pickle.loads(pickle.dumps(model))
    gone = [12, 150, 280]
    by_id, by_rows = model.unlearn(ids=gone), twin.unlearn(X[gone], y[gone], ids=gone)
    assert by_id == by_rows
    assert by_id.removed == 3 - len(by_id.remaining.get("remapped", []))
    np.testing.assert_allclose(model.predict_proba(X), twin.predict_proba(X), atol=1e-9)
    with pytest.raises(ValueError, match="never learned, or has been unlearned already"):
        model.unlearn(ids=[150])


def test_ids_are_enough_after_a_fit_that_has_kept_its_rows():
    X, y = clouds(200, 3)
    model = FBTWSVM(gamma=0.1).fit(X, y, ids=[f"row {i}" for i in range(200)])
    twin = FBTWSVM(gamma=0.1).fit(X[5:], y[5:])
    assert model.unlearn(ids=[f"row {i}" for i in range(5)]).removed == 5
    np.testing.assert_allclose(model.predict_proba(X), twin.predict_proba(X), atol=1e-6)


def test_a_row_that_is_no_longer_stored_needs_its_values():
    model, X, y = with_ids({"gamma": 0.1, "n_components": 20, "warm_up": 60, "memory": 5, "second_look": 0}, 900)
    before = pickle.dumps(model)
    stored = set(model.memory_report().rows["id"])
    gone = next(i for i in range(200, 900) if i not in stored)
    with pytest.raises(ValueError, match=r"no longer stored.*unlearn\(X, y, ids=...\).*memory=None"):
        model.unlearn(ids=[gone])
    assert pickle.dumps(model) == before
    assert model.unlearn(X[[gone]], y[[gone]], ids=[gone]).removed == 1
    stored = model.memory_report().rows["id"]
    assert model.unlearn(ids=stored[:1]).removed == 1


def test_a_fit_that_has_kept_sums_needs_values():
    X, y = clouds(4000, 2)
    model = FBTWSVM(gamma=0.1, n_components=10, memory=5).fit(X, y)
    with pytest.raises(ValueError, match=r"kept sums instead of its rows.*unlearn\(X, y\)"):
        model.unlearn(ids=[1])


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (None, "rows and labels, or the ids"),
        ("ab", "a sequence"),
        (["anna", 1, "anna"], "'anna' is there 2 times"),
        ([1, None], "row 1 is None"),
    ],
)
def test_ids_that_cannot_be(ids, message):
    model, _, _ = with_ids({"gamma": 0.1, "n_components": 20, "warm_up": 60})
    with pytest.raises(ValueError, match=message):
        model.unlearn(ids=ids)


def test_labels_of_python_objects_are_named_too():
    X, y = clouds(301, 2, spread=0.3)
    model = FBTWSVM(warm_up=100, **FOURIER).partial_fit(X, np.array(["ant", "bee"], dtype=object)[y])
    with pytest.raises(ValueError, match=r"row 0 \(label 'ant'\) was never learned"):
        model.unlearn(X[:1] + 9, np.array(["ant"], dtype=object))
    with pytest.raises(ValueError, match="no class 'cat'"):
        model.unlearn(X[:1], np.array(["cat"], dtype=object))


def test_ids_of_numpy_are_those_of_python():
    X, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = FBTWSVM(kernel="linear").partial_fit(X, y, ids=np.array([f"row {i}" for i in range(40)]))
    assert model.unlearn(ids=["row 3"]).removed == 1
    with pytest.raises(ValueError, match="the row with id 'row 3' was never learned"):
        model.unlearn(ids=np.array(["row 3"]))


def test_different_rows_that_linear_members_see_alike_are_told_apart():
    """Far out, columns are cut off: the rows are equal in the linear members, and only there."""
    random = np.random.default_rng(0)
    X = random.normal(size=(900, 1))
    y = (X[:, 0] + 0.3 * random.normal(size=900) > 0).astype(int)
    X[850], X[860], y[[850, 860]] = 50.0, 60.0, 1
    model = FBTWSVM(decay="auto", random_state=0, gamma=0.0005)
    stream(model, X[:850], y[:850], 50)
    model.partial_fit(X[850:851], y[850:851], ids=["first"])
    stream(model, X[851:860], y[851:860], 1)
    model.partial_fit(X[860:861], y[860:861], sample_weight=[5.0])
    stream(model, X[861:], y[861:], 1)
    report = model.unlearn(X[860:861], y[860:861], sample_weight=[5.0])
    assert report.values_removed
    assert np.float64(60.0).tobytes() not in pickle.dumps(model)
    assert model.unlearn(X[850:851], y[850:851], ids=["first"]).removed == 1


def test_rows_of_a_merged_committee_can_be_unlearned():
    """The models have standardised their columns differently; what cannot be subtracted any more is named."""
    X, y = clouds(1600, 2, n_columns=3)
    X[800:] = 4.0 * X[800:] + 3.0
    options = {"decay": "auto", "gamma": 0.3, "feature_map": "fourier", "n_components": 40, "warm_up": 200}
    models = [FBTWSVM(**options, random_state=0) for _ in range(2)]
    for k, model in enumerate(models):
        part = slice(800 * k, 800 * (k + 1))
        stream(model, X[part], y[part], 50, ids=np.arange(800 * k, 800 * (k + 1)))
    merged = models[0].merge(models[1])
    for i in (5, 700, 805, 1200, 1590):
        report = merged.unlearn(X[[i]], y[[i]], ids=[i])
        assert report.removed == 1 or "remapped" in report.remaining
