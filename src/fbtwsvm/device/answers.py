"""Answers for rows on a device: the same decision rule as here, through the array API.

Plane values, margins and the DAG are computed on the device.  Votes and the coupling of more than two classes are
loops, which run here on the margins; their results go back to the device.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays import Array, tiles
from .._namespace import as_float, device_of, dtype_name, full_products, is_foreign, like, namespace, to_numpy
from ..model import _pair_loops
from ..model.decision import VERY_MANY_CLASSES, Answers, PairRule, put_first
from ..solver.products import row_values, width_of
from .check import checked_labels, checked_weights
from .maps import DeviceMap, maps_on_device

_TILE_NUMBERS = 2**27  # features and margins that are held at a time


def answers_on_device(answers: Answers, method: str) -> bool:
    """Whether a method can be computed on a device: for one model, with a map that is known there.

    Probabilities of very many classes are those of a few of them, which a loop finds here.
    """
    mapping = answers.mapping
    few = method in ("predict", "decision_function") or len(answers.classes) <= VERY_MANY_CLASSES
    one = isinstance(answers.rule, PairRule) and mapping.columns is None
    return few and one and maps_on_device(mapping.transformer)


def answer_on_device(answers: Answers, X: Any, method: str) -> Any:
    """Return what a method answers for checked rows on a device, there; labels that are texts are of NumPy."""
    rule = DeviceRule(answers, X)
    if method == "predict":
        return labels_like(answers.classes, rule.winners(X))
    if method == "decision_function":
        return rule.margins(X) if len(answers.classes) == 2 else rule.scores(X)
    chances = rule.probabilities(X)
    return chances if method == "predict_proba" else namespace(chances).log(chances)


class DeviceRule:
    """The decision rule of a model, for checked rows like x."""

    def __init__(self, answers: Answers, x: Any) -> None:
        rule = answers.rule
        assert isinstance(rule, PairRule)
        self.rule, self.n_classes = rule, len(rule.planes)
        self.map = DeviceMap(answers.mapping, x[:0, :])
        dtype = dtype_name(x)
        self.first, self.second = np.triu_indices(self.n_classes, 1)
        planes = np.concatenate([rule.planes[self.first, self.second], rule.planes[self.second, self.first]])
        padded = np.zeros((len(planes), width_of(planes.shape[1])))
        padded[:, : planes.shape[1]] = planes
        self.planes = like(padded, x, dtype)
        self.tile = max(1, _TILE_NUMBERS // (padded.shape[1] + 4 * len(planes)))

    def winners(self, X: Any) -> Any:
        """Return the index of the class of each row, on the device."""
        return self._each(X, self._winners_of_tile)

    def margins(self, X: Any) -> Any:
        """Return the margins (n,) of two classes, on the device: positive means the second class."""
        offsets = self.rule.decision.offsets
        return self._each(X, lambda tile: as_float(self._margins(tile, offsets)[:, 0], "float64"))

    def scores(self, X: Any) -> Any:
        """Return scores (n, n_classes), on the device; the winner has the largest."""
        offsets = self.rule.decision.offsets
        return self._each(X, lambda tile: self._loop(tile, offsets, _pair_loops.vote_scores, with_winner=True))

    def probabilities(self, X: Any) -> Any:
        """Return class probabilities (n, n_classes), on the device."""
        decision = self.rule.decision
        if self.n_classes == 2:
            return self._each(X, self._two_probabilities)
        learned, calibrated = decision.learned_offsets, decision.calibrated
        return self._each(X, lambda tile: self._loop(tile, learned, _pair_loops.couple, with_winner=calibrated))

    def _each(self, X: Any, function: Any) -> Any:
        with full_products(X):
            parts = [function(X[part, :]) for part in tiles(0, X.shape[0], self.tile)]
        return parts[0] if len(parts) == 1 else namespace(X).concat(parts, axis=0)

    def _margins(self, X: Any, offsets: Array) -> Any:
        """Return the margins (n, n_pairs) of all pairs a < b, as `_pair_loops.pair_margin` does."""
        xp = namespace(X)
        values = xp.abs(row_values(self.map.rows(X), self.planes)).T
        count = len(self.first)
        near_first, near_second = values[:, :count], values[:, count:]
        floor, dtype = _pair_loops.FLOOR, dtype_name(X)
        offset, slope = (like(part[self.first, self.second], X, dtype) for part in (offsets, self.rule.decision.slopes))
        ratio = xp.log(xp.clip(near_first, floor, None)) - xp.log(xp.clip(near_second, floor, None))
        both_zero = (near_first <= floor) & (near_second <= floor)
        return xp.where(both_zero, xp.zeros_like(ratio), slope * (ratio - offset))

    def _winners_of_tile(self, X: Any) -> Any:
        return self._winners(self._margins(X, self.rule.decision.offsets))

    def _winners(self, margins: Any) -> Any:
        """Return the index of the class of each row, from its margins."""
        if self.rule.decision.multiclass == "vote" and self.n_classes > 2:
            scores = _pair_loops.vote_scores(self._square(to_numpy(margins)))
            return like(scores.argmax(axis=1), margins, np.int64)
        return self._walk(margins)

    def _walk(self, margins: Any) -> Any:
        """Return the winners of the DAG: each class in order plays against the winner so far."""
        xp = namespace(margins)
        n, count = int(margins.shape[0]), len(self.first)
        device = device_of(margins)
        king = xp.zeros((n,), dtype=xp.int64, device=device)
        flat, line = xp.reshape(margins, (-1,)), count * xp.arange(n, dtype=xp.int64, device=device)
        places = np.zeros((self.n_classes, self.n_classes), dtype=np.int64)
        places[self.first, self.second] = np.arange(count)
        for challenger in range(1, self.n_classes):
            pair = xp.take(like(places[:, challenger], margins, np.int64), king)
            beaten = xp.take(flat, line + pair) > 0.0
            king = xp.where(beaten, xp.full_like(king, challenger), king)
        return king

    def _two_probabilities(self, X: Any) -> Any:
        xp = namespace(X)
        margins = as_float(self._margins(X, self.rule.decision.learned_offsets)[:, 0], "float64")
        second = 1.0 / (1.0 + xp.exp(-margins))
        return xp.stack([1.0 - second, second], axis=1)

    def _square(self, margins: Array) -> Array:
        """Return the margins (n, n_classes, n_classes) of all ordered pairs."""
        square = np.zeros((len(margins), self.n_classes, self.n_classes))
        square[:, self.first, self.second] = margins
        square[:, self.second, self.first] = -margins
        return square

    def _loop(self, X: Any, offsets: Array, score: Any, *, with_winner: bool) -> Any:
        margins = self._margins(X, offsets)
        values = score(self._square(to_numpy(margins)))
        if with_winner:
            values = put_first(values, to_numpy(self._winners(margins)))
        return like(values, X, np.float64)


def labels_like(classes: Array, winners: Any) -> Any:
    """Return the labels of winners: on their device if labels are numbers, else as an array of NumPy."""
    if classes.dtype.kind not in "iufb":
        return classes[to_numpy(winners)]
    if classes.dtype.kind == "u":  # Torch hardly computes with most of these
        return like(classes[to_numpy(winners)], winners)
    return namespace(winners).take(like(classes, winners), winners)


def share_of_hits(predicted: Any, y: Any, weights: Any) -> float:
    """Return the share of the rows, by weight, whose labels were predicted."""
    n = int(predicted.shape[0])
    labels = checked_labels(y, n, predicted)
    if not is_foreign(predicted) or not is_foreign(labels):
        labels, predicted = to_numpy(labels), to_numpy(predicted)
    xp = namespace(predicted)
    hits = xp.astype(predicted == labels, xp.float64)
    given = checked_weights(weights, n, predicted)
    if given is None:
        return float(xp.mean(hits))
    if not float(xp.sum(given)) > 0:
        raise ValueError("There is no row to score: every sample_weight is zero.")
    return float(xp.sum(hits * given) / xp.sum(given))
