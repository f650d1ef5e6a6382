"""The command itself: its verbs, and what becomes of errors."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from .. import __version__
from ..data.sources import DataError
from ..data.sources.base import one_line
from ..export.modelfile import ModelFileError
from . import generate as making
from . import predict as asking
from . import stream as streams
from . import train as learning
from . import tune as tuning
from .output import plain_warnings, say

app = typer.Typer(
    name="fbtwsvm",
    help="Classifiers that learn from data that never stops coming. Sources are files (CSV, TSV, Parquet, Arrow, "
    "libsvm, ARFF, .npy, .npz; text also compressed), - for standard input, databases "
    "(sqlite:///file.db?query=...), Redis streams (redis://host/0?stream=name) and generators "
    "(generate:sea?rows=1000).",
    epilog="--debug, with any verb, shows the traceback of an error. Exit status: 0 well, 1 data, 2 usage, 130 "
    "interrupted.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)

_VERBS = (
    (learning.train, "fbtwsvm train rows.csv --target y -o model.fbt --chunk 1000"),
    (tuning.tune, "fbtwsvm tune rows.csv --target y -o model.fbt"),
    (learning.update, "fbtwsvm update model.fbt more.parquet"),
    (learning.unlearn, "fbtwsvm unlearn model.fbt person.csv"),
    (learning.merge, "fbtwsvm merge monday.fbt tuesday.fbt -o both.fbt"),
    (asking.predict, "fbtwsvm predict model.fbt new.csv -o answers.csv --proba"),
    (asking.evaluate, "fbtwsvm evaluate model.fbt test.csv"),
    (streams.stream, "fbtwsvm stream 'redis://localhost/0?stream=rows' -t y --decay auto --model m.fbt "
                     "--checkpoint 10000 --report report.html"),
    (asking.info, "fbtwsvm info model.fbt"),
    (asking.export, "fbtwsvm export model.fbt model.onnx"),
    (making.generate, "fbtwsvm generate sea -n 100000 --drift-every 25000 -o sea.csv"),
)  # fmt: skip
_NAMES = {verb.__name__ for verb, _ in _VERBS}
_USAGE = typer.BadParameter.__mro__[2]  # the base of all errors of usage, which typer does not name
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
        result: Any = app([word for word in arguments if word != "--debug"], standalone_mode=False)
        status = result if isinstance(result, int) else 0
    except Exception as error:
        if debug:
            raise
        status = _explain(error, next((word for word in arguments if word in _NAMES), ""))
    except KeyboardInterrupt:
        say("interrupted")
        status = 130
    sys.exit(status)


def _explain(error: Exception, verb: str) -> int:
    """Say what went wrong in one line; returns the exit status."""
    if isinstance(error, _USAGE):
        text = " ".join(error.format_message().split()).removeprefix("Invalid value: ")  # type: ignore[attr-defined]
        say(f"error: {text} (see fbtwsvm {verb + ' ' if verb else ''}--help)")
        return 2
    if isinstance(error, BrokenPipeError):  # nobody reads what we print
        sys.stderr.close()
        return 1
    if isinstance(error, (DataError, ModelFileError)):
        say(f"error: {one_line(error)}")
    elif isinstance(error, OSError):
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else one_line(error)
        say(f"error: {what}")
    elif isinstance(error, MemoryError):
        say("error: out of memory. Learn in chunks (--chunk), or use a smaller --n-components.")
    elif isinstance(error, (ValueError, ImportError)):
        say(f"error: {one_line(error)}")
    else:
        say(f"error: {type(error).__name__}: {one_line(error)} (a defect of fbtwsvm; --debug shows where)")
    return 1
