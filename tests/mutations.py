"""Change model files in thousands of ways, with a right checksum, and use whatever still loads.

    python tests/mutations.py NUMBER [FIRST]

A process of its own, so that a crash, a hang (it is killed by an alarm) or too much memory is seen from outside.
Prints how many files of each kind were refused, worked, or loaded and failed with an error that says why.
"""

import contextlib
import faulthandler
import hashlib
import json
import os
import resource
import signal
import sys
import tempfile
import tracemalloc
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OrdinalEncoder

import fbtwsvm
from fbtwsvm import FBTWSVM, TableClassifier
from fbtwsvm.data.columns import Choices
from fbtwsvm.data.table_model import Run, TableModel
from fbtwsvm.evaluate import Prequential
from fbtwsvm.export.modelfile import ModelFileError
from helpers import clouds

SECONDS = 30  # longest time for loading and using one file
MEMORY = 2**30  # bytes of address space beyond what the good models need
LOADED_AND_FAILED = (ValueError, OverflowError, FloatingPointError, np.linalg.LinAlgError)
NUMBERS = [0, 1, -1, 2, 3, 7, 1000, 2**31, 2**53, 2**62, 10**30, 0.5, -0.5, 1e-320, 1e-9, 1e9, 1e100, 1e200, 1e308]
NODES = [*NUMBERS, None, True, False, "auto", "inf", "nan", "", "all", "rbf", "linear", "float32", "float64", [], {}]
NODES += [["number", number] for number in (0.0, -1.0, 1e-300, 1e200)]
FLOATS = [np.nan, np.inf, -np.inf, 0.0, -1.0, 1.0, 1e-320, 1e9, -1e9, 1e20, 1e100, -1e149, 1e200, 1e308]


def sealed(data):
    """Give data a right checksum, as somebody would who means harm."""
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def opened(data):
    """Return the header, and where the arrays start."""
    length = int.from_bytes(data[12:16], "little")
    return json.loads(data[16 : 16 + length]), 16 + length + -(16 + length) % 64


def with_header(data, change):
    """Change the header and put everything else where it belongs."""
    header, start = opened(data)
    changed = change(header)
    text = changed if isinstance(changed, bytes) else json.dumps(header).encode()
    return sealed(data[:12] + len(text).to_bytes(4, "little") + text + bytes(-(16 + len(text)) % 64) + data[start:])


def mutated(data, random):
    """Change a file in one to three places, in one of several ways."""
    ways = [_bits, _header_bits, _digit, _node, _node, _removed, _swapped, _number, _number, _number, _shape]
    for _ in range(random.choice([1, 1, 1, 2, 3])):
        data = ways[random.integers(len(ways))](data, random)
    return data


def _bits(data, random):
    changed = bytearray(data)
    for place in random.integers(len(data), size=random.integers(1, 4)):
        changed[place] ^= 1 << random.integers(8)
    return sealed(bytes(changed))


def _header_bits(data, random):
    changed = bytearray(data)
    changed[16 + random.integers(int.from_bytes(data[12:16], "little"))] ^= 1 << random.integers(8)
    return sealed(bytes(changed))


def _digit(data, random):
    changed = bytearray(data)
    digits = [i for i in range(16, 16 + int.from_bytes(data[12:16], "little")) if 48 <= data[i] < 58]
    changed[digits[random.integers(len(digits))]] = 48 + random.integers(10)
    return sealed(bytes(changed))


def _places(node, found):
    """Collect (container, key) of everything in a tree."""
    for key in node if isinstance(node, dict) else range(len(node)):
        found.append((node, key))
        if isinstance(node[key], (dict, list)):
            _places(node[key], found)
    return found


def _changed_place(data, random, change):
    with contextlib.suppress(ValueError):  # another change may have made it no JSON
        return with_header(data, lambda header: change(*_chosen(_places({"": header["model"]}, []), random)))
    return data


def _chosen(places, random):
    return places[random.integers(len(places))]


def _node(data, random):
    value = NODES[random.integers(len(NODES))]
    return _changed_place(data, random, lambda container, key: container.__setitem__(key, value))


def _removed(data, random):
    return _changed_place(data, random, lambda container, key: container.pop(key))


def _swapped(data, random):
    """Let one part be another part of the same file."""
    with contextlib.suppress(ValueError):
        header, _ = opened(data)
        source, key = _chosen(_places({"": header["model"]}, []), random)
        part = source[key]
        return _changed_place(data, random, lambda container, place: container.__setitem__(place, part))
    return data


def _number(data, random):
    """Replace some numbers of an array."""
    with contextlib.suppress(ValueError, TypeError, KeyError):
        header, start = opened(data)
        sizes = [int(kind[1:]) * int(np.prod(shape)) for kind, shape, _ in header["arrays"]]
        chosen = random.choice(np.flatnonzero(sizes))
        first = start + sum(size + -size % 64 for size in sizes[:chosen])
        kind = header["arrays"][chosen][0]
        array = np.frombuffer(data[first : first + sizes[chosen]], dtype=f"<{kind}").copy()
        whole = [number for number in NUMBERS if type(number) is int and abs(number) < 2 ** (8 * int(kind[1:]) - 1)]
        values = FLOATS if kind[0] == "f" else (whole if kind[0] == "i" else [0, 1])
        count = 1 if random.random() < 0.7 else random.integers(1, len(array) + 1)
        with np.errstate(over="ignore"):
            array[random.integers(len(array), size=count)] = values[random.integers(len(values))]
        return sealed(data[:first] + array.tobytes() + data[first + sizes[chosen] :])
    return data


