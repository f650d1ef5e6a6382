"""What a new model is to be: parameters of the classifier and choices of columns, from options and a config file."""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import typer
from sklearn.utils._param_validation import StrOptions

from ..classifier import FBTWSVM, check_parameters, parameters_of
from ..data.columns import ENCODINGS, IMPUTATIONS, SCALES, Choices
from ..features.kernels import KERNELS
from ..model.rows import per_class
from ..online.drift import HoeffdingDrift
from ..online.policy import policies_of
from .options import Group, option

_FIXED = "{} has {} {!r}, and a model keeps what it was made with: leave the option out, or name a new file"
_COLUMN_HELP = {
    "target": "Column that holds the label.",
    "row_id": "Column that holds an id of each row, by which the row can be unlearned.",
    "drop": "Columns to leave out, separated by commas.",
    "numeric": "Columns that must hold numbers, separated by commas; otherwise the first rows decide.",
    "categorical": "Columns that hold categories, even if they look like numbers, separated by commas.",
    "encode": f"How categories become numbers: {' or '.join(ENCODINGS)}. [default: onehot]",
    "impute": f"What to do about missing values: {' or '.join(IMPUTATIONS)} of the first rows. [default: error]",
    "scale": f"How numbers are scaled, by the first rows: {', '.join(SCALES)}. [default: standard]",
    "precision": "Precision of the numbers that are learned: float32 or float64. [default: float32]",
}
_WITH_NONE = ("membership", "metric")  # for which "none" is a value like any other
_COLUMN_FLAGS = {"target": ("--target", "-t"), "row_id": ("--id",)}
_COLUMN_VALUES = {"encode": ENCODINGS, "impute": IMPUTATIONS, "scale": SCALES, "precision": ("float32", "float64")}
_PARAMETER_HELP = {
    "kernel": f"Similarity of rows: {', '.join(KERNELS)}.",
    "gamma": "Parameter of the rbf and laplacian kernels, larger for narrower kernels: auto, scale, or above 0.",
    "metric": "Factors of the columns: auto, columns (always learned), none, or one for each encoded column, 1,2,0.5.",
    "feature_map": "How the kernel is made explicit: auto, nystroem, fourier, orthogonal or exact (not on streams).",
    "n_components": "Number of features of the map: auto, or a number from 1 on.",
    "C": "Cost of a row that is too close to the plane of the other class: above 0, or for two classes a pair, 1,2.",
    "reg": "Ridge penalty of the planes: above 0, or for two classes a pair.",
    "mu": "Membership share of rows closer to the centre of the other class than to their own: 0 to 1.",
    "membership": "Weight of a row by its distance from the class centre: fuzzy, printed (the paper's formula), none.",
    "multiclass": "How pairs of classes decide: dag (each class challenges the winner so far) or vote.",
    "decision": "What a pair compares: calibrated (values with a learned offset), value or distance (the paper's).",
    "class_weight": 'Weights of classes: none, balanced, or JSON such as {"yes": 2, "no": 1}.',
    "tol": "Relative duality gap at which a plane counts as solved: above 0.",
    "max_iter": "Maximum number of sweeps of the solver for a plane: from 1 on.",
    "memory": "Stream: number of support rows kept of each class; none keeps all.",
    "second_look": "Stream: number of idle rows of each class that are kept in reserve, from 0 on.",
    "forget_after": "Stream: a kept row that was idle this many times is forgotten (the paper's d); none: no limit.",
    "forget_below": "Stream: dual variable up to which a row counts as idle (the paper's phi), from 0 on.",
    "decay": "Stream: factor on the weight of all older rows with each new row, 1 for no fading; auto follows drift.",
    "half_life": "Stream: number of rows after which a row has half its weight, instead of --decay; none: no fading.",
    "accept": "Stream: rows that may become support rows: kkt (those that violate optimality), inside, outside or all.",
    "statistics": "Stream: rows that stay in the sums: all, or kept (as in the paper).",
    "warm_up": "Stream: number of first rows, which fix columns, scale, metric and map: auto (500, or --n-components "
    "if that is more), or a number.",
    "drift_detector": "Stream: hoeffding lets the model fade when its error rate rises; none.",
    "n_jobs": "Threads of a fit: none (BLAS decides), a number, or -1 for all; the model does not depend on it.",
    "random_state": "Seed of all random choices: an integer from 0 on.",
    "verbose": "0 prints nothing, 1 the steps of a fit, 2 also the progress of the solver.",
    "device": "Where more than 2,000 rows are fitted: none (here), or cuda (a GPU, by Torch).",
    "device_precision": "Precision of the features on a GPU: high (bf16) or highest.",
}
_PARAMETERS = {"device_precision": "precision"}  # options that are named otherwise than the parameter
_OPTIONS = {parameter: name for name, parameter in _PARAMETERS.items()}


