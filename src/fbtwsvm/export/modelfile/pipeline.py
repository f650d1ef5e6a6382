"""Pipelines in a model file: scikit-learn's scalers, encoders and imputers before a classifier.

Of each step the file holds its parameters and the fitted attributes that `_STEPS` lists, nothing else.  What
scikit-learn derives from these it derives again when the file is read, perhaps by another version of it.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from ..._arrays import as_python
from ...classifier import FBTWSVM
from .classifier import CLASSIFIER
from .container import TYPES, ModelFileError, Writer
from .strings import Keys, Labels, Strings
from .value_types import FLOATS, ArrayOf, Bool, Context, Float, Int, ListOf, Maybe, Spec, Text, parts_of

_DTYPES = ("float64", "float32", "int64", "int32", "int16", "int8", "uint8", "bool", "object")
_OUTPUTS = Maybe(Text("default", "pandas", "polars"))
_MOST_STEPS = 100


class _Value:
    """A parameter or fitted attribute of a step: a plain value, an array, or a list of these."""

    def write(self, value: Any, writer: Writer) -> Any:
        """Write it, or refuse a value that cannot be in a file."""
        value = as_python(value)
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, str):
            return Text().write(value, writer)
        if isinstance(value, float):
            return ["number", Float(any_number=True).write(value, writer)]
        if isinstance(value, list | tuple):
            return [type(value).__name__, ListOf(self, 2**20).write(value, writer)]
        if isinstance(value, np.dtype) or (
            isinstance(value, type) and issubclass(value, np.generic | bool | int | float)
        ):
            return ["dtype", Text(*_DTYPES).write(np.dtype(value).name, writer)]
        if isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.ndim == 1:
            return ["objects", Keys(nan=True).write(value, writer)]
        if isinstance(value, np.ndarray) and value.dtype.kind == "U" and value.ndim == 1:
            return ["texts", Labels().write(value, writer)]
        if isinstance(value, np.ndarray) and value.dtype.str.lstrip("<|=>") in TYPES:
            return ["array", writer.add(value)]
        raise ModelFileError(
            f"A model file holds no code, so {value!r} cannot be saved in a pipeline. Use joblib or skops."
        )

    def read(self, node: Any, context: Context) -> Any:
        """Read it."""
        if node is None or type(node) in (bool, int):
            return node
        if type(node) is str:
            return Text().read(node, context)
        match node:
            case ["number", number]:
                return Float(any_number=True).read(number, context)
            case ["list", items]:
                return ListOf(self, 2**20).read(items, context)
            case ["tuple", items]:
                return tuple(ListOf(self, 2**20).read(items, context))
            case ["dtype", name]:
                return np.dtype(Text(*_DTYPES).read(name, context)).type
            case ["objects", keys]:
                return np.array(Keys(nan=True).read(keys, context), dtype=object)
            case ["texts", labels]:
                return Labels().read(labels, context)
            case ["array", number]:
                _, shape = context.reader.type_and_shape(number)
                return ArrayOf(tuple(TYPES), *shape, numbers="any").read(number, context)
        raise ModelFileError("a step of the pipeline has an unknown value")


_VALUE = _Value()
_PER_COLUMN = Maybe(ArrayOf(FLOATS, "F", numbers="any"))
_STEPS: dict[str, tuple[type[BaseEstimator], dict[str, Spec]]] = {
    "standard_scaler": (
        StandardScaler, {"mean_": _PER_COLUMN, "var_": _PER_COLUMN, "scale_": _PER_COLUMN, "n_samples_seen_": _VALUE},
    ),
    "min_max_scaler": (
        MinMaxScaler,
        {
            "min_": _PER_COLUMN, "scale_": _PER_COLUMN, "data_min_": _PER_COLUMN, "data_max_": _PER_COLUMN,
            "data_range_": _PER_COLUMN, "n_samples_seen_": _VALUE,
        },
    ),
    "max_abs_scaler": (MaxAbsScaler, {"max_abs_": _PER_COLUMN, "scale_": _PER_COLUMN, "n_samples_seen_": _VALUE}),
    "robust_scaler": (RobustScaler, {"center_": _PER_COLUMN, "scale_": _PER_COLUMN}),
    "normalizer": (Normalizer, {}),
    "pca": (
        PCA,
        {
            "components_": ArrayOf(FLOATS, "P", "F"), "mean_": ArrayOf(FLOATS, "F"),
            "explained_variance_": ArrayOf(FLOATS, "P"), "singular_values_": ArrayOf(FLOATS, "P"),
            "explained_variance_ratio_": ArrayOf(FLOATS, "P", numbers="any"), "n_components_": Int(1),
            "n_samples_": Int(1), "noise_variance_": Float(any_number=True),
        },
    ),
    "simple_imputer": (SimpleImputer, {"statistics_": _VALUE, "_fit_dtype": _VALUE}),
    "one_hot_encoder": (OneHotEncoder, {"categories_": _VALUE}),
    "ordinal_encoder": (OrdinalEncoder, {"categories_": _VALUE}),
}  # fmt: skip
_NAMES = {cls: name for name, (cls, _) in _STEPS.items()}
_UNSAVED = ("min_frequency", "max_categories", "add_indicator")  # parameters that need more than the listed attributes


@dataclass(frozen=True)
class _Step:
    """A fitted step before the classifier."""

    cls: type[BaseEstimator]
    fitted: dict[str, Spec]

    def write(self, step: Any, writer: Writer) -> dict[str, Any]:
        """Write its parameters and what it has learned."""
        parameters = step.get_params(deep=False)
        unsaved = [name for name in _UNSAVED if parameters.get(name)]
        if unsaved:
            raise ModelFileError(f"A {self.cls.__name__} with {unsaved[0]} cannot be in a model file. {_WAY_OUT}")
        return {
            "parameters": {name: _VALUE.write(value, writer) for name, value in parameters.items()},
            "output": _OUTPUTS.write(getattr(step, "_sklearn_output_config", {}).get("transform"), writer),
            "n_features_in_": int(step.n_features_in_),
            "feature_names_in_": Maybe(Strings()).write(getattr(step, "feature_names_in_", None), writer),
            "fitted": {name: spec.write(getattr(step, name), writer) for name, spec in self.fitted.items()},
        }

    def read(self, node: Any, context: Context) -> Any:
        """Make the step again."""
        context = context.without(("F", "P"))
        nodes = parts_of(node, ("parameters", "output", "n_features_in_", "feature_names_in_", "fitted"))
        n_features = Int(1).read(nodes["n_features_in_"], context)
        context.expect((n_features,), ("F",))
        names = Maybe(Strings("F")).read(nodes["feature_names_in_"], context)
        parts = parts_of(nodes["fitted"], tuple(self.fitted))
        learned = {name: spec.read(parts[name], context) for name, spec in self.fitted.items()}
        step = _remade(self._unfitted(nodes["parameters"], context), learned, n_features)
        if names is not None:
            step.feature_names_in_ = np.array(names, dtype=object)
        output = _OUTPUTS.read(nodes["output"], context)
        return step if output is None else step.set_output(transform=output)

    def _unfitted(self, node: Any, context: Context) -> Any:
        known = set(self.cls().get_params(deep=False))
        if not isinstance(node, dict) or not set(node) <= known:
            raise ModelFileError(f"a step has parameters that {self.cls.__name__} of this scikit-learn does not have")
        step = self.cls(**{name: _VALUE.read(value, context) for name, value in node.items()})
        try:
            step._validate_params()
        except ValueError as error:
            raise ModelFileError(f"a parameter of a step is out of bounds ({error})") from error
        return step


def _remade(step: Any, learned: dict[str, Any], n_features: int) -> Any:
    """Give a step what it has learned; encoders and imputers work out the rest by fitting a row that fits."""
    if isinstance(step, OneHotEncoder | OrdinalEncoder):
        categories = learned["categories_"]
        if not isinstance(categories, list) or not all(isinstance(c, np.ndarray) and c.ndim == 1 for c in categories):
            raise ModelFileError("categories of an encoder are missing")
        if len(categories) != n_features or not all(map(len, categories)):
            raise ModelFileError("categories of an encoder do not fit its columns")
        given, row = step.categories, [[values.tolist()[0] for values in categories]]
        _fit(step.set_params(categories=[values.astype(object) for values in categories]), row)
        step.set_params(categories=given)
    elif isinstance(step, SimpleImputer):
        statistics, kind = learned["statistics_"], learned.pop("_fit_dtype")
        if not isinstance(statistics, np.ndarray) or statistics.shape != (n_features,) or not isinstance(kind, type):
            raise ModelFileError("statistics of an imputer are missing")
        _fit(step, np.full((1, n_features), "" if kind is np.object_ else 0, dtype=kind))
    else:
        step.n_features_in_ = n_features
    for name, value in learned.items():
        setattr(step, name, value)
    return step


def _fit(step: Any, row: Any) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a row of zeros may be missing values
            step.fit(np.array(row, dtype=object) if isinstance(row, list) else row)
    except (ValueError, TypeError) as error:
        raise ModelFileError(f"a step does not fit what it has learned ({error})") from error


def _n_features_out(step: Any) -> int:
    """Return the number of columns that a step makes."""
    if isinstance(step, PCA):
        return int(step.components_.shape[0])
    if isinstance(step, OneHotEncoder):
        dropped = 0 if step.drop_idx_ is None else sum(place is not None for place in step.drop_idx_)
        return sum(map(len, step.categories_)) - dropped
    if isinstance(step, SimpleImputer) and not step.keep_empty_features:
        return sum(value == value for value in step.statistics_.tolist())  # not NaN
    return int(step.n_features_in_)


_WAY_OUT = (
    "Save the classifier alone (fbtwsvm.save(pipeline[-1], path)) and make the other steps again, or use joblib or "
    "skops: the page on model files says how."
)


def _is_fitted(step: Any) -> bool:
    """Whether a step has seen rows; those that learn nothing from them at least know the number of columns."""
    try:
        check_is_fitted(step)
    except NotFittedError:
        return False
    return hasattr(step, "n_features_in_")


class _NamedStep:
    """The name and the kind of a step, and the step."""

    def write(self, value: Any, writer: Writer) -> Any:
        """Write it."""
        name, step = value
        if step is None or step == "passthrough":
            return [Text().write(name, writer), "passthrough"]
        if type(step) not in _NAMES:
            known = ", ".join(cls.__name__ for cls, _ in _STEPS.values())
            raise ModelFileError(
                f"Step {name!r} of this pipeline is a {type(step).__name__}, and a model file, which holds no code, "
                f"takes only {known} before the classifier. {_WAY_OUT}"
            )
        if not _is_fitted(step):
            raise ModelFileError(f"Step {name!r} of this pipeline is not fitted: fit the pipeline first.")
        kind = _NAMES[type(step)]
        return [Text().write(name, writer), [kind, _Step(*_STEPS[kind]).write(step, writer)]]

    def read(self, node: Any, context: Context) -> tuple[str, Any]:
        """Read it."""
        match node:
            case [name, "passthrough"]:
                return Text().read(name, context), "passthrough"
            case [name, [str(kind), part]] if kind in _STEPS:
                return Text().read(name, context), _Step(*_STEPS[kind]).read(part, context)
        raise ModelFileError("a step of the pipeline is of an unknown kind")


_NAMED_STEP = _NamedStep()


def _fitted_classifier(name: str, step: Any) -> FBTWSVM:
    """Return the classifier at the end of a pipeline; of a search, the best one that it found."""
    classifier = getattr(step, "best_estimator_", step)
    if not isinstance(classifier, FBTWSVM):
        raise ModelFileError(
            f"The last step of this pipeline, {name!r}, is a {type(step).__name__}: a model file takes pipelines that "
            "end in an FBTWSVM, or in a fitted FBTWSVMCV with refit=True."
        )
    if not hasattr(classifier, "classes_"):
        raise ModelFileError("The classifier of this pipeline is not fitted: fit the pipeline first.")
    return classifier


class _Pipeline:
    """A fitted pipeline that ends in a classifier."""

    def write(self, pipeline: Pipeline, writer: Writer) -> dict[str, Any]:
        """Write its steps."""
        *before, (last, classifier) = pipeline.steps
        for name in ("memory", "transform_input"):
            if getattr(pipeline, name, None) is not None:
                raise ModelFileError(f"A pipeline with {name}={getattr(pipeline, name)!r} cannot be in a model file.")
        return {
            "steps": ListOf(_NAMED_STEP, _MOST_STEPS).write(before, writer),
            "last": Text().write(last, writer),
            "classifier": CLASSIFIER.write(_fitted_classifier(last, classifier), writer),
            "verbose": bool(pipeline.verbose),
        }

    def read(self, node: Any, context: Context) -> Pipeline:
        """Read its steps, and check that each fits the one before."""
        nodes = parts_of(node, ("steps", "last", "classifier", "verbose"))
        before = ListOf(_NAMED_STEP, _MOST_STEPS).read(nodes["steps"], context)
        last, classifier = Text().read(nodes["last"], context), CLASSIFIER.read(nodes["classifier"], context)
        if not hasattr(classifier, "classes_"):
            raise ModelFileError("its classifier has learned nothing")
        width = None
        for step in [*(step for _, step in before if step != "passthrough"), classifier]:
            if width not in (None, step.n_features_in_):
                raise ModelFileError("the steps of the pipeline do not fit together")
            width = None if step is classifier else _n_features_out(step)
        pipeline = Pipeline([*before, (last, classifier)], verbose=Bool().read(nodes["verbose"], context))
        try:
            pipeline._validate_names([name for name, _ in pipeline.steps])
        except ValueError as error:
            raise ModelFileError(f"names of steps are wrong ({error})") from error
        return pipeline


PIPELINE = _Pipeline()
