"""Learning from chunks: chunk sizes, new classes, warm-up, failed calls, fading."""

import pickle
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator

from fbtwsvm import FBTWSVM
from fbtwsvm.features import FourierFeatures, NystroemFeatures

KEEP_ALL = {"accept": "all", "memory": None, "warm_up": 1, "decision": "value"}


def clouds(n=240, n_classes=3, n_columns=3, seed=0, spread=1.0):
    """Return overlapping clouds in shuffled order."""
    random = np.random.default_rng(seed)
    y = random.integers(0, n_classes, n)
    X = random.normal(0.0, spread, size=(n, n_columns)) + random.normal(0.0, 2.0, size=(n_classes, n_columns))[y]
    return X, y


def fourier(X, n_components=25, seed=0):
    """Return a map that is the same for every model."""
    return FrozenEstimator(FourierFeatures(gamma=0.1, n_components=n_components, random_state=seed).fit(X))


def stream(model, X, y, size, **arguments):
    for first in range(0, len(y), size):
        chunk = slice(first, first + size)
        model.partial_fit(X[chunk], y[chunk], **{name: value[chunk] for name, value in arguments.items()})
    return model


@settings(max_examples=25, deadline=None)
@given(
    size=st.integers(1, 120),
    n_classes=st.integers(2, 4),
    seed=st.integers(0, 100),
    membership=st.sampled_from(["fuzzy", "none"]),
)
def test_everything_kept_equals_fit(size, n_classes, seed, membership):
    """accept="all", nothing forgotten, a fixed map: the planes of fit, whatever the chunks."""
    X, y = clouds(150, n_classes, seed=seed)
    weights = np.random.default_rng(seed).uniform(0.5, 2.0, len(y))
    model = FBTWSVM(feature_map=fourier(X), tol=1e-11, max_iter=100_000, membership=membership, **KEEP_ALL)
    batch = clone(model).fit(X, y, sample_weight=weights)
    stream(model, X, y, size, sample_weight=weights).settle()
    np.testing.assert_allclose(model.planes_, batch.planes_, atol=1e-4)
    np.testing.assert_array_equal(model.predict(X), batch.predict(X))


@pytest.mark.parametrize("decision", ["calibrated", "value", "distance"])
def test_every_row_counts_towards_the_moments(decision):
    X, y = clouds(300)
    model = FBTWSVM(gamma=0.1, n_components=20, feature_map="fourier", warm_up=50, memory=10, decision=decision)
    stream(model, X, y, 60).settle()
    member = model._learner.members[0]
    for k, label in enumerate(model.classes_):
        rows = model._mapping.rows(X[y == label])
        np.testing.assert_allclose(member.moments.grams[k], rows.T @ rows, atol=1e-8)
        np.testing.assert_allclose(member.moments.sums[k], rows.sum(axis=0), atol=1e-8)


def test_small_chunks_do_not_matter_at_all():
    """Below a hundred rows every way of cutting gives the same model."""
    X, y = clouds(400)
    model = FBTWSVM(gamma=0.1, n_components=20, warm_up=60, random_state=0, tol=1e-9)
    whole = stream(clone(model), X, y, 1).planes_
    for size in (7, 10, 50):
        np.testing.assert_allclose(stream(clone(model), X, y, size).planes_, whole, atol=1e-6)


@pytest.mark.parametrize("memory", [5, 20])
@pytest.mark.parametrize("size", [1, 30, 250])
def test_memory_is_a_hard_limit(memory, size):
    X, y = clouds(500, spread=3.0)
    model = stream(FBTWSVM(gamma=0.1, n_components=20, warm_up=50, memory=memory, second_look=7), X, y, size).settle()
    kept = model._learner.members[0].kept
    assert np.bincount(kept.labels[~kept.second]).max() <= memory
    assert np.bincount(kept.labels[kept.second], minlength=1).max() <= 7
    assert model.memory_report().forgotten[0] > 0


def test_settled_planes_have_their_gap():
    X, y = clouds(600, spread=2.0)
    model = stream(FBTWSVM(gamma=0.1, n_components=30, warm_up=100, memory=15), X, y, 70).settle()
    assert model.duality_gap_.max() <= model.tol


