"""Sources: every one yields the same rows and so the same model, in constant memory, and says what is wrong."""

import csv
import gzip
import io
import os
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fbtwsvm.data.generators import make
from fbtwsvm.data.sources import DataError, in_chunks, open_source
from fbtwsvm.data.sources.base import RowHash
from fbtwsvm.data.sources.delimited import RowParser
from fbtwsvm.data.sources.text import QuoteCutter
from helpers import ROWS, csv_text, learned, table, write

KINDS = ["csv", "csv.gz", "csv.zst", "tsv", "arrow", "ipc", "libsvm", "arff", "npy", "npz", "part.npz", "db"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_yields_the_same_rows_and_the_same_model(kind, rows, reference, tmp_path):
    address = write(kind, rows, tmp_path)
    target = "x3" if kind == "npy" else "y"
    if kind == "libsvm":
        # dump_svmlight_file writes 16 digits: then the rows are equal to that
        parts = list(open_source(address).tables())
        for j in range(3):
            found = np.concatenate([part[f"x{j}"].to_numpy() for part in parts])
            np.testing.assert_allclose(found, rows[0][:, j], rtol=1e-14)
    model = learned(address, target)
    assert model.rows == ROWS
    assert model.columns.names == ["x0", "x1", "x2"]
    close = {"rtol": 1e-4, "atol": 1e-6} if kind == "libsvm" else {"rtol": 0, "atol": 0}
    np.testing.assert_allclose(model.estimator.planes_, reference.estimator.planes_, **close)
    np.testing.assert_array_equal(model.estimator.classes_, reference.estimator.classes_)


@pytest.mark.slow
def test_standard_input(rows, reference, tmp_path):
    code = (
        "import sys; from helpers import learned; m = learned('-'); "
        "import numpy as np; np.save(sys.argv[1], m.estimator.planes_)"
    )
    for text in (csv_text(rows).encode(), gzip.compress(csv_text(rows).encode())):
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(
                [os.path.dirname(os.path.dirname(__file__)), os.environ.get("PYTHONPATH", "")]
            ),
        }
        arguments = [sys.executable, "-c", code, str(tmp_path / "planes.npy")]
        subprocess.run(arguments, input=text, check=True, env=environment)
        np.testing.assert_array_equal(np.load(tmp_path / "planes.npy"), reference.estimator.planes_)


def test_a_generator_is_a_source(rows):
    found = pa.concat_tables(open_source(f"generate:sea?rows={ROWS}&seed=7").tables())
    X = rows[0].copy()
    X[3, 1] = found["x1"][3].as_py()
    np.testing.assert_array_equal(found.select(["x0", "x1", "x2"]).to_pandas().to_numpy(), X)


@pytest.mark.parametrize("size", [1, 7, 400, 10_000])
@pytest.mark.parametrize("first", [None, 50])
def test_chunks_are_cut_by_count(size, first, rows):
    pieces = [table(rows).slice(0, 13), table(rows).slice(13, 900), table(rows).slice(913)]
    chunks = list(in_chunks(iter(pieces), size, first))
    sizes = [chunk.num_rows for chunk in chunks]
    assert pa.concat_tables(chunks).equals(table(rows))
    assert sizes[0] == min(first or size, ROWS)
    assert set(sizes[1:-1]) <= {size}


KINDS_WITH_PLACES = ["csv", "csv.gz", "libsvm", "arff", "parquet", "arrow", "npy", "npz", "db"]


def written_anew(kind, rows, folder):
    """Write other rows in place of a file."""
    (folder / f"rows.{kind}").unlink()
    return write(kind, rows, folder)


def place_of(source, rows, chunk=97):
    """Read a number of rows in chunks; returns the place after them."""
    done, place = 0, ""
    for part in in_chunks(source.tables_after(""), chunk):
        if done == rows:
            break
        part = part.slice(0, rows - done)
        done += part.num_rows
        place = source.place_after(part, done)
    assert done == rows
    return place


