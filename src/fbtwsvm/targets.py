"""Labels and what is given per class: present classes, class weights, C and reg."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import compute_class_weight

from .kernels import Array


def present_classes(y: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Sorted classes of the rows with weight, and each row's index among them (0 for absent rows)."""
    present = np.ones(len(y), dtype=bool) if weights is None else weights > 0
    if not present.any():
        raise ValueError("Every sample_weight is zero: there is no row to learn from.")
    classes, found = np.unique(y[present], return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"The data holds one class only ({classes[0]}): fit needs two classes or more"
            + (" among the rows with a positive weight." if not present.all() else ".")
        )
    labels = np.zeros(len(y), dtype=np.int64)
    labels[present] = found
    return classes, labels


def class_factors(class_weight: dict[Any, float] | str | None, classes: Array, labels: Array, weights: Array) -> Array:
    """Return what class_weight multiplies each row's weight by; "balanced" counts rows by their weights."""
    present = weights > 0
    if class_weight is None:
        return np.ones(len(labels))
    if class_weight == "balanced":
        counts = np.bincount(labels[present], weights=weights[present])
        factors = counts.sum() / (len(counts) * counts)
    else:
        factors = compute_class_weight(class_weight, classes=classes, y=classes[labels[present]])
    if not ((factors > 0) & np.isfinite(factors)).all():
        raise ValueError("class_weight must be positive and finite: leave rows of an unwanted class out instead.")
    result: Array = factors[labels]
    return result


def per_class(name: str, value: Any, n_classes: int) -> Array:
    """Return C or reg as one value per near class."""
    if isinstance(value, Real):
        return np.full(n_classes, float(value))
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}={value!r}: give a positive number, or for two classes a pair of them.") from error
    if values.shape != (2,) or n_classes != 2:
        raise ValueError(
            f"{name}={value!r}: a pair is for two classes (the first value for the plane near classes_[0]); this "
            f"y has {n_classes} classes. Give one number."
        )
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"{name}={value!r}: both values must be positive and finite.")
    return values