def test_condensed_rows_still_push():
    """With condensing, a small memory gives nearly the planes of a large one; dropping the rows instead does not."""
    X, y = clouds(2000, 2, spread=2.5, seed=3)
    options = {"gamma": 0.05, "n_components": 25, "warm_up": 100, "decision": "value", "random_state": 0}
    whole = stream(FBTWSVM(memory=None, **options), X, y, 100).settle().planes_
    small_model = stream(FBTWSVM(memory=30, **options), X, y, 100).settle()
    assert small_model._learner.members[0].gone.frozen.any()
    error = np.linalg.norm(small_model.planes_ - whole) / np.linalg.norm(whole)
    assert error < 0.15
    small_model._learner.members[0].gone.frozen[:] = 0.0
    small_model._learner.members[0].moved[:] = True
    dropped = small_model.settle().planes_
    assert np.linalg.norm(dropped - whole) / np.linalg.norm(whole) > 2 * error


def test_one_class_then_more_in_any_order():
    X, y = clouds(400, 4)
    order = np.argsort(np.array([2, 0, 3, 1])[y], kind="stable")
    model = FBTWSVM(gamma=0.1, n_components=30, warm_up=20, feature_map="fourier")
    model.partial_fit(X[order[:5]], y[order[:5]])
    assert set(model.predict(X)) == {y[order[0]]}
    assert model.predict_proba(X[:3]).tolist() == [[1.0]] * 3
    for first in range(5, len(y), 45):
        chunk = order[first : first + 45]
        model.partial_fit(X[chunk], y[chunk])
        assert (np.diff(model.classes_) > 0).all()
    assert model.classes_.tolist() == [0, 1, 2, 3]
    assert model.score(X, y) > FBTWSVM(gamma=0.1).fit(X, y).score(X, y) - 0.05


def test_a_new_class_leaves_the_others_alone():
    X, y = clouds(500, 4)
    old = y != 1
    model = stream(FBTWSVM(gamma=0.1, n_components=30, warm_up=50, feature_map="fourier"), X[old], y[old], 100).settle()
    before = model.planes_.copy()
    model.partial_fit(X[y == 1][:40], y[y == 1][:40])
    others = np.ix_([0, 2, 3], [0, 2, 3])
    np.testing.assert_array_equal(model.planes_[others], before)
    assert model.planes_[1, 0].any()
    assert model.planes_[0, 1].any()


def test_strings_and_data_frames_on_a_stream():
    pandas = pytest.importorskip("pandas")
    X, y = clouds(200)
    frame, names = pandas.DataFrame(X, columns=["a", "b", "c"]), np.array(["one", "two", "zebra"])[y]
    model = stream(FBTWSVM(gamma=0.1, n_components=20, warm_up=30), frame, names, 40)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert set(model.predict(frame)) <= {"one", "two", "zebra"}
    with pytest.raises(ValueError, match="another kind"):
        model.partial_fit(frame[:2], [0, 1])


def test_sparse_rows_on_a_stream():
    import scipy.sparse as sp

    X, y = clouds(300)
    options = {"gamma": 0.1, "n_components": 20, "warm_up": 50, "random_state": 0}
    dense = stream(FBTWSVM(**options), X, y, 60)
    sparse = stream(FBTWSVM(**options), sp.csr_matrix(X), y, 60)
    assert (sparse.predict(sp.csr_matrix(X)) == dense.predict(X)).mean() > 0.97


def test_warm_up_is_the_same_whatever_the_chunks():
    X, y = clouds(400)
    model = FBTWSVM(n_components=30, warm_up=150, random_state=0)
    gammas = {stream(clone(model), X, y, size).gamma_ for size in (1, 64, 150, 400)}
    assert len(gammas) == 1


def test_predictions_during_the_warm_up():
    X, y = clouds(200)
    model = FBTWSVM(warm_up=1000)
    with pytest.raises(Exception, match="not fitted"):
        model.predict(X)
    for first in range(0, 200, 10):
        model.partial_fit(X[first : first + 10], y[first : first + 10])
        assert model.predict(X[:5]).shape == (5,)
    assert model._learner is None
    assert model.score(X, y) > 0.8


def test_fit_goes_on_and_fit_resets():
    X, y = clouds(300)
    model = FBTWSVM(gamma=0.1, random_state=0, n_components=40).fit(X[:200], y[:200])
    assert model.partial_fit(X[200:], y[200:])._learner.clock == 300
    fresh = FBTWSVM(gamma=0.1, random_state=0, n_components=40).fit(X[:100], y[:100])
    np.testing.assert_array_equal(model.fit(X[:100], y[:100]).planes_, fresh.planes_)
    assert vars(model).keys() == vars(fresh).keys()


