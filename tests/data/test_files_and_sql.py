"""Arrays of NumPy, and queries."""

import numpy as np
import pyarrow as pa
import pytest

from fbtwsvm.data.sources import DataError, open_source
from helpers import write


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
