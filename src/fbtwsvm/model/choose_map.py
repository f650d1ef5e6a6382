"""Which feature map the parameters ask for."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.kernel_approximation import AdditiveChi2Sampler, SkewedChi2Sampler

from ..features.additive import AdditiveIntersectionFeatures
from ..features.exact import ExactKernel
from ..features.fourier import FourierFeatures
from ..features.kernels import SKEW, Kernel
from ..features.nystroem import NystroemFeatures, check_landmarks
from .rows import TrainingRows

_MOST_COMPONENTS = 2000
_MOST_VALUES = 250_000_000  # numbers in the mapped rows, or in all planes: 1 GB in float32
_MOST_EXACT_ROWS = 12_000
_WIDE = 4000  # columns up to which a linear or additive map is used as it is


def auto_components(n: int, n_classes: int) -> int:
    """Choose the number of features from that of the rows: 10 sqrt(n), within bounds of time and memory."""
    return max(50, min(int(10 * np.sqrt(n)), most_components(n, n_classes)))


def most_components(n: int, n_classes: int) -> int:
    """Return the most features that are chosen without being asked for."""
    return max(50, min(_MOST_COMPONENTS, _MOST_VALUES // max(n, 1), _MOST_VALUES // n_classes**2))


def choose_map(
    kernel: str | Kernel, feature_map: Any, n_components: int | str, gamma: float | None, rows: TrainingRows, seed: int
) -> Any:
    """Return the unfitted transformer that the parameters ask for, or None for rows as they are."""
    if not isinstance(feature_map, str):
        return clone(feature_map)
    n, n_features = rows.n, rows.X.shape[1]
    count = auto_components(n, rows.n_classes) if n_components == "auto" else int(n_components)
    width = gamma if gamma is not None else 1.0
    if feature_map == "auto" and n_components != "auto":
        feature_map = "nystroem"
    if feature_map == "auto":
        if sp.issparse(rows.X) and n * 3 * n_features > _MOST_VALUES:
            n_features = _WIDE + 1  # dense, the columns would not fit
        fits = rows.small and rows.n_classes**2 * n <= _MOST_VALUES
        feature_map = _automatic_map(kernel, n_features, fits)
    if feature_map == "exact":
        if n > _MOST_EXACT_ROWS:
            raise ValueError(
                f"feature_map='exact' needs {n}^2 similarities ({8e-9 * n * n:.0f} GB) several times over; it takes "
                f"at most {_MOST_EXACT_ROWS} rows. Use feature_map='nystroem'."
            )
        return ExactKernel(kernel=kernel, gamma=width)
    if feature_map == "nystroem":
        count = min(count, n) if n_components == "auto" else count
        check_landmarks(count, n)
        return NystroemFeatures(kernel=kernel, gamma=width, n_components=count, random_state=seed)
    if feature_map == "orthogonal" and kernel != "rbf":
        raise ValueError(f"feature_map='orthogonal' exists for kernel='rbf' only, got kernel={kernel!r}. Use 'auto'.")
    if kernel in ("rbf", "laplacian", "skewed_intersection"):
        orthogonal = feature_map == "orthogonal"
        return FourierFeatures(kernel=kernel, gamma=width, n_components=count, orthogonal=orthogonal, random_state=seed)
    if kernel == "skewed_chi2":
        return SkewedChi2Sampler(skewedness=SKEW, n_components=count, random_state=seed)
    if feature_map == "fourier":
        raise ValueError(
            f"feature_map='fourier' exists for the kernels rbf, laplacian, skewed_chi2 and skewed_intersection, "
            f"got kernel={kernel!r}. Use feature_map='auto' or 'nystroem'."
        )
    plain = {"linear": None, "chi2": AdditiveChi2Sampler(), "intersection": AdditiveIntersectionFeatures()}
    return plain[str(kernel)]


def stream_map(
    kernel: str | Kernel, feature_map: Any, n_components: int, gamma: float | None, rows: TrainingRows, seed: int
) -> Any:
    """Return the unfitted transformer of a stream, of which `rows` are the first: never the exact kernel."""
    if isinstance(feature_map, str) and feature_map == "auto":
        feature_map = _automatic_map(kernel, rows.X.shape[1], exact_fits=False)
    if isinstance(feature_map, str) and feature_map == "plain":
        return choose_map(kernel, "auto", "auto", gamma, rows, seed)
    if isinstance(feature_map, str) and feature_map == "nystroem":
        n_components = min(n_components, rows.n)
    return choose_map(kernel, feature_map, n_components, gamma, rows, seed)


def _automatic_map(kernel: str | Kernel, n_features: int, exact_fits: bool) -> str:
    """Choose the map of "auto": plain columns where the kernel has them, else the exact kernel, else landmarks."""
    columns = {"linear": n_features, "chi2": 3 * n_features, "intersection": 3 * n_features}
    if isinstance(kernel, str) and columns.get(kernel, _WIDE + 1) <= _WIDE:
        return "plain"
    return "exact" if exact_fits else "nystroem"
