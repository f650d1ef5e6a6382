"""Test-then-train evaluation: its measures, its snapshots and its progress."""

import re
import sys

import numpy as np
import pytest
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score, precision_recall_fscore_support

from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import Score, chunked, prequential
from helpers import clouds


def test_measures_agree_with_scikit_learn():
    random = np.random.default_rng(0)
    truth, answers = random.integers(0, 4, 500), random.integers(0, 4, 500)
    answers[:300] = truth[:300]
    score = Score(window=100)
    for first in range(0, 500, 37):
        score.add(truth[first : first + 37], answers[first : first + 37])
    accuracy, kappa, temporal, balanced = score.all()
    assert accuracy == pytest.approx((truth == answers).mean())
    assert kappa == pytest.approx(cohen_kappa_score(truth, answers))
    assert balanced == pytest.approx(balanced_accuracy_score(truth, answers))
    repeating = (truth[1:] == truth[:-1]).sum() / 500
    assert temporal == pytest.approx((accuracy - repeating) / (1 - repeating))
    assert score.window()[0] == pytest.approx((truth == answers)[-100:].mean())
    assert score.window()[1] == pytest.approx(cohen_kappa_score(truth[-100:], answers[-100:]))


def test_measures_of_each_class_agree_with_scikit_learn():
    random = np.random.default_rng(0)
    truth, answers = random.choice(["b", "a", "c"], 300), random.choice(["a", "d", "b"], 300)  # c is never the answer
    score = Score(window=10)
    score.add(truth, answers)
    found = score.by_class()
    assert list(found) == ["a", "b", "c", "d"]
    wanted = precision_recall_fscore_support(truth, answers, zero_division=0)
    for measures, numbers in zip(found.values(), zip(*wanted, strict=True), strict=True):
        assert measures == pytest.approx(numbers)


def test_labels_may_be_anything_and_turn_up_late():
    score = Score(window=10)
    score.add(["a", "b"], ["a", "a"])
    score.add(["z"], ["b"])
    assert score.all()[0] == pytest.approx(1 / 3)


def test_rows_are_tested_before_they_are_learned():
    """A model that knows every row it has learned by heart, and no other, has no right answer."""

    class Heart:
        def __init__(self):
            self.seen = {}

        def predict(self, X):
            return np.array([self.seen.get(row.tobytes(), -1) for row in X])

        def partial_fit(self, X, y):
            self.seen |= {row.tobytes(): label for row, label in zip(X, y, strict=True)}

    X, y = clouds(100)
    run = prequential(Heart(), chunked(X, y, 7), every=50).run()
    assert run.snapshots[-1].accuracy == 0.0
    assert run.snapshots[-1].rows == 100
    assert prequential(run.model, chunked(X, y, 7)).run().snapshots[-1].accuracy == 1.0


def test_snapshots_table_and_plot():
    X, y = clouds(1200)
    model = FBTWSVM(gamma=0.1, n_components=30, warm_up=100)
    run = prequential(model, chunked(X, y, 300), window=200, every=300, progress=False)
    seen = [snapshot.rows for snapshot in run]
    assert seen == [300, 600, 900, 1200]
    last = run.snapshots[-1]
    assert last.kept == len(model.memory_report().rows["id"])
    assert last.bytes >= sum(model.memory_report().bytes.values())
    assert last.window_accuracy > 0.7
    assert len(run.table().splitlines()) == 5
    assert "1,200" in run.table()
    assert run.to_dicts()[0]["rows"] == 300
    axes = run.plot()
    assert axes.get_xlabel() == "rows"
    assert [line.get_label() for line in axes.lines] == ["last 200 rows", "all rows so far"]


def test_models_of_scikit_learn_that_want_their_classes_first():
    X, y = clouds(300)
    run = prequential(SGDClassifier(random_state=0), chunked(X, y, 50), classes=[0, 1, 2]).run()
    assert run.snapshots[-1].accuracy > 0.5
    assert run.snapshots[-1].kept == 0


def test_progress_bar(capsys, monkeypatch):
    X, y = clouds(200)
    run = prequential(FBTWSVM(warm_up=300), chunked(X, y, 50), progress=True)
    monkeypatch.setenv("FORCE_COLOR", "1")  # as on a terminal
    assert len(list(run)) == 1
    shown = capsys.readouterr().err
    assert re.search(r"200 rows, [\d,]+ rows/s, accuracy 0\.\d{3}", shown)
    assert "left:" in shown


