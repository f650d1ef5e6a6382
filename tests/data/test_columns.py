"""Columns: kinds, encodings, gaps, scale and what has moved since the first rows."""

import time

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fbtwsvm.data.columns import Choices, Columns
from fbtwsvm.data.sources import DataError
from fbtwsvm.data.values import as_dates, not_dates, not_numbers

TABLE = pa.table(
    {
        "size": ["1", " 2", "3.5", "4e0"] * 10,
        "colour": ["red", "blue", "red", "green"] * 10,
        "kind": ["a", "b", "a", "b"] * 10,
        "name": [f"row {i}" for i in range(40)],
    }
)
CHOICES = Choices(target="kind", drop=("name",), precision="float64")


def choices(**changes):
    return Choices(**{**vars(CHOICES), **changes})


def test_kinds_are_found_and_encoded():
    columns = Columns.of(TABLE, CHOICES)
    assert columns.names == ["size", "colour=blue", "colour=green", "colour=red"]
    X = columns.rows(TABLE, 0)
    assert X[:, 0].mean() == pytest.approx(0.0)
    assert X[:, 0].std() == pytest.approx(1.0)
    np.testing.assert_array_equal(X[:4, 1:], [[0, 0, 1], [1, 0, 0], [0, 0, 1], [0, 1, 0]])
    assert columns.targets(TABLE, 0)[:2].tolist() == ["a", "b"]
    ordinal = Columns.of(TABLE, choices(encode="ordinal", scale="none")).rows(TABLE, 0)
    np.testing.assert_array_equal(ordinal[:4], [[1, 2], [2, 0], [3.5, 2], [4, 1]])
    ranged = Columns.of(TABLE, choices(scale="minmax")).rows(TABLE, 0)
    assert (ranged.min(), ranged.max()) == (0.0, 1.0)


def test_values_never_seen_before():
    new = pa.table({"size": [1.0], "colour": ["violet"]})
    columns = Columns.of(TABLE, CHOICES)
    assert columns.rows(new, 0)[0, 1:].tolist() == [0.0, 0.0, 0.0]
    assert columns.unseen == 1
    ordinal = Columns.of(TABLE, choices(encode="ordinal", scale="none"))
    assert ordinal.rows(new, 0)[0].tolist() == [1.0, -1.0]


def test_gaps_are_an_error_that_names_row_and_column():
    gap = pa.table({"size": ["1", None], "colour": ["red", "red"]})
    with pytest.raises(DataError, match=r"Row 102 has no value in column 'size'.*--impute median"):
        Columns.of(TABLE, CHOICES).rows(gap, 100)
    other = pa.table({"size": ["1", "2"], "colour": ["red", None]})
    with pytest.raises(DataError, match="Row 2 has no value in column 'colour'"):
        Columns.of(TABLE, CHOICES).rows(other, 0)


def test_gaps_are_filled_with_the_median_or_the_most_frequent():
    columns = Columns.of(TABLE, choices(impute="median", scale="none"))
    gap = pa.table({"size": [None, "nan"], "colour": ["red", None]})
    np.testing.assert_array_equal(columns.rows(gap, 0), [[2.75, 0, 0, 1], [2.75, 0, 0, 1]])


@pytest.mark.parametrize(
    "held",
    [
        pa.array([1, 2, None]), pa.array([1.0, 2.0, None]), pa.array(["1", "2", None]),
        pa.array(["1", "2", None]).dictionary_encode(), pa.array(["1 ", " 2", None]),
    ],
)  # fmt: skip
def test_whole_numbers_are_the_same_category_however_stored(held):
    first = pa.table({"code": [1, 2, 1, 2], "y": [0, 1, 0, 1]})
    columns = Columns.of(first, Choices("y", categorical=("code",), impute="median"))
    np.testing.assert_array_equal(columns.rows(pa.table({"code": held}), 0)[:2], [[1, 0], [0, 1]])


