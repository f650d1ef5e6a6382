"""The first rows of a stream: they wait until the map can be fixed, and a small model answers meanwhile."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from ..model.decision import Decision
from ..model.mapping import Mapping
from ..model.rows import CheckedRows
from .unlearn import Unlearned

_WARM_UP = 500
_EARLY, _EARLY_COMPONENTS = 50, 100  # rows and features of a provisional model


@dataclass
class Waiting:
    """Rows that wait for the end of the warm-up, and the model that answers meanwhile where it is another one."""

    rows: CheckedRows
    provisional: Any


class WarmUpMixin:
    """What a stream does before its map is fixed."""

    if TYPE_CHECKING:  # parameters and attributes of the classifier that this is mixed into
        gamma_: float | None

        def __getattr__(self, name: str) -> Any: ...

    _waiting: Any = None  # rows of the warm-up

    def _wait(self, waiting: CheckedRows, n_new: int) -> None:
        """Keep rows for later, of which the last `n_new` have just come, and answer provisionally."""
        if self._warm_up_rows() <= _EARLY:
            self._waiting = Waiting(waiting, None)
            self._fit_waiting()
            return
        # A small stream of its own follows changes as the rows come; a copy, lest this call be interrupted.
        known = None if self._waiting is None else self._waiting.provisional
        provisional = self._small_twin() if known is None else deepcopy(known)
        new = waiting.take(slice(len(waiting.y) - n_new, None))
        provisional._learn_stream(new)
        self._waiting = Waiting(waiting, provisional)
        for name in ("classes_", "gamma_", "n_components_", "planes_", "duality_gap_", "n_iter_"):
            setattr(self, name, getattr(provisional, name))
        self._mapping, self._decision = provisional._mapping, provisional._decision

    def _small_twin(self) -> Any:
        """Return a model that is ready sooner: fewer features, a short warm-up."""
        small_model = clone(self)
        small = _EARLY_COMPONENTS if self.n_components == "auto" else min(_EARLY_COMPONENTS, int(self.n_components))
        small_model.set_params(warm_up=_EARLY, n_components=small, drift_detector=None)
        if not isinstance(self.feature_map, str):  # a transformer may need more rows than there are
            small_model.set_params(feature_map="auto", kernel="rbf", gamma="auto")
        small_model.n_features_in_, small_model._dtype = self.n_features_in_, self._dtype
        return small_model

    def _fit_waiting(self) -> None:
        """Answer with a model of all the few rows so far."""
        rows = self._waiting.rows
        if len(np.unique(rows.y)) > 1:
            self._fit_rows(rows.X, rows.y, self._class_weighted(rows), quick=True)
        else:
            self._know_one_class(rows)

    def _know_one_class(self, rows: CheckedRows) -> None:
        """Answer with the only class so far."""
        self.classes_, self.gamma_, self.n_components_ = np.unique(rows.y), None, self.n_features_in_
        self._mapping = Mapping(None, 1.0, self._dtype)
        self._decision = Decision.plain(1, self.multiclass, self.decision)
        self.planes_ = np.zeros((1, 1, self.n_features_in_ + 1), dtype=self._dtype)
        self.duality_gap_, self.n_iter_ = np.zeros((1, 1)), 0

    def _unlearn_waiting(self, given: CheckedRows) -> Unlearned:
        """Take rows out of those that wait."""
        rows = self._waiting.rows
        keys = _row_keys(rows.X)
        free = np.ones(len(rows.y), dtype=bool)
        for i, key in enumerate(_row_keys(given.X)):
            by_id = [j for j in np.flatnonzero(free) if rows.ids[j] is not None and rows.ids[j] == given.ids[i]]
            twins = [j for j in np.flatnonzero(free & (rows.y == given.y[i])) if keys[j] == key]
            found = by_id if given.ids[i] is not None else twins
            if not found:
                raise ValueError(f"Nothing was unlearned: row {i} was never learned, or has been unlearned already.")
            free[found[0]] = False
        if not free.any():
            raise ValueError("Nothing was unlearned: without these rows the model would be empty. Make a new one.")
        self._waiting = None
        self._wait(rows.take(free), int(free.sum()))
        return Unlearned(removed=len(given.y))

    def _warm_up_rows(self) -> int:
        """Return how many rows are collected before the map is fixed."""
        if self.warm_up != "auto":
            return int(self.warm_up)
        return _WARM_UP if self.n_components == "auto" else max(_WARM_UP, int(self.n_components))


def _row_keys(X: Any) -> list[bytes]:
    """Bytes by which equal rows are known."""
    dense = X.toarray() if sp.issparse(X) else X
    return [row.tobytes() for row in np.ascontiguousarray(dense)]
