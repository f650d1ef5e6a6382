"""Going on after a fit, from its rows or from sums over them: partial_fit, unlearn, merge, files."""

import pickle
import tracemalloc
from copy import deepcopy

import numpy as np
import pytest
import scipy.sparse as sp

from fbtwsvm import FBTWSVM, load, save
from fbtwsvm._arrays import array_bytes
from fbtwsvm.classifier import model_of, parameters_of
from fbtwsvm.features import FourierFeatures
from fbtwsvm.online.after_fit import stream_from
from helpers import KEEP_ALL, clouds, fourier

SETTINGS = {
    "plain": {},
    "balanced": {"class_weight": "balanced"},
    "weights": {"class_weight": {0: 3.0}},
    "all kept": {"memory": None},
    "half-life": {"half_life": 200.0},
    "committee": {"decay": "auto"},
    "printed": {"membership": "printed"},
    "no membership": {"membership": "none"},
}


def fitted(X, y, **options):
    return FBTWSVM(**{"gamma": 0.3, "n_components": 30, "random_state": 0, "tol": 1e-8, **options}).fit(X, y)


@pytest.fixture
def sums_only(monkeypatch):
    """Let every fit keep sums, however few rows it has."""
    monkeypatch.setattr("fbtwsvm.batch.fit.keeps_rows", lambda *_: False)


def test_a_fit_keeps_its_rows_or_sums_whichever_is_smaller():
    X, y = clouds(400)
    few, many = fitted(X[:100], y[:100]), fitted(np.tile(X, (100, 1)), np.tile(y, 100))
    assert model_of(few).rows is not None
    assert model_of(few).sums is None
    assert model_of(many).rows is None
    assert model_of(many).sums is not None
    assert many.inspect().seen == 40_000
    assert array_bytes(model_of(many).sums) < X.nbytes * 100


def test_rows_given_twice_are_counted_twice(sums_only):
    X, y = clouds(100)
    model = FBTWSVM(kernel="linear").fit(np.tile(X, (3, 1)), np.tile(y, 3))
    assert model.inspect().seen == 300
    assert model.partial_fit(X[:5], y[:5]).inspect().seen == 305


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS.keys())
def test_planes_are_those_of_the_sums_and_support_rows(options, sums_only):
    """u_ab = -G_a^-1 times the sum of alpha_i h_i, over support rows that are kept and those that are not."""
    X, y = clouds(500)
    model = fitted(X, y, **options)
    for member in stream_from(model_of(model), parameters_of(model)).members:
        for a, b in np.argwhere(~np.eye(member.n_classes, dtype=bool)):
            gram = member.class_factors[a] * member.moments.grams[a] + member.ridge[a] * np.eye(31)
            own = member.kept.labels == b
            total = member.kept.alpha[own, a] @ member.kept.rows[own] + member.forgotten.dual_sums[a, b]
            np.testing.assert_allclose(-np.linalg.solve(gram, total), member.planes[a, b], rtol=1e-6, atol=1e-9)
        if member.policy.memory is not None:
            assert np.bincount(member.kept.labels).max() <= member.policy.memory


@pytest.mark.parametrize("options", SETTINGS.values(), ids=SETTINGS.keys())
def test_a_re_solve_after_a_fit_finds_the_same_planes(options, sums_only):
    X, y = clouds(500)
    model = fitted(X, y, **options)
    stream = stream_from(model_of(model), parameters_of(model))
    before = stream.planes.copy()
    after = stream.resolved().planes
    np.testing.assert_allclose(after, before, atol=1e-3 * np.abs(before).max())


@pytest.mark.parametrize("route", ["rows", "sums"])
def test_going_on_is_about_as_good_as_a_fit_of_all(route, request):
    if route == "sums":
        request.getfixturevalue("sums_only")
    X, y = clouds(2000, spread=1.5)
    X, X_test, y, y_test = X[:1200], X[1200:], y[:1200], y[1200:]
    model = fitted(X[:600], y[:600], tol=1e-3)
    before = model.score(X_test, y_test)
    for first in range(600, 1200, 50):
        model.partial_fit(X[first : first + 50], y[first : first + 50])
    after, every = model.score(X_test, y_test), fitted(X, y, tol=1e-3).score(X_test, y_test)
    assert after > before - 0.02
    assert after > every - 0.03


