"""A classifier in a model file, at any stage."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...batch.model import BatchModel
from ...classifier import FBTWSVM, Model, check_parameters, model_of, parameters_of, promised_classes, with_model
from ...model.settings import Parameters
from ...online.model import StreamModel
from ...online.warm_up import WarmUpModel, small_stream, warm_up_rows
from ...solver.problem import SolverOptions
from .checks import check_model, check_promised, check_transformer, differences
from .container import ModelFileError, Writer
from .parts import CHECKED_ROWS, COUNT, DECISION, MAPPING, PARAMETER
from .stream import FIT_SUMS, STREAM
from .strings import Labels, Strings
from .value_types import FLOATS, POSITIVE, ArrayOf, Context, DType, Float, Int, Maybe, Record, Spec, Text, parts_of

# What a classifier has at every stage.
_LEARNED: dict[str, Spec] = {
    "n_features_in_": Int(1), "feature_names_in_": Maybe(Strings("F")), "_dtype": DType(), "classes_": Labels("K"),
    "gamma_": Maybe(Float(POSITIVE)), "n_components_": Int(1), "n_iter_": COUNT,
    "duality_gap_": ArrayOf("f8", "K", "K"), "promised": Maybe(Labels()),
}  # fmt: skip
# What a fitted classifier has beyond that.
_FIT = Record(
    dict,
    {
        "_mapping": MAPPING, "_decision": DECISION, "planes_": ArrayOf(FLOATS, "K", "K", "D"),
        "support_": Maybe(ArrayOf(("i8", "i4"), None, low=0)),  # fits of chunks up to 0.14 wrote the shorter ones
        "n_support_": Maybe(ArrayOf("i8", "K", low=0)),
        "memberships_": Maybe(ArrayOf("f8", None, "K", low=0)), "lineage": Strings(),
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
        given = estimator.get_params(deep=False)
        del given["device"]  # where a model computes is not part of it: it may be read where there is no such device
        parameters = {name: PARAMETER.write(value, writer) for name, value in given.items()}
        if not hasattr(estimator, "classes_"):
            return {"parameters": parameters, "learned": None, "stage": None}
        model = model_of(estimator)
        if not isinstance(model, BatchModel):
            model = model.finished()  # what is in preparation cannot be stored
        learned = {
            "n_features_in_": estimator.n_features_in_,
            "feature_names_in_": getattr(estimator, "feature_names_in_", None),
            "_dtype": model.dtype, "classes_": model.classes, "gamma_": model.gamma,
            "n_components_": model.planes.shape[2] - 1, "n_iter_": model.n_iter,
            "duality_gap_": model.leader.gaps if isinstance(model, StreamModel) else model.gaps,
            "promised": promised_classes(estimator),
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
        learned: dict[str, Any] = Record(dict, _LEARNED, added={"promised": (2, None)}).read(fields["learned"], context)
        n_features = learned["n_features_in_"]
        context.expect((n_features,), ("F",))
        columns = {"n_features_in_": n_features}
        if learned["feature_names_in_"] is not None:
            columns["feature_names_in_"] = np.array(learned["feature_names_in_"], dtype=object)
        model = _read_stage(fields["stage"], context, estimator, learned)
        check_transformer(estimator.feature_map if hasattr(estimator.feature_map, "transform") else None, n_features)
        check_model(model, n_features, context.reader.n_bytes)
        if learned["n_components_"] != model.planes.shape[2] - 1:
            raise ModelFileError("sizes of arrays do not agree")
        check_promised(learned["promised"], model.classes)
        return with_model(estimator, model, columns, learned["promised"])

    @staticmethod
    def _unlearned(node: Any, context: Context) -> FBTWSVM:
        if not isinstance(node, dict) or not set(node) <= set(FBTWSVM().get_params(deep=False)):
            raise ModelFileError("it has parameters that this version does not have")
        try:
            values = {name: PARAMETER.read(value, context) for name, value in node.items()}
            if context.written_before(3):  # there was no metric
                values["metric"] = "none"
            estimator = FBTWSVM(**values)
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
        changed = differences(model, parameters_of(estimator))
        if changed:
            raise ModelFileError(
                f"The parameters of this stream were changed while it learned ({', '.join(changed)}), which has no "
                "effect on it. Set them back with set_params before you save it."
            )
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
    parameters = parameters_of(estimator)
    wanted = warm_up_rows(parameters)
    match node:
        case ["learning", {"learner": stream, "shown": shown, "kept_": kept, "n_support_": support, **rest}] if (
            not rest
        ):
            model: StreamModel = STREAM.read(stream, context)
            Int(0, len(model.members) - 1).read(shown, context)
            COUNT.read(kept, context)
            ArrayOf("i8", "K").read(support, context)
            model.gamma = learned["gamma_"]
            if not np.array_equal(model.classes, learned["classes_"]):
                raise ModelFileError("it names its classes in two ways")
            if not context.written_before(2) and differences(model, parameters):
                raise ModelFileError("its stream was learned with other parameters than it names")
            _set_options(model, parameters)
            model.any_gamma = parameters.gamma == "auto"
            return model
        case ["warming_up", {"rows": rows, "provisional": provisional, **rest}] if not rest:
            waiting = CHECKED_ROWS.read(rows, context)
            answering = CLASSIFIER.read(provisional, context)
            if not hasattr(answering, "classes_") or answering.n_features_in_ != learned["n_features_in_"]:
                raise ModelFileError("a model in its warm-up has learned nothing, or something else")
            provisional_model = model_of(answering)
            return WarmUpModel(waiting, wanted, provisional_model, provisional_model.answers)
        case ["waiting", {"rows": rows, "answers": answers, **rest}] if not rest:
            waiting = CHECKED_ROWS.read(rows, context)
            fit = _read_fit(answers, context, learned, {})
            return WarmUpModel(waiting, wanted, fit, fit.answers)
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


def _set_options(model: StreamModel, parameters: Parameters) -> None:
    """Set how a stream solves its problems to what the parameters say: they may change at any time."""
    options = SolverOptions(parameters.tol, parameters.max_iter, parameters.n_jobs)
    parts: list[Any] = [model, *model.members]
    for part in parts:
        part.settings = replace(part.settings, options=options)
