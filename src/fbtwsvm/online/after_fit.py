"""Continue after a fit: start a stream from it, or take rows out of it."""

from __future__ import annotations

import numpy as np

from .._arrays import Array
from ..batch.choose_kernel import KernelChoice
from ..batch.fit import refit
from ..batch.model import BatchModel
from ..model.rows import CheckedRows
from ..model.settings import Parameters
from .model import StreamModel
from .policy import policies_of
from .start import start_from_sums, start_stream
from .unlearn import Unlearned


def stream_from(fit: BatchModel, parameters: Parameters) -> StreamModel:
    """Return a stream model that continues from a fit, with the same map.

    The exact kernel would grow with every row; its stream has landmarks chosen from the training rows, and the same
    gamma and metric.
    """
    policies_of(parameters)  # raises an error for parameters that a stream cannot have
    if fit.rows is not None:
        if fit.mapping.exact:
            kernel = KernelChoice(fit.gamma, fit.mapping.metric, fit.mapping.rounds)
            stream = start_stream(fit.rows, parameters, kernel=kernel)
        else:
            stream = start_stream(fit.rows, parameters, fit.mapping, fit.gamma)
    elif fit.sums is not None:
        stream = start_from_sums(fit, parameters)
    else:
        raise ValueError(
            "This model is without what is needed to continue from so large a fit: it was saved by version 0.5.0, or "
            "fitted on a device, where sums of more than 2 GiB are not kept. Fit it again with fewer features, or give "
            "all rows to partial_fit, in chunks."
        )
    stream.lineage = fit.lineage or stream.lineage
    stream.warm_up_matters |= _is_sized_by_rows(parameters)
    return stream


def _is_sized_by_rows(parameters: Parameters) -> bool:
    """Whether a fit has chosen the number of features by its rows; the map may depend on nothing else of them."""
    return parameters.names_map and parameters.n_components == "auto"


def unlearn_ids_from(fit: BatchModel, ids: Array, parameters: Parameters) -> tuple[BatchModel | StreamModel, Unlearned]:
    """Take rows out of a fit by their ids alone, which is possible if it has kept its rows."""
    if fit.rows is None:
        raise ValueError(
            "Nothing was unlearned: this fit has kept sums instead of its rows, because they are smaller. Give the "
            "rows, unlearn(X, y), or learn with partial_fit and ids."
        )
    return unlearn_from(fit, fit.rows.with_ids(ids), parameters)


def unlearn_from(
    fit: BatchModel, rows: CheckedRows, parameters: Parameters
) -> tuple[BatchModel | StreamModel, Unlearned]:
    """Take rows out of a fit; return the new model and a report.

    A fit that keeps its rows is fitted again without them, with the same gamma, metric and map.  A fit that keeps sums,
    or that would be left with one class, continues as a stream without them.
    """
    left = None if fit.rows is None else fit.rows.take(fit.rows.without(rows))
    if left is None or len(np.unique(left.y)) < 2:
        return stream_from(fit, parameters).unlearn(rows, parameters)
    model, report = refit(fit, left, parameters), Unlearned()
    for i in np.flatnonzero(model.mapping.is_landmark(rows.X)):
        report.add("landmark", int(i))
    from_rows = not fit.mapping.exact and (_is_sized_by_rows(parameters) or not fit.mapping.data_independent)
    if from_rows or (isinstance(parameters.gamma, str) and fit.gamma is not None):
        for position in range(len(rows)):
            report.add("warm_up", position)
    if fit.mapping.rounds:
        for position in range(len(rows)):
            report.add("metric", position)
    report.count_removed(len(rows))
    return model, report
