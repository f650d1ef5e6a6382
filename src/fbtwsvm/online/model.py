"""The stream model: classes, map, decision rule, and one member or a committee of several half-lives and maps."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy, deepcopy
from dataclasses import replace
from typing import Any, ClassVar
from uuid import uuid4

import numpy as np
import scipy.sparse as sp

from .._arrays import Array, array_bytes, class_starts, tiles
from .._steps import Steps, finish
from .._threads import few_threads
from ..batch.choose_kernel import KernelChoice, learns_metric
from ..model.check_values import family
from ..model.decision import Answers, Decision, PairRule, norms
from ..model.inspection import Inspection
from ..model.mapping import Mapping
from ..model.new_map import NewMap, columns_change, new_kernel, new_landmarks
from ..model.rows import NO_IDS, CheckedRows, calibration_rows, never_learned, per_class, weights_by_name
from ..model.settings import Parameters, Settings
from ..model.standard_columns import StandardColumns
from ..solver.problem import SolverOptions
from ._committee_loops import trust_rows
from ._loops import MOVED, Watch
from .absorb import Tested, in_pieces, learn_block, learn_rows, next_classes
from .calibration import CalibrationRows
from .certificate import duality_gaps
from .committee import MOST_CHANCES, CommitteeRule
from .drift import HoeffdingDrift
from .fading import balance, fade, needs_update, start_again, update_weights
from .heavy import refuse_heavy
from .kept import Chunk, Kept
from .landmarks import ResidualMonitor, choose_landmarks
from .member import Member
from .member_columns import with_all_columns
from .merge import join, restandardised
from .newest import LEAST_ROWS, MOST_COLUMNS, ROWS_OF_COLUMN, NewestRows, Studies
from .one_row import OneRow
from .policy import Policy, features_of, possible_policies
from .preparation import Preparation
from .resolve import LeftOut, drop_rows, resolve
from .study import study
from .trust import RATE, REST, Trust
from .undo import Published, Undo
from .unlearn import Unlearned, everything_kept, take_out

_DRIFT_FADE = 0.1  # factor on the weight of all rows so far when a drift is detected
_MOST_DRIFTS = 1000  # most drifts that are recorded
_CALIBRATION_ROWS = 256  # of each class, when their left-out values are computed
_STREAM_COMPONENTS = 300  # features of the map of a stream for n_components="auto"
_NEVER = np.iinfo(np.int64).max
_SMALL_SHARE = 0.2  # in the answer, of all members that use the map, below which no metric is learned for it
_MOST_COMPARED = 800  # rows on which the features of a new kernel are compared with the old ones
_REMAPPED_AT_ONCE = 3  # classes whose sums are carried over to a new map in one piece
_ROWS_PER_PIECE = 10  # landmarks are not renewed again before so many rows for each piece that it takes
BLOCK_ROWS = 1000  # so many rows in a call are learned as a block


class StreamModel:
    """The model that `partial_fit`, `unlearn` and `merge` change.

    A single member uses the decision rule of the settings, with offsets learned on calibration rows.  A committee (more
    than one policy) compares plain plane values in every member and combines their probabilities by trust.

    A call changes a copy, or a few rows change the model in place.  Either way predictions use `published`, which
    `publish` replaces in one step when all is done; until then `take_back` undoes a change in place.
    """

    stage: ClassVar[str] = "stream"
    published: Published | None = None
    one_row: OneRow | None = None  # how single rows are learned, until something else changes the model

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
        self.policies = possible_policies(parameters, mapping)
        self.seed, self.n_components = seed, stream_components(parameters)
        self.classes: Array = np.empty(0)
        self.n_columns = n_columns
        self.members: list[Member] = []
        self.trust = Trust(len(self.policies))
        self.tested = CalibrationRows(0)
        self.pending_calibration: list[tuple[Array, Array, Tested]] = []  # calibration rows not yet in `tested`
        self.decision = Decision.plain(0, settings.multiclass, settings.decision)
        self.monitor = ResidualMonitor(mapping, self.n_components) if mapping.renewable else None
        # Whether gamma, the map or a scale depends on rows, and how many rows there were when it was last found.
        chosen_gamma = isinstance(parameters.gamma, str) and gamma is not None
        self.warm_up_matters = not mapping.data_independent or chosen_gamma or mapping.columns is not None
        self.n_warm_up = 0
        # The newest rows, if a metric may be learned again from them, and the spread of the columns of the first rows.
        self.newest: NewestRows | None = None
        self.spread: Array | None = None
        self.studies = Studies()
        self.any_gamma = parameters.gamma == "auto"
        self.preparation: Preparation | None = None  # the same model with new landmarks
        self.n_solves = 0  # re-solves between two rows
        self.answering = True  # False as long as the model itself is in preparation
        self.detector = deepcopy(parameters.drift_detector)
        self.drifts: list[int] = []
        self.lineage = frozenset([uuid4().hex])  # models whose rows are part of this one
        self.clock = 0

    def features_of(self, policy: Policy) -> slice:
        """Return which columns of mapped rows a member with this policy uses, beside the bias."""
        n_features = self.n_features
        if policy.linear:
            return slice(n_features, self.n_columns - 1)
        return slice(0, features_of(policy, n_features) if self.committee and self.mapping.nested else n_features)

    @property
    def n_features(self) -> int:
        """Number of features of the map."""
        return self.n_columns - 1 - self.mapping.n_plain

    @property
    def committee(self) -> bool:
        """Whether there is more than one member."""
        return len(self.policies) > 1

    @property
    def leader(self) -> Member:
        """The member that is trusted most."""
        return self.members[int(np.argmax(self.trust.weights[0, :-1])) if self.committee else 0]

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
        leader = self.leader
        return with_all_columns(leader.planes, leader.first, self.n_columns).copy()  # they may change in place

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
        return self._rule([member.planes for member in self.members], self.trust.weights)

    def _rule(self, planes: Sequence[Array], weights: Array) -> PairRule | CommitteeRule:
        """Return the decision rule if the members have these planes, and these weights."""
        if not self.committee:
            return PairRule(self.decision, planes[0])
        firsts = np.array([member.first for member in self.members])
        return CommitteeRule(self.decision, weights, list(planes), firsts, self.n_columns)

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
        clone = self.finished().copy()
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
        return (self.policies, *numbers, family(self.classes))

    def __getstate__(self) -> dict[str, Any]:
        """Return all but what predictions and single rows use, which follows from the rest."""
        return {name: value for name, value in vars(self).items() if name not in ("published", "one_row")}

    def copy(self) -> StreamModel:
        """Return a copy to change; both share what is never changed in place."""
        clone = copy(self)
        clone.members = [member.copy() for member in self.members]
        clone.trust = self.trust.copy()
        parts = (self.tested, self.detector, self.monitor, self.newest)
        clone.tested, clone.detector, clone.monitor, clone.newest = deepcopy(parts)
        clone.pending_calibration, clone.drifts = list(self.pending_calibration), list(self.drifts)
        clone.preparation = None if self.preparation is None else self.preparation.copy()
        clone.published = clone.one_row = None
        return clone

    def snapshot(self) -> StreamModel:
        """Return what a copy with new landmarks needs."""
        clone = copy(self)
        clone.members = [member.snapshot() for member in self.members]
        clone.trust, clone.newest = self.trust.copy(), deepcopy(self.newest)
        clone.tested, clone.pending_calibration = deepcopy(self.tested), list(self.pending_calibration)
        clone.detector, clone.drifts = None, []
        clone.published = clone.one_row = clone.preparation = None
        return clone

    @property
    def answers(self) -> Answers:
        """All that a prediction reads."""
        published = self.published
        return self.present_answers() if published is None else published.answers

    def present_answers(self) -> Answers:
        """Return all that a prediction reads, as it is now."""
        return Answers(self.classes, self.mapping, self.rule)

    def published_with(self, planes: Sequence[Array], weights: Array) -> Published:
        """Return what readers use if the members have these planes, and these weights."""
        return Published(Answers(self.classes, self.mapping, self._rule(planes, weights)), None)

    def publish(self) -> None:
        """Let predictions use what the model has learned; nothing is undone after that."""
        one = self.one_row
        published = Published(self.present_answers(), None) if one is None else one.published
        self.published = published  # the last step: an interrupt comes before it, or after the call

    def take_back(self) -> None:
        """Undo a change in place that was not finished."""
        published = self.published
        if published is not None and published.undo is not None:
            published.undo.restore()
            self.published, self.one_row = Published(published.answers, None), None
        elif self.one_row is not None:
            self.one_row.take_back()

    def begin(self, rows: CheckedRows, parameters: Parameters, landmarks: Array) -> Steps[None]:
        """Learn the first rows, in pieces; those that are not `landmarks` also calibrate the decision rule."""
        self.classes = np.unique(rows.y)
        self.tested = CalibrationRows(0 if self.committee else len(self.classes))
        settings, dtype = self.settings_for(len(self.classes)), self.mapping.dtype
        self.members = [
            Member(settings, policy, self.features_of(policy), dtype, bounded=self.mapping.bounded)
            for policy in self.policies
        ]
        yield
        chunk = self._chunk(rows, parameters)
        order = np.argsort(chunk.labels, kind="stable")
        starts = class_starts(chunk.labels[order], len(self.classes))
        wanted = chunk.times[
            order[calibration_rows(starts, np.flatnonzero(landmarks[order]), self.seed, _CALIBRATION_ROWS)]
        ]
        for member in self.members:
            yield
            learn_block(member, chunk)
        found: LeftOut | None = None
        for member in self.members:
            for near in in_pieces(member):
                yield
                left_out = resolve(member, near, None if self.committee else wanted, drop=False)
                if left_out is not None:
                    found = left_out if found is None else found + left_out
            drop_rows(member, member.kept, np.arange(len(self.classes)))
        if found is not None and not self.committee:
            self.tested.add(found.labels, found.times, found.near, found.far)
        self.clock = self.n_warm_up = len(chunk)
        if self.monitor is not None:
            self.monitor.since = self.clock
        follows = self.monitor is not None and learns_metric(parameters) and rows.X.shape[1] <= MOST_COLUMNS
        if follows and not sp.issparse(rows.X):
            self.newest, self.spread = NewestRows(rows.X.shape[1], dtype), rows.X.std(axis=0, dtype=np.float64)
            self.newest.add(rows.X, chunk.labels)
            self.studies = self.studies.after_warm_up(self.clock, again=self.committee)
        self.calibrate()

    def learn(self, rows: CheckedRows, parameters: Parameters, undo: Undo | None = None) -> StreamModel:
        """Learn rows; return the new model, which is this one if it was changed in place, otherwise a copy.

        `publish` finishes the call.  If this model was changed in place and that failed, `take_back` undoes it, and all
        other changes that are saved in `undo`.
        """
        if not len(rows):
            return self
        if undo is None and self._learn_one(rows, parameters):
            return self
        chunk = self._chunk(rows, parameters)
        self._refuse_heavy(rows, chunk)
        if len(chunk) >= BLOCK_ROWS:
            return self._after_block(chunk, rows)
        self.one_row = None
        if undo is None:
            for member in self.members:
                member.roots.update_late()
            undo = Undo()
        self._begin_change(undo)
        rest: Chunk | None = chunk
        while rest is not None:
            left = rows if rest is chunk else rows.take(slice(len(rows) - len(rest), None))
            rest = self._learn_some(rest, left, parameters, undo)
        return self

    def _learn_one(self, rows: CheckedRows, parameters: Parameters) -> bool:
        """Learn a single row in the short way; return False, and change nothing, if it is a special one."""
        X, special = rows.X, self.detector is not None or not self.mapping.bounded
        if len(rows) > 1 or special or type(X) is not np.ndarray or isinstance(parameters.class_weight, dict):
            return False
        one = self.one_row
        if one is None or not one.ready():
            self.one_row = None  # it must not be used again if the next line is interrupted
            one = self.one_row = OneRow(self)
        own, weight = one.codes.get(rows.y.tolist()[0]), rows.weights.item()
        if own is None:
            return False
        refuse_heavy(rows, rows.weights, self._usual_weight)
        raw = X.copy() if self.mapping.renewable else None
        learned, due = one.learn(self.answers.mapped(X), raw, own, weight, rows.ids[0])
        if learned and (due or self.preparation is not None):
            undo, mapping = Undo(one.take_back), self.mapping
            self._begin_change(undo, in_place=due)
            with few_threads(self.n_columns):
                if due:
                    self._bring_up_to_date(undo)
                if self.preparation is not None:
                    self._advance(rows.take([0]))  # a copy: it is learned later
            if due or self.mapping is not mapping:
                self.one_row = None
        return learned

    def _begin_change(self, undo: Undo, *, in_place: bool = True) -> None:
        """Save in `undo` what changes in every call that is more than a single row, and let `take_back` find it.

        If nothing changes `in_place`, attributes stay the arrays that single rows have.
        """
        undo.keep(self, *(("pending_calibration", "drifts") if in_place else ()))
        self.published = Published(self.answers, undo)
        self.trust.remember(undo, in_place=in_place)
        for part in (self.monitor, self.newest):
            if part is not None:
                undo.keep(part)

    def _learn_some(self, chunk: Chunk, rows: CheckedRows, parameters: Parameters, undo: Undo) -> Chunk | None:
        """Learn rows in place until something is due, and do it; return the rows that are left, or None.

        What is due, and when, depends on the rows so far, not on how they are cut into chunks.
        """
        y = rows.y
        labels = self._labels(y)
        known = self.classes[labels] == y
        wrong = not known[0]
        if self.detector is not None and not wrong:
            wrong = bool(self.rule.winners(chunk.rows[:1])[0] != labels[0])
        if not known[0]:
            self._add_classes(y[:1], undo)
            labels = self._labels(y)
            known = self.classes[labels] == y
        n = len(y) if known.all() else int(np.argmin(known))
        if self.detector is not None or self.preparation is not None:
            n = 1
        part = replace(chunk if n == len(chunk) else chunk.take(slice(0, n)), labels=labels[:n])
        for member in self.members:
            member.remember(undo, np.unique(part.labels[:-1]) if n > 1 else ())
        tested, n, renew, due = learn_rows(self.members, part, self.watch())
        self._follow_tests(tested, part.take(slice(0, n)) if n < len(part) else part, rows.X[:n])
        rest = None if n == len(chunk) else chunk.take(slice(n, None))
        if due or renew or self.preparation is not None:
            with few_threads(chunk.rows.shape[1]):
                if due:
                    self._bring_up_to_date(undo)
                mapping = self.mapping
                if renew:
                    self._prepare(rows.take([n]), parameters, moved=renew == MOVED)
                elif self.preparation is not None:
                    self._advance(rows.take([0]))  # a copy: it is learned later
                if rest is not None and self.mapping is not mapping:
                    rest = replace(rest, rows=self.mapping.rows(rest.raw))
        if self.detector is not None and n:
            self._detect([wrong], undo)
        return rest

    def _advance(self, row: CheckedRows) -> None:
        """Do a piece of what is in preparation, and take over if it is ready."""
        assert self.preparation is not None
        found = self.preparation.after(row)
        if found is None or isinstance(found, Preparation):  # None: the present map is as good
            self.preparation = found
        else:
            self._take_over(found)

    def watch(self) -> Watch:
        """Return what the compiled loops follow beside the members."""
        trust, monitor = self.trust, self.monitor
        follow = (*(getattr(trust, name) for name in trust.ARRAYS), RATE, REST)
        if monitor is None:
            ages = (np.array([self.clock]), 0, _NEVER, _NEVER, _NEVER)
            return Watch(self.n_features, np.zeros(1), 1.0, np.inf, *ages, *follow)
        monitor.residual = monitor.residual.copy()
        grows = _NEVER if monitor.grows_after is None else monitor.grows_after
        # Not before a new map has taken over, so that all chunk sizes renew at the same rows.
        least_age = monitor.least_age + _ROWS_PER_PIECE * len(self.classes) * len(self.members)
        if self.preparation is not None or not self.answering:
            least_age = _NEVER
        study_at = self.studies.next if self.newest is not None else None
        study_age = _NEVER if study_at is None else max(study_at - monitor.since, least_age)
        ages = (np.array([self.clock]), monitor.since, least_age, max(grows, least_age), study_age)
        return Watch(self.n_features, monitor.residual, monitor.share, monitor.limit, *ages, *follow)

    def _bring_up_to_date(self, undo: Undo) -> None:
        """Do a piece of what is due: calibrate, or let one member update its weights and solve planes of some classes.

        The rest waits for the next rows, so that no call takes long.  Only a new class is solved by all members.
        """
        free, solved = True, False
        for again in np.flatnonzero(self.trust.again):
            self._start_again(int(again), undo)
        if not self.committee and self._calibration_due:
            self.calibrate(undo=undo)
            free = False
        for turn in range(len(self.members)):
            e = (turn + self.clock) % len(self.members)  # each has its turn
            member = self.members[e]
            due = next_classes(member, member.max_lag * (REST if self.trust.rests(e) else 1))
            if not free:  # planes of a new class must not stay zero
                due = due[~member.solved[due].any(axis=1)]
            updated = free and needs_update(member, along=len(due) > 0)
            if updated:
                member.remember_all(undo, range(member.n_classes))
                update_weights(member)
            full = member.roots.overfull()
            if member.pending.full or len(full):
                member.remember_all(undo, full)
                member.flush()
                for k in full:
                    member.refresh(int(k))
            if len(due):
                member.remember_all(undo, due)
                resolve(member, due)
                solved = True
                self.n_solves += 1
            free = free and not updated and not len(due)
        if solved:
            self.calibrate(undo=undo)

    def _start_again(self, e: int, undo: Undo | None = None) -> None:
        """Let a member whose error rate has risen forget nearly all that came before the change."""
        member, since = self.members[e], self.clock - int(self.trust.again[e])
        if undo is not None:
            member.remember_all(undo, range(member.n_classes))
        start_again(member, since)
        self.trust.again[e] = 0
        if not member.policy.linear:
            self.studies = self.studies.after_change(self.clock)

    def _after_block(self, chunk: Chunk, rows: CheckedRows) -> StreamModel:
        """Return a copy that has learned very many rows as a block: all in one step, and then a re-solve."""
        y = rows.y
        clone = self.finished().copy()
        if clone.mapping is not self.mapping:
            chunk = replace(chunk, rows=clone.mapping.rows(chunk.raw))
        if clone.detector is not None:
            clone._detect((clone.classes[clone.rule.winners(chunk.rows)] != y).tolist())
        with few_threads(chunk.rows.shape[1]):
            if clone.monitor is not None and chunk.raw is not None:
                chunk = clone._renew_before(chunk)
            clone._add_classes(y)
            chunk = replace(chunk, labels=clone._labels(y))
            if clone.committee:
                clone._judge_block(chunk)
            results = [learn_block(member, chunk) for member in clone.members]
            for member in clone.members:
                resolve(member)
            clone._follow_tests(results[0], chunk, rows.X)
            clone.calibrate()
        return clone

    def _renew_before(self, chunk: Chunk) -> Chunk:
        """Renew the map at once if a block needs it; return the block, mapped anew."""
        assert self.monitor is not None
        moved = self.monitor.alarm_after(chunk.rows[:, : self.n_features], self.clock + len(chunk) - 1)
        due = self.newest is not None and self.studies.next is not None and self.clock >= self.studies.next
        if not (moved or due):
            return chunk
        model = finish(self.renewal(chunk.raw[:1], moved=moved, learn=self._begin_study()))
        if model is None:
            return chunk
        self._take_over(model)
        return replace(chunk, rows=self.mapping.rows(chunk.raw))

    def _judge_block(self, chunk: Chunk) -> None:
        """Let the trust in the members follow a block before it is learned; some may start again."""
        trust, rule = self.trust, self.rule
        assert isinstance(rule, CommitteeRule)
        wrong = np.empty((len(chunk), len(self.members)), dtype=np.bool_)
        for part in tiles(0, len(chunk), max(1, MOST_CHANCES // (len(self.members) * len(self.classes)))):
            chances, labels = rule.chances(chunk.rows[part]), chunk.labels[part]
            trust_rows(chances, labels, trust.weights, trust.slopes, trust.idle, RATE, wrong[part])
        for e, member in enumerate(self.members):
            if member.policy.starts_again:
                detector = HoeffdingDrift()
                detector.counts = trust.errors[e]
                if len(detector.update_rows(wrong[:, e])):
                    self._start_again(e)

    def _chunk(self, rows: CheckedRows, parameters: Parameters) -> Chunk:
        """Return the mapped rows of a call, with class indices, weights and times."""
        n, weights = len(rows), rows.weights
        if isinstance(parameters.class_weight, dict):
            classes = np.union1d(self.classes, rows.y) if len(self.classes) else np.unique(rows.y)
            weights = weights * class_factors_by_name(parameters, classes)[np.searchsorted(classes, rows.y)]
        labels = self._labels(rows.y) if len(self.classes) else np.zeros(n, dtype=np.int64)
        raw = rows.X if self.mapping.renewable else None
        times = np.arange(self.clock, self.clock + n)
        answers = None if self.published is None else self.published.answers
        same_map = answers is not None and answers.mapping is self.mapping
        mapped = answers.mapped(rows.X) if answers is not None and same_map else self.mapping.rows(rows.X)
        return Chunk(mapped, labels, weights, times, rows.ids, raw)

    @property
    def _usual_weight(self) -> float:
        """Weight of a usual row; the ridge counts as one too."""
        least_ridge = self.reg if isinstance(self.reg, float) else float(min(np.ravel(self.reg)))
        return max(self.members[0].mean_weight, least_ridge)

    def _refuse_heavy(self, rows: CheckedRows, chunk: Chunk) -> None:
        """Raise ValueError for a row next to which all others would be lost."""
        heavy = chunk.weights
        if not self.mapping.bounded:
            heavy = heavy * np.einsum("ij,ij->i", chunk.rows, chunk.rows, dtype=np.float64)
        refuse_heavy(rows, heavy, self._usual_weight)

    def takes(self, rows: CheckedRows, parameters: Parameters) -> bool:
        """Whether none of the rows is too heavy."""
        try:
            self._refuse_heavy(rows, self._chunk(rows, parameters))
        except ValueError:
            return False
        return True

    def refuse_known(self, ids: Array) -> None:
        """Raise ValueError if a row with one of these ids has been learned before."""
        refuse_known(ids, self.members[0].known_ids())

    def _labels(self, y: Array) -> Array:
        """Return the class index of each label; an arbitrary one for a label of a new class."""
        return np.minimum(np.searchsorted(self.classes, y), len(self.classes) - 1)

    def _follow_tests(self, tested: Tested, chunk: Chunk, X: Any) -> None:
        """Count learned rows, keep the newest, and let them calibrate the rule of a single member."""
        if not self.committee and len(chunk):
            self.pending_calibration.append((chunk.labels, chunk.times, tested))
        if self.newest is not None and len(chunk):
            self.newest.add(X, chunk.labels)
        self.clock += len(chunk)

    def renewal(self, raw: Any, *, moved: bool, learn: bool) -> Steps[StreamModel | None]:
        """Return, in pieces, a copy with a new map; None if the present one is as good.

        With `learn`, a metric is learned again from the newest rows.  If the rows have `moved` away from the landmarks,
        or the metric is another one, there are new landmarks, perhaps the next row `raw` among them.  Kept rows are
        mapped again.  Sums over forgotten rows are transformed from the old features to the new ones.
        """
        choice = (yield from self._study()) if learn else None
        if choice is None and not moved:
            return None
        model = self.snapshot()
        model.answering = False
        for member in model.members:
            member.flush()
        new = self._new_map(model.members[0].kept, raw, choice)
        model.mapping, model.n_columns = new.mapping, len(new.change)
        if choice is not None:
            model.gamma = choice.gamma
        if choice is not None or new.mapping.columns is not self.mapping.columns:
            model.n_warm_up = self.clock
        model.monitor = ResidualMonitor(model.mapping, self.n_components, self.clock)
        empty = np.empty((0, len(new.change)), dtype=model.mapping.dtype)
        for member in model.members:
            yield
            rows = model.mapping.rows(member.kept.raw) if len(member.kept) else empty
            remap_class = member.remap(new, rows, model.features_of(member.policy))
            for k in range(len(self.classes)):
                if k % _REMAPPED_AT_ONCE == 0:
                    yield
                remap_class(k)
            for near in in_pieces(member):
                yield
                resolve(member, near)
        model.calibrate()
        return model

    def _study(self) -> Steps[KernelChoice | None]:
        """Return, in pieces, gamma and metric for the newest rows, or None if they stay as they are."""
        assert self.newest is not None
        assert self.spread is not None
        X, labels = self.newest.last(max(LEAST_ROWS, self.clock - self.studies.changed))
        if len(X) < max(LEAST_ROWS, ROWS_OF_COLUMN * X.shape[1]):
            return None
        return (yield from study(
            X, labels, self.mapping, self.spread, self.n_components, self.seed, any_gamma=self.any_gamma
        ))  # fmt: skip

    def _begin_study(self) -> bool:
        """Return whether a metric is to be learned now, and note that."""
        if self.newest is None or not self.studies.worthwhile(self.clock):
            return False
        matters, self.studies = self._map_matters, self.studies.after_study(self.clock)
        return matters

    @property
    def _map_matters(self) -> bool:
        """Whether the members that use the map have more than a small share in the answer."""
        of_map = [not policy.linear for policy in self.policies]
        first = self.studies.done == 0  # since a change, after which the map may have become blind
        return first or not self.committee or float(self.trust.shares[of_map].sum()) > _SMALL_SHARE

    def _new_map(self, kept: Kept, raw: Any, choice: KernelChoice | None) -> NewMap:
        """Return a map with new landmarks.

        Those of another kernel are chosen from the newest rows, others from the old ones, kept rows and the next one.
        """
        random, columns = np.random.default_rng([self.seed, self.clock]), self.mapping.columns
        none = (np.empty((0, 0)), np.empty(0, dtype=np.int64))
        X, labels = none if self.newest is None else self.newest.last(len(self.newest))
        if columns is not None and len(X) >= LEAST_ROWS:
            columns = StandardColumns.of(X)
        of_kept = [kept.raw[kept.labels == k] for k in np.unique(kept.labels)]
        if choice is None:
            groups = [*of_kept, self.mapping.transformer.landmarks_, raw]
            return new_landmarks(self.mapping, choose_landmarks(groups, self.n_components, random), columns)
        landmarks = choose_landmarks([X[labels == k] for k in np.unique(labels)], self.n_components, random)
        transformer = self.mapping.transformer.with_landmarks(landmarks, gamma=choice.gamma, metric=choice.metric)
        known = np.concatenate([X, *of_kept])
        known = known[np.sort(random.permutation(len(known))[:_MOST_COMPARED])]
        return new_kernel(self.mapping, transformer, choice.rounds, columns, known)

    def _prepare(self, row: CheckedRows, parameters: Parameters, *, moved: bool) -> None:
        """Begin to choose a new map; `row` comes next."""
        learn = self._begin_study()
        if moved or learn:
            self.preparation = Preparation(_renewal, (self.snapshot(), row.X, moved, learn), parameters)

    def begin_answering(self) -> None:
        """Answer from now on, and not only in preparation; what single rows follow depends on that."""
        self.answering, self.one_row = True, None

    def _take_over(self, model: StreamModel) -> None:
        """Become another model, which has learned the same rows."""
        own = ("published", "one_row", "detector", "drifts", "lineage")
        vars(self).update({name: value for name, value in vars(model).items() if name not in own})
        self.preparation, self.answering = None, True

    def finished(self) -> StreamModel:
        """Return the model itself, or a copy in which nothing is in preparation any more."""
        if self.preparation is None:
            return self
        clone = self.copy()
        with few_threads(self.n_columns):
            model = self.preparation.finished()
        if model is None:
            clone.preparation = None
        else:
            clone._take_over(model)
        return clone

    def _detect(self, errors: list[bool], undo: Undo | None = None) -> None:
        """Update a copy of the drift detector with the errors of rows; if there was a drift, let all rows fade."""
        drifted, self.detector = False, deepcopy(self.detector)
        for wrong in errors:
            self.detector.update(int(wrong))
            drifted |= bool(self.detector.drift_detected)
        if drifted:
            self.drifts = [*self.drifts, self.clock - 1][-_MOST_DRIFTS:]
            self.preparation = None  # it has learned what is to be forgotten; the monitor will ask for another
            self.studies = self.studies.after_change(self.clock)
            for member in self.members:
                if undo is not None:
                    member.remember_all(undo, range(member.n_classes))
                fade(member, _DRIFT_FADE)

    def _add_classes(self, labels: Array, undo: Undo | None = None) -> None:
        """Add the classes of these labels that are new."""
        classes = np.unique(np.concatenate([self.classes, labels])) if len(self.classes) else np.unique(labels)
        if len(classes) == len(self.classes):
            return
        if undo is not None:
            for member in self.members:
                member.remember_references(undo)
        self._flush_calibration(undo)
        settings = self.settings_for(len(classes))
        source = np.full(len(classes), -1)
        source[np.isin(classes, self.classes)] = np.arange(len(self.classes))
        for k in np.flatnonzero(source < 0):
            for member in self.members:
                member.insert_class(int(k), settings)
            if self.newest is not None:
                self.newest.insert_class(int(k))
        if not self.committee:
            self.tested = self.tested.rearranged(source)
        self.classes = classes
        self.calibrate(at_once=True, undo=undo)

    def remove_class(self, k: int) -> None:
        """Remove a class without rows."""
        self._flush_calibration()
        source = np.delete(np.arange(len(self.classes)), k)
        settings = self.settings_for(len(source))
        for member in self.members:
            member.delete_class(k, settings)
        if self.newest is not None:
            self.newest.delete_class(k)
        if not self.committee:
            self.tested = self.tested.rearranged(source)
        self.classes = np.delete(self.classes, k)

    def unlearn(self, rows: CheckedRows, parameters: Parameters) -> tuple[StreamModel, Unlearned]:
        """Take rows out; return the new model, and a report of the rows of which something remains."""
        if self.preparation is not None:
            return self.finished().unlearn(rows, parameters)
        return self._without(self._chunk(rows, parameters), rows.X)

    def unlearn_ids(self, ids: Array, parameters: Parameters) -> tuple[StreamModel, Unlearned]:
        """Take rows out by their ids alone, which is possible as long as they are stored."""
        if self.preparation is not None:
            return self.finished().unlearn_ids(ids, parameters)
        stores, known, found = self._stores(), self.members[0].known_ids(), []
        places = [{key: i for i, key in enumerate(store.ids) if key is not None} for store in stores]
        if not known:
            raise ValueError(NO_IDS)
        for key in ids:
            if key not in known:
                raise ValueError(never_learned(key))
            rows = [store.take([at[key]]) if key in at else None for store, at in zip(stores, places, strict=True)]
            found.append(self._stored_row(key, rows))
        labels = np.array([row.labels[0] for row, _ in found])
        if self.mapping.renewable:
            raw = [row.raw for row, _ in found]
            X = sp.vstack(raw, format="csr") if sp.issparse(raw[0]) else np.concatenate(raw)
            checked = CheckedRows(X, self.classes[labels], np.ones(len(ids)), ids)
            return self.unlearn(checked, parameters)
        times, mapped = np.zeros(len(ids), dtype=np.int64), np.concatenate([rows for _, rows in found])
        return self._without(Chunk(mapped, labels, np.ones(len(ids)), times, ids, None), None)

    def _stores(self) -> list[Kept]:
        """Return the stored rows of each member."""
        stores = []
        for member in self.members:
            pending = member.pending.kept()
            stores.append(member.kept.join(pending) if len(member.kept) else pending)
        return stores

    def _stored_row(self, key: Any, rows: list[Kept | None]) -> tuple[Kept, Array]:
        """Return a row as a member stores it, and the whole mapped row, of which members may have different parts.

        Raises ValueError if no member, or not enough of them, store it.
        """
        there = [row for row in rows if row is not None]
        whole = np.ones((1, self.n_columns), dtype=self.dtype)
        missing = np.ones(self.n_columns, dtype=bool)
        for member, row in zip(self.members, rows, strict=True):
            if row is not None:
                whole[:, member.columns], missing[member.columns] = row.rows, False
        if not there or (missing.any() and there[0].raw is None):
            raise ValueError(
                f"Nothing was unlearned: the row with id {key!r} is part of the sums, but no longer stored, so it "
                "cannot be subtracted. Give the row as well, unlearn(X, y, ids=...), or keep every row from the "
                "beginning: memory=None and a large second_look."
            )
        return there[0], whole

    def _without(self, chunk: Chunk, X: Any) -> tuple[StreamModel, Unlearned]:
        """Return a model without rows, and a report; X are the rows as they were given, which landmarks may be."""
        clone, report = self.copy(), Unlearned()
        clone._flush_calibration()
        renewed_at = self.monitor.since if self.monitor is not None else 0
        times = np.full(len(chunk), -1)
        for member in clone.members:
            rows_of_member = replace(chunk, rows=member.used(chunk.rows))
            with few_threads(self.n_columns):
                found = take_out(member, rows_of_member, self.classes, renewed_at, report, times)
            times = np.where(times >= 0, times, found)
            clone.tested.remove(times[times >= 0])
            for i in np.flatnonzero(times < self.n_warm_up):  # also those whose time is not known
                if self.warm_up_matters:
                    report.add("warm_up", int(i))
                if self.mapping.rounds:
                    report.add("metric", int(i))
        if clone.newest is not None:
            clone.newest.remove(X, chunk.labels)
        for i in np.flatnonzero(self.mapping.is_landmark(X)) if X is not None else ():
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
        if self.preparation is not None or other.preparation is not None:
            return self.finished().merge(other.finished())
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
            clone.mapping, clone.monitor, clone.newest = replace(clone.mapping, frozen=True), None, None
        clone._add_classes(other.classes)
        classes = np.searchsorted(clone.classes, other.classes)
        for member, other_member in zip(clone.members, other.members, strict=True):
            if member.policy.linear and self.mapping.columns is not None and other.mapping.columns is not None:
                change = columns_change(other.mapping.columns, self.mapping.columns)
                join(member, restandardised(other_member, change), classes, self.clock)
            else:
                join(member, other_member, classes, self.clock)
        clone.trust = self.trust.merged(other.trust, self.clock / (self.clock + other.clock))
        clone.clock += other.clock
        clone.resolve()
        return clone

    def _flush_calibration(self, undo: Undo | None = None) -> None:
        """Add the calibration rows that wait to those of their class."""
        if self.pending_calibration:
            if undo is not None:
                undo.keep(self.tested, "near", "far", "times", "next")
            labels, times, results = zip(*self.pending_calibration, strict=True)
            near, far = (np.concatenate([getattr(result, name) for result in results]) for name in ("near", "far"))
            self.tested.add(np.concatenate(labels), np.concatenate(times), near, far)
            self.pending_calibration = []

    def resolve(self) -> None:
        """Bring all duals, planes and offsets up to date.

        If every row is kept, the offsets are learned anew from left-out values, as in a fit: they then depend on the
        rows alone, not on the order in which these came and what was unlearned since.
        """
        with few_threads(self.n_columns):
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
        chosen = calibration_rows(starts, np.flatnonzero(landmarks), self.seed, _CALIBRATION_ROWS)
        left_out = resolve(member, wanted=kept.times[chosen])
        member.kept = member.kept.with_reserve(member.policy.second_look)
        if left_out is not None:
            self._flush_calibration()
            self.tested = CalibrationRows(len(self.classes))
            self.tested.add(left_out.labels, left_out.times, left_out.near, left_out.far)

    def resolved(self) -> StreamModel:
        """Return a copy in which all duals, planes and offsets are up to date."""
        clone = self.finished().copy()
        clone.resolve()
        return clone

    @property
    def _calibration_due(self) -> bool:
        """Whether enough calibration rows are new to learn the decision rule again."""
        pending = self.pending_calibration  # of rows that have come one after another
        waiting = int(pending[-1][1][-1] - pending[0][1][0]) + 1 if pending else 0
        return self.tested.due(waiting)

    def calibrate(self, at_once: bool = False, undo: Undo | None = None) -> None:
        """Learn the decision rule again if enough calibration rows are new, or `at_once`."""
        n_classes, settings = len(self.classes), self.settings
        if self.committee:
            self.decision = Decision.plain(n_classes, settings.multiclass, "value")
            return
        if at_once or self._calibration_due or len(self.decision.slopes) != n_classes:
            self._flush_calibration(undo)
            if undo is not None:
                undo.keep(self.tested)
            member = self.members[0]
            totals = member.moments.counts * member.class_factors / member.current_weight
            self.decision = self.tested.decide(totals, settings.decision, settings.multiclass)
        if settings.decision == "distance":
            self.decision = self.decision.with_distances(norms(self.members[0].planes[..., :-1]))

    def inspect(self) -> Inspection:
        """Return counts and sizes."""
        leader = self.leader
        pending = leader.pending.kept()
        stores = [store for store in (leader.kept, pending) if len(store) and store.raw is not None]
        kept = stores[0].join(*stores[1:]) if stores else None
        return Inspection(
            stage=self.stage,
            seen=self.clock,
            kept=len(leader.kept) + len(pending),
            forgotten=int(leader.forgotten.counts.sum()),
            drifts=len(self.drifts),
            bytes=array_bytes(self),
            kept_rows=None if kept is None else kept.raw,
            kept_labels=None if kept is None else kept.labels,
        )


def _renewal(model: StreamModel, raw: Any, moved: bool, learn: bool) -> Steps[StreamModel | None]:
    """Return, in pieces, what `renewal` does."""
    return model.renewal(raw, moved=moved, learn=learn)


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
