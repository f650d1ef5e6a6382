"""Where the answers of predict go, what is copied beside them, and what a spreadsheet makes of them."""

import gzip
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as papq
import pytest

import fbtwsvm as package
from command import called, fbtwsvm
from fbtwsvm import FBTWSVM
from fbtwsvm.cli import app


@pytest.fixture
def broken(data, tmp_path):
    """Return a file of 20,000 rows, the last of which but a few is wrong."""
    head, *lines = (data / "test.csv").read_text().splitlines(keepends=True)
    lines = lines * 80
    lines[19_000] = lines[19_000].replace(",", ",x", 1)
    path = tmp_path / "broken.csv"
    path.write_text(head + "".join(lines))
    return path


def test_an_error_late_in_the_source_leaves_older_answers(model, broken, tmp_path):
    old = tmp_path / "answers.csv"
    old.write_text("older answers\n")
    said = called("predict", model, broken, "-o", old, status=1)
    assert "Row 19,001" in said
    assert old.read_text() == "older answers\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["answers.csv", "broken.csv"]
    called("predict", model, broken, "-o", tmp_path / "new.parquet", status=1)
    assert not (tmp_path / "new.parquet").exists()


def test_standard_output_has_the_answers_before_the_error(model, broken):
    """With -o - answers go out as they come, so those before the wrong row are there."""
    done = fbtwsvm("predict", model, broken, "-o", "-", status=1)
    assert "Row 19,001" in done


def test_parquet_holds_what_csv_holds(data, model, tmp_path, monkeypatch):
    monkeypatch.setattr("fbtwsvm.cli.table_files._ROW_GROUP", 100)
    monkeypatch.setattr("fbtwsvm.cli.rows._PIECE", 60)
    for name in ("a.csv", "a.csv.gz", "a.parquet", "a.jsonl"):
        called("predict", model, data / "test.csv", "-o", tmp_path / name, "--proba", "--keep", "colour")
    table = papq.read_table(tmp_path / "a.parquet")
    assert papq.ParquetFile(tmp_path / "a.parquet").num_row_groups > 1
    assert table.column_names == ["id", "colour", "prediction", "probability_no", "probability_yes"]
    assert table["prediction"].type == pa.string()
    assert pa.types.is_floating(table["probability_no"].type)
    held = table.set_column(0, "id", table["id"].cast(pa.int64())).to_pydict()
    assert pacsv.read_csv(tmp_path / "a.csv").to_pydict() == held
    assert gzip.decompress((tmp_path / "a.csv.gz").read_bytes()) == (tmp_path / "a.csv").read_bytes()
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    assert [json.loads(line)["prediction"] for line in lines] == held["prediction"]


def test_chosen_columns_come_before_the_answer(data, model, tmp_path):
    def columns(*keep):
        return called("predict", model, data / "test.csv", *keep).splitlines()[0].replace('"', "").split(",")

    assert columns() == ["id", "prediction"]
    assert columns("--keep", "weight", "--keep", "kind") == ["id", "weight", "kind", "prediction"]
    assert columns("--keep", "kind,id") == ["id", "kind", "prediction"]
    assert columns("--keep", "all") == ["id", "size", "colour", "weight", "kind", "prediction"]
    called("predict", model, data / "test.csv", "--keep", "all", "-o", tmp_path / "all.csv")
    copied = pacsv.read_csv(tmp_path / "all.csv").drop(["prediction"])
    assert copied.equals(pacsv.read_csv(data / "test.csv"))


def test_columns_that_cannot_be_kept_are_named(data, model, tmp_path):
    said = called("predict", model, data / "test.csv", "--keep", "colur", status=1)
    assert "no column 'colur'; it has 'id', 'size', 'colour', 'weight', 'kind'" in said
    again = tmp_path / "again.csv"
    called("predict", model, data / "test.csv", "--keep", "all", "-o", again)
    assert "column 'prediction', which is what" in called("predict", model, again, "--keep", "all", status=1)
    assert called("predict", model, again, "--keep", "size").startswith('"id","size","prediction"\n')


def test_columns_of_lists_and_dates(tmp_path):
    X, y = np.repeat(np.eye(2), 50, axis=0), np.repeat([0, 1], 50)
    package.save(FBTWSVM(gamma=1.0).fit(X, y), tmp_path / "m.fbt")
    more = {"list": [[1, 2]] * 100, "day": pa.array(range(100), pa.date32()), "kind": pa.array(["a"] * 100)}
    rows = tmp_path / "rows.parquet"
    table = pa.table({"x0": X[:, 0], "x1": X[:, 1], **more})
    papq.write_table(table.set_column(4, "kind", table["kind"].dictionary_encode()), rows)
    for output in ("-", tmp_path / "a.parquet"):  # no lists that are empty although the source's are not
        said = called("predict", tmp_path / "m.fbt", rows, "--keep", "all", "-o", output, status=1)
        assert "'list' holds lists or records, which are not read" in said
    line = called("predict", tmp_path / "m.fbt", rows, "--keep", "day,kind").splitlines()[1]
    assert line == '1970-01-01,"a",0'
    line = called("predict", tmp_path / "m.fbt", rows, "--keep", "day", "--json").splitlines()[0]
    assert json.loads(line) == {"day": "1970-01-01", "prediction": 0}
    called("predict", tmp_path / "m.fbt", rows, "--keep", "day", "-o", tmp_path / "a.parquet")
    assert papq.read_table(tmp_path / "a.parquet")["day"].equals(table["day"])


