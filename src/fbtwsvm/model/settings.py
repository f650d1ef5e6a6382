"""The parameters of the classifier, and the settings that follow from them for a number of classes."""

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
    """The settings of one problem; C and reg have one value for each near class."""

    C: Array
    reg: Array
    mu: float
    membership: str
    decision: str
    multiclass: str
    options: SolverOptions


@dataclass
class Parameters:
    """The parameters of the classifier; :class:`fbtwsvm.FBTWSVM` documents them."""

    kernel: str | Kernel
    gamma: float | str
    metric: Any
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
    device: str | None = None
    precision: str = "high"

    @property
    def names_map(self) -> bool:
        """Whether the feature map is given by name, not as a transformer."""
        return isinstance(self.feature_map, str)

    @property
    def uses_gamma(self) -> bool:
        """Whether the kernel and the map use gamma."""
        return self.names_map and self.kernel in USES_GAMMA

    def seed(self) -> int:
        """Return the seed of all random choices of a call."""
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def settings(self, n_classes: int) -> Settings:
        """Return the settings for so many classes; of a pair of values, a single class uses the first."""
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
