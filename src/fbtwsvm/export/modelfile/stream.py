"""A stream model in a model file, with all that it needs to go on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...model.fit_sums import FitSums, SupportRows
from ...model.membership import Ranges
from ...model.settings import Settings
from ...online.absorb import Tested
from ...online.calibration import CalibrationRows
from ...online.forgotten import Forgotten, Trace, Traces
from ...online.kept import Kept
from ...online.landmarks import ResidualMonitor
from ...online.member import Member, hold_lag
from ...online.model import StreamModel
from ...online.moments import Grams, Moments
from ...online.newest import MOST_COLUMNS, MOST_STUDIES, NewestRows, Studies
from ...online.pending import Pending
from ...online.policy import Policy
from ...online.roots import Roots
from ...online.trust import Trust
from ...solver.problem import SolverOptions
from .container import ModelFileError
from .parts import COUNT, DECISION, MAPPING, PARAMETER
from .strings import Ids, Keys, Labels, Strings
from .value_types import (
    FLOATS,
    POSITIVE,
    ArrayOf,
    Bool,
    DType,
    Float,
    Int,
    ListOf,
    Maybe,
    Record,
    Rows,
    Spec,
    Text,
    blank,
)

_MOST_LAG = 1000  # most rows between two re-solves


# Sizes: "K" classes, "D" columns with the bias, "E" members of the committee, "n" rows of one array.
def _settings(tol: float, max_iter: int, **fields: Any) -> Settings:
    return Settings(**fields, options=SolverOptions(tol, max_iter, None))


_SETTINGS = Record(
    _settings,
    {
        "box": ArrayOf("f8", None, low=POSITIVE), "reg": ArrayOf("f8", None, low=POSITIVE), "mu": Float(0.0, 1.0),
        "membership": Text("fuzzy", "printed", "none"), "decision": Text("calibrated", "value", "distance"),
        "multiclass": Text("dag", "vote"), "tol": Float(POSITIVE), "max_iter": Int(1),
    },
    renamed={"box": "C"},
    parts=lambda settings: {**vars(settings), "tol": settings.options.tol, "max_iter": settings.options.max_iter},
)  # fmt: skip
_POLICY = Record(
    Policy,
    {
        "memory": Maybe(Int(1)), "second_look": Int(0), "forget_after": Maybe(Int(1)), "forget_below": Float(0.0),
        "decay": Float(POSITIVE, 1.0), "accept": Text("kkt", "inside", "outside", "all"),
        "statistics": Text("all", "kept"), "balanced": Bool(), "linear": Bool(), "starts_again": Bool(),
    },
    added={"linear": (6, False), "starts_again": (6, False)},
)  # fmt: skip
_MOMENTS = Record(
    lambda grams, **sums: blank(Moments)(grams=Grams(grams), **sums),
    {"counts": ArrayOf("f8", "K", low=0), "sums": ArrayOf("f8", "K", "D"), "grams": ArrayOf("f8", "K", "D", "D")},
    parts=lambda moments: {**vars(moments), "grams": _stacked(list(moments.grams))},
)


def _roots(matrices: Any, ranks: Any, ridges: Any, low_ranks: Any) -> Roots:
    roots = Roots(len(matrices), matrices.shape[1], matrices.dtype)
    roots.matrices, roots.ranks, roots.ridges = matrices, ranks, ridges
    if low_ranks is not None:
        roots.low_ranks = low_ranks
    return roots


_ROOTS = Record(
    _roots,
    {
        "matrices": ArrayOf(FLOATS, "K", "D", "D"),
        "ranks": ArrayOf("i8", "K", low=0, below=2**62),
        "ridges": ArrayOf("f8", "K", low=POSITIVE),
        "low_ranks": Maybe(ArrayOf("i8", "K", low=-1, below="D")),
    },
    parts=Roots.__getstate__,
    added={"low_ranks": (5, None)},
)
_KEPT = Record(
    Kept,
    {
        "rows": ArrayOf(FLOATS, "n", "D"), "labels": ArrayOf("i8", "n", low=0, below="K"),
        "weights": ArrayOf("f8", "n", low=0), "times": ArrayOf("i8", "n", low=0, below=2**62), "ids": Ids("n"),
        "raw": Maybe(Rows("n", "F")), "alpha": ArrayOf("f8", "n", "K", low=0),
        "box": ArrayOf("f8", "n", "K", low=0), "misses": ArrayOf("i8", "n", low=0, below=2**62),
        "second": ArrayOf("b1", "n"),
    },
    own=("n",),
    renamed={"misses": "idle_count", "second": "reserve"},
)  # fmt: skip


def _traces(keys: list[Any], pulls: Any, alpha: Any, distance: Any, box: Any, **columns: Any) -> Traces:
    if pulls.sum() != len(alpha):
        raise ModelFileError("sizes of arrays do not agree")
    if distance is not None and np.isnan(distance).any():
        raise ModelFileError("an array holds numbers that are not finite, or too large")
    rows = iter(alpha)
    alphas = [next(rows) if pull else None for pull in pulls]
    distances = [np.inf] * len(keys) if distance is None else distance.tolist()  # format 1 has no distances and boxes
    boxes = [None] * len(keys) if box is None else list(box)
    numbers = [columns[name].tolist() for name in ("label", "time", "weight", "log_scale", "total")]
    parts = zip(*numbers, distances, alphas, boxes, strict=True)
    return Traces([{key: Trace(*part) for key, part in zip(keys, parts, strict=True)}])


def _trace_parts(traces: Traces) -> dict[str, Any]:
    values = list(traces.values())
    alphas = [trace.alpha for trace in values if trace.alpha is not None]
    return {
        "keys": list(traces),
        "label": np.array([trace.label for trace in values], dtype=np.int64),
        "time": np.array([trace.time for trace in values], dtype=np.int64),
        "weight": np.array([trace.weight for trace in values], dtype=np.float64),
        "log_scale": np.array([trace.log_scale for trace in values], dtype=np.float64),
        "total": np.array([trace.total for trace in values], dtype=np.float64),
        "distance": np.array([trace.distance for trace in values], dtype=np.float64),
        "box": None if any(trace.box is None for trace in values) else _stacked([trace.box for trace in values]),
        "pulls": np.array([trace.alpha is not None for trace in values], dtype=bool),
        "alpha": _stacked(alphas),
    }


def _stacked(rows: list[Any]) -> Any:
    return np.stack(rows) if rows else np.empty((0, 0))


_TRACES = Record(
    _traces,
    {
        "keys": Keys("n"), "label": ArrayOf("i8", "n", low=0, below="K"), "time": ArrayOf("i8", "n", low=0),
        "weight": ArrayOf("f8", "n", low=0), "level": ArrayOf("f8", "n"), "total": ArrayOf("f8", "n"),
        "pulls": ArrayOf("b1", "n"), "alpha": ArrayOf("f8", None, None, low=0),
        "distance": Maybe(ArrayOf("f8", "n", low=0, numbers="any")), "box": Maybe(ArrayOf("f8", None, None, low=0)),
    },
    own=("n",),
    parts=_trace_parts,
    renamed={"level": "log_scale"},
    added={"distance": (2, None), "box": (2, None)},
)  # fmt: skip
_FORGOTTEN = Record(
    Forgotten,
    {
        "frozen": ArrayOf("f8", "K", "K", "D"), "mass": ArrayOf("f8", "K", "K"), "nearest": ArrayOf("f8", "K", low=0),
        "farthest": ArrayOf("f8", "K", low=0), "counts": ArrayOf("i8", "K", low=0, below=2**53),
        "condensed": ArrayOf("i8", "K", low=0, below=2**53),
        "levels": ArrayOf("f8", "K"), "traces": _TRACES,
    },
    renamed={"frozen": "dual_sums", "mass": "box_sums", "condensed": "n_condensed", "levels": "log_scales"},
)  # fmt: skip
_MEMBER_FIELDS: dict[str, Spec] = {
    "settings": _SETTINGS, "policy": _POLICY, "dtype": DType(), "planes": ArrayOf(FLOATS, "K", "K", "D"),
    "moments": _MOMENTS, "roots": _ROOTS, "gaps": ArrayOf("f8", "K", "K"), "sweeps": ArrayOf("i8", "K", "K", low=0),
    "bounds": ArrayOf("f8", "K", "K", 2), "solved": ArrayOf("b1", "K", "K"), "kept": _KEPT, "gone": _FORGOTTEN,
    "moved": ArrayOf("b1", "K"), "pushed": ArrayOf("b1", "K"), "factors": ArrayOf("f8", "K", low=POSITIVE),
    "nearest": ArrayOf("f8", "K", low=0), "farthest": ArrayOf("f8", "K", low=0), "low": ArrayOf("f8", "K", "K"),
    "high": ArrayOf("f8", "K", "K"), "rise": Float(POSITIVE, 1e150), "faded": Bool(),
    "faded_at": COUNT, "unit": Float(POSITIVE, 1e150), "pending": Maybe(_KEPT), "waiting": COUNT,
    "seen": ArrayOf("i8", "K", low=0, below=2**53),
    "since": ArrayOf("i8", "K", low=0, below=2**53), "clock": COUNT, "most_lag": Int(1, _MOST_LAG),
    "pushed_near": Maybe(ArrayOf("b1", "K", "K")), "solved_at": Maybe(ArrayOf("i8", "K", low=0, below=2**53)),
    "n_features": Maybe(Int(1)),
}  # fmt: skip


def _member(**fields: Any) -> Member:
    pending, nearest = fields.pop("pending"), fields.pop("nearest")
    if fields["low"] is None or fields["high"] is None:  # version 0.5.0 stored the distance of the nearest row instead
        fields |= _old_ranges(fields["settings"], nearest, fields["farthest"])
    if fields.pop("n_pending") != (0 if pending is None else len(pending)):
        raise ModelFileError("pending rows are missing")
    n_classes, _, n_columns = fields["planes"].shape
    changed_rows, n_features = fields.pop("pushed_near"), fields.pop("n_features")
    if changed_rows is not None:
        fields["changed_rows"] = changed_rows
    else:  # before format 4, all planes were solved together
        fields["changed_rows"] = np.tile(fields["changed_rows"], (n_classes, 1))
        fields["solved_at"] = np.full(n_classes, fields["clock"])
    fields["n_rows"] = int(fields["seen"].sum() + fields["since_solve"].sum())
    fields["kept"] = fields["kept"].by_class()
    if n_features not in (None, n_columns - 1):
        raise ModelFileError("a member has another number of features than its planes")
    fields["pending"] = Pending(n_classes, n_columns, fields["dtype"]) if pending is None else Pending.of(pending)
    member: Member = blank(Member)(
        **fields, first=0, accepting=None, bounded=False, hold_lag=hold_lag(fields["policy"])
    )
    return member


def _old_ranges(settings: Settings, nearest: Any, farthest: Any) -> dict[str, Any]:
    """Return ranges of memberships from the distances of the nearest and the farthest row of each class."""
    if nearest is None:
        raise ModelFileError("ranges of memberships are missing")
    shape = (len(nearest), len(nearest))
    low, high = np.zeros(shape), np.zeros(shape)
    if settings.membership == "printed":
        high[farthest > nearest] = 1.0
    elif settings.membership == "fuzzy":
        largest = max(settings.mu, 1.0 - settings.mu) * (1.0 - np.sqrt(nearest / (farthest + 1e-10)))
        high[:] = np.where(farthest > nearest, largest, 0.0)[:, None]
    return {"low": low, "high": high}


def _member_parts(member: Member) -> dict[str, Any]:
    """Return the parts."""
    n_pending, changed = len(member.pending), member.changed_rows
    return {
        **vars(member), "pending": member.pending.kept() if n_pending else None, "nearest": None,
        "n_pending": n_pending, "changed_rows": changed.any(axis=0), "pushed_near": changed,
        "n_features": member.planes.shape[2] - 1,
    }  # fmt: skip


_MEMBER_NAMES = {
    "gone": "forgotten", "moved": "changed_sums", "pushed": "changed_rows", "factors": "class_factors",
    "rise": "current_weight", "unit": "mean_weight", "waiting": "n_pending", "since": "since_solve",
    "most_lag": "max_lag",
}  # fmt: skip
_MEMBER = Record(
    _member,
    _MEMBER_FIELDS,
    own=("D",),  # a member of a committee may use the first features only
    parts=_member_parts,
    renamed=_MEMBER_NAMES,
    optional=("nearest", "low", "high"),
    added={"pushed_near": (4, None), "solved_at": (4, None), "n_features": (4, None)},
)
_CALIBRATION = Record(
    blank(CalibrationRows),
    {
        "near": ArrayOf("f8", "K", "S", "K"), "far": ArrayOf("f8", "K", "S", "K"),
        "times": ArrayOf("i8", "K", "S", low=-1),
        "next": ArrayOf("i8", "K", low=0, below="S"), "fresh": COUNT,
    },
    own=("S",),
    renamed={"fresh": "new_rows"},
)  # fmt: skip
_PENDING = Record(
    lambda labels, times, near, far: (labels, times, Tested(near, far)),
    {
        "labels": ArrayOf("i8", "n", low=0, below="K"), "times": ArrayOf("i8", "n", low=0),
        "near": ArrayOf("f8", "n", "K"), "far": ArrayOf("f8", "n", "K"),
    },
    own=("n",),
    parts=lambda rows: {"labels": rows[0], "times": rows[1], "near": rows[2].near, "far": rows[2].far},
)  # fmt: skip
_MONITOR = Record(
    lambda residual, **numbers: blank(ResidualMonitor)(residual=np.array([residual]), **numbers),
    {"expected": Float(), "residual": Float(), "since": COUNT, "grows_after": Maybe(COUNT), "limit": Float()},
    parts=lambda monitor: {**vars(monitor), "residual": float(monitor.residual[0])},
)


def _newest(X: Any, labels: Any) -> NewestRows:
    if not isinstance(X, np.ndarray) or X.shape[1] > MOST_COLUMNS:
        raise ModelFileError("the newest rows are sparse, or have too many columns")
    return NewestRows.of(X, labels)


_NEWEST = Record(
    _newest,
    {"X": Rows("n", "F"), "labels": ArrayOf("i8", "n", low=0, below="K")},
    own=("n",),
    parts=lambda rows: dict(zip(("X", "labels"), rows.last(len(rows)), strict=True)),
)
_STUDIES = Record(Studies, {"changed": COUNT, "done": COUNT, "last": COUNT})
_TRUST = ("likelihood", "success", "ways", "slopes", "errors", "idle")


def _trust(likelihood: Any, success: Any, ways: Any, **arrays: Any) -> Trust:
    trust = Trust(len(likelihood))
    trust.weights[1, :-1] = likelihood
    if success is None:  # before format 6, there was one way only
        total = float(likelihood.sum())
        trust.weights[0, :-1] = likelihood / total if total > 0 else 1.0 / len(likelihood)
        trust.weights[:, -1], trust.slopes = (0.0, 1.0), arrays["slopes"]
        return trust
    trust.weights[0, :-1], trust.weights[:, -1] = success, ways
    if not min(success.sum(), ways.sum()) > 0.5:
        raise ModelFileError("weights of a committee do not add up")
    for name, array in arrays.items():
        setattr(trust, name, array)
    return trust


def _trust_parts(trust: Trust) -> dict[str, Any]:
    success, likelihood = trust.weights[:, :-1]
    parts = {"likelihood": likelihood, "success": success, "ways": trust.weights[:, -1]}
    return {**parts, **{name: getattr(trust, name) for name in ("slopes", "errors", "idle")}}


def _upgraded(policy: Policy, n_members: int) -> Policy:
    """Return the policy of a member as it would be today: those of older files did not start again."""
    return replace(policy, starts_again=n_members > 1 and policy.decay == 1.0)


def _stream(**fields: Any) -> StreamModel:
    members, pending = fields["members"], fields.pop("pending_calibration")
    if not members or not len(members) == len(fields["policies"]) == len(fields["likelihood"]):
        raise ModelFileError("a committee has no members, or its parts have different numbers of them")
    if fields["success"] is None:
        fields["policies"] = [_upgraded(policy, len(members)) for policy in fields["policies"]]
        for member in members:
            member.policy = _upgraded(member.policy, len(members))
    fields["trust"] = _trust(**{name: fields.pop(name) for name in _TRUST})
    fields["studies"] = fields["studies"] or Studies(done=MOST_STUDIES)
    fields["policies"] = tuple(fields["policies"])
    fields["lineage"] = frozenset(fields["lineage"])
    fields["drifts"] = fields["drifts"].tolist()
    mapping = fields["mapping"]
    n_features = max([member.planes.shape[2] - 1 for member in members if not member.policy.linear], default=0)
    for member in members:
        member.bounded, member.first = mapping.bounded, n_features if member.policy.linear else 0
        member.roots.most_low_rank = member.empty_roots(0, member.planes.shape[2]).most_low_rank
    waiting = [] if pending is None else [pending]
    if len(members) > 1:
        fields["tested"] = CalibrationRows(0)
    model: StreamModel = blank(StreamModel)(
        **fields,
        gamma=None,
        any_gamma=True,  # as the parameters say, see `classifier`
        n_columns=n_features + mapping.n_plain + 1,
        preparation=None,
        answering=True,
        n_solves=0,
        pending_calibration=waiting,
    )
    return model


def _stream_parts(model: StreamModel) -> dict[str, Any]:
    """Return the parts; pending calibration rows are joined."""
    pending = None
    if model.pending_calibration:
        labels, times, results = zip(*model.pending_calibration, strict=True)
        near, far = (np.concatenate([getattr(result, name) for result in results]) for name in ("near", "far"))
        pending = (np.concatenate(labels), np.concatenate(times), Tested(near, far))
    drifts = np.array(model.drifts, dtype=np.int64)
    tested = CalibrationRows(len(model.classes)) if model.committee else model.tested  # a committee has none
    parts = {"tested": tested, "pending_calibration": pending, "lineage": sorted(model.lineage), "drifts": drifts}
    return {**vars(model), **parts, **_trust_parts(model.trust)}


STREAM = Record(
    _stream,
    {
        "classes": Labels("K"), "mapping": MAPPING, "base": _SETTINGS, "C": PARAMETER, "reg": PARAMETER,
        "policies": ListOf(_POLICY, 16), "n_components": Int(1), "seed": Int(0, 2**32 - 1),
        "members": ListOf(_MEMBER, 16), "trust": ArrayOf("f8", "E", low=0), "slopes": ArrayOf("f8", "E", low=0),
        "tested": _CALIBRATION, "untold": Maybe(_PENDING), "decision": DECISION, "watch": Maybe(_MONITOR),
        "warm_up_shows": Bool(), "warm_rows": COUNT,
        "detector": PARAMETER, "drifts": ArrayOf("i8", None, low=0), "lineage": Strings(), "clock": COUNT,
        "success": Maybe(ArrayOf("f8", "E", low=0)), "ways": Maybe(ArrayOf("f8", 2, low=0)),
        "errors": Maybe(ArrayOf("i8", "E", 4, low=0, below=3 * 10**9)),
        "idle": Maybe(ArrayOf("i8", "E", low=0, below=2**53)), "newest": Maybe(_NEWEST),
        "spread": Maybe(ArrayOf("f8", "F", low=0)), "studies": Maybe(_STUDIES),
    },
    parts=_stream_parts,
    renamed={
        "base": "settings", "untold": "pending_calibration", "watch": "monitor", "warm_up_shows": "warm_up_matters",
        "warm_rows": "n_warm_up", "trust": "likelihood",
    },
    added=dict.fromkeys(("success", "ways", "errors", "idle", "newest", "spread", "studies"), (6, None)),
)  # fmt: skip

# Sums of a fit, from which a stream can go on; "m" support rows, "c" calibration rows.
_SUPPORT = Record(
    SupportRows,
    {
        "rows": ArrayOf(FLOATS, "m", "D"), "raw": Maybe(Rows("m", "F")), "labels": ArrayOf("i8", "m", low=0, below="K"),
        "weights": ArrayOf("f8", "m", low=0), "alpha": ArrayOf("f8", "m", "K", low=0),
        "box": ArrayOf("f8", "m", "K", low=0),
    },
)  # fmt: skip
_RANGES = Record(
    Ranges,
    {
        "farthest": ArrayOf("f8", "K", low=0), "low": ArrayOf("f8", "K", "K"), "high": ArrayOf("f8", "K", "K"),
        "noisy": Float(0.0, 1.0), "usual": Float(0.0, 1.0),
    },
)  # fmt: skip
FIT_SUMS = Record(
    FitSums,
    {
        "n_rows": ArrayOf("i8", "K", low=0, below=2**53), "counts": ArrayOf("f8", "K", low=0),
        "sums": ArrayOf("f8", "K", "D"), "grams": ArrayOf("f8", "K", "D", "D"),
        "factors": ArrayOf("f8", "K", low=POSITIVE), "support": _SUPPORT,
        "dual_sums": ArrayOf("f8", "K", "K", "D"), "box_sums": ArrayOf("f8", "K", "K"),
        "n_condensed": ArrayOf("i8", "K", low=0), "nearest": ArrayOf("f8", "K", low=0),
        "farthest": ArrayOf("f8", "K", low=0),
        "ranges": _RANGES, "near": ArrayOf("f8", "c", "K"), "far": ArrayOf("f8", "c", "K"),
        "labels": ArrayOf("i8", "c", low=0, below="K"),
    },
    own=("m", "c"),
)  # fmt: skip
