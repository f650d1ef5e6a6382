"""The order in which candidates are tried: a grid from its middle outwards, or tree-structured Parzen estimators.

A list of values that was made automatically gets the values next to the best one that it lacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np

from .trials import Report, Trials, mean_score

Grid = dict[str, list[Any]]
_MOST_STEPS = 4  # values that are added to a list


def search_grid(trials: Trials, grid: Grid, steps: dict[str, float], *, verbose: bool) -> None:
    """Try all maps with all values of C and reg, then the other values of mu and membership with the best map.

    `steps` are the ratios of neighbouring values of the lists that may go on.
    """
    grid = {name: list(values) for name, values in grid.items()}
    maps = _combinations(grid, ("gamma", "n_components", "metric"))
    fuzzy = _combinations(grid, ("mu", "membership"))
    # From the middle outwards: the best is most likely there, and what is far behind it stops early.
    maps.sort(key=lambda values: sum(_from_middle(grid[name], value) for name, (value,) in values.items()))
    with _progress((len(maps) + (len(fuzzy) > 1)) * len(trials.folds), verbose) as report:
        for values in maps:
            trials.run(trials.candidates({**grid, **fuzzy[0], **values}), report)
        for name in ("gamma", "C", "reg"):
            if name in grid and name in steps and not trials.separate:
                _go_on(trials, grid, name, steps[name], fuzzy[0], report)
        if len(fuzzy) > 1:
            best = trials.best_trial().params
            best_map = {name: [best[name]] for name in maps[0]}
            candidates = [trial for values in fuzzy[1:] for trial in trials.candidates({**grid, **best_map, **values})]
            trials.run(candidates, report)


def _go_on(trials: Trials, grid: Grid, name: str, step: float, fuzzy: Grid, report: Report) -> None:
    """Add the values a step below and above the best one to the list of a parameter, while it lacks any of them."""
    for _ in range(_MOST_STEPS):
        best = trials.best_trial().params
        beside = (best[name] / step, best[name] * step)
        near = np.sqrt(step)  # a value within half a step of another is the same
        missing = [value for value in beside if not any(1 / near < value / known < near for known in grid[name])]
        if not missing:
            return
        value = missing[0]
        grid[name] = sorted([*grid[name], value])
        best_map: Grid = {other: [best[other]] for other in ("gamma", "n_components", "metric") if other in grid}
        report(more=len(trials.folds))
        trials.run(trials.candidates({**grid, **fuzzy, **best_map, name: [value]}), report)


def _combinations(grid: Grid, names: tuple[str, ...]) -> list[Grid]:
    """Return a grid of one point for each combination of the values of some parameters."""
    present = [name for name in names if name in grid]
    combinations = product(*(grid[name] for name in present))
    return [{name: [value] for name, value in zip(present, values, strict=True)} for values in combinations]


def _from_middle(values: list[Any], value: Any) -> float:
    """Return how far a value is from the middle of the list."""
    return abs(values.index(value) - (len(values) - 1) / 2)


def search_tpe(trials: Trials, grid: Grid, count: int, seed: int, *, verbose: bool) -> None:
    """Let tree-structured Parzen estimators choose candidates within the ranges of the values."""
    try:
        import optuna
    except ImportError as error:
        raise ImportError('search="tpe" needs optuna: pip install "fbtwsvm[tune]"') from error
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        with _progress(count * len(trials.folds), verbose) as report:
            for _ in range(count):
                point = study.ask()
                trial = trials.trial({name: _suggest(point, name, grid, trials.separate) for name in grid})
                trials.run([trial], report)
                score = mean_score(trial.scores)
                failed = optuna.trial.TrialState.FAIL if score is None else None
                study.tell(point, score, state=failed)
    finally:
        optuna.logging.set_verbosity(verbosity)


def _suggest(point: Any, name: str, grid: Grid, separate: bool) -> Any:
    """Return the value of a parameter at a point of the study, a pair where each plane has its own."""
    if name in ("C", "reg") and separate:
        return tuple(_suggest_value(point, f"{name}_{k}", grid[name]) for k in (0, 1))
    return _suggest_value(point, name, grid[name])


def _suggest_value(point: Any, name: str, values: list[Any]) -> Any:
    """Return a number between the smallest and the largest value, or one of several strings."""
    if isinstance(values[0], str) or len(set(values)) == 1:
        return point.suggest_categorical(name, values)
    if name == "n_components":
        return point.suggest_int(name, min(values), max(values), log=True)
    low = min(values)
    return point.suggest_float(name, low, max(values), log=low > 0 and name != "mu")


@contextmanager
def _progress(total: int, verbose: bool) -> Iterator[Report]:
    """Show a progress bar over maps and folds, if it is wanted."""
    if not verbose:
        yield lambda text="", *, more=0: None
        return
    from .._progress import step_bar  # needs rich

    with step_bar(total) as report:
        yield report
