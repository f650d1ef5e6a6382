"""Fit the rows of a collection.  Choices are made here, on a sample; all rows are read in passes, where they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._arrays import Array
from .._log import LOG
from ..batch.fit import batch_model, fit_rows, fits_in_memory
from ..batch.model import BatchModel
from ..batch.prepare import (
    Prepared,
    choose,
    draw_sample,
    find_scale,
    fit_on_sample,
    wanted_of_sample,
    without_landmarks,
)
from ..batch.remember import sums_of, support_of
from ..batch.trial_rows import TrialRows
from ..model.rows import LARGE, CheckedRows, check_class_names, stacked
from ..model.settings import Parameters
from ..solver.choose import LARGEST_READ, first_sample
from .home import ClusterHome
from .partitions import given_weights
from .rows import Layout, PartitionedRows, as_rows


def fit_collection(parameters: Parameters, rows: PartitionedRows) -> BatchModel:
    """Fit the rows of a collection that have been checked; a few rows are fitted as one array."""
    classes = rows.facts.classes
    check_class_names(parameters.class_weight, classes)
    if rows.n <= LARGE:
        given = gather(rows)
        model = fit_rows(parameters, given.X, given.y, given.weights, mapped=fits_in_memory(parameters, given.X))
        model = replace(model, support=None, memberships=None)  # as of many rows: their order is that of the partitions
    else:
        model = _fit_in_passes(parameters, rows)
    LOG.info("%d passes over the rows", rows.partitions.passes)
    return replace(model, n_passes=rows.partitions.passes)


def gather(rows: PartitionedRows) -> CheckedRows:
    """Bring all rows with a weight here, in the order of the collection, with labels and weights."""
    found = [part for part in rows.partitions.map(_all_of, rows.layout, "all rows") if part is not None]
    X, y, weights = zip(*found, strict=True)
    return CheckedRows.unnamed(stacked(X), np.concatenate(y), np.concatenate(weights))


def _all_of(p: int, X: Any, y: Any, weights: Any, layout: Layout) -> tuple[Any, Array, Array] | None:
    """Return rows, labels and weights of a partition as arrays, without rows of weight zero; None if it has none."""
    names = np.asarray(y)
    given = given_weights(weights, len(names))
    present = given > 0
    if not present.any():
        return None
    return as_rows(X, layout.dtype)[present], names[present], given[present]


def _fit_in_passes(parameters: Parameters, rows: PartitionedRows) -> BatchModel:
    """Fit very many rows."""
    seed, settings, classes = parameters.seed(), parameters.settings(rows.n_classes), rows.facts.classes
    drawn = draw_sample(parameters, rows.starts, seed)
    wanted = wanted_of_sample(rows.starts, drawn, seed)
    first = first_sample(rows.starts, seed, LARGEST_READ)
    rows.fetch(np.unique(np.concatenate([drawn, wanted, first])), "sample")
    sample = rows.subset(drawn)
    choice = choose(parameters, rows, TrialRows(sample, None, seed, rows.gamma_scale), seed)
    mapping = fit_on_sample(choice.transformer, sample, classes)
    if mapping.frozen:
        wanted = without_landmarks(wanted, mapping, rows.subset(wanted))
    mapping.rounds = choice.kernel.rounds
    home = ClusterHome(rows, mapping)
    find_scale(mapping, home, parameters)
    gamma = choice.kernel.gamma
    prepared = Prepared(classes, settings, gamma, sample, mapping, home, None, wanted, rows.facts.factors, seed)
    LOG.info("solving the planes of %d classes", len(classes))
    (solved,) = prepared.solve(settings)
    support = support_of(home, solved, prepared, parameters.memory, with_numbers=False)
    model = batch_model(prepared, solved, rows.facts.dtype)
    return replace(model, n_support=support.counts, sums=sums_of(prepared, solved, support, parameters))
