"""Every verb of the command, as a user runs it, but for stream."""

import json
import os
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from sklearn.metrics import balanced_accuracy_score, cohen_kappa_score, f1_score

import fbtwsvm as package
from command import COMMAND, QUICK, assert_equal, called, fbtwsvm, fbtwsvm_json
from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.cli import app
from fbtwsvm.data.generators import make


@pytest.mark.slow
def test_a_days_work_from_a_shell(tmp_path, monkeypatch):
    """All verbs on files, the main ones in processes of their own."""
    monkeypatch.chdir(tmp_path)
    fourier = ("--feature-map", "fourier", "--gamma", "0.05", "--n-components", "40", "--warm-up", "200")
    fbtwsvm("generate", "sea", "-n", 1000, "-o", "rows.csv")
    called("generate", "sea", "-n", 600, "--seed", 1, "-o", "more.parquet")
    fbtwsvm("train", "rows.csv", "-t", "y", "-o", "first.fbt", "--chunk", 100, *fourier)
    called("train", "more.parquet", "--like", "first.fbt", "-o", "second.fbt")
    called("merge", "first.fbt", "second.fbt", "-o", "both.fbt")
    called("update", "both.fbt", "more.parquet")
    called("unlearn", "both.fbt", "more.parquet")
    fbtwsvm("predict", "both.fbt", "rows.csv", "-o", "answers.csv")
    assert len((tmp_path / "answers.csv").read_text().splitlines()) == 1001
    assert "accuracy" in called("evaluate", "both.fbt", "rows.csv")
    fbtwsvm("stream", "rows.csv", "-t", "y", "--model", "stream.fbt", "--report", "report.html", *QUICK)
    called("export", "stream.fbt", "stream.onnx")
    assert "1,600" in fbtwsvm("info", "both.fbt")
    assert {path.name for path in tmp_path.iterdir()} >= {"report.html", "stream.onnx", "both.fbt"}


def test_every_parameter_is_an_option():
    text = fbtwsvm("train", "--help", env={**os.environ, "COLUMNS": "200"})
    for name in FBTWSVM().get_params():
        assert f"--{name.replace('_', '-')} " in text
    assert "Example: fbtwsvm train" in text


@pytest.mark.parametrize("verb", app._VERBS)
def test_every_verb_explains_itself(verb):
    text = " ".join(called(verb, "--help").split())
    assert f"Example: fbtwsvm {verb} " in text


def rows(path):
    return pacsv.read_csv(path).to_pydict()


def test_train_at_once_equals_python(data, tmp_path):
    plain = ("-t", "kind", "--drop", "id", "--gamma", "scale")
    told = fbtwsvm_json("train", data / "train.csv", "-o", tmp_path / "m.fbt", *plain)
    assert (told["rows"], told["classes"], told["columns"]) == (1000, ["no", "yes"], 3)
    loaded = package.load(tmp_path / "m.fbt")
    held = rows(data / "train.csv")
    numbers = np.column_stack([held["size"], held["weight"]])
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    colours = np.array(held["colour"])[:, None] == np.array(["blue", "green", "red"])
    X = np.column_stack([numbers[:, 0], colours, numbers[:, 1]]).astype(np.float32)
    python = FBTWSVM(gamma="scale", random_state=0).fit(X, held["kind"])
    np.testing.assert_allclose(loaded.estimator.decision_function(X), python.decision_function(X), rtol=1e-3, atol=1e-3)


def test_config_file_and_options_over_it(data, tmp_path):
    config = tmp_path / "c.toml"
    config.write_text('[model]\ngamma = 0.3\nC = [1.0, 2.0]\nmax-iter = 500\n[columns]\ntarget = "kind"\nid = "id"\n')
    words = ("--memory", "none", "--membership", "none", "--class-weight", '{"yes": 2, "no": 1}')
    called("train", data / "train.csv", "--config", config, *words, "-o", tmp_path / "m.fbt")
    estimator = package.load(tmp_path / "m.fbt").estimator
    assert (estimator.membership, estimator.class_weight) == ("none", {"yes": 2.0, "no": 1.0})
    assert (estimator.gamma, estimator.C, estimator.memory) == (0.3, (1.0, 2.0), None)