@pytest.mark.parametrize(
    ("labels", "wanted"),
    [
        (pa.array([1, 0]), [1, 0]), (pa.array(["1", "0"]), [1, 0]), (pa.array([1.0, 0.0]), [1, 0]),
        (pa.array(["x", "1"]), ["x", "1"]), (pa.array([True, False]), ["True", "False"]),
        (pa.array([0.5, 1.0]), ["0.5", "1"]),
    ],
)  # fmt: skip
def test_labels_are_whole_numbers_or_texts(labels, wanted):
    table = pa.table({"x": [0.0, 1.0], "y": labels})
    assert Columns.of(table, Choices("y")).targets(table, 0).tolist() == wanted


@pytest.mark.parametrize(
    ("table", "first", "message"),
    [
        (
            {"size": ["1", "huge"], "colour": ["red", "red"]},
            10,
            r"Row 12, column 'size': 'huge' is not a number.*--categ",
        ),
        ({"size": ["inf"], "colour": ["red"]}, 0, "Row 1, column 'size': the number is infinite"),
        ({"size": ["1"]}, 0, "no column 'colour', which the model was trained with; it has 'size'"),
    ],
)
def test_rows_that_cannot_be_encoded_are_named(table, first, message):
    with pytest.raises(DataError, match=message):
        Columns.of(TABLE, CHOICES).rows(pa.table(table), first)


@pytest.mark.parametrize(
    ("known", "table", "message"),
    [
        (["a", "b"], {"size": ["1"]}, "no column 'kind', the target"),
        (["a", "b"], {"kind": ["a", None]}, "Row 8 has no value in the target"),
        (
            [0, 1],
            {"kind": ["3", "a"]},
            r"Row 8, target 'kind': 'a' is not an integer.*--categorical kind.*--on-error skip",
        ),
    ],
)
def test_labels_that_cannot_be_read_are_named(known, table, message):
    columns = Columns.of(pa.table({"x": [0, 1], "kind": known}), Choices("kind"))
    with pytest.raises(DataError, match=message):
        columns.targets(pa.table(table), 6)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"target": "zz"}, "no column 'zz'; it has 'size'"),
        ({"drop": ("zz",)}, "no column 'zz'"),
        ({"numeric": ("colour",)}, "'colour' holds numbers, but row 1 holds 'red'"),
        ({"drop": ()}, r"such as 'row 0': .*--drop name.*Dates must be like 2024-03-01"),
        ({"numeric": ("size",), "categorical": ("size",)}, "'size' is named both"),
        ({"drop": ("name", "size", "colour")}, "no column to learn from"),
    ],
)
def test_choices_that_do_not_fit_the_table_are_named(wrong, message):
    long = pa.concat_tables([TABLE, TABLE.set_column(3, "name", pa.array([f"n{i}" for i in range(40)]))])
    with pytest.raises(DataError, match=message):
        Columns.of(long, choices(**wrong))


def test_what_has_moved_is_reported():
    random = np.random.default_rng(0)
    columns = Columns.of(
        pa.table({"a": random.normal(size=500), "b": random.normal(size=500), "y": [0, 1] * 250}), Choices("y")
    )
    columns.watch(random.normal(size=(20_000, 2)))
    assert columns.moved() == {}
    columns.watch(random.normal([2.0, 0.0], [1.0, 3.0], size=(20_000, 2)))
    moved = columns.moved()
    assert set(moved) == {"a", "b"}
    assert moved["a"].startswith("its mean has moved by +")
    assert "spread has grown" in moved["b"]


def test_a_column_of_one_value_is_left_unscaled():
    table = pa.table({"a": [5.0, 5.0, 5.0], "b": [0.0, 1.0, 2.0], "y": [0, 1, 0]})
    columns = Columns.of(table, Choices("y"))
    assert columns.rows(table, 0)[:, 0].tolist() == [0.0, 0.0, 0.0]
    assert columns.scale[0] == 1.0