def test_fit_and_then_chunks_equal_chunks():
    X, y = clouds(300)
    options = {"feature_map": fourier(X), "tol": 1e-8, **KEEP_ALL}
    both = FBTWSVM(**options).fit(X[:200], y[:200]).partial_fit(X[200:], y[200:]).settle()
    np.testing.assert_allclose(both.planes_, FBTWSVM(**options).fit(X, y).planes_, atol=1e-4)


def state(model):
    """Return everything a model holds, as bytes."""
    return pickle.dumps({name: vars(model)[name] for name in sorted(vars(model))})


BAD_CALLS = {
    "columns": lambda X, y: {"X": X[:, :2], "y": y},
    "nan": lambda X, y: {"X": np.where(X > 1e9, X, np.nan), "y": y},
    "lengths": lambda X, y: {"X": X, "y": y[:-1]},
    "weights": lambda X, y: {"X": X, "y": y, "sample_weight": -np.ones(len(y))},
    "ids": lambda X, y: {"X": X, "y": y, "ids": ["same"] * len(y)},
    "classes": lambda X, y: {"X": X, "y": y, "classes": [0]},
}


@pytest.mark.parametrize("bad", BAD_CALLS)
@pytest.mark.parametrize("seen", [20, 200])
def test_a_bad_chunk_changes_nothing(bad, seen):
    X, y = clouds(300)
    model = stream(FBTWSVM(gamma=0.1, n_components=20, warm_up=60), X[:seen], y[:seen], 20)
    before = state(model)
    with pytest.raises(ValueError, match=r".+"):
        model.partial_fit(**BAD_CALLS[bad](X[seen : seen + 50], y[seen : seen + 50]))
    assert state(model) == before


@pytest.mark.parametrize("place", ["learn_rows", "settle", "solve_features", "forget"])
@pytest.mark.parametrize("size", [1, 5, 120])
@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_ctrl_c_changes_nothing(place, size, decay, monkeypatch):
    """An interrupt anywhere within a call, and the call that follows learns as if nothing had happened."""
    X, y = clouds(500)
    model = stream(FBTWSVM(gamma=0.1, n_components=15, warm_up=60, decay=decay, random_state=0), X[:230], y[:230], 23)
    before, twin = state(model), pickle.loads(pickle.dumps(model))
    module = __import__("fbtwsvm.online.member", fromlist=["incremental"])
    owner = module.Incremental if place == "settle" else module
    original, calls = getattr(owner, place), []

    def interrupted(*arguments, **options):
        result = original(*arguments, **options)
        calls.append(place)
        raise KeyboardInterrupt if len(calls) == 1 else AssertionError
        return result

    chunks = [slice(first, first + size) for first in range(230, 480, size)]
    monkeypatch.setattr(owner, place, interrupted)
    learned = 0
    for chunk in chunks:
        try:
            model.partial_fit(X[chunk], y[chunk])
        except KeyboardInterrupt:
            break
        before = state(model)
        learned += 1
    monkeypatch.undo()
    assert calls
    assert state(model) == before
    for chunk in chunks[:learned]:
        twin.partial_fit(X[chunk], y[chunk])
    for chunk in chunks[learned:]:
        model.partial_fit(X[chunk], y[chunk])
        twin.partial_fit(X[chunk], y[chunk])
    np.testing.assert_array_equal(model.planes_, twin.planes_)


@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_predict_never_changes_the_model(decay):
    X, y = clouds(300)
    model = stream(FBTWSVM(gamma=0.1, n_components=20, warm_up=60, decay=decay), X, y, 35)
    before = state(model)
    for method in (model.predict, model.decision_function, model.predict_proba):
        method(X)
    model.memory_report()
    assert state(model) == before


def test_predict_from_several_threads():
    X, y = clouds(600)
    model = stream(FBTWSVM(gamma=0.1, n_components=20, warm_up=60), X, y, 100)
    expected, wrong = model.predict(X), []

    def ask():
        for _ in range(20):
            if (model.predict(X) != expected).any():
                wrong.append(True)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("options", [{}, {"decay": "auto"}, {"half_life": 50.0}])
def test_a_pickled_model_goes_on_as_if_never_stopped(options):
    X, y = clouds(500)
    model = stream(FBTWSVM(gamma=0.1, n_components=20, warm_up=60, random_state=0, **options), X[:300], y[:300], 17)
    twin = pickle.loads(pickle.dumps(model))
    for one in (model, twin):
        stream(one, X[300:], y[300:], 17)
    np.testing.assert_array_equal(model.planes_, twin.planes_)
    np.testing.assert_array_equal(model.predict_proba(X), twin.predict_proba(X))


