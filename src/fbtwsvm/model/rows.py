"""Training rows: checked rows, rows in the order of the solver (by class, duplicates merged), and class weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Real
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from .._arrays import Array, class_starts, tiles
from .._namespace import is_foreign

LARGE = 20_000  # of data with more rows, a sample is drawn on which kernel and map are chosen
SMALL = 2000  # data with at most so many distinct rows is small: exact kernel, nothing chosen at random
_TILE = 65536  # rows that are looked at together
_MERGE_FACTOR = 5  # duplicates are merged in at most this many times SMALL rows


def _row_keys(X: Any) -> list[Any]:
    """Return keys that are equal for equal rows, whatever the sign of their zeros."""
    if not sp.issparse(X):
        return [row.tobytes() for row in np.ascontiguousarray(X + 0.0)]
    rows = X.copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    places = zip(rows.indptr[:-1], rows.indptr[1:], strict=True)
    return [(rows.indices[a:b].tobytes(), rows.data[a:b].tobytes()) for a, b in places]


def stacked(parts: Sequence[Any]) -> Any:
    """Return rows of several arrays, or of several sparse matrices, as one."""
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def row_bytes(X: Any) -> int:
    """Return the size of rows, dense or sparse."""
    if is_foreign(X):
        return int(X.shape[0] * X.shape[1]) * (8 if str(X.dtype).endswith("64") else 4)
    return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes if sp.issparse(X) else X.nbytes)


def calibration_rows(starts: Array, landmarks: Array, seed: int, limit: int = 512) -> Array:
    """Return the numbers, sorted, of the calibration rows, whose left-out values the decision rule is learned from.

    There are at most `limit` of a class.  A landmark (their numbers are sorted) has a feature of its own, which no new
    row has, so landmarks are not chosen if `limit` rows, or half of the class, remain without them.  The only row of a
    class is never chosen: without it the class has no plane.  Nothing is held for every row.
    """
    random = np.random.default_rng(seed)
    chosen = [np.empty(0, dtype=np.int64)]
    for first, last in pairwise(starts.tolist()):
        size = last - first
        if size < 2:
            continue
        others = landmarks[slice(*np.searchsorted(landmarks, [first, last]))] - first
        if size - len(others) < min(limit, size / 2):
            others = others[:0]
        count = size - len(others)
        some = np.sort(random.choice(count, limit, replace=False)) if count > limit else np.arange(count)
        # The k-th candidate is found from the few rows that are none.
        some += np.searchsorted(others - np.arange(len(others)), some, side="right")
        chosen.append(some + first)
    return np.concatenate(chosen)


class Extent(Protocol):
    """How many rows a fit has, and of what kind, wherever they are."""

    @property
    def n(self) -> int:
        """Number of rows."""

    @property
    def n_classes(self) -> int:
        """Number of classes."""

    @property
    def n_columns(self) -> int:
        """Number of columns before the map."""

    @property
    def sparse(self) -> bool:
        """Whether the rows are sparse."""

    @property
    def small(self) -> bool:
        """Whether the data is small."""


@dataclass(frozen=True)
class TrainingRows:
    """The given rows, and their order in the solver.

    Sorted row k is X[index[k]] with weights[k]; classes are blocks from `starts`.  Given row i is sorted row source[i],
    or none (-1) if its weight is zero.
    """

    X: Any
    index: Array
    weights: Array
    starts: Array
    source: Array
    given_weights: Array
    small: bool

    @property
    def n(self) -> int:
        """Number of sorted rows."""
        return len(self.index)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.starts) - 1

    @property
    def labels(self) -> Array:
        """Class index of every sorted row."""
        return np.repeat(np.arange(self.n_classes), np.diff(self.starts))

    @property
    def class_weights(self) -> Array:
        """Sum of the weights of each class."""
        return np.array([self.weights[first:last].sum() for first, last in pairwise(self.starts)])

    @property
    def n_columns(self) -> int:
        """Number of columns before the map."""
        return int(self.X.shape[1])

    @property
    def sparse(self) -> bool:
        """Whether the rows are sparse."""
        return bool(sp.issparse(self.X))

    def labels_of(self, numbers: Array) -> Array:
        """Class index of some sorted rows."""
        return np.searchsorted(self.starts, numbers, side="right") - 1

    def given_counts(self) -> Array:
        """Return how many given rows each class has, duplicates included."""
        if not len(self.source):
            return np.diff(self.starts)
        return np.bincount(self.labels_of(self.source[self.source >= 0]), minlength=self.n_classes)

    def numbers(self) -> Array:
        """Return a number for each sorted row, the same for equal rows, also of several classes."""
        found: dict[Any, int] = {}
        return np.array([found.setdefault(key, len(found)) for key in _row_keys(self.X[self.index])], dtype=np.int64)

    def most_values(self) -> int:
        """Return the largest number of distinct values in a column."""
        X = self.X[self.index]
        if not sp.issparse(X):
            ordered = np.sort(X, axis=0)
            return int((ordered[1:] != ordered[:-1]).sum(axis=0).max(initial=0)) + 1
        X = X.tocsc()
        X.eliminate_zeros()
        pairs = np.column_stack([np.repeat(np.arange(X.shape[1]), np.diff(X.indptr)), X.data])
        counts = np.bincount(np.unique(pairs, axis=0)[:, 0].astype(np.int64), minlength=X.shape[1])
        return int((counts + (np.diff(X.indptr) < X.shape[0])).max())

    def subset(self, chosen: Array, *, drop_empty: bool = False) -> TrainingRows:
        """Return some of the sorted rows, in their order, as training rows of their own."""
        index = self.index[chosen]
        starts = np.searchsorted(chosen, self.starts)
        if drop_empty:
            starts = starts[np.concatenate([[True], np.diff(starts) > 0])]
        every = np.arange(len(index))
        return TrainingRows(
            X=self.X[index],
            index=every,
            weights=self.weights[chosen],
            starts=starts,
            source=every,
            given_weights=self.weights[chosen],
            small=self.small,
        )

    def spread(self, values: Array) -> Array:
        """Return values of sorted rows in the order of the given rows; zero for rows of weight zero."""
        present = self.source >= 0
        out = np.zeros((len(self.source), *values.shape[1:]))
        out[present] = values[self.source[present]]
        return out

    def given(self, marked: Array) -> tuple[Array, Array]:
        """Return the numbers of the given rows behind marked sorted rows, and how many of them each class has."""
        if len(self.source):
            given = np.flatnonzero((self.source >= 0) & marked[self.source])
            return given, np.bincount(self.labels_of(self.source[given]), minlength=self.n_classes)
        # Very many rows: none are merged, and `source` is empty to save memory.
        is_given = np.zeros(self.X.shape[0], dtype=bool)
        for part in tiles(0, self.n, _TILE):
            is_given[self.index[part][marked[part]]] = True
        numbers, done = np.empty(int(marked.sum()), dtype=np.int64), 0
        for part in tiles(0, len(is_given), _TILE):
            found = np.flatnonzero(is_given[part]) + part.start
            numbers[done : done + len(found)] = found
            done += len(found)
        return numbers, np.array([marked[first:last].sum() for first, last in pairwise(self.starts)])


def arrange(X: Any, labels: Array, weights: Array, n_classes: int, *, merge: bool = True) -> TrainingRows:
    """Sort rows by class; in small data, also merge equal rows into one with the sum of their weights.

    After merging, a row of weight two and a row given twice are exactly the same problem, in any order of the rows.
    Without `merge` the rows of a class stay in their order, as a stream needs it.
    """
    present = np.flatnonzero(weights > 0)
    source = np.full(len(weights), -1, dtype=np.int64)
    if merge and len(present) <= _MERGE_FACTOR * SMALL and not _surely_many(X, present):
        first, number = distinct_rows(X[present], labels[present])
        if len(first) <= SMALL:
            source[present] = number
            chosen = present[first]
            merged = np.bincount(number, weights=weights[present])
            starts = class_starts(labels[chosen], n_classes)
            return TrainingRows(X, chosen, merged, starts, source, weights, small=True)
    order = present[np.argsort(labels[present], kind="stable")]
    source[order] = np.arange(len(order))
    starts = class_starts(labels[order], n_classes)
    return TrainingRows(X, order, weights[order], starts, source, weights, small=False)


def _surely_many(X: Any, present: Array) -> bool:
    """Whether the sums of the rows already show that more than SMALL are distinct; sorting the rows is slow."""
    return len(present) > SMALL and len(np.unique(np.asarray(X.sum(axis=1)).reshape(-1)[present])) > SMALL


def distinct_rows(X: Any, labels: Array) -> tuple[Array, Array]:
    """Return where each distinct (label, row) first occurs, sorted by label, and for each row its number among them."""
    if not sp.issparse(X):
        keyed = np.column_stack([labels.astype(X.dtype), X])
        _, first, number = np.unique(keyed, axis=0, return_index=True, return_inverse=True)
        return first, number.reshape(-1)
    rows = X.copy()
    rows.sum_duplicates()
    rows.eliminate_zeros()
    keys = [
        (int(label), rows.indices[start:stop].tobytes(), rows.data[start:stop].tobytes())
        for label, start, stop in zip(labels, rows.indptr[:-1], rows.indptr[1:], strict=True)
    ]
    places: dict[tuple[int, bytes, bytes], int] = {}
    for i, key in enumerate(keys):
        places.setdefault(key, i)
    numbers = {key: number for number, key in enumerate(sorted(places))}
    first = np.array([places[key] for key in numbers], dtype=np.int64)
    return first, np.array([numbers[key] for key in keys], dtype=np.int64)


class TooFewClasses(ValueError):  # noqa: N818 (what users see is a ValueError)
    """There are not two classes among the rows with a weight."""


NO_ROWS = "Every sample_weight is zero: there is no row to learn from."


def present_classes(y: Array, weights: Array | None = None) -> tuple[Array, Array]:
    """Return the sorted classes of the rows of positive weight, and the class index of each row (0 for other rows)."""
    present = np.ones(len(y), dtype=bool) if weights is None else weights > 0
    if not present.any():
        raise TooFewClasses(NO_ROWS)
    classes, indices = np.unique(y[present], return_inverse=True)
    if len(classes) < 2:
        raise TooFewClasses(
            f"The data holds one class only ({classes[0]}): fit needs two classes or more"
            + (" among the rows with a positive weight." if not present.all() else ".")
        )
    labels = np.zeros(len(y), dtype=np.int64)
    labels[present] = indices
    return classes, labels


def class_factors(class_weight: dict[Any, float] | str | None, classes: Array, labels: Array, weights: Array) -> Array:
    """Return the factor of class_weight for each class; "balanced" counts rows by their weights."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, dict):
        return weights_by_name(class_weight, classes)
    counts = np.bincount(labels, weights=weights, minlength=len(classes))
    factors: Array = counts.sum() / (len(counts) * counts)
    return factors


