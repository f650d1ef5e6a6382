"""Tables in Python: frames with text, gaps and dates, as a fit and as a stream."""

import datetime
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fbtwsvm
from fbtwsvm import FBTWSVM, TableClassifier
from fbtwsvm.classifier import model_of
from fbtwsvm.export.onnx import export_onnx

QUICK = {"gamma": 0.1, "n_components": 20, "warm_up": 60, "random_state": 0}


def frame(n=400, seed=0):
    """Return a table with numbers of unequal scale, texts, dates and gaps, and labels that depend on all of them."""
    random = np.random.default_rng(seed)
    size, price = random.normal(size=n), 1e4 + 1e3 * random.normal(size=n)
    colour = random.choice(["red", "green", "blue"], size=n)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 365, n), unit="D")
    score = size + (price - 1e4) / 1e3 + 2 * (colour == "red") + (day.month > 6)
    table = pd.DataFrame({"size": size, "price": price, "colour": colour, "day": day})
    for name in ("size", "price", "colour"):
        table.loc[random.random(n) < 0.05, name] = None
    return table, np.where(score > 1.2, "yes", "no")


def stream(model, X, y, *sizes, **arguments):
    """Learn rows in chunks of these sizes, one after the other and then again."""
    first, turn = 0, 0
    while first < len(y):
        part = slice(first, first + sizes[turn % len(sizes)])
        model.partial_fit(X.iloc[part], y[part], **{name: values[part] for name, values in arguments.items()})
        first, turn = part.stop, turn + 1
    return model


def test_a_fit_needs_no_pipeline():
    X, y = frame()
    model = TableClassifier(FBTWSVM(random_state=0)).fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.8
    assert model.n_features_in_ == 4
    assert list(model.feature_names_in_) == ["size", "price", "colour", "day"]
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    assert model.encoded_names_[-3:] == ["colour=green", "colour=red", "day"]


def test_a_stream_learns_what_a_fit_learns():
    X, y = frame(1500)
    model = stream(TableClassifier(FBTWSVM(decay="auto", random_state=0)), X[:1200], y[:1200], 50)
    assert model.score(X[1200:], y[1200:]) > 0.85


@pytest.mark.parametrize("kind", ["polars", "arrow", "dict"])
def test_tables_of_any_kind_give_the_same_model(kind):
    X, y = frame(300)
    kinds = {"polars": pl.from_pandas, "arrow": pa.Table.from_pandas, "dict": lambda table: table.to_dict("list")}
    plain = TableClassifier(FBTWSVM(**QUICK)).partial_fit(X, y)
    other = TableClassifier(FBTWSVM(**QUICK)).partial_fit(kinds[kind](X), y)
    np.testing.assert_allclose(other.predict_proba(kinds[kind](X)), plain.predict_proba(X))


def same(one, two, X):
    """Check that two models are equal, but for rounding."""
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-6)
    assert one.encoded_names_ == two.encoded_names_
    for mine, theirs in zip(model_of(one.estimator_).members, model_of(two.estimator_).members, strict=True):
        np.testing.assert_allclose(mine.planes, theirs.planes, atol=1e-6)


@settings(max_examples=15, deadline=None)
@given(sizes=st.lists(st.integers(1, 150), min_size=1, max_size=5))
def test_chunks_do_not_matter(sizes):
    X, y = frame(400)
    X.loc[200:, "colour"] = X["colour"].where(X.index % 7 != 0, "white")  # a category that comes late
    X.loc[300:, "colour"] = X["colour"].where(X.index % 11 != 0, "black")
    whole = TableClassifier(FBTWSVM(**QUICK)).partial_fit(X, y)
    same(stream(TableClassifier(FBTWSVM(**QUICK)), X, y, *sizes), whole, X)


