"""Model files: the same bits after loading, the same learning, and nothing but clean refusals of anything else."""

import hashlib
import json
import os
import pickle
import threading
import time
import tracemalloc
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import StandardScaler

import fbtwsvm
from fbtwsvm import FBTWSVM
from fbtwsvm.export.modelfile import ModelFileError, container
from fbtwsvm.features import FourierFeatures
from fbtwsvm.online.drift import HoeffdingDrift

FILES = Path(__file__).parent / "files"
MUTATIONS = 2000 if os.environ.get("FBTWSVM_FULL") else 100


def clouds(n=600, seed=0):
    random = np.random.default_rng(seed)
    y = random.integers(3, size=n)
    X = random.normal(size=(n, 4)) + np.array([[0, 0, 0, 0], [2, 0, 1, 0], [0, 2, 0, 1]])[y]
    return X, y


def same(one, other, X):
    for method in ("predict", "predict_proba", "decision_function"):
        np.testing.assert_array_equal(getattr(one, method)(X), getattr(other, method)(X))
    np.testing.assert_array_equal(one.planes_, other.planes_)
    np.testing.assert_array_equal(getattr(one, "n_support_", 0), getattr(other, "n_support_", 0))
    return True


STREAMS = {
    "plain": {},
    "committee": {"decay": "auto"},
    "fading fourier": {"half_life": 100, "feature_map": "fourier", "gamma": 0.1},
    "the paper's": {"accept": "inside", "statistics": "kept", "forget_after": 2, "decision": "distance"},
    "balanced vote": {"class_weight": "balanced", "multiclass": "vote"},
    "weights": {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}, "C": 0.5},
    "detector": {"drift_detector": HoeffdingDrift(0.05), "half_life": 200},
    "chi2": {"kernel": "chi2"},
    "skewed": {"kernel": "skewed_chi2", "feature_map": "fourier"},
    "intersection": {"kernel": "intersection"},
}


@pytest.mark.parametrize("rows", [0, 7, 80, 250, 257, 420])
@pytest.mark.parametrize("name", STREAMS)
def test_saved_and_loaded_goes_on_as_if_never_stopped(name, rows, tmp_path):
    """At every stage: nothing learned, the first rows, the provisional model, just started, rows pending."""
    X, y = clouds()
    X = np.abs(X)
    model = FBTWSVM(n_components=30, warm_up=250, memory=30, random_state=0, **STREAMS[name])
    ids = [f"row {i}" for i in range(len(X))]
    for first in range(0, rows, 10):
        part = slice(first, min(first + 10, rows))
        model.partial_fit(X[part], y[part], ids=ids[part])
    fbtwsvm.save(model, tmp_path / "model.fbt")
    loaded = fbtwsvm.load(tmp_path / "model.fbt")
    for first in range(rows, 560, 20):
        part = slice(first, min(first + 20, 560))
        for each in (model, loaded):
            each.partial_fit(X[part], y[part], ids=ids[part])
    same(model, loaded, X)
    gone = slice(10, 30)
    reports = [each.unlearn(X[gone], y[gone], ids=ids[gone]) for each in (model, loaded)]
    assert reports[0] == reports[1]
    same(model, loaded, X)


