"""The command itself: its verbs, and what it prints when something goes wrong.

A verb is loaded when it is called: with NumPy, scikit-learn and all that it needs this takes a second, for which
nobody who asks for help or for tab completion should wait.
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from .. import __version__
from .interrupts import Interrupts
from .output import log, naming_full_disk, plain_messages, visible

_VERBS = {  # the first line of the help of each verb, and an example
    "train": (
        "Learn a model from all rows of a source, at once or in chunks.",
        "fbtwsvm train rows.csv --target y -o model.fbt --chunk 1000",
    ),
    "tune": (
        "Choose gamma, C, reg and membership by cross-validation; those given as options stay as they are.",
        "fbtwsvm tune rows.csv --target y -o model.fbt",
    ),
    "update": ("Learn more rows into a model.", "fbtwsvm update model.fbt more.parquet"),
    "unlearn": (
        "Take rows out of a model. They must be complete, with labels, as they were learned; ids say which is which.",
        "fbtwsvm unlearn model.fbt person.csv",
    ),
    "merge": (
        "Merge two models that learned different rows with the same columns, scale and map.",
        "fbtwsvm merge monday.fbt tuesday.fbt -o both.fbt",
    ),
    "predict": (
        "Write the label of each row as CSV, Parquet or JSON, in the order of the rows.",
        "fbtwsvm predict model.fbt new.csv -o answers.csv --proba",
    ),
    "evaluate": (
        "Compare the answers of a model with the labels of a source: accuracy, kappa, log loss, AUC, each class.",
        "fbtwsvm evaluate model.fbt test.csv",
    ),
    "stream": (
        "Test each chunk of a stream, then learn it; a run that was killed goes on from its last checkpoint.",
        "fbtwsvm stream 'redis://localhost/0?stream=rows' -t y --decay auto --model m.fbt "
        "--checkpoint 10000 --report report.html",
    ),
    "info": ("Show what a model is, what it has learned and what it keeps.", "fbtwsvm info model.fbt"),
    "export": (
        "Write a model as ONNX, for other runtimes. Input: encoded columns before scaling. Output: label and scores.",
        "fbtwsvm export model.fbt model.onnx",
    ),
    "generate": (
        "Generate a synthetic stream: led, sea, rtg (random tree), rbf, hyper (rotating hyperplane).",
        "fbtwsvm generate sea -n 100000 --drift-every 25000 -o sea.csv",
    ),
}
_WRITERS = {"train", "tune", "update", "unlearn", "merge", "stream"}  # of model files


class Verbs(TyperGroup):
    """The verbs of the command, each of them only a line of help until it is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the verb that is called, or whose options are completed."""
        if args[0] in _VERBS:
            self.commands[args[0]] = load_verb(args[0])
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="fbtwsvm",
    cls=Verbs,
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

for _name, (_summary, _) in _VERBS.items():
    app.command(name=_name, help=_summary)(lambda: None)


def load_verb(name: str) -> Any:
    """Import a verb and return it as a command with all its options."""
    alone = typer.Typer(add_completion=False, rich_markup_mode=app.rich_markup_mode)
    verb = getattr(import_module(f".{name}", __package__), name)
    alone.command(name=name, epilog=f"Example: {_VERBS[name][1]}")(verb)
    return typer.main.get_command(alone)


def called_verb(arguments: list[str]) -> str:
    """Return the verb among the arguments of the command, or nothing."""
    return next((argument for argument in arguments if argument in _VERBS), "")


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
    verb = called_verb(arguments)
    with plain_messages(), Interrupts() as interrupts:
        try:
            status = _status([argument for argument in arguments if argument != "--debug"])
        except KeyboardInterrupt:
            status = interrupts.status
        except Exception as error:
            if _was_interrupted(error):
                status = interrupts.status
            else:
                if "--debug" in arguments:
                    print(*map(visible, _masked(traceback.format_exc()).splitlines()), sep="\n", file=sys.stderr)
                status = _explain(error, verb)
        finally:
            left = _what_is_left(verb)
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
    """Say which model files a command has written that is interrupted now, and let others write them."""
    if verb not in _WRITERS:
        return ""
    from .model_file import release, written

    files = [f"{path} has learned {rows:,} rows" for path, rows in written.items()]
    release()
    return "; " + (", ".join(files) or "nothing was written")


def _masked(text: str) -> str:
    """Return a message without users and passwords."""
    from ..data.sources.address import masked

    return masked(text)


def _explain(error: Exception, verb: str) -> int:
    """Print in one line what went wrong, and return the exit status."""
    from ..data.sources.base import one_line

    if hasattr(error, "format_message"):  # wrong usage: typer raises a class of its own that it does not export
        text = " ".join(error.format_message().split()).removeprefix("Invalid value: ")
        log(f"error: {_masked(text)} (see fbtwsvm {verb + ' ' if verb else ''}--help)")
        return 2
    if isinstance(error, BrokenPipeError):  # nobody reads the output any more
        return 141  # as of any program that SIGPIPE ends
    notes = "".join(f" {note}" for note in getattr(error, "__notes__", ()))
    if isinstance(error, OSError) and error.filename and error.strerror:
        log(f"error: {_masked(str(error.filename))}: {error.strerror}{notes}")
    elif isinstance(error, MemoryError):
        log(f"error: out of memory. Learn in chunks (--chunk), or use a smaller --n-components.{notes}")
    elif isinstance(error, (ValueError, ImportError, OSError)):  # errors in data and model files are ValueErrors
        log(f"error: {_masked(one_line(error))}{notes}")
    else:
        text = _masked(one_line(error))
        log(f"error: {type(error).__name__}: {text} (a bug in fbtwsvm; --debug shows where){notes}")
    return 1
