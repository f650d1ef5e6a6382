import json
import time

import numpy as np
import pytest
from benchmarks.__main__ import GROUPS, PARTS, main, parse
from benchmarks.harness import data, job, measure
from benchmarks.harness.record import Record
from benchmarks.harness.table import number
from benchmarks.speed import before_after


def results(n, wait=0.0):
    for number in range(n):
        yield {"number": number}
        time.sleep(wait)
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
    found = job.run_apart(results, {"n": 3, "wait": 60.0}, limit=10.0)
    assert [row["status"] for row in found] == ["ok", "over time"]


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
    with pytest.raises(SystemExit, match="full sizes; this is .* quick sizes"):
        Record(tmp_path / "a.csv", ("name", "seed", "value"), quick=True, resume=True)
    with pytest.raises(SystemExit, match="other columns"):
        Record(tmp_path / "a.csv", ("name",), resume=True)


def test_functions_take_turns():
    calls = []
    times = measure.interleaved(2, {name: lambda name=name: calls.append(name) for name in "ab"})
    assert calls == ["a", "b"] * 2
    assert len(times["a"].seconds) == 2
    found = measure.ratio(measure.Times([2.0, 3.0, 8.0]), measure.Times([4.0, 1.0, 2.0]))
    assert (found.value, found.low, found.high) == (2.0, 0.5, 4.0)


def test_peak_memory_is_that_above_the_memory_before():
    kept = np.ones(8_000_000)
    assert 60e6 < measure.measured(lambda: np.ones(8_000_000).sum()).peak < 80e6
    assert measure.measured(lambda: kept[0]).peak < 8e6


@pytest.mark.parametrize(("value", "text"), [(1234.5, "1,234"), (12.345, "12.3"), (0.01234, "0.0123"), (None, "-")])
def test_numbers_have_three_digits(value, text):
    assert number(value) == text


def test_groups_are_folders_and_wrong_options_are_errors(capsys):
    assert parse(["streams", "--seeds", "2"])[0] == ["one_pass", "ten_streams", "changes", "soak"]
    assert {module.split(".")[0] for module, _ in PARTS.values()} == set(GROUPS)
    for wrong in (["cat"], ["floor", "--seeds", "0"], ["before_after"]):
        with pytest.raises(SystemExit):
            parse(wrong)
    assert "before_after needs --base" in capsys.readouterr().err


@pytest.mark.parametrize("part", ["floor", "classes", "predict", "profile", "curves", "tuned", "nystroem", "one_pass",
                                  "ten_streams", "paper_tuning", "paper_wesad"])  # fmt: skip
def test_quick_part(part, data_folder, tmp_path, capsys):
    main([part, "--quick", "--out", str(tmp_path / "out")])
    assert capsys.readouterr().out.count("\n|---") >= 1


def test_finished_rows_are_not_measured_again(data_folder, tmp_path, monkeypatch, capsys):
    arguments = ["paper_forgetting", "ten_streams", "--quick", "--out", str(tmp_path / "out")]
    main(arguments)
    before = capsys.readouterr().out
    monkeypatch.setattr("benchmarks.paper.jobs.run_apart", None)
    monkeypatch.setattr("benchmarks.streams.ten_streams.measure", None)
    main([*arguments, "--resume"])
    assert capsys.readouterr().out == before


def test_before_and_after_are_different_trees(tmp_path, monkeypatch):
    answer = json.dumps({"seconds": 1.5, "package": str(tmp_path / "src" / "fbtwsvm" / "__init__.py")})
    monkeypatch.setattr(before_after.timed_task, "__file__", str(tmp_path / "task.py"))
    (tmp_path / "task.py").write_text(f"print({answer!r})")
    assert before_after.cpu_seconds(tmp_path, "fit_coil", True) == 1.5
    with pytest.raises(RuntimeError, match="not below"):
        before_after.cpu_seconds(before_after.HERE, "fit_coil", True)
