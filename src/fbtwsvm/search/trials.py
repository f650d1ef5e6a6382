"""What a search tries: candidates in folds, with maps, Gram matrices and solutions shared between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array
from .._threads import Threads
from ..batch.model import BatchModel
from ..batch.prepare import Prepared, choose_gamma, ordered, prepare
from ..batch.solve import Solved, calibrated
from ..classifier import FBTWSVM, parameters_of, with_model
from ..features.fourier import FourierFeatures
from ..model.decision import PairRule
from ..model.mapping import Mapping
from ..solver.factors import gram_matrix
from ..solver.problem import Problem, Solution

_BEHIND = 2.0  # standard errors
_MAPPING = ("gamma", "n_components")  # parameters that change the map
_PLANE = ("C", "reg")  # those that each plane may have of its own

Params = dict[str, Any]
Scorer = Callable[[Any, Any, Any], float]
Tell = Callable[[str], None]


@dataclass
class Trial:
    """One candidate and its scores so far, NaN in folds that it was not tried in."""

    params: Params
    scores: Array
    stopped: bool = False


@dataclass
class _Shared:
    """All rows, mapped once by a map that does not depend on the fold, and the Gram matrix of every class.

    The map is not scaled yet: its scale is that of a fold's training rows.
    """

    mapping: Mapping
    rows: Array
    grams: dict[Any, Array]


@dataclass
class _Fold:
    """A fold: its training rows as the engine wants them, and the rows held out, mapped."""

    prepared: Prepared
    grams: list[Array] | None
    held_out: Array
    test: Array


class Trials:
    """Candidates and what has been found out about them.

    Parameters
    ----------
    estimator : FBTWSVM
        Parameters that are not searched for.
    X, y, weights : arrays
        All rows of the search.
    splits : list of (train, test)
        Folds.
    scorer : callable or None
        None counts right answers.
    early_stop : bool
        Whether candidates that are far behind are left out of further folds.
    separate : bool
        Whether C and reg are pairs, one value for each of two planes.
    """

    def __init__(
        self,
        estimator: FBTWSVM,
        X: Any,
        y: Array,
        weights: Array,
        splits: list[tuple[Array, Array]],
        scorer: Scorer | None,
        *,
        early_stop: bool,
        separate: bool,
    ) -> None:
        self.estimator, self.X, self.y, self.weights, self.splits = estimator, X, y, weights, splits
        self.scorer, self.early_stop, self.separate = scorer, early_stop, separate
        self.trials: list[Trial] = []
        self.best = np.full(len(splits), -np.inf)  # best mean score over the first folds
        self._shared: _Shared | None = None

    def usual_gamma(self) -> float:
        """Return what gamma="auto" finds on all rows of the search."""
        parameters = parameters_of(clone(self.estimator).set_params(gamma="auto"))
        classes, rows, _, _ = ordered(parameters, self.X, self.y, self.weights)
        found = choose_gamma(parameters, rows, parameters.settings(len(classes)), parameters.seed())
        assert found is not None  # asked for only where the kernel has a gamma
        return found

    def candidates(self, grid: dict[str, list[Any]]) -> list[Trial]:
        """Return a trial for every combination of the values."""
        found = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
        if self.separate:
            names = [name for name in _PLANE if name in grid]
            rest = [name for name in grid if name not in _PLANE]
            found = [
                {**one, **{name: (one[name], other[name]) for name in names}}
                for one, other in product(found, found)
                if all(one[name] == other[name] for name in rest)
            ]
        return [Trial(params, np.full(len(self.splits), np.nan)) for params in found]

    def run(self, trials: list[Trial], tell: Tell) -> None:
        """Try candidates that share a map, fold after fold."""
        self.trials += trials
        mapping = {name: trials[0].params[name] for name in _MAPPING if name in trials[0].params}
        for number in range(len(self.splits)):
            alive = [trial for trial in trials if not trial.stopped]
            if alive:
                fold = self._fold(mapping, number)
                for trial, machine in self._machines(fold, alive):
                    trial.scores[number] = self._score(fold, machine, trial.params)
                self._compare(alive, number)
            tell(f"best score {self.best[number]:.4f}")

    def best_trial(self) -> Trial:
        """Return the candidate with the best mean of those that did not stop."""
        return max((trial for trial in self.trials if not trial.stopped), key=lambda trial: float(trial.scores.mean()))

    def _compare(self, trials: list[Trial], number: int) -> None:
        """Stop candidates that are far behind the best after this fold."""
        means = [float(trial.scores[: number + 1].mean()) for trial in trials]
        self.best[number] = max(self.best[number], *means)
        if self.early_stop and number + 1 < len(self.splits):
            tested = sum(len(test) for _, test in self.splits[: number + 1])
            best = self.best[number]
            error = np.sqrt(max(best * (1.0 - best), 1.0 / tested) / tested)
            for trial, mean in zip(trials, means, strict=True):
                trial.stopped = mean < best - _BEHIND * error

    def _fold(self, mapping: Params, number: int) -> _Fold:
        """Prepare the rows of a fold; where all folds have one map, its rows and Gram matrices are there already."""
        train, test = self.splits[number]
        parameters = parameters_of(clone(self.estimator).set_params(**mapping))

        def known(fitted: Mapping) -> Array | None:
            shared = self._share(fitted)
            return None if shared is None else shared.rows[train]

        found = prepare(parameters, self.X[train], self.y[train], self.weights[train], grows=False, known=known)
        if self.scorer is None:
            # Planes are compared by their plain values, or the paper's distances, which need no left-out rows: offsets
            # learned on these would cost more than the planes and hardly change which are best.
            settings = found.settings
            rule = "value" if settings.decision == "calibrated" else settings.decision
            nobody = np.zeros(found.rows.n, dtype=bool)
            found = replace(found, wanted=nobody, settings=replace(settings, decision=rule))
        shared = self._shared
        if shared is None:
            held_out = found.mapping.rows(self.X[test], threads=Threads(parameters.n_jobs))
        else:
            held_out = shared.rows[test]
            held_out[:, :-1] *= held_out.dtype.type(found.mapping.scale)
        return _Fold(found, self._grams(found, train, test), held_out, test)

    def _share(self, fitted: Mapping) -> _Shared | None:
        """Return all rows mapped, if the map owes nothing to the rows of a fold; None otherwise."""
        if not (fitted.transformer is None or isinstance(fitted.transformer, FourierFeatures)):
            self._shared = None
        elif self._shared is None or not self._shared.mapping.same_as(fitted):
            rows = fitted.rows(self.X, threads=Threads(self.estimator.n_jobs))
            self._shared = _Shared(copy(fitted), rows, self._class_grams(rows, np.arange(len(self.y))))
        return self._shared

    def _class_grams(self, rows: Array, index: Array) -> dict[Any, Array]:
        """Gram matrix of each class over some of the rows."""
        grams = {}
        for label in np.unique(self.y):
            own = index[self.y[index] == label]
            grams[label] = gram_matrix(rows[own], self.weights[own])
        return grams

    def _grams(self, found: Prepared, train: Array, test: Array) -> list[Array] | None:
        """Gram matrices of a training fold: the total less the held-out part, in the fold's scale and class weights."""
        rows = found.rows
        if found.mapping.exact:
            return None
        parts = np.sort(np.concatenate([train, test]))
        if self._shared is None or not np.array_equal(parts, np.arange(len(self.y))):
            return [gram_matrix(found.data[a:b], rows.weights[a:b]) for a, b in pairwise(rows.starts.tolist())]
        held = self._class_grams(self._shared.rows, test)
        scale = np.full(found.data.shape[1], found.mapping.scale)
        scale[-1] = 1.0
        grams = []
        for label, (a, b) in zip(found.classes, pairwise(rows.starts.tolist()), strict=True):
            factor = rows.weights[a:b].sum() / self.weights[train[self.y[train] == label]].sum()
            grams.append(factor * scale[:, None] * (self._shared.grams[label] - held[label]) * scale)
        return grams

    def _machines(self, fold: _Fold, trials: list[Trial]) -> Iterator[tuple[Trial, Solved]]:
        """Learn the machines of candidates: all values of C in one go, for each value of the others."""
        found = fold.prepared
        solved: dict[tuple[Any, ...], Solved] = {}
        for key, values_of_C in self._wanted(trials).items():
            mu, membership, reg = key
            settings = found.settings
            changes = {
                "mu": mu,
                "membership": membership,
                "reg": None if reg is None else np.full(len(found.classes), reg),
            }
            if values_of_C != [None]:
                changes["C"] = np.ones(len(found.classes))
            settings = replace(settings, **{name: value for name, value in changes.items() if value is not None})
            multiples = [1.0 if C is None else float(C) for C in values_of_C]
            machines = found.solve(settings, multiples, fold.grams)
            if not self.separate:
                for C, machine in zip(values_of_C, machines, strict=True):
                    solved[*key, C] = machine
                for trial in trials:
                    if self._key(trial.params) == key:
                        yield trial, solved[*key, trial.params.get("C")]
                solved.clear()
            else:
                solved.update({(*key, C): machine for C, machine in zip(values_of_C, machines, strict=True)})
        if self.separate:
            for trial in trials:
                one, other = (solved[*self._key(trial.params, k), _own(trial.params.get("C"), k)] for k in (0, 1))
                yield trial, _joined(one, other, found)

    def _wanted(self, trials: list[Trial]) -> dict[tuple[Any, ...], list[Any]]:
        """Values of C that are wanted, for each value of mu, membership and reg."""
        wanted: dict[tuple[Any, ...], set[Any]] = {}
        for trial in trials:
            for plane in (0, 1) if self.separate else (0,):
                C = trial.params.get("C")
                wanted.setdefault(self._key(trial.params, plane), set()).add(_own(C, plane))
        return {key: [None] if values_of_C == {None} else sorted(values_of_C) for key, values_of_C in wanted.items()}

    def _key(self, params: Params, plane: int = 0) -> tuple[Any, ...]:
        """Everything but C that a plane's solution depends on."""
        return params.get("mu"), params.get("membership"), _own(params.get("reg"), plane)

    def _score(self, fold: _Fold, machine: Solved, params: Params) -> float:
        """Score a machine on the rows held out."""
        found, planes = fold.prepared, machine.solution.planes
        if self.scorer is None:
            winners = PairRule(machine.decision, planes).winners(fold.held_out)
            return float(np.mean(found.classes[winners] == self.y[fold.test]))
        fitted = BatchModel(
            classes=found.classes,
            gamma=found.gamma,
            mapping=found.mapping,
            decision=machine.decision,
            planes=planes,
            gaps=machine.solution.gaps,
            n_iter=int(machine.solution.sweeps.max()),
            dtype=self.X.dtype,
        )
        estimator = clone(self.estimator).set_params(**params)
        model = with_model(estimator, fitted, {"n_features_in_": self.X.shape[1]})
        return float(self.scorer(model, self.X[fold.test], self.y[fold.test]))

    def results(self) -> dict[str, Any]:
        """Return all scores as GridSearchCV does; candidates that stopped rank behind those that did not."""
        scores = np.array([trial.scores for trial in self.trials])
        stopped = np.array([trial.stopped for trial in self.trials])
        params = [trial.params for trial in self.trials]
        means = np.nanmean(scores, axis=1)
        order = np.lexsort((-means, stopped))
        ranks = np.empty(len(means), dtype=np.int32)
        previous = None
        for place, k in enumerate(order):
            same = previous is not None and (stopped[k], means[k]) == (stopped[previous], means[previous])
            ranks[k] = ranks[previous] if same else place + 1
            previous = k
        found: dict[str, Any] = {
            "params": params,
            "mean_test_score": means,
            "std_test_score": np.nanstd(scores, axis=1),
        }
        found |= {f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])}
        for name in params[0]:
            column = np.ma.MaskedArray(np.empty(len(params), dtype=object), mask=False)
            for k, values in enumerate(params):
                column[k] = values[name]
            found[f"param_{name}"] = column
        return found | {"rank_test_score": ranks, "stopped": stopped}


def _own(value: Any, plane: int) -> Any:
    """Value of one of two planes."""
    return value[plane] if isinstance(value, tuple) else value


def _joined(one: Solved, other: Solved, found: Prepared) -> Solved:
    """Take the plane near the first class from one result, that near the second from another."""
    problem = Problem(found.rows.starts, found.rows.weights, found.settings.reg, found.wanted, found.settings.options)
    (_, first), (_, second) = problem.wanted_rows(0), problem.wanted_rows(1)
    solution = Solution(**{name: value.copy() for name, value in vars(one.solution).items()})
    for name in ("planes", "gaps", "sweeps"):
        getattr(solution, name)[1] = getattr(other.solution, name)[1]
    solution.alpha[:, 1] = other.solution.alpha[:, 1]
    solution.near[second], solution.far[first, 1] = other.solution.near[second], other.solution.far[first, 1]
    return Solved(calibrated(solution, problem, found.settings, found.kernel), solution, one.memberships)