@dataclass(frozen=True)
class Recipe:
    """What a new model is to be; only what the user gave is in the dictionaries."""

    parameters: dict[str, Any]
    columns: dict[str, Any]

    def estimator(self) -> FBTWSVM:
        """Return the classifier, or refuse the parameter that is wrong."""
        values = {"random_state": 0, **{_PARAMETERS.get(name, name): value for name, value in self.parameters.items()}}
        if values.get("drift_detector") == "hoeffding":
            values["drift_detector"] = HoeffdingDrift()
        try:
            model = FBTWSVM(**values)
            check_parameters(model)
            policies_of(parameters_of(model))
            for name in ("C", "reg"):
                per_class(name, getattr(model, name), 2)
        except (ValueError, TypeError) as error:
            invalid = re.match(r"The '(\w+)' parameter", str(error))
            if invalid is None:
                raise typer.BadParameter(str(error)) from error
            name = _OPTIONS.get(invalid[1], invalid[1])
            text = f"--{name.replace('_', '-')} cannot be {values[invalid[1]]!r}. {_PARAMETER_HELP[name]}"
            raise typer.BadParameter(text) from error
        return model

    def choices(self) -> Choices:
        """Return the choices of columns."""
        if not self.columns.get("target"):
            raise typer.BadParameter("name the column that holds the label: --target NAME")
        return Choices(**self.columns)

    def options(self) -> list[str]:
        """Return the options that were given, also those in a config file."""
        flags = {"row_id": "--id"}
        return [flags.get(name, "--" + name.replace("_", "-")) for name in (*self.columns, *self.parameters)]

    def refuse_changes(self, estimator: FBTWSVM, choices: Choices, path: Path) -> None:
        """Refuse options that differ from what the model in a file was made with; the device may be another one."""
        wanted = self.estimator().get_params(deep=False)
        for name in self.parameters:
            if name in ("device", "device_precision"):
                estimator.set_params(**{_PARAMETERS.get(name, name): wanted[_PARAMETERS.get(name, name)]})
                continue
            present = getattr(estimator, name)
            if wanted[name] != present and not (isinstance(present, HoeffdingDrift) and name == "drift_detector"):
                raise typer.BadParameter(_FIXED.format(path, name.replace("_", "-"), present))
        for name, value in self.columns.items():
            if getattr(choices, name) != value:
                raise typer.BadParameter(_FIXED.format(path, name.replace("_", "-"), getattr(choices, name)))


