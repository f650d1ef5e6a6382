"""metric="auto" and "columns": factors of the columns, by how fast a classifier changes along each of them.

A kernel sees all columns alike.  The gradients of a classifier tell which of them matter (the diagonal of the "average
gradient outer product" of recursive feature machines); with the columns multiplied by the root mean square of their
slopes, a kernel learns better, which sharpens the gradients.  The classifier is ridge regression on landmarks (see
`ridge`).  Each third of a sample is held out in turn: factors that are learned without it are judged on it, so that a
round of this is taken only where it helps with new rows, by more than chance.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve

from .._arrays import Array, tiles
from .._log import LOG
from .._steps import Steps
from ..features.gradients import kernel_gradient
from ..features.kernels import column_variances, scaled, similarity
from ..solver.factors import gram_matrix
from .hold_out import ENOUGH, FOLDS, contiguous_folds, group_folds, is_sorted_by_columns, shuffled_folds
from .one_hot import one_hot_blocks
from .ridge import RIDGE, landmark_rows, one_against_rest, ridge_factor
from .trial_rows import TrialRows

_SAMPLE, _OF_EACH_CLASS = 2000, 25  # rows of the sample: so many, or so many for each class
_LARGE_SAMPLE, _SHARE = 4000, 5  # of much data: so many rows, but at most one in five
_MOST_LANDMARKS = 400
_STREAM_SAMPLE, _STREAM_LANDMARKS, _ROWS_OF_LANDMARK = 4000, 150, 17  # of a stream, which has little time for it
_ENOUGH_HELD_OUT = 1500  # in a sample of so many rows of a stream, one third that is held out is enough
_LEAST_DISTINCT = 300  # with fewer distinct rows, "auto" takes no metric: chance is too large
_LEAST_AFTER_CHANGE = 150  # the same where a metric is compared with the present one
_MOST_COLUMNS = 2000  # with more columns, "auto" takes no metric: it would take too long
_RIDGE = 10.0 * RIDGE  # smoother than the classifier: slopes are noisier than values
_ROUNDS = 5
_FIRST, _LATER = 3.0, 1.0  # standard errors by which the loss must fall in the first round, and in later ones
_STEPS = 10  # most times that gamma is doubled or halved in a round
_GRADIENT_ROWS = 600
_MOST_SLOPES = 2**25  # numbers that the slopes of one class in a kernel other than rbf may take
_WIDE = 100  # beyond so many columns, distances are computed in float32
_SIGNS = 4  # random sums of the classes whose gradients stand for those of many classes
_ALIKE = 0.2  # relative difference of factors that is not worth a judgement
_FLOOR = 1e-3  # smallest factor, times the largest
_SHARPNESS = (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0)  # factors that turn ridge values into log-odds
_TILE = 128  # rows whose gradients are computed together


@dataclass(frozen=True)
class LearnedMetric:
    """Factors of the columns, and the number of rounds in which they were found."""

    factors: Array
    rounds: int


@dataclass(frozen=True)
class _Learner:
    """What was learned without a fold, in a metric: weights of the landmarks, and a bias."""

    factors: Array
    similarities: Array  # of all rows to the landmarks
    planes: Array


@dataclass(frozen=True)
class _Round:
    """The judgement of factors, with the best gamma: losses of the judged rows, and the learner of each fold."""

    learners: list[_Learner]
    gamma: float
    errors: Array  # squared errors of ridge values, clipped to [-1, 1]
    misses: Array
    log_losses: Array  # minus log-probability of the right class


def learn_metric(
    trial: TrialRows, kernel: str, gamma: float, *, always: bool = False, any_gamma: bool = True
) -> Steps[LearnedMetric | None]:
    """Return factors of the columns, in pieces; None if they do not help by more than chance.

    gamma      the gamma that suits the rows without a metric
    always     return the best factors, whether or not they help
    any_gamma  judge factors with the gamma that suits them best, rather than with `gamma`
    """
    n_columns = trial.all.X.shape[1]
    if n_columns < 2 or (not always and (trial.all.n < _LEAST_DISTINCT or n_columns > _MOST_COLUMNS)):
        return None
    rounds = _Rounds(trial, kernel, any_gamma=any_gamma)
    if len(rounds.labels) < _LEAST_DISTINCT and not always:
        return None
    return (yield from rounds.run(gamma, always=always))


def better_metric(
    trial: TrialRows, kernel: str, present: Array, gamma: float, start: Array, *, any_gamma: bool = True
) -> Steps[LearnedMetric | None]:
    """Return, in pieces, factors of the columns that are better than the present ones; None if there are none.

    present, gamma  the factors and the gamma in use
    start           factors to begin the rounds with
    """
    size = min(trial.n, _STREAM_SAMPLE)
    most = max(_STREAM_LANDMARKS, size // _ROWS_OF_LANDMARK)
    rounds = _Rounds(trial, kernel, any_gamma=any_gamma, most=most, size=size)
    if len(rounds.labels) < _LEAST_AFTER_CHANGE:
        return None
    if len(rounds.labels) >= _ENOUGH_HELD_OUT:
        rounds.hold_out_once()
    return (yield from rounds.better(present, gamma, start))


class _Rounds:
    """A sample of the rows, and the rounds that are judged on it."""

    def __init__(
        self, trial: TrialRows, kernel: str, *, any_gamma: bool, most: int = _MOST_LANDMARKS, size: int = 0
    ) -> None:
        random = np.random.default_rng(trial.seed)
        size = size or max(_SAMPLE, min(_LARGE_SAMPLE, trial.n // _SHARE), _OF_EACH_CLASS * trial.n_classes)
        drawn = trial.sample(size, random)
        sample = drawn.rows
        self.kernel, self.any_gamma, self.random = kernel, any_gamma, random
        self.labels, self.weights = sample.labels, sample.weights / sample.weights.mean()
        self.X, self.unit = _of_size_one(sample.X, self.weights)
        self.targets = one_against_rest(self.labels)
        self.landmarks, self.judged = drawn.landmarks(random, most)
        self.folds, self.n_folds = shuffled_folds(self.labels, random), FOLDS
        if drawn.groups is not None:
            by_group = group_folds(drawn.groups)
            if ((by_group >= 0) & self.judged).mean() > ENOUGH:
                self.folds = by_group
        self.ordered = not trial.small and drawn.groups is None  # the order of the rows may tell something
        self.variances = column_variances(self.X, self.weights)
        self.blocks = one_hot_blocks(self.X)

    def hold_out_once(self) -> None:
        """Hold out one third of the rows only."""
        self.folds, self.n_folds = np.where(self.folds == 0, 0, -1), 1

    def run(self, gamma: float, *, always: bool) -> Steps[LearnedMetric | None]:
        """Take rounds as long as they help."""
        gamma *= self._gamma_unit
        alike = [np.ones(self.X.shape[1])] * FOLDS
        start = yield from self._best_gamma(alike, gamma)
        if self._mean(start.misses) == 1.0:  # no class is in several groups: held-out groups tell nothing
            self.folds = shuffled_folds(self.labels, self.random)
            start = yield from self._best_gamma(alike, gamma)
        taken, rounds = yield from self._sharpened(start, always=always)
        if not rounds or not (always or (yield from self._holds_in_order(start, taken))):
            LOG.info("metric: none, all columns count alike")
            return None
        LOG.info("metric: learned in %d rounds, held-out squared error %.4f -> %.4f", rounds,
                 self._mean(start.errors), self._mean(taken.errors))  # fmt: skip
        return LearnedMetric(self._normalised(_mean_factors(taken)), rounds)

    def better(self, present: Array, gamma: float, begin: Array) -> Steps[LearnedMetric | None]:
        """Take rounds that begin with some factors; return what they find if that is better than the present ones."""
        gamma *= self._gamma_unit
        usual = 1.0 / self.X.shape[1] if self.any_gamma else gamma  # "scale", since the mean variance is one
        present, begin = self._normalised(present), self._normalised(begin)
        start = before = yield from self._best_gamma([begin] * self.n_folds, usual)
        if not np.allclose(present, begin, rtol=_ALIKE):
            before = yield from self._best_gamma([present] * self.n_folds, gamma)
        taken, rounds = yield from self._sharpened(start, down=False)
        if taken is before or not self._helps(before, taken, _LATER if rounds else _FIRST):
            LOG.info("metric: stays as it is")
            return None
        LOG.info("metric: learned again, held-out squared error %.4f -> %.4f", self._mean(before.errors),
                 self._mean(taken.errors))  # fmt: skip
        return LearnedMetric(self._normalised(_mean_factors(taken)), max(rounds, 1))

    @property
    def _gamma_unit(self) -> float:
        """Factor on gamma for rows that were divided by the unit."""
        return self.unit if self.kernel == "laplacian" else self.unit**2

    def _sharpened(self, start: _Round, *, always: bool = False, down: bool = True) -> Steps[tuple[_Round, int]]:
        """Take rounds as long as they help, `always` at least one; return the best, and how many rounds it took.

        Sharper factors usually go with a larger gamma; without `down`, smaller ones are not tried.
        """
        last = taken = start
        rounds, failed = 0, 0
        for number in range(1, _ROUNDS + 1):
            sharper = self._sharper(last)
            yield
            last = yield from self._best_gamma(sharper, last.gamma, down=down)
            gain = _gain(taken.errors, last.errors, self._judged_weights())
            LOG.debug(
                "metric, round %d: squared error %.4f (%.1f standard errors), misses %.4f, log loss %.4f",
                number, self._mean(last.errors), gain, self._mean(last.misses), self._mean(last.log_losses),
            )  # fmt: skip
            if self._helps(taken, last, _LATER if rounds else _FIRST) or (always and not rounds):
                taken, rounds, failed = last, number, 0
            else:
                failed += 1
                if failed == 2 or gain < 0:
                    break
        return taken, rounds

    def _helps(self, before: _Round, after: _Round, least: float) -> bool:
        """Whether factors lower the loss by so many standard errors, and make nothing else worse."""
        worse = self._mean(after.misses - before.misses) > 0 or self._mean(after.log_losses - before.log_losses) > 0
        return _gain(before.errors, after.errors, self._judged_weights()) > least and not worse

    def _judged_weights(self) -> Array:
        weights: Array = self.weights[self.judged & (self.folds >= 0)]
        return weights

    def _mean(self, values: Array) -> float:
        return float(np.average(values, weights=self._judged_weights()))

    def _holds_in_order(self, start: _Round, taken: _Round) -> Steps[bool]:
        """Whether the factors also help if contiguous thirds of the rows, which may belong together, are held out.

        What is compared with them has the gamma that suits these thirds best, to be on the safe side.
        """
        if not self.ordered or sp.issparse(self.X) or is_sorted_by_columns(self.X, self.labels):
            return True
        in_order = copy(self)
        in_order.folds = contiguous_folds(self.labels)
        before = yield from in_order._best_gamma([start.learners[0].factors] * FOLDS, start.gamma)
        after = in_order._judge([_mean_factors(taken)] * FOLDS, taken.gamma)
        return _gain(before.errors, after.errors, in_order._judged_weights()) > _LATER

    def _best_gamma(self, factors: list[Array], gamma: float, *, down: bool = True) -> Steps[_Round]:
        """Judge factors with gamma, and with doubled and halved values as long as these are better."""
        best = self._judge(factors, gamma)
        yield
        for step in ((2.0, 0.5) if down else (2.0,)) if self.any_gamma else ():
            found = best
            for _ in range(_STEPS):
                other = self._judge(factors, step * found.gamma)
                yield
                if self._mean(other.errors) >= self._mean(found.errors):
                    break
                found = other
            if found is not best:
                return found
        return best

    def _judge(self, factors: list[Array], gamma: float) -> _Round:
        """Learn from all folds but one, with its factors, and judge that one; for each fold."""
        values, learners = np.zeros_like(self.targets), []
        for fold, own in enumerate(factors):
            if fold == 0 or own is not factors[fold - 1]:
                X = scaled(self.X, own)
                similarities = similarity(self.kernel, gamma)(X, X[self.landmarks]).astype(np.float64)
            learner = _Learner(own, similarities, self._planes(similarities, fold))
            part = np.flatnonzero((self.folds == fold) & self.judged)
            values[part] = similarities[part] @ learner.planes[:-1] + learner.planes[-1]
            learners.append(learner)
        judged = self.judged & (self.folds >= 0)
        values, labels, targets = values[judged], self.labels[judged], self.targets[judged]
        errors = np.square(np.clip(values, -1.0, 1.0) - targets).sum(axis=1)
        log_losses = min((_log_losses(sharpness * values, labels) for sharpness in _SHARPNESS), key=np.mean)
        misses = (values.argmax(axis=1) != labels).astype(np.float64)
        return _Round(learners, gamma, errors, misses, log_losses)

    def _planes(self, similarities: Array, fold: int) -> Array:
        """Return what ridge regression learns from all folds but one."""
        rows, penalty = landmark_rows(similarities, self.landmarks)
        others = self.folds != fold
        own, weights = rows[others], self.weights[others]
        factor = ridge_factor(gram_matrix(own, weights), _RIDGE, penalty)
        return np.asarray(cho_solve((factor, True), own.T @ (self.targets[others] * weights[:, None])))

    def _sharper(self, last: _Round) -> list[Array]:
        """Return the factors of the next round, for each fold: the root mean squares of its slopes."""
        return [self._slopes(learner, last.gamma, fold) for fold, learner in enumerate(last.learners)]

    def _slopes(self, learner: _Learner, gamma: float, fold: int) -> Array:
        """Return the root mean square of the slopes in each column, over classes and some training rows of a fold."""
        X, planes = scaled(self.X, learner.factors), learner.planes[:-1]
        landmarks = X[self.landmarks]
        training = np.flatnonzero(self.folds != fold)
        most = _GRADIENT_ROWS if self.kernel == "rbf" else min(_GRADIENT_ROWS, _MOST_SLOPES // landmarks.size + 1)
        some = training[:: max(1, len(training) // most)]
        squares = np.zeros(X.shape[1])
        for part in tiles(0, len(some), _TILE):
            own = some[part]
            dense = X[own].toarray() if sp.issparse(X) else X[own]
            for weights in self._class_weights(len(own), planes):
                known = learner.similarities[own]
                slopes = kernel_gradient(self.kernel, gamma, dense, landmarks, weights, known)
                squares += self.weights[own] @ np.square(slopes)
        slopes = learner.factors * np.sqrt(squares)
        for block in self.blocks:
            slopes[block] = np.sqrt(np.square(slopes[block]).sum() / (self.variances[block] > 0).sum())
        return self._normalised(np.maximum(slopes, _FLOOR * slopes.max()))

    def _class_weights(self, n: int, planes: Array) -> list[Array]:
        """Return weights of the landmarks (n, n_landmarks) for each class; the second of two is the first, negated.

        Many classes are replaced by a few sums with random signs, whose squares are the same on average.
        """
        n_classes = planes.shape[1]
        if n_classes <= _SIGNS:
            different = range(1 if n_classes == 2 else n_classes)
            return [np.broadcast_to(planes[:, k], (n, len(planes))) for k in different]
        return [self.random.choice([-1.0, 1.0], size=(n, n_classes)) @ planes.T for _ in range(_SIGNS)]

    def _normalised(self, factors: Array) -> Array:
        """Return factors that leave the sum of the variances of the columns as it is."""
        total = float(self.variances.sum())
        spread = float(np.square(factors) @ self.variances)
        return factors * np.sqrt(total / spread) if spread > 0 else np.ones_like(factors)


def _mean_factors(taken: _Round) -> Array:
    """Return the mean of the factors of all folds."""
    return np.asarray(np.mean([learner.factors for learner in taken.learners], axis=0))


def _gain(before: Array, after: Array, weights: Array) -> float:
    """Return by how many standard errors a loss has fallen, in pairs of the same rows."""
    difference = before - after
    mean = float(np.average(difference, weights=weights))
    error = float(np.sqrt(np.square(weights * (difference - mean)).sum()) / weights.sum())
    return mean / error if error > 0 else 0.0


def _log_losses(log_odds: Array, labels: Array) -> Array:
    """Return minus the log-probability of the right class of each row."""
    shifted = log_odds - log_odds.max(axis=1, keepdims=True)
    losses: Array = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(len(labels)), labels]
    return losses


def _of_size_one(X: Any, weights: Array) -> tuple[Any, float]:
    """Return rows with their columns centred (dense ones), divided by the number that makes their mean variance one.

    Then rows of any size can be computed with in float32.  Also returns that number.
    """
    X = X.astype(np.float64)
    if not sp.issparse(X):
        X = X - X[0]
        X -= (weights / weights.sum()) @ X
    unit = float(np.sqrt(column_variances(X, weights).mean())) or 1.0
    X = X / unit
    return X.astype(np.float32 if X.shape[1] > _WIDE else np.float64), unit
