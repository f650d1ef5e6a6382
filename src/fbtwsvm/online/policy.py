"""The policy of a stream: which rows it keeps and how fast it forgets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..model.settings import Parameters

_FEW_FEATURES = ((20.0, 100), (200.0, 150))  # (half-life, features) of members that remember few rows
HALF_LIVES = (np.inf, 1000.0, 100.0, 10.0)  # of the members for decay="auto", in rows


@dataclass(frozen=True)
class Policy:
    """The parameters of one member that decide what it keeps and forgets; the classifier documents them."""

    memory: int | None
    second_look: int
    forget_after: int | None
    forget_below: float
    decay: float
    accept: str
    statistics: str
    balanced: bool

    @property
    def half_life(self) -> float:
        """Rows after which a row has half of its weight."""
        return np.inf if self.decay == 1.0 else float(np.log(0.5) / np.log(self.decay))


def features_of(policy: Policy, n_features: int) -> int:
    """Return how many features of a nested map a member of a committee needs: few, if it remembers few rows."""
    return min([n_features, *(count for longest, count in _FEW_FEATURES if policy.half_life <= longest)])


def policies_of(parameters: Parameters) -> tuple[Policy, ...]:
    """Return one policy, or for decay="auto" one for each half-life."""
    if parameters.half_life is not None and parameters.decay != 1.0:
        raise ValueError("Give decay or half_life, not both: half_life=h is decay=0.5 ** (1 / h).")
    if parameters.names_map and parameters.feature_map == "exact":
        raise ValueError("feature_map='exact' grows with every row and cannot be used on a stream. Use 'auto'.")
    if parameters.decay == "auto":
        decays = [0.5 ** (1.0 / half_life) for half_life in HALF_LIVES]
    elif parameters.decay != 1.0:
        decays = [float(parameters.decay)]
    else:
        decays = [0.5 ** (1.0 / (parameters.half_life or np.inf))]
    return tuple(
        Policy(
            memory=parameters.memory,
            second_look=parameters.second_look,
            forget_after=parameters.forget_after,
            forget_below=parameters.forget_below,
            decay=decay,
            accept=parameters.accept,
            statistics=parameters.statistics,
            balanced=parameters.class_weight == "balanced",
        )
        for decay in decays
    )