def _build(values: dict[str, Any]) -> Recipe:
    """Make a recipe of options; they win over the config file."""
    config = _read_config(values.pop("config"))
    given = {name: value for name, value in values.items() if value is not None}
    columns = config["columns"] | {name: value for name, value in given.items() if name in _COLUMN_HELP}
    parameters = config["model"] | {name: value for name, value in given.items() if name in _PARAMETER_HELP}
    for name in ("drop", "numeric", "categorical"):
        if name in columns:
            columns[name] = _column_names(name, columns[name])
    for name, allowed in _COLUMN_VALUES.items():
        if columns.get(name, allowed[0]) not in allowed:
            raise typer.BadParameter(f"--{name} is one of {', '.join(allowed)}, not {columns[name]!r}")
    for name, value in parameters.items():
        if name in _WITH_NONE and isinstance(value, str) and value.lower() == "none":
            parameters[name] = "none"
        else:
            parameters[name] = parsed(value)
    recipe = Recipe(parameters, columns)
    recipe.estimator()
    return recipe


def _column_names(name: str, value: Any) -> tuple[str, ...]:
    """Return the columns that an option names, separated by commas, or a config file, as a list."""
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not all(isinstance(part, str) for part in names):
        raise typer.BadParameter(f"{name} names columns, and is {value!r}")
    return tuple(part.strip() for part in names)


def parsed(text: Any) -> Any:
    """Return the value of a parameter: none, a number, several numbers, class weights in JSON, or a string."""
    if not isinstance(text, str):
        return tuple(text) if isinstance(text, list) else text
    if text.lower() == "none":
        return None
    for read in (int, float, _numbers, _weights):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(part) for part in text.split(","))


def _weights(text: str) -> dict[Any, float]:
    weights = json.loads(text)
    if not isinstance(weights, dict):
        raise ValueError("not a dictionary of class weights")
    return {int(label) if re.fullmatch(r"-?\d+", label) else label: float(value) for label, value in weights.items()}


def _read_config(path: Path | None) -> dict[str, dict[str, Any]]:
    """Read a config file, and refuse names that it should not have."""
    config: dict[str, dict[str, Any]] = {"model": {}, "columns": {}}
    if path is None:
        return config
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise typer.BadParameter(f"{path} is not TOML: {error}") from error
    allowed = {"model": list(_PARAMETER_HELP), "columns": [field.name for field in fields(Choices)]}
    for table, entries in content.items():
        if table not in allowed or not isinstance(entries, dict):
            raise typer.BadParameter(f"{path}: the tables are [model] and [columns], not {table!r}")
        for key, value in entries.items():
            name = "row_id" if key == "id" else key.replace("-", "_")  # spelled like the options
            if name not in allowed[table]:
                close = get_close_matches(name, allowed[table], 1)
                hint = f"did you mean {close[0]!r}?" if close else "see the options of fbtwsvm train"
                raise typer.BadParameter(f"{path}: [{table}] has no {key!r}; {hint}")
            config[table][name] = value
    return config


def _words(name: str) -> tuple[str, ...]:
    """Return the words that a parameter can be, for tab completion."""
    words = ["hoeffding"] if name == "drift_detector" else []
    for constraint in FBTWSVM._parameter_constraints[name]:
        if isinstance(constraint, StrOptions):
            words += sorted(constraint.options)
    return (*words, *(["none"] if None in FBTWSVM._parameter_constraints[name] else []))


def _options() -> tuple[Any, ...]:
    """Return an option for each choice of columns and each parameter of the classifier."""
    panel = "Columns"
    columns = [
        option(name, str | None, text, panel, flags=_COLUMN_FLAGS.get(name, ()), values=_COLUMN_VALUES.get(name, ()))
        for name, text in _COLUMN_HELP.items()
    ]
    panel = "Parameters of the classifier"
    text = "TOML file with tables [model] and [columns]; options win over it."
    config = option("config", Path | None, text, panel)
    parameters = []
    for name, value in (FBTWSVM().get_params(deep=False) | {"random_state": 0}).items():
        default, shown = "none" if value is None else value, _OPTIONS.get(name, name)
        text = f"{_PARAMETER_HELP[shown]} [default: {default}]"
        parameters.append(option(shown, str | None, text, panel, values=_words(name)))
    return (*columns, config, *parameters)


RECIPE = Group("recipe", _options(), _build)
