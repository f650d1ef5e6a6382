"""Verbs that ask a model: predict, evaluate, info, export."""

from __future__ import annotations

import io
import json
import os
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import typer

from ..data.sources import DataError
from ..data.table_model import TableModel
from ..evaluate.score import Score
from ..export.modelfile import FORMAT
from .models import check_writable, read_model
from .options import READING, Json, SourceOptions, with_options
from .output import print_facts, print_json, print_table, progress, say
from .train import ModelArgument, SourceArgument

_CHUNK = 8192
_KEPT = "{support:,} support rows, {second_look:,} for a second look; {forgotten:,} forgotten, {condensed:,} condensed"
_STREAM = "{source}, {rows:,} rows, accuracy {accuracy:.4f}"
_MOST_SHOWN = 20  # classes whose confusion matrix is printed
Target = Annotated[
    str | None, typer.Option("--target", "-t", help="Column with the label, for a model saved in Python.")
]


@with_options(READING)
def predict(
    model: ModelArgument,
    source: SourceArgument,
    reading: SourceOptions,
    output: Annotated[str, typer.Option("--output", "-o", help="File, or - for standard output.")] = "-",
    proba: Annotated[bool, typer.Option("--proba", help="Also the probability of each class.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON object for each row instead of CSV.")] = False,
) -> None:
    """Write the label of each row as CSV; rows come out as they come in."""
    known = read_model(model)
    place = reading.open(source, known.columns)
    if output != "-":
        _check_output(Path(output), model, source)
    rows, write = 0, _write_lines if as_json else _write_csv
    with progress(output == "-" and sys.stdout.isatty()) as tell, ExitStack() as stack:
        sink: BinaryIO | None = None
        for table in place.tables():
            for first in range(0, table.num_rows, _CHUNK):
                answers = _answers(known, table.slice(first, _CHUNK), rows, proba)
                sink = sink or _opened(output, stack)  # only now: a source that cannot be read leaves older answers
                write(answers, sink, rows == 0)
                sink.flush()
                rows += answers.num_rows
                tell(rows, share=place.share_done())
        if sink is None:  # no rows, no answers, but a file that other programs can read
            sink = _opened(output, stack)
            write(_no_answers(known, proba), sink, True)
    if output != "-":
        say(f"{rows:,} rows written to {output}")


def _check_output(output: Path, model: Path, source: str) -> None:
    """Refuse to write over what is being read, or what the name does not say."""
    if output.exists() and (output.samefile(model) or (os.path.exists(source) and output.samefile(source))):
        raise typer.BadParameter(f"--output {output} is the model or the source: name another file")
    if output.suffix not in ("", ".csv", ".txt", ".json", ".jsonl"):
        raise typer.BadParameter(f"--output {output}: answers are written as CSV, or with --json as lines of JSON")
    if not output.exists():
        check_writable(output)


def _opened(output: str, stack: ExitStack) -> BinaryIO:
    return sys.stdout.buffer if output == "-" else stack.enter_context(open(output, "wb"))


def _write_csv(answers: pa.Table, sink: BinaryIO, first: bool) -> None:
    text = io.BytesIO()
    pacsv.write_csv(answers, text, pacsv.WriteOptions(include_header=first))
    sink.write(text.getvalue())


def _write_lines(answers: pa.Table, sink: BinaryIO, first: bool) -> None:
    sink.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in answers.to_pylist()).encode())


def _no_answers(model: TableModel, proba: bool) -> pa.Table:
    names = [f"probability_{label}" for label in model.estimator.classes_.tolist()] if proba else []
    first = [model.columns.choices.row_id] if model.columns.choices.row_id else []
    return pa.table({name: pa.array([], pa.string()) for name in (*first, "prediction", *names)})


def _answers(model: TableModel, table: pa.Table, first_row: int, proba: bool) -> pa.Table:
    """Return labels, after ids where there are any, and before probabilities where they are wanted."""
    columns: dict[str, Any] = {}
    if model.columns.choices.row_id in table.column_names:
        columns[str(model.columns.choices.row_id)] = table[str(model.columns.choices.row_id)]
    columns["prediction"] = model.predict(table, first_row)
    if proba:
        chances = model.predict_proba(table, first_row)
        columns |= {f"probability_{label}": chances[:, k] for k, label in enumerate(model.estimator.classes_.tolist())}
    return pa.table(columns)


@with_options(READING)
def evaluate(
    model: ModelArgument,
    source: SourceArgument,
    reading: SourceOptions,
    target: Target = None,
    as_json: Json = False,
) -> None:
    """Compare the answers of a model with the labels of a source."""
    known = read_model(model, target)
    score, rows = Score(window=1), 0
    with progress(as_json) as tell:
        place = reading.open(source, known.columns)
        for table in place.tables():
            for first in range(0, table.num_rows, _CHUNK):
                part = table.slice(first, _CHUNK)
                score.add(known.columns.targets(part, rows), known.predict(part, rows))
                rows += part.num_rows
                tell(rows, score, place.share_done())
    if not rows:
        raise DataError(f"{place.name} has no rows.")
    accuracy, kappa, _, balanced = score.all()
    labels = sorted(score.known)
    counts = score.counts[np.ix_(*[[score.known[label] for label in labels]] * 2)]
    per_class = {str(label): _class_measures(counts, k) for k, label in enumerate(labels)}
    if as_json:
        measures = {"rows": rows, "accuracy": accuracy, "balanced_accuracy": balanced, "kappa": kappa}
        print_json({**measures, "labels": list(map(str, labels)), "confusion": counts, "classes": per_class})
        return
    print_facts(
        f"{model} on {rows:,} rows of {place.name}",
        [("accuracy", f"{accuracy:.4f}"), ("balanced accuracy", f"{balanced:.4f}"), ("kappa", f"{kappa:.4f}")],
    )
    header = ["class", "precision", "recall", "F1", "rows"]
    cells = [
        [name, *(f"{found[key]:.3f}" for key in ("precision", "recall", "f1")), f"{found['rows']:,}"]
        for name, found in per_class.items()
    ]
    print_table("By class", header, cells)
    if len(labels) <= _MOST_SHOWN:
        print_table("Confusion: true class in rows, answer in columns", ["", *map(str, labels)],
                    [[label, *map("{:,}".format, row)] for label, row in zip(labels, counts, strict=True)])  # fmt: skip