@pytest.mark.parametrize("n", [30, 400])
@pytest.mark.parametrize("decay", [1.0, "auto"])
def test_a_file_holds_all_of_it(n, decay, tmp_path):
    X, y = frame(500)
    X.loc[300:, "colour"] = "white"
    model = stream(TableClassifier(FBTWSVM(**QUICK, decay=decay), drop=["day"], spare=2), X[:n], y[:n], 25)
    fbtwsvm.save(model, tmp_path / "table.fbt")
    loaded = fbtwsvm.load(tmp_path / "table.fbt")
    assert loaded.get_params()["drop"] == ("day",)
    np.testing.assert_array_equal(loaded.predict_proba(X), fbtwsvm.load(tmp_path / "table.fbt").predict_proba(X))
    if n == 400:
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        for each in (model, loaded):
            stream(each, X[n:], y[n:], 20)
        np.testing.assert_allclose(loaded.predict_proba(X), model.predict_proba(X), atol=1e-9)
    assert pickle.loads(pickle.dumps(model)).score(X, y) == model.score(X, y)


def test_an_unfitted_one_can_be_saved(tmp_path):
    fbtwsvm.save(TableClassifier(FBTWSVM(C=2.0), spare=1), tmp_path / "table.fbt")
    loaded = fbtwsvm.load(tmp_path / "table.fbt")
    assert (loaded.estimator.C, loaded.spare) == (2.0, 1)
    assert not hasattr(loaded, "classes_")


def test_new_categories_come_at_any_time_and_are_learned():
    X, y = frame(800)
    model = stream(TableClassifier(FBTWSVM(decay="auto", random_state=0, warm_up=200)), X[:400], y[:400], 40)
    X, y = X[400:].copy(), y[400:].copy()
    X["colour"] = np.where(np.arange(400) % 2, "white", "black")
    y = np.where(X["colour"] == "white", "yes", "no")
    stream(model, X[:300], y[:300], 40)
    assert "colour=white" in model.encoded_names_
    assert model.score(X[300:], y[300:]) > 0.9


def test_when_all_spare_columns_are_taken_further_categories_are_none_of_the_known_ones():
    X, y = frame(300)
    model = TableClassifier(FBTWSVM(**QUICK), spare=1).partial_fit(X, y)
    X["colour"] = [f"colour {i % 3}" for i in range(300)]
    model.partial_fit(X, y)
    assert [name for name in model.encoded_names_ if "colour" in name] == [
        "colour=colour 0", "colour=blue", "colour=green", "colour=red",
    ]  # fmt: skip


def test_prediction_changes_nothing():
    X, y = frame(300)
    model = TableClassifier(FBTWSVM(**QUICK)).partial_fit(X, y)
    before = pickle.dumps(model)
    model.predict(X.assign(colour="white"))
    assert pickle.dumps(model) == before


def test_columns_are_found_by_name():
    X, y = frame(200)
    model = TableClassifier(FBTWSVM(**QUICK)).partial_fit(X, y)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(X[["size", "price", "day"]])
    dictionary = {name: X[name].tolist() for name in reversed(X.columns)}  # in another order
    np.testing.assert_array_equal(model.predict(dictionary), model.predict(X))
    with pytest.raises(ValueError, match="no column 'day'"):
        model.predict({name: dictionary[name] for name in ("size", "price", "colour")})


def test_unlearning_through_it():
    X, y = frame(300)
    ids = np.array([f"person {i}" for i in range(300)])
    options = {**QUICK, "feature_map": "fourier", "memory": None, "second_look": 1000, "decision": "value"}
    model = stream(TableClassifier(FBTWSVM(**options)), X, y, 30, ids=ids)
    report = model.unlearn(X[100:110], y[100:110], ids=ids[100:110])
    assert report.removed == 10
    assert {"columns", "categories"} <= set(report.remaining)
    assert model.unlearn(ids=ids[200:205]).removed == 5
    with pytest.raises(ValueError, match="never learned"):
        model.unlearn(ids=["nobody"])


def test_unlearning_while_the_columns_are_chosen():
    X, y = frame(40)
    ids = [f"person {i}" for i in range(40)]
    model = stream(TableClassifier(FBTWSVM(**QUICK)), X, y, 7, ids=np.array(ids))
    assert model.unlearn(ids=ids[3:5]).complete
    assert model.unlearn(X[5:8], y[5:8]).removed == 3
    twin = TableClassifier(FBTWSVM(**QUICK)).partial_fit(
        X.drop(index=range(3, 8)), np.delete(y, range(3, 8)), ids=np.delete(ids, range(3, 8))
    )
    np.testing.assert_allclose(model.predict_proba(X), twin.predict_proba(X))