@pytest.mark.parametrize("labels", ["texts", "objects", "floats", "bools", "int16"])
def test_a_fit_and_its_labels(labels, tmp_path):
    X, y = clouds(200)
    kinds = {"texts": np.array(["ä", "bee", ""])[y], "floats": y.astype(float), "int16": y.astype(np.int16)}
    kinds |= {"objects": np.array(["one", "two", "three"], dtype=object)[y], "bools": y > 0}
    model = FBTWSVM().fit(X, kinds[labels])
    fbtwsvm.save(model, tmp_path / "m.fbt")
    loaded = fbtwsvm.load(tmp_path / "m.fbt")
    same(model, loaded, X)
    assert loaded.classes_.dtype == model.classes_.dtype
    for name in ("support_", "memberships_", "duality_gap_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(loaded, name))
    assert loaded.get_params() == model.get_params()
    for each in (model, loaded):
        each.partial_fit(X[:50], kinds[labels][:50])
    same(model, loaded, X)


def test_sparse_rows_frames_and_pairs(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = clouds(300)
    sparse = sp.csr_matrix(np.where(X > 0.5, X, 0.0))
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    two = FBTWSVM(C=(1.0, 2.0), reg=(0.01, 0.02)).fit(frame, y > 0)
    many = FBTWSVM(n_components=20, warm_up=100, random_state=0).partial_fit(sparse, y)
    for model, rows in ((two, frame), (many, sparse)):
        fbtwsvm.save(model, tmp_path / "m.fbt")
        loaded = fbtwsvm.load(tmp_path / "m.fbt")
        same(model, loaded, rows)
        for each in (model, loaded):
            each.partial_fit(rows, y > 0 if model is two else y)
        same(model, loaded, rows)
    assert fbtwsvm.load(tmp_path / "m.fbt")._learner.leader.kept.raw.format == "csr"


def test_loaded_models_can_be_merged(tmp_path):
    """Maps are compared by their numbers, not by what pickle makes of them."""
    X, y = clouds()
    mapping = FourierFeatures(gamma=0.2, n_components=40, random_state=0).fit(X)
    models = []
    for part in (slice(0, 300), slice(300, 600)):
        model = FBTWSVM(feature_map=FrozenEstimator(mapping), warm_up=50).partial_fit(X[part], y[part])
        fbtwsvm.save(model, tmp_path / "m.fbt")
        models.append((model, fbtwsvm.load(tmp_path / "m.fbt")))
    for first, second in zip(*models, strict=True):
        first.merge(second)
    same(models[0][0], models[0][1], X)
    with pytest.raises(ValueError, match="twice"):
        models[0][1].merge(models[0][0])


def test_pickle_works_too():
    X, y = clouds()
    model = FBTWSVM(n_components=30, random_state=0).partial_fit(X, y)
    assert same(model, pickle.loads(pickle.dumps(model)), X)


def test_what_is_code_is_refused_and_leaves_no_file(tmp_path):
    X, y = clouds(100)
    unsaved = [
        FBTWSVM(kernel=lambda A, B: A @ B.T).fit(X, y),
        FBTWSVM(feature_map=StandardScaler()).fit(X, y),
        FBTWSVM(random_state=np.random.RandomState(0)).fit(X, y),
        FBTWSVM(warm_up=50, n_components=20).partial_fit(X, y, ids=[(i, i) for i in range(100)]),
    ]
    for model in unsaved:
        with pytest.raises(ModelFileError, match="pickle"):
            fbtwsvm.save(model, tmp_path / "m.fbt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", sorted(FILES.glob("*.fbt")), ids=lambda path: path.name)
def test_older_versions_stay_readable(path):
    """One file of each version; the answers were written down when it was made."""
    wanted = json.loads(path.with_suffix(".json").read_text())
    model = fbtwsvm.load(path)
    rows = {name: [row[j] for row in wanted["rows"]] for j, name in enumerate(wanted["columns"])}
    assert model.predict(rows).tolist() == wanted["labels"]
    np.testing.assert_allclose(model.predict_proba(rows), wanted["probabilities"], atol=1e-6)
    model.learn({**rows, "y": wanted["labels"]})
    assert model.rows == wanted["learned"] + len(wanted["rows"])


# Files that are not what they seem.


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    """Return a small model, and the bytes of its file."""
    X, y = clouds()
    model = FBTWSVM(n_components=15, warm_up=60, memory=20, second_look=5, gamma=0.3, random_state=0)
    for first in range(0, 300, 10):
        model.partial_fit(X[first : first + 10], y[first : first + 10], ids=range(first, first + 10))
    path = tmp_path_factory.mktemp("good") / "model.fbt"
    fbtwsvm.save(model, path)
    return model, path.read_bytes()


def sealed(data):
    """Give data a right checksum, as somebody would who means harm."""
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def with_header(data, change):
    """Change the header and put everything else where it belongs."""
    length = int.from_bytes(data[12:16], "little")
    header, rest = json.loads(data[16 : 16 + length]), data[16 + length + -(16 + length) % 64 :]
    changed = change(header)
    text = changed if isinstance(changed, bytes) else json.dumps(header).encode()
    return sealed(data[:12] + len(text).to_bytes(4, "little") + text + bytes(-(16 + len(text)) % 64) + rest)


def mutated(data, random):
    """Flip bits, cut, change lengths and numbers; half of the time with a right checksum."""
    data, length = bytearray(data), int.from_bytes(data[12:16], "little")
    kind = random.integers(5)
    if kind == 0:
        for place in random.integers(len(data), size=random.integers(1, 4)):
            data[place] ^= 1 << random.integers(8)
    elif kind == 1:
        data[16 + random.integers(length)] ^= 1 << random.integers(8)
    elif kind == 2:
        digits = [i for i in range(16, 16 + length) if 48 <= data[i] < 58]
        data[digits[random.integers(len(digits))]] = 48 + random.integers(10)
    elif kind == 3:
        data = data[: random.integers(len(data))]
    else:
        place = random.integers(8, 16 + length)
        data[place:place] = b"9" * random.integers(1, 9)
    return (sealed(bytes(data)) if len(data) > 64 else bytes(data)), bytes(data)


def test_mutated_files_are_refused_or_equal(good, tmp_path):
    """With a wrong checksum nothing but the same model may load; with a right one nothing may crash or blow up."""
    model, data = good
    X, y = clouds(60, seed=1)
    path = tmp_path / "m.fbt"
    path.write_bytes(data)
    tracemalloc.start()
    fbtwsvm.load(path)
    most = 2 * tracemalloc.get_traced_memory()[1]
    loaded_anyway = 0
    for number in range(MUTATIONS):
        resealed, plain = mutated(data, np.random.default_rng(number))
        for content, honest in ((plain, True), (resealed, False)):
            path.write_bytes(content)
            tracemalloc.reset_peak()
            before, start = tracemalloc.get_traced_memory()[0], time.perf_counter()
            try:
                loaded = fbtwsvm.load(path)
            except ModelFileError as error:
                loaded, said = None, str(error)
            assert tracemalloc.get_traced_memory()[1] - before <= most
            assert time.perf_counter() - start < 10
            assert loaded is not None or str(path) in said
            if loaded is not None and honest:
                same(model, loaded, X)
            elif loaded is not None:
                loaded_anyway += 1
                _survives(loaded, X, y)
    tracemalloc.stop()
    assert loaded_anyway  # otherwise the right checksum tests nothing


def _survives(model, X, y):
    """Use a model with a changed number: it may be wrong, and may say so; it may not bring the process down."""
    for call in (lambda: model.predict(X), lambda: model.partial_fit(X, y)):
        with warnings.catch_warnings(), suppress(ValueError, ArithmeticError, np.linalg.LinAlgError):
            warnings.simplefilter("ignore", RuntimeWarning)  # a huge number overflows
            call()


def _widen(header, count):
    """Say that rows have very many columns, with a map that needs no arrays."""
    stage = header["model"][1]["stage"][1]
    stage["learner"]["mapping"]["transformer"] = None
    header["model"][1]["learned"]["n_features_in_"] = count


def _swap_classes(header):
    """Let the classes be one array of zeros."""
    zeros = next(i for i, (kind, shape, _) in enumerate(header["arrays"]) if kind == "i8" and shape == [3])
    header["model"][1]["stage"][1]["learner"]["classes"]["values"] = zeros


BOMBS = {
    "giant array": lambda header: header["arrays"].__setitem__(0, ["f8", [2**39, 2**30], "C"]),
    "many arrays": lambda header: header["arrays"].extend([["f8", [2**20], "C"]] * 1000),
    "negative size": lambda header: header["arrays"].__setitem__(0, ["f8", [-8], "C"]),
    "unknown type": lambda header: header["arrays"].__setitem__(0, ["O8", [1], "C"]),
    "extra array": lambda header: header["arrays"].append(["f8", [0], "C"]),
    "no arrays": lambda header: header.__setitem__("arrays", []),
    "deep": lambda header: b"[" * 500_000,
    "wide": lambda header: b"[" + b"[]," * 300_000 + b"[]]",
    "not JSON": lambda header: b"import os",
    "not UTF-8": lambda header: b"\xff" * 100,
    "other tree": lambda header: header.__setitem__("model", ["classifier", {}]),
    "unknown kind": lambda header: header.__setitem__("model", ["os.system", "true"]),
    "unknown parameter": lambda header: header["model"][1]["parameters"].__setitem__("__class__", "x"),
    "bad parameter": lambda header: header["model"][1]["parameters"].__setitem__("mu", ["number", 7.0]),
    "huge number": lambda header: header["model"][1]["parameters"].__setitem__("tol", ["number", "1e999"]),
    "giant number": lambda header: header["model"][1]["parameters"].__setitem__("tol", ["number", 10**400]),
    "giant width": lambda header: _widen(header, 10**9),
    "unsorted classes": lambda header: _swap_classes(header),
    "NaN": lambda header: header["model"][1]["learned"].__setitem__("n_features_in_", float("nan")),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_refused(name, good, tmp_path):
    path = tmp_path / "bomb.fbt"
    path.write_bytes(with_header(good[1], BOMBS[name]))
    tracemalloc.start()
    with pytest.raises(ModelFileError, match="cannot be read as a model"):
        fbtwsvm.load(path)
    assert tracemalloc.get_traced_memory()[1] < 40 * 2**20
    tracemalloc.stop()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda data: data[:-1], "altered|truncated|checksum"),
        (lambda data: data[:10], "truncated"),
        (lambda data: b"", "does not begin"),
        (lambda data: b"PK\x03\x04" + data, "does not begin"),
        (lambda data: data[:8] + (99).to_bytes(4, "little") + data[12:], "format version 99.*newer"),
        (lambda data: data + b"\0", "checksum"),
        (lambda data: sealed(data[:-32] + bytes(64) + data[-32:]), "more than its header names"),
        (lambda data: data[:12] + (2**31).to_bytes(4, "little") + data[16:], "lengths were changed"),
    ],
)
def test_messages_say_what_is_wrong(change, reason, good, tmp_path):
    path = tmp_path / "m.fbt"
    path.write_bytes(change(good[1]))
    with pytest.raises(ModelFileError, match=reason):
        fbtwsvm.load(path)


