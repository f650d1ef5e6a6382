"""Sums over the rows of a fit and its support rows: what a stream starts from if the rows are not kept."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arrays import Array
from .membership import Ranges


@dataclass(frozen=True)
class SupportRows:
    """Support rows of a fit, and their part in the planes.

    rows          (m, n_columns): mapped rows
    raw           the rows before the map, if the map can be renewed; otherwise None
    labels        (m,): class indices
    weights       (m,): without the factors of class_weight="balanced"
    alpha, box    (m, n_classes): dual and its bound in the plane near each other class
    """

    rows: Array
    raw: Any
    labels: Array
    weights: Array
    alpha: Array
    box: Array


@dataclass(frozen=True)
class FitSums:
    """Sums over all rows of a fit, and some of its support rows.

    n_rows             (n_classes,): rows of each class
    counts, sums       (n_classes,) and (n_classes, n_columns): sum of w_i and of w_i h_i
    grams              (n_classes, n_columns, n_columns): sum of w_i h_i h_i'
    factors            (n_classes,): factors of class_weight="balanced", which are not part of the sums
    support            support rows, at most `memory` of each class
    dual_sums          (n_classes, n_classes, n_columns): sum of alpha_i h_i over rows that are not in `support`
    box_sums           (n_classes, n_classes): sum of C w s over these
    n_condensed        (n_classes,): how many of these have a dual above zero
    nearest, farthest  (n_classes,): smallest and largest squared distance to the mean of the class
    ranges             ranges of the memberships
    near, far, labels  left-out values of calibration rows, and their classes
    """

    n_rows: Array
    counts: Array
    sums: Array
    grams: Array
    factors: Array
    support: SupportRows
    dual_sums: Array
    box_sums: Array
    n_condensed: Array
    nearest: Array
    farthest: Array
    ranges: Ranges
    near: Array
    far: Array
    labels: Array