def test_merging_through_it():
    X, y = frame(600)
    first = TableClassifier(FBTWSVM(**QUICK)).partial_fit(X[:300], y[:300])
    second = first.empty_copy()
    assert not hasattr(second.estimator_, "classes_")
    stream(second, X[300:], y[300:], 50)
    first.merge(second)
    assert model_of(first.estimator_).clock == 600
    assert first.score(X, y) > 0.8
    with pytest.raises(ValueError, match="empty_copy"):
        first.merge(TableClassifier(FBTWSVM(**QUICK)).partial_fit(X[300:], y[300:]))


def test_other_new_categories_in_both_models_cannot_be_merged():
    X, y = frame(300)
    first = TableClassifier(FBTWSVM(**QUICK)).partial_fit(X, y)
    second = first.empty_copy()
    first.partial_fit(X.assign(colour="white")[:50], y[:50])
    second.partial_fit(X.assign(colour="black")[:50], y[:50])
    with pytest.raises(ValueError, match="different new categories in column 'colour'"):
        first.merge(second)


def test_a_call_that_fails_changes_nothing():
    X, y = frame(300)
    for n in (30, 200):
        model = stream(TableClassifier(FBTWSVM(**QUICK)), X[:n], y[:n], 30)
        before = pickle.dumps(model)
        bad = X[200:230].copy()
        bad["colour"] = "white"
        for labels, table in ((y[200:229], bad), (y[200:230], bad.assign(size=np.inf)), (np.arange(30.0) + 0.5, bad)):
            with pytest.raises(ValueError):  # noqa: PT011
                model.partial_fit(table, labels)
            assert pickle.dumps(model) == before


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ([[1], [2]] * 150, "leave it out with drop=['size']"),
        ([f"text {i}" for i in range(300)], "drop=['size']"),
        ([datetime.time(1, 2)] * 300, "drop=['size']"),
        ([np.inf] * 300, "infinite"),
        (
            ["31.12.2024", "1.2.2025"] * 150,
            "turn them into dates first (pandas.to_datetime), or add categorical=['size']",
        ),
    ],
)
def test_messages_name_parameters_and_not_options_of_the_command(column, message):
    X, y = frame(300)
    X["size"] = column
    with pytest.raises((ValueError, TypeError)) as error:
        TableClassifier().fit(X, y)
    assert message in str(error.value)
    assert "--" not in str(error.value)


@pytest.mark.parametrize("text", ["{}.5.2024", "{},75"])
def test_texts_that_are_no_categories_are_refused_long_before_the_warm_up_ends(text):
    X, y = frame(300)
    X["size"] = [text.format(i % 30 + 1) for i in range(300)]
    with pytest.raises(ValueError, match=re.escape(f"'{text.format(1)}'")):
        stream(TableClassifier(), X[:30], y[:30], 15)


def test_columns_that_are_left_out_need_not_be_there():
    X, y = frame(300)
    X.insert(2, "id", [f"row {i}" for i in range(300)])
    short = X.drop(columns="id")
    fitted = TableClassifier(FBTWSVM(**QUICK), drop=["id"]).fit(X, y)
    for rows in (short, pl.from_pandas(short), short.to_dict(orient="list"), pa.Table.from_pandas(short)):
        assert np.array_equal(fitted.predict(rows), fitted.predict(X))
    mixed, whole = (TableClassifier(FBTWSVM(**QUICK), drop=["id"]) for _ in range(2))
    for first in range(0, 300, 30):
        part = slice(first, first + 30)
        mixed.partial_fit((X if first % 60 == 0 else short)[part], y[part])
        whole.partial_fit(X[part], y[part])
    assert np.array_equal(mixed.predict_proba(short), whole.predict_proba(X))
    with pytest.raises(ValueError, match=r"now missing:\n- size\n$"):
        fitted.predict(short.drop(columns="size"))
    with pytest.raises(ValueError, match=r"To put them in order: frame\[model.feature_names_in_\]"):
        fitted.predict(short[["price", "size", "colour", "day"]])


def test_gaps_are_an_error_if_the_user_wants_that():
    X, y = frame(100)
    with pytest.raises(ValueError, match="impute='median'"):
        TableClassifier(impute="error").fit(X, y)
    assert not TableClassifier(impute="error").__sklearn_tags__().input_tags.allow_nan


