"""The verb stream: test and then learn each chunk of a stream, with checkpoints and a report."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any

import pyarrow as pa
import typer

from .._arrays import Array
from .._threads import few_threads
from ..classifier import parameters_of
from ..data.sources import DataError, Source, in_chunks
from ..data.sources.redis import EntriesLostError
from ..data.table_model import Run, TableModel
from ..evaluate.prequential import Prequential
from ..online.warm_up import warm_up_rows
from .bad_rows import BadRows
from .info import describe
from .interrupts import Interrupts
from .model_file import check_writable, claim, read_model, write_model
from .options import READING, Json, SourceArgument, SourceOptions, with_options
from .output import Report, few, log, mebibytes, print_facts, print_json, progress
from .recipe import RECIPE, Recipe
from .same_files import refuse_same_files

_MOST_SNAPSHOTS = 400
_LEARN = "testing and learning"


@with_options(READING, RECIPE)
def stream(
    context: typer.Context,
    source: SourceArgument,
    *,
    recipe: Recipe,
    reading: SourceOptions,
    model: Annotated[
        Path | None, typer.Option("--model", "-m", help="Model file: continued if it exists, and written.")
    ] = None,
    checkpoint: Annotated[int | None, typer.Option(min=1, help="Write the model every this many rows.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report: .html or .png.")] = None,
    chunk: Annotated[int, typer.Option(min=1, help="Rows that are tested, then learned, at a time.")] = 100,
    window: Annotated[int, typer.Option(min=1, help="Rows of the sliding window.")] = 1000,
    every: Annotated[int, typer.Option(min=1, help="Rows between two points of the curves.")] = 500,
    from_start: Annotated[bool, typer.Option("--from-start", help="Read the source from its beginning again.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Skip the rows of a pipe that were learned.")] = False,
    finished: Annotated[bool, typer.Option("--finished", help="Learn a last line without a line end too.")] = False,
    as_json: Json = False,
) -> None:
    """Test each chunk of a stream, then learn it; a run that was killed goes on from its last checkpoint."""
    refuse_same_files({"SOURCE": source, "--model": model, "--report": report, "--rejected": reading.rejected})
    _check(model, checkpoint, report)
    loaded = read_model(model) if model is not None and model.exists() else None
    if loaded is not None and model is not None:
        recipe.refuse_changes(loaded.estimator, loaded.columns.choices, model)
    else:
        recipe.choices()
    place = reading.open(source, None if loaded is None else loaded.columns)
    place.finished = finished
    if checkpoint is not None and not place.ordered:
        log("warning: the query has no ORDER BY, so after a restart its rows may come in another order")
    follower = Follower(place, loaded, recipe, chunk, window, every, reading.bad_rows())
    follower.begin(from_start, resume)
    with follower.interrupts:
        with progress(as_json) as report_progress, few_threads(follower.n_columns()):
            for rows in follower.steps(report_progress):
                due = checkpoint is not None and rows // checkpoint > (rows - follower.last) // checkpoint
                if due and model is not None:
                    write_model(follower.learned_model(), model)
        if follower.error is not None:
            _write_before_error(follower, follower.error, model, report, context.obj)
            raise follower.error
        if follower.model is None and follower.interrupts.requested:
            raise typer.Exit(follower.interrupts.status)
        if place.waiting:
            log(_what_waits(place.waiting))
        learned = follower.learned_model()
        if model is not None:
            write_model(learned, model)
        if follower.new and not follower.tested():
            log(f"all {learned.rows:,} rows went into the warm-up, so none was tested; a smaller --warm-up tests more")
        report = _write_report(learned, report, context.obj)
    _show(learned, follower, model, report, as_json)
    if follower.interrupts.requested:
        raise typer.Exit(follower.interrupts.status)


def _check(model: Path | None, checkpoint: int | None, report: Path | None) -> None:
    """Refuse what cannot work before anything is read."""
    if checkpoint is not None and model is None:
        raise typer.BadParameter("--checkpoint needs a model file to write: --model FILE")
    if report is not None and report.suffix not in (".html", ".png"):
        raise typer.BadParameter(f"--report ends in .html or .png, not {report.suffix or 'nothing'}")
    if report is not None:
        check_writable(report)
    if model is not None:
        claim(model, "stream")


@dataclass
class Follower:
    """One run over a stream.

    Ctrl-C and SIGTERM stop it at once while it waits for rows, and otherwise after the chunk that is being learned.
    """

    source: Source
    model: TableModel | None
    recipe: Recipe
    chunk: int
    window: int
    every: int
    bad: BadRows
    interrupts: Interrupts = field(default_factory=lambda: Interrupts(patient=True))
    error: Exception | None = None  # that ended the run
    last: int = 0  # rows of the last chunk
    new: int = 0  # rows learned by this process
    seconds: dict[str, float] = field(default_factory=lambda: {"reading": 0.0, "encoding": 0.0, _LEARN: 0.0})
    _lap: float = 0.0  # when the present part of the work began

    def n_columns(self) -> int:
        """Return about how many columns the mapped rows have."""
        count = self.recipe.estimator().n_components if self.model is None else self.model.estimator.n_components_
        return 0 if count == "auto" else int(count)

    def learned_model(self) -> TableModel:
        """Return the model, which exists once a row has come."""
        if self.model is None:
            raise DataError(f"{self.source.name} has no rows.")
        return self.model

    def tested(self) -> int:
        """Return how many rows were tested before they were learned."""
        return 0 if self.model is None or self.model.run is None else self.model.run.record.score.tested

    def begin(self, from_start: bool, resume: bool) -> None:
        """Go on where a run over the same source stopped, or begin a new run."""
        if self.model is None:
            return
        run = self.model.run
        if run is None or not self.source.is_called(run.source) or from_start:
            run = self._new_run(self.model)
            if from_start:
                run.place, run.rows = "", 0
        if not run.rows:
            log(f"the model has learned {self.model.rows:,} rows before; {self.source.name} is read from its beginning")
        elif not self.source.repeats and not resume:
            raise typer.BadParameter(
                f"the model has learned {run.rows:,} rows of a pipe before. If this pipe begins with them, add "
                "--resume, or --from-start if all of its rows are new"
            )
        else:
            log(f"the model has learned {run.rows:,} rows of {run.name}: going on after them")
        self.model.run = run

    def _new_run(self, model: TableModel) -> Run:
        """Return a run with a new record, which begins where the model has stopped to learn from this source."""
        earlier = {} if model.run is None else model.run.with_earlier()
        known = next((identity for identity in earlier if self.source.is_called(identity)), None)
        place, rows = ("", 0) if known is None else earlier.pop(known)
        record = Prequential(model.estimator, (), self.window, self.every, None, False, _MOST_SNAPSHOTS)
        return Run(self.source.identity, self.source.name, place, rows, self.chunk, record, earlier or None)

    def steps(self, report: Report) -> Iterator[int]:
        """Test and learn chunk by chunk; yields the rows of the source so far, when the model is complete.

        An error of the source or of a chunk ends the run, with the model as it was after the chunk before.
        """
        try:
            for table in self._tables():
                run = self._step(table)
                report(run.rows, run.record.score, self.source.share_done())
                yield run.rows
                if self.interrupts.requested:
                    return
        except Exception as error:
            self.error = error

    def _step(self, table: pa.Table) -> Run:
        """Test and learn a chunk; after an error all is as before."""
        model = self.model
        if model is None:
            first = self.bad.first(table, self.recipe.choices())
            model = TableModel.begin(first, self.recipe.choices(), self.recipe.estimator())
            model.run = self._new_run(model)
        run = model.run
        assert run is not None
        unseen = model.columns.unseen
        self._lap = perf_counter()
        try:
            kept = self.bad.kept(table, model.columns, run.rows)
            if kept.num_rows:
                model.learn(kept, run.rows, partial(self._test_and_learn, run.record))
        except Exception:
            model.columns.unseen = unseen
            raise
        run.rows += table.num_rows
        run.place = self.source.place_after(table, run.rows)
        self.last = table.num_rows
        self.new += table.num_rows
        self.model = model
        return run

    def _test_and_learn(self, record: Prequential, X: Array, y: Array, **options: Any) -> None:
        self._count_time("encoding")
        record.step(X, y, **options)
        self._count_time(_LEARN)

    def _count_time(self, part: str) -> None:
        """Add the time since the last call to a part of the work."""
        now = perf_counter()
        self.seconds[part] += now - self._lap
        self._lap = now

    def _tables(self) -> Iterator[pa.Table]:
        """Yield chunks of rows, the first of a new model as large as its warm-up."""
        run = self.model.run if self.model is not None else None
        tables = self.source.tables_after("" if run is None else run.place)
        first = warm_up_rows(parameters_of(self.recipe.estimator())) if self.model is None else None
        chunks = in_chunks(self._until_entries_are_lost(tables), self.chunk, first)
        while True:
            self._lap = perf_counter()
            try:
                self.interrupts.patient = False
                try:
                    table = next(chunks, None)
                finally:
                    self.interrupts.patient = True
            except KeyboardInterrupt:
                return
            self._count_time("reading")
            if table is None:
                return
            yield table

    def _until_entries_are_lost(self, tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
        """Yield tables, but end where entries were lost, since those read before may be gone from the server too."""
        try:
            yield from tables
        except EntriesLostError as error:
            self.error = error


def _what_waits(size: int) -> str:
    """Say that the end of a file waits for the rest of its row."""
    return (
        f"the last row has no line end yet, or a quote that is not closed, and waits: {size:,} "
        f"byte{'s' if size > 1 else ''}; --finished learns it as it is"
    )


def _write_before_error(
    follower: Follower, error: Exception, model: Path | None, report: Path | None, command: list[str]
) -> None:
    """Write what was learned before an error, and add to its message what was written."""
    try:
        if model is not None and follower.new:
            write_model(follower.learned_model(), model)
            error.add_note(f"What was learned from the {follower.new:,} rows before it is in {model}.")
        elif model is not None:
            error.add_note("Nothing was written.")
        if follower.model is not None and _write_report(follower.model, report, command):
            error.add_note(f"The report is in {report}.")
    except DataError as failed:
        error.add_note(str(failed))


def _write_report(model: TableModel, path: Path | None, command: list[str]) -> Path | None:
    """Finish the record of a run and write its report; returns its path, or None if there is nothing to report."""
    assert model.run is not None
    model.run.record.finish()  # a last point for the report; the file goes on as if the run had not stopped
    if path is None or not model.run.record.score.tested:
        return None
    from ..report import write_report  # it takes long to import

    try:
        write_report(model, path, command)
    except OSError as error:
        raise DataError(f"{path} could not be written: {error.strerror or error}.") from error
    return path


def _show(model: TableModel, follower: Follower, path: Path | None, report: Path | None, as_json: bool) -> None:
    assert model.run is not None
    results = model.run.record.summary()
    moved = model.columns.moved()
    if as_json:
        facts = {
            "rows": model.run.rows,
            "new_rows": follower.new,
            "set_aside": follower.bad.count,
            **results,
            "seconds": follower.seconds,
            "moved": moved,
            "model": None if path is None else str(path),
            "report": None if report is None else str(report),
            "interrupted": follower.interrupts.requested,
        }
        print_json({**facts, "about": describe(model)})
        return
    lines = [
        ("rows", f"{model.run.rows:,} ({results['tested']:,} tested before they were learned)"),
        *follower.bad.told(),
    ]
    if results["tested"]:
        lines += [
            ("accuracy", "{accuracy:.4f} (label of the row before: {label_before:.4f})".format(**results)),
            ("balanced accuracy", "{balanced_accuracy:.4f}".format(**results)),
            ("kappa", "{kappa:.4f} (against the label before: {kappa_temporal:.4f})".format(**results)),
        ]
    lines += [
        ("speed", f"{results['rows_per_second']:,.0f} rows/s"),
        ("kept, forgotten", f"{results['kept']:,} rows, {results['forgotten']:,} rows"),
        ("memory", mebibytes(results["bytes"])),
        ("error rate rose at", few([f"{row:,}" for row in results["drift_marks"]], 8) or "no row"),
    ]
    lines += [("moved", f"column {name}: {text}; the scale of the first rows stays") for name, text in moved.items()]
    lines += [(name, str(value)) for name, value in (("model", path), ("report", report)) if value is not None]
    ending = " (interrupted)" if follower.interrupts.requested else ""
    print_facts(f"{follower.source.name}: tested, then learned{ending}", lines)
