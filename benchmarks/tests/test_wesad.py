"""The reader of the WESAD archive, on a small archive of the same layout."""

import io
import os
import pickle
import struct
import zipfile
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from benchmarks.reproduce import wesad
from wesad_archive import make_archive, subject_pickle


@pytest.fixture
def archive(tmp_path):
    """Return an archive, and its rows by subject."""
    return tmp_path / "WESAD", make_archive(tmp_path / "WESAD")


@pytest.mark.parametrize("packed", [False, True])
def test_wesads_files_are_read_by_subject(archive, packed, tmp_path):
    place, rows = archive
    if packed:
        with zipfile.ZipFile(tmp_path / "WESAD.zip", "w") as file:
            for path in place.rglob("*.*"):
                file.write(path, Path("WESAD") / path.relative_to(place))
        place = tmp_path / "WESAD.zip"
    out = tmp_path / "unpacked"
    out.mkdir()
    assert wesad.unpack(place, out) == ["S2", "S3", "S10"]
    for name, (X, y) in rows.items():
        np.testing.assert_array_equal(np.load(out / f"{name}-X.npy"), X)
        np.testing.assert_array_equal(np.load(out / f"{name}-y.npy"), y)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_every_protocol_of_pickle_is_read(protocol):
    content, X, y = subject_pickle(2, np.random.default_rng(1), protocol)
    found, labels = wesad.read_subject(io.BytesIO(content), "S2")
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)


class Python2Pickler(pickle._Pickler):
    """Writes texts and bytes as Python 2 did, and numpy's functions under the names that they had."""

    dispatch: ClassVar = dict(pickle._Pickler.dispatch)

    def save_string(self, text):
        """Write a text or bytes."""
        content = text.encode("latin1") if isinstance(text, str) else text
        self.write(b"T" + struct.pack("<i", len(content)) + content)
        self.memoize(text)

    dispatch[str] = dispatch[bytes] = save_string


def test_pickles_of_python_2_are_read():
    content, X, y = subject_pickle(2, np.random.default_rng(1))
    file = io.BytesIO()
    Python2Pickler(file, protocol=2).dump(pickle.loads(content))
    old = file.getvalue().replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
    assert b"_codecs" not in old
    found, labels = wesad.read_subject(io.BytesIO(old), "S2")
    np.testing.assert_array_equal(found, X)
    np.testing.assert_array_equal(labels, y)


class Harmful:
    """What a pickle could be made to do."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


def test_a_pickle_that_wants_more_than_arrays_is_refused(tmp_path):
    content, _, _ = subject_pickle(2, np.random.default_rng(1), extra=Harmful(tmp_path / "made"))
    with pytest.raises(pickle.UnpicklingError, match="only numpy arrays are expected"):
        wesad.read_subject(io.BytesIO(content), "S2")
    assert not (tmp_path / "made").exists()


def test_a_pickle_of_another_layout_is_refused():
    content, _, _ = subject_pickle(2, np.random.default_rng(1), signal={"wrist": {}})
    with pytest.raises(ValueError, match=r"S2.pkl is not laid out as WESAD's files are: KeyError\('chest'\)"):
        wesad.read_subject(io.BytesIO(content), "S2")


def test_pieces_hold_every_row_once(archive, tmp_path, monkeypatch):
    monkeypatch.setattr(wesad, "PIECE", 16)
    monkeypatch.setattr(wesad, "CHUNK", 3)
    place, rows = archive
    wesad.unpack(place, tmp_path)
    chunks = list(wesad.pieces(tmp_path, ["S2", "S3"], 0))
    assert max(len(y) for _, y in chunks) <= 3 * 16
    found = np.sort(np.concatenate([X[:, 0] for X, _ in chunks]))
    np.testing.assert_array_equal(found, np.sort(np.concatenate([rows["S2"][0][:, 0], rows["S3"][0][:, 0]])))