def test_new_classes_come_after_a_fit(sums_only):
    X, y = clouds(600, 3)
    model = fitted(X[y < 2], y[y < 2])
    model.partial_fit(X[y == 2], y[y == 2])
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.score(X, y) > 0.8


def test_a_saved_fit_goes_on_as_if_never_saved(sums_only, tmp_path):
    X, y = clouds(500)
    model = fitted(X, y)
    save(model, tmp_path / "m.fbt")
    again = load(tmp_path / "m.fbt")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    for one in (model, again):
        one.partial_fit(X[:60] + 0.1, y[:60])
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_fits_of_two_parts_are_merged(sums_only):
    X, y = clouds(600)
    one, other, every = (fitted(X[part], y[part], feature_map=fourier(X)) for part in np.s_[:300, 300:, :])
    merged = one.merge(other)
    assert merged.inspect().seen == 600
    assert (merged.predict(X) == every.predict(X)).mean() > 0.97


def test_fit_and_then_chunks_equal_chunks():
    X, y = clouds(300)
    options = {"feature_map": fourier(X), "tol": 1e-8, **KEEP_ALL}
    both = FBTWSVM(**options).fit(X[:200], y[:200]).partial_fit(X[200:], y[200:]).settle()
    np.testing.assert_allclose(both.planes_, FBTWSVM(**options).fit(X, y).planes_, atol=1e-4)


def test_fit_forgets_what_a_stream_has_learned():
    X, y = clouds(300)
    model = fitted(X[:200], y[:200])
    assert model.partial_fit(X[200:], y[200:]).inspect().seen == 300
    fresh = fitted(X[:100], y[:100])
    np.testing.assert_array_equal(model.fit(X[:100], y[:100]).planes_, fresh.planes_)
    assert vars(model).keys() == vars(fresh).keys()


def test_going_on_keeps_gamma_and_needs_the_given_rows_no_more():
    X, y = clouds(300)
    given = X.copy()
    model = FBTWSVM(n_components=100, random_state=0).fit(given, y)
    model_exact = FBTWSVM(random_state=0).fit(given, y)
    gamma = model_exact.gamma_
    given *= 0.0
    assert model.partial_fit(X[:1], y[:1]).score(X, y) > 0.85
    assert model_exact.partial_fit(X[:1], y[:1]).gamma_ == gamma
    assert model_exact.score(X, y) > 0.85


@pytest.mark.parametrize("options", [{}, {"feature_map": "fourier", "n_components": 30}])
def test_unlearn_after_a_fit_is_a_fit_without_the_rows(options):
    """The exact kernel has only its gamma left of them; a map that does not depend on rows has nothing."""
    X, y = clouds(300)
    model = FBTWSVM(gamma=0.3, random_state=0, tol=1e-10, max_iter=100_000, **options).fit(X, y)
    assert model.unlearn(X[:50], y[:50]).complete
    assert model.inspect().stage == "batch"
    without = FBTWSVM(gamma=0.3, random_state=0, tol=1e-10, max_iter=100_000, **options).fit(X[50:], y[50:])
    np.testing.assert_allclose(model.predict_proba(X), without.predict_proba(X), atol=1e-5)


def test_unlearn_after_a_fit_names_what_remains():
    X, y = clouds(300)
    landmarks = FBTWSVM(n_components=30, gamma="scale", random_state=0).fit(X, y)
    report = landmarks.unlearn(X[:100], y[:100])
    assert set(report.remaining) == {"landmark", "warm_up"}
    assert (report.removed, report.without_trace) == (100, 0)
    with pytest.raises(ValueError, match="never learned"):
        landmarks.unlearn(X[:1], y[:1])