@pytest.mark.parametrize("kind", KINDS_WITH_PLACES)
@pytest.mark.parametrize("place", [0, 1, 299, 300, 1299, ROWS])
def test_going_on_after_a_place(kind, place, rows, tmp_path):
    """A place has a hash of what came before; one of an older model file is only a number of rows."""
    address = write(kind, rows, tmp_path)
    first = place_of(open_source(address), place)
    assert place_of(open_source(address), place, chunk=13) == first
    for where in (first, str(place)):
        source = open_source(address)
        left = [part for part in source.tables_after(where) if part.num_rows]
        assert sum(part.num_rows for part in left) == ROWS - place
        if left:
            assert float(left[0]["x0"][0].as_py()) == pytest.approx(rows[0][place, 0], rel=1e-14)
            assert source.place_after(pa.concat_tables(left), ROWS) == place_of(open_source(address), ROWS)


@pytest.mark.parametrize("kind", KINDS_WITH_PLACES)
def test_rows_that_were_changed_after_they_were_read(kind, rows, tmp_path):
    """A file that was rotated has as many rows as before, or more, but other ones."""
    place = place_of(open_source(write(kind, rows, tmp_path)), 900)
    X = rows[0].copy()
    X[899, 1] += 1
    with pytest.raises(DataError, match=r"does not begin any more with the 900 rows.*--from-start"):
        list(open_source(written_anew(kind, (X, rows[1]), tmp_path)).tables_after(place))
    X = rows[0].copy()
    X[900, 1] += 1
    left = open_source(written_anew(kind, (X, rows[1]), tmp_path)).tables_after(place)
    assert sum(part.num_rows for part in left) == ROWS - 900


@pytest.mark.parametrize("kind", KINDS_WITH_PLACES)
def test_a_source_that_became_shorter_is_another_one(kind, rows, tmp_path):
    place = place_of(open_source(write(kind, rows, tmp_path)), ROWS)
    source = open_source(written_anew(kind, (rows[0][:1200], rows[1][:1200]), tmp_path))
    for where in (place, str(ROWS)):
        with pytest.raises(DataError, match="does not begin any more"):
            list(source.tables_after(where))


@pytest.mark.parametrize("kind", ["csv", "tsv", "libsvm", "arff"])
def test_a_last_line_without_a_line_end(kind, rows, tmp_path):
    """It waits where a later run can go on, and is a row elsewhere."""
    address = write(kind, rows, tmp_path)
    path = tmp_path / f"rows.{kind}"
    path.write_bytes(path.read_bytes()[:-1])
    size = len(path.read_bytes().rpartition(b"\n")[2])
    source = open_source(address)
    assert sum(part.num_rows for part in source.tables()) == ROWS
    assert source.waiting == 0
    assert sum(part.num_rows for part in source.tables_after("")) == ROWS - 1
    assert source.waiting == size
    source.finished = True
    assert sum(part.num_rows for part in source.tables_after("")) == ROWS
    place = place_of(source, ROWS)
    path.write_bytes(path.read_bytes() + b"\n")
    assert list(open_source(address).tables_after(place)) == []
    path.write_bytes(path.read_bytes()[:-1] + b"5\n")
    with pytest.raises(DataError, match="learned before its line was finished"):
        list(open_source(address).tables_after(place))


def test_a_head_that_is_not_finished_waits(tmp_path):
    for name, text in (("rows.csv", "a,b"), ("rows.arff", "@attribute a real\n@dat"), ("rows.libsvm", "1 1:2 2:")):
        (tmp_path / name).write_text(text)
        source = open_source(str(tmp_path / name))
        assert list(source.tables_after("")) == []
        assert source.waiting == len(text)


