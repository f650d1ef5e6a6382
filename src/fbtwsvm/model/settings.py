"""What to learn: the parameters of the classifier, and the numbers behind them for so many classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from .._arrays import Array
from ..features.kernels import USES_GAMMA, Kernel
from ..solver.problem import SolverOptions
from .rows import per_class


@dataclass(frozen=True)
class Settings:
    """Numbers that say what to solve; C and reg have one value per near class."""

    C: Array
    reg: Array
    mu: float
    membership: str
    decision: str
    multiclass: str
    options: SolverOptions


@dataclass
class Parameters:
    """The parameters of a classifier, as the folders below it read them; :class:`fbtwsvm.FBTWSVM` documents them."""

    kernel: str | Kernel
    gamma: float | str
    feature_map: Any
    n_components: int | str
    C: Any
    reg: Any
    mu: float
    membership: str
    multiclass: str
    decision: str
    class_weight: dict[Any, float] | str | None
    tol: float
    max_iter: int
    memory: int | None
    second_look: int
    forget_after: int | None
    forget_below: float
    decay: float | str
    half_life: float | None
    accept: str
    statistics: str
    warm_up: int | str
    drift_detector: Any
    n_jobs: int | None
    random_state: Any
    verbose: int

    @property
    def names_map(self) -> bool:
        """Whether the feature map is named, rather than given as a transformer."""
        return isinstance(self.feature_map, str)

    @property
    def uses_gamma(self) -> bool:
        """Whether gamma means anything for the kernel and the map."""
        return self.names_map and self.kernel in USES_GAMMA

    def seed(self) -> int:
        """Return the seed of everything that is chosen at random in a call."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def settings(self, n_classes: int) -> Settings:
        """Return the numbers for so many classes; a pair of values waits for its second class."""
        if n_classes < 2:
            C, reg = (np.full(n_classes, np.ravel(value)[0], dtype=float) for value in (self.C, self.reg))
        else:
            C, reg = per_class("C", self.C, n_classes), per_class("reg", self.reg, n_classes)
        return Settings(
            C=C,
            reg=reg,
            mu=self.mu,
            membership=self.membership,
            decision=self.decision,
            multiclass=self.multiclass,
            options=SolverOptions(self.tol, self.max_iter, self.n_jobs),
        )
