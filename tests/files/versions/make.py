"""Write small models of a version, with some of its answers, into a folder with its number; once for each version.

Run with the version that is to be kept:

    PYTHONPATH=src python tests/files/versions/make.py

It uses only what every version since 0.3.0 has, so it also runs with the `src` of an older commit.  Files up to 0.14.0
come from the last commit before work on the next version began.  They are compressed, since most numbers of a short
stream are zeros.
"""

import gzip
import json
from pathlib import Path

import numpy as np
from packaging.version import Version

import fbtwsvm
from fbtwsvm import FBTWSVM

LEARNED, CHUNK = 200, 20
SMALL = {"n_components": 8, "random_state": 0}
NYSTROEM = {**SMALL, "feature_map": "nystroem", "gamma": 0.3}
SHORT = {"warm_up": 60, "memory": 5, "second_look": 2}


def make_rows():
    """Return rows of three classes; the first are learned, the others asked about."""
    random = np.random.default_rng(0)
    labels = random.integers(0, 3, LEARNED + 30)
    X = random.normal(size=(len(labels), 2)) + np.array([[0.0, 0.0], [2.0, 1.0], [-1.0, 2.5]])[labels]
    return X.round(3), np.array(["one", "two", "three"])[labels]


def make_table(X):
    """Return the same rows with a column of texts and gaps."""
    numbers = [None if i % 17 == 0 else value for i, value in enumerate(X[:, 0].tolist())]
    texts = [None if i % 13 == 0 else "high" if value > 1 else "low" for i, value in enumerate(X[:, 1].tolist())]
    return {"size": numbers, "level": texts}


def take(rows, part):
    """Return a part of an array or of a table."""
    return {name: values[part] for name, values in rows.items()} if isinstance(rows, dict) else rows[part]


def stream(model, rows, y):
    """Learn in chunks."""
    for first in range(0, LEARNED, CHUNK):
        part = slice(first, first + CHUNK)
        model.partial_fit(take(rows, part), y[part])
    return model


def make_models(X, y, table):
    """Return each model, with the rows that it knows."""
    models = {
        "fit": (FBTWSVM(**NYSTROEM).fit(X[:LEARNED], y[:LEARNED]), X),
        "stream": (stream(FBTWSVM(**NYSTROEM, **SHORT, decay=1.0), X, y), X),
        "committee": (stream(FBTWSVM(**SMALL, **SHORT, decay="auto"), X, y), X),
    }
    if Version(fbtwsvm.__version__) >= Version("0.12.0"):
        models["table"] = (stream(fbtwsvm.TableClassifier(FBTWSVM(**NYSTROEM, **SHORT)), table, y), table)
    return models


def main():
    folder = Path(__file__).parent / fbtwsvm.__version__
    folder.mkdir(exist_ok=True)
    X, y = make_rows()
    answers = {}
    for name, (model, rows) in make_models(X, y, make_table(X)).items():
        path = folder / f"{name}.fbt"
        fbtwsvm.save(model, path)
        (folder / f"{name}.fbt.gz").write_bytes(gzip.compress(path.read_bytes(), mtime=0))
        path.unlink()
        asked = take(rows, slice(LEARNED, None))
        answers[name] = {
            "rows": asked if isinstance(asked, dict) else asked.tolist(),
            "y": y[LEARNED:].tolist(),
            "labels": model.predict(asked).tolist(),
            "probabilities": model.predict_proba(asked).round(7).tolist(),
        }
    (folder / "answers.json").write_text(json.dumps(answers) + "\n")
    print(f"{folder}, with {fbtwsvm.__file__}")


if __name__ == "__main__":
    main()
