"""The verb evaluate: compare answers with labels."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from ..data.sources import DataError
from ..evaluate.score import Score
from .model_file import read_model
from .options import READING, Json, ModelArgument, SourceArgument, SourceOptions, with_options
from .output import print_facts, print_json, print_table, progress
from .rows import pieces

_MOST_SHOWN = 20  # classes whose confusion matrix is printed
_TARGET_HELP = "Column with the label, for a model saved in Python."


@with_options(READING)
def evaluate(
    model: ModelArgument,
    source: SourceArgument,
    *,
    reading: SourceOptions,
    target: Annotated[str | None, typer.Option("--target", "-t", help=_TARGET_HELP)] = None,
    as_json: Json = False,
) -> None:
    """Compare the answers of a model with the labels of a source."""
    table_model = read_model(model, target)
    score = Score(window=1)
    bad = reading.bad_rows()
    rows = 0
    with progress(as_json) as report:
        place = reading.open(source, table_model.columns)
        for piece in pieces(place, table_model):
            table = bad.kept(piece, table_model.columns, rows)
            if table.num_rows:
                score.add(table_model.columns.targets(table, rows), table_model.predict(table, rows))
            rows += piece.num_rows
            report(rows, score, place.share_done())
    if not score.tested:
        raise DataError(f"{place.name} has no rows{' that can be read' if rows else ''}.")
    rows = score.tested
    accuracy, kappa, _, balanced = score.all()
    labels, counts = score.confusion()
    per_class = {str(label): _class_measures(counts, k) for k, label in enumerate(labels)}
    if as_json:
        measures: dict[str, Any] = {"rows": rows, "accuracy": accuracy, "balanced_accuracy": balanced, "kappa": kappa}
        measures |= {"set_aside": bad.count, "labels": list(map(str, labels)), "confusion": counts}
        print_json({**measures, "classes": per_class})
        return
    print_facts(
        f"{model} on {rows:,} rows of {place.name}",
        [
            ("accuracy", f"{accuracy:.4f}"),
            ("balanced accuracy", f"{balanced:.4f}"),
            ("kappa", f"{kappa:.4f}"),
            *bad.told(),
        ],
    )
    _print_classes(per_class)
    if len(labels) <= _MOST_SHOWN:
        cells = [[label, *map("{:,}".format, row)] for label, row in zip(labels, counts, strict=True)]
        print_table("Confusion: true class in rows, answer in columns", ["", *map(str, labels)], cells)


def _class_measures(counts: Any, k: int) -> dict[str, Any]:
    """Return precision, recall, F1 and number of rows of one class."""
    correct = int(counts[k, k])
    true = int(counts[k].sum())
    predicted = int(counts[:, k].sum())
    return {
        "precision": correct / predicted if predicted else 0.0,
        "recall": correct / true if true else 0.0,
        "f1": 2 * correct / (true + predicted) if true + predicted else 0.0,
        "rows": true,
    }


def _print_classes(per_class: dict[str, dict[str, Any]]) -> None:
    cells = [
        [name, *(f"{measures[key]:.3f}" for key in ("precision", "recall", "f1")), f"{measures['rows']:,}"]
        for name, measures in per_class.items()
    ]
    print_table("By class", ["class", "precision", "recall", "F1", "rows"], cells)
