"""Unlearn: take rows out of a member."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from .._arrays import Array, as_python
from ..model.rows import never_learned
from .forgotten import UNKNOWN_TOTAL, Trace
from .kept import Chunk, Kept
from .member import Member

# How far the features of a row, and their sum, may differ when the row is mapped together with other rows: rounding in
# BLAS depends on the shape, and the normalisation of landmarks magnifies it.
_SAME_FEATURE = {"float64": 1e-9, "float32": 1e-3}
_SAME_TOTAL = {"float64": 1e-6, "float32": 5e-3}
_OTHER_VALUES = "Nothing was unlearned: the row with id {!r} was learned with other values."
REASONS = {
    "landmark": "the row is a landmark of the feature map",
    "warm_up": "the row was, or may have been, one of those from which gamma, the scale or the map was found",
    "metric": "the factors of the columns were, or may have been, learned with this row; a metric that is given, or "
    "metric='none', depends on no row",
    "condensed": "the row was taken out of the sums, but may be condensed into the planes: it came without an id",
    "remapped": "the row is not kept; it was summed before the landmarks of the feature map were renewed, and is still "
    "part of the sums (if it came without an id: if it was learned at all, which cannot be checked)",
    "age": "the row is not kept and came without an id; if it was learned, which cannot be checked, its present weight "
    "is not known on a fading stream, and it is still part of the sums",
    "memberships": "the row may be the nearest or the farthest forgotten row of its class, on which memberships depend",
    "planes": "the planes may depend on it through other rows: on which of these were set aside or forgotten, and on "
    "their dual variables",
    "offsets": "offsets and slopes were learned from values of other rows in planes that this one was part of",
    "trust": "the trust in the members of decay='auto' was learned with this row",
    "detector": "the drift detector has met this row",
    "residual": "the running mean that says when new landmarks are needed has met this row",
    "columns": "scale, medians and running means of the columns were found with this row",
    "categories": "the texts of its categories are in the model, whether or not other rows have them",
    "record": "the record of the run has counted the row, and knows its label",
}
IN_SUMS = ("remapped", "age")  # reasons of rows that could not be taken out
INFLUENCE = ("planes", "offsets", "trust", "detector", "residual")  # reasons that concern what others left


@dataclass
class Unlearned:
    """The result of a call of `unlearn`.

    Attributes
    ----------
    removed : int
        Number of rows that were taken out of the sums and of the stored rows.
    remaining : dict of str to list of int
        Reason -> positions in the call of the rows of which something remains: of the row itself, or of its influence
        on what was learned from other rows.
    complete : bool
        Whether nothing remains of any row.
    values_removed : bool
        Whether no number of the rows themselves remains, only their influence on what was learned from others.
    without_trace : int
        Number of rows that were taken out and of which nothing remains.

    Examples
    --------
    >>> from fbtwsvm.online.unlearn import Unlearned
    >>> print(Unlearned(removed=2))
    2 rows taken out; nothing remains of them
    >>> print(Unlearned(removed=2, remaining={"landmark": [0]}))
    2 rows taken out; nothing remains of 1 of them
    landmark, 1 row (position 0): the row is a landmark of the feature map
    >>> print(Unlearned(removed=1, remaining={"age": [1]}).describe(["anna 1", "anna 2"]))  # doctest: +ELLIPSIS
    1 of 2 rows taken out, 1 could not be; nothing remains of 1 of them
    age, 1 row (anna 2): the row is not kept and came without an id; ...
    """

    removed: int = 0
    remaining: dict[str, list[int]] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether nothing remains of any row."""
        return not self.remaining

    @property
    def values_removed(self) -> bool:
        """Whether no number of the rows themselves remains, only their influence on what others left."""
        return set(self.remaining) <= set(INFLUENCE)

    @property
    def without_trace(self) -> int:
        """Number of rows that were taken out and of which nothing remains."""
        return self.removed - len(set().union(*self.remaining.values()) - self._still_in_sums())

    def count_removed(self, n_rows: int) -> None:
        """Set the number of rows that were taken out, of `n_rows`, once all reasons are known."""
        self.removed = n_rows - len(self._still_in_sums())

    def _still_in_sums(self) -> set[int]:
        return set().union(*(self.remaining.get(reason, []) for reason in IN_SUMS))

    def add(self, reason: str, position: int) -> None:
        """Note that something remains of a row."""
        rows = self.remaining.setdefault(reason, [])
        if position not in rows:
            rows.append(position)

    def __str__(self) -> str:
        return self.describe()

    def describe(self, names: Sequence[str] | None = None) -> str:
        """Return the report in words, with names of the rows, or their positions."""
        still = len(self._still_in_sums())
        count = f"{self.removed:,} of {_rows(self.removed + still)}" if still else _rows(self.removed)
        failed = f", {still:,} could not be" if still else ""
        whole = "nothing remains of them" if self.complete else f"nothing remains of {self.without_trace:,} of them"
        if not self.complete and not self.without_trace:
            whole = "something remains of each" + (", but none of its values" if self.values_removed else "")
        lines = [f"{count} taken out{failed}; {whole}"]
        for reason, rows in self.remaining.items():
            some = [str(row) if names is None else names[row] for row in sorted(rows)[:10]]
            where = ", ".join(some) + (", ..." if len(rows) > 10 else "")
            if names is None:
                where = f"position{'s' if len(rows) > 1 else ''} {where}"
            lines.append(f"{reason}, {_rows(len(rows))} ({where}): {REASONS[reason]}")
        return "\n".join(lines)


