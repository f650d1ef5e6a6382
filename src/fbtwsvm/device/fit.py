"""Fit rows on a device.  Kernel and map are chosen here, on a sample; all rows are read on the device."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .._arrays import Array
from .._log import LOG
from .._namespace import full_products, namespace, to_numpy
from ..batch.fit import batch_model
from ..batch.model import BatchModel
from ..batch.prepare import Prepared, choose, draw_sample, fit_on_sample, wanted_of_sample, without_landmarks
from ..batch.remember import keeps_rows, sums_of
from ..batch.trial_rows import TrialRows
from ..features import FourierFeatures
from ..model.mapping import Mapping
from ..model.rows import LARGE, CheckedRows, calibration_rows, check_class_names
from ..model.settings import Parameters
from ..solver import products
from ..solver.row_reader import Tiles
from .home import DeviceHome
from .keep import Here, host_state, support_on_device
from .maps import check_map
from .rows import DeviceRows
from .solve import solve_on_device

_MOST_SUMS = 2**31  # bytes of Gram matrices that a model keeps to continue from


def fit_on_device(parameters: Parameters, rows: DeviceRows) -> BatchModel:
    """Fit checked rows on the device that they are on, or go to."""
    with full_products(rows.place):
        return _fit(parameters, rows)


def _fit(parameters: Parameters, rows: DeviceRows) -> BatchModel:
    check_class_names(parameters.class_weight, rows.classes)
    seed, settings = parameters.seed(), parameters.settings(rows.n_classes)
    mapping, gamma, wanted = map_of(parameters, rows, seed)
    home = DeviceHome(rows, mapping, parameters.precision)
    find_scale(home, parameters)
    home.hold()
    LOG.info("mapped rows are %s", "mapped in every pass" if home.held is None else "held on the device")
    solved = solve_on_device(settings, home, wanted)
    here = Here(rows, mapping)
    sample = rows.subset(wanted[:0])
    prepared = Prepared(rows.classes, settings, gamma, sample, mapping, here, None, wanted, rows.factors, seed)
    found = support_on_device(home, solved, settings, parameters.memory)
    state = host_state(solved, here, settings, home.map.n_columns)
    model = batch_model(prepared, state, np.dtype(rows.dtype))
    model = replace(model, n_support=found.counts)
    if keeps_rows(rows.X, rows, home.map.n_columns, parameters.memory):  # type: ignore[arg-type]
        return replace(model, rows=_rows_here(rows))
    if 8 * rows.n_classes * home.map.n_columns**2 > _MOST_SUMS:
        return model
    return replace(model, sums=sums_of(prepared, state, found, parameters))


def map_of(
    parameters: Parameters, rows: DeviceRows, seed: int, *, grows: bool = True
) -> tuple[Mapping, float | None, Array]:
    """Choose kernel and map on a sample and fit the map; return it with gamma and the calibration rows.

    Unless it `grows`, n_components "auto" is taken from the number of rows.
    """
    drawn = draw_sample(parameters, rows.starts, seed)
    # If nothing is chosen, a few rows are enough: they tell the number of columns and their precision.
    needs_trial, none = _needs_trial(parameters), drawn[:0]
    sample = rows.subset(drawn if needs_trial else calibration_rows(rows.starts, none, seed, 1))
    choice = choose(parameters, rows, TrialRows(sample, None, seed, rows.gamma_scale), seed, grows=grows)
    check_map(choice.transformer)
    mapping = fit_on_sample(choice.transformer, sample, rows.classes)
    mapping.rounds = choice.kernel.rounds
    if rows.n <= LARGE:  # the sample has all rows
        drawn = np.flatnonzero(mapping.landmarks(sample)) if needs_trial else none
    wanted = wanted_of_sample(rows.starts, drawn, seed)
    if mapping.frozen:
        wanted = without_landmarks(wanted, mapping, rows.subset(wanted))
    return mapping, choice.kernel.gamma, wanted


def _needs_trial(parameters: Parameters) -> bool:
    """Whether gamma, metric or number of features are chosen on rows, or the map depends on them."""
    chosen = isinstance(parameters.gamma, str) or isinstance(parameters.n_components, str)
    learns = isinstance(parameters.metric, str) and parameters.metric == "columns"
    given_map = isinstance(parameters.feature_map, str) and parameters.feature_map in ("fourier", "orthogonal")
    return chosen or learns or not given_map


def find_scale(home: DeviceHome, parameters: Parameters) -> None:
    """Set the scale of a map that has one, by a pass over the rows."""
    mapping = home.mapping
    if not mapping.needs_scale(parameters.kernel) or isinstance(mapping.transformer, FourierFeatures):
        return
    mapping.set_scale(home.reduce(_add_squares, None, "scale of the features") / float(home.class_weights.sum()))
    home.map = type(home.map)(mapping, home.rows.place, home.map.dtype)


def _add_squares(rows: Tiles, _: None) -> float:
    """Return the sum of w ||z||^2 over rows, without their bias."""
    total = 0.0
    for tile in rows:
        squares = products.row_squares(tile.rows) - 1.0
        weighted = squares if tile.weights is None else squares * tile.weights
        total += float(namespace(weighted).sum(weighted))
    return total


def _rows_here(rows: DeviceRows) -> CheckedRows:
    """Return all rows with a weight as arrays of NumPy, without the factors of class_weight."""
    codes = to_numpy(rows.codes)
    given = np.flatnonzero(codes >= 0)
    weights = np.ones(len(codes)) if rows.given_weights is None else to_numpy(rows.given_weights)
    X = np.asarray(to_numpy(rows.X), dtype=rows.dtype)[given]
    return CheckedRows.unnamed(X, rows.classes[codes[given]], (weights / rows.factors[np.maximum(codes, 0)])[given])