def test_no_rows_give_a_table_of_no_rows(data, model, tmp_path):
    (tmp_path / "none.csv").write_text((data / "test.csv").read_text().splitlines()[0] + "\n")
    called("predict", model, tmp_path / "none.csv", "-o", tmp_path / "a.parquet", "--keep", "size")
    table = papq.read_table(tmp_path / "a.parquet")
    assert (table.column_names, table.num_rows) == (["id", "size", "prediction"], 0)


def test_outputs_that_contradict_the_options(data, model, tmp_path):
    refused = {
        ("-o", "a.xlsx"): ".csv, .parquet or .jsonl",
        ("-o", "a.parquet", "--json"): "name it .jsonl",
        ("-o", "a.csv", "--json"): "name it .jsonl",
        ("-o", "a.parquet", "--escape-formulas"): "is for CSV",
    }
    for options, message in refused.items():
        assert message in called("predict", model, data / "test.csv", *options, status=2)


def test_formulas_are_escaped_for_spreadsheets(tmp_path):
    labels = np.array(["=cmd|' /C calc'!A0", "@sum", "-1.5", "plain"])
    X = np.repeat(np.eye(4), 30, axis=0)
    package.save(FBTWSVM(gamma=1.0).fit(X, np.repeat(labels, 30)), tmp_path / "m.fbt")
    notes = ["=1+1", "+49 30 1234", "-2.5e3", "\tx"]
    columns = {f"x{j}": np.eye(4)[:, j] for j in range(4)} | {"=note": notes, "n": [-1.5, 2.0, -3.0, 4.0]}
    papq.write_table(pa.table(columns), tmp_path / "rows.parquet")
    given = ("predict", tmp_path / "m.fbt", tmp_path / "rows.parquet", "--keep", "=note,n", "-o", tmp_path / "a.csv")
    called(*given)
    plain = pacsv.read_csv(tmp_path / "a.csv").to_pydict()
    assert plain["=note"] == notes
    assert plain["prediction"] == labels.tolist()
    called(*given, "--escape-formulas")
    escaped = pacsv.read_csv(tmp_path / "a.csv").to_pydict()
    assert escaped["'=note"] == ["'=1+1", "'+49 30 1234", "-2.5e3", "'\tx"]
    assert escaped["n"] == [-1.5, 2.0, -3.0, 4.0]
    assert escaped["prediction"] == ["'=cmd|' /C calc'!A0", "'@sum", "-1.5", "plain"]


def test_long_labels_are_answered_a_few_rows_at_a_time(tmp_path, monkeypatch):
    """NumPy stores every label as wide as the longest, so with one of 100,000 letters the rows must be few."""
    monkeypatch.setattr("fbtwsvm.cli.predict._MOST_LABEL_BYTES", 10 * 400_000)
    X, labels = np.repeat(np.eye(2), 50, axis=0), np.repeat(["a", "b" * 100_000], 50)
    package.save(FBTWSVM(gamma=1.0).fit(X, labels), tmp_path / "m.fbt")
    papq.write_table(pa.table({"x0": X[:, 0], "x1": X[:, 1]}), tmp_path / "rows.parquet")
    sizes = []
    answer = FBTWSVM.predict
    monkeypatch.setattr(FBTWSVM, "predict", lambda self, X: sizes.append(len(X)) or answer(self, X))
    called("predict", tmp_path / "m.fbt", tmp_path / "rows.parquet", "-o", tmp_path / "a.parquet")
    assert sizes == [10] * 10
    assert papq.read_table(tmp_path / "a.parquet")["prediction"].to_pylist() == labels.tolist()


def test_categories_that_training_did_not_have_are_counted(data, model, tmp_path, capsys):
    text = (data / "test.csv").read_text().replace("red", "violet", 3)
    (tmp_path / "rows.csv").write_text(text)
    with pytest.raises(SystemExit) as ended:
        app.run(["predict", str(model), str(tmp_path / "rows.csv"), "-o", str(tmp_path / "a.csv")])
    assert ended.value.code == 0
    assert "3 values of categorical columns were not in the first rows" in capsys.readouterr().err


def test_rows_that_are_set_aside_have_no_answer(model, broken, tmp_path):
    called("predict", model, broken, "-o", tmp_path / "a.csv", "--on-error", "skip")
    held = pacsv.read_csv(tmp_path / "a.csv")
    assert held.num_rows == 19_999
    called("predict", model, broken, "-o", tmp_path / "a.parquet", "--on-error", "skip", "--keep", "all")
    assert papq.read_table(tmp_path / "a.parquet")["prediction"].to_pylist() == held["prediction"].to_pylist()