def test_update_in_place_and_elsewhere(data, model, tmp_path):
    here = tmp_path / "m.fbt"
    here.write_bytes(model.read_bytes())
    called("update", here, data / "more.csv", "-o", tmp_path / "other.fbt")
    assert here.read_bytes() == model.read_bytes()
    assert fbtwsvm_json("update", here, data / "more.csv")["rows"] == 1250
    assert_equal(package.load(here), package.load(tmp_path / "other.fbt"))


def test_an_update_that_fails_does_not_speak_of_a_file_that_never_was(data, model, tmp_path):
    said = called("update", model, data / "train.csv", "-o", tmp_path / "new.fbt", status=1)
    assert said.endswith(" Nothing was written.\n")
    assert not list(tmp_path.iterdir())


def test_unlearn_by_id(data, model, tmp_path):
    here = tmp_path / "m.fbt"
    here.write_bytes(model.read_bytes())
    called("update", here, data / "more.csv")
    told = fbtwsvm_json("unlearn", here, data / "more.csv")
    assert (told["rows"], told["removed"], told["without_trace"]) == (1000, 250, 0)
    assert {"columns", "planes"} <= set(told["remaining"])
    assert len(told["remaining"]["columns"]) == 250
    learner = model_of(package.load(here).estimator)
    assert learner.members[0].known_ids() == set(map(str, range(1000)))
    assert "never learned" in called("unlearn", here, data / "more.csv", status=1)


def test_rows_of_a_batch_are_unlearned_by_id(data, tmp_path):
    model = tmp_path / "m.fbt"
    called("train", data / "train.csv", "-t", "kind", "--id", "id", "-o", model, "--gamma", "scale", "--memory", "none")
    assert fbtwsvm_json("update", model, data / "more.csv")["rows"] == 1250
    assert fbtwsvm_json("unlearn", model, data / "train.csv")["rows"] == 250
    assert model_of(package.load(model).estimator).members[0].known_ids() == set(map(str, range(1000, 1250)))


def test_merge_models_of_two_parts(data, tmp_path):
    first, second, both = (tmp_path / f"{name}.fbt" for name in ("first", "second", "both"))
    fourier = ("--feature-map", "fourier", "--gamma", "0.2", "--warm-up", 100, "--n-components", 40)
    called("train", data / "train.csv", "-t", "kind", "--drop", "id", "-o", first, "--chunk", 100, *fourier)
    called("train", data / "more.csv", "--like", first, "-o", second)
    assert fbtwsvm_json("merge", first, second, "-o", both)["rows"] == 1250
    assert fbtwsvm_json("evaluate", both, data / "test.csv")["accuracy"] > 0.7
    called("train", data / "more.csv", "-t", "kind", "--drop", "id", "-o", second, "--chunk", 100, *fourier)
    assert "--like" in called("merge", first, second, "-o", both, status=1)


def test_merge_with_the_default_map(data, tmp_path):
    """Landmarks of the first model serve the second; what both keep no longer has its raw rows."""
    first, second, both = (tmp_path / f"{name}.fbt" for name in ("first", "second", "both"))
    called("train", data / "train.csv", "-t", "kind", "--id", "id", "-o", first, "--chunk", 100, *QUICK)
    called("train", data / "more.csv", "--like", first, "-o", second)
    assert fbtwsvm_json("merge", first, second, "-o", both)["rows"] == 1250
    assert fbtwsvm_json("evaluate", both, data / "test.csv")["accuracy"] > 0.7
    assert fbtwsvm_json("unlearn", both, data / "more.csv")["rows"] == 1000
    called("train", data / "train.csv", "-t", "kind", "--id", "id", "-o", first, "--gamma", "scale")
    assert "train it with --chunk" in called("train", data / "more.csv", "--like", first, "-o", second, status=1)


