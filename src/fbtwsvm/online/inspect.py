"""The memory report of a model: kept rows, forgotten rows, bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._arrays import Array, array_bytes
from ..batch.model import BatchModel
from ..model.fit_sums import FitSums
from ..model.rows import CheckedRows
from .model import StreamModel
from .warm_up import WarmUpModel


@dataclass
class MemoryReport:
    """The memory of a model, to print or to read part by part.

    Attributes
    ----------
    rows : dict of str to ndarray
        One entry for each kept row: `id`, `label`, `time` (position in the stream), `second_look` (whether it is in the
        reserve), `membership` and `alpha` (n, n_classes).  With decay="auto", of the member that is trusted most.
        In the warm-up and after `fit` these are the rows that the model goes on from; what it does not store of them is
        NaN.
    forgotten : dict
        Label -> number of rows that were learned and are no longer kept.
    condensed : dict
        Label -> number of forgotten rows that are part of the dual sums, so that they still count in the planes.
    bytes : dict of str to int
        Part of the model -> bytes of its arrays.
    seen : int
        Number of rows learned.
    trust : ndarray
        Share of each member in the answer (one member, or up to seven for decay="auto"); they sum to 1.
    members : tuple of str
        Names of these members: how long they remember, and whether they are linear.
    """

    rows: dict[str, Array]
    forgotten: dict[Any, int]
    condensed: dict[Any, int]
    bytes: dict[str, int]
    seen: int
    trust: Array
    members: tuple[str, ...] = ()

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
            shares = [f"{name} {trust:.2f}" for name, trust in zip(self.members, self.trust, strict=True)]
            lines.append(f"trust, the share of each member in the answer: {'; '.join(shares)}")
        lines += [f"{size / 2**20:10.2f} MiB  {name}" for name, size in self.bytes.items() if size]
        lines.append(f"{self.total_bytes / 2**20:10.2f} MiB  in all")
        return "\n".join(lines)


def report(model: BatchModel | WarmUpModel | StreamModel) -> MemoryReport:
    """Return the memory report of a model."""
    if isinstance(model, WarmUpModel):
        return _report_of_rows(model.rows, model.classes, {"waiting rows": model.rows, "everything else": model})
    if isinstance(model, StreamModel):
        return _report_of_stream(model)
    parts = {"planes": model.planes, "feature map": model.mapping, "training rows": (model.rows, model.memberships)}
    parts |= {"sums and support rows": model.sums, "everything else": model}
    if model.rows is not None:
        return _report_of_rows(model.rows, model.classes, parts, model.memberships)
    if model.sums is None:  # a model file of version 0.5.0
        return _report_of_rows(None, model.classes, parts)
    return _report_of_sums(model.sums, model.classes, parts)


def _report_of_rows(
    rows: CheckedRows | None, classes: Array, parts: dict[str, Any], memberships: Array | None = None
) -> MemoryReport:
    """Return the memory report of a model that has stored all of its rows."""
    ids, labels = (np.empty(0, dtype=object), classes[:0]) if rows is None else (rows.ids, rows.y)
    unknown = np.full((len(labels), len(classes)), np.nan)
    membership = unknown if memberships is None or len(memberships) != len(labels) else memberships
    none = dict.fromkeys(classes.tolist(), 0)
    return MemoryReport(_rows(ids, labels, membership, unknown), none, none, _bytes(parts), len(labels), np.ones(1))


def _report_of_sums(sums: FitSums, classes: Array, parts: dict[str, Any]) -> MemoryReport:
    """Return the memory report of a fit that has stored its sums and support rows."""
    support, names = sums.support, classes.tolist()
    ids, unknown = np.full(len(support.labels), None, dtype=object), np.full(support.alpha.shape, np.nan)
    forgotten = sums.n_rows - np.bincount(support.labels, minlength=len(names))
    return MemoryReport(
        _rows(ids, classes[support.labels], unknown, support.alpha),
        dict(zip(names, forgotten.tolist(), strict=True)),
        dict(zip(names, sums.n_condensed.tolist(), strict=True)),
        _bytes(parts),
        int(sums.n_rows.sum()),
        np.ones(1),
    )


def _rows(ids: Array, labels: Array, membership: Array, alpha: Array) -> dict[str, Array]:
    """Return the entries of stored rows of which none is in a reserve."""
    n = len(labels)
    plain = {"id": ids, "label": labels, "time": np.arange(n), "second_look": np.zeros(n, dtype=bool)}
    return {**plain, "membership": membership, "alpha": alpha}


def _report_of_stream(model: StreamModel) -> MemoryReport:
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
        model.trust.shares,
        tuple(map(str, model.policies)),
    )


def state_bytes(model: StreamModel) -> dict[str, int]:
    """Return the bytes of all arrays of a model, part by part."""
    members = model.members
    return _bytes(
        {
            "Gram matrices": [member.moments for member in members],
            "roots of the inverse Gram matrices": [member.roots for member in members],
            "planes": [member.planes for member in members],
            "kept rows": [(member.kept, member.pending) for member in members],
            "dual sums and ids of forgotten rows": [member.forgotten for member in members],
            "feature map": model.mapping,
            "newest rows": model.newest,
            "calibration rows": (model.tested, model.pending_calibration),
            "everything else": model,
        }
    )


def _bytes(parts: dict[str, Any]) -> dict[str, int]:
    """Return the bytes of all arrays of each part; an array that several parts share is counted once."""
    counted: set[int] = set()
    return {name: array_bytes(part, counted) for name, part in parts.items()}
