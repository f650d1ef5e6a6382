"""The verb tune: choose parameters by cross-validation."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from .._files import replacing
from ..data.table_model import TableModel
from ..search.cv import FBTWSVMCV, note_rounds
from .model_file import check_writable, claim, write_model
from .options import READING, Json, SourceArgument, SourceOptions, completes, with_options
from .output import fit_progress, print_json, print_table, progress, say
from .recipe import RECIPE, Recipe
from .rows import read_all
from .same_files import refuse_same_files

_SHOWN = 5  # candidates that are printed
_PICTURES = (".png", ".svg", ".pdf")
_SEARCHES = ("grid", "tpe")
_SEARCH_HELP = "grid tries all combinations; tpe chooses candidates by what it has seen (needs fbtwsvm\\[tune])."


@with_options(READING, RECIPE)
def tune(
    source: SourceArgument,
    *,
    recipe: Recipe,
    reading: SourceOptions,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Learn all rows with the best parameters, and write the model."),
    ] = None,
    folds: Annotated[int, typer.Option(min=2, help="Parts of the cross-validation; each is tested once.")] = 3,
    search: Annotated[str, typer.Option(help=_SEARCH_HELP, autocompletion=completes(_SEARCHES))] = "grid",
    trials: Annotated[int, typer.Option(min=1, help="Number of candidates that tpe tries.")] = 60,
    sample: Annotated[
        int, typer.Option(min=10, help="Most rows used in the search, drawn at random from all; the fit uses all rows.")
    ] = 10_000,
    picture: Annotated[
        Path | None, typer.Option("--plot", help="Write a picture of the scores: .png, .svg or .pdf.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Choose gamma, C, reg and membership by cross-validation; those given as options stay as they are.

    Tried are five values of gamma, around the one that train would take, of C (from 0.25) and of reg (around 0.01),
    with more where the best lies on an edge; and membership fuzzy and none. The score is the mean accuracy.
    """
    if search not in _SEARCHES:
        raise typer.BadParameter(f"--search is grid or tpe, not {search}")
    if picture is not None and picture.suffix not in _PICTURES:
        raise typer.BadParameter(f"--plot ends in {', '.join(_PICTURES)}, not {picture.suffix or 'nothing'}")
    refuse_same_files({"SOURCE": source, "--output": output, "--plot": picture, "--rejected": reading.rejected})
    if output is not None:
        claim(output, "tune")
    if picture is not None:
        check_writable(picture)
    estimator = recipe.estimator()
    choices = recipe.choices()
    with progress(as_json) as report:
        table = reading.bad_rows().of_all(read_all(reading.open(source), report), choices)
    X, y, _ = TableModel.begin(table, choices, estimator).encode(table, 0)
    fixed: dict[str, Any] = {name: None for name in ("gamma", "C", "reg", "membership") if name in recipe.parameters}
    tuned = FBTWSVMCV(
        estimator,
        cv=folds,
        search=search,
        n_iter=trials,
        sample=sample,
        refit=False,
        random_state=0,
        verbose=int(sys.stderr.isatty() and not as_json),
        **fixed,
    ).fit(X, y)
    if output is not None:
        with fit_progress(as_json):
            chosen = {**tuned.best_params_, "metric": tuned.best_metric_}
            best = TableModel.fit(table, choices, estimator.set_params(**chosen))
            note_rounds(best.estimator, tuned)
        write_model(best, output)
    if picture is not None:
        from ..evaluate.plot import figure_of_search

        with replacing(picture) as file:
            figure_of_search(tuned).savefig(file, format=picture.suffix[1:], dpi=120)
    _show(tuned, output, as_json)


def _show(tuned: FBTWSVMCV, output: Path | None, as_json: bool) -> None:
    results = tuned.cv_results_
    count = len(results["params"])
    if as_json:
        facts: dict[str, Any] = {"best": tuned.best_params_, "score": tuned.best_score_, "seconds": tuned.search_time_}
        facts["metric"] = tuned.best_metric_
        print_json(facts | {"candidates": count, "model": None if output is None else str(output)})
        return
    rows = []
    for k in np.argsort(results["rank_test_score"], kind="stable")[:_SHOWN]:
        scores = [f"{results[name][k]:.4f}" for name in ("mean_test_score", "std_test_score")]
        rows.append([*map(_short, results["params"][k].values()), *scores])
    title = f"{count} candidates, {results['stopped'].sum()} stopped early, {tuned.search_time_:.1f} s; the best:"
    print_table(title, [*tuned.best_params_, "score", "+-"], rows)
    chosen = {**tuned.best_params_, "metric": tuned.best_metric_}
    options = " ".join(f"--{name.replace('_', '-')} {_short(value)}" for name, value in chosen.items())
    say()
    say(f"as options: {options}" if output is None else f"the best, learned from all rows: {output}")


def _short(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(map(_short, value))
    return value if isinstance(value, str) else f"{value:.4g}"
