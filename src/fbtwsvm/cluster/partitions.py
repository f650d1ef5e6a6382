"""The partitions of a Dask collection, and passes over them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from functools import reduce
from operator import add
from threading import Lock
from typing import Any, TypeVar
from uuid import uuid4

import numpy as np

from .._arrays import Array
from .._log import LOG
from .._threads import one_blas_thread
from ..model.mapping import Mapping
from .freed_memory import kept_for_reuse

Result = TypeVar("Result")
Visit = Callable[[int, Any, Any, Any, Any], Result]  # (number of the partition, X, y, weights, state)

SCALE_FRAME = "X.map_partitions(lambda part: (part - mean) / std)"
_AT_ONCE = 8  # results that are added up by one task
_ONE_AT_A_TIME = Lock()


def is_collection(X: Any) -> bool:
    """Whether X is a Dask collection; Dask is not imported to find out."""
    base = sys.modules.get("dask.base")
    return base is not None and bool(base.is_dask_collection(X))


def is_dask_frame(X: Any) -> bool:
    """Whether X is a frame or a series of Dask."""
    return is_collection(X) and type(X).__module__.startswith(("dask.dataframe", "dask_expr"))


def is_dask_array(X: Any) -> bool:
    """Whether X is an array of Dask."""
    module = sys.modules.get("dask.array.core")
    return module is not None and isinstance(X, module.Array)


class Partitions:
    """Rows with their labels and weights, partition by partition; y and weights may be None.

    passes  number of passes over the partitions so far
    """

    def __init__(self, X: Any, y: Any = None, weights: Any = None) -> None:
        self.X = one_block_of_columns(X)
        parts = [_blocks(self.X, "X")]
        for name, given in (("y", y), ("sample_weight", weights)):
            parts.append([None] * len(parts[0]) if given is None else _aligned(given, self.X, name))
        self.parts = list(zip(*parts, strict=True))
        self.passes = 0

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def n_columns(self) -> int:
        """Number of columns of X."""
        return len(self.X.columns) if is_dask_frame(self.X) else int(self.X.shape[1])

    def map(self, function: Visit[Result], state: Any, name: str, chosen: Iterable[int] | None = None) -> list[Result]:
        """Call a function on each of the chosen partitions (None: all); return the results in order."""
        wanted = range(len(self)) if chosen is None else chosen
        tasks, _ = self._tasks(function, state, name, [[p] for p in wanted])
        return [result for results in self._compute(tasks, name) for result in results]

    def reduce(self, function: Visit[Result], state: Any, name: str, groups: Sequence[Sequence[int]]) -> Result:
        """Call a function on each partition and return the sum of its results.

        The partitions of a group are visited by one task, one after the other.
        """
        import dask

        tasks, key = self._tasks(function, state, name, groups)
        level = 0
        while len(tasks) > 1:
            level += 1
            tasks = [
                dask.delayed(_sum_lists, pure=False)(
                    tasks[first : first + _AT_ONCE], dask_key_name=(f"{key[0]}-sum-{key[1]}", level, first)
                )
                for first in range(0, len(tasks), _AT_ONCE)
            ]
        ((total,),) = self._compute([dask.delayed(_sum_lists, pure=False)(tasks)], name)
        result: Result = total
        return result

    def in_order(self) -> Iterator[tuple[int, Any, Any, Any]]:
        """Yield number, rows, labels and weights of each partition; the next one is computed meanwhile."""
        import dask

        self.passes += 1
        context = copy_context()  # of the current scheduler
        with ThreadPoolExecutor(1) as pool:
            ahead: list[Any] = []
            for p, part in enumerate([*self.parts, None]):
                if part is not None:
                    ahead.append((p, pool.submit(context.run, dask.compute, *part)))
                if len(ahead) > 1 or (part is None and ahead):
                    number, future = ahead.pop(0)
                    yield (number, *future.result())

    def _tasks(
        self, function: Visit[Result], state: Any, name: str, groups: Sequence[Sequence[int]]
    ) -> tuple[list[Any], tuple[str, str]]:
        """Return a task for each group, which lists the results of its partitions, and the beginning of their keys."""
        import dask

        key = "fbtwsvm-" + name.replace(" ", "-"), uuid4().hex
        # What all tasks share is one task of its own, so it is sent once and not with each of them.
        shared = dask.delayed((function, state), name=f"{key[0]}-state-{key[1]}", traverse=False, pure=False)
        visit = dask.delayed(_visit, pure=False)
        tasks = [
            visit(shared, list(group), [self.parts[p] for p in group], dask_key_name=(f"{key[0]}-{key[1]}", number))
            for number, group in enumerate(groups)
        ]
        return tasks, key

    def _compute(self, tasks: list[Any], name: str) -> list[Any]:
        """Compute tasks on the current scheduler."""
        import dask

        self.passes += 1
        begin = time.perf_counter()
        # Planes, landmarks and the like are part of the graph, so that a worker that dies takes nothing along.
        large = {"distributed.admin.large-graph-warning-threshold": "1TB"} if "distributed" in sys.modules else {}
        with dask.config.set(large):
            results = list(dask.compute(*tasks))
        LOG.info("pass %d over the rows: %s (%.1f s)", self.passes, name, time.perf_counter() - begin)
        return results


def _visit(shared: tuple[Visit[Result], Any], numbers: list[int], parts: list[tuple[Any, Any, Any]]) -> list[Result]:
    """Call a function on some partitions."""
    function, state = shared
    with one_blas_thread(), kept_for_reuse():  # there is a task for each thread of a worker
        return [function(p, *part, state) for p, part in zip(numbers, parts, strict=True)]


def _sum_lists(results: list[list[Result]]) -> list[Result]:
    """Return the sum of all results, in a list of one."""
    with kept_for_reuse():
        return [reduce(add, [result for some in results for result in some])]


def given_weights(weights: Any, n: int) -> Array:
    """Return the weights of the rows of a partition; None are all one."""
    return np.ones(n) if weights is None else np.asarray(weights, dtype=np.float64).reshape(-1)


def one_at_a_time(mapping: Mapping) -> AbstractContextManager[Any]:
    """Return a context for a map that may not be used by several threads at once: transformers and kernels of users."""
    return nullcontext() if mapping.transformer is None or mapping.threaded else _ONE_AT_A_TIME


def one_block_of_columns(X: Any) -> Any:
    """Return X with all columns of a row in one block; refuse what is no table of rows."""
    if is_dask_frame(X):
        if X.ndim != 2:
            raise ValueError(f"X is a series, {type(X).__name__}: give a frame, X.to_frame().")
        return X
    if not is_dask_array(X):
        raise TypeError(f"X is a {type(X).__module__}.{type(X).__name__}: give a Dask array or a Dask frame.")
    if X.ndim != 2:
        raise ValueError(f"X is an array of {X.ndim} dimensions: rows and columns are needed, X.reshape(-1, 1).")
    if not np.isfinite(X.shape[1]):
        raise ValueError("The number of columns of X is not known: call X.compute_chunk_sizes() first.")
    return X.rechunk({1: -1}) if len(X.chunks[1]) > 1 else X


def _blocks(X: Any, name: str) -> list[Any]:
    """Return the partitions of a collection.

    Optimised, a frame of which few columns are read from files would have fewer partitions than one with all columns.
    """
    try:
        found = X.to_delayed() if is_dask_array(X) else X.simplify().to_delayed(optimize_graph=False)
    except TypeError as error:
        raise ValueError(
            f"Dask cannot make the partitions of {name} ({error}). If a series was subtracted from a frame, scale with "
            f"{SCALE_FRAME} instead."
        ) from error
    blocks: list[Any] = np.ravel(found).tolist()
    if not blocks:
        raise ValueError(f"{name} has no partitions.")
    return blocks


def _aligned(given: Any, X: Any, name: str) -> list[Any]:
    """Return the partitions of labels or weights, which must be those of X."""
    given = _column(given, X, name)
    if is_dask_array(given) and is_dask_array(X) and given.chunks[0] != X.chunks[0]:
        known = not (np.isnan(given.chunks[0]).any() or np.isnan(X.chunks[0]).any())
        if known and given.shape[0] != X.shape[0]:
            raise ValueError(f"X has {X.shape[0]} rows and {name} has {given.shape[0]}: give one for each row.")
        if known:
            given = given.rechunk((X.chunks[0],))
    blocks, count = _blocks(given, name), X.numblocks[0] if is_dask_array(X) else X.npartitions
    if len(blocks) != count:
        raise ValueError(
            f"X has {count} partitions and {name} has {len(blocks)}: they must be partitioned alike. Take both from "
            "one frame, or from arrays with the same chunks."
        )
    known = is_dask_frame(given) and is_dask_frame(X) and given.known_divisions and X.known_divisions
    if known and given.divisions != X.divisions:
        raise ValueError(f"X and {name} have different divisions: take both from one frame, or repartition one.")
    return blocks


def _column(given: Any, X: Any, name: str) -> Any:
    """Return labels or weights as a collection with one column."""
    if not is_collection(given):
        if not is_dask_array(X) or np.isnan(X.chunks[0]).any():
            raise ValueError(
                f"{name} is no Dask collection, and the lengths of the partitions of X are not known: give {name} as a "
                "collection with the same partitions."
            )
        import dask.array

        values = np.asarray(given)
        values = values.reshape(-1) if values.ndim == 2 and values.shape[1] == 1 else values
        if values.shape != X.shape[:1]:
            raise ValueError(f"X has {X.shape[0]} rows and {name} has the shape {values.shape}: give one for each row.")
        return dask.array.from_array(values, chunks=(X.chunks[0],))
    if is_dask_frame(given) and given.ndim == 2:
        if len(given.columns) != 1:
            raise ValueError(f"{name} has {len(given.columns)} columns: give one.")
        return given[given.columns[0]]
    if is_dask_array(given) and given.ndim == 2 and given.shape[1] == 1:
        return given[:, 0]
    if not (is_dask_frame(given) or is_dask_array(given)) or given.ndim != 1:
        raise ValueError(f"{name} must be a Dask array or series with one column, got {type(given).__name__}.")
    return given
