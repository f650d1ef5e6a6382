"""Curves of accuracy against time, the floor, and what the metric gains."""

import re

import numpy as np
import pytest

from benchmarks.accuracy import metric
from benchmarks.accuracy.curves import Curve, crossings
from benchmarks.defaults import rival
from benchmarks.harness.record import Record
from benchmarks.rivals.methods import OURS
from benchmarks.speed.fit import least_work


def test_area_under_steps():
    curve = Curve.of([100.0, 1.0, 10.0], [60.0, 50.0, 40.0])  # a worse setting that takes longer does not count
    assert [curve.at(t) for t in (0.5, 1.0, 50.0, 100.0)] == [-np.inf, 50.0, 50.0, 60.0]
    assert curve.area(1.0, 1000.0) == pytest.approx((50 + 50 + 60) / 3)
    assert curve.area(0.5, 10.0) is None


def test_crossings_name_who_is_ahead_and_by_how_much():
    found = {
        OURS: Curve.of([2.0, 10.0], [60.0, 80.0]),
        "a": Curve.of([1.0, 4.0, 6.0], [50.0, 65.0, 70.0]),
        "b": Curve.of([20.0, 30.0, 40.0], [80.0, 82.0, 82.0]),
    }
    assert crossings(found) == [(1, 2, "a", np.inf), (4, 10, "a", 10.0), (30, 40, "b", 2.0)]


def test_floor_is_the_sum_over_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5)).astype(np.float32)
    y = np.repeat([2, 0, 1], [200, 90, 10])[random.permutation(300)]
    landmarks, normalisation = X[:40].copy(), random.normal(size=(40, 40)).astype(np.float32) / 6
    found = least_work(X, y, landmarks, normalisation, 0.1)
    mapped = np.exp(-0.1 * np.square(X[:, None].astype(float) - landmarks).sum(axis=2)) @ normalisation
    for k in (0, 2):
        np.testing.assert_allclose(found[k], mapped[y == k].T @ mapped[y == k], rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(found[1], mapped[y == 1] @ mapped[y == 1].T, rtol=1e-4, atol=1e-4)  # fewer rows


def test_what_the_metric_gains_is_concluded(tmp_path, capsys):
    record = Record(tmp_path / "a.csv", metric.COLUMNS)
    svc = Record(tmp_path / "b.csv", rival.COLUMNS)
    found = {metric.AUTO: 94.0, metric.NONE: 92.0, metric.TREES: 96.0, metric.FOREST: 95.0, metric.LINES: 80.0}
    for name, shift in (("hpc", 0.0), ("segment", -0.5)):
        for seed in (0, 1):
            for method, accuracy in found.items():
                own = accuracy + (shift if method == metric.AUTO else 0.0)
                cells = {"log_loss": 1.0 - own / 100, "cpu_seconds": 1.0, "rounds": 2}
                record.add(dataset=name, method=method, seed=seed, accuracy=own, **cells)
            svc.add(dataset=name, seed=seed, accuracy=93.0, cpu_seconds=2.0)
    metric.report_tables(record, svc, ["hpc", "segment"], 2)
    printed = capsys.readouterr().out
    assert "trees: hpc (wanted: three of" in printed
    assert re.search(r"\| FBTWSVM\(\) +\| 93.75 +\| 3.00 ", printed)
    assert re.search(r"\| HistGradientBoosting +\| 96.00 +\| 1.00 ", printed)


def test_a_set_that_loses_by_the_metric_is_named(tmp_path, capsys):
    record = Record(tmp_path / "a.csv", metric.COLUMNS)
    for name, lost in (("letter", (0.5, 0.6)), ("usps", (0.0, 0.6))):  # for sure, and by chance
        for seed in (0, 1):
            for method, accuracy in ((metric.AUTO, 90.0 - lost[seed]), (metric.NONE, 90.0)):
                record.add(dataset=name, method=method, seed=seed, accuracy=accuracy, cpu_seconds=1.0, rounds=1)
    metric.report_sets(record, ["letter", "usps"])
    assert "standard errors: letter (wanted: none)" in capsys.readouterr().out