@pytest.mark.parametrize("options", ["--kernel linear", "--kernel linear --feature-map nystroem", "--kernel rbf"])
def test_merge_a_part_that_is_smaller_than_the_warm_up(options, data, tmp_path):
    """Columns, scale and map are given by --like, so that there is nothing to warm up for."""
    first, second, both = (tmp_path / f"{name}.fbt" for name in ("first", "second", "both"))
    some = tmp_path / "some.csv"
    some.write_text("".join((data / "more.csv").read_text().splitlines(keepends=True)[:81]))
    given = ("-t", "kind", "--id", "id", "--gamma", "0.2", "--n-components", 40, "--drop", "colour,weight")
    called("train", data / "train.csv", *given, "-o", first, "--chunk", 100, *options.split())
    called("train", some, "--like", first, "-o", second, "--chunk", 7)
    assert fbtwsvm_json("info", second)["stage"] == "on a stream"
    assert fbtwsvm_json("merge", first, second, "-o", both)["rows"] == 1080
    assert fbtwsvm_json("unlearn", both, some)["rows"] == 1000


def test_a_model_in_its_warm_up_is_not_merged(data, model, tmp_path):
    early, other = tmp_path / "early.fbt", tmp_path / "other.fbt"
    called("train", data / "more.csv", "-t", "kind", "--id", "id", "-o", early, "--chunk", 100)
    words = f"{early} is still warming up (250 of 500 rows)"
    assert words in called("merge", model, early, "-o", other, status=1)
    assert words in called("merge", early, model, "-o", other, status=1)
    assert words in called("train", data / "test.csv", "--like", early, "-o", other, status=1)


def test_libsvm_columns_that_were_dropped_still_count(tmp_path):
    path = tmp_path / "rows.libsvm"
    path.write_text("".join(f"{i % 2} 1:{i % 2 + 0.1} 2:{i % 5} 3:{i % 3} 4:{i % 11}\n" for i in range(300)))
    called("train", path, "-t", "y", "--drop", "x3", "-o", tmp_path / "m.fbt", "--gamma", "scale")
    assert fbtwsvm_json("evaluate", tmp_path / "m.fbt", path)["accuracy"] > 0.95