def test_fading_forgets_the_old_and_keeps_absent_classes():
    X, y = clouds(3000, 3)
    turned = np.where(y == 0, 1, np.where(y == 1, 0, 2))
    model = FBTWSVM(gamma=0.1, n_components=40, warm_up=100, half_life=100)
    stream(model, X[:1000], y[:1000], 50)
    two = np.flatnonzero(y != 2)
    two = two[two >= 1000]
    stream(model, X[two], turned[two], 50)
    assert model.score(X[two], turned[two]) > 0.8
    third = X[y == 2]
    assert (model.predict(third) == 2).mean() > 0.5  # not seen for some 1,300 rows
    member = model.settle()._learner.members[0]
    assert (member.moments.counts / member.rise > 5).all()
    assert (member.kept.weights / member.rise > 1e-5).all()


def test_fading_weighs_every_row_by_its_age():
    """The moments of a fading stream are those of rows weighted by decay^age, after as many rows as overflow once."""
    X, y = clouds(900, 2)
    decay = 0.98
    model = FBTWSVM(gamma=0.1, n_components=10, warm_up=50, decay=decay, feature_map="fourier", random_state=0)
    stream(model, X, y, 30).settle()
    member = model._learner.members[0]
    assert member.rise < 1e7
    weights = decay ** np.arange(len(y) - 1.0, -1.0, -1.0)
    for k in range(2):
        rows = model._mapping.rows(X[y == k])
        expected = (rows * weights[y == k][:, None]).T @ rows
        np.testing.assert_allclose(member.moments.grams[k] / member.rise, expected, atol=1e-7)


def test_decay_auto_follows_a_sudden_change():
    X, y = clouds(3000, 2)
    changed = y.copy()
    changed[1500:] = 1 - y[1500:]
    scores = {}
    for decay in (1.0, "auto"):
        model = FBTWSVM(gamma=0.1, n_components=30, warm_up=100, decay=decay, random_state=0)
        stream(model, X[:2500], changed[:2500], 10)
        scores[decay] = model.score(X[2500:], changed[2500:])
    assert scores["auto"] > 0.85
    assert scores["auto"] > scores[1.0] + 0.05


class Alarm:
    """A drift detector that rings once, after so many rows."""

    def __init__(self, after):
        self.left, self.drift_detected = after, False

    def update(self, error):
        """Count a row."""
        self.left -= 1
        self.drift_detected = self.left == 0


def test_drift_fades_fast():
    X, y = clouds(600, 2)
    model = FBTWSVM(gamma=0.1, n_components=20, warm_up=100, drift_detector=Alarm(250), random_state=0)
    stream(model, X, y, 50).settle()
    member = model._learner.members[0]
    # 250 rows tested after the warm-up: what came before the sixth chunk has a tenth of its weight.
    assert model._learner.drifts == [300]
    assert member.moments.counts.sum() / member.rise == pytest.approx(300 + 0.1 * 300)
    assert model.drift_detector.left == 250


def test_balanced_classes_on_a_stream():
    X, y = clouds(1500, 2, spread=2.5)
    rare = np.flatnonzero((y == 0) | (np.arange(len(y)) % 15 == 0))
    X, y = X[rare], y[rare]
    options = {"feature_map": fourier(X), "tol": 1e-7, "class_weight": "balanced", **KEEP_ALL}
    batch = FBTWSVM(**options).fit(X, y)
    model = stream(FBTWSVM(**options), X, y, 80).settle()
    assert np.linalg.norm(model.planes_ - batch.planes_) < 0.02 * np.linalg.norm(batch.planes_)
    recall = (model.predict(X[y == 1]) == 1).mean()
    assert recall > (stream(FBTWSVM(**{**options, "class_weight": None}), X, y, 80).predict(X[y == 1]) == 1).mean()


def test_a_stream_sorted_by_class_gets_new_landmarks():
    X, y = clouds(1500, 5, n_columns=4, seed=2)
    order = np.argsort(y, kind="stable")
    model = FBTWSVM(gamma=0.3, n_components=60, warm_up=100, random_state=0)
    stream(model, X[order], y[order], 50)
    assert model._learner.watch.since > 300  # renewed, and not at once
    batch = FBTWSVM(gamma=0.3, n_components=60, random_state=0).fit(X, y)
    assert model.score(X, y) > batch.score(X, y) - 0.06


