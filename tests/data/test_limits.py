"""Sources meant to exhaust memory or time: memory is bounded by stated numbers, whatever the bytes."""

import gzip
import io
import subprocess
import sys
import time
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as papq
import pytest

from fbtwsvm.data.sources import DataError, in_chunks, open_source

PEAK = """
import resource, sys
from fbtwsvm.data.sources import in_chunks, open_source
import fbtwsvm.data.sources.files
start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for chunk in in_chunks(open_source(sys.argv[1]).tables(), 100):
    pass
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) // 1024)
"""


def rows_of(path, **options):
    return list(in_chunks(open_source(str(path), **options).tables(), 1000))


def array_header(shape, kind, by_columns=False):
    """Return the header of an .npy file that claims a shape."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": kind, "fortran_order": by_columns, "shape": shape})
    return head.getvalue()


def pair(path, X, y):
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", X)
        archive.writestr("y.npy", y)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_a_long_text_that_is_repeated_is_not_unpacked_at_once(form, tmp_path):
    """A small file of 65,536 equal texts of 32 KB takes 2 GB when it is unpacked at once."""
    path = tmp_path / f"rows.{form}"
    texts = pa.DictionaryArray.from_arrays(pa.array(np.zeros(65_536, np.int32)), pa.array(["x" * 32_768]))
    table = pa.table({"a": texts, "y": np.arange(65_536) % 2})
    if form == "parquet":
        papq.write_table(table, path, store_schema=False)
        assert path.stat().st_size < 2**20
    else:
        with pa.ipc.new_file(path, table.schema) as sink:
            sink.write_table(table)
    done = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 200


def test_parquet_keeps_its_types(tmp_path):
    """Texts, categories, numbers, times and gaps are as they were written, also where texts are long."""
    table = pa.table(
        {
            "text": ["a", None, "b" * 1000],
            "category": pa.array(["u", "v", None]).dictionary_encode(),
            "number": [1.5, None, 2.5],
            "large": pa.array(["p", "q", None], pa.large_string()),
            "time": pa.array([1, 2, None], pa.timestamp("s")),
        }
    )
    papq.write_table(table, tmp_path / "rows.parquet")
    found = pa.concat_tables(open_source(str(tmp_path / "rows.parquet")).tables())
    assert found.cast(table.schema).equals(table)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_lists_are_not_unpacked(form, tmp_path):
    path = tmp_path / f"rows.{form}"
    table = pa.table({"list": [[0] * 5_000_000, [1]], "y": [0, 1]})
    if form == "parquet":
        papq.write_table(table, path)
    else:
        with pa.ipc.new_stream(path, table.schema) as sink:
            sink.write_table(table)
    (found,) = rows_of(path)
    assert found["y"].to_pylist() == [0, 1]
    assert found.nbytes < 1000


def test_a_row_that_is_too_long(tmp_path):
    papq.write_table(pa.table({"a": ["x", "x" * (17 * 2**20)], "y": [0, 1]}), tmp_path / "rows.parquet")
    with pytest.raises(DataError, match=r"row 2 takes 17,825,8.. bytes; at most 16,777,216"):
        rows_of(tmp_path / "rows.parquet")
    (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"a,y\n1,2\n" + b"0" * (70 * 2**20), 1))
    with pytest.raises(DataError, match="row 2 has over 16,777,216 bytes"):
        rows_of(tmp_path / "rows.csv.gz")


def test_a_chunk_that_is_too_large(tmp_path, monkeypatch):
    monkeypatch.setattr("fbtwsvm.data.sources.chunks.MOST_CHUNK_BYTES", 2**20)
    (tmp_path / "rows.csv").write_text("a,y\n" + f"{'x' * 2000},1\n" * 1000)
    with pytest.raises(DataError, match="smaller --chunk"):
        rows_of(tmp_path / "rows.csv")
    attribute = "@attribute a {" + "x" * 2000 + "}\n@attribute y numeric\n@data\n"
    (tmp_path / "rows.arff").write_text(attribute + f"{'x' * 2000},1\n" * 1000)
    with pytest.raises(DataError, match="smaller --chunk"):
        rows_of(tmp_path / "rows.arff")


@pytest.mark.parametrize("form", ["new_file", "new_stream"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_a_compressed_arrow_batch_that_is_too_large(form, dictionary, tmp_path, monkeypatch):
    """The size is known before anything is unpacked."""
    values = pa.array(["x" * 3_000_000])
    if dictionary:
        values = values.dictionary_encode()
    table = pa.table({"a": values, "y": [1]})
    with getattr(pa.ipc, form)(
        tmp_path / "rows.arrow", table.schema, options=pa.ipc.IpcWriteOptions(compression="zstd")
    ) as sink:
        sink.write_table(table)
    assert (tmp_path / "rows.arrow").stat().st_size < 10_000
    assert rows_of(tmp_path / "rows.arrow")[0].num_rows == 1
    monkeypatch.setattr("fbtwsvm.data.sources.files.MOST_CHUNK_BYTES", 2**20)
    with pytest.raises(DataError, match=r"unpack to 3,000,0.. bytes"):
        rows_of(tmp_path / "rows.arrow")


def test_a_group_of_a_parquet_file_that_unpacks_to_too_much(tmp_path, monkeypatch):
    monkeypatch.setattr("fbtwsvm.data.sources.files.MOST_CHUNK_BYTES", 2**20)
    table = pa.table({"a": ["x" * 2_000_000, "y" * 2_000_000], "y": [0, 1]})
    papq.write_table(table, tmp_path / "rows.parquet", compression="zstd", use_dictionary=False)
    with pytest.raises(DataError, match="would unpack to 4,0"):
        rows_of(tmp_path / "rows.parquet")


def test_claims_of_numpy_files_that_their_bytes_do_not_pay_for(tmp_path):
    labels = array_header((10**9,), "<i8")
    cases = [
        (array_header((10**9, 10), "<f8", by_columns=True), labels, "stored by columns"),
        (array_header((10**9, 10), "<f8"), labels, "ends too early"),
        (array_header((10**9, 10), "<f8"), array_header((10**9,), "<U90000000"), "labels are numbers, or"),
        (array_header((10**9, 10**6), "<f8"), labels, "1,000,000 columns; at most 100,000"),
    ]
    for X, y, message in cases:
        with pytest.raises(DataError, match=message):
            rows_of(pair(tmp_path / "rows.npz", X, y))
    (tmp_path / "rows.npy").write_bytes(array_header((10**9, 10), "<f8"))
    with pytest.raises(DataError, match="cannot be read"):
        rows_of(tmp_path / "rows.npy")


@pytest.mark.parametrize(
    ("name", "content", "options"),
    [
        ("rows.libsvm", b"0 60000000:1\n", {}),
        ("rows.libsvm", b"0 1:1\n", {"n_features": 60_000_000}),
        ("rows.csv", b"," * 200_000 + b"\n", {"header": False}),
        ("rows.arff", b"".join(b"@attribute a%d real\n" % k for k in range(100_001)) + b"@data\n", {}),
    ],
)
def test_too_many_columns(name, content, options, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="columns; at most 100,000 are read"):
        rows_of(tmp_path / name, **options)


def test_the_head_of_arff_takes_linear_time_and_has_a_limit(tmp_path):
    path = tmp_path / "rows.arff"
    path.write_bytes(b"\n" * 2_000_000 + b"@attribute a real\n" + b" " * 1_000_000 + b"\n@data\n1\n")
    start = time.perf_counter()
    assert rows_of(path)[0].num_rows == 1
    path.write_bytes(b"@attribute 'a' real\n@data\n'1" + b" " * 1_000_000 + b"'\n")
    assert rows_of(path)[0].num_rows == 1
    assert time.perf_counter() - start < 20  # quadratic time would be hours
    path.write_bytes(b"% comment\n" * 2_000_000)
    with pytest.raises(DataError, match="over 16,777,216 bytes"):
        rows_of(path)
