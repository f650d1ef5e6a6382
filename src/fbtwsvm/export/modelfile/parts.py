"""Parts of a model file: parameters, feature maps, decision rules, rows.

docs/guide/model_files.md describes the format for readers in other languages.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import AdditiveChi2Sampler, SkewedChi2Sampler

from ..._arrays import as_python
from ...features.additive import AdditiveIntersectionFeatures
from ...features.exact import ExactKernel
from ...features.fourier import FourierFeatures
from ...features.kernels import KERNELS
from ...features.nystroem import NystroemFeatures
from ...model.decision import Decision
from ...model.mapping import Mapping
from ...model.rows import CheckedRows
from ...model.standard_columns import StandardColumns
from ...online.drift import HoeffdingDrift
from .container import ModelFileError, Writer
from .strings import Ids, Keys, Labels
from .value_types import (
    FLOATS,
    POSITIVE,
    ArrayOf,
    Bool,
    Choice,
    Context,
    DType,
    Float,
    Int,
    Maybe,
    Record,
    Rows,
    Spec,
    Text,
    blank,
)

COUNT = Int(0)
_KERNEL = Text(*KERNELS)
_METRIC = Maybe(ArrayOf("f8", "F", low=0))


class Parameter:
    """A parameter of the classifier: a string, number, pair, class weights, feature map or drift detector."""

    def write(self, value: Any, writer: Writer) -> Any:
        """Write it, or refuse a value that cannot be in a file."""
        value = as_python(value)
        if value is None or isinstance(value, (bool, int, str)):
            return value
        if isinstance(value, float):
            return ["number", Float().write(value, writer)]
        if isinstance(value, (list, tuple)) or hasattr(value, "__array__"):
            numbers = [Float().write(item, writer) for item in np.ravel(value).tolist()]
            return ["pair" if len(numbers) == 2 else "numbers", numbers]
        if isinstance(value, dict):
            return ["weights", [Keys().write(value, writer), [Float().write(v, writer) for v in value.values()]]]
        if isinstance(value, FrozenEstimator) and type(value.estimator) in _MAP_NAMES:
            return ["frozen", MAP.write(value.estimator, writer)]
        if type(value) is HoeffdingDrift:
            return ["hoeffding_drift", DETECTOR.write(value, writer)]
        raise ModelFileError(
            f"A model file holds no code, so the parameter value {value!r} cannot be saved (nor can functions, random "
            "states, transformers and detectors of other packages). Choose another value, or use pickle."
        )

    def read(self, node: Any, context: Context) -> Any:
        """Read it; the classifier checks later whether it suits the parameter."""
        if node is None or type(node) in (bool, int):
            return node
        if type(node) is str:
            return Text(most=100).read(node, context)
        match node:
            case ["number", number]:
                return Float().read(number, context)
            case ["pair", [first, second]]:
                return (Float().read(first, context), Float().read(second, context))
            case ["numbers", list(values)]:
                return tuple(Float().read(value, context) for value in values)
            case ["weights", [keys, list(values)]]:
                labels = Keys(len(values)).read(keys, context)
                return dict(zip(labels, [Float().read(value, context) for value in values], strict=True))
            case ["frozen", part]:
                return FrozenEstimator(MAP.read(part, context.without(("M",))))
            case ["hoeffding_drift", part]:
                return DETECTOR.read(part, context)
        raise ModelFileError("a parameter has an unknown value")


PARAMETER = Parameter()
DETECTOR = Record(
    blank(HoeffdingDrift),
    {
        # Both bounds of the confidence are excluded; counts are multiplied with each other.
        "confidence": Float(POSITIVE, 1.0 - 2**-53),
        "drift_detected": Bool(),
        "counts": ArrayOf("i8", 4, low=0, below=3 * 10**9),
    },
)

# Feature maps: "F" columns in, "M" features out.
_MAPS: dict[type, tuple[str, dict[str, Spec]]] = {
    NystroemFeatures: (
        "nystroem",
        {
            "kernel": _KERNEL, "gamma": PARAMETER, "n_components": PARAMETER, "landmarks": Text(),
            "random_state": PARAMETER, "n_features_in_": COUNT, "gamma_": Float(POSITIVE),
            "landmark_indices_": Maybe(ArrayOf("i8", None, low=0)), "landmarks_": Rows("M", "F"),
            "normalisation_": ArrayOf(FLOATS, "M", "M"), "_n_features_out": COUNT, "metric_": _METRIC,
        },
    ),
    FourierFeatures: (
        "fourier",
        {
            "kernel": _KERNEL, "gamma": PARAMETER, "n_components": Int(1), "orthogonal": Bool(),
            "random_state": PARAMETER, "n_features_in_": COUNT, "gamma_": Float(POSITIVE),
            "phases_": ArrayOf(FLOATS, "M"), "frequencies_": ArrayOf(FLOATS, "F", "M", numbers="finite"),
            "_n_features_out": COUNT, "metric_": _METRIC,
        },
    ),
    ExactKernel: (
        "exact",
        {
            "kernel": _KERNEL, "gamma": PARAMETER, "n_features_in_": COUNT, "gamma_": Float(POSITIVE),
            "rows_": Rows("M", "F"), "_n_features_out": COUNT, "metric_": _METRIC,
        },
    ),
    AdditiveIntersectionFeatures: (
        "intersection",
        {
            "sample_steps": Int(1, 1000), "sample_interval": Float(POSITIVE), "n_features_in_": COUNT,
            "_n_features_out": COUNT,
        },
    ),
    AdditiveChi2Sampler: (
        "chi2",
        {"sample_steps": Int(1, 3), "sample_interval": Maybe(Float(POSITIVE)), "n_features_in_": COUNT},
    ),
    SkewedChi2Sampler: (
        "skewed_chi2",
        {
            "skewedness": Float(0.0), "n_components": Int(1), "random_state": PARAMETER, "n_features_in_": COUNT,
            "random_weights_": ArrayOf(FLOATS, "F", "M", numbers="finite"), "random_offset_": ArrayOf(FLOATS, "M"),
            "_n_features_out": COUNT,
        },
    ),
}  # fmt: skip
_MAP_NAMES = {cls: name for cls, (name, _) in _MAPS.items()}


def _map_name(transformer: Any) -> str:
    if type(transformer) not in _MAP_NAMES:
        raise ModelFileError(
            f"A model file holds no code, so a model with the map {transformer!r} cannot be saved. Use pickle."
        )
    if callable(getattr(transformer, "kernel", None)):
        raise ModelFileError("A model file holds no code, so a kernel function cannot be saved. Use pickle.")
    return _MAP_NAMES[type(transformer)]


def _map_record(cls: type, fields: dict[str, Spec]) -> Record:
    """Return the record of a map; those of older files have no metric."""
    if "metric_" not in fields:
        return Record(blank(cls), fields)

    def make(**attributes: Any) -> Any:
        return blank(cls)(**attributes, metric=attributes["metric_"])

    return Record(make, fields, added={"metric_": (3, None)})


MAP = Choice({name: _map_record(cls, fields) for cls, (name, fields) in _MAPS.items()}, _map_name)
_COLUMNS = Record(StandardColumns, {"centre": ArrayOf("f8", "F"), "factor": ArrayOf("f8", "F", low=POSITIVE)})
MAPPING = Record(
    Mapping,
    {
        "transformer": Maybe(MAP), "scale": Float(POSITIVE), "dtype": DType(), "frozen": Bool(), "rounds": COUNT,
        "columns": Maybe(_COLUMNS),
    },
    own=("M",),
    added={"rounds": (3, 0), "columns": (6, None)},
)  # fmt: skip
DECISION = Record(
    Decision,
    {
        "offsets": ArrayOf("f8", "K", "K"), "learned_offsets": ArrayOf("f8", "K", "K"),
        "slopes": ArrayOf("f8", "K", "K"), "multiclass": Text("dag", "vote"), "calibrated": Bool(),
    },
)  # fmt: skip
CHECKED_ROWS = Record(
    CheckedRows,
    {"X": Rows("n", "F"), "y": Labels("n"), "weights": ArrayOf("f8", "n", low=0), "ids": Ids("n")},
    own=("n",),
)
