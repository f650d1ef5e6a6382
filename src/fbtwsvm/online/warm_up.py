"""The warm-up of a stream: collect rows until the map can be chosen, and predict with a provisional model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array, array_bytes
from .._threads import few_threads
from ..batch.fit import fit_rows
from ..batch.model import BatchModel
from ..model.decision import Answers, Decision
from ..model.inspection import Inspection
from ..model.mapping import Mapping
from ..model.rows import CheckedRows
from ..model.settings import Parameters
from .heavy import refuse_heavy_first_rows
from .model import BLOCK_ROWS, StreamModel, refuse_known, stream_components
from .preparation import Preparation
from .start import prepare_start, start_stream
from .undo import Undo
from .unlearn import Unlearned

_WARM_UP = 500  # rows of the warm-up for warm_up="auto"
_EARLY, _EARLY_COMPONENTS = 50, 100  # warm-up and features of a provisional stream


@dataclass(frozen=True)
class WarmUpModel:
    """The rows collected so far, and a provisional model of them.

    rows         all rows so far
    wanted       number of rows that the warm-up collects
    provisional  a quick fit of the rows if few are wanted, otherwise a stream model with fewer features
    answers      all that a prediction reads
    preparation  the stream model of the first `wanted` rows, once there are so many
    undo         what undoes the last call on a provisional stream model; it was successful if this model has come of it
    """

    stage: ClassVar[str] = "warm_up"

    rows: CheckedRows
    wanted: int
    provisional: BatchModel | WarmUpModel | StreamModel
    answers: Answers
    preparation: Preparation | None = None
    undo: Undo | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return all but what undoes the last call, which is done."""
        return {**vars(self), "undo": None}

    def copy(self) -> WarmUpModel:
        """Return a copy to change."""
        self.take_back()
        provisional = self.provisional if isinstance(self.provisional, BatchModel) else self.provisional.copy()
        preparation = None if self.preparation is None else self.preparation.copy()
        return replace(self, provisional=provisional, preparation=preparation, undo=None)

    @classmethod
    def begin(cls, rows: CheckedRows, parameters: Parameters) -> WarmUpModel | StreamModel:
        """Return the model of the first rows of a stream."""
        if not len(rows):
            raise ValueError("Every sample_weight is zero: there is no row to learn from.")
        refuse_heavy_first_rows(rows, None, linear=parameters.kernel == "linear")
        return cls._of(rows.take(np.arange(len(rows))), parameters)  # a copy: the caller may use the array again

    @classmethod
    def _of(cls, rows: CheckedRows, parameters: Parameters) -> WarmUpModel | StreamModel:
        """Return the model of all rows so far; that of enough rows is made at once."""
        wanted = warm_up_rows(parameters)
        if len(rows) >= wanted:
            with few_threads(stream_components(parameters)):
                stream = start_stream(rows.take(slice(0, wanted)), parameters)
                stream = stream.learn(rows.take(slice(wanted, None)), parameters)
                stream.publish()
                return stream
        if wanted <= _EARLY:
            with few_threads(len(rows)):
                fit = _quick_fit(rows, parameters)
            return cls(rows, wanted, fit, fit.answers)
        provisional = cls._of(rows, small_stream(parameters))
        return cls(rows, wanted, provisional, provisional.answers)

    def learn(self, rows: CheckedRows, parameters: Parameters) -> WarmUpModel | StreamModel:
        """Add rows; return a warm-up model, or a stream model when that is ready.

        A provisional stream model learns in place.  If the call fails, `take_back` undoes that.
        """
        refuse_heavy_first_rows(rows, self.rows, linear=parameters.kernel == "linear")
        self.take_back()
        if len(rows) >= BLOCK_ROWS:
            return self._of(self.rows.join(rows), parameters)
        undo, room = Undo(), max(0, self.wanted - len(self.rows))
        model = self._with_rows(rows.take(slice(0, room)), parameters, undo)
        if len(model.rows) == self.wanted and model.preparation is None:
            arguments = (model.rows, parameters, parameters.seed())
            model = replace(model, preparation=Preparation(prepare_start, arguments, parameters))
        elif (
            model.preparation is not None and model.preparation.parameters != parameters
        ):  # begin again with the new ones
            first, _, seed = model.preparation.arguments
            again = model.preparation.with_parameters((first, parameters, seed), parameters)
            model = replace(model, preparation=again)
        for i in range(room, len(rows)):
            row = rows.take([i])  # a copy: it is learned later
            model = model._with_rows(row, parameters, undo)
            assert model.preparation is not None
            with few_threads(stream_components(parameters)):
                ready = model.preparation.after(row)
            if isinstance(ready, StreamModel):
                ready.begin_answering()
                return ready.learn(rows.take(slice(i + 1, None)), parameters)
            model = replace(model, preparation=ready)
        return model

    def _with_rows(self, rows: CheckedRows, parameters: Parameters, undo: Undo) -> WarmUpModel:
        """Return the model with more rows, which the provisional model has learned."""
        if not len(rows):
            return self
        every, provisional, small = self.rows.join(rows), self.provisional, small_stream(parameters)
        if isinstance(provisional, BatchModel):
            with few_threads(len(every)):
                provisional = _quick_fit(every, parameters)
            answers = provisional.answers
        elif isinstance(provisional, StreamModel):
            provisional = provisional.learn(rows, small, undo)
            answers = provisional.present_answers()
        else:
            provisional = provisional.learn(rows, small)
            if isinstance(provisional, StreamModel):
                provisional.publish()
            answers = provisional.answers
        return replace(self, rows=every, provisional=provisional, answers=answers, undo=undo)

    def take_back(self) -> None:
        """Undo what a provisional stream model has learned in a call that failed."""
        provisional = self.provisional
        if isinstance(provisional, StreamModel) and provisional.published is not None:
            if provisional.published.undo is self.undo:
                provisional.publish()
            else:
                provisional.take_back()

    def finished(self) -> WarmUpModel | StreamModel:
        """Return the stream model that is in preparation, or a warm-up model in which nothing is."""
        if self.preparation is None:
            if isinstance(self.provisional, BatchModel):
                return self
            provisional = self.provisional.finished()
            return replace(self, provisional=provisional, answers=provisional.answers)
        stream: StreamModel = self.preparation.finished()
        stream.begin_answering()
        return stream

    def unlearn(self, rows: CheckedRows, parameters: Parameters) -> tuple[WarmUpModel | StreamModel, Unlearned]:
        """Take rows out of those collected so far."""
        rest = self.rows.take(self.rows.without(rows))
        return self._of(rest, parameters), Unlearned(removed=len(rows))

    def unlearn_ids(self, ids: Array, parameters: Parameters) -> tuple[WarmUpModel | StreamModel, Unlearned]:
        """Take rows out by their ids alone."""
        return self.unlearn(self.rows.with_ids(ids), parameters)

    def refuse_known(self, ids: Array) -> None:
        """Raise ValueError if a row with one of these ids has been learned before."""
        refuse_known(ids, set(self.rows.ids))

    def resolved(self) -> WarmUpModel:
        """Return the model itself: its provisional model is good enough."""
        return self

    @property
    def held_rows(self) -> Any:
        """All rows so far."""
        return self.rows.X

    @property
    def classes(self) -> Array:
        """Labels, sorted."""
        return self.provisional.classes

    @property
    def gamma(self) -> float | None:
        """Kernel parameter of the provisional model."""
        return self.provisional.gamma

    @property
    def mapping(self) -> Mapping:
        """Feature map of the provisional model."""
        return self.provisional.mapping

    @property
    def decision(self) -> Decision:
        """Decision rule of the provisional model."""
        return self.provisional.decision

    @property
    def planes(self) -> Array:
        """Planes of the provisional model."""
        return self.provisional.planes

    @property
    def gaps(self) -> Array:
        """Duality gaps of these planes."""
        return self.provisional.gaps

    @property
    def n_iter(self) -> int:
        """Largest number of sweeps of a plane of the provisional model."""
        return self.provisional.n_iter

    @property
    def dtype(self) -> np.dtype:
        """Precision of the rows."""
        dtype: np.dtype = np.dtype(self.rows.X.dtype)
        return dtype

    def inspect(self) -> Inspection:
        """Return counts and sizes."""
        n = len(self.rows)
        return Inspection(self.stage, seen=n, kept=n, bytes=array_bytes(self), warm_up=self.wanted)


