"""What to solve: the numbers behind the parameters of the classifier."""

from __future__ import annotations

from dataclasses import dataclass

from .._arrays import Array


@dataclass(frozen=True)
class Settings:
    """Numbers that say what to solve; C and reg have one value per near class."""

    C: Array
    reg: Array
    mu: float
    membership: str
    decision: str
    multiclass: str
    tol: float
    max_iter: int
    n_jobs: int | None
