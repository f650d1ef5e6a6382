"""What a model holds: which rows support it, what it has forgotten, and how many bytes all of it takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arrays import Array, array_bytes
from .model import StreamModel


@dataclass
class MemoryReport:
    """What a stream model holds; print it, or look at its parts.

    Attributes
    ----------
    rows : dict of str to ndarray
        One entry per kept row: `id`, `label`, `time` (position in the stream), `second_look`, `membership` and `alpha`
        (n, n_classes), of the most trusted machine.
    forgotten : dict
        Label -> rows that were learned and are no longer kept.
    condensed : dict
        Label -> how many of those left a pull in the planes.
    bytes : dict of str to int
        What holds how much.
    seen : int
        Rows learned so far.
    trust : ndarray
        Trust in each machine (one, or four for decay="auto").
    """

    rows: dict[str, Array]
    forgotten: dict[Any, int]
    condensed: dict[Any, int]
    bytes: dict[str, int]
    seen: int
    trust: Array

    @property
    def total_bytes(self) -> int:
        """All bytes together."""
        return sum(self.bytes.values())

    def to_frame(self) -> Any:
        """Return the kept rows as a pandas data frame: id, label, time, second_look, largest alpha, mean membership."""
        import pandas as pd  # not needed otherwise

        plain = {name: self.rows[name] for name in ("id", "label", "time", "second_look")}
        return pd.DataFrame(
            {**plain, "alpha": self.rows["alpha"].max(axis=1), "membership": self.rows["membership"].mean(axis=1)}
        )

    def __str__(self) -> str:
        waiting = self.rows["second_look"]
        lines = [
            f"{self.seen} rows learned, {sum(self.forgotten.values())} not kept",
            f"{int((~waiting).sum())} support rows, {int(waiting.sum())} for a second look, "
            f"{sum(self.condensed.values())} condensed into the planes",
        ]
        if len(self.trust) > 1:
            lines.append("trust in the speeds: " + ", ".join(f"{share:.2f}" for share in self.trust))
        lines += [f"{size / 2**20:10.2f} MiB  {name}" for name, size in self.bytes.items() if size]
        lines.append(f"{self.total_bytes / 2**20:10.2f} MiB  in all")
        return "\n".join(lines)


def report(learner: StreamModel) -> MemoryReport:
    """Look inside a learner."""
    leader = learner.leader.copy()
    leader.flush()
    kept, forgotten = leader.kept, leader.forgotten
    price = leader.settings.C * (kept.weights * leader.class_factors[kept.labels])[:, None]
    rows = {
        "id": kept.ids,
        "label": learner.classes[kept.labels],
        "time": kept.times,
        "second_look": kept.reserve,
        "membership": kept.box / price,
        "alpha": kept.alpha / leader.current_weight,
    }
    labels = learner.classes.tolist()
    return MemoryReport(
        rows,
        dict(zip(labels, forgotten.counts.tolist(), strict=True)),
        dict(zip(labels, forgotten.n_condensed.tolist(), strict=True)),
        state_bytes(learner),
        learner.clock,
        learner.trust.copy(),
    )


def state_bytes(learner: StreamModel) -> dict[str, int]:
    """Bytes of every array of a learner, by what they are for."""
    members = learner.members
    parts = {
        "Gram matrices": [member.moments for member in members],
        "roots of their inverses": [member.roots for member in members],
        "planes": [member.planes for member in members],
        "kept rows": [(member.kept, member.pending) for member in members],
        "frozen pulls and what is remembered of rows that are forgotten": [member.forgotten for member in members],
        "feature map": learner.mapping,
        "rows just tested": (learner.tested, learner.pending_calibration),
        "the rest": learner,
    }
    seen: set[int] = set()  # an array that is part of several is counted once
    return {name: array_bytes(part, seen) for name, part in parts.items()}