def check_class_names(class_weight: Any, classes: Array) -> None:
    """Raise ValueError if a class_weight names a class that cannot occur and omits one that can.

    This is scikit-learn's rule.  On a stream any class can occur, unless the user has said which ones.
    """
    if not isinstance(class_weight, dict):
        return
    names = classes.tolist()
    missing = [label for label in names if label not in class_weight]
    unknown = [label for label in class_weight if label not in names]
    if missing and unknown:
        raise ValueError(
            f"class_weight names {unknown[0]!r}, which is none of the classes {names[:10]}, and has no weight for "
            f"{missing[0]!r}: name every class, or only classes that exist."
        )


def weights_by_name(class_weight: dict[Any, float], classes: Array) -> Array:
    """Return the factor of each class, 1 for classes that are not named."""
    names = classes.tolist()
    factors = np.array([float(class_weight.get(label, 1.0)) for label in names])
    if not ((factors > 0) & np.isfinite(factors)).all():
        raise ValueError("class_weight must be positive and finite: to leave out a class, leave out its rows.")
    return factors


def per_class(name: str, value: Any, n_classes: int) -> Array:
    """Return C or reg as one value for each near class."""
    if isinstance(value, Real):
        return np.full(n_classes, float(value))
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}={value!r}: give a positive number, or for two classes a pair of them.") from error
    if values.shape != (2,):
        raise ValueError(f"{name}={value!r}: give one number, or for two classes a pair of them.")
    if n_classes != 2:
        raise ValueError(
            f"{name}={value!r}: a pair is for two classes (the first value for the plane near classes_[0]); this "
            f"y has {n_classes} classes. Give one number."
        )
    if not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(f"{name}={value!r}: both values must be positive and finite.")
    return values