def test_a_renewed_map_says_nearly_the_same():
    X, y = clouds(800, 3)
    model = stream(FBTWSVM(gamma=0.1, n_components=100, warm_up=200, decision="value", random_state=0), X, y, 100)
    before, answers = model._mapping, model.predict(X)
    learner = model._learner.copy()
    chunk = model._chunk(model._check_stream(X[:100], y[:100], None, None, None))
    learner._renew(chunk)
    assert not learner.mapping.same_as(before)
    member = learner.members[0]
    renewed = learner.decision.winners(learner.mapping.rows(X), member.planes)
    assert (model.classes_[renewed] == answers).mean() > 0.97
    assert all(np.linalg.eigvalsh(gram).min() > -1e-8 for gram in member.moments.grams)


@pytest.mark.parametrize("accept", ["inside", "outside"])
def test_bounds_of_the_last_cold_solve_decide(accept):
    X, y = clouds(300, 2)
    model = FBTWSVM(gamma=0.1, n_components=20, warm_up=100, feature_map="fourier", accept=accept, second_look=0)
    model.set_params(statistics="kept", decision="distance", memory=None, random_state=0)
    stream(model, X[:100], y[:100], 100)
    member = model._learner.members[0]
    low, high = member.bounds[..., 0], member.bounds[..., 1]
    assert low[0, 1] <= -1.0
    rows = model._mapping.rows(X[100:101])
    own = int(y[100])
    gradient = -(rows @ member.planes[1 - own, own]).item() - 1.0
    inside = low[1 - own, own] < gradient < high[1 - own, own]
    kept = len(member.kept)
    model.partial_fit(X[100:101], y[100:101]).settle()
    assert len(model._learner.members[0].kept) == kept + (inside == (accept == "inside"))


def test_forgotten_rows_leave_the_gram_matrices_of_the_paper():
    X, y = clouds(600, 3)
    model = FBTWSVM(gamma=0.1, n_components=20, feature_map="fourier", warm_up=100, forget_after=1, second_look=0)
    model.set_params(statistics="kept", accept="inside", decision="distance", memory=None, random_state=0)
    stream(model, X, y, 100).settle()
    member = model._learner.members[0]
    assert len(member.kept) < 500
    for k in range(3):
        rows = member.kept.rows[member.kept.labels == k]
        np.testing.assert_allclose(member.moments.grams[k], rows.T @ rows, atol=1e-8)


def test_a_row_forgotten_d_times_leaves():
    X, y = clouds(400, 2, spread=0.5)
    options = {"gamma": 0.1, "n_components": 20, "warm_up": 50, "second_look": 0, "accept": "all", "memory": None}
    models = [FBTWSVM(forget_after=d, random_state=0, **options) for d in (1, 3, None)]
    kept = [len(stream(model, X, y, 50).settle()._learner.members[0].kept) for model in models]
    assert kept[0] < kept[1] < kept[2] == 400


def test_size_warning():
    X, y = clouds(60)
    model = FBTWSVM(gamma=0.1, n_components=2_000_000, warm_up=50, feature_map="fourier")
    with pytest.warns(ResourceWarning, match="Gram matrices"), pytest.raises(MemoryError):
        model.partial_fit(X, y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"decay": 0.9, "half_life": 5}, "not both"),
        ({"decay": 1.5}, "decay"),
        ({"memory": 0}, "memory"),
        ({"feature_map": "exact"}, "stream"),
        ({"accept": "some"}, "accept"),
        ({"warm_up": 0}, "warm_up"),
    ],
)
def test_parameters_that_cannot_be(options, message):
    X, y = clouds(20)
    with pytest.raises(ValueError, match=message):
        FBTWSVM(**options).partial_fit(X, y)


def test_third_class_against_a_pair_of_prices():
    X, y = clouds(200, 3)
    two = y != 2
    model = FBTWSVM(C=(1.0, 2.0), gamma=0.1, n_components=20, warm_up=50).partial_fit(X[two], y[two])
    before = state(model)
    with pytest.raises(ValueError, match="3 classes"):
        model.partial_fit(X, y)
    assert state(model) == before


def test_new_landmarks_of_a_nystroem_map():
    X, _ = clouds(100)
    first = NystroemFeatures(gamma=0.1, n_components=20, random_state=0).fit(X)
    second = first.with_landmarks(X[:20])
    direct = np.exp(-0.1 * ((X[:20, None] - X[:20]) ** 2).sum(axis=-1))
    mapped = second.transform(X[:20])
    np.testing.assert_allclose(mapped @ mapped.T, direct, atol=1e-6)
    assert first.landmarks_ is not second.landmarks_