def warm_up_rows(parameters: Parameters) -> int:
    """Return the number of rows that the warm-up collects."""
    if parameters.warm_up != "auto":
        return int(parameters.warm_up)
    return _WARM_UP if parameters.n_components == "auto" else max(_WARM_UP, int(parameters.n_components))


def small_stream(parameters: Parameters) -> Parameters:
    """Return the parameters of the provisional stream: fewer features, a short warm-up."""
    count = parameters.n_components
    small = _EARLY_COMPONENTS if count == "auto" else min(_EARLY_COMPONENTS, int(count))
    changes: dict[str, Any] = {"warm_up": _EARLY, "n_components": small, "drift_detector": None}
    if isinstance(parameters.metric, str):  # there are too few rows to learn one
        changes["metric"] = "none"
    if not parameters.names_map:  # a transformer of the user may need more rows
        changes |= {"feature_map": "auto", "kernel": "rbf", "gamma": "auto"}
    return replace(parameters, **changes)


def _quick_fit(rows: CheckedRows, parameters: Parameters) -> BatchModel:
    """Return a quick fit of a few rows."""
    if len(np.unique(rows.y)) > 1:
        return fit_rows(parameters, rows.X, rows.y, rows.weights, quick=True)
    return BatchModel.of_one_class(rows, parameters.multiclass, parameters.decision)