@pytest.mark.parametrize("labels", [np.array([0.0, 1.0]), np.array([False, True]), np.array(["a", "b"])])
def test_models_from_python_with_any_labels(labels, tmp_path):
    X, y = make("sea", seed=1).rows(400)
    names = labels[(y + 1) // 2]
    package.save(FBTWSVM(gamma="scale").fit(X, names), tmp_path / "m.fbt")
    pacsv.write_csv(pa.table({**{f"x{j}": X[:, j] for j in range(3)}, "y": names}), tmp_path / "rows.csv")
    assert fbtwsvm_json("evaluate", tmp_path / "m.fbt", tmp_path / "rows.csv")["accuracy"] > 0.8
    assert fbtwsvm_json("update", tmp_path / "m.fbt", tmp_path / "rows.csv")["rows"] == 800


def test_models_saved_from_python_work_too(tmp_path):
    X, y = make("sea", seed=1).rows(600)
    package.save(FBTWSVM(gamma="scale").fit(X, y), tmp_path / "m.fbt")
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    assert fbtwsvm_json("evaluate", tmp_path / "m.fbt", tmp_path / "rows.npz")["accuracy"] > 0.85
    assert fbtwsvm_json("update", tmp_path / "m.fbt", tmp_path / "rows.npz")["rows"] == 1200


def test_generate_writes_what_the_generator_makes(tmp_path):
    X, y = make("rbf", seed=3, features=2, classes=3, drift_every=500).rows(2000)
    options = ("rbf", "-n", 2000, "--seed", 3, "--features", 2, "--classes", 3, "--drift-every", 500)
    for suffix in ("csv", "parquet", "npz"):
        called("generate", *options, "-o", tmp_path / f"rows.{suffix}")
    held = rows(tmp_path / "rows.csv")
    np.testing.assert_array_equal(np.column_stack([held["x0"], held["x1"]]), X)
    np.testing.assert_array_equal(held["y"], y)
    with np.load(tmp_path / "rows.npz") as stored:
        np.testing.assert_array_equal(stored["X"], X)
    assert pa.parquet.read_table(tmp_path / "rows.parquet").to_pydict() == held
    assert called("generate", *options) == (tmp_path / "rows.csv").read_text()
    assert "no option --depth" in called("generate", "sea", "--depth", 3, status=2)


def test_tune_chooses_and_learns_the_best(data, tmp_path):
    given = ("-t", "kind", "--feature-map", "fourier", "--n-components", 30)
    model, picture = tmp_path / "best.fbt", tmp_path / "search.png"
    found = fbtwsvm_json("tune", data / "train.csv", *given, "--gamma", 0.1, "--C", 2, "-o", model, "--plot", picture)
    assert sorted(found["best"]) == ["membership", "reg"]  # what was given is not searched for
    assert found["candidates"] >= 10  # five values of reg with two of membership, and those beyond an edge
    assert picture.read_bytes().startswith(b"\x89PNG")
    best = package.load(model).estimator
    assert (best.gamma, best.C, best.reg) == (0.1, 2.0, found["best"]["reg"])
    assert fbtwsvm_json("evaluate", model, data / "test.csv")["accuracy"] > 0.7
    shown = called("tune", data / "train.csv", *given, "--gamma", 0.1, "--search", "tpe", "--trials", 3)
    assert "3 candidates" in shown
    assert "as options: --membership" in shown or "--C" in shown


def test_tune_says_what_it_cannot_search(data):
    with pytest.raises(Exception, match="grid or tpe"):
        called("tune", data / "train.csv", "-t", "kind", "--search", "random")


def test_predict_and_evaluate(data, model, tmp_path):
    out = tmp_path / "out.csv"
    called("predict", model, data / "test.csv", "-o", out, "--proba")
    answers, truth = rows(out), rows(data / "test.csv")
    assert list(answers) == ["id", "prediction", "probability_no", "probability_yes"]
    assert answers["id"] == truth["id"]
    printed = called("predict", model, data / "test.csv").splitlines()
    assert printed[1] == f'"{truth["id"][0]}","{answers["prediction"][0]}"'
    lines = called("predict", model, data / "test.csv", "--json").splitlines()
    assert json.loads(lines[0]) == {"id": str(truth["id"][0]), "prediction": answers["prediction"][0]}
    told = fbtwsvm_json("evaluate", model, data / "test.csv")
    right, given = truth["kind"], answers["prediction"]
    assert told["accuracy"] == pytest.approx(np.mean(np.array(right) == given))
    assert told["balanced_accuracy"] == pytest.approx(balanced_accuracy_score(right, given))
    assert told["kappa"] == pytest.approx(cohen_kappa_score(right, given))
    assert told["classes"]["yes"]["f1"] == pytest.approx(f1_score(right, given, pos_label="yes"))
    assert np.sum(told["confusion"]) == len(right)
    shown = called("evaluate", model, data / "test.csv")
    assert "Confusion" in shown
    assert "balanced accuracy" in shown


def test_no_rows_give_no_answers(data, model, tmp_path):
    (tmp_path / "none.csv").write_text((data / "test.csv").read_text().splitlines()[0] + "\n")
    assert called("predict", model, tmp_path / "none.csv") == '"id","prediction"\n'


def test_predict_answers_before_its_input_ends(data, model):
    """Rows come out while the pipe that they come in by is still open."""
    lines = (data / "test.csv").read_bytes().splitlines(keepends=True)
    with subprocess.Popen([COMMAND, "predict", model, "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdin.write(b"".join(lines[:11]))
        process.stdin.flush()
        first = [process.stdout.readline() for _ in range(11)]
        assert first[0] == b'"id","prediction"\n'
        assert len(first[10].split(b",")) == 2
        rest, _ = process.communicate(b"".join(lines[11:]))
    assert len(rest.splitlines()) == len(lines) - 11
    assert process.returncode == 0


def test_info(model):
    told = fbtwsvm_json("info", model)
    assert told["knows"] == {"rows": 1000, "classes": ["no", "yes"]}
    assert told["columns"]["names"] == ["size", "colour", "weight"]
    assert told["keeps"]["support"] > 0
    shown = called("info", model)
    assert "colour (3 categories)" in shown
    assert "1,000" in shown
    assert sum(told["importances"].values()) == pytest.approx(1.0)
    assert set(told["importances"]) == {"size", "colour", "weight"}
    first = max(told["importances"], key=told["importances"].get)
    assert f"importances {first} " in " ".join(shown.split())


def test_a_metric_by_option(data, tmp_path):
    for value, rounds in (("none", 0), ("NONE", 0), ("columns", 1), ("1,0.5,0.5,0.5,0.25", 0)):
        called("train", data / "more.csv", "-t", "kind", "--id", "id", "--metric", value, "-o", tmp_path / "m.fbt")
        told = fbtwsvm_json("info", tmp_path / "m.fbt")
        assert (told["map"]["rounds"] > 0) == (rounds > 0)
        assert ("learned, rounds" in called("info", tmp_path / "m.fbt")) == (rounds > 0)
    message = called("train", data / "more.csv", "-t", "kind", "--metric", "full", "-o", tmp_path / "n.fbt", status=2)
    assert "--metric cannot be 'full'. Factors of the columns" in " ".join(message.split())
    message = called("train", data / "more.csv", "-t", "kind", "--metric", "1,2", "-o", tmp_path / "n.fbt", status=1)
    assert "give a number for each" in " ".join(message.split())


def test_info_of_a_model_that_is_not_on_a_stream(data, tmp_path):
    given = ("-t", "kind", "--id", "id", "--gamma", "scale", "-o", tmp_path / "m.fbt")
    for options, kept in (((), "none, which is for streams"), (("--chunk", 50), "all rows, until the warm-up ends")):
        called("train", data / "more.csv", *given, *options)
        shown = dict(line.split(maxsplit=1) for line in called("info", tmp_path / "m.fbt").splitlines()[1:])
        assert (shown["kept"].strip(), shown["stream"].strip()) == (kept, "none")


def test_tune_with_a_learned_metric(tmp_path):
    """The table of candidates, the model, its report of what was unlearned, and the options all know of it."""
    X = np.random.default_rng(0).uniform(0.0, 3.0, size=(600, 4))
    rows = {**dict(zip("abcd", X.T, strict=True)), "y": X[:, :2].astype(int).sum(axis=1) % 2}
    pacsv.write_csv(pa.table(rows), tmp_path / "rows.csv")
    pacsv.write_csv(pa.table(rows).slice(0, 2), tmp_path / "two.csv")
    model, picture = tmp_path / "m.fbt", tmp_path / "s.png"
    called("tune", tmp_path / "rows.csv", "-t", "y", "-o", model, "--plot", picture, "--C", 1, "--reg", 0.01)
    assert picture.exists()
    assert fbtwsvm_json("info", model)["map"]["rounds"] > 0
    assert "factors of the columns" in called("unlearn", model, tmp_path / "two.csv", "-o", tmp_path / "n.fbt")
    printed = " ".join(called("tune", tmp_path / "rows.csv", "-t", "y", "--C", 1, "--reg", 0.01).split())
    assert len(printed.split("--metric ")[1].split()[0].split(",")) == 4
