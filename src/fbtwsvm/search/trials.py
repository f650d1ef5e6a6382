"""The candidates of a search: their scores, early stopping and ranking."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from sklearn.exceptions import FitFailedWarning

from .._arrays import Array
from .._log import warn
from .folds import Folds, Params

_STANDARD_ERRORS = 2.0  # behind the best at which a candidate stops
_OF_MAP = ("gamma", "n_components", "metric")  # parameters that change the map
_OF_PLANE = ("C", "reg")  # parameters that each plane may have of its own

Report = Callable[..., None]  # of progress: called with a text after each fold, or with `more` folds to come


@dataclass
class Trial:
    """A candidate and its scores; NaN in the folds that it was not tried in."""

    params: Params
    scores: Array
    stopped: bool = False


class Trials:
    """All candidates that were tried; with `separate` C and reg are pairs, one value for each of two planes."""

    def __init__(self, folds: Folds, *, early_stop: bool, separate: bool, error_score: float | str = np.nan) -> None:
        self.folds = folds
        self.error_score = error_score
        self.early_stop = early_stop
        self.separate = separate
        self.trials: list[Trial] = []
        self.best = np.full(len(folds), -np.inf)  # best mean score over the first folds
        self._told: set[str] = set()  # warnings that were shown

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
                try:
                    self._run_fold(running, params_of_map, number)
                except ValueError as error:
                    self._fail(running, number, error, "fitted")
                self._compare(running, number)
            finished = self.best[-1] if np.isfinite(self.best[-1]) else self.best[number]
            report(f"best score {finished:.4f}")

    def _run_fold(self, trials: list[Trial], params_of_map: Params, number: int) -> None:
        """Try candidates that share a map in one fold.

        With early stopping, candidates with the middle value of reg come first; if all of them are far behind the best,
        so is the map, and the others are not tried.
        """
        fold = self.folds.fold(params_of_map, number)
        values = sorted({trial.params["reg"] for trial in trials}) if "reg" in trials[0].params else []
        middle = values[len(values) // 2] if values else None
        first = [trial for trial in trials if trial.params.get("reg") == middle]
        others = [trial for trial in trials if trial.params.get("reg") != middle]
        for part in (first, others) if self.early_stop and others else (trials,):
            for k, solved in self.folds.solve(fold, [trial.params for trial in part], self.separate):
                try:
                    part[k].scores[number] = self.folds.score(fold, solved, part[k].params)
                except ValueError as error:
                    self._fail([part[k]], number, error, "scored")
            if part is first and others:
                self._compare(first, number)
                if all(trial.stopped for trial in first):
                    for trial in others:
                        trial.stopped = True
                    return

    def _fail(self, trials: list[Trial], number: int, error: ValueError, done: str) -> None:
        """Give candidates the score of a fold that cannot be fitted or scored, and say so once."""
        if self.error_score == "raise":
            raise error
        for trial in trials:
            trial.scores[number] = self.error_score
        message = (
            f"Fold {number} cannot be {done}; its score is {self.error_score}. The error: {error} With "
            "error_score='raise' it is raised."
        )
        if message not in self._told:
            self._told.add(message)
            warn(message, FitFailedWarning)

    def best_trial(self) -> Trial:
        """Return the candidate with the best mean score among those that did not stop."""
        scored = [(mean_score(trial.scores), trial) for trial in self.trials if not trial.stopped]
        known = [(score, trial) for score, trial in scored if score is not None]
        if not known:
            raise ValueError(
                "No candidate has a score: no fold could be fitted, as the warnings say, or `scoring` returned NaN."
            )
        return max(known, key=lambda pair: pair[0])[1]

    def _compare(self, trials: list[Trial], number: int) -> None:
        """Stop candidates that are far behind the best after this fold."""
        trials = [trial for trial in trials if not trial.stopped]  # one that has stopped was not tried in this fold
        scores = [mean_score(trial.scores[: number + 1]) for trial in trials]
        means = [-np.inf if score is None else score for score in scores]
        best = self.best[number] = max([self.best[number], *means])
        if not self.early_stop or number + 1 == len(self.folds) or not np.isfinite(best):
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
        known = [line[~np.isnan(line)] for line in scores]
        means = np.array([line.mean() if len(line) else np.nan for line in known])
        spreads = np.array([line.std() if np.isfinite(line).all() and len(line) else np.nan for line in known])
        results: dict[str, Any] = {"params": params, "mean_test_score": means, "std_test_score": spreads}
        results |= {f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])}
        for name in params[0]:
            column = np.ma.MaskedArray(np.empty(len(params), dtype=object), mask=False)
            for k, values in enumerate(params):
                column[k] = values[name]
            results[f"param_{name}"] = column
        return results | {"rank_test_score": _ranks(means, stopped), "stopped": stopped}


def mean_score(scores: Array) -> float | None:
    """Return the mean of the scores that are known; None if none is."""
    known = scores[~np.isnan(scores)]
    return float(known.mean()) if len(known) else None


def _ranks(means: Array, stopped: Array) -> Array:
    """Return the rank of each candidate, from 1; equal ones share the better rank."""
    ranks = np.empty(len(means), dtype=np.int32)
    previous = None
    means = np.where(np.isnan(means), -np.inf, means)
    for place, k in enumerate(np.lexsort((-means, stopped))):
        tied = previous is not None and (stopped[k], means[k]) == (stopped[previous], means[previous])
        ranks[k] = ranks[previous] if tied else place + 1
        previous = k
    return ranks
