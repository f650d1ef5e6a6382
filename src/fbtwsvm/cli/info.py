"""The verb info: describe a model."""

from __future__ import annotations

from typing import Any

from ..data.table_model import TableModel
from ..export.modelfile import FORMAT
from .model_file import read_model
from .options import Json, ModelArgument
from .output import few, mebibytes, print_facts, print_json
from .predict import unseen_values

_MOST_SHOWN = 12
_MOST_IMPORTANT = 6
_MORE = " and {} more"
_KEPT_BEFORE = {"batch": "none, which is for streams", "warm_up": "all rows, until the warm-up ends"}
_KEPT = "{support:,} support rows, {second_look:,} in reserve; {forgotten:,} forgotten, {condensed:,} condensed"


def info(model: ModelArgument, as_json: Json = False) -> None:
    """Show what a model is, what it has learned and what it keeps."""
    table_model = read_model(model)
    facts = describe(table_model)
    size = model.stat().st_size
    if as_json:
        print_json({**facts, "file": {"path": str(model), "bytes": size, "format": FORMAT}})
        return
    gamma = facts["map"]["gamma"]
    columns = [
        column.name if column.categories is None else f"{column.name} ({len(column.categories):,} categories)"
        for column in table_model.columns.columns
    ]
    classes = list(map(str, facts["knows"]["classes"]))
    unseen = facts["unseen_categories"]
    stage = table_model.estimator.inspect().stage
    print_facts(
        f"{model}: {mebibytes(size)}, format {FORMAT}",
        [
            ("classifier", facts["classifier"]),
            ("stage", facts["stage"]),
            ("map", f"{facts['map']['features']:,} features" + ("" if gamma is None else f", gamma {gamma:.4g}")),
            *([("metric", f"learned, rounds: {rounds}")] if (rounds := facts["map"]["rounds"]) else []),
            *([("importances", _important(facts["importances"]))] if facts["importances"] else []),
            ("target", f"{facts['columns']['target']}, {len(classes):,} classes: {few(classes, _MOST_SHOWN, _MORE)}"),
            ("id", facts["columns"]["id"] or "none: rows are unlearned by their values"),
            ("columns", f"{len(columns):,}: {few(columns, _MOST_SHOWN, _MORE)}"),
            ("encoding", "{encode}, scale {scale}, missing values: {impute}".format(**facts["columns"])),
            *([("not seen", f"since then {unseen_values(unseen)}")] if unseen else []),
            ("rows learned", f"{table_model.rows:,}"),
            ("kept", _KEPT.format(**facts["keeps"]) if facts["keeps"] else _KEPT_BEFORE[stage]),
            ("in memory", mebibytes(facts["bytes"])),
            ("stream", _stream_words(facts["stream"]) if facts["stream"] else "none"),
            *[("moved", f"column {name}: {text}") for name, text in facts["moved"].items()],
        ],
    )


def describe(model: TableModel) -> dict[str, Any]:
    """Return what there is to know about a model, as plain values."""
    estimator = model.estimator
    choices = model.columns.choices
    inspection = estimator.inspect()
    stages = {
        "batch": "learned at once",
        "warm_up": f"warming up, {inspection.seen:,} of {inspection.warm_up:,} rows",
        "stream": "on a stream",
    }
    return {
        "classifier": " ".join(repr(estimator).split()),
        "stage": stages[inspection.stage],
        "columns": {
            "target": choices.target, "id": choices.row_id, "names": [c.name for c in model.columns.columns],
            "encode": choices.encode, "scale": choices.scale, "impute": choices.impute,
        },
        "knows": {"rows": model.rows, "classes": estimator.classes_.tolist()},
        "map": {"features": estimator.n_components_, "gamma": estimator.gamma_, "rounds": estimator.n_rounds_},
        "importances": model.importances(),
        "keeps": _kept(model) if inspection.stage == "stream" else None,
        "bytes": inspection.bytes,
        "stream": _stream(model),
        "moved": model.columns.moved(),
        "unseen_categories": model.columns.unseen,
    }  # fmt: skip


def _important(shares: dict[str, float]) -> str:
    """Return the most important columns, with their shares."""
    names = sorted(shares, key=lambda name: -shares[name])
    return few([f"{name} {100 * shares[name]:.0f} %" for name in names], _MOST_IMPORTANT, _MORE)


def _kept(model: TableModel) -> dict[str, int]:
    """Return how many rows a stream keeps and how many it has forgotten."""
    report = model.estimator.memory_report()
    reserve = int(report.rows["second_look"].sum())
    return {
        "support": len(report.rows["second_look"]) - reserve,
        "second_look": reserve,
        "forgotten": sum(report.forgotten.values()),
        "condensed": sum(report.condensed.values()),
    }


def _stream(model: TableModel) -> dict[str, Any] | None:
    """Return source and accuracy of the last stream."""
    run = model.run
    if run is None:
        return None
    return {"source": run.name, "place": run.place, "rows": run.rows, "accuracy": run.record.score.all()[0]}


def _stream_words(stream: dict[str, Any]) -> str:
    tested = f"accuracy {stream['accuracy']:.4f}" if stream["accuracy"] == stream["accuracy"] else "no row tested"
    return f"{stream['source']}, {stream['rows']:,} rows, {tested}"
