"""A tiny version of each table of `make reproduce`, and the parts that they stand on."""

import csv
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from benchmarks import data
from benchmarks.reproduce import __main__ as reproduce
from benchmarks.reproduce import accuracy, moa, published, settings, synthetic, tuning, wesad, worker
from benchmarks.reproduce.methods import limits, papers_settings
from benchmarks.reproduce.runs import Job, Runner
from benchmarks.reproduce.significance import difference
from benchmarks.reproduce.tables import mean_sd
from wesad_archive import make_archive

ROOT = Path(__file__).parents[1]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a data folder with a small "border" and "overlap" of three clouds."""
    random = np.random.default_rng(0)
    for name in ("border", "overlap"):
        y = random.integers(0, 3, 900)
        X = (random.normal(size=(900, 2)) + 3 * np.array([[0, 0], [1, 0], [0, 1]])[y]).astype(np.float32)
        np.savez(tmp_path / f"{name}.npz", X_train=X[:700], y_train=y[:700], X_test=X[700:], y_test=y[700:])
    monkeypatch.setenv("FBTWSVM_DATA", str(tmp_path))
    return tmp_path


def tiny(folder, **changes):
    rivals = ["ISVM", "LASVM", "ORF", "ILVQ", "SVC"]
    plan = reproduce.Plan(["border"], ["SEA", "RBF"], list(wesad.NAMES), rivals, 2, 60.0, 1, True, str(folder))
    plan.sizes, plan.rival_rows, plan.grid, plan.tuning_rows = (1_000,), 1_000, (0.5, 8.0), 90
    for name, value in changes.items():
        setattr(plan, name, value)
    return plan


def run(part, plan, tmp_path):
    runner = Runner(60.0, here=True, quiet=True)
    tables = reproduce.run(plan, runner, [part], tmp_path, "test")
    with (tmp_path / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert "<table>" in (tmp_path / "report.html").read_text()
    return tables, [row for row in rows if row["table"] == part]


def test_tiny_accuracy(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "WIDTHS", (1.0, 4.0))
    monkeypatch.setattr(settings, "STEPS", ({"C": (1.0, 10.0)},))
    tables, rows = run("accuracy", tiny(folder, datasets=["border", "dna"]), tmp_path)
    ours, rivals, prequential, verdict, chosen = tables
    assert {row["method"] for row in rows} == {
        "FBTWSVM, paper", "FBTWSVM, batch", "FBTWSVM, ours", "ISVM", "LASVM", "ORF", "ILVQ", "SVC", "",
    }  # fmt: skip
    assert len(rows) == 8 * 2 + 1
    assert all(float(row["accuracy"]) > 80 for row in rows if row["status"] == "ok")
    own = [row for row in rows if row["method"] == "FBTWSVM, ours"]
    assert all(int(row["kept"]) <= 70 for row in own)  # a tenth
    paper = [row for row in rows if row["method"] == "FBTWSVM, paper"]
    assert all(int(row["nsv"]) == 2 * int(row["kept"]) for row in paper)  # stored points times opponents
    assert all(float(row["peak_mib"]) > 50 and float(row["train_s"]) > 0 for row in own)
    (missing,) = (row for row in rows if row["status"] == "missing")
    assert missing["dataset"] == "dna"
    assert "dna.npz is not in the folder" in missing["why"]
    assert [row[0] for row in ours.rows] == ["border", "dna"]
    assert ours.rows[0][1] == "98.70"
    assert ours.rows[1][3] == "missing"
    assert "(98.5)" in prequential.rows[0][3]  # the paper's figure for ISVM is an on-line accuracy
    assert "(" not in rivals.rows[0][2]
    assert int(ours.rows[0][9].replace(",", "")) in (0, 529)  # landmarks
    assert verdict.rows[0][2] in {"ISVM", "LASVM", "ORF", "ILVQ"}  # SVC is no rival: it sees all rows at once
    assert len(prequential.rows) == 1
    assert {row[1] for row in chosen.rows} == {"ours", "svc", "orf", "ilvq"}
    assert (tmp_path / "accuracy.png").stat().st_size > 5_000


def test_tiny_forgetting_and_time(folder, tmp_path):
    plan = tiny(folder, seeds=1)
    runner = Runner(60.0, here=True, quiet=True)
    forgotten, timed = reproduce.run(plan, runner, ["forgetting", "time"], tmp_path, "test")
    rows = [row for row in runner.rows if row["table"] == "forgetting"]
    assert len(rows) == 2 * 5 + 1
    kept = {row["d"]: row["kept"] for row in rows if row["method"] == "FBTWSVM, paper"}
    assert kept[1] < kept[10] <= kept[None] <= 700
    batch = next(row for row in rows if row["method"] == "FBTWSVM, batch")
    assert batch["nsv"] == 1400
    assert 0 < batch["duals"] < 1400
    assert forgotten.rows[0][2] == "91.90 / 538"
    # the second table takes over what the first has measured
    again = [row for row in runner.rows if row["table"] == "time"]
    assert len(again) == 2 * 3
    assert all(any(row["train_s"] == other["train_s"] for other in rows) for row in again)
    assert timed.rows[0][2] == "12.39 / 0.01"
    assert len(timed.rows[1][5].split(", ")) == 3


def test_tiny_synthetic(folder, tmp_path, monkeypatch):
    random = np.random.default_rng(0)
    (folder / "synthetic").mkdir()
    X = 10 * random.random((1300, 3)).astype(np.float32)
    np.savez_compressed(folder / "synthetic" / "SEA_1M.npz", X=X, y=np.where(X[:, 0] + X[:, 1] > 8, 1, -1))
    monkeypatch.setattr(synthetic, "CHUNK", 250)
    (table,), rows = run("synthetic", tiny(folder, rivals=["LASVM"]), tmp_path)
    found = {(row["dataset"], row["method"], row["setting"]): row for row in rows}
    assert float(found["SEA", "FBTWSVM, ours", "file 1000"]["accuracy"]) > 95  # no noise here
    assert float(found["SEA", "FBTWSVM, ours", "generator 1000"]["accuracy"]) > 80
    assert float(found["SEA", "LASVM", "file 1000"]["accuracy"]) > 90
    assert found["RBF", "FBTWSVM, ours", "file 1000"]["status"] == "missing"
    assert len(table.rows) == len(rows) == 6


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_a_file_are_read_in_pieces(tmp_path, order):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(1_000, 3)).astype(np.float32, order=order), random.integers(0, 2, 1_000)
    np.savez_compressed(tmp_path / "a.npz", X=X, y=y)
    parts = list(synthetic.file_blocks(tmp_path / "a.npz", 950, 300))
    assert [len(part[1]) for part in parts] == [300, 300, 300, 50]
    np.testing.assert_array_equal(np.concatenate([part[0] for part in parts]), X[:950])
    np.testing.assert_array_equal(np.concatenate([part[1] for part in parts]), y[:950])
    with pytest.raises(data.Missing, match=r"1,000 rows, 2,000 are needed"):
        list(synthetic.file_blocks(tmp_path / "a.npz", 2_000, 300))


@pytest.mark.parametrize("name", ["RBF", "HYPER", "RTG"])
def test_replicas_are_the_authors_streams_row_for_row(name, data_folder):
    with np.load(data_folder / "synthetic" / f"{name}_100K.npz") as given:
        X, y = given["X"], given["y"]
    first = 0
    for rows, labels in moa.blocks(name, 130_000, 40_000):
        np.testing.assert_allclose(rows, X[first : first + len(rows)], atol=1e-6)
        np.testing.assert_array_equal(labels, y[first : first + len(rows)])
        first += len(rows)
    assert first == 130_000


def test_tiny_wesad(folder, tmp_path):
    make_archive(tmp_path / "WESAD")
    random = np.random.default_rng(0)
    (folder / "streams").mkdir()
    y = random.integers(0, 2, 1_200)
    X = (100 * random.normal(size=(1_200, 3)) + 300 * y[:, None]).astype(np.int16)
    np.savez(folder / "streams" / "chest_accel.npz", X=X, y=y, subject=np.repeat([1, 2, 3], 400))
    (table,), rows = run("wesad", tiny(folder, every=1), tmp_path)
    assert len(rows) == 2 * 2 * 3
    seeds = {(row["dataset"], row["seed"]) for row in rows}
    assert seeds == {*(("WESAD", s) for s in ("S2", "S3", "S10")), *(("chest_accel", f"S{n}") for n in (1, 2, 3))}
    assert all(float(row["accuracy"]) > 95 for row in rows if row["dataset"] == "chest_accel")
    assert all(float(row["accuracy"]) > 80 for row in rows if row["setting"] == "300 Nystroem features")
    assert table.rows[0][7:] == ["6,789", "9.8", "75.5"]


def test_wesad_that_is_not_there_is_missing(folder, tmp_path):
    (table,), rows = run("wesad", tiny(folder), tmp_path)
    assert {row["status"] for row in rows} == {"missing"}
    assert any("WESAD archive is not in the data folder" in note for note in table.notes)


# tuning


def test_tiny_tuning(folder, tmp_path):
    (table,), rows = run("tuning", tiny(folder), tmp_path)
    assert len(rows) == 2**2 + 2**4
    assert [row[0] for row in table.rows] == ["2-D", "4-D"]
    assert float(table.rows[1][2]) <= float(table.rows[0][2])  # its grid holds that of the other
    assert table.rows[0][5:] == ["34", "0.1732"]
    assert (tmp_path / "tuning.png").stat().st_size > 5_000


def test_convergence_is_the_least_so_far():
    losses = [0.5, 0.2, 0.4, 0.1]
    curves = tuning.convergence(losses)
    assert curves.shape == (tuning.ORDERS, 4)
    assert (np.diff(curves, axis=1) <= 0).all()
    np.testing.assert_array_equal(curves[:, -1], 0.1)
    assert set(curves[:, 0]) == set(losses)


# what they stand on


def test_a_job_that_takes_too_long_is_over_time(folder):
    (results,) = Runner(0.2, quiet=True).do([Job("accuracy", "border", "ORF", options={"seeds": 1})])
    assert results[0]["status"] == "over time"


def test_what_is_finished_when_the_time_is_over_counts(folder, tmp_path):
    grid = np.geomspace(0.1, 10, 30).tolist()  # 810,000 points
    job = Job("tuning", "border", "4-D", kind="search", options={"dimensions": 4, "grid": grid, "most": 60})
    (results,) = Runner(12.0, quiet=True, finished=tmp_path).do([job])
    assert results[-1]["status"] == "over time"
    assert len(results) > 3
    assert all(row["status"] == "ok" for row in results[:-1])
    assert mean_sd(results).endswith(f"n = {len(results) - 1}")
    (again,) = Runner(12.0, quiet=True, finished=tmp_path, resume=True).do([job])
    assert again == results
    (other,) = Runner(0.2, quiet=True, finished=tmp_path, resume=True).do([job])  # another limit: run again
    assert len(other) == 1


def test_a_job_that_fails_says_why_and_others_go_on(folder):
    jobs = [Job("accuracy", "border", "no such method", options={"seeds": 1}),
            Job("accuracy", "border", "FBTWSVM, batch", options={"seeds": 1})]  # fmt: skip
    failed, fine = Runner(120.0, quiet=True).do(jobs, at_once=2)
    assert failed[0]["status"] == "failed"
    assert "There is no method 'no such method'" in failed[0]["why"]
    assert fine[0]["status"] == "ok"


def test_finished_jobs_are_taken_over(folder, tmp_path):
    job = Job("accuracy", "border", "FBTWSVM, batch", options={"seeds": 1})
    first = Runner(60.0, here=True, quiet=True, finished=tmp_path).do([job])
    second = Runner(60.0, here=True, quiet=True, finished=tmp_path, resume=True).do([job])
    assert first == second  # to the last digit of the seconds
    third = Runner(60.0, here=True, quiet=True, finished=tmp_path).do([job])
    assert third[0][0]["train_s"] != first[0][0]["train_s"]


def test_significance_is_paired():
    random = np.random.default_rng(0)
    hard = random.random(2_000) < 0.5

    def results(right):
        return [{"status": "ok", "right": np.packbits(right).tobytes().hex()}]

    a, b = hard.copy(), hard.copy()
    b[np.flatnonzero(hard)[:20]] = False  # wrong wherever the other is, and 20 times more
    gap, low, high = difference(results(a), results(b), 2_000)
    assert gap == pytest.approx(1.0)
    assert 0.4 < low < 1.0 < high < 1.6  # two independent samples would have a spread of 1.6 points
    gap, low, high = difference(results(a), results(a), 2_000)
    assert gap == low == high == 0.0


def test_limits_keep_at_most_the_share():
    found = limits(0.1, 4_000, 3)
    assert 3 * (found["memory"] + found["second_look"]) <= 400
    assert limits(0.1, 20, 3) == {"memory": 1, "second_look": 0}


def test_chunks_are_the_papers():
    parts = worker.chunks(4_000, 100)
    assert (parts[0], parts[1]) == (slice(0, 100), slice(100, 300))
    assert parts[-1].stop == 4_000
    assert worker.chunks(80, 100) == [slice(0, 80)]


def test_papers_ridge_is_that_of_features_which_are_not_normalised():
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert papers_settings("border", X)["reg"] == pytest.approx(2 / 150)
    assert papers_settings("gisette", X)["reg"] == pytest.approx(2 / 12.5)


def test_published_tables_agree_where_the_paper_does():
    """Rows and classes of the data sets give the paper's nSV for batch, except where it rounds or errs."""
    opponents = {"border": 2, "outdoor": 39, "coil": 99, "usps": 9, "mnist": 9, "gisette": 1}
    for name, others in opponents.items():
        assert published.FORGETTING[name][5][1] == pytest.approx(others * published.SETTINGS[name].rows, rel=0.01)


