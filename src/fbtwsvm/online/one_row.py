"""Learn a single row: the arguments of the compiled loops are kept from call to call, and so is what undoes the row.

A stream of single rows spends more time on the way to the compiled loops than in them.  So the arrays are collected
once, and used until something else than a row changes the model.  Readers must not see planes change, therefore there
are two copies of planes and trust: readers have one, a row changes the other.  The next row first repeats on its copy
what the row before has changed, which is little: the planes near one class and those that push it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from sys import getrefcount
from typing import Any, NamedTuple, Protocol

import numpy as np

from .._arrays import Array, code_for
from ..model.decision import Answers
from ._loops import MemberArrays, Saved, Watch, unlearn_row
from ._loops import learn_row as learn_row_compiled
from .absorb import Tested, member_arrays, take_numbers
from .committee import CommitteeRule
from .member import Member
from .newest import NewestRows
from .trust import Trust
from .undo import Published

# The machine code of the loop, by precision and types of the arrays of all members.
_CODE: dict[tuple[Any, ...], Callable[..., None]] = {}


def learn_row(types: tuple[Any, ...] | None, rows: Array, *arguments: Any) -> None:
    """Call the compiled loop, directly for arguments of `types` that have been there before; None is any types."""
    if types is None:
        learn_row_compiled(rows, *arguments)
        return
    code = _CODE.get(types)
    if code is None:
        code = _CODE[types] = code_for(learn_row_compiled, (rows, *arguments))
    code(rows, *arguments)


class _Stream(Protocol):
    """What is read and changed of a stream model."""

    published: Published | None
    classes: Array
    members: list[Member]
    trust: Trust
    newest: NewestRows | None
    clock: int
    pending_calibration: list[tuple[Array, Array, Tested]]

    @property
    def committee(self) -> bool:
        """Whether there is more than one member."""

    @property
    def answers(self) -> Answers:
        """All that a prediction reads."""

    def watch(self) -> Watch:
        """Return what the compiled loops follow beside the members."""

    def published_with(self, planes: Sequence[Array], weights: Array) -> Published:
        """Return what readers use if the members have these planes, and these weights."""


class _Side(NamedTuple):
    """One of the two copies.

    members, planes  what the loops change, and the planes in it
    watch, weights   the same, and the weights of the members in it
    published        what readers use once a row has been learned into this copy
    """

    members: tuple[MemberArrays, ...]
    planes: tuple[Array, ...]
    watch: Watch
    weights: Array
    published: Published

    def forget_chances(self) -> None:
        """Forget the log-probabilities of rows that were predicted with these planes."""
        rule = self.published.answers.rule
        if isinstance(rule, CommitteeRule):
            rule.recent.pair = None


class OneRow:
    """Learns rows one by one in place, and undoes the last one if the call did not come to its end."""

    def __init__(self, model: _Stream) -> None:
        self.model = model
        self.codes = {label: k for k, label in enumerate(model.classes.tolist())}
        members, n_classes = model.members, len(model.classes)
        first = tuple([member_arrays(member, member.planes) for member in members])
        watch = model.watch()
        sides = []
        for copied in (False, True):
            planes = tuple([member.planes.copy() if copied else member.planes for member in members])
            weights = model.trust.weights.copy() if copied else model.trust.weights
            arrays = tuple([part._replace(planes=own) for part, own in zip(first, planes, strict=True)])
            published = model.published_with(planes, weights)
            sides.append(_Side(arrays, planes, watch._replace(weights=weights), weights, published))
        self.sides = tuple(sides)
        n_members, widest = len(members), max(member.planes.shape[2] for member in members)
        self.saved = Saved(
            np.empty((n_members, widest)), np.empty((n_members, 7)), np.empty(n_members), np.empty(1),
            np.empty((n_members, 4), dtype=np.int64), np.empty(n_members, dtype=np.int64),
            np.full(1, -1), np.full(1, -1),
        )  # fmt: skip
        self.label, self.weight = np.zeros(1, dtype=np.int64), np.ones(1)
        self.unknown = np.full((n_members if model.committee else 0, n_classes), np.nan)
        self.learned = np.empty(3, dtype=np.int64)
        values = [value for part in first for value in part if isinstance(value, np.ndarray)]
        usual = all([value.flags.carray for value in values])  # in the order of their elements, and not read-only
        self.types = (n_members, *(value.dtype.str for value in values)) if usual else None
        self.before: tuple[Any, ...] = ()  # what Python changes, before the row
        model.published = sides[0].published

    @property
    def _front(self) -> int:
        """Return which of the two copies readers have."""
        return int(self.model.published is self.sides[1].published)

    def ready(self) -> bool:
        """Whether readers have one of the two copies, and nobody reads the other one any more."""
        side = self.sides[1 - self._front]
        if self.model.published is not self.sides[self._front].published:
            return False
        published = side.published
        answers = published.answers
        # References that an object has if nobody else has one, in Python 3.11 to 3.13: as part of a tuple or an object,
        # as a name here, and as the argument.  Planes and trust are part of three things.
        if getrefcount(published) > 3 or getrefcount(answers) > 3 or getrefcount(answers.rule) > 2:
            return False
        if self.model.committee and getrefcount(side.weights) > 4:
            return False
        return all(getrefcount(planes) <= 5 for planes in side.planes)

    @property
    def published(self) -> Published:
        """What readers use after the last row."""
        written = int(self.saved.side[0])
        return self.sides[self._front if written < 0 else written].published

    def learn(self, rows: Array, raw: Any, own: int, weight: float, name: Any) -> tuple[bool, bool]:
        """Learn one mapped row of class `own` into the copy that nobody reads.

        Returns whether it was learned, which it is not if a new map is needed first, and whether a member has something
        to do now.
        """
        model = self.model
        front, back = self._front, 1 - self._front
        side, other = self.sides[back], self.sides[front]
        self.label[0], self.weight[0] = own, weight
        rule, known = model.answers.rule, self.unknown
        if isinstance(rule, CommitteeRule):
            known = rule.known_chances(rows, known)
            side.forget_chances()  # its planes are about to change
        near, far = np.empty((2, 0 if model.committee else 1, len(model.classes)))
        numbers = [
            (member.current_weight, member.mean_weight, member.clock, member.n_rows, pending.count, len(pending.raw))
            for member in model.members
            for pending in (member.pending,)
        ]
        n_newest = 0 if model.newest is None else model.newest.count
        self.before = (model.clock, len(model.pending_calibration), n_newest, numbers)
        learn_row(
            self.types, rows, self.label, self.weight, side.members, other.planes, side.watch, other.weights,
            self.saved, known, near, far, self.learned, back,
        )  # fmt: skip
        learned, _, due = self.learned.tolist()
        if learned:
            self._follow(side, raw, name, near, far)
        else:
            self.take_back()
        return bool(learned), bool(due)

    def _follow(self, side: _Side, raw: Any, name: Any, near: Array, far: Array) -> None:
        """Do in Python what the loops cannot: numbers that are attributes, lists of rows."""
        model = self.model
        time = model.clock
        for member, changed, planes in zip(model.members, side.members, side.planes, strict=True):
            pending = member.pending
            place = pending.count
            pending.times[place], pending.ids[place] = time, name
            if raw is not None:
                pending.raw.append(raw)
            pending.count = place + 1
            member.planes = planes
            take_numbers(member, changed)
        model.trust.weights = side.weights
        if model.newest is not None:
            model.newest.add(raw, self.label)
        if not model.committee:
            model.pending_calibration.append((self.label.copy(), np.array([time]), Tested(near, far)))
        model.clock = time + 1

    def take_back(self) -> None:
        """Undo the last row unless readers have it; to do so twice is the same as once."""
        written = int(self.saved.side[0])
        if written < 0 or self.model.published is self.sides[written].published:
            return
        model, side, other = self.model, self.sides[written], self.sides[1 - written]
        model.clock, n_calibration, n_newest, numbers = self.before
        for member, planes, changed, before in zip(model.members, other.planes, side.members, numbers, strict=True):
            member.planes = planes
            member.current_weight, member.mean_weight, member.clock, member.n_rows, member.pending.count, n_raw = before
            changed.counters[:] = member.pending.count, member.clock, member.n_rows
            del member.pending.raw[n_raw:]
        del model.pending_calibration[n_calibration:]
        model.trust.weights = other.weights
        if model.newest is not None:
            model.newest.count = n_newest
        side.watch.clock[0] = model.clock
        unlearn_row(side.members, side.watch, self.saved)  # the last step: until then, it can be repeated
