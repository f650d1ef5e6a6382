"""Taking rows out again."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._arrays import Array
from .kept import Chunk, Kept
from .member import Member

# By how much features, and their sum, of one row may differ when it is mapped among others: BLAS rounds by shape, and
# the normalisation of landmarks makes more of it.
_SAME_FEATURE = {"float64": 1e-9, "float32": 1e-3}
_SAME_TOTAL = {"float64": 1e-6, "float32": 5e-3}
REASONS = {
    "landmark": "the row is a landmark of the feature map",
    "warm_up": "the row came in the warm-up, from which the width of the kernel, the scale or the map was found",
    "condensed": "the row is out of the sums, but may have been condensed into the planes, and came without an id",
    "remapped": "the row was summed before the feature map was renewed, and is not kept",
    "age": "the stream fades, the row is not kept and came without an id: how much of it is left is not known",
}


@dataclass
class Unlearned:
    """What a call of `unlearn` did.

    Attributes
    ----------
    removed : int
        Rows of which nothing is left in the planes and sums.
    remaining : dict of str to list of int
        Rows (by position in the call) of which something remains, by the reason why.

    Examples
    --------
    >>> from fbtwsvm.online.unlearn import Unlearned
    >>> Unlearned(removed=2).complete
    True
    >>> print(Unlearned(removed=1, remaining={"landmark": [0]}))
    1 row removed
    something remains of 1 (position 0): the row is a landmark of the feature map
    """

    removed: int = 0
    remaining: dict[str, list[int]] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether nothing is left of any row."""
        return not self.remaining

    def add(self, reason: str, position: int) -> None:
        """Note that something remains of a row."""
        rows = self.remaining.setdefault(reason, [])
        if position not in rows:
            rows.append(position)

    def __str__(self) -> str:
        lines = [f"{self.removed} row{'' if self.removed == 1 else 's'} removed"]
        for reason, rows in self.remaining.items():
            where = ", ".join(map(str, rows[:10])) + (", ..." if len(rows) > 10 else "")
            lines.append(f"something remains of {len(rows)} (position {where}): {REASONS[reason]}")
        return "\n".join(lines)


def find_kept(kept: Kept, rows: Chunk) -> Array:
    """Position among the kept rows of each given one, by id where it has one, else by its values; -1 where not kept."""
    found = np.full(len(rows), -1)
    free = np.ones(len(kept), dtype=bool)
    by_id = {key: i for i, key in enumerate(kept.ids) if key is not None}
    tolerance = _SAME_FEATURE[str(kept.rows.dtype)]
    for i, key in enumerate(rows.ids):
        if key is not None:
            found[i] = by_id.get(key, -1)
        else:
            same = np.flatnonzero(free & (kept.labels == rows.labels[i]))
            apart = np.abs(kept.rows[same] - rows.rows[i]).max(axis=1) if len(same) else np.empty(0)
            found[i] = same[apart.argmin()] if len(same) and apart.min() <= tolerance else -1
        if found[i] >= 0:
            free[found[i]] = False
    return found


def take_out(machine: Member, rows: Chunk, renewed_at: int, report: Unlearned) -> Array:
    """Subtract rows from a machine, drop their duals, resolve; return the times at which they came (-1: not known).

    Raises ValueError for rows that cannot have been learned.
    """
    machine.flush()
    kept, forgotten = machine.kept, machine.forgotten
    found = find_kept(kept, rows)
    times = np.full(len(rows), -1)
    found_traces = []
    for i, position in enumerate(found):
        k, key = int(rows.labels[i]), rows.ids[i]
        row, weight = rows.rows[i : i + 1], float(rows.weights[i])
        if position >= 0:
            if kept.labels[position] != k:
                raise ValueError(f"The row with id {key!r} was learned with another label than the one given.")
            times[i], row, weight = kept.times[position], kept.rows[position : position + 1], kept.weights[position]
            if kept.reserve[position] and machine.policy.statistics == "kept":
                continue
        else:
            trace = forgotten.trace(key) if key is not None else None
            if trace is None and (key is not None or forgotten.counts[k] == 0):
                name = f"the row with id {key!r}" if key is not None else f"row {i} (class index {k})"
                raise ValueError(f"Nothing was unlearned: {name} was never learned, or has been unlearned already.")
            if trace is not None:
                if trace.label != k:
                    raise ValueError(f"The row with id {key!r} was learned with another label than the one given.")
                times[i] = trace.time
                shift = np.exp(forgotten.log_scales[k] - trace.log_scale)
                weight = trace.weight * shift
                found_traces.append(key)
            elif machine.faded:
                report.add("age", i)
                continue
            if times[i] < renewed_at and renewed_at > 0:
                report.add("remapped", i)
                continue
            total = float(row.sum(dtype=np.float64))
            if trace is not None and abs(total - trace.total) > _SAME_TOTAL[str(row.dtype)]:
                raise ValueError(f"Nothing was unlearned: the row with id {key!r} was learned with other values.")
            if trace is not None and trace.alpha is not None:
                forgotten.dual_sums[:, k] -= np.outer(trace.alpha * shift * machine.class_factors[k], row[0])
                forgotten.n_condensed[k] -= 1
            elif trace is None and forgotten.n_condensed[k]:
                report.add("condensed", i)
            forgotten.counts[k] -= 1
            if machine.policy.statistics == "kept":
                continue
        machine.moments.add(k, row, np.array([weight]), -1.0)
        machine.changed_sums[k], machine.roots.ranks[k] = True, row.shape[1]
    _check(machine, rows)
    machine.kept = kept.take(np.setdiff1d(np.arange(len(kept)), found))
    machine.changed_rows[np.unique(rows.labels)] = True
    without = set(found_traces)
    forgotten.traces = {
        key: trace for key, trace in (forgotten.traces | forgotten.new_traces).items() if key not in without
    }
    forgotten.new_traces = {}
    return times


def _check(machine: Member, rows: Chunk) -> None:
    """Refuse a subtraction that leaves less than nothing: such rows cannot have been learned."""
    moments = machine.moments
    for k in rows.present:
        own = rows.labels == k
        rounding = 1e-9 if machine.dtype == np.float64 else 1e-4
        weight = float(rows.weights[own].sum()) * machine.current_weight
        slack = rounding * max(weight, moments.counts[k])
        if moments.counts[k] < -slack or not moments.definite(int(k), slack):
            raise ValueError(
                "Nothing was unlearned: without these rows the sums of a class would be less than nothing, so not all "
                "of them can have been learned (with this label and weight)."
            )
        if moments.counts[k] <= slack:  # what is left is rounding
            moments.scale(0.0, int(k))