# data


def fake_openml(X, y):
    def fetch(*, data_id, return_X_y, as_frame, n_retries):
        assert data_id == 6
        return X, y

    return fetch


def test_data_comes_from_openml_where_the_folder_has_none(folder, monkeypatch):
    counts = np.full(26, 769)
    counts[[0, 1, 2, 3]] = 734, 813, 770, 765
    y = np.repeat([chr(65 + i) for i in range(26)], counts)
    assert len(y) == 20_000
    X = np.arange(16 * 20_000).reshape(20_000, 16)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fake_openml(X, y))
    found = data.load("letter")
    assert [len(part) for part in found] == [16_000, 16_000, 4_000, 4_000]
    assert found[1][0] == 0
    assert found[3][-1] == 25
    np.testing.assert_array_equal(found[2][0], X[16_000])


def test_what_openml_has_must_look_right(folder, monkeypatch):
    monkeypatch.setattr("sklearn.datasets.fetch_openml", fake_openml(np.zeros((100, 16)), np.arange(100) % 3))
    with pytest.raises(
        data.Missing, match=r"another one: 100 rows, 16 columns, 3 classes of 33 to 34 rows, not 20,000"
    ):
        data.load("letter")
    there, missing = accuracy.available(["border", "letter", "coil"])
    assert there == ["border"]
    assert set(missing) == {"letter", "coil"}