def _rows(count: int) -> str:
    return f"{count:,} row{'' if count == 1 else 's'}"


def find_kept(kept: Kept, rows: Chunk, times: Array | None = None) -> Array:
    """Return the position of each row among the kept ones, matched by id or else by values; -1 if it is not kept.

    `times` are those at which the rows came, as far as they are known (-1 if not): in a member that cuts off columns,
    different rows may have equal values.
    """
    positions = np.full(len(rows), -1)
    free = np.ones(len(kept), dtype=bool)
    by_id = {key: i for i, key in enumerate(kept.ids) if key is not None}
    by_time = {time: i for i, time in enumerate(kept.times.tolist())}
    for i, key in enumerate(rows.ids):
        if key is not None:
            positions[i] = by_id.get(key, -1)
        elif times is not None and times[i] >= 0:
            positions[i] = by_time.get(int(times[i]), -1)
        else:
            candidates = np.flatnonzero(free & (kept.labels == rows.labels[i]))
            positions[i] = _find_by_values(kept, rows, i, candidates)
        if positions[i] >= 0:
            free[positions[i]] = False
    return positions


def _find_by_values(kept: Kept, rows: Chunk, i: int, candidates: Array) -> int:
    """Return which of the candidates has the values of a row: one without an id if there is one; -1 if none has."""
    if not len(candidates):
        return -1
    if kept.raw is not None and rows.raw is not None and not sp.issparse(kept.raw):
        same = (kept.raw[candidates] == rows.raw[i]).all(axis=1)
    else:
        apart = np.abs(kept.rows[candidates] - rows.rows[i]).max(axis=1)
        same = apart <= max(apart.min(), 0.0) if apart.min() <= _SAME_FEATURE[str(kept.rows.dtype)] else apart < 0
    found = candidates[same]
    unnamed = [place for place in found if kept.ids[place] is None]
    return int(unnamed[0] if unnamed else found[0]) if len(found) else -1


@dataclass(frozen=True)
class _Place:
    """Where a row is: among the kept rows, forgotten with a trace, or forgotten without one.

    row, weight  the row as it was learned (1, n_columns), and its present weight
    time         position in the stream; -1 if it is not known
    position     position among the kept rows; -1 if it is not kept
    """

    row: Array
    label: int
    weight: float
    time: int = -1
    position: int = -1
    trace: Trace | None = None
    shift: float = 1.0  # factor by which weights have been rescaled since the trace was made
    key: Any = None


def take_out(
    member: Member, rows: Chunk, classes: Array, renewed_at: int, report: Unlearned, times: Array | None = None
) -> Array:
    """Subtract rows from a member and drop their duals; return their times (-1 if a time is not known).

    `times` are those that another member has found.

    Raises ValueError for rows that cannot have been learned.
    """
    member.flush()
    kept = member.kept
    positions = find_kept(kept, rows, times)
    places = [_locate(member, rows, i, int(position), classes) for i, position in enumerate(positions)]
    for i, place in enumerate(places):
        if place.position >= 0:
            in_sums = not kept.reserve[place.position] or member.policy.statistics == "all"
        else:
            in_sums = _take_out_forgotten(member, place, i, renewed_at, report)
        if in_sums:
            member.moments.add(place.label, place.row, np.array([place.weight]), -1.0)
            member.mark_changed(place.label, sums=True)
        if place.position >= 0 or in_sums:
            _take_out_count(member, place)
    _check(member, rows)
    member.kept = kept.take(np.setdiff1d(np.arange(len(kept)), [place.position for place in places]))
    member.mark_changed(np.unique(rows.labels), rows=True)
    member.forgotten.drop_traces(rows.ids[i] for i, place in enumerate(places) if place.trace is not None)
    return np.array([place.time for place in places], dtype=np.int64)


def everything_kept(member: Member) -> bool:
    """Whether the model follows from its rows alone: all are kept, by whatever limit, and none has faded."""
    policy = member.policy
    return not (
        member.forgotten.counts.any() or member.faded or policy.memory is not None or policy.statistics == "kept"
    )


