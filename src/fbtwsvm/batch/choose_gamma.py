"""gamma="auto": a search on a sample for the gamma whose kernel classifies held-out rows best.

A kernel is judged by ridge regression on landmarks (see `ridge`), with random thirds of the sample held out.
Neighbouring rows often belong to one person, hour or batch.  If contiguous thirds of the rows are classified far worse
than random ones, new rows are likely to be as new as these, and contiguous thirds decide.  Groups that the user gives
decide in any case.  Equal rows of a class count as one, and rows that were made of others (see `oversampled`) do not
count unless there are groups.
"""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array
from .._log import LOG
from .._steps import Steps
from .._threads import one_blas_thread
from ..features.kernels import scaled, similarity
from ..model.settings import Parameters
from .hold_out import ENOUGH, contiguous_folds, group_folds, is_sorted_by_columns, shuffled_folds
from .ridge import HeldOut, held_out_hits, landmark_rows
from .trial_rows import TrialRows, TrialSample

_LOWEST, _HIGHEST = -5, 6  # powers of 2, times "scale": the values of gamma that are tried
_SAMPLE, _OF_EACH_CLASS = 1200, 15  # rows of the sample: so many, or so many for each class
_SECOND_SAMPLE, _SECOND_SHARE = 4000, 5  # a second sample of much data: so many rows, but at most one in five
_BELOW, _ABOVE = 1, 3  # powers around that of the first sample which are tried on the second
_FAR_BEHIND = 0.1  # accuracy below the best at which larger powers are not tried any more
_ORDER_MATTERS = 0.1  # accuracy that contiguous thirds must lose against random ones to decide
_UNSURE = 0.05  # accuracies of three contiguous parts that differ by less are alike: the smaller gamma is safer
_LOWEST_STREAM, _HIGHEST_STREAM = -8, 2  # powers of 2 tried on a stream, whose first rows may be much alike
_MISSED = 0.01  # largest mean residual of left-out landmarks


def choose_gamma(
    parameters: Parameters, trial: TrialRows, *, metric: Array | None = None, quick: bool = False
) -> float | None:
    """Return gamma: as given, from the variance, or by a search; None if the kernel or the map does not use it.

    `metric` has the factors of the columns, if there are any.  `quick` does not search.
    """
    if not parameters.uses_gamma:
        return None
    if not isinstance(parameters.gamma, str):
        return float(parameters.gamma)
    scale = trial.gamma_scale(parameters.kernel, metric)
    if quick or parameters.gamma == "scale":
        return scale
    chosen = search_gamma(trial, str(parameters.kernel), scale, metric)
    LOG.info("gamma: %.6g (%.4g times scale)", chosen, chosen / scale)
    return chosen