def test_what_cannot_be_fetched_is_missing(folder, monkeypatch):
    def unreachable(**options):
        raise OSError("no way there")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    with pytest.raises(data.Missing, match=r"mnist.npz is not .* fetching it from OpenML failed: no way there"):
        data.load("mnist")
    with pytest.raises(data.Missing, match=r"overview.npz is not in the folder .* OpenML does not have it"):
        data.load("overview")


# the command


def test_the_command_as_a_process(folder, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.reproduce", "accuracy", "--datasets", "border", "--rivals", "ILVQ",
         "--quick", "--seeds", "1", "--data", str(folder), "--out", str(tmp_path / "out")],
        cwd=ROOT, capture_output=True, text=True, check=True, env={**os.environ, "FBTWSVM_DATA": "/nowhere"},
    )  # fmt: skip
    assert "## Accuracy on the test part after one pass" in done.stdout
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"results.csv", "report.html", "accuracy.png"}
    with (tmp_path / "out" / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert json.loads(next(row["parameters"] for row in rows if row["method"] == "ours"))["n_components"] == 529


def test_results_of_another_version_are_not_taken_over(tmp_path):
    path = tmp_path / "origin.txt"
    reproduce.check_origin(path, "fbtwsvm 1", resume=True)
    reproduce.check_origin(path, "fbtwsvm 1", resume=True)
    with pytest.raises(SystemExit, match="was made by fbtwsvm 1, this is fbtwsvm 2"):
        reproduce.check_origin(path, "fbtwsvm 2", resume=True)
    reproduce.check_origin(path, "fbtwsvm 2", resume=False)
    assert path.read_text() == "fbtwsvm 2"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--datasets", "border,cat"], "cat is not among"),
        (["--rivals", "XGB"], "XGB is not among"),
        (["--seeds", "0"], "--seeds must be above zero"),
        (["--data", "/no/such/folder"], "is not a folder"),
    ],
)
def test_wrong_options_are_told(arguments, message, capsys):
    with pytest.raises(SystemExit):
        reproduce.parse(arguments)
    assert message in capsys.readouterr().err