def test_unlearn_after_a_fit_names_a_size_that_was_chosen_by_the_rows():
    """A fit without the rows would have drawn a map of another size."""
    X, y = clouds(900)  # for which a fit takes as many features as a stream
    options = {"gamma": 0.3, "metric": "none", "random_state": 0, "memory": None, "second_look": 10**6}
    given = FourierFeatures(gamma=0.3, n_components=150, random_state=0)
    cases = (("fourier", "auto", {"warm_up"}), ("fourier", 150, set()), (given, "auto", set()))
    for feature_map, n_components, remaining in cases:
        model = FBTWSVM(feature_map=feature_map, n_components=n_components, **options).fit(X, y)
        going_on = deepcopy(model).partial_fit(X[:1] + 0.1, y[:1])
        assert set(model.unlearn(X[:5], y[:5]).remaining) == remaining
        assert ("warm_up" in going_on.unlearn(X[:5], y[:5]).remaining) == ("warm_up" in remaining)


def test_unlearn_by_id_after_a_fit():
    X, y = clouds(100)
    X[1], y[1] = X[0], y[0]
    model = FBTWSVM(gamma=0.3).fit(X, y, ids=[f"row {i}" for i in range(100)])
    assert model.unlearn(X[:1], y[:1], ids=["row 1"]).complete
    with pytest.raises(ValueError, match="never learned"):
        model.unlearn(X[:1], y[:1], ids=["row 1"])
    assert model.inspect().seen == 99


def test_unlearning_all_but_one_class_goes_on_as_a_stream():
    X, y = clouds(200, 2)
    model = FBTWSVM(gamma=0.3).fit(X, y)
    model.unlearn(X[y == 1], y[y == 1])
    assert model.inspect().stage == "stream"
    assert model.classes_.tolist() == [0]


def test_unlearn_from_sums_goes_on_as_a_stream(sums_only):
    X, y = clouds(500)
    model = fitted(X, y, memory=20)
    report = model.unlearn(X[:20], y[:20])
    assert model.inspect().stage == "stream"
    assert model.inspect().seen == 500
    assert report.remaining
    assert model.score(X, y) > 0.8


def test_copies_of_one_fit_are_not_merged():
    X, y = clouds(200)
    model = fitted(X, y, feature_map="fourier")
    one, other = deepcopy(model), pickle.loads(pickle.dumps(model))
    one.partial_fit(X[:5] + 0.1, y[:5])
    with pytest.raises(ValueError, match="count twice"):
        one.merge(other)
    with pytest.raises(ValueError, match="count twice"):
        model.merge(model)


def test_a_loaded_copy_of_a_fit_is_not_merged(tmp_path):
    X, y = clouds(200)
    model = fitted(X, y, feature_map="fourier")
    save(model, tmp_path / "m.fbt")
    with pytest.raises(ValueError, match="count twice"):
        model.merge(load(tmp_path / "m.fbt"))


def test_one_of_many_equal_rows_is_unlearned():
    X, y = np.tile(clouds(60)[0], (80, 1)), np.tile(clouds(60)[1], 80)
    model = FBTWSVM(gamma=0.3, feature_map="fourier", n_components=5, memory=10, random_state=0).fit(X, y)
    assert model.inspect().seen == 4800
    model.unlearn(X[:1], y[:1])
    assert model.inspect().seen == 4799


def test_sparse_rows_are_unlearned_without_making_them_dense():
    random = np.random.default_rng(0)
    columns = random.integers(0, 400_000, size=(300, 5))
    X = sp.csr_matrix((np.ones(1500), (np.repeat(np.arange(300), 5), columns.ravel())), shape=(300, 400_000))
    y = np.arange(300) % 2
    model = FBTWSVM(gamma=0.1).fit(X, y)
    tracemalloc.start()
    model.unlearn(X[:1], y[:1])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * 2**20  # dense, the rows would take 960 MB


def test_an_id_does_not_excuse_another_label_or_other_values():
    X, y = clouds(100)
    model = FBTWSVM(gamma=0.3).fit(X, y, ids=range(100))
    for rows, labels in ((X[:1], (y[:1] + 1) % 3), (X[:1] + 5.0, y[:1])):
        with pytest.raises(ValueError, match="another label or other values"):
            model.unlearn(rows, labels, ids=[0])
    assert model.inspect().seen == 100
