"""The verb that follows a stream: test, then learn, with checkpoints and a report."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter
from types import FrameType
from typing import Annotated, Any

import pyarrow as pa
import typer

from .._threads import few_threads
from ..classifier import parameters_of
from ..data.sources import DataError, Source, in_chunks
from ..data.table_model import Run, TableModel
from ..evaluate.prequential import Prequential
from ..online.warm_up import warm_up_rows
from .models import check_writable, read_model, write_model
from .options import READING, RECIPE, Json, Recipe, SourceOptions, with_options
from .output import Tell, print_facts, print_json, progress, say
from .predict import describe
from .train import SourceArgument

_SNAPSHOTS = 400


@with_options(READING, RECIPE)
def stream(
    source: SourceArgument,
    recipe: Recipe,
    reading: SourceOptions,
    model: Annotated[Path | None, typer.Option("--model", "-m", help="Model file: gone on from, and written.")] = None,
    checkpoint: Annotated[int | None, typer.Option(min=1, help="Write the model every so many rows.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write a report: .html or .png.")] = None,
    chunk: Annotated[int, typer.Option(min=1, help="Rows that are tested, then learned, at a time.")] = 100,
    window: Annotated[int, typer.Option(min=1, help="Rows of the sliding window.")] = 1000,
    every: Annotated[int, typer.Option(min=1, help="Rows between two points of the curves.")] = 500,
    from_start: Annotated[bool, typer.Option("--from-start", help="Read the source from its beginning again.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Skip the rows of a pipe that were learned.")] = False,
    as_json: Json = False,
) -> None:
    """Test each chunk of a stream, then learn it; a run that was killed goes on from its last checkpoint."""
    _check(model, checkpoint, report)
    known = read_model(model) if model is not None and model.exists() else None
    if known is not None and model is not None:
        recipe.refuse_changes(known.estimator, known.columns.choices, model)
    else:
        recipe.choices()
    place = reading.open(source, None if known is None else known.columns)
    if checkpoint is not None and not place.ordered:
        say("warning: the query has no ORDER BY, so after a restart its rows may come in another order")
    follower = Follower(place, known, recipe, chunk, window, every)
    follower.begin(from_start, resume)
    with progress(as_json) as tell, follower.interrupts, few_threads(follower.n_columns()):
        for rows in follower.steps(tell):
            due = checkpoint is not None and rows // checkpoint > (rows - follower.last) // checkpoint
            if due and model is not None:
                write_model(follower.known(), model)
    finished = follower.known()
    if model is not None:
        write_model(finished, model)
    if finished.run is not None:  # a last point for the report; the file goes on as if there had been no stop
        finished.run.record.finish()
    if finished.run is not None and not finished.run.record.score.tested:
        say(f"all {finished.rows:,} rows went into the warm-up, so none was tested; a smaller --warm-up tests more")
        report = None
    if report is not None:
        _write_report(finished, report)
    _show(finished, follower, model, report, as_json)
    if follower.interrupts.asked:
        raise typer.Exit(130)


def _check(model: Path | None, checkpoint: int | None, report: Path | None) -> None:
    """Refuse what cannot work before anything is read."""
    if checkpoint is not None and model is None:
        raise typer.BadParameter("--checkpoint needs a model file to write: --model FILE")
    if report is not None and report.suffix not in (".html", ".png"):
        raise typer.BadParameter(f"--report ends in .html or .png, not {report.suffix or 'nothing'}")
    for path in (model, report):
        if path is not None:
            check_writable(path)


class Interrupts:
    """Ctrl-C and a polite kill: at once while waiting for rows, otherwise after the chunk that is being learned."""

    def __init__(self) -> None:
        self.reading, self.asked = False, False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Interrupts:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, number: int, frame: FrameType | None) -> None:
        again, self.asked = self.asked, True
        if self.reading or again:
            raise KeyboardInterrupt


class Follower:
    """One run over a stream."""

    def __init__(
        self, source: Source, model: TableModel | None, recipe: Recipe, chunk: int, window: int, every: int
    ) -> None:
        self.source, self.model, self.recipe = source, model, recipe
        self.chunk, self.window, self.every = chunk, window, every
        self.interrupts = Interrupts()
        self.last = 0  # rows of the last chunk
        self.new = 0  # rows learned by this process
        self.seconds = {"reading": 0.0, "encoding": 0.0, "testing and learning": 0.0}

    def n_columns(self) -> int:
        """Return about how many columns the mapped rows have."""
        wanted = self.recipe.estimator().n_components if self.model is None else self.model.estimator.n_components_
        return 0 if wanted == "auto" else int(wanted)

    def known(self) -> TableModel:
        """Return the model, which there is once rows have come."""
        if self.model is None:
            raise DataError(f"{self.source.name} has no rows." if not self.interrupts.asked else "No row was learned.")
        return self.model

    def begin(self, from_start: bool, resume: bool) -> None:
        """Go on from where a run over the same source stopped."""
        if self.model is None:
            return
        run = self.model.run
        if run is not None and run.source == self.source.identity and not from_start:
            if not self.source.repeats and not resume:
                raise typer.BadParameter(
                    f"the model has learned {run.rows:,} rows of a pipe before. Does this one begin with them, or are "
                    "all of its rows new? Say --resume, or --from-start"
                )
            say(f"the model has learned {run.rows:,} rows of {run.name}: going on after them")
            return
        say(f"the model has learned {self.model.rows:,} rows before; {self.source.name} is read from its beginning")
        self.model.run = self._new_run(self.model)

    def _new_run(self, model: TableModel) -> Run:
        record = Prequential(model.estimator, (), self.window, self.every, None, False, _SNAPSHOTS)
        return Run(self.source.identity, self.source.name, "", 0, self.chunk, record)

    def steps(self, tell: Tell) -> Iterator[int]:
        """Test and learn chunk by chunk; yields the rows of the source so far, when the model is complete."""
        for table in self._tables():
            if self.model is None:
                self.model = TableModel.begin(table, self.recipe.choices(), self.recipe.estimator())
                self.model.run = self._new_run(self.model)
            model, run = self.model, self.model.run
            assert run is not None
            start = perf_counter()
            X, y, options = model.encode(table, run.rows)
            self.seconds["encoding"] += perf_counter() - start
            start = perf_counter()
            run.record.step(X, y, **options)
            self.seconds["testing and learning"] += perf_counter() - start
            model.learned(X)
            run.rows += table.num_rows
            run.place = self.source.place_after(table, run.rows)
            self.last = table.num_rows
            self.new += table.num_rows
            tell(run.rows, run.record.score, self.source.share_done())
            yield run.rows
            if self.interrupts.asked:
                return

    def _tables(self) -> Iterator[pa.Table]:
        """Yield chunks by count, the first of a new model as large as its warm-up."""
        run = self.model.run if self.model is not None else None
        tables = self.source.tables_after(run.place) if run is not None and run.place else self.source.tables()
        first = warm_up_rows(parameters_of(self.recipe.estimator())) if self.model is None else None
        chunks = in_chunks(tables, self.chunk, first)
        while True:
            start = perf_counter()
            self.interrupts.reading = True
            try:
                table = next(chunks, None)
            except KeyboardInterrupt:
                return
            finally:
                self.interrupts.reading = False
                self.seconds["reading"] += perf_counter() - start
            if table is None:
                return
            yield table


def _write_report(model: TableModel, path: Path) -> None:
    from ..report import write_report

    try:
        write_report(model, path)
    except OSError as error:
        raise DataError(f"{path} could not be written: {error.strerror or error}.") from error


def _show(model: TableModel, follower: Follower, path: Path | None, report: Path | None, as_json: bool) -> None:
    assert model.run is not None
    record = model.run.record
    last = record.snapshots[-1] if record.snapshots else None
    repeated = record.score.same / record.score.tested if record.score.tested else float("nan")
    accuracy, kappa, temporal, balanced = record.score.all()
    facts: dict[str, Any] = {
        "rows": model.run.rows,
        "new_rows": follower.new,
        "tested": record.score.tested,
        "accuracy": accuracy,
        "balanced_accuracy": balanced,
        "kappa": kappa,
        "kappa_temporal": temporal,
        "label_before": repeated,
        "drift_marks": record.marks,
        "rows_per_second": record.rows / max(record.seconds, 1e-9),
        "seconds": follower.seconds,
        "kept": last.kept if last else 0,
        "forgotten": last.forgotten if last else 0,
        "bytes": last.bytes if last else 0,
        "moved": model.columns.moved(),
        "model": None if path is None else str(path),
        "report": None if report is None else str(report),
        "interrupted": follower.interrupts.asked,
    }
    if as_json:
        print_json({**facts, "about": describe(model)})
        return
    marks = ", ".join(f"{row:,}" for row in record.marks[:8]) + (", ..." if len(record.marks) > 8 else "")
    lines = [
        ("rows", f"{facts['rows']:,} ({record.score.tested:,} tested before they were learned)"),
        *(
            [
                ("accuracy", f"{accuracy:.4f} (label of the row before: {repeated:.4f})"),
                ("balanced accuracy", f"{balanced:.4f}"),
                ("kappa", f"{kappa:.4f} (against the label before: {temporal:.4f})"),
            ]
            if record.score.tested
            else []
        ),
        ("speed", f"{facts['rows_per_second']:,.0f} rows/s"),
        ("kept, forgotten", f"{facts['kept']:,} rows, {facts['forgotten']:,} rows"),
        ("memory", f"{facts['bytes'] / 2**20:.1f} MiB"),
        ("error rate rose at", marks or "no row"),
    ]
    lines += [
        ("moved", f"column {name}: {text}; the scale of the first rows stays") for name, text in facts["moved"].items()
    ]
    lines += [(name, str(value)) for name, value in (("model", path), ("report", report)) if value is not None]
    print_facts(
        f"{follower.source.name}: tested, then learned" + (" (interrupted)" if facts["interrupted"] else ""), lines
    )
