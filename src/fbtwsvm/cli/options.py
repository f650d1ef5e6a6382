"""Options that several verbs share: parameters of the classifier, columns, sources, the config file."""

from __future__ import annotations

import inspect
import json
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ..classifier import FBTWSVM, parameters_of
from ..data.columns import ENCODINGS, IMPUTATIONS, SCALES, Choices, Columns
from ..data.sources import FORMATS, Source, open_source
from ..features.kernels import KERNELS
from ..model.rows import per_class
from ..online.drift import HoeffdingDrift
from ..online.policy import policies_of

Verb = Callable[..., None]
_PARAMETERS, _COLUMNS, _SOURCE = "Parameters of the classifier", "Columns", "Source"
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for other programs.")]
_KEEPS = "{} has {} {!r}, and a model keeps what it was made with: leave the option out, or name a new file"
_SAYS = (
    ("target", "Column that holds the label.", ("--target", "-t")),
    ("row_id", "Column with a name for each row, by which it can be unlearned.", ("--id",)),
    ("drop", "Columns to leave out, with commas between them.", ()),
    ("numeric", "Columns that must be numbers; otherwise found from the first rows.", ()),
    ("categorical", "Columns that are categories even where they look like numbers.", ()),
    ("encode", f"How categories become numbers: {' or '.join(ENCODINGS)}. [default: onehot]", ()),
    ("impute", f"Missing values: {' or '.join(IMPUTATIONS)}, of the first rows. [default: error]", ()),
    ("scale", f"Scale of numbers, found in the first rows: {', '.join(SCALES)}. [default: standard]", ()),
    ("precision", "float32 or float64. [default: float32]", ()),
)
_ONE_OF = {"encode": ENCODINGS, "impute": IMPUTATIONS, "scale": SCALES, "precision": ("float32", "float64")}
HELP = {
    "kernel": f"Similarity of rows: {', '.join(KERNELS)}.",
    "gamma": "Width of the rbf and laplacian kernels: auto, scale, or a number.",
    "feature_map": "How the kernel is made explicit: auto, nystroem, fourier, orthogonal or exact (not on streams).",
    "n_components": "Features of the map: auto, or a number.",
    "C": "Price of a row that comes too near to the other class's plane: a number, or for two classes a pair, 1,2.",
    "reg": "Ridge of the planes: a number, or for two classes a pair.",
    "mu": "Membership share of rows nearer to the other class's centre than to their own: 0 to 1.",
    "membership": "How far a row is trusted: fuzzy, printed (the paper's formula) or none (all alike).",
    "multiclass": "How pairs of classes decide: dag (each challenges the winner so far) or vote.",
    "decision": "What a pair compares: calibrated (values with a learned offset), value or distance (the paper's).",
    "class_weight": 'Weights of classes: none, balanced, or JSON such as {"yes": 2, "no": 1}.',
    "tol": "Duality gap at which a plane counts as solved.",
    "max_iter": "Most sweeps of the solver for a plane.",
    "memory": "Stream: support rows kept of each class; none keeps all.",
    "second_look": "Stream: idle rows of each class that are looked at again when planes settle.",
    "forget_after": "Stream: times that a kept row may do nothing before it goes (the paper's d); none: no limit.",
    "forget_below": "Stream: dual variable up to which a row does nothing (the paper's phi).",
    "decay": "Stream: factor on the weight of older rows with each new one, 1 never fades; auto follows drift.",
    "half_life": "Stream: rows after which half of a row's weight is left, instead of --decay; none: no fading.",
    "accept": "Stream: which rows may become support rows: kkt (those not yet explained), inside, outside or all.",
    "statistics": "Stream: which rows stay in the sums: all, or kept (as in the paper).",
    "warm_up": "Stream: first rows, which fix columns, scale and map: auto (500), or a number.",
    "drift_detector": "Stream: hoeffding lets the model fade when its error rate rises; none.",
    "n_jobs": "Threads of a fit: none (as BLAS has them), a number, or -1 for all; the model is the same.",
    "random_state": "Seed: a whole number.",
    "verbose": "1 prints what a batch is doing.",
}


@dataclass(frozen=True)
class Group:
    """Options that a verb gets as one argument."""

    name: str
    options: tuple[inspect.Parameter, ...]
    build: Callable[[dict[str, Any]], Any]


