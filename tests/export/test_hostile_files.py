"""Files that are not what they seem: clean refusals, without a crash, a hang or much memory."""

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import fbtwsvm
from fbtwsvm import FBTWSVM
from fbtwsvm.export.modelfile import ModelFileError
from helpers import assert_same_answers, clouds
from mutations import loaded, opened, sealed, with_header

FULL = bool(os.environ.get("FBTWSVM_FULL"))
MUTATIONS = 5000 if FULL else 150


@pytest.mark.timeout(1800 if FULL else 180)
def test_changed_files_with_a_right_checksum():
    """Thousands of changes to seven kinds of model: each file is refused, or the model answers, learns and settles."""
    script = Path(__file__).parent.parent / "mutations.py"
    done = subprocess.run([sys.executable, script, str(MUTATIONS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    counts = json.loads(done.stdout)
    assert sum(counts.values()) == MUTATIONS
    assert sum(count for name, count in counts.items() if "works" in name) > MUTATIONS / 20  # not all too crude
    assert sum(count for name, count in counts.items() if "fails" in name) < MUTATIONS / 50


def test_with_a_wrong_checksum_nothing_but_the_same_model_loads(good, tmp_path):
    model, data = good
    X = clouds(60, n_columns=4, seed=1)[0]
    path, random = tmp_path / "m.fbt", np.random.default_rng(0)
    for _ in range(500 if FULL else 50):
        changed = bytearray(data)
        for place in random.integers(len(data), size=random.integers(1, 4)):
            changed[place] ^= 1 << random.integers(8)
        if random.random() < 0.2:
            changed = changed[: random.integers(len(data))]
        path.write_bytes(changed)
        same, refusal = loaded(path)
        if refusal is None:
            assert_same_answers(model, same, X)
        else:
            assert str(path) in str(refusal)


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


def arrays_of(data):
    """Return the type, first byte, shape and size in bytes of each array of a file."""
    header, start = opened(data)
    found = []
    for kind, shape, _ in header["arrays"]:
        size = int(kind[1:]) * int(np.prod(shape))
        found.append((kind, start, tuple(shape), size))
        start += size + -size % 64
    return found


def with_number(data, number, value):
    """Set the first number of an array."""
    kind, start, _, _ = arrays_of(data)[number]
    changed = np.array([value], dtype=f"<{kind}").tobytes()
    return sealed(data[:start] + changed + data[start + len(changed) :])


def found(header, *path):
    """Return a part of the model in a header."""
    node = header["model"][1]
    for key in path:
        node = node[key]
    return node


LEARNER = ("stage", 1, "learner")
MEMBER = (*LEARNER, "members", 0)
PLACES = {
    "planes": (*MEMBER, "planes"),
    "sums": (*MEMBER, "moments", "sums"),
    "sums of products": (*MEMBER, "moments", "grams"),
    "roots": (*MEMBER, "roots", "matrices"),
    "duals": (*MEMBER, "kept", "alpha"),
    "bounds": (*MEMBER, "kept", "box"),
    "kept rows": (*MEMBER, "kept", "rows"),
    "rows as they came": (*MEMBER, "kept", "raw"),
    "farthest": (*MEMBER, "farthest"),
    "farthest forgotten": (*MEMBER, "gone", "farthest"),
    "sum of bounds": (*MEMBER, "gone", "mass"),
    "sum of duals": (*MEMBER, "gone", "frozen"),
    "weight of a trace": (*MEMBER, "gone", "traces", "weight"),
    "offsets": (*LEARNER, "decision", "offsets"),
    "slopes": (*LEARNER, "decision", "slopes"),
    "trust": (*LEARNER, "trust"),
    "calibration": (*LEARNER, "tested", "near"),
    "landmarks": (*LEARNER, "mapping", "transformer", 1, "landmarks_"),
    "normalisation": (*LEARNER, "mapping", "transformer", 1, "normalisation_"),
    "gaps": ("learned", "duality_gap_"),
}


ROWS = ("rows as they came", "landmarks")  # these may hold any finite number


@pytest.mark.parametrize(
    ("name", "value"), [(name, v) for name in PLACES for v in (np.nan, np.inf, 1e200) if v != 1e200 or name not in ROWS]
)
def test_numbers_that_are_not_finite_or_too_large_are_refused(name, value, good, tmp_path):
    """One such number, and settling might never end, or every row be the first class."""
    header, _ = opened(good[1])
    path = tmp_path / "m.fbt"
    path.write_bytes(with_number(good[1], found(header, *PLACES[name]), value))
    with pytest.raises(ModelFileError, match="finite"):
        fbtwsvm.load(path)


def setter(value, *path):
    def change(header):
        found(header, *path[:-1])[path[-1]] = value

    return change


CHANGES = {
    "decay of a member": setter(0.5, *MEMBER, "policy", "decay"),
    "infinite decay": setter("inf", *MEMBER, "policy", "decay"),
    "memory": setter(7, *LEARNER, "policies", 0, "memory"),
    "C": setter(["number", 3.0], *LEARNER, "C"),
    "C of the parameters": setter(["number", 3.0], "parameters", "C"),
    "mu": setter(0.25, *LEARNER, "base", "mu"),
    "detector is a number": setter(["number", 1.0], *LEARNER, "detector"),
    "weight of new rows": setter(0.0, *MEMBER, "rise"),
    "negative tol": setter(-1.0, *MEMBER, "settings", "tol"),
    "faded in the future": setter(2**60, *MEMBER, "faded_at"),
    "no scale": setter(0.0, *LEARNER, "mapping", "scale"),
    "huge scale": setter(1e308, *LEARNER, "mapping", "scale"),
    "scale of a map that needs none": setter(1.5, *LEARNER, "mapping", "scale"),
    "rows of no weight": setter(0.0, *MEMBER, "unit"),
    "rows of huge weight": setter(1e200, *MEMBER, "unit"),
    "precision": setter("float32", *MEMBER, "dtype"),
    "no monitor": setter(None, *LEARNER, "watch"),
    "rows as they came are missing": setter(None, *MEMBER, "kept", "raw"),
    "gamma": setter(-1.0, *LEARNER, "mapping", "transformer", 1, "gamma_"),
    "columns of the map": setter(5, *LEARNER, "mapping", "transformer", 1, "n_features_in_"),
    "features": setter(16, "learned", "n_components_"),
    "seed": setter(2**40, *LEARNER, "seed"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_parts_that_contradict_each_other_are_refused(name, good, tmp_path):
    path = tmp_path / "m.fbt"
    path.write_bytes(with_header(good[1], CHANGES[name]))
    with pytest.raises(ModelFileError, match="cannot be read as a model"):
        fbtwsvm.load(path)


@pytest.mark.parametrize("feature_map", ["auto", "exact", "nystroem"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_scale_that_no_rows_can_have_is_refused(feature_map, dtype, tmp_path):
    """Maps with such a scale would turn rows into infinity or nothing."""
    X, y = clouds(60, n_columns=3)
    model = FBTWSVM(kernel="linear", feature_map=feature_map, n_components=3).fit(X.astype(dtype), y)
    path = tmp_path / "m.fbt"
    fbtwsvm.save(model, path)
    good = path.read_bytes()
    assert np.isfinite(fbtwsvm.load(path).predict_proba(X)).all()
    for scale in (1e308, 1e200, 1e-200) + ((1e60, 1e-60) if dtype == np.float32 or feature_map == "exact" else ()):
        path.write_bytes(with_header(good, setter(scale, "stage", 1, "answers", "_mapping", "scale")))
        with pytest.raises(ModelFileError, match="scale of its feature map"):
            fbtwsvm.load(path)


@pytest.mark.parametrize("feature_map", ["auto", "exact"])
@pytest.mark.parametrize("size", [1e-100, 1e-14, 1e14, 1e90])
def test_rows_of_any_allowed_size_can_be_saved(feature_map, size, tmp_path):
    X, y = clouds(60, n_columns=3)
    model = FBTWSVM(kernel="linear", feature_map=feature_map, random_state=0).fit(size * X, y)
    fbtwsvm.save(model, tmp_path / "m.fbt")
    assert_same_answers(model, fbtwsvm.load(tmp_path / "m.fbt"), size * X)


def test_a_stream_solves_by_its_parameters_alone(good, tmp_path):
    """A count of sweeps that only its inner parts name would never end."""
    path = tmp_path / "m.fbt"
    path.write_bytes(with_header(good[1], setter(2**62, *MEMBER, "settings", "max_iter")))
    model = fbtwsvm.load(path)
    stream = model._model
    assert {part.settings.options.max_iter for part in (stream, *stream.members)} == {model.max_iter}


def test_sums_of_products_that_cannot_be_such_are_refused(good, tmp_path):
    header, _ = opened(good[1])
    grams = found(header, *PLACES["sums of products"])
    path = tmp_path / "m.fbt"
    path.write_bytes(with_number(good[1], grams, -1.0))  # on the diagonal
    with pytest.raises(ModelFileError, match="negative eigenvalue"):
        fbtwsvm.load(path)
    _, start, _, _ = arrays_of(good[1])[grams]
    path.write_bytes(sealed(good[1][: start + 8] + np.array([9.0]).tobytes() + good[1][start + 16 :]))
    with pytest.raises(ModelFileError, match="not symmetric"):
        fbtwsvm.load(path)


def _bomb(parameters, n_features, transformer=None):
    """Return a file of about a thousand bytes: a model of no classes and very many columns."""
    n_columns = n_features * (2 * 1000 - 1) + 1 if transformer else n_features + 1
    arrays = [["u1", [0], "C"], ["i8", [0], "C"], ["f8", [0], "C"], ["f8", [0, 0], "C"], ["f8", [0, 0, n_columns], "C"]]
    keys = {"kinds": 0, "whole": 1, "real": 2, "words": [0, 1]}
    model = {
        "parameters": parameters,
        "learned": {
            "n_features_in_": n_features, "feature_names_in_": None, "_dtype": "float64",
            "classes_": {"type": "O", "values": keys}, "gamma_": None, "n_components_": n_columns - 1, "n_iter_": 0,
            "duality_gap_": 3,
        },
        "stage": ["fitted", {
            "answers": {
                "_mapping": {"transformer": transformer, "scale": 1.0, "dtype": "float64", "frozen": False},
                "_decision": {
                    "offsets": 3, "learned_offsets": 3, "slopes": 3, "multiclass": "dag", "calibrated": False,
                },
                "planes_": 4, "support_": None, "n_support_": None, "memberships_": None, "lineage": [0, 1],
            },
            "history": None,
        }],
    }  # fmt: skip
    text = json.dumps({"arrays": arrays, "model": ["classifier", model]}).encode()
    start = b"\x93FBTSVM\n" + (1).to_bytes(4, "little") + len(text).to_bytes(4, "little") + text
    return sealed(start + bytes(-len(start) % 64) + bytes(32))


def test_a_small_file_takes_little_memory(tmp_path):
    """Rows of 400 million columns, or 400,000 with a map that makes 2,000 of each: neither is made."""
    steps = {
        "sample_steps": 1000,
        "sample_interval": 0.7,
        "n_features_in_": 4 * 10**5,
        "_n_features_out": 1999 * 4 * 10**5,
    }
    bombs = [
        _bomb({"kernel": "linear"}, 4 * 10**8),
        _bomb({"kernel": "intersection"}, 4 * 10**5, ["intersection", steps]),
    ]
    for bomb in bombs:
        (tmp_path / "m.fbt").write_bytes(bomb)
        tracemalloc.start()
        with pytest.raises(ModelFileError, match="no classes"):
            fbtwsvm.load(tmp_path / "m.fbt")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(bomb) < 2000
        assert peak < 2**20


def test_wide_sparse_rows_take_no_more_than_the_file(tmp_path):
    """Sparse landmarks may have any number of columns: none of them is made to see whether the map works."""
    sparse = pytest.importorskip("scipy.sparse")
    X, y = clouds(300, n_columns=4)
    columns = 3 * 10**7
    wide = sparse.csr_matrix((X.ravel(), np.tile([0, 5, 99, columns - 1], 300), np.arange(0, 1201, 4)), (300, columns))
    model = FBTWSVM(gamma=0.1, n_components=20, warm_up=100, random_state=0)
    model.partial_fit(wide, y)
    fbtwsvm.save(model, tmp_path / "m.fbt")
    tracemalloc.start()
    wide_model = fbtwsvm.load(tmp_path / "m.fbt")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * (tmp_path / "m.fbt").stat().st_size
    assert wide_model.n_features_in_ == columns


def test_what_cannot_be_read_again_is_not_written(good, tmp_path):
    """A spoiled model does not replace the good one of yesterday."""
    path = tmp_path / "m.fbt"
    path.write_bytes(good[1])
    model = fbtwsvm.load(path)
    model._model.members[0].planes[0, 1, 0] = np.nan
    with pytest.raises(ModelFileError, match="not finite"):
        fbtwsvm.save(model, path)
    model = fbtwsvm.load(path).set_params(C=7.0)
    with pytest.raises(ModelFileError, match=r"were changed while it learned \(C\)"):
        fbtwsvm.save(model, path)
    assert path.read_bytes() == good[1]
