"""A drift detector with a few numbers as its state, so that a model file can hold it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._arrays import Array, compiled

__all__ = ["HoeffdingDrift"]

_LOG_TWO = math.log(2.0)
LOG_CHANCE = math.log(1e4)  # minus the logarithm of the default confidence


class HoeffdingDrift:
    """Detect a rise of the error rate by Hoeffding's bound (HDDM-A, Frias-Blanco et al. 2015).

    The detector remembers when the upper bound on the error rate was least.  There is a drift if the error rate of all
    rows exceeds that of the rows up to then by more than chance allows.  The detector then starts again.

    Parameters
    ----------
    confidence : float, default=1e-4
        Probability of a false alarm at a given row, without correction for multiple tests.

    Attributes
    ----------
    drift_detected : bool
        Whether the last row showed a drift.

    Examples
    --------
    >>> import numpy as np
    >>> from fbtwsvm.online.drift import HoeffdingDrift
    >>> errors = np.concatenate([np.arange(1000) % 10 == 0, np.arange(1000) % 2 == 0])
    >>> alarms = HoeffdingDrift().update_rows(errors)
    >>> len(alarms), bool(1000 < alarms[0] < 1100)
    (1, True)
    """

    def __init__(self, confidence: float = 1e-4) -> None:
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}.")
        self.confidence = confidence
        self.drift_detected = False
        self.counts = np.zeros(4, dtype=np.int64)  # rows and errors of all rows, then of the remembered first rows

    def __repr__(self) -> str:
        return f"HoeffdingDrift(confidence={self.confidence:g})"

    def update(self, error: float) -> None:
        """Add one row: 1 if it was classified wrongly, 0 if not."""
        self.drift_detected = bool(len(self.update_rows([error])))

    def update_rows(self, errors: Any) -> Array:
        """Add many rows; return the positions of those that showed a drift."""
        wrong = np.asarray(errors, dtype=np.int64)
        found = np.zeros(len(wrong), dtype=np.bool_)
        _mark_alarms(wrong, self.counts, math.log(1.0 / self.confidence), found)
        return np.flatnonzero(found)


@compiled
def _mark_alarms(errors, counts, log_chance, found):
    """Mark the rows that show a drift in `found`; changes `counts` in place."""
    for i in range(len(errors)):
        found[i] = shows_drift(errors[i], counts, log_chance)


@compiled
def shows_drift(error, counts, log_chance):
    """Add one row; return whether it shows a drift, after which the counts start again."""
    counts[0] += 1
    counts[1] += error
    mean, least = counts[1] / counts[0], counts[3] / max(counts[2], 1)
    bound = np.sqrt(0.5 * log_chance / counts[0])
    if counts[2] == 0 or mean + bound <= least + np.sqrt(0.5 * log_chance / counts[2]):
        counts[2], counts[3] = counts[0], counts[1]
        return False
    share = (counts[0] - counts[2]) / (counts[0] * counts[2])
    if mean - least < np.sqrt(0.5 * share * (log_chance + _LOG_TWO)):
        return False
    counts[:] = 0
    return True