def test_long_labels_take_no_more_memory_than_the_file(tmp_path):
    """One long label among many short ones: what is read is what was stored."""
    y = np.array(["a", "b" * 50_000])[np.arange(200) % 2]
    model = FBTWSVM(gamma="scale").fit(np.arange(400.0).reshape(200, 2), y)
    fbtwsvm.save(model, tmp_path / "m.fbt")
    size = (tmp_path / "m.fbt").stat().st_size
    tracemalloc.start()
    loaded = fbtwsvm.load(tmp_path / "m.fbt")
    assert tracemalloc.get_traced_memory()[1] <= 1.5 * size + 2**20
    tracemalloc.stop()
    np.testing.assert_array_equal(loaded.classes_, model.classes_)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        fbtwsvm.load(tmp_path / "none.fbt")
    with pytest.raises(ModelFileError, match="not a file"):
        fbtwsvm.load(tmp_path)


def test_a_failed_write_leaves_the_old_file(good, tmp_path, monkeypatch):
    path = tmp_path / "m.fbt"
    path.write_bytes(good[1])
    path.chmod(0o640)

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(container.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        fbtwsvm.save(FBTWSVM(), path)
    assert path.read_bytes() == good[1]
    assert [item.name for item in tmp_path.iterdir()] == ["m.fbt"]
    monkeypatch.undo()
    fbtwsvm.save(FBTWSVM(), path)
    assert path.stat().st_mode & 0o777 == 0o640


def test_leftovers_of_killed_writers_are_swept(tmp_path):
    old, new = tmp_path / ".m.fbt.123.tmp", tmp_path / ".m.fbt.124.tmp"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    fbtwsvm.save(FBTWSVM(), tmp_path / "m.fbt")
    assert not old.exists()
    assert new.exists()


def test_readers_never_see_a_half_written_file(good, tmp_path):
    path, stop, seen = tmp_path / "m.fbt", threading.Event(), []
    model = good[0]
    fbtwsvm.save(model, path)

    def read():
        while not stop.is_set():
            seen.append(fbtwsvm.load(path).n_components_)

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(30):
        fbtwsvm.save(model, path)
    stop.set()
    reader.join()
    assert set(seen) == {model.n_components_}