def _shape(data, random):
    """Say another shape of the same size, or of nothing at all."""

    def change(header):
        entry = _chosen(header["arrays"], random)
        size = int(np.prod(entry[1]))
        entry[1] = [[size], [size, 1], [1, size], [0, 2**39], entry[1][::-1]][random.integers(5)]

    with contextlib.suppress(ValueError, TypeError, KeyError):
        return with_header(data, change)
    return data


def models():
    """Return a model of each kind."""
    X, y = clouds(300, n_columns=4)
    small = {"gamma": 0.3, "random_state": 0}
    stream = {**small, "n_components": 15, "warm_up": 60, "memory": 20, "second_look": 5}
    unknown = {"handle_unknown": "use_encoded_value", "unknown_value": -1}
    made = {
        "fit": FBTWSVM(**small).fit(X[:60], y[:60]),
        "fit with sums": FBTWSVM(**small, n_components=6, memory=5).fit(*clouds(2100, n_columns=4)),
        "stream": _learned(FBTWSVM(**stream), X, y),
        "committee": _learned(FBTWSVM(**stream, decay="auto"), X[:200], y[:200]),
        "table classifier": _table_classifier(X, y),
        "warm-up": _learned(FBTWSVM(**(stream | {"warm_up": 250})), X[:200], y[:200]),
        "table": _table_model(FBTWSVM(**stream), X, y),
        "pipeline": make_pipeline(SimpleImputer(), PCA(3), OrdinalEncoder(**unknown), FBTWSVM(**small)).fit(
            X[:60], y[:60]
        ),
    }
    assert made["fit with sums"]._model.sums is not None
    return made


def _learned(model, X, y):
    for first in range(0, len(X), 10):
        model.partial_fit(X[first : first + 10], y[first : first + 10], ids=range(first, first + 10))
    return model


def _table(X, y):
    colour = np.array(["red", "green", "blue"])[(np.arange(len(X)) * 7) % 3]
    return pa.table({**{f"x{j}": X[:, j] for j in range(4)}, "colour": colour, "y": np.array(["a", "b", "c"])[y]})


def _table_classifier(X, y):
    """Return a stream of tables with a committee, whose metric may be learned again, and a category that came later."""
    model = TableClassifier(
        FBTWSVM(decay="auto", n_components=15, warm_up=60, memory=20, second_look=5, random_state=0)
    )
    table = _table(X, y).drop_columns("y")
    colour = pa.array(["white" if i > 200 else colour.as_py() for i, colour in enumerate(table["colour"])])
    table = table.set_column(4, "colour", colour)
    for first in range(0, 300, 20):
        model.partial_fit(table.slice(first, 20), y[first : first + 20], ids=range(first, first + 20))
    return model


def _table_model(estimator, X, y):
    table = _table(X, y)
    model = TableModel.begin(table.slice(0, 60), Choices("y"), estimator)
    model.run = Run("/rows.csv", "rows.csv", "", 0, 20, Prequential(estimator, (), 50, 40, None, False, 20))
    for first in range(0, 300, 20):
        model.learn(table.slice(first, 20), step=model.run.record.step)
        model.run.rows, model.run.place = model.rows, str(model.rows)
    return model


def use(model, X, y):
    """Answer, learn and settle; answers must be finite numbers."""
    table = isinstance(model, TableModel)
    rows = _table(X, y) if table else X
    if isinstance(model, TableClassifier):
        rows = X = _table(X, y).drop_columns("y")
    assert np.isfinite(model.predict_proba(rows)).all(), "a probability is not a number"
    model.predict(rows)
    if isinstance(model, Pipeline):
        return
    if table:
        model.learn(rows, step=None if model.run is None else model.run.record.step)
        model.estimator.settle()
    else:
        model.partial_fit(X, y, ids=range(10_000, 10_000 + len(y)))
        model.settle()
    assert np.isfinite(model.predict_proba(rows)).all(), "a probability is not a number, after learning"


def loaded(path):
    """Return the model of a file, or the error that refuses it."""
    try:
        return fbtwsvm.load(path), None
    except ModelFileError as error:
        return None, error


def outcome(path, most, X, y):
    """Load and use a file; return "refused", "works" or "fails"."""
    tracemalloc.start()
    model, refusal = loaded(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= most, f"loading took {peak:,} bytes, more than {most:,}"
    if refusal is not None:
        assert str(path) in str(refusal)
        assert not isinstance(refusal.__cause__, MemoryError), "it asked for more memory than there is"
        return "refused"
    try:
        use(model, X, y)
    except LOADED_AND_FAILED as error:
        print(f"  {type(error).__name__}: {error}", file=sys.stderr)
        return "fails"
    return "works"


def main():
    """Try a number of changed files, evenly of all kinds."""
    number, first = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    warnings.simplefilter("ignore")
    faulthandler.enable()
    X, y = clouds(60, n_columns=4, seed=1)
    counts, contents, most = Counter(), {}, {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "m.fbt"
        for kind, model in models().items():
            fbtwsvm.save(model, path)
            contents[kind] = path.read_bytes()
            tracemalloc.start()
            model = fbtwsvm.load(path)
            most[kind] = 2 * tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            use(model, X, y)
        pages = int(Path("/proc/self/statm").read_text().split()[0]) if sys.platform == "linux" else 0
        if pages:
            limit = pages * os.sysconf("SC_PAGE_SIZE") + MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        for seed in range(first, first + number):
            kind = list(contents)[seed % len(contents)]
            path.write_bytes(mutated(contents[kind], np.random.default_rng(seed)))
            print(f"{seed} {kind}", file=sys.stderr, flush=True)  # the last one is the one that failed
            signal.alarm(SECONDS)
            counts[f"{kind}: {outcome(path, most[kind], X, y)}"] += 1
            signal.alarm(0)
    print(json.dumps(dict(sorted(counts.items()))))


if __name__ == "__main__":
    main()
