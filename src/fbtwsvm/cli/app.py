"""The command itself: its verbs, and what it prints when something goes wrong."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from .. import __version__
from ..data.sources.base import one_line
from .evaluate import evaluate
from .export import export
from .generate import generate
from .info import info
from .merge import merge
from .output import log, plain_warnings
from .predict import predict
from .stream import stream
from .train import train
from .tune import tune
from .unlearn import unlearn
from .update import update

app = typer.Typer(
    name="fbtwsvm",
    help="Classifiers that learn from data that never stops coming. Sources are files (CSV, TSV, Parquet, Arrow, "
    "libsvm, ARFF, .npy, .npz; text also compressed), - for standard input, databases "
    "(sqlite:///file.db?query=...), Redis streams (redis://host/0?stream=name) and generators "
    "(generate:sea?rows=1000).",
    epilog="--debug, with any verb, shows the traceback of an error. Exit status: 0 success, 1 wrong data, 2 wrong "
    "usage, 130 interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_VERBS = (
    (train, "fbtwsvm train rows.csv --target y -o model.fbt --chunk 1000"),
    (tune, "fbtwsvm tune rows.csv --target y -o model.fbt"),
    (update, "fbtwsvm update model.fbt more.parquet"),
    (unlearn, "fbtwsvm unlearn model.fbt person.csv"),
    (merge, "fbtwsvm merge monday.fbt tuesday.fbt -o both.fbt"),
    (predict, "fbtwsvm predict model.fbt new.csv -o answers.csv --proba"),
    (evaluate, "fbtwsvm evaluate model.fbt test.csv"),
    (stream, "fbtwsvm stream 'redis://localhost/0?stream=rows' -t y --decay auto --model m.fbt "
             "--checkpoint 10000 --report report.html"),
    (info, "fbtwsvm info model.fbt"),
    (export, "fbtwsvm export model.fbt model.onnx"),
    (generate, "fbtwsvm generate sea -n 100000 --drift-every 25000 -o sea.csv"),
)  # fmt: skip
_NAMES = {verb.__name__ for verb, _ in _VERBS}
for _verb, _example in _VERBS:
    app.command(name=_verb.__name__, epilog=f"Example: {_example}")(_verb)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"fbtwsvm {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take options that come before the verb."""


def run(arguments: list[str]) -> None:
    """Run the command and end the process with its status."""
    debug = "--debug" in arguments
    plain_warnings()
    status = 1
    try:
        given = [argument for argument in arguments if argument != "--debug"]
        result: Any = app(given, standalone_mode=False, obj=given)  # `stream` shows its command in the report
        status = result if isinstance(result, int) else 0
    except Exception as error:
        if debug:
            raise
        status = _explain(error, next((argument for argument in arguments if argument in _NAMES), ""))
    except KeyboardInterrupt:
        log("interrupted")
        status = 130
    sys.exit(status)


def _explain(error: Exception, verb: str) -> int:
    """Print in one line what went wrong, and return the exit status."""
    if hasattr(error, "format_message"):  # wrong usage: typer raises a class of its own that it does not export
        text = " ".join(error.format_message().split()).removeprefix("Invalid value: ")
        log(f"error: {text} (see fbtwsvm {verb + ' ' if verb else ''}--help)")
        return 2
    if isinstance(error, BrokenPipeError):  # nobody reads the output any more
        sys.stderr.close()
        return 1
    if isinstance(error, OSError) and error.filename and error.strerror:
        log(f"error: {error.filename}: {error.strerror}")
    elif isinstance(error, MemoryError):
        log("error: out of memory. Learn in chunks (--chunk), or use a smaller --n-components.")
    elif isinstance(error, (ValueError, ImportError, OSError)):  # errors in data and model files are ValueErrors
        log(f"error: {one_line(error)}")
    else:
        log(f"error: {type(error).__name__}: {one_line(error)} (a bug in fbtwsvm; --debug shows where)")
    return 1
