"""Pipelines and searches in model files: the same bits after loading, or a refusal that says the way out."""

import numpy as np
import pytest
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import fbtwsvm
from fbtwsvm import FBTWSVM, FBTWSVMCV
from fbtwsvm.export.modelfile import ModelFileError
from helpers import clouds
from mutations import with_header

QUICK = {"gamma": "scale"}


def gaps(X):
    """Return rows with missing values."""
    X = X.copy()
    X[::7, 0] = X[::5, 2] = np.nan
    return X


def words(X):
    """Return rows of texts."""
    return np.array(["low", "mid", "high"], dtype=object)[np.digitize(X, [-0.5, 0.5])]


def numbers(X):
    return X


STEPS = {
    "standard": (numbers, [StandardScaler()]),
    "standard without mean": (numbers, [StandardScaler(with_mean=False)]),
    "standard with gaps": (gaps, [StandardScaler(), SimpleImputer()]),
    "min max": (numbers, [MinMaxScaler((-1, 1), clip=True)]),
    "max abs and normalizer": (numbers, [MaxAbsScaler(), Normalizer("l1")]),
    "robust": (numbers, [RobustScaler(quantile_range=(10.0, 90.0), with_centering=False)]),
    "pca": (numbers, [StandardScaler(), PCA(2, whiten=True)]),
    "passthrough": (numbers, ["passthrough", StandardScaler()]),
    "median": (gaps, [SimpleImputer(strategy="median"), StandardScaler()]),
    "constant": (gaps, [SimpleImputer(strategy="constant", fill_value=-1.0)]),
    "one hot": (words, [OneHotEncoder()]),
    "one hot, dense, dropped": (words, [OneHotEncoder(drop="first", sparse_output=False, handle_unknown="ignore")]),
    "one hot of imputed words": (
        lambda X: np.where(X > 2, None, words(X)),
        [SimpleImputer(strategy="most_frequent", missing_values=None), OneHotEncoder(dtype=np.float32)],
    ),
    "one hot of texts": (lambda X: words(X).astype(str), [OneHotEncoder(categories="auto")]),
    "one hot of numbers": (lambda X: np.round(gaps(X)), [OneHotEncoder(handle_unknown="ignore")]),
    "ordinal": (words, [OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1), StandardScaler()]),
    "given categories": (words, [OrdinalEncoder(categories=[["low", "mid", "high"]] * 4)]),
}


@pytest.mark.parametrize("name", STEPS)
def test_a_loaded_pipeline_gives_the_same_bits(name, tmp_path):
    rows, steps = STEPS[name]
    X, y = clouds(200, n_columns=4)
    X = rows(X)
    model = make_pipeline(*steps, FBTWSVM(**QUICK)).fit(X, y)
    fbtwsvm.save(model, tmp_path / "m.fbt")
    again = fbtwsvm.load(tmp_path / "m.fbt")
    assert isinstance(again, Pipeline)
    assert repr(again) == repr(model)
    assert [name for name, _ in again.steps] == [name for name, _ in model.steps]
    for method in ("predict_proba", "predict", "decision_function"):
        np.testing.assert_array_equal(getattr(again, method)(X), getattr(model, method)(X))
    for one, other in zip(model[:-1], again[:-1], strict=True):
        if one != "passthrough":
            assert {attribute for attribute in vars(one) if attribute.endswith("_")} == {
                attribute for attribute in vars(other) if attribute.endswith("_")
            }
    fbtwsvm.save(again, tmp_path / "n.fbt")
    assert (tmp_path / "m.fbt").read_bytes() == (tmp_path / "n.fbt").read_bytes()


