"""The command itself: its verbs, and what it prints when something goes wrong."""

from __future__ import annotations

import os
import sys
import traceback
from typing import Annotated, Any

import typer

from .. import __version__
from ..data.sources.address import masked
from ..data.sources.base import one_line
from .evaluate import evaluate
from .export import export
from .generate import generate
from .info import info
from .interrupts import Interrupts
from .merge import merge
from .model_file import release, written
from .output import log, plain_warnings, visible
from .predict import predict
from .stream import stream
from .table_files import naming_full_disk
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
    "usage, 130 interrupted (143 by SIGTERM).",
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
_WRITERS = {verb.__name__ for verb in (train, tune, update, unlearn, merge, stream)}  # of model files
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
    verb = next((argument for argument in arguments if argument in _NAMES), "")
    plain_warnings()
    with Interrupts() as interrupts:
        try:
            status = _status([argument for argument in arguments if argument != "--debug"])
        except KeyboardInterrupt:
            status = interrupts.status
        except Exception as error:
            if _was_interrupted(error):
                status = interrupts.status
            else:
                if "--debug" in arguments:
                    print(*map(visible, masked(traceback.format_exc()).splitlines()), sep="\n", file=sys.stderr)
                status = _explain(error, verb)
        finally:
            left = _what_is_left(verb)
            release()
        if status == 130:  # which may stand for SIGTERM too
            status = interrupts.status
    if status in (130, 143):
        log(f"interrupted{left}")
    _flush_output()
    sys.exit(status)


def _status(arguments: list[str]) -> int:
    """Run the command and return its status."""
    # `stream` shows its command, which it finds in `obj`, in the report.
    with naming_full_disk("-"):
        try:
            result: Any = app(arguments or ["--help"], prog_name="fbtwsvm", standalone_mode=False, obj=arguments)
        except SystemExit as ended:
            if isinstance(ended.__context__, BrokenPipeError):  # which typer would take for wrong data
                raise ended.__context__ from None
            raise
        sys.stdout.flush()
    return result if isinstance(result, int) else 0


def _flush_output() -> None:
    """Write what is left for standard output; if that fails, which was said before, Python does not try again."""
    try:
        sys.stdout.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)


def _was_interrupted(error: BaseException | None) -> bool:
    """Whether an error is what compiled code has made of KeyboardInterrupt."""
    seen: list[BaseException] = []  # errors can be each other's context
    while error is not None and error not in seen:
        if isinstance(error, KeyboardInterrupt):
            return True
        seen.append(error)
        error = error.__cause__ or error.__context__
    return False


def _what_is_left(verb: str) -> str:
    """Say which model files a command has written that is interrupted now."""
    if verb not in _WRITERS:
        return ""
    files = [f"{path} has learned {rows:,} rows" for path, rows in written.items()]
    return "; " + (", ".join(files) or "nothing was written")


def _explain(error: Exception, verb: str) -> int:
    """Print in one line what went wrong, and return the exit status."""
    if hasattr(error, "format_message"):  # wrong usage: typer raises a class of its own that it does not export
        text = " ".join(error.format_message().split()).removeprefix("Invalid value: ")
        log(f"error: {masked(text)} (see fbtwsvm {verb + ' ' if verb else ''}--help)")
        return 2
    if isinstance(error, BrokenPipeError):  # nobody reads the output any more
        return 141  # as of any program that SIGPIPE ends
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
    if isinstance(error, OSError) and error.filename and error.strerror:
        log(f"error: {masked(str(error.filename))}: {error.strerror}{notes}")
    elif isinstance(error, MemoryError):
        log(f"error: out of memory. Learn in chunks (--chunk), or use a smaller --n-components.{notes}")
    elif isinstance(error, (ValueError, ImportError, OSError)):  # errors in data and model files are ValueErrors
        log(f"error: {masked(one_line(error))}{notes}")
    else:
        text = masked(one_line(error))
        log(f"error: {type(error).__name__}: {text} (a bug in fbtwsvm; --debug shows where){notes}")
    return 1