def _take_out_count(member: Member, place: _Place) -> None:
    """Take a row out of the number and the mean weight of the rows seen."""
    n, mean = member.n_rows, member.mean_weight
    if n > 1 and not member.faded:  # the sample weight of a row that has faded is not known
        member.mean_weight = max((mean * n - place.weight / member.current_weight) / (n - 1), 1e-9 * mean)
    member.n_rows = max(n - 1, 0)
    part = member.seen if member.seen[place.label] else member.since_solve
    part[place.label] = max(part[place.label] - 1, 0)


def _locate(member: Member, rows: Chunk, i: int, position: int, classes: Array) -> _Place:
    """Find where a row is; raise ValueError if it cannot have been learned."""
    k = int(rows.labels[i])
    key = rows.ids[i]
    row = rows.rows[i : i + 1]
    kept, forgotten = member.kept, member.forgotten
    trace = forgotten.traces.get(key) if position < 0 and key is not None else None
    if position < 0 and trace is None and (key is not None or forgotten.counts[k] == 0):
        if key is not None:
            raise ValueError(never_learned(key))
        name = f"row {i} (label {as_python(classes[k])!r})"
        raise ValueError(f"Nothing was unlearned: {name} was never learned, or has been unlearned already.")
    label = int(kept.labels[position]) if position >= 0 else trace.label if trace is not None else k
    if label != k:
        raise ValueError(f"Nothing was unlearned: the row with id {key!r} was learned with another label.")
    if position >= 0:
        # Linear members may have been standardised again; the members before them have compared the values.
        apart = 0.0 if member.policy.linear else np.abs(kept.rows[position] - row[0]).max()
        if key is not None and apart > _SAME_FEATURE[str(row.dtype)]:
            raise ValueError(_OTHER_VALUES.format(key))
        row = kept.rows[position : position + 1]
        return _Place(row, k, float(kept.weights[position]), int(kept.times[position]), position)
    if trace is None:
        return _Place(row, k, float(rows.weights[i]))
    shift = float(np.exp(forgotten.log_scales[k] - trace.log_scale))
    return _Place(row, k, trace.weight * shift, trace.time, -1, trace, shift, key)


def _take_out_forgotten(member: Member, place: _Place, i: int, renewed_at: int, report: Unlearned) -> bool:
    """Take a forgotten row out of the dual sums and counts; return whether to subtract it from the moments too."""
    forgotten = member.forgotten
    k, trace = place.label, place.trace
    if trace is None and member.faded:
        report.add("age", i)
        return False
    if (place.time < renewed_at and renewed_at > 0) or (trace is not None and trace.total == UNKNOWN_TOTAL):
        report.add("remapped", i)
        return False
    total = float(place.row.sum(dtype=np.float64))
    if trace is not None and abs(total - trace.total) > _SAME_TOTAL[str(place.row.dtype)]:
        if member.policy.linear:  # its columns have been standardised again; others have compared the values
            report.add("remapped", i)
            return False
        raise ValueError(_OTHER_VALUES.format(place.key))
    if trace is None and forgotten.n_condensed[k]:
        report.add("condensed", i)
    if member.settings.membership != "none" and not _surely_inside(member, place):
        report.add("memberships", i)
    factor = place.shift * member.class_factors[k]
    alpha = None if trace is None or trace.alpha is None else trace.alpha * factor
    if trace is None or trace.box is None:  # the largest box that the row can have had, so that no gap is too small
        box = member.settings.C * place.weight * member.class_factors[k]
    else:
        box = trace.box * factor
    forgotten.remove(k, alpha, box, place.row[0])
    return member.policy.statistics == "all"


def _surely_inside(member: Member, place: _Place) -> bool:
    """Whether a forgotten row is neither the nearest nor the farthest of its class, as far as that is known."""
    forgotten, k = member.forgotten, place.label
    if forgotten.counts[k] == 1:  # with the last one, both distances are dropped
        return True
    known = place.trace is not None and not member.faded
    return bool(known and forgotten.nearest[k] < place.trace.distance < forgotten.farthest[k])  # type: ignore[union-attr]


def _check(member: Member, rows: Chunk) -> None:
    """Raise ValueError if a count or Gram matrix has become negative: such rows cannot have been learned."""
    moments = member.moments
    for k in rows.present:
        rounding = 1e-9 if member.dtype == np.float64 else 1e-4
        weight = float(rows.weights[rows.labels == k].sum()) * member.current_weight
        slack = rounding * max(weight, moments.counts[k])
        if moments.counts[k] < -slack or not moments.definite(int(k), slack):
            raise ValueError(
                "Nothing was unlearned: without these rows the sums of a class would be less than nothing, so not all "
                "of them can have been learned (with this label and weight)."
            )
        if moments.counts[k] <= slack:  # only rounding errors are left
            moments.scale(0.0, int(k))
