"""The types that docs/guide/model_files.md tells users of skops to trust are those of our models."""

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import skops.io
from sklearn.frozen import FrozenEstimator

from fbtwsvm import FBTWSVM
from fbtwsvm.features import FourierFeatures
from fbtwsvm.online.drift import HoeffdingDrift
from helpers import clouds
from mutations import models

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "model_files.md"


def documented():
    return re.search(r'TYPES = """(.*?)"""', PAGE.read_text(), re.DOTALL)[1].split()


def all_models():
    """Return models with every kind of part, but no tables."""
    X, y = clouds(200, n_columns=4)
    X = np.abs(X)
    frozen = FrozenEstimator(FourierFeatures(gamma=0.2, n_components=10, random_state=0).fit(X))
    made = {name: model for name, model in models().items() if "table" not in name}
    made["frozen"] = FBTWSVM(feature_map=frozen, warm_up=60, drift_detector=HoeffdingDrift()).partial_fit(X, y)
    made["learned metric"] = FBTWSVM(warm_up=60, n_components=10, decay="auto", random_state=0).partial_fit(X, y)
    made["intersection"] = FBTWSVM(kernel="intersection").fit(X, y)
    return made


def classes_in(thing, seen):
    """Return the names of our classes in everything that a thing holds."""
    if id(thing) in seen or isinstance(thing, (str, bytes, np.generic, type)):
        return set()
    seen[id(thing)] = thing
    cls, parts = type(thing), []
    names = {f"{cls.__module__}.{cls.__qualname__}"} if cls.__module__.startswith("fbtwsvm") else set()
    if isinstance(thing, dict):
        parts = [*thing, *thing.values()]
    elif isinstance(thing, (list, tuple, set, frozenset)):
        parts = list(thing)
    parts += list(getattr(thing, "__dict__", {}).values())
    return names.union(*(classes_in(part, seen) for part in parts))


def test_the_list_is_complete():
    names = set().union(*(classes_in(model, {}) for model in all_models().values()))
    assert names == {name for name in documented() if name.startswith("fbtwsvm")}
    for name in documented():
        module, _, cls = name.rpartition(".")
        assert isinstance(getattr(import_module(module), cls), type)


def test_skops_loads_the_same_model(tmp_path):
    X, y = clouds(60, n_columns=4, seed=1)
    X = np.abs(X)
    for model in all_models().values():
        skops.io.dump(model, tmp_path / "m.skops")
        loaded = skops.io.load(tmp_path / "m.skops", trusted=documented())
        np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
        if hasattr(model, "partial_fit"):
            for each in (model, loaded):
                each.partial_fit(X, y)
            np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
