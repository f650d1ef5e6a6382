"""The folds of a search: mapped rows and Gram matrices that candidates share, and the solutions and their scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array
from .._threads import Threads
from ..batch.choose_gamma import choose_gamma
from ..batch.choose_kernel import KernelChoice, choose_kernel, given_metric, learns_metric
from ..batch.model import BatchModel
from ..batch.prepare import Prepared, ordered, prepare
from ..batch.solve import Calibration, Solved, marked
from ..batch.trial_rows import TrialRows
from ..classifier import FBTWSVM, parameters_of, with_model
from ..features.fourier import FourierFeatures
from ..model.decision import PairRule
from ..model.mapping import Mapping
from ..model.settings import Parameters
from ..solver.factors import gram_matrix
from ..solver.problem import Problem, Solution

Params = dict[str, Any]
COARSER = 10.0  # the search solves planes to so many times tol, which hardly changes their scores
CALIBRATION_ROWS = 100  # of each class in the search, which is enough to rank candidates
_Key = tuple[Any, Any, Any]  # mu, membership, reg
Scorer = Callable[[Any, Any, Any], float]


@dataclass
class _Shared:
    """All rows, mapped once by a map that is the same in every fold, and the Gram matrix of each class.

    The map is not scaled yet: its scale is that of the training rows of a fold.
    """

    mapping: Mapping
    rows: Array
    grams: dict[Any, Array]


@dataclass
class Fold:
    """A fold: its training rows as the solver needs them, their Gram matrices, and the mapped test rows."""

    prepared: Prepared
    grams: list[Array] | None
    test_rows: Array
    test: Array
    number: int


@dataclass
class Folds:
    """All rows of a search and its splits into (train, test); a scorer of None is accuracy.

    The estimator has the parameters that are not searched.  `groups` are for gamma="auto".
    """

    estimator: FBTWSVM
    X: Any
    y: Array
    weights: Array
    groups: Array | None
    splits: list[tuple[Array, Array]]
    scorer: Scorer | None
    _shared: _Shared | None = None
    _kernels: dict[tuple[str, int | None], KernelChoice] = field(default_factory=dict)  # by metric and fold, or None
    _alpha: dict[int, Array] = field(default_factory=dict)  # duals of the last solution of each fold

    def __len__(self) -> int:
        return len(self.splits)

    def gamma(self, way: str, metric: Any) -> float:
        """Return what gamma="auto" or "scale" is on all rows of the search, with this setting of the metric."""
        parameters = replace(self._parameters({"metric": metric}), gamma=way, metric=self.metric(metric))
        trial = self._trial(parameters, None)
        gamma = choose_gamma(parameters, trial, metric=given_metric(parameters, self.X.shape[1]))
        assert gamma is not None  # only called if the kernel has a gamma
        return gamma

    def metric(self, setting: Any, number: int | None = None) -> Any:
        """Return what a setting of the metric stands for on a fold, or on all rows: learned factors, or "none".

        They are learned with gamma="auto", since the values of gamma that are tried are numbers.
        """
        parameters = replace(self._parameters({"metric": setting}), gamma="auto")
        if not learns_metric(parameters):
            return parameters.metric
        found = self._kernel(parameters, number).metric
        return "none" if found is None else tuple(found.tolist())

    def _kernel(self, parameters: Parameters, number: int | None) -> KernelChoice:
        """Return gamma and metric on a fold, or on all rows, and remember them."""
        key = (parameters.metric, number)
        if key not in self._kernels:
            self._kernels[key] = choose_kernel(parameters, self._trial(parameters, number))
        return self._kernels[key]

    def last_metric(self, params: Params) -> tuple[Any, int]:
        """Return the metric with which a candidate is fitted on all rows, and the rounds in which it was learned.

        Where gamma is searched, the metric is what its setting stands for on all rows of the search.
        """
        setting = params.get("metric", self.estimator.metric)
        parameters = replace(self._parameters({"metric": setting}), gamma="auto")
        if "gamma" not in params or not learns_metric(parameters):
            return setting, 0
        return self.metric(setting), self._kernel(parameters, None).rounds

    def _parameters(self, params: Params) -> Parameters:
        return parameters_of(clone(self.estimator).set_params(**params))

    def _trial(self, parameters: Parameters, number: int | None) -> TrialRows:
        """Return the rows of a fold, or all rows, for trials of the kernel."""
        part = slice(None) if number is None else self.splits[number][0]
        _, rows, _, _ = ordered(parameters, self.X[part], self.y[part], self.weights[part])
        return TrialRows(rows, None if self.groups is None else self.groups[part], parameters.seed())

    def _of_fold(self, params: Params, number: int) -> tuple[Array, Array, Parameters]:
        """Return the training and test rows of a fold, by their places, and all parameters with its metric."""
        train, test = self.splits[number]
        if not len(train) or not len(test):
            raise ValueError("The fold has no rows in the sample of the search: raise sample, or set it to None.")
        parameters = self._parameters(params)
        if "gamma" in params:
            parameters = replace(parameters, metric=self.metric(parameters.metric, number))
        return train, test, parameters

    def fold(self, params: Params, number: int) -> Fold:
        """Prepare the rows of a fold, with these parameters of the map."""
        train, test, parameters = self._of_fold(params, number)

        def mapped(mapping: Mapping) -> Array | None:
            shared = self._share(mapping)
            return None if shared is None else shared.rows[train]

        X, y, weights = self.X[train], self.y[train], self.weights[train]
        groups = None if self.groups is None else self.groups[train]
        prepared = prepare(parameters, X, y, weights, grows=False, known=mapped, groups=groups)
        if self.scorer is None:  # labels need offsets of pairs at most; probabilities are not asked for
            most = CALIBRATION_ROWS if prepared.settings.decision == "calibrated" else 0
            prepared = replace(prepared, wanted=fewer(prepared.wanted, prepared.rows.starts, most))
        if self._shared is None:
            test_rows = prepared.mapping.rows(self.X[test], threads=Threads(parameters.n_jobs))
        else:
            test_rows = self._shared.rows[test]
            test_rows[:, :-1] *= test_rows.dtype.type(prepared.mapping.scale)
        return Fold(prepared, self._fold_grams(prepared, train, test), test_rows, test, number)

    def _share(self, mapping: Mapping) -> _Shared | None:
        """Return all rows mapped if the map does not depend on the rows of a fold, and None otherwise."""
        if not (mapping.transformer is None or isinstance(mapping.transformer, FourierFeatures)):
            self._shared = None
        elif self._shared is None or not self._shared.mapping.same_as(mapping):
            rows = mapping.rows(self.X, threads=Threads(self.estimator.n_jobs))
            self._shared = _Shared(copy(mapping), rows, self._class_grams(rows, np.arange(len(self.y))))
        return self._shared

    def _class_grams(self, rows: Array, index: Array) -> dict[Any, Array]:
        """Return the Gram matrix of each class over some of the rows."""
        grams = {}
        for label in np.unique(self.y):
            own = index[self.y[index] == label]
            grams[label] = gram_matrix(rows[own], self.weights[own])
        return grams

    def _fold_grams(self, prepared: Prepared, train: Array, test: Array) -> list[Array] | None:
        """Return the Gram matrix of each class over the training rows of a fold; None for the exact kernel.

        Where the folds share a map, it is that of all rows minus that of the test rows, in the scale and class weights
        of the fold.
        """
        rows = prepared.rows
        if prepared.mapping.exact:
            return None
        bounds = list(pairwise(rows.starts.tolist()))
        everything = np.sort(np.concatenate([train, test]))
        if self._shared is None or not np.array_equal(everything, np.arange(len(self.y))):
            return [gram_matrix(prepared.data[a:b], rows.weights[a:b]) for a, b in bounds]
        test_grams = self._class_grams(self._shared.rows, test)
        scale = np.full(prepared.data.shape[1], prepared.mapping.scale)
        scale[-1] = 1.0
        grams = []
        for label, (a, b) in zip(prepared.classes, bounds, strict=True):
            factor = rows.weights[a:b].sum() / self.weights[train[self.y[train] == label]].sum()
            grams.append(factor * scale[:, None] * (self._shared.grams[label] - test_grams[label]) * scale)
        return grams

    def solve(self, fold: Fold, candidates: list[Params], separate: bool) -> Iterator[tuple[int, Solved]]:
        """Yield the number of each candidate with its solution; with `separate` C and reg may be pairs."""
        if separate:
            yield from self._solve_pairs(fold, candidates)
            return
        groups: dict[_Key, list[int]] = {}
        for number, params in enumerate(candidates):
            groups.setdefault(key_of(params), []).append(number)
        for key, numbers in groups.items():
            solutions = self._solve_path(fold, key, {candidates[number].get("C") for number in numbers})
            for number in numbers:
                yield number, solutions[candidates[number].get("C")]

    def _solve_path(self, fold: Fold, key: _Key, values_of_C: set[Any]) -> dict[Any, Solved]:
        """Return the solution for each value of C, where mu, membership and reg are the same."""
        mu, membership, reg = key
        ones = np.ones(len(fold.prepared.classes))
        values = [None] if values_of_C == {None} else sorted(values_of_C)
        changes = {
            "mu": mu,
            "membership": membership,
            "reg": None if reg is None else reg * ones,
            "C": None if values == [None] else ones,
        }
        settings = replace(
            fold.prepared.settings, **{name: value for name, value in changes.items() if value is not None}
        )
        options = replace(settings.options, tol=COARSER * settings.options.tol)
        settings = replace(settings, options=options)
        multiples = [1.0 if C is None else float(C) for C in values]
        # Values of gamma and reg beside each other have similar duals: each is solved from those of the one before.
        solved = fold.prepared.solve(settings, multiples, fold.grams, alpha=self._alpha.get(fold.number))
        self._alpha[fold.number] = solved[0].solution.alpha
        return dict(zip(values, solved, strict=True))

    def _solve_pairs(self, fold: Fold, candidates: list[Params]) -> Iterator[tuple[int, Solved]]:
        """Yield the number of each candidate with its solution, where each of two planes has its own C and reg."""
        first, second = ([_of_plane(params, plane) for params in candidates] for plane in (0, 1))
        values_of_C: dict[_Key, set[Any]] = {}
        for pair in zip(first, second, strict=True):
            for params in pair:
                values_of_C.setdefault(key_of(params), set()).add(params.get("C"))
        solutions = {key: self._solve_path(fold, key, values) for key, values in values_of_C.items()}
        for number, pair in enumerate(zip(first, second, strict=True)):
            one, other = (solutions[key_of(params)][params.get("C")] for params in pair)
            yield number, _joined(one, other, fold.prepared)

    def score(self, fold: Fold, solved: Solved, params: Params) -> float:
        """Return the score of a solution on the test rows of a fold."""
        prepared = fold.prepared
        planes = solved.solution.planes
        if self.scorer is None:
            winners = PairRule(solved.decision, planes).winners(fold.test_rows)
            return float(np.mean(prepared.classes[winners] == self.y[fold.test]))
        fitted = BatchModel(
            classes=prepared.classes,
            gamma=prepared.gamma,
            mapping=prepared.mapping,
            decision=solved.decision,
            planes=planes,
            gaps=solved.solution.gaps,
            n_iter=int(solved.solution.sweeps.max()),
            dtype=self.X.dtype,
        )
        estimator = clone(self.estimator).set_params(**params)
        model = with_model(estimator, fitted, {"n_features_in_": self.X.shape[1]})
        return float(self.scorer(model, self.X[fold.test], self.y[fold.test]))


def fewer(wanted: Array, starts: Array, most: int) -> Array:
    """Return at most so many of the numbers of each class, evenly spaced."""
    fewer = [wanted[:0]]
    for first, last in pairwise(np.searchsorted(wanted, starts).tolist()):
        fewer.append(wanted[first + np.linspace(0, last - first - 1, min(most, last - first)).astype(np.int64)])
    return np.concatenate(fewer)


def key_of(params: Params) -> _Key:
    """Return the parameters except C that the planes depend on."""
    return params.get("mu"), params.get("membership"), params.get("reg")


def _of_plane(params: Params, plane: int) -> Params:
    """Return the parameters of one of two planes."""
    return {name: value[plane] if isinstance(value, tuple) else value for name, value in params.items()}


def _joined(one: Solved, other: Solved, prepared: Prepared) -> Solved:
    """Join the plane near the first class of one solution and the plane near the second class of another."""
    settings, rows = prepared.settings, prepared.rows
    wanted = marked(prepared.wanted, rows.n)
    problem = Problem(rows.starts, settings.reg, settings.options, rows.weights, wanted)
    (_, first), (_, second) = problem.wanted_rows(0), problem.wanted_rows(1)
    solution = Solution(**{name: value.copy() for name, value in vars(one.solution).items()})
    for name in ("planes", "gaps", "sweeps"):
        getattr(solution, name)[1] = getattr(other.solution, name)[1]
    solution.alpha[:, 1] = other.solution.alpha[:, 1]
    solution.near[second] = other.solution.near[second]
    solution.far[first, 1] = other.solution.far[first, 1]
    decision = Calibration.of_problem(problem).decide(solution, settings, prepared.kernel)
    return Solved(decision, solution, one.memberships)
