"""Log loss and area under the ROC curve of probabilities that come piece by piece, in memory that does not grow."""

from __future__ import annotations

import numpy as np

from .._arrays import Array

BINS = 4096
_MOST_LOGIT = 16.0  # probabilities nearer to 0 or 1 than 1e-7 share the outer bins


class ProbabilityScore:
    """Log loss and AUC of class probabilities.

    For the AUC, the probabilities of each class are counted in bins: 4,096 of equal width in log(p / (1 - p)), between
    p = 1e-7 and 1 - 1e-7.  Rows that share a bin count as equal, half right and half wrong, so the AUC of a class
    differs from the exact one by at most half the share of its pairs (a row of the class, a row of another) within a
    bin.

    Parameters
    ----------
    n_classes : int
        Number of classes, the columns of the probabilities.
    """

    def __init__(self, n_classes: int) -> None:
        self.rows = 0
        self._loss = 0.0
        self._counts = np.zeros((2, n_classes, BINS), dtype=np.int64)  # rows of other classes; rows of the class

    def add(self, truth: Array, probabilities: Array) -> None:
        """Count rows: the index of their class, and their probabilities."""
        n_rows, n_classes = probabilities.shape
        p = np.clip(probabilities[np.arange(n_rows), truth], np.finfo(probabilities.dtype).eps, 1.0)
        self._loss -= float(np.log(p, dtype=np.float64).sum())
        self.rows += n_rows
        own = truth[:, None] == np.arange(n_classes)
        place = (own * n_classes + np.arange(n_classes)) * BINS + _bins(probabilities)
        self._counts += np.bincount(place.ravel(), minlength=self._counts.size).reshape(self._counts.shape)

    def log_loss(self) -> float:
        """Return the mean of -log(p) of the true classes; NaN without rows."""
        return self._loss / self.rows if self.rows else float("nan")

    def auc(self) -> Array:
        """Return the AUC of each class against all others; NaN where one of the two sides has no rows."""
        others, own = self._counts.astype(np.float64)
        below = np.cumsum(others, axis=1) - others / 2
        pairs = own.sum(axis=1) * others.sum(axis=1)
        areas: Array = np.divide((own * below).sum(axis=1), pairs, out=np.full(len(own), np.nan), where=pairs > 0)
        return areas


def _bins(probabilities: Array) -> Array:
    """Return the number of the bin of each probability."""
    p = probabilities.astype(np.float64)
    with np.errstate(divide="ignore"):
        logits = np.log(p) - np.log1p(-p)
    scaled = (logits + _MOST_LOGIT) * (BINS / (2 * _MOST_LOGIT))
    return np.clip(scaled, 0, BINS - 1).astype(np.int64)
