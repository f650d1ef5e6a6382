"""The verb that chooses parameters: tune."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..data.table_model import TableModel
from ..search.cv import FBTWSVMCV
from .models import check_writable, write_model
from .options import READING, RECIPE, Json, Recipe, SourceOptions, with_options
from .output import print_json, print_table, progress
from .train import SourceArgument, read_whole

_SHOWN = 5  # candidates that are printed


@with_options(READING, RECIPE)
def tune(
    source: SourceArgument,
    recipe: Recipe,
    reading: SourceOptions,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Where to write the best model.")] = None,
    folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 3,
    search: Annotated[str, typer.Option(help="grid, or tpe (extra [tune]).")] = "grid",
    trials: Annotated[int, typer.Option(min=1, help="Candidates of tpe.")] = 60,
    sample: Annotated[int, typer.Option(min=10, help="Rows that are searched on at most.")] = 10_000,
    picture: Annotated[
        Path | None, typer.Option("--plot", help="Write a picture of the search (PNG, SVG, PDF).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Choose gamma, C, reg and membership by cross-validation; those that are given as options stay as they are."""
    if search not in ("grid", "tpe"):
        raise typer.BadParameter(f"--search is grid or tpe, not {search}")
    for path in (output, picture):
        if path is not None:
            check_writable(path)
    estimator, choices = recipe.estimator(), recipe.choices()
    with progress(as_json) as tell:
        table = read_whole(reading.open(source, None), tell)
    X, y, _ = TableModel.begin(table, choices, estimator).encode(table, 0)
    given: dict[str, Any] = {name: None for name in ("gamma", "C", "reg", "membership") if name in recipe.parameters}
    found = FBTWSVMCV(
        estimator,
        cv=folds,
        search=search,
        n_iter=trials,
        sample=sample,
        refit=False,
        random_state=0,
        verbose=int(sys.stderr.isatty() and not as_json),
        **given,
    ).fit(X, y)
    if output is not None:
        write_model(TableModel.fit(table, choices, estimator.set_params(**found.best_params_)), output)
    if picture is not None:
        _draw(found, picture)
    _show(found, output, as_json)


def _draw(found: FBTWSVMCV, path: Path) -> None:
    from ..evaluate.plot import figure_of_search

    figure_of_search(found).savefig(path, dpi=120)


def _show(found: FBTWSVMCV, output: Path | None, as_json: bool) -> None:
    results = found.cv_results_
    best = np.argsort(results["rank_test_score"], kind="stable")[:_SHOWN]
    if as_json:
        facts: dict[str, Any] = {"best": found.best_params_, "score": found.best_score_, "seconds": found.search_time_}
        print_json(facts | {"candidates": len(results["params"]), "model": None if output is None else str(output)})
        return
    names = list(found.best_params_)
    header = [*names, "score", "+-"]
    spread = results["std_test_score"]
    rows = [
        [_short(results["params"][k][name]) for name in names]
        + [f"{results['mean_test_score'][k]:.4f}", f"{spread[k]:.4f}"]
        for k in best
    ]
    tried, stopped = len(results["params"]), int(results["stopped"].sum())
    print_table(f"{tried} candidates, {stopped} stopped early, {found.search_time_:.1f} s; the best:", header, rows)
    said = " ".join(f"--{name.replace('_', '-')} {_short(value)}" for name, value in found.best_params_.items())
    print(f"\nas options: {said}" if output is None else f"\nthe best, learned from all rows: {output}")


def _short(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:.4g}"
