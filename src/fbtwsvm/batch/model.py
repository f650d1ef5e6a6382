"""A model that was fitted to all of its rows at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, array_bytes
from ..model.decision import Answers, Decision, PairRule
from ..model.fit_sums import FitSums
from ..model.inspection import Inspection
from ..model.mapping import Mapping
from ..model.rows import CheckedRows


@dataclass(frozen=True)
class BatchModel:
    """The planes of a fit, its map and decision rule, and what `partial_fit` continues from.

    Attributes
    ----------
    classes, gamma, mapping, decision
        Labels, kernel parameter, fitted feature map and decision rule.
    planes, gaps, n_iter
        Planes [near, pushed], their duality gaps, and the largest number of sweeps of a plane.
    dtype
        Precision of the rows.
    support, n_support, memberships
        Training rows with a dual above zero, their number in each class, and memberships (n, n_classes); None if they
        are not available.
    rows, sums
        What the model continues from: the training rows, or sums over them, whichever is smaller.
    n_passes
        How often the rows of a Dask collection were read; None for other rows.
    lineage
        Tag of the fit, by which copies that have gone on learning are known to share its rows.
    """

    stage: ClassVar[str] = "batch"

    classes: Array
    gamma: float | None
    mapping: Mapping
    decision: Decision
    planes: Array
    gaps: Array
    n_iter: int
    dtype: np.dtype
    support: Array | None = None
    n_support: Array | None = None
    memberships: Array | None = None
    rows: CheckedRows | None = field(default=None, repr=False)
    sums: FitSums | None = field(default=None, repr=False)
    n_passes: int | None = None
    lineage: frozenset[str] = frozenset()

    @classmethod
    def of_one_class(cls, rows: CheckedRows, multiclass: str, decision: str) -> BatchModel:
        """Return the model of rows of a single class, which it always predicts."""
        n_columns, dtype = rows.X.shape[1], rows.X.dtype
        return cls(
            classes=np.unique(rows.y),
            gamma=None,
            mapping=Mapping(None, 1.0, dtype),
            decision=Decision.plain(1, multiclass, decision),
            planes=np.zeros((1, 1, n_columns + 1), dtype=dtype),
            gaps=np.zeros((1, 1)),
            n_iter=0,
            dtype=dtype,
        )

    @property
    def rule(self) -> PairRule:
        """The decision rule with its planes."""
        return PairRule(self.decision, self.planes)

    @property
    def answers(self) -> Answers:
        """All that a prediction reads."""
        return Answers(self.classes, self.mapping, self.rule)

    @property
    def held_rows(self) -> Any:
        """Rows that the model holds: training rows, landmarks, or support rows of plain columns; None without any."""
        if self.rows is not None:
            return self.rows.X
        if self.mapping.transformer is None and self.sums is not None:
            return self.sums.support.rows[:, :-1] / self.mapping.scale
        return self.mapping.landmark_rows

    @property
    def n_components(self) -> int:
        """Number of features, without the bias."""
        return int(self.planes.shape[2]) - 1

    def resolved(self) -> BatchModel:
        """Return the model itself: its planes are up to date."""
        return self

    def _n_rows(self) -> int:
        """Return the number of training rows; 0 if it is not known."""
        if self.rows is not None:
            return len(self.rows)
        return 0 if self.sums is None else int(self.sums.n_rows.sum())

    def inspect(self) -> Inspection:
        """Return counts and sizes."""
        return Inspection(
            stage=self.stage,
            seen=self._n_rows(),
            kept=0 if self.support is None else len(self.support),
            bytes=array_bytes(self),
        )
