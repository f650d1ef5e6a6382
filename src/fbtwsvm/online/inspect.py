"""The memory report of a stream model: kept rows, forgotten rows, bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arrays import Array, array_bytes
from .model import StreamModel


@dataclass
class MemoryReport:
    """The memory of a stream model, to print or to read part by part.

    Attributes
    ----------
    rows : dict of str to ndarray
        One entry for each kept row: `id`, `label`, `time` (position in the stream), `second_look` (whether it is in the
        reserve), `membership` and `alpha` (n, n_classes).  With decay="auto", of the member that is trusted most.
    forgotten : dict
        Label -> number of rows that were learned and are no longer kept.
    condensed : dict
        Label -> number of forgotten rows that are part of the dual sums, so that they still count in the planes.
    bytes : dict of str to int
        Part of the model -> bytes of its arrays.
    seen : int
        Number of rows learned.
    trust : ndarray
        Trust in each member of the committee (one member, or four for decay="auto").
    """

    rows: dict[str, Array]
    forgotten: dict[Any, int]
    condensed: dict[Any, int]
    bytes: dict[str, int]
    seen: int
    trust: Array

    @property
    def total_bytes(self) -> int:
        """Bytes of all parts."""
        return sum(self.bytes.values())

    def to_frame(self) -> Any:
        """Return the kept rows as a pandas data frame: id, label, time, second_look, largest alpha, mean membership."""
        import pandas as pd  # not needed otherwise

        plain = {name: self.rows[name] for name in ("id", "label", "time", "second_look")}
        return pd.DataFrame(
            {**plain, "alpha": self.rows["alpha"].max(axis=1), "membership": self.rows["membership"].mean(axis=1)}
        )

    def __str__(self) -> str:
        reserve = self.rows["second_look"]
        lines = [
            f"{self.seen} rows learned: {len(reserve)} kept, {sum(self.forgotten.values())} forgotten",
            f"{int((~reserve).sum())} support rows, {int(reserve.sum())} in reserve, "
            f"{sum(self.condensed.values())} of the forgotten rows condensed into dual sums",
        ]
        if len(self.trust) > 1:
            lines.append("trust in the members: " + ", ".join(f"{trust:.2f}" for trust in self.trust))
        lines += [f"{size / 2**20:10.2f} MiB  {name}" for name, size in self.bytes.items() if size]
        lines.append(f"{self.total_bytes / 2**20:10.2f} MiB  in all")
        return "\n".join(lines)


def report(model: StreamModel) -> MemoryReport:
    """Return the memory report of a stream model."""
    leader = model.leader.copy()
    leader.flush()
    kept, forgotten = leader.kept, leader.forgotten
    largest_box = leader.settings.C * (kept.weights * leader.class_factors[kept.labels])[:, None]
    rows = {
        "id": kept.ids,
        "label": model.classes[kept.labels],
        "time": kept.times,
        "second_look": kept.reserve,
        "membership": kept.box / largest_box,
        "alpha": kept.alpha / leader.current_weight,
    }
    labels = model.classes.tolist()
    return MemoryReport(
        rows,
        dict(zip(labels, forgotten.counts.tolist(), strict=True)),
        dict(zip(labels, forgotten.n_condensed.tolist(), strict=True)),
        state_bytes(model),
        model.clock,
        model.trust.copy(),
    )


def state_bytes(model: StreamModel) -> dict[str, int]:
    """Return the bytes of all arrays of a model, part by part."""
    members = model.members
    parts = {
        "Gram matrices": [member.moments for member in members],
        "roots of the inverse Gram matrices": [member.roots for member in members],
        "planes": [member.planes for member in members],
        "kept rows": [(member.kept, member.pending) for member in members],
        "dual sums and ids of forgotten rows": [member.forgotten for member in members],
        "feature map": model.mapping,
        "calibration rows": (model.tested, model.pending_calibration),
        "everything else": model,
    }
    counted: set[int] = set()  # an array that several parts share is counted once
    return {name: array_bytes(part, counted) for name, part in parts.items()}
