"""The package as a whole: what importing it loads, and that docstrings and signatures agree."""

import ast
import gc
import inspect
import json
import re
import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

import fbtwsvm
from fbtwsvm import features
from fbtwsvm._garbage import without_collection
from fbtwsvm.data.sources import open_source
from fbtwsvm.evaluate import plot, prequential
from fbtwsvm.online.drift import HoeffdingDrift
from fbtwsvm.river import RiverFBTWSVM

OPTIONAL = {"matplotlib", "pandas", "polars", "pyarrow", "river", "typer", "rich", "torch", "onnx", "optuna"}
DOCUMENTED = [
    fbtwsvm.FBTWSVM,
    features.FourierFeatures,
    features.NystroemFeatures,
    features.ExactKernel,
    features.AdditiveIntersectionFeatures,
    fbtwsvm.FBTWSVMCV,
    fbtwsvm.TableClassifier,
    fbtwsvm.save,
    fbtwsvm.load,
    plot.decision_regions,
    plot.planes,
    plot.search,
    prequential,
    open_source,
    HoeffdingDrift,
    RiverFBTWSVM,
]


def test_import_loads_no_extra():
    """What the base dependencies load by themselves does not count: scikit-learn imports pandas where it finds it."""
    code = """
import json, sys
def loaded(): return {name.split(".")[0] for name in sys.modules}
import fbtwsvm
light = loaded()
import joblib, numba, scipy.linalg, sklearn.utils.extmath
base = loaded()
from fbtwsvm import FBTWSVM
FBTWSVM().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])
print(json.dumps([sorted(light), sorted(loaded() - base), "sklearn.metrics" in sys.modules]))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    light, added, metrics = json.loads(run.stdout)
    assert not metrics  # slow to load, and needed for few kernels
    assert OPTIONAL.isdisjoint(added)
    assert {"numpy", "scipy", "sklearn", "numba"}.isdisjoint(light)  # the names load when they are used


def test_garbage_collection_goes_on_afterwards():
    collecting = []
    with without_collection():
        collecting.append(gc.isenabled())
        with without_collection():
            pass
        collecting.append(gc.isenabled())
    assert collecting == [False, False]
    assert (gc.isenabled(), gc.get_freeze_count()) == (True, 0)


def test_a_name_is_loaded_once_and_garbage_collection_goes_on():
    """What is looked up again must not make all objects old, which would keep them from being collected."""
    gc.collect()
    for _ in range(2000):
        cycle: list = []
        cycle.append(cycle)
        fbtwsvm.FBTWSVM  # noqa: B018
    assert gc.get_count()[1] or gc.get_count()[2]  # young objects were collected meanwhile


def test_a_module_without_its_extra_is_no_attribute(monkeypatch):
    monkeypatch.setitem(sys.modules, "river", None)
    monkeypatch.delitem(sys.modules, "fbtwsvm.river")
    monkeypatch.delattr(fbtwsvm, "river")
    assert not hasattr(fbtwsvm, "river")
    with pytest.raises(AttributeError, match=r"pip install 'fbtwsvm\[river\]'"):
        fbtwsvm.river  # noqa: B018


@pytest.mark.parametrize("thing", DOCUMENTED, ids=lambda thing: thing.__name__)
def test_docstring_names_every_parameter_with_its_default(thing):
    text = inspect.getdoc(thing).split("Parameters\n----------\n")[1].split("\n\n")[0].replace("\\\n", " ")
    documented = dict(re.findall(r"^(\w+) : (.*(?:\n {8}.*)?)$", text, flags=re.MULTILINE))
    parameters = inspect.signature(thing).parameters
    assert list(documented) == [name for name in parameters if name != "self"]
    for name, parameter in parameters.items():
        if parameter.default is not inspect.Parameter.empty:
            shown = re.search(r"default=(.+)$", documented[name], flags=re.MULTILINE)
            assert shown, f"{name} has no default in the docstring"
            text = shown.group(1).rstrip(".")
            assert parameter.default is np.nan if text == "np.nan" else ast.literal_eval(text) == parameter.default


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("stream", "evaluate", "prequential"), ("plot", "evaluate.plot", "decision_regions"),
        ("generators", "data.generators", "make"), ("drift", "online.drift", "HoeffdingDrift"),
        ("onnx", "export.onnx", "export_onnx"),
    ],
)  # fmt: skip
def test_names_are_still_found_where_they_were(old, new, name):
    old, new = import_module(f"fbtwsvm.{old}"), import_module(f"fbtwsvm.{new}")
    assert getattr(old, name) is getattr(new, name)