NO_IDS = (
    "Nothing was unlearned: this model knows no row by an id. It has learned none with an id, or has unlearned them "
    "all. Give rows and labels: unlearn(X, y)."
)


def never_learned(key: Any, position: int = 0) -> str:
    """Return the message of a row that is not known; the position counts if it has no id."""
    row = f"row {position}" if key is None else f"the row with id {key!r}"
    return f"Nothing was unlearned: {row} was never learned, or has been unlearned already, as far as it could be."


@dataclass(frozen=True)
class CheckedRows:
    """Checked rows of one call, with labels, weights and ids (None for a row without an id)."""

    X: Any
    y: Array
    weights: Array
    ids: Array

    def __len__(self) -> int:
        return len(self.y)

    @classmethod
    def unnamed(cls, X: Any, y: Array, weights: Array | None = None) -> CheckedRows:
        """Return rows without ids; weights of None are all one."""
        no_ids = np.empty(len(y), dtype=object)  # filled with None
        return cls(X, y, np.ones(len(y)) if weights is None else weights, no_ids)

    def take(self, index: Any) -> CheckedRows:
        """Return some of the rows."""
        return CheckedRows(self.X[index], self.y[index], self.weights[index], self.ids[index])

    def with_ids(self, ids: Array) -> CheckedRows:
        """Return the rows with these ids."""
        places = {key: i for i, key in enumerate(self.ids) if key is not None}
        if not places:
            raise ValueError(NO_IDS)
        for key in ids:
            if key not in places:
                raise ValueError(never_learned(key))
        return self.take([places[key] for key in ids])

    def without(self, rows: CheckedRows) -> Array:
        """Mark the rows that stay when `rows` are taken out; these are matched by id, or else by value and label."""
        keys, wanted = _row_keys(self.X), _row_keys(rows.X)
        places: dict[Any, list[int]] = {}
        for j in reversed(range(len(self))):
            places.setdefault((keys[j], self.y[j]), []).append(j)
        by_id = {key: j for j, key in enumerate(self.ids) if key is not None}
        stays = np.ones(len(self), dtype=bool)
        for i, key in enumerate(rows.ids):
            if key is not None:
                found = by_id.pop(key, None)
                if found is not None and (self.y[found] != rows.y[i] or keys[found] != wanted[i]):
                    raise ValueError(f"The row with id {key!r} was learned with another label or other values.")
            else:
                same = places.get((wanted[i], rows.y[i]), [])
                found = same.pop() if same else None
            if found is None or not stays[found]:
                raise ValueError(never_learned(key, i))
            stays[found] = False
        if not stays.any():
            raise ValueError("Nothing was unlearned: without these rows the model would be empty. Make a new one.")
        return stays

    def join(self, other: CheckedRows) -> CheckedRows:
        """Append other rows."""
        X = stacked([self.X, other.X])
        parts = ((self.y, other.y), (self.weights, other.weights), (self.ids, other.ids))
        return CheckedRows(X, *(np.concatenate(pair) for pair in parts))
