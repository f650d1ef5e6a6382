"""The package as a whole: what importing it loads, and that docstrings and signatures agree."""

import inspect
import json
import re
import subprocess
import sys

import pytest

import fbtwsvm
from fbtwsvm import features
from fbtwsvm.evaluate import plot
from fbtwsvm.online.drift import HoeffdingDrift

OPTIONAL = {"matplotlib", "pandas", "polars", "pyarrow", "river", "typer", "rich", "torch", "onnx", "optuna"}
DOCUMENTED = [
    fbtwsvm.FBTWSVM,
    features.FourierFeatures,
    features.NystroemFeatures,
    features.ExactKernel,
    features.AdditiveIntersectionFeatures,
    plot.decision_regions,
    plot.planes,
    HoeffdingDrift,
]


def test_import_loads_no_extra():
    """What the base dependencies load by themselves does not count: scikit-learn imports pandas where it finds it."""
    code = """
import json, sys
def loaded(): return {name.split(".")[0] for name in sys.modules}
import fbtwsvm
light = loaded()
import joblib, numba, scipy.linalg, sklearn.metrics.pairwise, sklearn.kernel_approximation
base = loaded()
from fbtwsvm import FBTWSVM
FBTWSVM().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
print(json.dumps([sorted(light), sorted(loaded() - base)]))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    light, added = json.loads(run.stdout)
    assert OPTIONAL.isdisjoint(added)
    assert {"numpy", "scipy", "sklearn", "numba"}.isdisjoint(light)  # the names load when they are used


@pytest.mark.parametrize("thing", DOCUMENTED, ids=lambda thing: thing.__name__)
def test_docstring_names_every_parameter_with_its_default(thing):
    text = inspect.getdoc(thing).split("Parameters\n----------\n")[1].split("\n\n")[0].replace("\\\n", " ")
    documented = dict(re.findall(r"^(\w+) : (.*(?:\n {8}.*)?)$", text, flags=re.MULTILINE))
    parameters = inspect.signature(thing).parameters
    assert list(documented) == [name for name in parameters if name != "self"]
    for name, parameter in parameters.items():
        if parameter.default not in (inspect.Parameter.empty,):
            default = f'"{parameter.default}"' if isinstance(parameter.default, str) else str(parameter.default)
            shown = re.search(r"default=(\S+)", documented[name])
            assert shown, f"{name} has no default in the docstring"
            assert shown.group(1).replace("1e-3", "0.001").replace("1e-5", "1e-05").replace("1e-4", "0.0001") == default


def test_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", fbtwsvm.__version__)
