"""In which order candidates are tried: a grid from its middle outwards, or tree-structured Parzen estimators."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from typing import Any

import numpy as np

from .trials import Trial, Trials


def search_grid(trials: Trials, grid: dict[str, list[Any]], *, verbose: bool) -> None:
    """Try all maps with all values of C and reg, then the other values of mu and membership with the best map."""
    maps: list[str] = [name for name in ("gamma", "n_components") if name in grid]
    fuzzy: list[str] = [name for name in ("mu", "membership") if name in grid]
    blocks = list(product(*(grid[name] for name in maps)))
    # From the middle outwards: the best is most likely there, and what is far behind it stops early.
    blocks.sort(
        key=lambda block: sum(
            abs(grid[name].index(v) - (len(grid[name]) - 1) / 2) for name, v in zip(maps, block, strict=True)
        )
    )
    others = list(product(*(grid[name] for name in fuzzy)))[1:]
    first = {**grid, **{name: grid[name][:1] for name in fuzzy}}
    with _bar((len(blocks) + bool(others)) * len(trials.splits), verbose) as tell:
        for block in blocks:
            trials.run(trials.candidates({**first, **{n: [v] for n, v in zip(maps, block, strict=True)}}), tell)
        if others:
            best = trials.best_trial().params
            found = []
            for values in others:
                changes = {name: [value] for name, value in zip(fuzzy, values, strict=True)}
                found += trials.candidates({**grid, **{name: [best[name]] for name in maps}, **changes})
            trials.run(found, tell)


def search_tpe(trials: Trials, grid: dict[str, list[Any]], count: int, seed: int, *, verbose: bool) -> None:
    """Let tree-structured Parzen estimators choose candidates within the ranges of the values."""
    try:
        import optuna
    except ImportError as error:
        raise ImportError('search="tpe" needs optuna: pip install "fbtwsvm[tune]"') from error
    said = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
        with _bar(count * len(trials.splits), verbose) as tell:
            for _ in range(count):
                asked = study.ask()
                params: dict[str, Any] = {}
                for name, values in grid.items():
                    if name in ("C", "reg") and trials.separate:
                        params[name] = tuple(_suggest(asked, f"{name}_{k}", values) for k in (0, 1))
                    else:
                        params[name] = _suggest(asked, name, values)
                trial = Trial(params, np.full(len(trials.splits), np.nan))
                trials.run([trial], tell)
                study.tell(asked, float(np.nanmean(trial.scores)))
    finally:
        optuna.logging.set_verbosity(said)


def _suggest(asked: Any, name: str, values: list[Any]) -> Any:
    """Ask for a value: a number between the least and the largest, or one of several words."""
    if isinstance(values[0], str) or len(set(values)) == 1:
        return asked.suggest_categorical(name, values)
    if name == "n_components":
        return asked.suggest_int(name, min(values), max(values), log=True)
    low = min(values)
    return asked.suggest_float(name, low, max(values), log=low > 0 and name != "mu")


@contextmanager
def _bar(total: int, verbose: bool) -> Iterator[Callable[[str], None]]:
    """Show a bar over blocks and folds, if that is wanted."""
    if not verbose:
        yield lambda text: None
        return
    from .._progress import steps  # needs rich

    with steps(total) as tell:
        yield tell
