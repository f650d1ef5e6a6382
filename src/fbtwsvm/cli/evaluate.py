"""The verb evaluate: compare answers with labels."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
import typer

from ..data.sources import DataError
from ..evaluate.probabilities import ProbabilityScore
from ..evaluate.score import Score
from .model_file import read_model
from .options import READING, Json, ModelArgument, SourceArgument, SourceOptions, with_options
from .output import print_facts, print_json, print_table, progress
from .predict import few_labels, unseen_values
from .same_files import refuse_same_files

_MOST_SHOWN = 20  # classes whose confusion matrix is printed
_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "kappa": "kappa",
    "log_loss": "log loss",
    "auc": "AUC",
}
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
    """Compare the answers of a model with the labels of a source: accuracy, kappa, log loss, AUC, each class."""
    refuse_same_files({"MODEL": model, "SOURCE": source, "--rejected": reading.rejected})
    table_model = read_model(model, target)
    columns, estimator = table_model.columns, table_model.estimator
    classes = estimator.classes_
    answers, probabilities = Score(window=1), ProbabilityScore(len(classes))
    unseen = columns.unseen
    bad = reading.bad_rows()
    rows = 0
    with progress(as_json) as report:
        place = reading.open(source, columns)
        for piece in few_labels(place, table_model):
            table = bad.kept(piece, columns, rows)
            if table.num_rows:
                X, y = columns.rows(table, rows), columns.targets(table, rows)
                answers.add(y, estimator.predict(X))
                known = np.isin(y, classes)
                if known.any():
                    probabilities.add(np.searchsorted(classes, y[known]), estimator.predict_proba(X[known]))
            rows += piece.num_rows
            report(rows, answers, place.share_done())
    rows -= bad.count
    if not rows:
        raise DataError(f"{place.name} has no rows{' that can be read' if bad.count else ''}.")
    facts = _measures(answers, probabilities, classes.tolist())
    facts |= {"unknown_class_rows": rows - probabilities.rows, "unseen_categories": columns.unseen - unseen}
    facts["set_aside"] = bad.count
    if as_json:
        print_json({"rows": rows, **facts})
    else:
        _show(f"{model} on {rows:,} rows of {place.name}", facts, bad.told())


def _measures(answers: Score, probabilities: ProbabilityScore, classes: list[Any]) -> dict[str, Any]:
    """Return all measures: of the rows together, and of each class."""
    accuracy, kappa, _, balanced = answers.all()
    labels, counts = answers.confusion()
    areas = dict(zip(classes, probabilities.auc().tolist(), strict=True))
    defined = [area for area in areas.values() if not np.isnan(area)]
    return {
        "accuracy": accuracy,
        "balanced_accuracy": balanced,
        "kappa": kappa,
        "log_loss": probabilities.log_loss(),
        "auc": sum(defined) / len(defined) if defined else np.nan,
        "labels": list(map(str, labels)),
        "confusion": counts,
        "classes": {
            str(label): _class_measures(counts, k) | {"auc": areas.get(label, np.nan)} for k, label in enumerate(labels)
        },
    }


def _show(title: str, facts: dict[str, Any], set_aside: list[tuple[str, str]]) -> None:
    """Print all measures."""
    lines = [(text, _figure(facts[name])) for name, text in _NAMES.items()] + set_aside
    if facts["unknown_class_rows"]:
        words = "rows of classes that the model does not know, which log loss and AUC leave out"
        lines.append(("not known", f"{facts['unknown_class_rows']:,} {words}"))
    if facts["unseen_categories"]:
        lines.append(("not seen", unseen_values(facts["unseen_categories"])))
    print_facts(title, lines)
    _print_classes(facts["classes"])
    labels = facts["labels"]
    if len(labels) <= _MOST_SHOWN:
        cells = [[label, *map("{:,}".format, row)] for label, row in zip(labels, facts["confusion"], strict=True)]
        print_table("Confusion: true class in rows, answer in columns", ["", *labels], cells)


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


def _figure(value: float, digits: int = 4) -> str:
    return "not defined" if np.isnan(value) else f"{value:.{digits}f}"


def _print_classes(per_class: dict[str, dict[str, Any]]) -> None:
    cells = [
        [name, *(_figure(measures[key], 3) for key in ("precision", "recall", "f1", "auc")), f"{measures['rows']:,}"]
        for name, measures in per_class.items()
    ]
    print_table("By class", ["class", "precision", "recall", "F1", "AUC", "rows"], cells)