def test_a_weight_of_two_is_the_row_twice():
    X, y = frame(120)
    X.loc[0, "size"] = 40.0  # it moves mean and spread
    weights = np.where(np.arange(120) % 3 == 0, 2.0, np.where(np.arange(120) % 3 == 1, 1.0, 0.0))
    repeated = np.repeat(np.arange(120), weights.astype(int))
    one = TableClassifier().fit(X, y, sample_weight=weights)
    two = TableClassifier().fit(X.iloc[repeated], y[repeated])
    np.testing.assert_allclose(one.predict_proba(X), two.predict_proba(X), atol=1e-9)


def test_a_first_value_that_looks_like_a_number_may_be_a_category():
    X = pd.DataFrame({"code": ["1", "2", "A7", "B", "1", "A7"] * 20, "x": np.arange(120.0) % 7})
    y = (X["code"].isin(["A7", "B"])).astype(int)
    model = TableClassifier(FBTWSVM(**QUICK))
    for i in range(len(y)):
        model.partial_fit(X[i : i + 1], y[i : i + 1])
    assert "code=A7" in model.encoded_names_
    assert model.score(X, y) > 0.95


def test_onnx_has_the_scaling(tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    X, y = frame(300)
    model = TableClassifier(FBTWSVM(**QUICK, decay="auto")).partial_fit(X, y)
    export_onnx(model, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "model.onnx")
    state = model._state
    raw = state.columns.rows(pa.Table.from_pandas(X), 0) * state.columns.scale + state.columns.shift
    (labels,) = session.run(["label"], {"X": raw})
    assert (labels == model.predict(X)).mean() > 0.99


def example_of(page):
    """Return the first example with a TableClassifier on a page of the docs."""
    text = (Path(__file__).parents[2] / "docs" / page).read_text()
    return next(code for code in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "TableClassifier" in code)


def test_the_example_of_the_guide(capsys):
    names = {}
    exec(example_of("guide/tables.md"), names)
    assert capsys.readouterr().out.split() in (["[", "True]"], ["[False]"])
    assert names["model"].score(names["orders"][-500:], names["returned"][-500:]) > 0.85


def test_the_example_of_the_first_page(capsys):
    exec(example_of("start.md"), {})
    assert capsys.readouterr().out == "['no' 'yes' 'no' 'yes']\n"


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT])
def test_a_stream_of_records_may_have_gaps_anywhere(missing):
    """Also in its first row, and where a frame of one row has another type than the one before."""
    X, y = frame(150)
    model = TableClassifier(FBTWSVM(**QUICK))
    for i in range(len(y)):
        record = X.iloc[i].to_dict()
        if i % 5 == 0:
            record[["day", "colour", "size", "price"][i // 5 % 4]] = missing
        model.partial_fit(pd.DataFrame([record]), y[i : i + 1])
    assert model.score(X, y) > 0.7
    model.predict(pd.DataFrame([{"size": 1.0, "price": 2.0, "colour": None, "day": missing}]))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (np.nan, "x"), (True, 3), (True, "x"), (1.5, "x"), (pd.Timestamp("2024-01-01"), "2024-01-02"),
        (pd.Timestamp("2024-01-01"), pd.Timestamp("2024-01-01", tz="Europe/Oslo")),
        (np.nan, pd.Timestamp("2024-01-01")),
    ],
)  # fmt: skip
def test_the_type_of_a_column_may_change_in_the_first_rows(one, other):
    X, y = frame(40)
    model = TableClassifier(FBTWSVM(**QUICK)).partial_fit(X[:20].assign(z=one), y[:20])
    model.partial_fit(X[20:].assign(z=other), y[20:])
    assert model.n_features_in_ == 5


def test_many_categories_do_not_depend_on_chunks():
    random = np.random.default_rng(0)
    X = pd.DataFrame({"city": random.choice([f"city {i}" for i in range(25)], 200), "x": random.normal(size=200)})
    y = (X["x"] > 0).astype(int)
    one = TableClassifier(FBTWSVM(**QUICK)).partial_fit(X, y)
    same(stream(TableClassifier(FBTWSVM(**QUICK)), X, y.to_numpy(), 1), one, X)


