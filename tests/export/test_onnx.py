"""ONNX: onnxruntime gives the answers of the model, for every map and rule that can be exported."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from command import fbtwsvm_json
from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.data.generators import make
from fbtwsvm.export.modelfile import save
from fbtwsvm.export.onnx import export_onnx

onnxruntime = pytest.importorskip("onnxruntime")


def answers(path, X):
    """Labels and scores by onnxruntime."""
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"]).run(None, {"X": X})


def agree(model, X, path, tolerance):
    """Compare all answers; a row whose best scores are equal within rounding may go either way."""
    export_onnx(model, path)
    X = X.astype(model_of(model).mapping.dtype)
    labels, scores = answers(path, X)
    wanted, ours = model.predict(X), model.decision_function(X)
    differs = labels != wanted
    if ours.ndim == 2:
        top = np.sort(ours, axis=1)
        tie = top[:, -1] - top[:, -2] <= 2 * tolerance
    else:
        tie = np.abs(ours) <= tolerance
    assert not (differs & ~tie).any()
    assert differs.mean() <= 0.001
    assert np.median(np.abs(scores - ours)) <= tolerance
    return True


DIGITS = {
    "exact": {},
    "vote": {"multiclass": "vote", "gamma": "scale", "n_components": 150},
    "landmarks": {"gamma": "scale", "n_components": 50},
    "more landmarks than pairs": {"gamma": "scale", "n_components": 300},
    "distances": {"gamma": "scale", "n_components": 80, "decision": "distance"},
    "plain values": {"gamma": "scale", "n_components": 80, "decision": "value"},
    "fourier": {"feature_map": "fourier", "gamma": "scale", "n_components": 200},
    "orthogonal": {"feature_map": "orthogonal", "gamma": "scale", "n_components": 200},
    "laplacian": {"kernel": "laplacian", "gamma": "scale", "n_components": 60},
    "laplacian fourier": {"kernel": "laplacian", "feature_map": "fourier", "gamma": "scale", "n_components": 200},
    "skewed": {"kernel": "skewed_intersection", "feature_map": "fourier", "n_components": 200},
    "linear": {"kernel": "linear"},
    "metric": {"metric": np.linspace(0.0, 2.0, 64)},
    "metric of landmarks": {"metric": np.linspace(0.0, 2.0, 64), "n_components": 60},
    "metric of frequencies": {"metric": "columns", "feature_map": "fourier", "n_components": 200},
    "metric of laplacian": {"metric": "columns", "kernel": "laplacian", "n_components": 60},
    "linear landmarks": {"kernel": "linear", "feature_map": "nystroem", "n_components": 30},
}


@pytest.mark.parametrize("name", DIGITS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_answers_are_those_of_the_model(name, dtype, tmp_path):
    X, y = load_digits(return_X_y=True)
    X = (X / 16.0).astype(dtype)
    model = FBTWSVM(random_state=0, **DIGITS[name]).fit(X[:1200], y[:1200])
    assert agree(model, X, tmp_path / "m.onnx", 1e-4 if model_of(model).mapping.dtype == np.float64 else 0.05)


@pytest.mark.parametrize("decay", [1.0, "auto"])
@pytest.mark.parametrize("labels", ["words", "bools", "numbers", "one"])
def test_streams_and_labels(decay, labels, tmp_path):
    X, y = make("rbf", seed=1, classes=3, features=3).rows(1500)
    named = {"words": np.array(["ant", "bee", "cat"])[y], "bools": y > 0, "numbers": 1.0 * y, "one": 0 * y}
    model = FBTWSVM(decay=decay, n_components=40, warm_up=200, random_state=0)
    for first in range(0, 1500, 100):
        model.partial_fit(X[first : first + 100], named[labels][first : first + 100])
    if labels == "one":
        export_onnx(model, tmp_path / "m.onnx")
        assert (answers(tmp_path / "m.onnx", X)[0] == 0).all()
    else:
        agree(model, X, tmp_path / "m.onnx", 1e-4)


@pytest.mark.parametrize("name", ["letter", "mnist"])
def test_all_test_rows_of_real_sets(name, dataset, tmp_path):
    X, y, X_test, _ = dataset(name)
    model = FBTWSVM(gamma="scale", n_components=300, random_state=0).fit(X[:6000], y[:6000])
    export_onnx(model, tmp_path / "m.onnx")
    labels, _ = answers(tmp_path / "m.onnx", X_test)
    wanted = model.predict(X_test)
    ties = np.flatnonzero(labels != wanted)
    assert len(ties) <= 0.0005 * len(wanted)
    for row in ties:  # a pair that float32 cannot tell apart changes one vote
        second, first = np.sort(model.decision_function(X_test[[row]])[0])[-2:]
        assert first - second <= 1.7


def test_what_has_no_counterpart_is_refused(tmp_path):
    X, y = load_digits(return_X_y=True)
    for parameters in ({"kernel": "chi2"}, {"kernel": "intersection", "feature_map": "nystroem", "n_components": 20}):
        model = FBTWSVM(random_state=0, **parameters).fit(X[:300], y[:300])
        with pytest.raises(ValueError, match="no export to ONNX"):
            export_onnx(model, tmp_path / "m.onnx")
    with pytest.raises(ValueError, match=r"Pipeline has no export.*pipeline\[-1\]"):
        export_onnx(make_pipeline(StandardScaler(), model), tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_the_command_exports_scaling_too(tmp_path):
    X, y = make("sea", seed=1).rows(1500)
    np.savez(tmp_path / "rows.npz", X=X, y=y)
    options = ("-t", "y", "--n-components", 40, "--gamma", "scale", "--chunk", 100)
    fbtwsvm_json("train", tmp_path / "rows.npz", "-o", tmp_path / "m.fbt", *options)
    told = fbtwsvm_json("export", tmp_path / "m.fbt", tmp_path / "m.onnx")
    assert told["inputs"] == ["x0", "x1", "x2"]
    about = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).get_modelmeta().custom_metadata_map
    assert json.loads(about["columns"]) == ["x0", "x1", "x2"]
    assert json.loads(about["classes"]) == [-1, 1]
    from fbtwsvm import load

    model = load(tmp_path / "m.fbt")
    labels, _ = answers(tmp_path / "m.onnx", X + 0.0)
    ours = model.predict({f"x{j}": X[:, j] for j in range(3)})
    assert (labels == ours).mean() >= 0.999
    save(model.estimator, tmp_path / "plain.fbt")
    assert fbtwsvm_json("export", tmp_path / "plain.fbt", tmp_path / "plain.onnx")["bytes"] > 1000