def with_options(*groups: Group) -> Callable[[Verb], Verb]:
    """Give a verb the options of some groups; each arrives as one argument named like the group."""

    def decorate(verb: Verb) -> Verb:
        hints, names = get_type_hints(verb, include_extras=True), {group.name for group in groups}
        own = [
            parameter.replace(annotation=hints[name])
            for name, parameter in inspect.signature(verb).parameters.items()
            if name not in names
        ]

        def wrapper(**values: Any) -> None:
            for group in groups:
                values[group.name] = group.build({option.name: values.pop(option.name) for option in group.options})
            verb(**values)

        options = [option for group in groups for option in group.options]
        wrapper.__name__, wrapper.__doc__ = verb.__name__, verb.__doc__
        parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *options)]
        wrapper.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        wrapper.__annotations__ = {}
        return wrapper

    return decorate


def option(name: str, kind: Any, text: str, panel: str, default: Any = None, *flags: str) -> inspect.Parameter:
    """Describe one option."""
    flag = "--" + name.replace("_", "-")
    info = typer.Option(
        *(flags or (flag,)), help=text.replace("[", "\\["), rich_help_panel=panel, show_default=default is not None
    )
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])


def _parameter_options() -> tuple[inspect.Parameter, ...]:
    found = []
    for name, value in FBTWSVM().get_params(deep=False).items():
        usual = 0 if name == "random_state" else value
        text = f"{HELP[name]} [default: {'none' if usual is None else usual}]"
        found.append(option(name, str | None, text, _PARAMETERS))
    return tuple(found)


def parsed(text: Any) -> Any:
    """Read the value of a parameter: none, a number, a pair of numbers, JSON, or a word."""
    if not isinstance(text, str):
        return tuple(text) if isinstance(text, list) else text
    if text.lower() == "none":
        return None
    for read in (int, float, _pair, _weights):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def _pair(text: str) -> tuple[float, float]:
    first, second = text.split(",")
    return float(first), float(second)


def _weights(text: str) -> dict[Any, float]:
    weights = json.loads(text)
    if not isinstance(weights, dict):
        raise ValueError("no weights of classes")
    return {int(label) if re.fullmatch(r"-?\d+", label) else label: float(value) for label, value in weights.items()}


@dataclass(frozen=True)
class Recipe:
    """What a new model is to be: parameters of the classifier and choices of columns; what is None was not said."""

    parameters: dict[str, Any]
    columns: dict[str, Any]

    def estimator(self) -> FBTWSVM:
        """Make the classifier, or say which parameter is wrong."""
        values = {"random_state": 0, **self.parameters}
        if values.get("drift_detector") == "hoeffding":
            values["drift_detector"] = HoeffdingDrift()
        try:
            model = FBTWSVM(**values)
            model._validate_params()
            policies_of(parameters_of(model))
            for name in ("C", "reg"):
                per_class(name, getattr(model, name), 2)
        except (ValueError, TypeError) as error:
            named = re.match(r"The '(\w+)' parameter", str(error))
            if named is None:
                raise typer.BadParameter(str(error)) from error
            name = named[1]
            flag = name.replace("_", "-")
            raise typer.BadParameter(f"--{flag} cannot be {values[name]!r}. {HELP[name]}") from error
        return model

    def choices(self) -> Choices:
        """Make the choices of columns."""
        if not self.columns.get("target"):
            raise typer.BadParameter("say which column holds the label: --target NAME")
        return Choices(**self.columns)

    def refuse_changes(self, estimator: FBTWSVM, choices: Choices, path: Path) -> None:
        """Refuse to go on with a model in another way than it was made."""
        wanted = self.estimator().get_params(deep=False)
        for name in self.parameters:
            have = getattr(estimator, name)
            if wanted[name] != have and not (isinstance(have, HoeffdingDrift) and name == "drift_detector"):
                raise typer.BadParameter(_KEEPS.format(path, name.replace("_", "-"), have))
        for name, value in self.columns.items():
            if getattr(choices, name) != value:
                raise typer.BadParameter(_KEEPS.format(path, name.replace("_", "-"), getattr(choices, name)))


_COLUMN_OPTIONS = tuple(option(name, str | None, text, _COLUMNS, None, *flags) for name, text, flags in _SAYS)


_CONFIG = option("config", Path | None, "TOML file with tables [model] and [columns]; options win.", _PARAMETERS)


