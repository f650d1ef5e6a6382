"""Format 1 of a model file: a classifier at any stage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...batch.model import BatchModel
from ...classifier import FBTWSVM, Model, check_parameters, model_of, parameters_of, with_model
from ...online.model import StreamModel
from ...online.warm_up import WarmUpModel, small_stream, warm_up_rows
from .container import ModelFileError, Writer
from .parts import CHECKED_ROWS, COUNT, DECISION, MAPPING, PARAMETER, check_sorted, mapped_columns
from .stream import FIT_SUMS, STREAM
from .strings import Labels, Strings
from .value_types import FLOATS, ArrayOf, Context, DType, Float, Int, Maybe, Record, Spec, Text, parts_of

# What a classifier has at every stage.
_LEARNED: dict[str, Spec] = {
    "n_features_in_": Int(1), "feature_names_in_": Maybe(Strings("F")), "_dtype": DType(), "classes_": Labels("K"),
    "gamma_": Maybe(Float()), "n_components_": Int(1), "n_iter_": COUNT, "duality_gap_": ArrayOf("f8", "K", "K"),
}  # fmt: skip
# What a fitted classifier has beyond that.
_FIT = Record(
    dict,
    {
        "_mapping": MAPPING, "_decision": DECISION, "planes_": ArrayOf(FLOATS, "K", "K", "D"),
        "support_": Maybe(ArrayOf("i8", None, low=0)), "n_support_": Maybe(ArrayOf("i8", "K")),
        "memberships_": Maybe(ArrayOf("f8", None, "K")), "lineage": Strings(),
    },
    renamed={
        "_mapping": "mapping", "_decision": "decision", "planes_": "planes", "support_": "support",
        "n_support_": "n_support", "memberships_": "memberships",
    },
    parts=lambda fit: {**vars(fit), "lineage": sorted(fit.lineage)},
    optional=("lineage",),
)  # fmt: skip


class _Classifier:
    """A classifier: its parameters, and what it has learned."""

    def write(self, estimator: FBTWSVM, writer: Writer) -> dict[str, Any]:
        """Write it."""
        parameters = {name: PARAMETER.write(value, writer) for name, value in estimator.get_params(deep=False).items()}
        if not hasattr(estimator, "classes_"):
            return {"parameters": parameters, "learned": None, "stage": None}
        model = model_of(estimator)
        learned = {
            "n_features_in_": estimator.n_features_in_,
            "feature_names_in_": getattr(estimator, "feature_names_in_", None),
            "_dtype": model.dtype, "classes_": model.classes, "gamma_": model.gamma,
            "n_components_": estimator.n_components_, "n_iter_": model.n_iter, "duality_gap_": model.gaps,
        }  # fmt: skip
        nodes = {name: spec.write(learned[name], writer) for name, spec in _LEARNED.items()}
        return {"parameters": parameters, "learned": nodes, "stage": _write_stage(estimator, model, writer)}

    def read(self, node: Any, context: Context) -> FBTWSVM:
        """Read it."""
        context = context.without(("K", "D", "E", "F", "M", "n", "S"))
        fields = parts_of(node, ("parameters", "learned", "stage"))
        estimator = self._unlearned(fields["parameters"], context)
        if fields["learned"] is None:
            return estimator
        learned: dict[str, Any] = Record(dict, _LEARNED).read(fields["learned"], context)
        context.expect((learned["n_features_in_"],), ("F",))
        columns = {"n_features_in_": learned["n_features_in_"]}
        if learned["feature_names_in_"] is not None:
            columns["feature_names_in_"] = np.array(learned["feature_names_in_"], dtype=object)
        model = _read_stage(fields["stage"], context, estimator, learned)
        _check(model, learned["n_features_in_"])
        return with_model(estimator, model, columns)

    @staticmethod
    def _unlearned(node: Any, context: Context) -> FBTWSVM:
        if not isinstance(node, dict) or not set(node) <= set(FBTWSVM().get_params(deep=False)):
            raise ModelFileError("it has parameters that this version does not have")
        try:
            estimator = FBTWSVM(**{name: PARAMETER.read(value, context) for name, value in node.items()})
            check_parameters(estimator)
        except ModelFileError:
            raise
        except (ValueError, TypeError) as error:
            raise ModelFileError(f"a parameter is out of bounds ({error})") from error
        return estimator


CLASSIFIER = _Classifier()


def _write_stage(estimator: FBTWSVM, model: Model, writer: Writer) -> Any:
    """Write the part that depends on the stage of the model."""
    if isinstance(model, StreamModel):
        return ["learning", {
            "learner": STREAM.write(model, writer), "shown": model.members.index(model.leader),
            "kept_": model.n_kept, "n_support_": writer.add(model.n_support),
        }]  # fmt: skip
    if isinstance(model, BatchModel):
        return ["fitted", {"answers": _FIT.write(model, writer), "history": _write_history(model, writer)}]
    rows = CHECKED_ROWS.write(model.rows, writer)
    if isinstance(model.provisional, BatchModel):
        return ["waiting", {"rows": rows, "answers": _FIT.write(model.provisional, writer)}]
    provisional = FBTWSVM(**vars(small_stream(parameters_of(estimator))))
    with_model(provisional, model.provisional, {"n_features_in_": estimator.n_features_in_})
    return ["warming_up", {"rows": rows, "provisional": CLASSIFIER.write(provisional, writer)}]


def _read_stage(node: Any, context: Context, estimator: FBTWSVM, learned: dict[str, Any]) -> Model:
    """Read the part that depends on the stage of the model."""
    wanted = warm_up_rows(parameters_of(estimator))
    match node:
        case ["learning", {"learner": stream, "shown": shown, "kept_": kept, "n_support_": support, **rest}] if (
            not rest
        ):
            model: StreamModel = STREAM.read(stream, context)
            Int(0, len(model.members) - 1).read(shown, context)
            COUNT.read(kept, context)
            ArrayOf("i8", "K").read(support, context)
            model.gamma = learned["gamma_"]
            _set_jobs(model, estimator.n_jobs)
            return model
        case ["warming_up", {"rows": rows, "provisional": provisional, **rest}] if not rest:
            waiting = CHECKED_ROWS.read(rows, context)
            answering = CLASSIFIER.read(provisional, context)
            if not hasattr(answering, "classes_"):
                raise ModelFileError("a model in its warm-up has learned nothing")
            return WarmUpModel(waiting, wanted, model_of(answering))
        case ["waiting", {"rows": rows, "answers": answers, **rest}] if not rest:
            waiting = CHECKED_ROWS.read(rows, context)
            return WarmUpModel(waiting, wanted, _read_fit(answers, context, learned, {}))
        case ["fitted", {"answers": answers, "history": history, **rest}] if not rest:
            return _read_fit(answers, context, learned, _read_history(history, context))
    raise ModelFileError("the stage of the model is unknown")


def _read_fit(node: Any, context: Context, learned: dict[str, Any], history: dict[str, Any]) -> BatchModel:
    fit = _FIT.read(node, context)
    lineage = fit.pop("lineage") or ()
    return BatchModel(
        classes=learned["classes_"], gamma=learned["gamma_"], gaps=learned["duality_gap_"], n_iter=learned["n_iter_"],
        dtype=learned["_dtype"], **fit, lineage=frozenset(lineage), **history,
    )  # fmt: skip


def _write_history(model: BatchModel, writer: Writer) -> Any:
    """Write the training rows that a fit keeps to go on from, or their sums."""
    if model.rows is not None:
        return ["rows", CHECKED_ROWS.write(model.rows, writer)]
    return None if model.sums is None else ["sums", FIT_SUMS.write(model.sums, writer)]


def _read_history(node: Any, context: Context) -> dict[str, Any]:
    """Read the rows or sums that a fit keeps; version 0.5.0 wrote a note if it kept none."""
    match node:
        case None:
            return {}
        case ["note", note]:
            Text().read(note, context)
            return {}
        case ["rows", rows]:
            return {"rows": CHECKED_ROWS.read(rows, context)}
        case ["sums", sums]:
            return {"sums": FIT_SUMS.read(sums, context)}
    raise ModelFileError("the rows of a fit are of an unknown kind")


def _set_jobs(model: StreamModel, n_jobs: int | None) -> None:
    """Set the number of threads of a stream to that of the parameters; the file stores it once."""
    parts: list[Any] = [model, *model.members]
    for part in parts:
        options = replace(part.settings.options, n_jobs=n_jobs)
        part.settings = replace(part.settings, options=options)


def _check(model: Model, n_features: int) -> None:
    """Check that the planes fit the classes and the feature map, by mapping a row."""
    check_sorted(model.classes)
    if mapped_columns(model.mapping, n_features) != model.planes.shape[2]:
        raise ModelFileError("its planes do not fit its feature map")
    one = np.zeros((1, n_features), dtype=model.mapping.dtype)
    try:
        columns = model.mapping.rows(one).shape[1]
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise ModelFileError(f"its feature map does not work ({error})") from error
    if columns != model.planes.shape[2] or len(model.classes) != len(model.planes):
        raise ModelFileError("its planes do not fit its feature map")
