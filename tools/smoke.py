"""Whether an installed fbtwsvm works with its base dependencies alone: ``python tools/smoke.py``.

It is run with the interpreter of a bare environment, in a folder outside the checkout, by ``make dist`` and in
continuous integration.  It needs neither pytest nor any extra.
"""

import argparse
import importlib
import importlib.metadata
import importlib.util
import inspect
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

import fbtwsvm


def clouds() -> tuple[np.ndarray, np.ndarray]:
    """Return rows of three clouds, and their labels."""
    random = np.random.default_rng(0)
    centres = np.array([[0.0, 0.0, 0.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0]])
    y = random.integers(0, 3, size=300)
    return random.normal(centres[y], 0.7), np.array(["ant", "bee", "cat"])[y]


def check_installation(version: str | None) -> None:
    """Check that the package is an installed one, with its version, its licence and the mark that it has types."""
    folder = Path(fbtwsvm.__file__).resolve().parent
    assert folder.parent.name in ("site-packages", "dist-packages"), f"fbtwsvm is not installed, but read from {folder}"
    found = importlib.metadata.version("fbtwsvm")
    assert found == fbtwsvm.__version__, f"version {found} in the metadata, {fbtwsvm.__version__} in the package"
    assert version in (None, found), f"version {found} is installed, not {version}"
    assert (folder / "py.typed").is_file(), "py.typed is missing"
    files = importlib.metadata.files("fbtwsvm") or []
    licences = [file for file in files if file.name == "LICENSE"]
    assert len(licences) == 1, f"{len(licences)} files LICENSE are installed"
    assert "BSD 3-Clause" in licences[0].read_text()
    strange = {file.parts[0] for file in files if file.parts[0] not in ("fbtwsvm", "..")}
    assert all(name.endswith(".dist-info") for name in strange), f"more than the package is installed: {strange}"


def check_names() -> None:
    """Check that all public names are found, and that dir() names them."""
    absent = set(fbtwsvm.__all__) - set(dir(fbtwsvm))
    assert not absent, f"dir(fbtwsvm) has no {absent}"
    assert inspect.getmembers(fbtwsvm)
    names: dict[str, object] = {}
    exec("from fbtwsvm import *", names)  # what cannot be read without an extra is not among these
    assert "FBTWSVM" in names
    assert ("TableClassifier" in names) != missing("pyarrow")
    expect("table", "pyarrow", lambda: fbtwsvm.TableClassifier)


def check_model() -> None:
    """Check that a model is fitted, goes on learning, forgets, and comes back from its file as it was."""
    X, y = clouds()
    fitted = fbtwsvm.FBTWSVM(random_state=0).fit(X[:200], y[:200])
    assert fitted.score(X[200:], y[200:]) > 0.9
    model = fbtwsvm.FBTWSVM(warm_up=50, random_state=0)
    for start in range(0, 200, 50):
        model.partial_fit(X[start : start + 50], y[start : start + 50])
    assert np.mean(model.predict(X[200:]) == y[200:]) > 0.9
    shares = model.predict_proba(X[200:])
    assert shares.shape == (100, 3)
    assert np.allclose(shares.sum(axis=1), 1.0)
    model.unlearn(X[100:110], y[100:110])
    assert np.mean(model.predict(X[200:]) == y[200:]) > 0.9
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.fbt"
        fbtwsvm.save(model, path)
        again = fbtwsvm.load(path)
    assert np.array_equal(again.predict_proba(X[200:]), model.predict_proba(X[200:]))


def check_search() -> None:
    """Check that a small search for settings ends with a good model."""
    X, y = clouds()
    tuned = fbtwsvm.FBTWSVMCV(gamma=[0.1, 0.5], C=[1.0], reg=[0.01], cv=2, random_state=0).fit(X[:200], y[:200])
    assert tuned.score(X[200:], y[200:]) > 0.9


def check_extras() -> None:
    """Check that what needs an extra says so, with the extra's name, where it is not installed."""
    X, y = clouds()
    model = fbtwsvm.FBTWSVM(random_state=0).fit(X[:100, :2], y[:100])

    def export() -> None:
        from fbtwsvm.export.onnx import export_onnx

        export_onnx(model, os.devnull)

    def draw() -> None:
        from fbtwsvm.evaluate import plot

        plot.decision_regions(model, X[:100, :2], y[:100])

    expect("river", "river", lambda: importlib.import_module("fbtwsvm.river"))
    expect("onnx", "onnx", export)
    expect("plot", "matplotlib", draw)
    expect("table", "pyarrow", lambda: importlib.import_module("fbtwsvm.data.sources"))
    if missing("typer"):
        run = subprocess.run(
            [sys.executable, "-c", "from fbtwsvm.cli import main; main()"], capture_output=True, text=True
        )
        assert run.returncode == 1, f"the command without its extra ended with {run.returncode}"
        assert "fbtwsvm[cli]" in run.stderr, f"the command does not name its extra: {run.stderr}"
        assert "Traceback" not in run.stderr, run.stderr


def expect(extra: str, module: str, call: Callable[[], object]) -> None:
    """Call what must fail, with the name of the extra, where its module is missing."""
    if not missing(module):
        return
    message = None
    try:
        call()
    except (ImportError, ValueError) as error:
        message = str(error)
    assert message is not None, f"no error without {module}"
    assert f"fbtwsvm[{extra}]" in message, f"the error does not name the extra {extra}: {message}"


def missing(module: str) -> bool:
    """Whether a module cannot be found."""
    return importlib.util.find_spec(module) is None


def main() -> None:
    """Run all checks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", help="the version that must be installed")
    parser.add_argument("--bare", action="store_true", help="fail if any of the extras is installed")
    arguments = parser.parse_args()
    if arguments.bare:
        there = [name for name in ("river", "onnx", "matplotlib", "typer") if not missing(name)]
        assert not there, f"the environment is not bare: {there}"
    check_installation(arguments.version)
    for check in (check_names, check_model, check_search, check_extras):
        check()
        print(f"{check.__name__}: good")
    print(f"fbtwsvm {fbtwsvm.__version__} on Python {sys.version.split()[0]}: good")


if __name__ == "__main__":
    main()