@given(
    st.lists(st.tuples(st.floats(-1e6, 1e6), st.sampled_from(["u", "v", "w"])), min_size=4, max_size=40),
    st.integers(1, 39),
)
def test_encoding_does_not_depend_on_how_rows_are_cut(rows, cut):
    numbers, words = map(list, zip(*rows, strict=True))
    table = pa.table({"n": numbers, "w": words, "y": [i % 2 for i in range(len(rows))]})
    columns = Columns.of(table, Choices("y", precision="float64", categorical=("w",)))
    whole = columns.rows(table, 0)
    parts = [columns.rows(part, 0) for part in (table.slice(0, cut), table.slice(cut)) if part.num_rows]
    np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_missing_labels_are_never_a_class():
    for held in (pa.array([0.0, float("nan")]), pa.array(["0", " NA "]), pa.array([0, None])):
        table = pa.table({"x": [0.0, 1.0], "y": held})
        with pytest.raises(DataError, match="Row 2 has no value in the target"):
            Columns.of(pa.table({"x": [0.0, 1.0], "y": [0, 1]}), Choices("y")).targets(table, 0)


@pytest.mark.parametrize("number", [2**53 + 3, 2**63 - 1, -(2**63)])
def test_large_whole_numbers_are_exact_labels(number):
    for held in (pa.array([number]), pa.array([str(number)])):
        table = pa.table({"x": [0.0], "y": held})
        assert Columns.of(table, Choices("y")).targets(table, 0).tolist() == [number]
    unsigned = pa.table({"x": [0.0], "y": pa.array([2**63 + 5], pa.uint64())})
    assert Columns.of(unsigned, Choices("y")).targets(unsigned, 0).tolist() == [str(2**63 + 5)]


@pytest.mark.filterwarnings("ignore:.* are gaps")
def test_the_same_values_from_any_source():
    """Truth values, whole numbers, blanks and missing values mean the same in text and in typed columns."""
    typed = pa.table({"b": [True, False, True], "c": [1.0, 2.0, None], "y": [True, False, True]})
    text = pa.table({"b": ["True", "false", " TRUE"], "c": ["1.0", " 2", "NA"], "y": ["True", " False", "True"]})
    choices = Choices("y", categorical=("c",), impute="median")
    columns = Columns.of(typed, choices)
    assert columns.names == ["b", "c=1", "c=2"]
    np.testing.assert_array_equal(columns.rows(typed, 0), columns.rows(text, 0))
    assert columns.targets(typed, 0).tolist() == columns.targets(text, 0).tolist() == ["True", "False", "True"]
    assert Columns.of(text, choices).names == columns.names


def test_a_typing_error_does_not_make_a_column_categorical():
    table = pa.table({"a": [*map(str, range(98)), "x7", "99"], "y": [0, 1] * 50})
    with pytest.raises(DataError, match=r"row 99 holds 'x7': correct it, or .*--on-error skip.*--categorical a"):
        Columns.of(table, Choices("y"))
    assert len(Columns.of(table, Choices("y", categorical=("a",))).names) == 100


def test_numbers_in_a_dictionary():
    held = pa.array(["1", "2", "1"]).dictionary_encode()
    table = pa.table({"a": held, "y": [0, 1, 0]})
    assert Columns.of(table, Choices("y")).names == ["a=1", "a=2"]
    assert Columns.of(table, Choices("y", numeric=("a",))).names == ["a"]


def test_ids_are_texts_whatever_else_is_in_the_chunk():
    table = pa.table({"id": ["007", "7", "x77"], "a": [0.0, 1.0, 2.0], "y": [0, 1, 0]})
    columns = Columns.of(table, Choices("y", row_id="id"))
    assert columns.ids(table) == ["007", "7", "x77"]
    assert columns.ids(pa.table({"id": [7, 2**60]})) == ["7", str(2**60)]
    assert columns.ids(pa.table({"id": [7.0]})) == ["7"]


def test_bytes_are_not_read():
    with pytest.raises(DataError, match=r"holds binary.*--drop a"):
        Columns.of(pa.table({"a": [b"\xff", b"\x00"], "y": [0, 1]}), Choices("y"))


def test_a_column_that_counts_rows_is_named():
    with pytest.warns(UserWarning, match="'number' counts the rows.*give it as the id"):
        Columns.of(pa.table({"number": np.arange(60), "a": np.ones(60), "y": [0, 1] * 30}), Choices("y"))


