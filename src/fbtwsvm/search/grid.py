"""The values of each parameter that a search tries."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import clone

from ..classifier import FBTWSVM, check_parameters
from ..features.kernels import USES_GAMMA

_FAR = 8.0  # times "scale": a kernel so narrow may be good where one between it and "auto" is not
_STEPS = {"gamma": 2.0, "C": 4.0, "reg": float(np.sqrt(10.0))}  # ratio of neighbouring values of an automatic list


def values_to_try(
    search: dict[str, Any], estimator: FBTWSVM, gamma: Callable[[str, Any], float]
) -> dict[str, list[Any]]:
    """Return the values to try of each parameter, by the parameters of a search.

    `gamma` finds "auto" and "scale" with a metric; the values of gamma are those that suit any of the metrics.
    """
    grid: dict[str, list[Any]] = {}
    metrics = [estimator.metric]
    if search["metric"] is not None:
        metrics = grid["metric"] = _checked(estimator, "metric", list(search["metric"]))
    if search["gamma"] is not None and _has_gamma(estimator, search["gamma"]):
        grid["gamma"] = _values(
            search["gamma"],
            lambda count: sorted({value for metric in metrics for value in _gammas(count, gamma, metric)}),
        )
    if search["n_components"] is not None:
        if not isinstance(estimator.feature_map, str):
            raise ValueError("n_components cannot be searched with a transformer of your own.")
        grid["n_components"] = _values(search["n_components"], lambda count: [count])
    if search["mu"] is not None:
        grid["mu"] = [float(value) for value in search["mu"]]
    if search["membership"] is not None:
        grid["membership"] = list(search["membership"])
    if search["C"] is not None:
        grid["C"] = _values(search["C"], lambda count: [0.25 * _STEPS["C"] ** k for k in range(count)])
    if search["reg"] is not None:
        grid["reg"] = _values(search["reg"], lambda count: _around(0.01, count, _STEPS["reg"]))
    return {name: _checked(estimator, name, values) for name, values in grid.items()}


def steps(search: dict[str, Any]) -> dict[str, float]:
    """Return the steps of the lists of at least three values that were made automatically, and so may go on."""
    return {name: step for name, step in _STEPS.items() if isinstance(search[name], Integral) and search[name] >= 3}


def _has_gamma(estimator: FBTWSVM, values: Any) -> bool:
    """Whether the estimator has a gamma; values that the user listed are refused if it has none."""
    if estimator.kernel in USES_GAMMA and isinstance(estimator.feature_map, str):
        return True
    if not isinstance(values, Integral):
        raise ValueError("gamma cannot be searched: the kernel or map of the estimator has none. Use gamma=None.")
    return False


def _values(values: Any, make: Callable[[int], list[Any]]) -> list[Any]:
    """Return the values themselves, or as many as a number says."""
    return make(int(values)) if isinstance(values, Integral) else list(values)


def _gammas(count: int, gamma: Callable[[str, Any], float], metric: Any) -> list[float]:
    """Return `count` values around gamma="auto", and others far above if there are at least three."""
    values = _around(gamma("auto", metric), count, _STEPS["gamma"])
    scale = gamma("scale", metric)
    far = [value for value in (scale, _FAR * scale) if count >= 3 and value >= _STEPS["gamma"] * values[-1]]
    return values + far


def _around(middle: float, count: int, factor: float) -> list[float]:
    """Return `count` values around the middle, each larger than the one before by a factor."""
    return [middle * float(factor) ** (k - (count - 1) // 2) for k in range(count)]


def _checked(estimator: FBTWSVM, name: str, values: list[Any]) -> list[Any]:
    """Return the distinct values, or refuse those that the estimator would refuse."""
    if not values:
        raise ValueError(f"{name} must not be empty: give the values to try, or None for that of the estimator.")
    for value in values:
        if name in ("C", "reg") and not isinstance(value, Real):
            raise ValueError(f"{name} must hold numbers, got {value!r}; separate=True gives each plane its own.")
        if name == "metric" and not isinstance(value, str):
            raise ValueError(f"metric must hold 'auto', 'columns' or 'none', got {value!r}: give it to the estimator.")
        if name == "gamma" and isinstance(value, str):
            raise ValueError(f"gamma must hold numbers, got {value!r}: an int tries values around gamma='auto'.")
        check_parameters(clone(estimator).set_params(**{name: value}))
    return list(dict.fromkeys(float(value) if name in ("gamma", "C", "reg") else value for value in values))
