"""The folds of a search on a device: one map for each gamma and fold, all values of C and reg on its mapped rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._namespace import full_products, like, rows_at, to_numpy
from ..batch.hold_out import sample_rows
from ..batch.solve import Solved
from ..batch.trial_rows import TrialRows
from ..device.answers import DeviceRule
from ..device.check import checked_labels, checked_weights
from ..device.fit import find_scale, map_of
from ..device.home import DeviceHome
from ..device.keep import trimmed
from ..device.rows import DeviceRows, arrange_on_device
from ..device.solve import Sums, boxes_of, class_sums, decide, definite, memberships, solve_planes
from ..model.decision import Answers, PairRule
from ..model.rows import LARGE
from ..model.settings import Parameters, Settings
from ..solver.row_reader import GivenBoxes, MappedRows
from .folds import CALIBRATION_ROWS, COARSER, Folds, Params, fewer, key_of


@dataclass
class DeviceFold:
    """A fold on the device: training rows, their sums and distances, calibration rows, and the test rows.

    boxes   C w s for C = 1, for each mu and membership that was asked for
    planes  those of the last solution, from which the next one starts
    """

    home: DeviceHome
    sums: Sums
    settings: Settings
    wanted: Array
    calibration: MappedRows
    X_test: Any
    test: Array
    boxes: dict[tuple[float, str], Any] = field(default_factory=dict)
    planes: Array | None = None


class DeviceFolds(Folds):
    """All rows of a search, with X on the device and labels and weights here."""

    def _trial(self, parameters: Parameters, number: int | None) -> TrialRows:
        """Return a sample of the rows of a fold, or of all rows, for trials of the kernel."""
        part = np.arange(len(self.y)) if number is None else self.splits[number][0]
        rows, seed = self._arranged(parameters, part), parameters.seed()
        drawn = sample_rows(rows.starts, LARGE, np.random.default_rng(seed))
        return TrialRows(rows.subset(drawn), None, seed, rows.gamma_scale)

    def _arranged(self, parameters: Parameters, part: Array) -> DeviceRows:
        weights = None if bool((self.weights[part] == 1.0).all()) else self.weights[part]
        X = rows_at(self.X, part)
        place = X[:0, :]
        labels, given = checked_labels(self.y[part], len(part), place), checked_weights(weights, len(part), place)
        return arrange_on_device(X, labels, given, parameters.class_weight, place)

    def fold(self, params: Params, number: int) -> Any:
        """Map the rows of a fold, with these parameters of the map."""
        train, test, parameters = self._of_fold(params, number)
        rows, seed = self._arranged(parameters, train), parameters.seed()
        mapping, _, wanted = map_of(parameters, rows, seed, grows=False)
        with full_products(rows.place):
            home = DeviceHome(rows, mapping, parameters.precision)
            find_scale(home, parameters)
            home.hold()
            sums = class_sums(home)
        wanted = fewer(wanted, rows.starts, CALIBRATION_ROWS if parameters.decision == "calibrated" else 0)
        settings, X_test = parameters.settings(rows.n_classes), rows_at(self.X, test)
        return DeviceFold(home, sums, settings, wanted, home.take(wanted), X_test, test)

    def solve(self, fold: Any, candidates: list[Params], separate: bool) -> Iterator[tuple[int, Solved]]:
        """Yield the number of each candidate with its solution, in the order of reg and C."""
        groups: dict[Any, list[int]] = {}
        for number, params in enumerate(candidates):
            groups.setdefault(key_of(params), []).append(number)
        for key, numbers in groups.items():
            for number in sorted(numbers, key=lambda k: candidates[k].get("C") or 0.0):
                yield number, self._solved(fold, key, candidates[number].get("C"))

    def _solved(self, fold: DeviceFold, key: Any, C: float | None) -> Solved:
        mu, membership, reg = key
        home, given = fold.home, fold.settings
        ones = np.ones(home.n_classes)
        settings = replace(
            given,
            mu=given.mu if mu is None else mu,
            membership=given.membership if membership is None else membership,
            reg=given.reg if reg is None else reg * ones,
            C=given.C if C is None else C * ones,
            options=replace(given.options, tol=COARSER * given.options.tol),
        )
        with full_products(home.rows.place):
            boxes = GivenBoxes(self._boxes(fold, settings))
            grams = definite(fold.sums.grams, settings.reg, home.rows.classes, aloud=False)
            solution, _ = solve_planes(settings, home, boxes, grams, fold.calibration, fold.planes)
        fold.planes = solution.planes
        decision = decide(settings, home, fold.wanted, solution)
        return Solved(decision, trimmed(solution, home.map.n_columns), None)

    def _boxes(self, fold: DeviceFold, settings: Settings) -> Any:
        """Return the boxes of all rows; those of C = 1 are computed once."""
        key, home = (settings.mu, settings.membership), fold.home
        if key not in fold.boxes:
            plain = replace(settings, C=np.ones(home.n_classes))
            means = fold.sums.totals / like(home.class_weights, fold.sums.totals, np.float64)[:, None]
            extremes, distances = memberships(home, means, plain)
            ranges = extremes.ranges(plain.mu, plain.membership)
            fold.boxes[key] = boxes_of(home, distances, ranges, plain)
        return fold.boxes[key] * like(settings.C, fold.boxes[key], home.rows.dtype)

    def score(self, fold: Any, solved: Solved, params: Params) -> float:
        """Return the accuracy of a solution on the test rows of a fold."""
        mapping, classes = fold.home.mapping, fold.home.rows.classes
        planes = solved.solution.planes.astype(mapping.dtype)
        rule = DeviceRule(Answers(classes, mapping, PairRule(solved.decision, planes)), fold.X_test)
        return float(np.mean(classes[to_numpy(rule.winners(fold.X_test))] == self.y[fold.test]))