@pytest.mark.parametrize(
    ("text", "days"),
    [
        ("2024-03-01", 19783.0), ("2024-03-01T12:00", 19783.5), ("2024-03-01 12:00:00", 19783.5),
        ("2024-03-01T12:00:00.000000000", 19783.5), ("2024-03-01T12:00:00Z", 19783.5),
        ("2024-03-01T12:00:00+06:00", 19783.25), ("2024-03-01T12:00:00-0600", 19783.75), ("1969-12-31", -1.0),
        ("NA", np.nan),
    ],
)  # fmt: skip
def test_dates_and_times_are_days(text, days):
    """Also when other forms stand beside them."""
    np.testing.assert_array_equal(as_dates(pa.array([text, "1970-01-02"])), [days, 1.0])
    np.testing.assert_array_equal(as_dates(pa.array([text, "1970-01-02T00:00:00Z"])), [days, 1.0])


@pytest.mark.parametrize("text", ["2024-02-30", "2024-3-1", "01.03.2024", "2024-03-01T25:00", "today", "2024"])
def test_what_is_not_a_date(text):
    values = pa.array(["2024-03-01", text, None, "2024-03-02T10:00"])
    assert as_dates(values) is None
    assert not_dates(values).tolist() == [False, True, False, False]
    table = pa.table({"a": ["2024-03-01"] * 20 + [text], "y": [0, 1, 0] * 7})
    with pytest.raises(DataError, match="Column 'a' holds dates, but row 21 holds"):
        Columns.of(table, Choices("y"))


def test_times_of_any_type_are_the_same_days():
    micro = pa.array([86_400_000_000, None], pa.timestamp("us"))
    for kind in (pa.timestamp("ns"), pa.timestamp("s"), pa.timestamp("ms", "Asia/Tokyo"), pa.date32(), pa.date64()):
        np.testing.assert_array_equal(as_dates(micro.cast(kind)), [1.0, np.nan])


@pytest.mark.parametrize(
    ("values", "wrong"),
    [
        (["1", "x", None, "2e5", " 3 ", "NA"], [False, True, False, False, False, False]),
        (["true", "maybe", "False"], [False, True, False]),
        (["1", "true"], [False, True]),
        (["inf", "-Infinity", "nan", "1e999", "x"], [False, False, False, False, True]),
    ],
)
def test_values_that_are_not_numbers_are_found(values, wrong):
    assert not_numbers(pa.array(values)).tolist() == wrong


def test_what_is_wrong_with_rows():
    """Every bad row is found, whatever is wrong with it, and no good one."""
    columns = Columns.of(TABLE, choices(precision="float32", scale="none"))
    table = pa.table(
        {
            "size": ["1", "x", "", "inf", "1e200", "1e20", "2", "3", "4"],
            "colour": ["red", "red", "red", "red", "red", "red", None, "violet", "red"],
            "kind": ["a", "a", "a", "a", "a", "a", "a", "b", None],
        }
    )
    unseen = columns.unseen
    assert sorted(columns.problems(table)) == [1, 2, 3, 4, 5, 6, 8]
    assert sorted(columns.problems(table, with_labels=False)) == [1, 2, 3, 4, 5, 6]
    assert columns.unseen == unseen
    filled = Columns.of(TABLE, choices(impute="median"))
    assert sorted(filled.problems(table)) == [1, 3, 4, 8]


def test_rows_the_source_could_not_split_are_named():
    columns = Columns.of(TABLE, CHOICES)
    table = pa.table(
        {"size": ["1", None], "colour": ["red", None], "_malformed": [None, "3 fields expected, 2 found\n1"]}
    )
    with pytest.raises(DataError, match="Row 2: 3 fields expected, 2 found"):
        columns.rows(table, 0)


COMMA = {"decimal": ","}


