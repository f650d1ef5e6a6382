"""Format 1 of a model file: a classifier, at whatever stage it is."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...classifier import FBTWSVM
from ...model.rows import CheckedRows
from ...online.model import StreamModel
from ...online.warm_up import Waiting
from .container import ModelFileError, Writer
from .parts import COUNT, DECISION, GIVEN, MAPPING, PARAMETER, check_sorted, map_width
from .schema import FLOATS, ArrayOf, Context, DType, Float, Int, Maybe, Record, Spec, Text, parts_of
from .stream import LEARNER
from .strings import Labels, Words

# The model: what answers (a fit, or the learner), and what it goes on from.
_ANSWERS: dict[str, Spec] = {
    "_mapping": MAPPING, "_decision": DECISION, "planes_": ArrayOf(FLOATS, "K", "K", "D"),
    "support_": Maybe(ArrayOf("i8", None, low=0)), "n_support_": Maybe(ArrayOf("i8", "K")),
    "memberships_": Maybe(ArrayOf("f8", None, "K")),
}  # fmt: skip


class _Stage:
    """The part of a model that depends on how far it has come."""

    def write(self, model: FBTWSVM, writer: Writer) -> Any:
        """Write what the model stands on."""
        if model._learner is not None:
            learner = model._learner
            shown = [member.planes is model.planes_ for member in learner.members]
            return ["learning", {
                "learner": LEARNER.write(learner, writer), "shown": shown.index(True),
                "kept_": int(model.kept_), "n_support_": writer.add(model.n_support_),
            }]  # fmt: skip
        if model._waiting is not None:
            provisional = model._waiting.provisional
            rows = GIVEN.write(model._waiting.rows, writer)
            if provisional is not None:
                return ["warming_up", {"rows": rows, "provisional": MODEL.write(provisional, writer)}]
            return ["waiting", {"rows": rows, "answers": _write_answers(model, writer)}]
        history = model._history
        if isinstance(history, str):
            history = ["note", history]
        elif history is not None:
            history = ["rows", GIVEN.write(history, writer)]
        return ["fitted", {"answers": _write_answers(model, writer), "history": history}]

    def read(self, node: Any, context: Context) -> dict[str, Any]:
        """Read it as attributes of the model."""
        match node:
            case ["learning", {"learner": learner, "shown": shown, "kept_": kept, "n_support_": support, **rest}]:
                if not rest:
                    return _learning(LEARNER.read(learner, context), shown, kept, support, context)
            case ["warming_up", {"rows": rows, "provisional": provisional, **rest}]:
                if not rest:
                    return _warming_up(GIVEN.read(rows, context), provisional, context)
            case ["waiting", {"rows": rows, "answers": answers, **rest}]:
                if not rest:
                    waiting = Waiting(GIVEN.read(rows, context), None)
                    return {**_read_answers(answers, context), "_waiting": waiting}
            case ["fitted", {"answers": answers, "history": history, **rest}]:
                if not rest:
                    return {**_read_answers(answers, context), "_history": _read_history(history, context)}
        raise ModelFileError("the stage of the model is unknown")


def _write_answers(model: FBTWSVM, writer: Writer) -> dict[str, Any]:
    return {name: spec.write(getattr(model, name, None), writer) for name, spec in _ANSWERS.items()}


def _read_answers(node: Any, context: Context) -> dict[str, Any]:
    values: dict[str, Any] = Record(dict, _ANSWERS).read(node, context)
    return {name: value for name, value in values.items() if value is not None}


def _read_history(node: Any, context: Context) -> Any:
    match node:
        case None:
            return None
        case ["note", note]:
            return Text().read(note, context)
        case ["rows", rows]:
            return GIVEN.read(rows, context)
    raise ModelFileError("the rows of a fit are of an unknown kind")


def _learning(learner: StreamModel, shown: Any, kept: Any, support: Any, context: Context) -> dict[str, Any]:
    leader = learner.members[Int(0, len(learner.members) - 1).read(shown, context)]
    return {
        "_learner": learner, "_mapping": learner.mapping, "_decision": learner.rule(), "planes_": leader.planes,
        "duality_gap_": leader.gaps, "classes_": learner.classes, "kept_": COUNT.read(kept, context),
        "n_support_": ArrayOf("i8", "K").read(support, context),
    }  # fmt: skip


def _warming_up(rows: CheckedRows, node: Any, context: Context) -> dict[str, Any]:
    provisional = MODEL.read(node, context)
    if not hasattr(provisional, "_mapping"):
        raise ModelFileError("a model in its warm-up has learned nothing")
    shared = ("classes_", "planes_", "duality_gap_", "_mapping", "_decision")
    return {"_waiting": Waiting(rows, provisional), **{name: getattr(provisional, name) for name in shared}}


_LEARNED: dict[str, Spec] = {
    "n_features_in_": Int(1), "feature_names_in_": Maybe(Words("F")), "_dtype": DType(), "classes_": Labels("K"),
    "gamma_": Maybe(Float()), "n_components_": Int(1), "n_iter_": COUNT, "duality_gap_": ArrayOf("f8", "K", "K"),
}  # fmt: skip


class _Model:
    """A classifier: its parameters, and what it has learned if it has."""

    def write(self, model: FBTWSVM, writer: Writer) -> dict[str, Any]:
        """Write it."""
        parameters = {name: PARAMETER.write(value, writer) for name, value in model.get_params(deep=False).items()}
        if not hasattr(model, "classes_"):
            return {"parameters": parameters, "learned": None, "stage": None}
        learned = {name: spec.write(getattr(model, name, None), writer) for name, spec in _LEARNED.items()}
        return {"parameters": parameters, "learned": learned, "stage": _Stage().write(model, writer)}

    def read(self, node: Any, context: Context) -> FBTWSVM:
        """Read it."""
        context = context.without(("K", "D", "E", "F", "M", "n", "S"))
        fields = parts_of(node, ("parameters", "learned", "stage"))
        model = self._unlearned(fields["parameters"], context)
        if fields["learned"] is None:
            return model
        learned: dict[str, Any] = Record(dict, _LEARNED).read(fields["learned"], context)
        context.expect((learned["n_features_in_"],), ("F",))
        names = learned.pop("feature_names_in_")
        if names is not None:
            model.feature_names_in_ = np.array(names, dtype=object)
        model.__dict__.update(learned)
        model.__dict__.update(_Stage().read(fields["stage"], context))
        _set_jobs(model)
        _check(model)
        return model

    @staticmethod
    def _unlearned(node: Any, context: Context) -> FBTWSVM:
        known = FBTWSVM().get_params(deep=False)
        if not isinstance(node, dict) or not set(node) <= set(known):
            raise ModelFileError("it has parameters that this version does not know")
        try:
            model = FBTWSVM(**{name: PARAMETER.read(value, context) for name, value in node.items()})
            model._validate_params()
        except ModelFileError:
            raise
        except (ValueError, TypeError) as error:
            raise ModelFileError(f"a parameter is out of bounds ({error})") from error
        return model


MODEL = _Model()


def _set_jobs(model: FBTWSVM) -> None:
    """Let the learner use as many threads as the parameters say; the file does not hold it twice."""
    learner = model._learner
    if learner is not None:
        learner.settings = replace(learner.settings, n_jobs=model.n_jobs)
        for member in learner.members:
            member.settings = replace(member.settings, n_jobs=model.n_jobs)


def _check(model: FBTWSVM) -> None:
    """Let the map see a row: what comes out must be what the planes expect."""
    check_sorted(model.classes_)
    if map_width(model._mapping, model.n_features_in_) != model.planes_.shape[2]:
        raise ModelFileError("its planes do not fit its feature map")
    one = np.zeros((1, model.n_features_in_), dtype=model._mapping.dtype)
    try:
        columns = model._mapping.rows(one).shape[1]
    except (ValueError, TypeError, AttributeError, IndexError) as error:
        raise ModelFileError(f"its feature map does not work ({error})") from error
    if columns != model.planes_.shape[2] or len(model.classes_) != len(model.planes_):
        raise ModelFileError("its planes do not fit its feature map")
