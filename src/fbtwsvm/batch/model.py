"""A model that was fitted on all of its rows at once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from .._arrays import Array, array_bytes
from ..model.decision import Decision, PairRule
from ..model.fit_sums import FitSums
from ..model.inspection import Inspection
from ..model.mapping import Mapping
from ..model.rows import CheckedRows


@dataclass(frozen=True)
class BatchModel:
    """Planes with all that answers need, and the rows to go on from.

    Attributes
    ----------
    classes, gamma, mapping, decision
        Labels, kernel parameter, fitted feature map and decision rule.
    planes, gaps, n_iter
        Planes [near, pushed], their duality gaps, and the sweeps of the plane that needed most.
    dtype
        Precision of the rows.
    support, n_support, memberships
        Training rows with a dual above zero, how many each class has, and memberships (n, n_classes); None where the
        fit does not know them.
    rows, sums
        What the model goes on from: the training rows, or sums over them, whichever is smaller.
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

    @classmethod
    def of_one_class(cls, rows: CheckedRows, multiclass: str, decision: str) -> BatchModel:
        """Return the model that always answers with the only class there is so far."""
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
        """What turns mapped rows into answers."""
        return PairRule(self.decision, self.planes)

    @property
    def n_components(self) -> int:
        """Number of features, without the bias."""
        return int(self.planes.shape[2]) - 1

    def resolved(self) -> BatchModel:
        """Return the model itself: its planes are solved."""
        return self

    def _n_rows(self) -> int:
        """Rows of the fit; 0 where it does not know them."""
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
