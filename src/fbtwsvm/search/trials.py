"""The candidates of a search: their scores, early stopping and ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from .._arrays import Array
from .folds import Folds, Params

_STANDARD_ERRORS = 2.0  # behind the best at which a candidate stops
_OF_MAP = ("gamma", "n_components")  # parameters that change the map
_OF_PLANE = ("C", "reg")  # parameters that each plane may have of its own

Report = Callable[[str], None]  # of progress: called with a text after each fold


@dataclass
class Trial:
    """A candidate and its scores; NaN in the folds that it was not tried in."""

    params: Params
    scores: Array
    stopped: bool = False


class Trials:
    """All candidates that were tried; with `separate` C and reg are pairs, one value for each of two planes."""

    def __init__(self, folds: Folds, *, early_stop: bool, separate: bool) -> None:
        self.folds = folds
        self.early_stop = early_stop
        self.separate = separate
        self.trials: list[Trial] = []
        self.best = np.full(len(folds), -np.inf)  # best mean score over the first folds

    def trial(self, params: Params) -> Trial:
        """Return a trial of a candidate, without scores yet."""
        return Trial(params, np.full(len(self.folds), np.nan))

    def candidates(self, grid: dict[str, list[Any]]) -> list[Trial]:
        """Return a trial for each combination of the values."""
        combinations = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        if self.separate:
            pairs = [name for name in _OF_PLANE if name in grid]
            others = [name for name in grid if name not in _OF_PLANE]
            combinations = [
                {**one, **{name: (one[name], other[name]) for name in pairs}}
                for one, other in product(combinations, combinations)
                if all(one[name] == other[name] for name in others)
            ]
        return [self.trial(params) for params in combinations]

    def run(self, trials: list[Trial], report: Report) -> None:
        """Try candidates that share a map, fold after fold."""
        self.trials += trials
        params_of_map = {name: trials[0].params[name] for name in _OF_MAP if name in trials[0].params}
        for number in range(len(self.folds)):
            running = [trial for trial in trials if not trial.stopped]
            if running:
                fold = self.folds.fold(params_of_map, number)
                for k, solved in self.folds.solve(fold, [trial.params for trial in running], self.separate):
                    running[k].scores[number] = self.folds.score(fold, solved, running[k].params)
                self._compare(running, number)
            report(f"best score {self.best[number]:.4f}")

    def best_trial(self) -> Trial:
        """Return the candidate with the best mean score among those that did not stop."""
        return max((trial for trial in self.trials if not trial.stopped), key=lambda trial: float(trial.scores.mean()))

    def _compare(self, trials: list[Trial], number: int) -> None:
        """Stop candidates that are far behind the best after this fold."""
        means = [float(trial.scores[: number + 1].mean()) for trial in trials]
        best = self.best[number] = max(self.best[number], *means)
        if not self.early_stop or number + 1 == len(self.folds):
            return
        tested = sum(len(test) for _, test in self.folds.splits[: number + 1])
        error = np.sqrt(max(best * (1.0 - best), 1.0 / tested) / tested)
        for trial, mean in zip(trials, means, strict=True):
            trial.stopped = mean < best - _STANDARD_ERRORS * error

    def results(self) -> dict[str, Any]:
        """Return all scores as GridSearchCV does; candidates that stopped rank behind those that did not."""
        scores = np.array([trial.scores for trial in self.trials])
        stopped = np.array([trial.stopped for trial in self.trials])
        params = [trial.params for trial in self.trials]
        means = np.nanmean(scores, axis=1)
        results: dict[str, Any] = {
            "params": params,
            "mean_test_score": means,
            "std_test_score": np.nanstd(scores, axis=1),
        }
        results |= {f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])}
        for name in params[0]:
            column = np.ma.MaskedArray(np.empty(len(params), dtype=object), mask=False)
            for k, values in enumerate(params):
                column[k] = values[name]
            results[f"param_{name}"] = column
        return results | {"rank_test_score": _ranks(means, stopped), "stopped": stopped}


def _ranks(means: Array, stopped: Array) -> Array:
    """Return the rank of each candidate, from 1; equal ones share the better rank."""
    ranks = np.empty(len(means), dtype=np.int32)
    previous = None
    for place, k in enumerate(np.lexsort((-means, stopped))):
        tied = previous is not None and (stopped[k], means[k]) == (stopped[previous], means[previous])
        ranks[k] = ranks[previous] if tied else place + 1
        previous = k
    return ranks