def test_promised_classes_bind_from_the_first_row_on(tmp_path):
    X, y = frame(100)
    model = TableClassifier(FBTWSVM(**QUICK)).partial_fit(X[:1], y[:1], classes=["maybe", "no", "yes"])
    stream(model, X[1:40], y[1:40], 13)
    fbtwsvm.save(model, tmp_path / "table.fbt")
    for each in (model, fbtwsvm.load(tmp_path / "table.fbt")):
        assert list(each.classes_) == ["maybe", "no", "yes"]
        with pytest.raises(ValueError, match="not in the classes"):
            each.partial_fit(X[:1], ["never"])
        stream(each, X[40:], y[40:], 20)
        assert each.predict_proba(X).shape == (100, 3)


@pytest.mark.parametrize("n", [1, 35])
def test_a_file_of_the_first_rows_goes_on_as_if_it_had_not_been_saved(n, tmp_path):
    X, y = frame(200)
    X["kind"] = pd.Categorical(np.where(np.arange(200) % 3, "a", "b"))
    X["flag"] = np.arange(200) % 2 == 0
    ids = np.array([f"row {i}" for i in range(200)])
    model = stream(TableClassifier(FBTWSVM(**QUICK)), X[:n], y[:n], 10, ids=ids[:n], sample_weight=np.full(n, 2.0))
    fbtwsvm.save(model, tmp_path / "table.fbt")
    loaded = fbtwsvm.load(tmp_path / "table.fbt")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    for each in (model, loaded):
        stream(each, X[n:], y[n:], 20, ids=ids[n:])
    same(model, loaded, X)


def test_parameters_that_change_in_mid_stream_are_refused():
    X, y = frame(200)
    model = TableClassifier(FBTWSVM(**QUICK)).partial_fit(X, y)
    model.set_params(estimator__tol=1e-2).partial_fit(X[:5], y[:5])
    assert model.estimator_.tol == 1e-2
    with pytest.raises(ValueError, match="estimator__C has changed"):
        model.set_params(estimator__C=5.0).partial_fit(X[:5], y[:5])
    model.set_params(estimator__C=1.0, spare=1)
    with pytest.raises(ValueError, match="columns has changed"):
        model.partial_fit(X[:5], y[:5])


def test_rows_without_weight_are_skipped_and_columns_of_integer_names_are_named(tmp_path):
    X, y = frame(200)
    X.columns = range(4)
    model = stream(TableClassifier(FBTWSVM(**QUICK)), X, y, 50)
    before = pickle.dumps(model)
    model.partial_fit(X[:1], y[:1], sample_weight=[0.0])
    assert pickle.dumps(model) == before
    assert model.feature_importances_.sum() == pytest.approx(1.0)
    fbtwsvm.save(model, tmp_path / "table.fbt")
    np.testing.assert_array_equal(fbtwsvm.load(tmp_path / "table.fbt").predict(X), model.predict(X))


def test_an_empty_copy_takes_weights_and_classes():
    X, y = frame(300)
    first = TableClassifier(FBTWSVM(**QUICK)).partial_fit(X, y)
    weights = np.where(np.arange(300) < 150, 0.0, 1.0)
    second, third = first.empty_copy().partial_fit(X, y, sample_weight=weights), first.empty_copy()
    assert second.inspect().seen == 150
    with pytest.raises(ValueError, match="not in the classes"):
        third.partial_fit(X, y, classes=["no", "maybe"])


@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_answers_have_the_precision_of_the_columns(precision):
    rows, labels = frame(300)
    model = TableClassifier(FBTWSVM(kernel="linear"), dtype=precision).fit(rows, labels)
    for method in ("decision_function", "predict_proba", "predict_log_proba"):
        assert getattr(model, method)(rows).dtype == precision


def test_rounding_leaves_the_largest_probability_with_the_winner(monkeypatch):
    rows, labels = frame(60)
    model = TableClassifier(FBTWSVM(kernel="linear"), dtype="float32").fit(rows, labels)
    close = np.array([0.3, 0.35, 0.35 + 1e-12])
    monkeypatch.setattr(FBTWSVM, "predict_proba", lambda _, X: np.tile(close, (len(X), 1)))
    assert (model.predict_proba(rows).argmax(axis=1) == 2).all()
