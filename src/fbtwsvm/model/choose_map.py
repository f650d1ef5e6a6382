"""Choose the feature map that the parameters ask for.

| feature_map  | linear, chi2, intersection | rbf, laplacian, skewed | a function |
|--------------|----------------------------|------------------------|------------|
| "auto"       | columns, if not too many   | exact or nystroem      | the same   |
| "nystroem"   | nystroem                   | nystroem               | nystroem   |
| "fourier"    | refused                    | fourier                | refused    |
| "orthogonal" | refused                    | rbf only               | refused    |
| "exact"      | exact                      | exact                  | exact      |
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from .._arrays import Array
from ..features import AdditiveIntersectionFeatures, ExactKernel, FourierFeatures, NystroemFeatures
from ..features.kernels import SKEW, Kernel
from ..features.nystroem import check_landmarks
from .rows import Extent

_MOST_COMPONENTS = 2000
_MOST_VALUES = 250_000_000  # most numbers in the mapped rows, or in all planes: 1 GB in float32
_MOST_EXACT_ROWS = 12_000
_MOST_COLUMNS = 4000  # a linear or additive map with more features than this is not used
_COLUMNS = {"linear": 1, "chi2": 3, "intersection": 3}  # features for each column
_FOURIER = ("rbf", "laplacian", "skewed_intersection", "skewed_chi2")


def auto_components(n: int, n_classes: int) -> int:
    """Return the number of features for n rows: 10 sqrt(n), within limits of time and memory."""
    return max(50, min(int(10 * np.sqrt(n)), most_components(n, n_classes)))


def most_components(n: int, n_classes: int) -> int:
    """Return the largest number of features that "auto" chooses."""
    return max(50, min(_MOST_COMPONENTS, _MOST_VALUES // max(n, 1), _MOST_VALUES // n_classes**2))


def choose_map(
    kernel: str | Kernel,
    feature_map: Any,
    n_components: int | str,
    gamma: float | None,
    rows: Extent,
    seed: int,
    metric: Array | None = None,
) -> Any:
    """Return the unfitted transformer that the parameters ask for, or None if the rows are not mapped."""
    if not isinstance(feature_map, str):
        return clone(feature_map)
    if feature_map == "auto":
        fits = rows.small and rows.n_classes**2 * rows.n <= _MOST_VALUES
        feature_map = "nystroem" if n_components != "auto" else _automatic(kernel, rows, exact_fits=fits)
    if n_components != "auto":
        count = int(n_components)
    else:
        count = auto_components(rows.n, rows.n_classes)
        count = min(count, rows.n) if feature_map == "nystroem" else count
    _check(kernel, feature_map, count, rows.n)
    return _make(kernel, feature_map, count, 1.0 if gamma is None else gamma, seed, metric)


def stream_map(
    kernel: str | Kernel,
    feature_map: Any,
    n_components: int,
    gamma: float | None,
    rows: Extent,
    seed: int,
    metric: Array | None = None,
) -> Any:
    """Return the unfitted transformer of a stream from its first rows; never the exact kernel."""
    if not isinstance(feature_map, str):
        return clone(feature_map)
    if feature_map == "auto":
        feature_map = _automatic(kernel, rows, exact_fits=False)
    count = min(n_components, rows.n) if feature_map == "nystroem" else n_components
    _check(kernel, feature_map, count, rows.n)
    return _make(kernel, feature_map, count, 1.0 if gamma is None else gamma, seed, metric)


def _automatic(kernel: str | Kernel, rows: Extent, *, exact_fits: bool) -> str:
    """Choose the map of "auto": the columns where the kernel has some, else the exact kernel, else landmarks."""
    columns = _COLUMNS.get(str(kernel), _MOST_COLUMNS + 1) * rows.n_columns
    too_large = rows.sparse and rows.n * 3 * rows.n_columns > _MOST_VALUES  # once they are dense
    if columns <= _MOST_COLUMNS and not too_large:
        return "columns"
    return "exact" if exact_fits else "nystroem"


def _check(kernel: str | Kernel, feature_map: str, count: int, n: int) -> None:
    """Raise ValueError if the map does not exist for this kernel, or cannot be as large."""
    if feature_map == "exact" and n > _MOST_EXACT_ROWS:
        raise ValueError(
            f"feature_map='exact' needs {n}^2 kernel values ({8e-9 * n * n:.0f} GB), in several copies; it takes "
            f"at most {_MOST_EXACT_ROWS} rows. Use feature_map='nystroem'."
        )
    if feature_map == "nystroem":
        check_landmarks(count, n, " (equal rows of a class count once)")
    if feature_map == "orthogonal" and kernel != "rbf":
        raise ValueError(f"feature_map='orthogonal' exists for kernel='rbf' only, got kernel={kernel!r}. Use 'auto'.")
    if feature_map == "fourier" and kernel not in _FOURIER:
        raise ValueError(
            f"feature_map='fourier' exists for the kernels rbf, laplacian, skewed_chi2 and skewed_intersection, "
            f"got kernel={kernel!r}. Use feature_map='auto' or 'nystroem'."
        )


def _make(kernel: str | Kernel, feature_map: str, count: int, gamma: float, seed: int, metric: Array | None) -> Any:
    """Return the transformer; `_check` has approved it."""
    if feature_map == "exact":
        return ExactKernel(kernel=kernel, gamma=gamma, metric=metric)
    if feature_map == "nystroem":
        return NystroemFeatures(kernel=kernel, gamma=gamma, n_components=count, random_state=seed, metric=metric)
    from sklearn.kernel_approximation import AdditiveChi2Sampler, SkewedChi2Sampler  # slow to import

    if feature_map == "columns":
        by_column = {"linear": None, "chi2": AdditiveChi2Sampler(), "intersection": AdditiveIntersectionFeatures()}
        return by_column[str(kernel)]
    if kernel == "skewed_chi2":
        return SkewedChi2Sampler(skewedness=SKEW, n_components=count, random_state=seed)
    orthogonal = feature_map == "orthogonal"
    return FourierFeatures(
        kernel=str(kernel), gamma=gamma, n_components=count, orthogonal=orthogonal, random_state=seed, metric=metric
    )