def _class_measures(counts: Any, k: int) -> dict[str, Any]:
    right, true, given = int(counts[k, k]), int(counts[k].sum()), int(counts[:, k].sum())
    precision, recall = right / given if given else 0.0, right / true if true else 0.0
    f1 = 2 * right / (true + given) if true + given else 0.0
    return {"precision": precision, "recall": recall, "f1": f1, "rows": true}


def info(model: ModelArgument, as_json: Json = False) -> None:
    """Show what a model is, what it knows and what it keeps."""
    known = read_model(model)
    facts = describe(known)
    facts["file"] = {"path": str(model), "bytes": model.stat().st_size, "format": FORMAT}
    if as_json:
        print_json(facts)
        return
    knows, keeps = facts["knows"], facts["keeps"]
    print_facts(
        f"{model}: {facts['file']['bytes'] / 2**20:.1f} MiB, format {FORMAT}",
        [
            ("classifier", facts["classifier"]),
            ("stage", facts["stage"]),
            ("map", f"{facts['map']['features']} features" + _gamma(facts["map"]["gamma"])),
            ("target", f"{facts['columns']['target']}; classes {', '.join(map(str, knows['classes'][:12]))}"),
            ("id", facts["columns"]["id"] or "none: rows are unlearned by their values"),
            ("columns", _columns_line(known)),
            ("encoding", "{encode}, scale {scale}, missing values: {impute}".format(**facts["columns"])),
            ("rows learned", f"{knows['rows']:,}"),
            ("kept", _KEPT.format(**keeps) if keeps else "-"),
            ("in memory", f"{facts['bytes'] / 2**20:.1f} MiB"),
            ("stream", _STREAM.format(**facts["stream"]) if facts["stream"] else "-"),
            *[("moved", f"column {name}: {text}") for name, text in facts["moved"].items()],
        ],
    )


def _gamma(gamma: float | None) -> str:
    return "" if gamma is None else f", gamma {gamma:.4g}"


def _columns_line(model: TableModel) -> str:
    names = [
        c.name if c.categories is None else f"{c.name} ({len(c.categories)} categories)" for c in model.columns.columns
    ]
    shown = ", ".join(names[:12])
    return f"{len(names)}: {shown}" + (f" and {len(names) - 12} more" if len(names) > 12 else "")


def describe(model: TableModel) -> dict[str, Any]:
    """Return what is known of a model, as plain values."""
    estimator, choices, run = model.estimator, model.columns.choices, model.run
    stage, keeps = "learned at once", None
    inside = estimator.inspect()
    if inside.stage == "warm_up":
        stage = f"warming up, {inside.seen} of {inside.warm_up} rows"
    elif inside.stage == "stream":
        stage = "on a stream"
        report = estimator.memory_report()
        waiting = int(report.rows["second_look"].sum())
        keeps = {
            "support": len(report.rows["second_look"]) - waiting,
            "second_look": waiting,
            "forgotten": sum(report.forgotten.values()),
            "condensed": sum(report.condensed.values()),
        }
    stream = None
    if run is not None:
        stream = {"source": run.name, "place": run.place, "rows": run.rows, "accuracy": run.record.score.all()[0]}
    return {
        "classifier": " ".join(repr(estimator).split()),
        "stage": stage,
        "columns": {
            "target": choices.target, "id": choices.row_id, "names": [c.name for c in model.columns.columns],
            "encode": choices.encode, "scale": choices.scale, "impute": choices.impute,
        },
        "knows": {"rows": model.rows, "classes": estimator.classes_.tolist()},
        "map": {"features": estimator.n_components_, "gamma": estimator.gamma_},
        "keeps": keeps,
        "bytes": inside.bytes,
        "stream": stream,
        "moved": model.columns.moved(),
        "unseen_categories": model.columns.unseen,
    }  # fmt: skip


def export(
    model: ModelArgument,
    output: Annotated[Path, typer.Argument(metavar="OUTPUT", help="Where to write the ONNX file.")],
    as_json: Json = False,
) -> None:
    """Write a model as ONNX, for other runtimes: encoded columns, not yet scaled, in; label and scores out."""
    from ..export.onnx import export_onnx

    check_writable(output)
    if output.suffix != ".onnx":
        raise typer.BadParameter(f"the output ends in .onnx, not {output.suffix or 'nothing'}")
    known = read_model(model)
    export_onnx(known, output)
    inputs = known.columns.names
    if as_json:
        print_json({"output": str(output), "bytes": output.stat().st_size, "inputs": inputs})
    else:
        shown = ", ".join(inputs[:12]) + (f" and {len(inputs) - 12} more" if len(inputs) > 12 else "")
        size = output.stat().st_size / 2**10
        print_facts(f"{output}, {size:,.0f} KiB", [("input X", shown), ("outputs", "label, scores")])
