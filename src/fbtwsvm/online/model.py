"""The stream model: classes, map, decision rule, and one member or a committee of several half-lives."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple
from uuid import uuid4

import numpy as np

from .._arrays import Array, array_bytes, class_starts
from .._threads import few_threads
from ..model.decision import Answers, Decision, PairRule, norms
from ..model.inspection import Inspection
from ..model.mapping import Mapping
from ..model.rows import CheckedRows, calibration_rows, per_class, weights_by_name
from ..model.settings import Parameters, Settings
from ..solver.problem import SolverOptions
from ._loops import trust_rows
from .absorb import Tested, learn, learn_block, learn_rows, needs_no_resolve
from .calibration import CalibrationRows
from .certificate import duality_gaps
from .committee import RATE, CommitteeRule, log_chances
from .fading import balance, fade
from .heavy import refuse_heavy
from .kept import Chunk
from .landmarks import ResidualMonitor, choose_landmarks
from .member import Member
from .merge import join
from .policy import policies_of
from .resolve import resolve
from .undo import Undo
from .unlearn import Unlearned, everything_kept, take_out

_DRIFT_FADE = 0.1  # factor on the weight of all rows so far when a drift is detected
_MOST_DRIFTS = 1000  # most drifts that are recorded
_CALIBRATION_ROWS = 256  # of each class, when their left-out values are computed
_STREAM_COMPONENTS = 300  # features of the map of a stream for n_components="auto"


class Published(NamedTuple):
    """What readers of a stream model use, and how to undo what has changed in place since.

    answers  all that predictions read
    undo     what takes back a change that is not finished; None if there is none
    """

    answers: Answers
    undo: Undo | None


class StreamModel:
    """The model that `partial_fit`, `unlearn` and `merge` change.

    A single member uses the decision rule of the settings, with offsets learned on calibration rows.  A committee (more
    than one policy) compares plain plane values in every member and adds up the log-probabilities, weighted by trust.

    A call changes a copy, or a few rows change the model in place.  Either way predictions use `published`, which
    `publish` replaces in one step when all is done; until then `take_back` undoes a change in place.
    """

    stage: ClassVar[str] = "stream"
    published: Published | None = None

    def __init__(
        self,
        parameters: Parameters,
        settings: Settings,
        mapping: Mapping,
        gamma: float | None,
        n_columns: int,
        seed: int,
    ) -> None:
        self.mapping = mapping
        self.settings = settings
        self.gamma = gamma
        self.C, self.reg = parameters.C, parameters.reg
        self.policies, self.seed = policies_of(parameters), seed
        self.n_components = stream_components(parameters)
        self.classes: Array = np.empty(0)
        self.members = [Member(self.settings_for(0), policy, n_columns, mapping.dtype) for policy in self.policies]
        self.trust = np.full(len(self.members), 1.0 / len(self.members))
        self.slopes = np.full(len(self.members), 0.1)
        self.tested = CalibrationRows(0)
        self.pending_calibration: list[tuple[Array, Array, Tested]] = []  # calibration rows not yet in `tested`
        self.decision = Decision.plain(0, settings.multiclass, settings.decision)
        self.monitor = ResidualMonitor(mapping, self.n_components) if mapping.renewable else None
        # Whether gamma or the map depends on the rows of the warm-up, and how many these were.
        self.warm_up_matters = not mapping.data_independent or (isinstance(parameters.gamma, str) and gamma is not None)
        self.n_warm_up = 0
        self.detector = deepcopy(parameters.drift_detector)
        self.drifts: list[int] = []
        self.lineage = frozenset([uuid4().hex])  # models whose rows are part of this one
        self.clock = 0

    @property
    def committee(self) -> bool:
        """Whether there is more than one member."""
        return len(self.members) > 1

    @property
    def leader(self) -> Member:
        """The member that is trusted most."""
        return self.members[int(np.argmax(self.trust)) if self.committee else 0]

    @property
    def dtype(self) -> np.dtype:
        """Precision of the rows."""
        return self.mapping.dtype

    @property
    def held_rows(self) -> Any:
        """Rows that the model holds as they were given: its landmarks, or the rows kept of plain columns; or None."""
        if self.mapping.transformer is None:
            return self.leader.kept.rows[:, :-1] / self.mapping.scale
        return self.mapping.landmark_rows

    @property
    def planes(self) -> Array:
        """Planes of the member that is trusted most."""
        return self.leader.planes

    @property
    def gaps(self) -> Array:
        """Duality gaps of these planes, computed from what the model holds now."""
        return duality_gaps(self.leader)

    @property
    def largest_gap(self) -> float:
        """Largest gap at which the last re-solve of any plane ended."""
        return max(float(member.gaps.max(initial=0.0)) for member in self.members)

    @property
    def n_iter(self) -> int:
        """Largest number of sweeps of a plane in its last re-solve."""
        return int(self.leader.sweeps.max(initial=0))

    @property
    def n_support(self) -> Array:
        """Number of support rows of each class."""
        kept = self.leader.kept
        return np.bincount(kept.labels[~kept.reserve], minlength=len(self.classes))

    @property
    def n_kept(self) -> int:
        """Number of rows kept at the last re-solve."""
        return len(self.leader.kept)

    @property
    def rule(self) -> PairRule | CommitteeRule:
        """The decision rule with its planes."""
        if self.committee:
            return CommitteeRule(self.decision, self.trust, [member.planes for member in self.members])
        return PairRule(self.decision, self.leader.planes)

    def settings_for(self, n_classes: int) -> Settings:
        """Return the settings for so many classes."""
        if n_classes < 2:  # of a pair of values, a single class uses the first
            C, reg = (np.full(n_classes, np.ravel(value)[0], dtype=float) for value in (self.C, self.reg))
        else:
            C, reg = per_class("C", self.C, n_classes), per_class("reg", self.reg, n_classes)
        return replace(self.settings, C=C, reg=reg)

    def with_options(self, options: SolverOptions) -> StreamModel:
        """Return the model itself, or a copy of it that has these options of the solver from now on."""
        if self.settings.options == options:
            return self
        clone = self.copy()
        parts: list[StreamModel | Member] = [clone, *clone.members]
        for part in parts:
            part.settings = replace(part.settings, options=options)
        for member in clone.members:
            member.mark_changed(slice(None), rows=True)  # the next re-solve solves every plane to the new tolerance
        return clone

    def merge_key(self) -> tuple[Any, ...]:
        """Return what must be equal in two models that are merged."""
        base = self.settings
        numbers = (base.mu, base.membership, self.C, self.reg, self.mapping.dtype)
        return (self.policies, *numbers, self.classes.dtype.kind in "OUS")

    def copy(self) -> StreamModel:
        """Return a copy to change; both share what is never changed in place."""
        clone = copy(self)
        clone.members = [member.copy() for member in self.members]
        clone.trust, clone.slopes = self.trust.copy(), self.slopes.copy()
        clone.tested, clone.detector, clone.monitor = deepcopy((self.tested, self.detector, self.monitor))
        clone.pending_calibration, clone.drifts = list(self.pending_calibration), list(self.drifts)
        clone.published = None
        return clone

    @property
    def answers(self) -> Answers:
        """All that a prediction reads."""
        if self.published is None:
            self.publish()
        assert self.published is not None
        return self.published.answers

    def publish(self) -> None:
        """Let predictions use what the model has learned; nothing is undone after that."""
        answers = Answers(self.classes, self.mapping, self.rule, self.planes)
        self.published = Published(answers, None)  # the last step: an interrupt comes before it, or after the call

    def take_back(self) -> None:
        """Undo a change in place that was not finished."""
        if self.published is not None and self.published.undo is not None:
            self.published.undo.restore()
            self.published = Published(self.published.answers, None)

    def begin(self, rows: CheckedRows, parameters: Parameters, landmarks: Array) -> None:
        """Learn the first rows; those that are not `landmarks` also calibrate the decision rule."""
        chunk = self._with_classes(self._chunk(rows, parameters), rows.y)
        order = np.argsort(chunk.labels, kind="stable")
        starts = class_starts(chunk.labels[order], len(self.classes))
        wanted = chunk.times[order[calibration_rows(starts, landmarks[order], self.seed, limit=_CALIBRATION_ROWS)]]
        for member in self.members:
            learn_block(member, chunk)
            left_out = resolve(member, None if self.committee else wanted)
            if left_out is not None:
                self.tested.add(left_out.labels, left_out.times, left_out.near, left_out.far)
        self.clock = self.n_warm_up = len(chunk)
        self.calibrate()

    def learn(self, rows: CheckedRows, parameters: Parameters) -> StreamModel:
        """Learn rows; return the new model, which is this one if it could be changed in place, otherwise a copy.

        `publish` finishes the call.  If this model was changed in place and that failed, `take_back` undoes it.
        """
        if not len(rows):
            return self
        chunk, y = self._chunk(rows, parameters), rows.y
        self._refuse_heavy(rows, chunk)
        detector, drifted = self._detect(chunk, y)
        if not drifted and self._fits_in_place(chunk, y):
            return self._learn_in_place(chunk, detector)
        clone = self.copy()
        clone.detector = detector
        if drifted:
            clone.drifts = [*self.drifts, self.clock][-_MOST_DRIFTS:]
            for member in clone.members:
                fade(member, _DRIFT_FADE)
        with few_threads(chunk.rows.shape[1]):
            while len(chunk):
                n, mapping = clone._next_piece(chunk, y), clone.mapping
                clone._learn_piece(chunk.take(slice(0, n)), y[:n])
                chunk, y = chunk.take(slice(n, None)), y[n:]
                if len(chunk) and clone.mapping is not mapping:
                    chunk = replace(chunk, rows=clone.mapping.rows(chunk.raw))
        return clone

    def _chunk(self, rows: CheckedRows, parameters: Parameters) -> Chunk:
        """Return the mapped rows of a call, with class indices, weights and times."""
        n, weights = len(rows), rows.weights
        if isinstance(parameters.class_weight, dict):
            classes = np.union1d(self.classes, rows.y) if len(self.classes) else np.unique(rows.y)
            weights = weights * class_factors_by_name(parameters, classes)[np.searchsorted(classes, rows.y)]
        labels = self._labels(rows.y) if len(self.classes) else np.zeros(n, dtype=np.int64)
        raw = rows.X if self.mapping.renewable else None
        times = np.arange(self.clock, self.clock + n)
        return Chunk(self.mapping.rows(rows.X), labels, weights, times, rows.ids, raw)

    def _refuse_heavy(self, rows: CheckedRows, chunk: Chunk) -> None:
        """Raise ValueError for a row next to which all others would be lost; the ridge counts as a usual row too."""
        heavy = chunk.weights
        if not self.mapping.bounded:
            heavy = heavy * np.einsum("ij,ij->i", chunk.rows, chunk.rows, dtype=np.float64)
        least_ridge = self.reg if isinstance(self.reg, float) else float(min(np.ravel(self.reg)))
        refuse_heavy(rows, heavy, max(self.members[0].mean_weight, least_ridge))

    def refuse_known(self, ids: Array) -> None:
        """Raise ValueError if a row with one of these ids has been learned before."""
        refuse_known(ids, self.members[0].known_ids())

    def _next_piece(self, chunk: Chunk, y: Array) -> int:
        """Return how many rows to learn before something else is due: a re-solve, a new class, a new map.

        A large chunk is one piece.  A small one is cut so that the result does not depend on the size of the chunks.
        """
        if len(chunk) >= max(member.max_lag for member in self.members):
            return len(chunk)
        labels = self._labels(y)
        has_class = self.classes[labels] == y
        first_new = len(y) if has_class.all() else int(np.argmin(has_class))
        if first_new == 0:
            return 1
        ends = [first_new, *(member.room(labels[:first_new]) for member in self.members)]
        if self.monitor is not None:
            ends += np.flatnonzero(self.monitor.alarms(chunk.rows, self.clock))[:1].tolist()
        return max(1, min(ends))

    def _fits_in_place(self, chunk: Chunk, y: Array) -> bool:
        """Whether a chunk can be learned row by row: no new class, no re-solve due, no new map needed."""
        if not (self.classes[chunk.labels] == y).all():
            return False
        if not all(needs_no_resolve(member, chunk.labels) for member in self.members):
            return False
        return self.monitor is None or not self.monitor.alarms(chunk.rows, self.clock).any()

    def _labels(self, y: Array) -> Array:
        """Return the class index of each label; an arbitrary one for a label of a new class."""
        return np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)

    def _learn_piece(self, chunk: Chunk, y: Array) -> None:
        """Learn a piece of a chunk; renew the map, add classes, re-solve and calibrate where that is due."""
        if self.monitor is not None:
            alarm = bool(self.monitor.alarms(chunk.rows, self.clock).any())
            self.monitor.residual = self.monitor.after(chunk.rows)
            if alarm:
                chunk = self._renew(chunk)
        chunk = self._with_classes(chunk, y)
        self._follow_tests([learn(member, chunk, every_value=self.committee) for member in self.members], chunk)
        if all(member.n_pending == 0 for member in self.members):
            self.calibrate()

    def _learn_in_place(self, chunk: Chunk, detector: Any) -> StreamModel:
        """Learn a few rows in place."""
        answers, undo = self.answers, Undo()
        undo.keep(self, "trust", "slopes", "detector", "pending_calibration", "clock")
        if self.monitor is not None:
            undo.keep(self.monitor, "residual")
        for member in self.members:
            member.remember(undo, chunk.present)
        self.published = Published(answers, undo)
        self.detector = detector
        if self.monitor is not None:
            self.monitor.residual = self.monitor.after(chunk.rows)
        results = [learn_rows(member, chunk, every_value=self.committee) for member in self.members]
        self._follow_tests(results, chunk)
        return self

    def _follow_tests(self, results: list[Tested], chunk: Chunk) -> None:
        """Update trust, or the calibration rows, with the plane values of a chunk before it was learned."""
        if self.committee:
            chances = np.stack([log_chances(result.values) for result in results if result.values is not None], axis=1)
            trust_rows(chances, chunk.labels, self.trust, self.slopes, RATE)
        else:
            self.pending_calibration.append((chunk.labels, chunk.times, results[0]))
        self.clock += len(chunk)

    def _renew(self, chunk: Chunk) -> Chunk:
        """Choose new landmarks from the old ones, kept rows and the chunk; return the chunk with the new map.

        Kept rows are mapped again.  Sums over forgotten rows are transformed from the old features to the new ones.
        """
        for member in self.members:
            member.flush()
        kept = self.members[0].kept
        groups = [kept.raw[kept.labels == k] for k in np.unique(kept.labels)]
        groups += [self.mapping.transformer.landmarks_, chunk.raw]
        random = np.random.default_rng([self.seed, self.clock])
        self.mapping, change = self.mapping.renewed(choose_landmarks(groups, self.n_components, random))
        empty = np.empty((0, len(change)), dtype=self.mapping.dtype)
        for member in self.members:
            member.remap(change, self.mapping.rows(member.kept.raw) if len(member.kept) else empty)
            resolve(member)
        self.monitor = ResidualMonitor(self.mapping, self.n_components, self.clock)
        return replace(chunk, rows=self.mapping.rows(chunk.raw))

    def _detect(self, chunk: Chunk, y: Array) -> tuple[Any, bool]:
        """Update a copy of the drift detector with the errors of a chunk; return it, and whether there was a drift."""
        if self.detector is None:
            return None, False
        detector, drifted = deepcopy(self.detector), False
        for wrong in self.classes[self.rule.winners(chunk.rows)] != y:
            detector.update(int(wrong))
            drifted |= bool(detector.drift_detected)
        return detector, drifted

    def _with_classes(self, chunk: Chunk, y: Array) -> Chunk:
        """Add new classes; return the chunk with class indices."""
        self._add_classes(y)
        return replace(chunk, labels=np.searchsorted(self.classes, y))

    def _add_classes(self, labels: Array) -> None:
        """Add the classes of these labels that are new."""
        classes = np.unique(np.concatenate([self.classes, labels])) if len(self.classes) else np.unique(labels)
        if len(classes) == len(self.classes):
            return
        self._flush_calibration()
        settings = self.settings_for(len(classes))
        source = np.full(len(classes), -1)
        source[np.isin(classes, self.classes)] = np.arange(len(self.classes))
        for k in np.flatnonzero(source < 0):
            for member in self.members:
                member.insert_class(int(k), settings)
        self.tested = self.tested.rearranged(source)
        self.classes = classes
        self.calibrate(at_once=True)

    def remove_class(self, k: int) -> None:
        """Remove a class without rows."""
        self._flush_calibration()
        source = np.delete(np.arange(len(self.classes)), k)
        settings = self.settings_for(len(source))
        for member in self.members:
            member.delete_class(k, settings)
        self.tested = self.tested.rearranged(source)
        self.classes = np.delete(self.classes, k)

    def unlearn(self, rows: CheckedRows, parameters: Parameters) -> tuple[StreamModel, Unlearned]:
        """Take rows out; return the new model, and a report of the rows of which something remains."""
        chunk = self._chunk(rows, parameters)
        clone, report = self.copy(), Unlearned()
        clone._flush_calibration()
        renewed_at = self.monitor.since if self.monitor is not None else 0
        for member in clone.members:
            times = take_out(member, chunk, self.classes, renewed_at, report)
            clone.tested.remove(times[times >= 0])
            for i in np.flatnonzero(times < self.n_warm_up):  # also those whose time is not known
                if self.warm_up_matters:
                    report.add("warm_up", int(i))
                if self.mapping.rounds:
                    report.add("metric", int(i))
        for i in np.flatnonzero(self.mapping.is_landmark(rows.X)):
            report.add("landmark", int(i))
        for reason in clone._influenced():
            report.remaining[reason] = list(range(len(chunk)))
        report.count_removed(len(chunk))
        left = [k for k in range(len(self.classes)) if any(member.moments.counts[k] > 0 for member in clone.members)]
        if not left:
            raise ValueError("Nothing was unlearned: without these rows the model would be empty. Make a new one.")
        for k in reversed(range(len(self.classes))):
            if k not in left:
                clone.remove_class(k)
        clone.resolve()
        return clone, report

    def _influenced(self) -> list[str]:
        """Return the reasons that hold for every unlearned row: what was learned while it was part of the model."""
        reasons = {
            "planes": not all(everything_kept(member) for member in self.members),
            "offsets": not self.committee and not everything_kept(self.members[0]),
            "trust": self.committee,
            "detector": self.detector is not None,
            "residual": self.monitor is not None,
        }
        return [reason for reason, present in reasons.items() if present]

    def merge(self, other: StreamModel) -> StreamModel:
        """Return a model of the rows of both."""
        if not self.mapping.same_metric(other.mapping):
            raise ValueError(
                "merge: the models have different metrics, so their sums cannot be added. Give both the same metric, "
                "such as metric='none' or metric=first.metric_, and one map."
            )
        if not self.mapping.same_as(other.mapping) or self.merge_key() != other.merge_key():
            raise ValueError(
                "merge: the models differ in their feature map or their parameters, so their sums cannot be added. Use "
                "Fourier features with one gamma and random_state, or one fitted map for both (FrozenEstimator)."
            )
        common = [key for key in self.members[0].known_ids() if key in other.members[0].known_ids()]
        if self.lineage & other.lineage or common:
            rows = f"the row with id {common[0]}" if common else "the same first rows, as copies of one model"
            raise ValueError(f"merge: both models have learned {rows}, which would count twice.")
        clone = self.copy()
        clone.lineage = self.lineage | other.lineage
        clone._flush_calibration()
        if other.mapping.frozen:  # it has no rows from before the map, which new landmarks would need
            clone.mapping, clone.monitor = replace(clone.mapping, frozen=True), None
        clone._add_classes(other.classes)
        classes = np.searchsorted(clone.classes, other.classes)
        for member, other_member in zip(clone.members, other.members, strict=True):
            join(member, other_member, classes, self.clock)
        clone.trust = (self.clock * self.trust + other.clock * other.trust) / (self.clock + other.clock)
        clone.clock += other.clock
        clone.resolve()
        return clone

    def _flush_calibration(self) -> None:
        if self.pending_calibration:
            labels, times, results = zip(*self.pending_calibration, strict=True)
            near, far = (np.concatenate([getattr(result, name) for result in results]) for name in ("near", "far"))
            self.tested.add(np.concatenate(labels), np.concatenate(times), near, far)
            self.pending_calibration = []

    def resolve(self) -> None:
        """Bring all duals, planes and offsets up to date.

        If every row is kept, the offsets are learned anew from left-out values, as in a fit: they then depend on the
        rows alone, not on the order in which these came and what was unlearned since.
        """
        if self.committee or not everything_kept(self.members[0]):
            for member in self.members:
                resolve(member)
        else:
            self._resolve_and_test(self.members[0])
        self.calibrate(at_once=True)

    def _resolve_and_test(self, member: Member) -> None:
        """Solve every plane from zero, and take the left-out values of kept rows as calibration rows."""
        member.flush()
        if member.policy.balanced:
            balance(member, tolerance=0.0)
        member.mark_changed(slice(None), sums=True, rows=True)
        kept = member.kept = member.kept.by_class().unsolved()
        landmarks = np.zeros(len(kept), dtype=bool) if kept.raw is None else self.mapping.is_landmark(kept.raw)
        starts = class_starts(kept.labels, len(self.classes))
        marked = calibration_rows(starts, landmarks, self.seed, limit=_CALIBRATION_ROWS)
        left_out = resolve(member, kept.times[marked])
        member.kept = member.kept.with_reserve(member.policy.second_look)
        if left_out is not None:
            self._flush_calibration()
            self.tested = CalibrationRows(len(self.classes))
            self.tested.add(left_out.labels, left_out.times, left_out.near, left_out.far)

    def resolved(self) -> StreamModel:
        """Return a copy in which all duals, planes and offsets are up to date."""
        clone = self.copy()
        clone.resolve()
        return clone

    def calibrate(self, at_once: bool = False) -> None:
        """Learn the decision rule again if enough calibration rows are new, or `at_once`."""
        self._flush_calibration()
        n_classes, settings = len(self.classes), self.settings
        if self.committee:
            self.decision = Decision.plain(n_classes, settings.multiclass, "value")
            return
        if at_once or self.tested.due() or len(self.decision.slopes) != n_classes:
            member = self.members[0]
            totals = member.moments.counts * member.class_factors / member.current_weight
            self.decision = self.tested.decide(totals, settings.decision, settings.multiclass)
        if settings.decision == "distance":
            self.decision = self.decision.with_distances(norms(self.members[0].planes[..., :-1]))

    def inspect(self) -> Inspection:
        """Return counts and sizes."""
        leader = self.leader
        stores = [store for store in (leader.kept, *leader.pending) if len(store) and store.raw is not None]
        kept = stores[0].join(*stores[1:]) if stores else None
        return Inspection(
            stage=self.stage,
            seen=self.clock,
            kept=len(leader.kept) + leader.n_pending,
            forgotten=int(leader.forgotten.counts.sum()),
            drifts=len(self.drifts),
            bytes=array_bytes(self),
            kept_rows=None if kept is None else kept.raw,
            kept_labels=None if kept is None else kept.labels,
        )


def stream_components(parameters: Parameters) -> int:
    """Return the number of features of the map of a stream."""
    return _STREAM_COMPONENTS if parameters.n_components == "auto" else int(parameters.n_components)


def refuse_known(ids: Array, known: set[Any]) -> None:
    """Raise ValueError if one of these ids is known."""
    repeated = [key for key in ids if key is not None and key in known]
    if repeated:
        raise ValueError(f"A row with id {repeated[0]!r} has been learned already: every row needs an id of its own.")


def class_factors_by_name(parameters: Parameters, classes: Array) -> Array:
    """Return the factors of a class_weight that is a dict; otherwise ones, because "balanced" changes on a stream."""
    if isinstance(parameters.class_weight, dict):
        return weights_by_name(parameters.class_weight, classes)
    return np.ones(len(classes))