@given(st.lists(st.tuples(st.none() | st.floats(), st.none() | st.text(max_size=3)), max_size=12), st.integers(0, 12))
def test_the_hash_of_rows_does_not_depend_on_how_they_are_cut(rows, cut):
    numbers, texts = [row[0] for row in rows], [row[1] for row in rows]
    whole = pa.table({"n": pa.array(numbers, pa.float64()), "t": pa.array(texts, pa.string())})
    one, other = RowHash(), RowHash()
    one.add(whole)
    for part in (whole.slice(0, cut), whole.slice(cut)):
        other.add(part)
    assert one.digest() == other.digest()
    stored_otherwise = RowHash()
    stored_otherwise.add(pa.table({"n": whole["n"], "t": whole["t"].dictionary_encode()}))
    assert one.digest() == stored_otherwise.digest()
    other.add(pa.table({"n": [0.5], "t": ["x"]}))
    assert one.digest() != other.digest()


def test_memory_does_not_grow_with_the_file(tmp_path):
    """A file of many times the size of a piece is read without ever holding much of it."""
    path = tmp_path / "long.csv"
    X, y = make("sea").rows(65_536)
    block = csv_text((X, y)).encode()
    with open(path, "wb") as file:
        file.write(block)
        for _ in range(9):
            file.write(block.split(b"\n", 1)[1])
    start = pa.total_allocated_bytes()
    most = max(pa.total_allocated_bytes() - start for _ in in_chunks(open_source(str(path)).tables(), 1000))
    assert path.stat().st_size > 30 * 2**20
    assert most < 8 * 2**20


PACKED = gzip.compress(b"a,y\n" + np.random.default_rng(0).bytes(5000).hex().encode() + b",1\n")


BAD = [
    ("short.csv", b"a,b,y\n1,2,0\n3,4\n5,6,1\n", "Row 2: 3 fields expected, 2 found.*--on-error skip.$"),
    ("numbers.csv", b"1,2,3\n4,5,6\n", "Add --no-header"),
    ("empty.csv", b"", "is empty"),
    ("twice.csv", b"a,a,y\n1,2,3\n", "'a' occurs more than once"),
    ("latin.csv", b"a,y\n\xe9,1\n", "UTF8|UTF-8"),
    ("binary.csv", b"\x00\xff\xfe\x01\n", "UTF-8"),
    ("open.csv.gz", PACKED[:-900], "compressed, and damaged"),
    ("packed.csv.gz", PACKED[:200] + b"\x00" * 300 + PACKED[500:], "compressed, and damaged"),
    ("mac.csv", b"a,y\r1,2\r3,4\r", "cannot be read"),
    ("bad.libsvm", b"1 1:0.5\n0 one:2\n", "row 2 cannot be read as libsvm text.*[.]$"),
    ("bad.parquet", b"PAR1 and nothing more", "cannot be read as Parquet"),
    ("bad.arrow", b"ARROW1 nonsense", "cannot be read as Arrow"),
    ("bad.npz", b"PK nonsense", "cannot be read"),
    ("bad.npy", b"\x93NUMPY nonsense", "cannot be read"),
    ("sparse.arff", b"@relation a\n@attribute x real\n@data\n{0 1}\n", "sparse ARFF"),
    ("none.arff", b"@relation a\n", "no @data"),
    ("rows.xyz", b"", "does not tell the format"),
]


@pytest.mark.parametrize(("name", "content", "message"), BAD, ids=[bad[0] for bad in BAD])
def test_what_cannot_be_read_is_named(name, content, message, tmp_path):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        list(open_source(str(path)).tables())


