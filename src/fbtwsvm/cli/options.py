"""Arguments and options that several verbs share, and how a verb gets a group of options as one argument."""

from __future__ import annotations

import codecs
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from ..data.columns import Columns
from ..data.sources import FORMATS, Source, open_source
from .bad_rows import BadRows
from .model_file import check_writable

Verb = Callable[..., None]
SourceArgument = Annotated[str, typer.Argument(metavar="SOURCE", help="File, - for standard input, or address.")]
ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file.")]
Output = Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the model; in place by default.")]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON, for other programs.")]


def completes(values: Iterable[str]) -> Callable[[str], list[str]]:
    """Return the function that typer calls for tab completion of an option with these values."""

    def complete(incomplete: str) -> list[str]:
        return [value for value in values if value.startswith(incomplete)]

    return complete


def option(
    name: str,
    kind: Any,
    text: str,
    panel: str,
    default: Any = None,
    flags: tuple[str, ...] = (),
    values: Iterable[str] = (),
) -> Any:
    """Return an option as a parameter of a function, which is how typer wants it; `values` are for tab completion."""
    info = typer.Option(
        *(flags or ("--" + name.replace("_", "-"),)),
        help=text.replace("[", "\\["),  # rich would take brackets for markup
        rich_help_panel=panel,
        show_default=default is not None,
        autocompletion=completes(values) if values else None,
    )
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info])


@dataclass(frozen=True)
class Group:
    """Options that a verb gets as one argument called `name`, made by `build` from their values."""

    name: str
    options: tuple[inspect.Parameter, ...]
    build: Callable[[dict[str, Any]], Any]


def with_options(*groups: Group) -> Callable[[Verb], Verb]:
    """Decorate a verb: on the command line, each argument called like a group becomes the options of that group.

    typer finds the options of a verb in the signature of its function.  So typer gets a function with a signature in
    which the groups are replaced by their options; this function builds the groups and calls the verb.
    """

    def decorate(verb: Verb) -> Verb:
        def command(**values: Any) -> None:
            for group in groups:
                values[group.name] = group.build({option.name: values.pop(option.name) for option in group.options})
            verb(**values)

        types = get_type_hints(verb, include_extras=True)
        replaced = {group.name for group in groups}
        parameters = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=types[name])
            for name, parameter in inspect.signature(verb).parameters.items()
            if name not in replaced
        ]
        parameters += [option for group in groups for option in group.options]
        command.__name__ = verb.__name__
        command.__doc__ = verb.__doc__
        command.__annotations__ = {}  # they are in the signature
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return command

    return decorate


@dataclass(frozen=True)
class SourceOptions:
    """How to read a source."""

    form: str | None
    delimiter: str | None
    no_header: bool
    n_features: int | None
    decimal: str = "."
    encoding: str | None = None
    on_error: str = "stop"
    rejected: Path | None = None

    def bad_rows(self) -> BadRows:
        """Return what is to be done about rows that cannot be read."""
        if self.on_error not in ("stop", "skip"):
            raise typer.BadParameter(f"--on-error is stop or skip, not {self.on_error!r}")
        if self.rejected is not None:
            if self.on_error != "skip":
                raise typer.BadParameter("--rejected names the file for rows that are set aside: add --on-error skip")
            check_writable(self.rejected)
        return BadRows(self.on_error == "skip", self.rejected)

    def open(self, address: str, columns: Columns | None = None) -> Source:
        """Open a source; the columns of a model tell how many columns libsvm text has."""
        used = [] if columns is None else [*(column.name for column in columns.columns), *columns.choices.drop]
        numbers = [int(name[1:]) for name in used if re.fullmatch(r"x\d+", name)]
        count = self.n_features or (max(numbers) + 1 if numbers else None)
        delimiter = {"tab": "\t", "\\t": "\t"}.get(self.delimiter or "", self.delimiter)
        if delimiter is not None and len(delimiter) != 1:
            raise typer.BadParameter(f"--delimiter is one character (or tab), not {delimiter!r}")
        if self.form is not None and self.form not in FORMATS:
            raise typer.BadParameter(f"--format is one of {', '.join(FORMATS)}, not {self.form!r}")
        if self.decimal not in (".", ","):
            raise typer.BadParameter(f"--decimal is a point or a comma, not {self.decimal!r}")
        return open_source(
            address,
            form=self.form,
            delimiter=delimiter,
            header=not self.no_header,
            n_features=count,
            decimal=self.decimal,
            encoding=_checked_encoding(self.encoding),
            mark_malformed=self.on_error == "skip",
        )


def _checked_encoding(name: str | None) -> str | None:
    """Return the encoding of a text, None for UTF-8."""
    if name is None:
        return None
    try:
        found = codecs.lookup(name)
        "".encode(found.name)  # there are codecs that are not encodings of text
    except LookupError as error:
        raise typer.BadParameter(f"--encoding {name}: there is no such encoding; try latin-1 or utf-16") from error
    return None if found.name in ("utf-8", "utf-8-sig") else found.name


_PANEL = "Source"
_FORMAT = f"Format, if the name of the file does not show it: {', '.join(FORMATS)}."
READING = Group(
    "reading",
    (
        option("form", str | None, _FORMAT, _PANEL, flags=("--format",), values=FORMATS),
        option("delimiter", str | None, "Separator of columns in text; by default found in the first line.", _PANEL),
        option("no_header", bool, "The first line is a row; columns are then x0, x1, ...", _PANEL, False),
        option("n_features", int | None, "Columns of libsvm text; by default those of its first megabyte.", _PANEL),
        option("decimal", str, "Decimal point of numbers in CSV: a point or a comma.", _PANEL, "."),
        option("encoding", str | None, "Encoding of CSV, such as latin-1; by default UTF-8.", _PANEL),
        option("on_error", str, "Rows that cannot be read: stop, or skip (set them aside).", _PANEL, "stop"),
        option("rejected", Path | None, "CSV file to which rows that are set aside are added.", _PANEL),
    ),
    lambda values: SourceOptions(**values),
)