def test_a_point_has_one_meaning_beside_decimal_commas():
    """Between thousands it is left out; any other number with a point is not a number."""
    good = ["1,5", "1.234,5", "-1.234.567", "+2", ",5", "1e3", " 1.000 "]
    table = pa.table({"a": good, "y": ["0", "1"] * 3 + ["0"]}).replace_schema_metadata(COMMA)
    columns = Columns.of(table, Choices(target="y", scale="none", precision="float64"))
    assert columns.rows(table, 0)[:, 0].tolist() == [1.5, 1234.5, -1234567.0, 2.0, 0.5, 1000.0, 1000.0]
    for text in ("12.34", "1.2345", "0.123", "00.123", "1.", ".5", "12.34,5", "1,234.5", "1.5e3", "1234.567"):
        wrong = pa.table({"a": [text], "y": ["0"]}).replace_schema_metadata(COMMA)
        with pytest.raises(DataError, match=f"'{text}'.* is not a number"):
            columns.rows(wrong, 0)
        assert columns.problems(wrong).keys() == {0}


def test_points_in_texts_stay_beside_decimal_commas():
    """Versions, labels and ids are texts, in which a point is a letter like any other."""
    table = pa.table({"id": ["1.1", "1.2"] * 20, "v": ["2.10", "x"] * 20, "y": ["0.123", "b"] * 20})
    columns = Columns.of(table.replace_schema_metadata(COMMA), Choices(target="y", row_id="id"))
    assert columns.names == ["v=2.10", "v=x"]
    assert columns.ids(table.replace_schema_metadata(COMMA))[:2] == ["1.1", "1.2"]
    assert columns.targets(table.replace_schema_metadata(COMMA), 0)[:2].tolist() == ["0.123", "b"]


@pytest.mark.parametrize("text", ["{},5", "-{},25", "1.{},5"])
@pytest.mark.parametrize("other", ["{},75", "{}"])
def test_numbers_with_decimal_commas_do_not_become_categories(text, other):
    """Also beside numbers without a comma, which spreadsheets write without one."""
    column = [None, *((text, other)[i % 2].format(100 + i % 40) for i in range(60)), "?", "none"]
    table = pa.table({"size": column, "y": ["a", "b"] * 31 + ["a"]})
    options = {"target": "y", "impute": "median"}
    with pytest.raises(DataError, match=f"'size' holds numbers with a decimal comma, such as '{text.format(100)}'"):
        Columns.of(table, Choices(**options))
    assert Columns.of(table, Choices(**options, categorical=("size",))).columns[0].categories
    pairs = pa.table({"size": ["1,2,3", "a,b"] * 30, "y": ["a", "b"] * 30})
    assert Columns.of(pairs, Choices(**options)).columns[0].categories == ["1,2,3", "a,b"]


@pytest.mark.parametrize("texts", [["1,234", "12,345"], ["10,000", "999"], ["1,234,567", "-2,345.5"]])
def test_commas_that_may_stand_between_thousands_are_not_called_decimal(texts):
    """Read as decimal commas, such numbers would be a thousand times smaller."""
    table = pa.table({"size": [None, *texts * 30], "y": ["a", "b"] * 30 + ["a"]})
    with pytest.raises(DataError, match=f"'{texts[0]}': take the commas out if they stand between thousands, or read"):
        Columns.of(table, Choices(target="y", impute="median"))
    for decimal in ("1,5", "0,123"):
        table = pa.table({"size": [*texts, decimal] * 30, "y": ["a", "b", "a"] * 30})
        with pytest.raises(DataError, match=f"with a decimal comma, such as '{decimal}'"):
            Columns.of(table, Choices(target="y"))


@pytest.mark.parametrize("text", ["31.{}.2024", "{}/31/24", "2024/{}/31", "1-{}-2024", "1.{}.2024 12:30"])
def test_dates_in_another_form_do_not_become_categories(text):
    column = [None, *(text.format(i % 12 + 1) for i in range(60)), "?"]
    table = pa.table({"day": column, "y": ["a", "b"] * 31})
    with pytest.raises(DataError, match="'day' holds dates in another form than 2024-03-31, such as"):
        Columns.of(table, Choices(target="y", impute="median"))
    assert Columns.of(table, Choices(target="y", impute="median", categorical=("day",))).columns[0].categories


def test_other_texts_with_such_signs_stay_categories():
    for texts in (["1.2.3", "10.0.1", "1-2-3"], ["12-34-5678", "45-88-1234", "?"], ["2024.0.1", "2024.13.0", "?"]):
        table = pa.table({"version": texts * 20, "y": ["a", "b", "a"] * 20})
        assert Columns.of(table, Choices(target="y", impute="median")).columns[0].categories


