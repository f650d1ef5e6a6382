"""Files that are not what they seem: clean refusals, without a crash and without much memory."""

import hashlib
import json
import os
import time
import tracemalloc
import warnings
from contextlib import suppress

import numpy as np
import pytest

import fbtwsvm
from fbtwsvm.export.modelfile import ModelFileError
from helpers import assert_same_answers, clouds

MUTATIONS = 2000 if os.environ.get("FBTWSVM_FULL") else 100


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
    X, y = clouds(60, n_columns=4, seed=1)
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
                assert_same_answers(model, loaded, X)
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
