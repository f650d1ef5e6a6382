"""A drift detector that is a handful of numbers, so that it fits into a model file."""

from __future__ import annotations

import math


class HoeffdingDrift:
    """Sees a rise of the error rate by Hoeffding's bound (HDDM-A, Frias-Blanco et al. 2015).

    Of all prefixes of the errors so far, the one with the least upper bound on its mean is remembered.  There is drift
    when the mean of all exceeds that of the prefix by more than chance allows; then it starts anew.

    Parameters
    ----------
    confidence : float, default=1e-4
        Chance of a false alarm at a given row, before multiple testing.

    Attributes
    ----------
    drift_detected : bool
        Whether the last error showed a drift.

    Examples
    --------
    >>> from fbtwsvm.drift import HoeffdingDrift
    >>> detector = HoeffdingDrift()
    >>> alarms = []
    >>> for row in range(2000):
    ...     detector.update(row % 10 == 0 if row < 1000 else row % 2 == 0)
    ...     if detector.drift_detected:
    ...         alarms.append(row)
    >>> len(alarms), 1000 < alarms[0] < 1100
    (1, True)
    """

    def __init__(self, confidence: float = 1e-4) -> None:
        if not 0.0 < confidence < 1.0:
            raise ValueError(f"confidence must lie between 0 and 1, got {confidence!r}.")
        self.confidence = confidence
        self.drift_detected = False
        self.rows = self.least_rows = 0
        self.errors = self.least_errors = 0

    def update(self, error: float) -> None:
        """Take note of one row: 1 if it was classified wrongly, 0 if not."""
        self.rows += 1
        self.errors += int(error)
        mean, least = self.errors / self.rows, self.least_errors / max(self.least_rows, 1)
        if not self.least_rows or mean + self._bound(self.rows) <= least + self._bound(self.least_rows):
            self.least_rows, self.least_errors = self.rows, self.errors
            self.drift_detected = False
            return
        share = (self.rows - self.least_rows) / (self.rows * self.least_rows)
        self.drift_detected = mean - least >= math.sqrt(0.5 * share * math.log(2.0 / self.confidence))
        if self.drift_detected:
            self.rows = self.least_rows = self.errors = self.least_errors = 0

    def _bound(self, rows: int) -> float:
        return math.sqrt(0.5 / rows * math.log(1.0 / self.confidence))