def _recipe(values: dict[str, Any]) -> Recipe:
    """Put options over what the config file says."""
    known = {parameter.name for parameter in _PARAMETER_OPTIONS}
    config = _read_config(values.pop("config"), known)
    parameters = {name: value for name, value in values.items() if name in known and value is not None}
    columns = {name: value for name, value in values.items() if name not in known and value is not None}
    columns = {**config["columns"], **columns}
    for name in ("drop", "numeric", "categorical"):
        if isinstance(columns.get(name), str):
            columns[name] = columns[name].split(",")
        if name in columns:
            if not isinstance(columns[name], list) or not all(isinstance(part, str) for part in columns[name]):
                raise typer.BadParameter(f"{name} names columns, and is {columns[name]!r}")
            columns[name] = tuple(part.strip() for part in columns[name])
    for name, options in _ONE_OF.items():
        if columns.get(name, options[0]) not in options:
            raise typer.BadParameter(f"--{name} is one of {', '.join(options)}, not {columns[name]!r}")
    given = {**config["model"], **parameters}
    # for a membership, "none" is a word of its own
    parameters = {name: value if name == "membership" else parsed(value) for name, value in given.items()}
    recipe = Recipe(parameters, columns)
    recipe.estimator()
    return recipe


def _read_config(path: Path | None, parameters: set[str]) -> dict[str, dict[str, Any]]:
    """Read a config file and refuse words that it should not have."""
    found: dict[str, dict[str, Any]] = {"model": {}, "columns": {}}
    if path is None:
        return found
    try:
        data = tomllib.loads(path.read_text())
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror}") from error
    except ValueError as error:
        raise typer.BadParameter(f"{path} is not TOML: {error}") from error
    known = {"model": parameters, "columns": {field.name for field in fields(Choices)}}
    for table, entries in data.items():
        if table not in known or not isinstance(entries, dict):
            raise typer.BadParameter(f"{path}: there are the tables [model] and [columns], not {table!r}")
        for given, value in entries.items():
            name = {"id": "row_id"}.get(given, given.replace("-", "_"))  # options are spelled so
            if name not in known[table]:
                close = get_close_matches(name, known[table], 1)
                hint = f"did you mean {close[0]!r}?" if close else "they are the options of fbtwsvm train"
                raise typer.BadParameter(f"{path}: [{table}] has no {given!r}; {hint}")
            found[table][name] = value
    return found


@dataclass(frozen=True)
class SourceOptions:
    """How a source is to be read."""

    form: str | None
    delimiter: str | None
    header: bool
    n_features: int | None

    def open(self, address: str, columns: Columns | None = None) -> Source:
        """Open a source; a model that is there knows how many columns libsvm text has."""
        used = [] if columns is None else [*(column.name for column in columns.columns), *columns.choices.drop]
        names = [name for name in used if re.fullmatch(r"x\d+", name)]
        count = self.n_features or (max(int(name[1:]) for name in names) + 1 if names else None)
        delimiter = {"tab": "\t", "\\t": "\t"}.get(self.delimiter or "", self.delimiter)
        if delimiter is not None and len(delimiter) != 1:
            raise typer.BadParameter(f"--delimiter is one character (or tab), not {delimiter!r}")
        if self.form is not None and self.form not in FORMATS:
            raise typer.BadParameter(f"--format is one of {', '.join(FORMATS)}, not {self.form!r}")
        return open_source(address, form=self.form, delimiter=delimiter, header=self.header, n_features=count)


def _source(values: dict[str, Any]) -> SourceOptions:
    return SourceOptions(values["form"], values["delimiter"], not values["no_header"], values["n_features"])


_PARAMETER_OPTIONS = _parameter_options()


RECIPE = Group("recipe", (*_COLUMN_OPTIONS, _CONFIG, *_PARAMETER_OPTIONS), _recipe)


READING = Group(
    "reading",
    (
        option("form", str | None, f"Format, if the name hides it: {', '.join(FORMATS)}.", _SOURCE, None, "--format"),
        option("delimiter", str | None, "What separates columns of text; found from the first line.", _SOURCE),
        option("no_header", bool, "The first line is a row; columns are then x0, x1, ...", _SOURCE, False),
        option("n_features", int | None, "Columns of libsvm text; those of its first megabyte.", _SOURCE),
    ),
    _source,
)