def test_progress_bar_without_rich(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich.console", None)
    monkeypatch.delitem(sys.modules, "fbtwsvm._progress", raising=False)
    X, y = clouds(50)
    with pytest.raises(ImportError, match="fbtwsvm\\[stream\\]"):
        prequential(FBTWSVM(), chunked(X, y, 50), progress=True).run()


@pytest.mark.parametrize("options", [{"window": 0}, {"every": 0}])
def test_prequential_arguments(options):
    with pytest.raises(ValueError, match="at least 1"):
        prequential(FBTWSVM(), [], **options)


def test_arguments_in_another_order_are_named():
    X, y = clouds(50)
    with pytest.raises(TypeError, match="has no predict and partial_fit"):
        prequential(chunked(X, y, 10), FBTWSVM())
    for arrays in ((X, y), [X, y], X):
        with pytest.raises(TypeError, match=r"such as those of chunked\(X, y, 100\)"):
            prequential(FBTWSVM(), arrays)
    assert prequential(FBTWSVM(), ((X, y),), progress=False).run().rows == 50


def test_chunks_that_cannot_be():
    X, y = clouds(50)
    for size in (0, -1):
        with pytest.raises(ValueError, match="size must be at least 1"):
            chunked(X, y, size)
    with pytest.raises(ValueError, match="50 rows and 40 labels"):
        chunked(X, y[:40], 10)


class Recorder:
    """A model that notes what it is asked and told; it always answers the label that it learned last."""

    def __init__(self):
        self.calls = []

    def predict(self, X):
        """Return the label learned last."""
        self.calls.append(("predict", int(X[0, 0])))
        return np.array([self.last])

    def partial_fit(self, X, y, classes=None):
        """Learn one row."""
        self.calls.append(("learn", int(X[0, 0])))
        self.classes_, self.last = np.arange(10), y[0]
        return self


def delayed(delay, n=6):
    model = Recorder()
    X, y = np.arange(n, dtype=float)[:, None], np.arange(n)
    run = prequential(model, [(X[:4], y[:4]), (X[4:], y[4:])], every=100, delay=delay, progress=False).run()
    return model.calls, run


def test_a_label_that_comes_late_is_learned_when_it_is_known():
    calls, run = delayed(2)
    assert calls == [
        ("learn", 0), ("predict", 3), ("learn", 1), ("predict", 4), ("learn", 2), ("predict", 5),
        ("learn", 3), ("learn", 4), ("learn", 5),
    ]  # fmt: skip
    assert run.rows == 6
    assert run.score.tested == 3  # the first three came before any label was known


def test_no_delay_is_test_then_train():
    calls, _ = delayed(np.arange(1, 7))
    assert calls == [("learn", 0), *(c for i in range(1, 6) for c in (("predict", i), ("learn", i)))]


def test_labels_may_come_in_another_order_and_after_the_end():
    calls, run = delayed([4, 2, 100, 5, 6, 6])
    assert [row for what, row in calls if what == "learn"] == [1, 0, 3, 4, 5, 2]
    assert [row for what, row in calls if what == "predict"] == [2, 3, 4, 5]
    assert run.score.tested == 4


def test_the_answer_of_when_the_row_came_counts():
    X, y = clouds(1200, 2, seed=3)
    y[600:] = 1 - y[600:]
    model = FBTWSVM(gamma=0.1, n_components=30, warm_up=100, half_life=50, random_state=0)
    late = prequential(model, chunked(X, y, 100), delay=300, progress=False).run()
    twin = FBTWSVM(gamma=0.1, n_components=30, warm_up=100, half_life=50, random_state=0)
    answers = []
    for i in range(len(y)):
        if i > 300:
            twin.partial_fit(X[i - 301 : i - 300], y[i - 301 : i - 300])
            answers.append(twin.predict(X[i : i + 1])[0] == y[i])
    assert late.score.tested == len(answers)
    assert late.summary()["accuracy"] == pytest.approx(np.mean(answers))


@pytest.mark.parametrize(
    ("delay", "message"),
    [(-1, "0 or more"), (1.5, "number of rows"), ([1, 1], "row 1 itself"), ("soon", "number of rows")],
)
def test_a_delay_that_cannot_be_is_refused(delay, message):
    with pytest.raises(ValueError, match=message):
        prequential(Recorder(), [], delay=delay)


def test_a_delay_for_fewer_rows_than_there_are():
    with pytest.raises(ValueError, match="3 entries"):
        delayed([1, 2, 3])


def test_a_delay_longer_than_the_stretch_between_snapshots():
    X, y = clouds(600, 2, seed=3)
    model = FBTWSVM(gamma=0.1, n_components=30, warm_up=100, random_state=0)
    run = prequential(model, chunked(X, y, 50), delay=350, every=200, progress=False).run()
    assert [snapshot.rows for snapshot in run.snapshots] == [200, 400, 600]
    assert run.snapshots[-1].accuracy == run.summary()["accuracy"]  # with the labels that came at the end
    assert model.inspect().seen == 600


def test_rows_that_wait_are_copies():
    X, y = clouds(400, 2, seed=3)

    def reused():
        buffer = np.empty((50, X.shape[1]))
        for first in range(0, 400, 50):
            buffer[:] = X[first : first + 50]
            yield buffer, y[first : first + 50]

    models = [FBTWSVM(gamma=0.1, n_components=30, warm_up=100, random_state=0) for _ in range(2)]
    for model, chunks in zip(models, (reused(), chunked(X, y, 50)), strict=True):
        prequential(model, chunks, delay=30, progress=False).run()
    np.testing.assert_array_equal(models[0].predict_proba(X), models[1].predict_proba(X))
