"""The harness, and quick runs of whole parts on small made-up data."""

import numpy as np
import pytest

from benchmarks.__main__ import GROUPS, PARTS, main, parse
from benchmarks.harness import data, job, measure
from benchmarks.harness.record import Record


def results(n):
    for i in range(n):
        yield {"number": i}
    if n == 0:
        raise ValueError("nothing to do")


def missing():
    yield from data.fetch("no such set")


def test_results_come_from_a_process_of_their_own():
    assert job.run_apart(results, {"n": 2}) == [{"status": "ok", "number": 0}, {"status": "ok", "number": 1}]
    (failed,) = job.run_apart(results, {"n": 0})
    assert (failed["status"], failed["why"]) == ("failed", "ValueError: nothing to do")
    assert job.run_apart(missing, {})[0]["status"] == "missing"


def test_results_that_are_there_when_the_time_is_over_count():
    found = job.run_apart(results, {"n": 10**9}, limit=8.0)
    assert found[0]["status"] == "ok"
    assert found[-1] == {"status": "over time", "why": "more than 8 s"}


def test_rows_come_back_as_they_were(tmp_path):
    record = Record(tmp_path / "a.csv", ("name", "seed", "value"))
    record.add(name="x, y", seed=0, value={"C": [1.0, None]})
    record.add(name="z", seed=1, value=np.float64(1 / 3))
    with record.path.open("a") as file:
        file.write("z,2,cut short")
    again = Record(tmp_path / "a.csv", ("name", "seed", "value"), resume=True)
    assert again.rows == record.rows
    assert again.select(name="z") == [again.rows[1]]
    with pytest.raises(ValueError, match="no columns"):
        again.add(colour="red")
    with pytest.raises(SystemExit, match="other columns"):
        Record(tmp_path / "a.csv", ("name",), resume=True)


def test_peak_memory_is_that_above_the_memory_before():
    kept = np.ones(8_000_000)
    assert 60e6 < measure.measured(lambda: np.ones(8_000_000).sum()).peak < 80e6
    assert measure.measured(lambda: kept[0]).peak < 8e6


def test_groups_name_parts_and_wrong_options_are_errors():
    assert parse(["streams", "--seeds", "2"])[0] == [
        name for name, (module, _) in PARTS.items() if module.startswith("streams.")
    ]
    assert {part for parts in GROUPS.values() for part in parts} == set(PARTS)
    assert parse(["floor", "defaults"])[0][:2] == ["floor", "default_time"]  # each part once
    assert len(parse(["floor", "defaults"])[0]) == len(GROUPS["defaults"])
    for wrong in (["cat"], ["before_after"]):
        with pytest.raises(SystemExit):
            parse(wrong)


QUICK_PARTS = [
    "floor",
    "class_memory",
    "profile",
    "curves",
    "gamma",
    "metric",
    "metric_rule",
    "default_time",
    "default_order",
    "default_svc",
    "default_cv",
]


@pytest.mark.parametrize("part", [*QUICK_PARTS, "one_pass", "paper_tuning", "paper_wesad"])
def test_quick_part(part, small_data, tmp_path, capsys):
    main([part, "--quick", "--out", str(tmp_path / "out")])
    assert capsys.readouterr().out.count("\n|---") >= 1


def test_finished_rows_are_not_measured_again(small_data, tmp_path, monkeypatch, capsys):
    arguments = ["ten_streams", "paper_tuning", "--quick", "--out", str(tmp_path / "out")]
    main(arguments)
    before = capsys.readouterr().out
    monkeypatch.setattr("benchmarks.paper.jobs.run_apart", None)
    monkeypatch.setattr("benchmarks.streams.ten_streams.measure", None)
    main([*arguments, "--resume"])
    assert capsys.readouterr().out == before