@pytest.mark.parametrize(
    ("address", "error", "message"),
    [
        ("nowhere.csv", FileNotFoundError, "no file nowhere.csv"),
        (".", DataError, "folder"),
        ("sqlite:///nowhere.db?query=SELECT 1", FileNotFoundError, "nowhere.db"),
        ("sqlite:///nowhere.db", DataError, "say what to read"),
        ("redis://localhost/0", DataError, "Name the stream"),
        ("redis://localhost/0?stream=rows&idle=x", DataError, "idle=x: give a number of seconds"),
        ("redis://localhost/0?stream=rows&idle=-1", DataError, "not negative"),
        ("https://user:secret@host/rows.csv", DataError, "^https://host/rows.csv: addresses of https are not read"),
        ("s3://bucket/rows.parquet", DataError, "addresses of s3 are not read"),
        ("generate:moons", DataError, "there are the generators"),
        ("generate:sea?colour=red", DataError, "not a number"),
        ("generate:sea?centroids=3", DataError, "sea has no option 'centroids'"),
    ],
)
def test_addresses_that_lead_nowhere(address, error, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(error, match=message):
        list(open_source(address, form="csv" if address == "." else None).tables())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("kind", ["libsvm", "arff", "parquet", "db"])
def test_options_of_csv_are_refused_elsewhere(kind, rows, tmp_path):
    address = write(kind, rows, tmp_path)
    for options in ({"decimal": ","}, {"encoding": "latin-1"}):
        with pytest.raises(DataError, match="for CSV and TSV"):
            open_source(address, **options)


def test_secrets_stay_out_of_names_and_messages():
    addresses = [
        "postgresql://localhost/base?user=u&password=s3cret&query=SELECT 1",
        "redis://u:s3cret/x@localhost:1/0?stream=rows",
    ]
    for address in addresses:
        assert "s3cret" not in open_source(address).name
    with pytest.raises(DataError, match="cannot be read") as caught:
        list(open_source(addresses[1]).tables())
    assert "s3cret" not in str(caught.value)


def test_long_names_are_short_in_files():
    long = "sqlite:///:memory:?query=SELECT 1 /*" + "x" * 20_000 + "*/"
    assert len(open_source(long).identity) < 2000
    assert open_source(long).identity != open_source(long.replace("SELECT 1", "SELECT 2")).identity
    assert open_source("redis://h?db=3&stream=a").identity != open_source("redis://h?db=4&stream=a").identity


def test_npz_stored_by_columns(rows, tmp_path):
    """As pandas writes it."""
    np.savez(tmp_path / "rows.npz", X=np.asfortranarray(rows[0]), y=rows[1])
    found = pa.concat_tables(open_source(str(tmp_path / "rows.npz")).tables())
    np.testing.assert_array_equal(np.column_stack([found[f"x{j}"] for j in range(3)]), rows[0])


def test_objects_in_numpy_files_are_not_read(tmp_path):
    path = tmp_path / "objects.npz"
    np.savez(path, X=np.array([[1, None]], dtype=object), y=np.array([1]))
    with pytest.raises(DataError, match="Python objects"):
        list(open_source(str(path)).tables())
    np.savez(path, A=np.zeros((2, 2)), X_train=np.zeros((2, 2)))
    with pytest.raises(DataError, match=r"Name a part, as in .*:train"):
        list(open_source(str(path)).tables())


@pytest.mark.parametrize("kind", [">f8", "longdouble", "i2", "?"])
def test_unusual_types_of_numpy(kind, tmp_path):
    X = np.array([[1, 0], [0, 1]]).astype(kind)
    np.save(tmp_path / "rows.bin", X)
    (tmp_path / "rows.bin.npy").rename(tmp_path / "rows.bin")
    found = next(open_source(str(tmp_path / "rows.bin"), form="npy").tables())
    assert [float(value) for value in found["x0"].to_pylist()] == [1.0, 0.0]


def test_a_wrong_query_is_explained(rows, tmp_path):
    address = write("db", rows, tmp_path)
    with pytest.raises(DataError, match="no such column: z"):
        list(open_source(address.replace("x0,", "z,")).tables())


def test_a_query_with_two_columns_of_one_name(rows, tmp_path):
    address = write("db", rows, tmp_path).partition("?")[0] + "?query=SELECT x0, x1 AS x0, y FROM seen"
    with pytest.raises(DataError, match="two columns 'x0'"):
        list(open_source(address).tables())


def test_text_with_quotes_semicolons_and_line_ends(tmp_path):
    path = tmp_path / "odd.csv"
    path.write_bytes(b'\xef\xbb\xbfname;"size";kind\r\n"a ""b""\nc;";1.5;x\r\n;2;"y"\r\n')
    found = pa.concat_tables(open_source(str(path)).tables()).to_pydict()
    assert found == {"name": ['a "b"\nc;', ""], "size": ["1.5", "2"], "kind": ["x", "y"]}


def test_without_a_header(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text("1,2,a\n3,4,b\n")
    found = pa.concat_tables(open_source(str(path), header=False).tables())
    assert found.to_pydict() == {"x0": ["1", "3"], "x1": ["2", "4"], "x2": ["a", "b"]}


def test_a_stray_quote_is_a_letter(tmp_path):
    """A quote within a field is no reason to look for its end in the rest of the file."""
    path = tmp_path / "disks.csv"
    lines = ["size,y", *(f"{i},a" for i in range(3000)), 'disk 5",b', *(f"{i},a" for i in range(150_000))]
    path.write_text("\n".join(lines) + "\n")
    found = pa.concat_tables(open_source(str(path)).tables())
    assert found.num_rows == 153_001
    assert found["size"][3000].as_py() == 'disk 5"'


def cut(data, size):
    """Cut CSV that comes in pieces of a size; returns the blocks, the ends of their rows, and what is left."""
    cutter, rest, blocks = QuoteCutter(","), b"", []
    for first in range(0, len(data), size):
        rest += data[first : first + size]
        ends, end = cutter.cut(rest)
        if end:
            blocks.append((rest[:end], ends))
            rest = rest[end:]
    return blocks, rest


@given(
    st.lists(st.lists(st.text('a",\n\r ', max_size=4), min_size=2, max_size=2), min_size=1, max_size=8),
    st.integers(1, 9),
)
def test_quoted_rows_are_cut_where_they_end(rows, size):
    """However a pipe delivers the bytes, the rows are those that a CSV writer wrote."""
    text = io.StringIO()
    csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows([["p", "q"], *rows])
    blocks, rest = cut(text.getvalue().encode(), size)
    assert rest == b""
    found = []
    for block, ends in blocks:
        for start, end in zip([0, *ends], ends, strict=False):
            found += csv.reader(io.StringIO(block[start:end].decode(), newline=""))
    assert found == [["p", "q"], *rows]


@given(st.lists(st.text('a",\n\r ', max_size=9), max_size=6).map("\n".join), st.integers(1, 9))
def test_rows_end_where_the_parser_ends_them(text, size):
    """Whatever the quotes and line ends, as many rows are found as the parser finds."""
    data = ("p,q\n" + text + "\n").encode()
    for block, ends in cut(data, size)[0]:
        malformed = []
        table = RowParser("text", ["p", "q"], ",", '"', True)._split(block, 0, malformed)
        assert table.num_rows + len(malformed) == len(ends)


def test_blank_lines_before_the_header(tmp_path):
    path = tmp_path / "blank.csv"
    path.write_bytes(b"\n\r\na,y\n1,2\n\n3,4")
    assert pa.concat_tables(open_source(str(path)).tables()).to_pydict() == {"a": ["1", "3"], "y": ["2", "4"]}


def test_arff_with_blanks_and_both_quotes(tmp_path):
    path = tmp_path / "odd.arff"
    head = "@relation r\n@attribute 'a b' numeric\n@attribute kind {'big one', small}\n@data\n"
    path.write_text(head + "1, 'big one'\n 2 , \"big one\"\n% 3, small\n?, small\n")
    table = pa.concat_tables(open_source(str(path)).tables())
    assert [each.strip() for each in table["a b"].to_pylist()] == ["1", "2", "?"]
    assert table["kind"].to_pylist() == ["big one", "big one", " small"]


@pytest.mark.parametrize(
    ("name", "head", "bad", "message"),
    [
        ("short.csv", "a,y\n", "1", "Row 20,001: 2 fields expected, 1 found"),
        ("long.csv", "a,y\n", "1,2,3", "Row 20,001: 2 fields expected, 3 found"),
        ("latin.csv", "a,y\n", "\xe9,2", "row 20,001 is not text in UTF-8"),
        (
            "short.arff",
            "@attribute a real\n@attribute y {0, 1}\n@data\n",
            "1",
            "Row 20,001: 2 fields expected, 1 found",
        ),
        ("bad.libsvm", "", "1 one:2", "row 20,001 cannot be read as libsvm"),
    ],
)
def test_all_rows_before_a_bad_one_come(name, head, bad, message, tmp_path):
    """A bad row within a block of many rows costs none of those before it, and its number is right."""
    good = ["1 1:2"] * 20_000 if name.endswith("libsvm") else [f"{i},1" for i in range(20_000)]
    path = tmp_path / name
    path.write_bytes((head + "\n".join([*good, bad, *good]) + "\n").encode("latin-1"))
    found = []
    with pytest.raises(DataError, match=message):
        found.extend(table.num_rows for table in open_source(str(path)).tables())
    assert sum(found) == 20_000


def test_bad_rows_of_arff_can_be_marked(tmp_path):
    path = tmp_path / "rows.arff"
    path.write_text("@attribute a real\n@attribute y {0, 1}\n@data\n1,0\n2\n3,1\n")
    found = pa.concat_tables(open_source(str(path), mark_malformed=True).tables()).to_pydict()
    assert found["a"] == ["1", None, "3"]
    assert found["_malformed"] == [None, "2 fields expected, 1 found\n2", None]


@pytest.mark.parametrize("mark_malformed", [False, True])
def test_a_quote_that_is_never_closed_is_named(mark_malformed, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a,y\n" + "1,2\n" * 100 + '"3,4\n5,6\n')
    found = []
    with pytest.raises(DataError, match=r"row 101 has a line end within a value, or a quote that is never closed\.$"):
        found.extend(table.num_rows for table in open_source(str(path), mark_malformed=mark_malformed).tables())
    assert sum(found) == 100


def test_a_link_is_the_file_that_it_leads_to(tmp_path):
    path, link = tmp_path / "rows.csv", tmp_path / "link.csv"
    path.write_text("a,y\n")
    link.symlink_to(path)
    assert open_source(str(link)).identity == open_source(str(path)).identity
    assert open_source(str(path)).is_called(str(link))  # as older model files have it
    np.savez(tmp_path / "rows.npz", X_train=np.eye(2), y_train=[0, 1])
    (tmp_path / "link.npz").symlink_to(tmp_path / "rows.npz")
    parts = [open_source(f"{tmp_path}/{name}.npz:{part}").identity for name in ("rows", "link") for part in ("a", "b")]
    assert parts[:2] == parts[2:]
    assert parts[0] != parts[1]


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_column_without_a_type(form, tmp_path):
    """A column that is all null, as pandas writes one of None, does not keep a file from being read."""
    table = pa.table({"a": [1.0, 2.0], "none": pa.nulls(2), "y": [0, 1]})
    path = str(tmp_path / f"rows.{form}")
    if form == "parquet":
        papq.write_table(table, path)
    else:
        with pa.OSFile(path, "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    assert pa.concat_tables(open_source(path).tables()).equals(table)


def test_a_name_of_a_column_that_is_too_long(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("a" * 1_000_000 + ",y\n1,2\n")
    with pytest.raises(DataError, match="a name of more than 131,072 letters"):
        list(open_source(str(path)).tables())


def test_entries_before_one_with_other_fields_come():
    entries = [("1-0", {"a": "1"}), ("2-0", {"a": "2"}), ("3-0", {"b": "3"}), ("4-0", {"a": "4"})]
    tables = open_source("redis://localhost/0?stream=rows")._tables(entries)
    assert next(tables).to_pydict() == {"a": ["1", "2"], "_id": ["1-0", "2-0"]}
    with pytest.raises(DataError, match="entry 3-0 has other fields"):
        next(tables)
