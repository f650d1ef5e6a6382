"""Prove that a change of the code changes no number: record many small models with two trees, and compare.

    python tools/golden.py record OUT.npz [--only PATTERN]
    python tools/golden.py compare A.npz B.npz [--tolerance 1e-9]
    python tools/golden.py against COMMIT [--only PATTERN] [--tolerance 1e-9]

`record` uses the fbtwsvm that is importable.  `against` (make golden BASE=COMMIT) records a commit and the tree that
this file is in, one after the other, and compares.  The models are those of golden_models.py; of each are kept the
planes, the gaps, the answers and the model file, which is read as docs/guide/model_files.md describes it.  What is
random in a file, the lineage of a stream, is left out, and so are the number of an array and its order in memory: an
array is known by its path in the tree.

A solver that stops at a gap of 0.001 makes a rounding error in its first step a difference of about that size in its
last.  Where rounding may change, set GOLDEN_TOL=1e-10 in the environment, which solves all planes to that gap.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")  # bits must not depend on load

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
ATTRIBUTES = ("classes_", "planes_", "duality_gap_", "n_support_", "support_", "memberships_", "n_iter_", "gamma_")
ANSWERS = ("predict", "predict_proba", "decision_function")
# Whole numbers in the tree of a model file that are not the number of an array; so is every parameter.
WHOLE = {
    "n_features_in_", "n_components_", "n_iter_", "_n_features_out", "kept_", "shown", "n_components", "sample_steps",
    "random_state", "max_iter", "memory", "second_look", "forget_after", "faded_at", "waiting", "clock", "most_lag",
    "fresh", "grows_after", "seed", "warm_rows",
}  # fmt: skip


def record(out: Path, only: str, tree: Path | None) -> None:
    """Learn all models, or those whose names match, and write what they have come to."""
    import fbtwsvm
    from golden_models import CONFIGURATIONS

    home = Path(fbtwsvm.__file__).resolve()
    if tree is not None and not home.is_relative_to(tree.resolve()):
        raise SystemExit(f"fbtwsvm was imported from {home.parent}, not from {tree}")
    print(f"recording fbtwsvm of {home.parent}", flush=True)
    warnings.simplefilter("ignore")
    kept: dict[str, Any] = {}
    begin = time.perf_counter()
    for name, make in CONFIGURATIONS.items():
        if fnmatch(name, only):
            start = time.perf_counter()
            try:
                parts = describe(make())
            except Exception as error:  # kept, lest it hide all others; to compare it is a failure
                parts = {"error": text(f"{type(error).__name__}: {error}")}
                print(f"{name} failed: {error}")
            kept |= {f"{name}|{part}": value for part, value in parts.items()}
            print(f"{time.perf_counter() - start:6.2f} s  {name}", flush=True)
    np.savez(out, **kept)
    print(f"{time.perf_counter() - begin:6.1f} s  {len({key.split('|')[0] for key in kept})} configurations -> {out}")


def describe(outcome: Any) -> dict[str, Any]:
    """Return all parts of an outcome by name: arrays, or JSON as text."""
    from fbtwsvm import save

    model, test, extra = outcome
    parts = {name: as_part(getattr(model, name)) for name in ATTRIBUTES if hasattr(model, name)}
    parts |= {name: as_part(getattr(model, name)(test)) for name in ANSWERS}
    parts |= {name: as_part(value) for name, value in extra.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.fbt"
        try:
            save(model, path)
        except ValueError as error:  # a function or a transformer of the user's own
            parts["file"] = text(f"not saved: {str(error).split(',')[0]}")
        else:
            tree, arrays = read_model_file(path.read_bytes())
            parts |= {"file": text(tree), **{f"file{place}": array for place, array in arrays.items()}}
    return parts


def as_part(value: Any) -> Any:
    """Return an array as it is, and anything else as JSON."""
    return value if isinstance(value, np.ndarray) and value.dtype.kind != "O" else text(value)


def text(value: Any) -> Any:
    """Return JSON as an array of one text, which a recording can hold."""
    return np.array(json.dumps(value, sort_keys=True, default=lambda thing: thing.item()))


def read_model_file(data: bytes) -> tuple[Any, dict[str, Any]]:
    """Return the tree of a model file with the word "array" for each array, and the arrays by their paths."""
    if data[:8] != b"\x93FBTSVM\n" or hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise RuntimeError("a model file is not as described")
    end = 16 + int.from_bytes(data[12:16], "little")
    header = json.loads(data[16:end])
    stored = []
    for kind, shape, order in header["arrays"]:
        start = end + -end % 64
        stored.append(np.ndarray(shape, f"<{kind}", data, start, order=order))
        end = start + stored[-1].nbytes
    arrays: dict[str, Any] = {}
    used: set[int] = set()

    def walk(node: Any, path: tuple[str, ...]) -> Any:
        if isinstance(node, dict):
            found = {name: walk(part, (*path, name)) for name, part in node.items()}
            return {name: part for name, part in found.items() if name != "lineage"}
        if isinstance(node, list):
            return [walk(part, (*path, str(i))) for i, part in enumerate(node)]
        if type(node) is not int or is_whole_number(path):
            return node
        used.add(node)
        if "lineage" not in path:
            arrays["/" + "/".join(path)] = stored[node]
        return "array"

    tree = walk(header["model"], ())
    if used != set(range(len(stored))):
        raise RuntimeError("a model file holds arrays, or numbers, that WHOLE does not tell apart")
    return tree, arrays


def is_whole_number(path: tuple[str, ...]) -> bool:
    """Whether a whole number at this place of the tree is one, and not the number of an array."""
    parent = path[-2] if len(path) > 1 else ""
    return path[-1] in WHOLE or parent in ("parameters", "shape") or path[-2:] == ("watch", "since")


def compare(one: Path, other: Path, tolerance: float) -> int:
    """Print where two recordings differ; 1 if they do by more than the tolerance, where 0 stands for equal bits."""
    count: Counter[str] = Counter()
    with np.load(one) as before, np.load(other) as after:
        keys = list(dict.fromkeys([*before, *after]))
        for name in dict.fromkeys(key.split("|")[0] for key in keys):
            worst: dict[str, float] = {}  # of each part, all arrays of a file being one; -1 is equal to the bit
            notes = []
            for key in [key for key in keys if key.split("|")[0] == name]:
                part = key.split("|")[1]
                size, note = difference(before.get(key), after.get(key), part)
                worst[part.split("/")[0]] = max(worst.get(part.split("/")[0], -1.0), size)
                bad = size > tolerance or (tolerance == 0.0 and size >= 0.0)
                kind = ("beyond" if bad else "within tolerance") if size >= 0.0 else "equal"
                count[kind if note not in ("missing", "new") else note] += 1
                if size >= 0.0:
                    notes.append(f"    {part}: {note}")
            shown = ", ".join(part if size < 0.0 else f"{part.upper()} {size:.2g}" for part, size in worst.items())
            print("\n".join([f"{'differs' if notes else 'equal  '} {name}: {shown}", *notes]))
    kinds = ("equal", "within tolerance", "beyond", "missing", "new")
    print(f"{sum(count.values())} parts, tolerance {tolerance:g}: " + ", ".join(f"{count[k]} {k}" for k in kinds))
    return int(count["beyond"] + count["missing"] + count["new"] > 0)


def difference(one: Any, other: Any, part: str) -> tuple[float, str]:
    """Return by how much a part differs, -1 if in no bit, and a note on it."""
    if part == "error":
        return math.inf, f"{one} before, {other} after"
    if one is None or other is None:
        return math.inf, "new" if one is None else "missing"
    if one.dtype.kind == "U" and one.ndim == 0 and other.dtype.kind == "U" and other.ndim == 0:
        return tree_difference(json.loads(str(one)), json.loads(str(other)), "")
    if one.dtype != other.dtype or one.shape != other.shape:
        return math.inf, f"{one.dtype}{list(one.shape)} before, {other.dtype}{list(other.shape)} after"
    if one.tobytes() == other.tobytes():
        return -1.0, ""
    places = np.flatnonzero((one != other) & ~((one != one) & (other != other)))
    note = f"{len(places)} of {one.size} numbers"
    if one.dtype.kind != "f" or not np.array_equal(np.isfinite(one), np.isfinite(other)):
        return math.inf, f"{note}, and they are no finite numbers"
    finite = np.isfinite(one)
    one, other = one[finite].astype(np.float64), other[finite].astype(np.float64)
    scale = max(np.abs(one).max(initial=0.0), np.abs(other).max(initial=0.0))
    size = float(np.abs(one - other).max(initial=0.0) / (scale or 1.0))
    return size, f"{note}, by {size:.3g} of the largest"


def tree_difference(one: Any, other: Any, path: str) -> tuple[float, str]:
    """Return the largest difference of two trees, -1 if there is none, and the path of the first."""
    if type(one) is type(other) and isinstance(one, dict) and one.keys() == other.keys():
        found = [tree_difference(one[name], other[name], f"{path}/{name}") for name in one]
    elif type(one) is type(other) and isinstance(one, list) and len(one) == len(other):
        found = [tree_difference(a, b, f"{path}/{i}") for i, (a, b) in enumerate(zip(one, other, strict=True))]
    elif repr(one) == repr(other):  # which tells -0.0 from 0.0
        return -1.0, ""
    else:
        size = math.inf
        if isinstance(one, float) and isinstance(other, float) and math.isfinite(one) and math.isfinite(other):
            size = abs(one - other) / (max(abs(one), abs(other)) or 1.0)
        return size, f"{path or '/'}: {shorten(one)} before, {shorten(other)} after"
    differs = [pair for pair in found if pair[0] >= 0.0]
    return max((size for size, _ in found), default=-1.0), differs[0][1] if differs else ""


def shorten(value: Any) -> str:
    """Return a value on one line, its beginning if it is long."""
    line = f"the parts {sorted(value)}" if isinstance(value, dict) else repr(value)
    return line if len(line) < 200 else f"{line[:200]}..."


def against(base: str, only: str, tolerance: float) -> int:
    """Record a commit, checked out beside, and this tree, and compare."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory() as folder:
        old, recordings = Path(folder) / "tree", (Path(folder) / "before.npz", Path(folder) / "after.npz")
        subprocess.run([*git, "add", "--quiet", "--detach", str(old), base], check=True)
        try:
            for tree, out in zip((old, ROOT), recordings, strict=True):
                arguments = ["record", str(out), "--only", only, "--tree", str(tree)]
                environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
                subprocess.run([sys.executable, __file__, *arguments], env=environment, check=True)
        finally:
            subprocess.run([*git, "remove", "--force", str(old)], check=True)
        return compare(*recordings, tolerance)


def main() -> int:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    recorder, comparer, against_commit = (verbs.add_parser(verb) for verb in ("record", "compare", "against"))
    recorder.add_argument("out", type=Path)
    recorder.add_argument("--tree", type=Path, help="fail unless fbtwsvm is that of this folder")
    comparer.add_argument("one", type=Path)
    comparer.add_argument("other", type=Path)
    against_commit.add_argument("base")
    for verb in (recorder, against_commit):
        verb.add_argument("--only", default="*", help="names of configurations, such as 'stream-*'")
    for verb in (comparer, against_commit):
        verb.add_argument("--tolerance", type=float, default=0.0, help="largest relative difference; 0 is equal bits")
    options = parser.parse_args()
    if options.verb == "compare":
        return compare(options.one, options.other, options.tolerance)
    if options.verb == "against":
        return against(options.base, options.only, options.tolerance)
    record(options.out, options.only, options.tree)
    return 0


if __name__ == "__main__":
    sys.exit(main())
