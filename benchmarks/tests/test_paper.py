"""The paper's jobs, its streams and the reader of the WESAD archive."""

import io
import os
import pickle
from pathlib import Path

import numpy as np
import pytest

from benchmarks.paper import jobs, moa, published, settings, synthetic, wesad


def test_learning_in_one_pass_and_in_batch(small_data):
    chosen = {"svc": {"C": 10.0, "gamma": 0.1}, "ours": {"feature_map": "nystroem", "n_components": 100}}
    kept = {}
    for method in (jobs.PAPER, jobs.EVERY_ROW, jobs.BATCH, jobs.OURS, "LASVM"):
        (row,) = jobs.learn("border", method, 1, chosen=chosen)
        assert row["accuracy"] > 85
        assert (row["prequential"] is None) == (method == jobs.BATCH)
        kept[method] = row.get("kept")
    assert kept[jobs.OURS] <= 90  # a tenth
    assert kept[jobs.EVERY_ROW] < kept[jobs.PAPER] <= kept[jobs.BATCH] == 900


def test_significance_is_paired():
    hard = np.random.default_rng(0).random(2_000) < 0.5
    other = hard.copy()
    other[np.flatnonzero(hard)[:20]] = False  # wrong wherever the other is, and 20 times more
    a, b = ([{"status": "ok", "right": "x" + np.packbits(r).tobytes().hex()}] for r in (hard, other))
    gap, low, high = jobs.difference(a, b, 2_000)
    assert gap == pytest.approx(1.0)
    assert 0.4 < low < 1.0 < high < 1.6  # two independent samples would have a spread of 1.6 points
    assert jobs.difference(a, a, 2_000) == (0.0, 0.0, 0.0)


def test_the_papers_words():
    X = np.array([[3.0, 4.0], [0.0, 0.0]])
    assert settings.papers_settings("border", X)["reg"] == pytest.approx(2 / 150)
    assert settings.papers_settings("gisette", X)["reg"] == pytest.approx(2 / 12.5)  # features are not normalised
    assert settings.paper_chunks(4_000, 100)[:2] == [slice(0, 100), slice(100, 300)]
    assert published.FORGETTING["coil"][5][1] == pytest.approx(99 * published.SETTINGS["coil"]["rows"], rel=0.01)


@pytest.mark.parametrize("method", [jobs.OURS, "LASVM"])
def test_a_stream_from_a_file_and_from_a_generator(method, small_data, monkeypatch):
    monkeypatch.setattr(synthetic, "CHUNK", 250)
    for source in ("file", "generator"):
        (row,) = synthetic.stream("SEA", method, None, 800, source, 1)
        assert row["accuracy"] > 60


@pytest.mark.parametrize("name", ["RBF", "HYPER", "RTG"])
def test_replicas_are_moas_rows(name):
    folder = os.environ.get("FBTWSVM_DATA")
    if not folder:
        pytest.skip("FBTWSVM_DATA is not set")
    with np.load(Path(folder) / "synthetic" / f"{name}_100K.npz") as given:
        X, y = given["X"], given["y"]
    rows, labels = (np.concatenate(part) for part in zip(*moa.blocks(name, 130_000, 40_000), strict=True))
    np.testing.assert_allclose(rows, X[:130_000], atol=1e-6)
    np.testing.assert_array_equal(labels, y[:130_000])


def subject(random, **extra):
    """Return the content of a file of WESAD's layout, and the rows that should be read from it."""
    labels = random.integers(0, 8, 400)
    chest = {channel: random.normal(size=(400, 3 if channel == "ACC" else 1)) for channel in wesad.CHANNELS}
    rows = (labels >= 1) & (labels <= 3)
    X = np.concatenate(list(chest.values()), axis=1)[rows].astype(np.float32)
    return {"signal": {"chest": chest}, "label": labels, "subject": "S2", **extra}, X, labels[rows]


def test_wesads_files_are_read_and_every_row_is_used_once(tmp_path, monkeypatch):
    monkeypatch.setenv("FBTWSVM_DATA", str(tmp_path))
    monkeypatch.setattr(wesad, "PIECE", 16)
    random, expected = np.random.default_rng(0), []
    for name in ("S2", "S10"):
        content, X, _ = subject(random)
        expected.append(X)
        (tmp_path / "WESAD" / name).mkdir(parents=True)
        old = pickle.dumps(content, protocol=2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray")
        (tmp_path / "WESAD" / name / f"{name}.pkl").write_bytes(old)
    assert list(wesad.unpack(wesad.wesad_subjects(), tmp_path)) == ["S2", "S10"]
    found = np.concatenate([X for X, _ in wesad.pieces(tmp_path, ["S2", "S10"])])
    np.testing.assert_array_equal(np.sort(found, axis=0), np.sort(np.concatenate(expected), axis=0))


class Harmful:
    """What a pickle could be made to do."""

    def __reduce__(self):
        return os.mkdir, ("made",)


def test_a_pickle_that_wants_more_than_arrays_is_refused():
    content = pickle.dumps(subject(np.random.default_rng(1), extra=Harmful())[0])
    with pytest.raises(pickle.UnpicklingError, match="only numpy arrays are expected"):
        wesad.read_subject(io.BytesIO(content), "S2")