def test_many_gaps_in_categories_are_named(recwarn):
    """They all become the most frequent category, which may then decide nothing."""
    for texts in (["a", "a", None, "b", None], pa.array(["a", "?", "b", "a", None]).dictionary_encode()):
        table = pa.table({"shop": [*texts] * 20, "price": [1.5, None, None, 2.5, 3.5] * 20, "y": ["u", "v"] * 50})
        with pytest.warns(UserWarning, match="40% of the values of column 'shop' are gaps, .* category, 'a'"):
            Columns.of(table, Choices(target="y", impute="median"))
        Columns.of(table.slice(0, 40), Choices(target="y", impute="median"), for_now=True)
    table = pa.table({"shop": ["a", "b"] * 45 + [None] * 10, "price": [1.5, None] * 50, "y": ["u", "v"] * 50})
    Columns.of(table, Choices(target="y", impute="median"))
    assert not recwarn.list


def test_gaps_of_pandas_written_as_texts():
    table = pa.table({"size": ["1", "<NA>", "3", "NaT"], "y": ["a", "b"] * 2})
    columns = Columns.of(table, Choices("y", impute="median", scale="none"))
    assert columns.rows(table, 0).ravel().tolist() == [1, 2, 3, 2]


def test_labels_with_a_sign_are_integers():
    """In the first rows and later, alone and beside others."""
    first = pa.table({"a": ["1", "2"] * 20, "y": ["+11", "-0"] * 20})
    columns = Columns.of(first, Choices(target="y"))
    assert columns.labels == "whole"
    for labels, wanted in ((["+11"], [11]), (["+11", "-0"], [11, 0]), ([" +7.0 ", "-3"], [7, -3])):
        found = columns.targets(pa.table({"a": ["1"] * len(labels), "y": labels}), 0)
        assert found.dtype == np.int64
        assert found.tolist() == wanted
    for label in ("+-1", "11.5", "1e1", "9223372036854775808", "-99999999999999999999"):
        with pytest.raises(DataError, match="is not an integer"):
            columns.targets(pa.table({"a": ["1", "2"], "y": [label, "1"]}), 0)
    with pytest.raises(DataError, match="is not an integer"):  # a float that is even, but may have been another
        columns.targets(pa.table({"a": ["1", "2"], "y": [9007199254740994.0, 1.0]}), 0)


@pytest.mark.parametrize("odd", ["11.5", "1e1", "99999999999999999999", "x"])
def test_a_few_odd_labels_that_make_all_of_them_texts_are_named(odd):
    table = pa.table({"a": ["1", "2"] * 20, "y": ["10", "11"] * 19 + [odd, "11"]})
    with pytest.warns(UserWarning, match=f"All labels are texts, since 1 of .* column 'y' holds '{odd}' in row 39"):
        assert Columns.of(table, Choices(target="y")).labels == "text"


def test_labels_that_are_mostly_texts_need_no_word(recwarn):
    Columns.of(pa.table({"a": ["1", "2"] * 20, "y": ["1", "b"] * 20}), Choices(target="y"))
    Columns.of(pa.table({"a": ["1", "2"] * 20, "y": ["1"] * 39 + ["b"]}), Choices(target="y", categorical=("y",)))
    assert not recwarn.list


def test_lists_are_called_lists():
    with pytest.raises(DataError, match=r"Column 'a' holds lists or records.*--drop a"):
        Columns.of(pa.table({"a": [[1.0], [2.0]], "y": [0, 1]}), Choices(target="y"))


def test_time_grows_linearly_with_the_number_of_columns():
    names = [f"x{j}" for j in range(20_000)]
    table = pa.table([pa.array([0.0, 1.0])] * len(names) + [pa.array([0, 1])], names=[*names, "y"])
    columns = Columns.of(table, Choices(target="y"))
    start = time.perf_counter()
    columns.rows(table, 0)
    assert time.perf_counter() - start < 5.0  # it was over a minute when each column looked through all names