def test_frames_and_their_names(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = clouds(200, n_columns=4)
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    model = make_pipeline(StandardScaler().set_output(transform="pandas"), FBTWSVM(**QUICK)).fit(frame, y)
    fbtwsvm.save(model, tmp_path / "m.fbt")
    again = fbtwsvm.load(tmp_path / "m.fbt")
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    assert again.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        again.predict(frame[["b", "a", "c", "d"]])


def test_a_search_is_saved_by_its_best_estimator(tmp_path):
    X, y = clouds(150, n_columns=4)
    ours = FBTWSVMCV(gamma=[0.1], C=[1.0, 4.0], reg=[0.01], membership=None, cv=2).fit(X, y)
    grid = GridSearchCV(make_pipeline(StandardScaler(), FBTWSVM(**QUICK)), {"fbtwsvm__C": [1.0, 4.0]}, cv=2).fit(X, y)
    for search, kind in (
        (ours, FBTWSVM),
        (grid, Pipeline),
        (make_pipeline(StandardScaler(), ours).fit(X, y), Pipeline),
    ):
        fbtwsvm.save(search, tmp_path / "m.fbt")
        again = fbtwsvm.load(tmp_path / "m.fbt")
        assert type(again) is kind
        np.testing.assert_array_equal(again.predict_proba(X), search.predict_proba(X))


def test_what_cannot_be_saved_is_refused_with_the_way_out(tmp_path):
    X, y = clouds(150, n_columns=4)
    refused = {
        r"Step 'functiontransformer'.*FunctionTransformer.*StandardScaler.*pipeline\[-1\].*joblib or skops":
            make_pipeline(FunctionTransformer(np.abs), FBTWSVM(**QUICK)).fit(X, y),
        "Step 'columntransformer'": make_pipeline(
            make_column_transformer((StandardScaler(), [0, 1]), remainder="passthrough"), FBTWSVM(**QUICK)
        ).fit(X, y),
        "last step.*LogisticRegression": make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y),
        "'standardscaler' of this pipeline is not fitted: fit the pipeline first": make_pipeline(
            StandardScaler(), FBTWSVM()
        ),
        "'normalizer' of this pipeline is not fitted: fit the pipeline first": make_pipeline(Normalizer(), FBTWSVM()),
        "with min_frequency": make_pipeline(OneHotEncoder(min_frequency=2), FBTWSVM(**QUICK)).fit(np.round(X), y),
        "with add_indicator": make_pipeline(SimpleImputer(add_indicator=True), FBTWSVM(**QUICK)).fit(gaps(X), y),
        "with memory=": make_pipeline(StandardScaler(), FBTWSVM(**QUICK), memory=str(tmp_path / "cache")).fit(X, y),
        "A LogisticRegression cannot be saved": LogisticRegression(),
        "This FBTWSVMCV is not fitted: fit it first": FBTWSVMCV(),
        "This GridSearchCV is not fitted: fit it first": GridSearchCV(FBTWSVM(), {"C": [1.0]}),
        "A FBTWSVMCV cannot be saved.*refit=True": FBTWSVMCV(
            gamma=None, C=[1.0], reg=None, membership=None, refit=False
        ).fit(X, y),
    }  # fmt: skip
    for reason, model in refused.items():
        with pytest.raises(ModelFileError, match=f"(?s){reason}"):
            fbtwsvm.save(model, tmp_path / "m.fbt")
    assert not (tmp_path / "m.fbt").exists()


def _bytes(tmp_path, *steps, rows=numbers):
    X, y = clouds(100, n_columns=4)
    fbtwsvm.save(make_pipeline(*steps, FBTWSVM(**QUICK)).fit(rows(X), y), tmp_path / "m.fbt")
    return (tmp_path / "m.fbt").read_bytes()


def test_steps_that_do_not_fit_together_are_refused(tmp_path):
    data = _bytes(tmp_path, StandardScaler(), OneHotEncoder(handle_unknown="ignore"), rows=np.round)

    def scaler(header):
        return header["model"][1]["steps"][0][1][1]

    changes = {
        "unknown kind": lambda header: header["model"][1]["steps"][0][1].__setitem__(0, "FunctionTransformer"),
        "does not have": lambda header: scaler(header)["parameters"].__setitem__("func", "os.system"),
        "out of bounds": lambda header: scaler(header)["parameters"].__setitem__("with_mean", 7),
        "sizes of arrays": lambda header: scaler(header).__setitem__("n_features_in_", 4 * 10**8),
        "do not fit together": lambda header: header["model"][1]["steps"].pop(1),
        "names of steps": lambda header: header["model"][1]["steps"][0].__setitem__(0, "a__b"),
        "missing or unknown": lambda header: scaler(header)["fitted"].__setitem__("__dict__", None),
    }
    for reason, change in changes.items():
        (tmp_path / "m.fbt").write_bytes(with_header(data, change))
        with pytest.raises(ModelFileError, match=reason):
            fbtwsvm.load(tmp_path / "m.fbt")


def test_parameters_that_came_later_may_be_missing(tmp_path):
    """A file of an older scikit-learn, whose scaler had fewer parameters."""
    data = _bytes(tmp_path, MaxAbsScaler())
    (tmp_path / "m.fbt").write_bytes(
        with_header(data, lambda header: header["model"][1]["steps"][0][1][1]["parameters"].pop("copy"))
    )
    assert fbtwsvm.load(tmp_path / "m.fbt")[0].copy is True
