"""An interrupt at any place leaves the model as it was."""

import linecache
import os
import pickle
import signal
import sys
import threading
import time
from copy import copy
from importlib import import_module

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from fbtwsvm import FBTWSVM, FBTWSVMCV
from fbtwsvm.classifier import model_of
from fbtwsvm.online.one_row import OneRow
from helpers import FOURIER, Every, clouds, fourier, state, stream

X = np.random.default_rng(0).normal(size=(30, 3))


Y = np.arange(30) % 2


def test_an_interrupt_of_fit_leaves_the_model_as_it_was(monkeypatch):
    model = FBTWSVM().fit(X, Y)
    before = pickle.dumps(model)

    def interrupt(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("fbtwsvm.classifier.fit_rows", interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(np.hstack([X, X]), np.arange(30) % 3)
    assert pickle.dumps(model) == before


PLACES = {
    "learn_rows": "model", "learn_row": "one_row", "resolve": "model", "solve_features": "resolve",
    "forget": "resolve",
}  # fmt: skip


@pytest.mark.parametrize(
    ("place", "size"),
    [(place, 1) for place in PLACES if place != "learn_rows"]
    + [(place, size) for place in PLACES for size in (5, 120) if place != "learn_row"],
)
@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_ctrl_c_changes_nothing(place, size, decay, monkeypatch):
    """An interrupt anywhere within a call, and the call that follows learns as if nothing had happened."""
    X, y = clouds(500)
    model = stream(FBTWSVM(gamma=0.1, n_components=15, warm_up=60, decay=decay, random_state=0), X[:230], y[:230], 23)
    before, twin = state(model), pickle.loads(pickle.dumps(model))
    owner, calls = import_module(f"fbtwsvm.online.{PLACES[place]}"), []
    original = getattr(owner, place)

    def interrupted(*arguments, **options):
        original(*arguments, **options)
        calls.append(place)
        raise KeyboardInterrupt if len(calls) == 1 else AssertionError

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


def test_an_interrupt_after_a_drift(monkeypatch):
    X, y = clouds(400, 2)
    model = stream(FBTWSVM(drift_detector=Every(30), half_life=200.0, warm_up=100, **FOURIER), X[:129], y[:129], 1)
    before = state(model)

    def stop(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("fbtwsvm.online.model.learn_rows", stop)
    with pytest.raises(KeyboardInterrupt):
        model.partial_fit(X[129:130], y[129:130])
    assert state(model) == before


FULL = bool(os.environ.get("FBTWSVM_FULL"))


def ready(**options):
    """Return a stream of 230 rows, and the rows and labels that come next."""
    X, y = clouds(500)
    plain = {"gamma": 0.1, "n_components": 15, "warm_up": 60, "random_state": 0}
    model = FBTWSVM(**{**plain, **options})
    return stream(model, X[:230], y[:230], 23, ids=np.arange(230)), X[230:], y[230:]


def contents(model):
    """Return a hash of all that a model holds: of the values, not of which objects are shared."""
    return joblib.hash(vars(model))


def learn(size):
    return lambda model, X, y: model.partial_fit(X[:size], y[:size], ids=np.arange(1000, 1000 + size))


CALLS = {
    "one row": learn(1),
    "one row more": learn(1),
    "a few rows": learn(5),
    "many rows": learn(200),
    "a new class": lambda model, X, y: model.partial_fit(X[:3], y[:3] + 1, ids=range(1000, 1003)),
    "settle": lambda model, X, y: model.settle(),
    "unlearn": lambda model, X, y: model.unlearn(*(part[:20] for part in clouds(500)), ids=range(20)),
    "merge": lambda model, X, y: model.merge(
        FBTWSVM(feature_map=model.feature_map, warm_up=60).partial_fit(X[:90], y[:90])
    ),
    "fit": lambda model, X, y: model.fit(X, y),
}


def model_for(name, decay):
    if name != "merge":
        return ready(decay=decay)
    return ready(feature_map=fourier(clouds(500)[0]), gamma="auto", n_components="auto", random_state=None)


def collect(name, model):
    """Let a model have collected the arguments of the compiled loops, or not: that is what an earlier row leaves."""
    stream = model_of(model)
    stream.one_row = OneRow(stream) if name == "one row more" else None


class Interrupt:
    """Raise KeyboardInterrupt before one line of the package: at the `point`-th line that a call executes.

    After the assignment that finishes a call there are only lines like `return self`, where Python handles no signal.
    """

    def __init__(self, point):
        self.point, self.count = point, 0

    def __enter__(self):
        self.before = sys.gettrace()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *_):
        sys.settrace(self.before)

    def trace(self, frame, event, argument):
        """Count the lines of the package."""
        path = frame.f_code.co_filename
        if "/fbtwsvm/" not in path or path.endswith("_threads.py"):  # no signal comes between a lock and its block
            return None
        line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
        if event == "line" and line not in ("return self", "return result"):
            self.count += 1
            if self.count == self.point:
                sys.settrace(None)
                raise KeyboardInterrupt
        return self.trace


@pytest.mark.parametrize("decay", [1.0, "auto"])
@pytest.mark.parametrize("name", ["one row", "one row more", "a few rows", "a new class", "unlearn", "settle"])
def test_a_call_that_is_interrupted_at_any_line_has_not_been_done(name, decay):
    """Afterwards the model is as it was, and the same call, with the same ids, does what it would have done."""
    model, X, y = model_for(name, decay)
    saved = pickle.dumps(model)
    before, answers = contents(model), model.predict_proba(X[:20])
    for done in [pickle.loads(saved) for _ in range(2)]:  # the first call also fills caches
        if name.startswith("one"):
            collect(name, done)
        with Interrupt(0) as counter:
            CALLS[name](done, X, y)
    points = np.arange(1, counter.count + 1)
    n_some = 500 if FULL else 40
    if len(points) > n_some + 20:
        points = np.unique([*points[:5], *np.random.default_rng(0).choice(points, n_some), *points[-15:]])
    for point in points:
        if name.startswith("one"):
            collect(name, model)
        try:
            with Interrupt(point):
                CALLS[name](model, X, y)
        except KeyboardInterrupt:
            pass
        else:  # a copy needs a few lines fewer
            assert point > 0.9 * counter.count
            break
        np.testing.assert_array_equal(model.predict_proba(X[:20]), answers)
        assert contents(model) == before, f"point {point} of {counter.count}"
    else:
        CALLS[name](model, X, y)
    np.testing.assert_array_equal(model.planes_, done.planes_)
    np.testing.assert_array_equal(model.predict_proba(X), done.predict_proba(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("name", ["many rows", "a new class", "settle", "unlearn", "merge", "fit"])
def test_signals_at_random_moments(name, n_jobs):
    """Ctrl-C, also in compiled code and beside its threads, is a KeyboardInterrupt and changes nothing."""
    model, X, y = model_for(name, 1.0)
    if name != "merge":
        model.set_params(n_jobs=n_jobs)
    saved, before = pickle.dumps(model), contents(model)
    length, random, count = 1.0, np.random.default_rng(0), 0
    for _ in range(600 if FULL else 60):
        start = time.perf_counter()
        if interrupted(random.uniform(1e-5, length), lambda model=model: CALLS[name](model, X, y)):
            count += 1
            assert contents(model) == before
        else:
            length = min(length, time.perf_counter() - start)  # the first call of a process also fills caches
            model = pickle.loads(saved)
            before = contents(model)
        if count == (200 if FULL else 6):
            return
    pytest.fail(f"only {count} signals came before the end of a call of {length:.4f} s")


def test_signals_while_rows_come_one_by_one():
    """A row whose call was interrupted can be given again, and none is lost or learned twice."""
    model, X, y = ready()
    whole, random = stream(pickle.loads(pickle.dumps(model)), X, y, 1), np.random.default_rng(0)
    count = 0

    def go_on():
        for row in range(model.inspect().seen - 230, len(y)):
            model.partial_fit(X[[row]], y[[row]])

    while interrupted(random.uniform(1e-4, 2e-3 if FULL else 5e-3), go_on):
        count += 1
    assert count
    np.testing.assert_array_equal(model.planes_, whole.planes_)


def interrupted(seconds, call):
    """Call something, with a signal like Ctrl-C after some time; return whether it was interrupted."""
    finished = over = False

    def ring(number, frame):
        if not over:
            raise KeyboardInterrupt

    handler = signal.signal(signal.SIGALRM, ring)
    limit, _ = signal.getitimer(signal.ITIMER_REAL)  # of the test, where one is set
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)  # the clock of the kernel: a thread waits for its turn
        call()
        finished = True  # no signal is handled between the return of a call and this
    except KeyboardInterrupt:
        over = True
    finally:
        over = True
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, limit)
    return not finished


def test_ctrl_c_of_a_search():
    X, y = clouds(300)
    for search in (FBTWSVMCV(cv=2), GridSearchCV(FBTWSVM(gamma=0.1), {"C": np.logspace(-2, 2, 100)}, cv=2)):
        for seconds in (0.01, 0.05):
            assert interrupted(seconds, lambda search=search: search.fit(np.tile(X, (3, 1)), np.tile(y, 3)))
        assert not hasattr(search, "best_estimator_")


def test_a_solve_that_never_ends_can_be_interrupted():
    """Endless sweeps, as a hostile parameter asks for: the compiled loops return often enough."""
    X, y = clouds(400, 2, spread=4.0)
    model = FBTWSVM(gamma=0.1, C=1e6, tol=1e-300, max_iter=2**62)
    start = time.perf_counter()
    assert interrupted(1.0, lambda: model.fit(X, y))
    assert time.perf_counter() - start < 30.0


def test_copies_learn_on_their_own():
    model, X, y = ready(half_life=300.0)
    other, before = copy(model), contents(model)
    other.partial_fit(X[:1], y[:1])
    assert contents(model) == before
    model.partial_fit(X[1:60], y[1:60], ids=range(1000, 1059))
    assert (model.inspect().seen, other.inspect().seen) == (289, 231)


@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_predictions_beside_a_learner_are_those_before_or_after_a_call(decay):
    """Classes come and go while another thread predicts: each answer is that of one model."""
    model, X, y = ready(decay=decay)
    probes, answers, found, failed, stop = X[-30:], [], [], [], threading.Event()

    def read():
        while not stop.is_set():
            try:
                found.append(model.predict_proba(probes))
            except BaseException as error:
                failed.append(error)
                return

    answers.append(model.predict_proba(probes))
    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    try:
        for step in range(40):
            if step % 8 == 3:
                model.partial_fit(X[[step]], [7], ids=[f"seven {step}"])
            elif step % 8 == 6:
                model.unlearn(X[[step - 3]], [7], ids=[f"seven {step - 3}"])
            else:
                model.partial_fit(X[[step]], y[[step]], ids=[f"row {step}"])
            answers.append(model.predict_proba(probes))
    finally:
        stop.set()
        for reader in readers:
            reader.join()
    assert not failed
    assert len(found) > 20
    for one in found:
        same = [np.abs(one - answer).max() for answer in answers if answer.shape == one.shape]
        assert min(same) < 1e-9
