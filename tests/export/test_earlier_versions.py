"""Files of every earlier version are read: the same answers, and the model goes on learning.

The files and what their version answered are made by tests/files/versions/make.py.
"""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from packaging.version import Version

import fbtwsvm

VERSIONS = Path(__file__).parent.parent / "files" / "versions"
MODELS = sorted(
    (Version(path.parent.name), path.name.removesuffix(".fbt.gz")) for path in VERSIONS.glob("[0-9]*/*.fbt.gz")
)
EACH_MODEL = pytest.mark.parametrize(("version", "name"), MODELS)


@pytest.fixture
def kept(version, name, tmp_path):
    """Return a model of a version, the rows that it was asked about, and what was known and answered of them."""
    folder = VERSIONS / str(version)
    known = json.loads((folder / "answers.json").read_text())[name]
    (tmp_path / "kept.fbt").write_bytes(gzip.decompress((folder / f"{name}.fbt.gz").read_bytes()))
    rows = known["rows"] if isinstance(known["rows"], dict) else np.array(known["rows"])
    return fbtwsvm.load(tmp_path / "kept.fbt"), rows, known


@EACH_MODEL
def test_labels_are_those_of_the_version(kept):
    model, rows, known = kept
    assert model.predict(rows).tolist() == known["labels"]


@EACH_MODEL
def test_probabilities_are_those_of_the_version(kept):
    model, rows, known = kept
    np.testing.assert_allclose(model.predict_proba(rows), known["probabilities"], rtol=0, atol=1e-6)


@EACH_MODEL
def test_a_model_goes_on_learning_also_when_it_is_saved_again(kept, tmp_path):
    model, rows, known = kept
    before, score = model.predict_proba(rows), model.score(rows, known["y"])
    fbtwsvm.save(model, tmp_path / "again.fbt")
    again = fbtwsvm.load(tmp_path / "again.fbt")
    np.testing.assert_array_equal(again.predict_proba(rows), before)
    for each in (model, again):
        for _ in range(3):
            each.partial_fit(rows, known["y"])
    after = model.predict_proba(rows)
    np.testing.assert_array_equal(again.predict_proba(rows), after)
    np.testing.assert_allclose(after.sum(axis=1), 1.0)
    assert not np.array_equal(after, before)
    assert model.score(rows, known["y"]) >= score


def test_every_release_leaves_its_files():
    """The present version may still be without files, the one before it not."""
    now, newest = Version(fbtwsvm.__version__), max(version for version, _ in MODELS)
    assert (now.major, now.minor) in {
        (newest.major, newest.minor), (newest.major, newest.minor + 1), (newest.major + 1, 0)
    }, f"tests/files/versions/make.py was not run with the version before {now}"  # fmt: skip
