"""The policy of a stream: which rows it keeps and how fast it forgets."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..model.mapping import Mapping
from ..model.settings import Parameters, Settings

_FEW_FEATURES = ((20.0, 100), (200.0, 150))  # (half-life, features) of members that remember few rows
_LINEAR_PRICE = 5.0  # factor on C of linear members
MOST_PLAIN = 100  # columns up to which a committee has linear members
HALF_LIVES = (np.inf, 1000.0, 100.0, 10.0)  # of the members for decay="auto", in rows
LINEAR_HALF_LIVES = HALF_LIVES[:3]  # of linear members, which gain little from a very short one


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
    linear: bool = False  # learns the standardised columns instead of the features of the map
    starts_again: bool = False  # forgets nearly all when its error rate rises

    def __str__(self) -> str:
        """Return the name of a member with this policy."""
        memory = "never fades" if self.decay == 1.0 else f"half-life {self.half_life:,.0f}"
        memory = "since a change" if self.starts_again else memory
        return f"linear, {memory}" if self.linear else memory

    @property
    def half_life(self) -> float:
        """Rows after which a row has half of its weight."""
        return np.inf if self.decay == 1.0 else float(np.log(0.5) / np.log(self.decay))


def features_of(policy: Policy, n_features: int) -> int:
    """Return how many features of a nested map a member of a committee needs: few, if it remembers few rows."""
    return min([n_features, *(count for longest, count in _FEW_FEATURES if policy.half_life <= longest)])


def settings_of(policy: Policy, settings: Settings) -> Settings:
    """Return the settings of a member; a linear one has few features, and so a higher price."""
    return replace(settings, C=_LINEAR_PRICE * settings.C) if policy.linear else settings


def possible_policies(parameters: Parameters, mapping: Mapping) -> tuple[Policy, ...]:
    """Return the policies of the members that a map allows."""
    return tuple(policy for policy in policies_of(parameters) if mapping.columns is not None or not policy.linear)


def policies_of(parameters: Parameters) -> tuple[Policy, ...]:
    """Return one policy, or for decay="auto" one for each half-life, of the map and of the columns themselves."""
    if parameters.half_life is not None and parameters.decay != 1.0:
        raise ValueError("Give decay or half_life, not both: half_life=h is decay=0.5 ** (1 / h).")
    if parameters.names_map and parameters.feature_map == "exact":
        raise ValueError("feature_map='exact' grows with every row and cannot be used on a stream. Use 'auto'.")
    decay = parameters.decay
    if decay == 1.0:
        decay = 0.5 ** (1.0 / (parameters.half_life or np.inf))
    kinds = [(float(decay), False)] if decay != "auto" else [
        *((0.5 ** (1.0 / half_life), False) for half_life in HALF_LIVES),
        *((0.5 ** (1.0 / half_life), True) for half_life in LINEAR_HALF_LIVES),
    ]  # fmt: skip
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
            linear=linear,
            starts_again=len(kinds) > 1 and decay == 1.0,
        )
        for decay, linear in kinds
    )