def search_gamma(trial: TrialRows, kernel: str, scale: float, metric: Array | None = None) -> float:
    """Return the gamma, `scale` times a power of 2, with which most held-out rows are classified correctly."""
    size = max(_SAMPLE, _OF_EACH_CLASS * trial.n_classes)
    again = trial.n >= 2 * _SECOND_SHARE * size  # the more rows, the narrower a kernel may be
    warn = metric is None  # a warning is not given twice
    powers = range(_LOWEST, _HIGHEST + 1)
    power = _best_power(trial, kernel, scale, metric, powers, size, warn=warn and not again)
    if again:
        near = range(max(_LOWEST, power - _BELOW), min(_HIGHEST, power + _ABOVE) + 1)
        second = max(2 * size, min(_SECOND_SAMPLE, trial.n // _SECOND_SHARE))
        power = _best_power(trial, kernel, scale, metric, near, second, warn=warn)
    return float(scale * 2.0**power)


def _best_power(
    trial: TrialRows, kernel: str, scale: float, metric: Array | None, powers: range, size: int, *, warn: bool
) -> int:
    """Return the best of some powers of 2 for gamma, by a sample of about `size` rows."""
    level = logging.WARNING if warn else logging.INFO
    random = np.random.default_rng(trial.seed)
    sample = trial.sample(size, random)
    ladder = _Ladder(sample, kernel, scale, metric, powers, random)
    if sample.groups is not None:
        by_group = HeldOut(group_folds(sample.groups), ladder.judged)
        held_out = ladder.accuracies(by_group) if (by_group.folds >= 0).mean() > ENOUGH else np.zeros(1)
        if held_out.any():
            LOG.info("gamma: held-out groups are classified with an accuracy of %.3f", held_out.max())
            return ladder.best(held_out)
        LOG.log(
            level,
            "gamma: nearly all rows are of one group, or no class is in several groups. Held-out groups tell nothing, "
            "and random thirds of the rows decide.",
        )
    # Rows that are not judged are always trained on when random thirds are held out.
    random_thirds = np.where(ladder.judged, shuffled_folds(ladder.labels, random), -1)
    shuffled = ladder.accuracies(HeldOut(random_thirds, ladder.judged))
    best = ladder.best(shuffled)
    LOG.info("gamma: held-out rows are classified with an accuracy of %.3f", shuffled.max())
    if trial.small or sample.groups is not None:
        return best
    if not sp.issparse(ladder.X) and is_sorted_by_columns(ladder.X, ladder.labels):
        return best
    thirds = HeldOut(contiguous_folds(ladder.labels), ladder.judged)
    if ladder.accuracy(best, thirds) > shuffled.max() - _ORDER_MATTERS:
        return best
    contiguous = ladder.accuracies(thirds)
    LOG.log(
        level,
        "gamma: neighbouring rows are alike. Random thirds of the rows are classified with an accuracy of %.3f by the "
        "others, contiguous thirds with %.3f, and these decide. If new rows are like the training rows, shuffle the "
        "training rows; if rows belong to groups, give fit(..., groups=).",
        shuffled.max(),
        contiguous.max(),
    )
    return min(best, ladder.best(contiguous, _UNSURE))


def largest_gamma(X: Any, kernel: str, start: float, count: int, seed: int) -> Steps[float]:
    """Return, in pieces, the largest gamma, `start` times a power of 2, at which `count` landmarks are still accurate.

    Accurate means a residual 1 - ||z||^2 of at most 1 % on rows like the landmarks: the mean of 1 / [K^-1]_ii over the
    landmarks, each left out in turn.  Labels are not needed, so the first rows of a stream may all be of one class.
    """
    random = np.random.default_rng(seed)
    rows = X[np.sort(random.choice(X.shape[0], min(count, X.shape[0]), replace=False))].astype(np.float64)
    best = start * 2.0**_LOWEST_STREAM
    for power in range(_LOWEST_STREAM, _HIGHEST_STREAM + 1):
        gamma = start * 2.0**power
        matrix = similarity(kernel, gamma)(rows, rows)
        inverse = np.linalg.inv(matrix + 1e-9 * np.eye(len(matrix)))
        if np.mean(1.0 / np.diag(inverse)) > _MISSED:
            break
        best = gamma
        yield
    return float(best)


class _Ladder:
    """Some powers of 2 for gamma, in ascending order, and the sample that they are tried on.

    Doubling gamma squares every similarity, so only those of the smallest gamma are computed.
    """

    def __init__(
        self,
        sample: TrialSample,
        kernel: str,
        scale: float,
        metric: Array | None,
        powers: range,
        random: np.random.Generator,
    ) -> None:
        rows = sample.rows
        self.X = scaled(rows.X.astype(np.float64), metric)
        self.labels, self.weights, self.powers = rows.labels, rows.weights, powers
        self.landmarks, self.judged = sample.landmarks(random)
        self.similarities = similarity(kernel, scale * 2.0 ** powers[0])(self.X, self.X[self.landmarks])

    def accuracies(self, held_out: HeldOut) -> Array:
        """Return the share of judged rows, by weight, that is classified correctly with each power.

        Powers above one that is far behind the best are not tried any more: they count as zero.
        """
        found, similarities = np.zeros(len(self.powers)), self.similarities.copy()
        for k in range(len(self.powers)):
            found[k] = self._accuracy(similarities, held_out)
            if found[k] < found.max() - _FAR_BEHIND:
                break
            similarities *= similarities
        return found

    def accuracy(self, power: int, held_out: HeldOut) -> float:
        """Return the share of judged rows, by weight, that is classified correctly with one of the powers."""
        return self._accuracy(self.similarities**2.0 ** (power - self.powers[0]), held_out)

    def _accuracy(self, similarities: Array, held_out: HeldOut) -> float:
        """Return the same with these similarities to the landmarks."""
        rows, penalty = landmark_rows(similarities, self.landmarks)
        with one_blas_thread():  # the matrices are small
            (hits,) = held_out_hits(rows, self.labels, self.weights, held_out, penalty=penalty)
        weights = self.weights * (held_out.judged & (held_out.folds >= 0))
        return float(hits @ weights / weights.sum())

    def best(self, accuracies: Array, tolerance: float = 0.0) -> int:
        """Return the smallest power whose accuracy, averaged with its neighbours, is within `tolerance` of the best."""
        for power, accuracy in zip(self.powers, accuracies, strict=True):
            if accuracy > 0:  # it was tried
                LOG.debug("gamma 2^%d times scale: accuracy %.4f", power, accuracy)
        padded = np.pad(accuracies, 1, mode="edge")
        smooth = 0.25 * padded[:-2] + 0.5 * padded[1:-1] + 0.25 * padded[2:]
        return self.powers[int(np.flatnonzero(smooth >= smooth.max() - tolerance)[0])]