def test_named_data_sets_choose_the_tables(folder):
    options = reproduce.parse(["--datasets", "border,SEA", "--data", str(folder)])
    plan = reproduce.make_plan(options)
    assert (plan.datasets, plan.streams, plan.wearables) == (["border"], ["SEA"], [])
    assert reproduce.concerned(options, plan) == ["accuracy", "forgetting", "time", "synthetic"]
    options = reproduce.parse(["wesad", "--datasets", "chest_accel"])
    assert reproduce.concerned(options, reproduce.make_plan(options)) == ["wesad"]
    options = reproduce.parse(["synthetic", "--datasets", "border"])
    with pytest.raises(SystemExit, match="The table synthetic does not have the data sets border"):
        reproduce.concerned(options, reproduce.make_plan(options))


def test_no_result_is_listed_twice(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(settings, "WIDTHS", (1.0,))
    monkeypatch.setattr(settings, "STEPS", ())
    runner = Runner(60.0, here=True, quiet=True)
    reproduce.run(tiny(folder, rivals=[]), runner, ["accuracy", "forgetting", "time"], tmp_path, "test")
    keys = [
        tuple(row.get(key) for key in ("table", "dataset", "method", "setting", "d", "seed")) for row in runner.rows
    ]
    assert len(set(keys)) == len(keys)
