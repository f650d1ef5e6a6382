"""The parts default_*: splits, near-copies, choices that are given again, and what the tables conclude."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

from benchmarks.__main__ import main
from benchmarks.defaults import order, rival, seconds, sets, smote, svc
from benchmarks.harness.data import load
from benchmarks.harness.record import Record
from fbtwsvm import FBTWSVM


def places(rows, among):
    """Return where rows lie among others."""
    return [int(np.flatnonzero((among == row).all(axis=1))[0]) for row in rows]


def test_a_small_set_is_split_again_and_a_large_one_keeps_its_split(small_data, monkeypatch):
    own = load("mnist")
    every = np.concatenate([own[0], own[2]])
    first, other = sets.split("mnist", 0), sets.split("mnist", 1)
    in_order = places(sets.split("mnist", 0, in_order=True).X, every)
    assert in_order == sorted(places(first.X, every)) != sorted(places(other.X, every))
    assert sorted(in_order + places(first.X_test, every)) == list(range(1_200))
    assert len(first.y) == 900
    monkeypatch.setattr(sets, "ENOUGH", 300)
    assert places(sets.split("mnist", 1).X, every) == list(range(900))


def test_rows_made_by_smote_lie_between_near_rows_of_their_class():
    random = np.random.default_rng(0)
    X, y = np.column_stack([random.normal(size=60), np.repeat([0.0, 1.0], [50, 10])]), np.repeat([0, 1], [50, 10])
    filled, labels = smote.fill_up(X, y, random)
    np.testing.assert_array_equal(filled[:60], X)
    assert (labels == 0).sum() == (labels == 1).sum() == 50
    np.testing.assert_allclose(filled[60:, 1], 1.0)
    assert X[50:, 0].min() <= filled[60:, 0].min() < filled[60:, 0].max() <= X[50:, 0].max()


@pytest.mark.parametrize("parameters", [{}, {"feature_map": "nystroem", "n_components": 60}])
def test_choices_given_are_the_same_model(parameters):
    X, y = load_digits(n_class=3, return_X_y=True)
    X, y = np.concatenate([X, X[:5]]), np.concatenate([y, y[:5]])  # equal rows count once
    model = FBTWSVM(**parameters, random_state=0).fit(X, y)
    given = FBTWSVM(**seconds.choices_of(model, X, y), random_state=0).fit(X, y)
    np.testing.assert_array_equal(given.decision_function(X), model.decision_function(X))


def test_an_order_that_is_too_far_is_named(tmp_path, capsys):
    record = Record(tmp_path / "a.csv", order.COLUMNS)
    far = {"as given": [-0.6, -0.6], "by first column": [-0.4, -0.4], "by class": [-3.0, 1.0]}  # far, near, uncertain
    for name, differences in {order.SHUFFLED: [0.0, 0.0], **far}.items():
        for seed, difference in enumerate(differences):
            record.add(dataset="dna", order=name, seed=seed, accuracy=90 + difference)
    order.report_orders(record, ["dna"])
    assert "Too far from shuffled rows: dna as given (wanted" in capsys.readouterr().out


def test_a_set_far_below_the_svc_is_named(tmp_path, capsys):
    own, theirs = Record(tmp_path / "a.csv", svc.COLUMNS), Record(tmp_path / "b.csv", rival.COLUMNS)
    for name, untuned, tuned in (("dna", (-2.0, -1.8), (0.2, 0.0)), ("usps", (-3.0, 1.0), (-0.3, -0.5))):
        theirs.add(dataset=name, seed=0, accuracy=90.0, tuning_rows=5)
        for method, differences in ((svc.UNTUNED, untuned), (svc.TUNED, tuned)):
            for seed, difference in enumerate(differences):
                own.add(dataset=name, method=method, seed=seed, accuracy=90 + difference, cpu_seconds=1.0)
    for method, conclude in ((svc.UNTUNED, svc.conclude_untuned), (svc.TUNED, svc.conclude_tuned)):
        conclude(svc.report_svc(own, method, theirs, ["dna", "usps"], 2))
    found = capsys.readouterr().out
    assert "-1.45 on average" in found
    assert "two standard errors: dna (wanted" in found
    assert "on 1 of 2 sets" in found
    assert "deficit is 0.40 points, on usps" in found


def test_the_svc_is_kept_when_a_run_resumes(small_data, tmp_path, monkeypatch, capsys):
    arguments = ["default_svc", "default_cv", "default_time", "--quick", "--out", str(tmp_path / "out")]
    main(arguments)
    before = capsys.readouterr().out
    for module, name in ((rival, "tuned_svc"), (svc, "ours"), (seconds, "fit_timed")):
        monkeypatch.setattr(module, name, None)
    main([*arguments, "--resume"])
    assert capsys.readouterr().out == before
