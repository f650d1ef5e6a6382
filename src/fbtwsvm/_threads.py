"""Run parts of the work in threads, with one BLAS thread in each: never more threads than asked for."""

from __future__ import annotations

from _thread import start_new_thread
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import cache
from queue import Empty, SimpleQueue
from threading import Lock, local
from typing import Any, TypeVar
from weakref import WeakSet

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

In = TypeVar("In")
Out = TypeVar("Out")

_SMALL_MATRIX = 800  # columns up to which a stream is faster with one BLAS thread


@cache
def _controller() -> ThreadpoolController:
    """Return the controller of BLAS threads; making a new one takes longer than a small solve."""
    return ThreadpoolController()


def _blas() -> list[Any]:
    return [library for library in _controller().lib_controllers if library.user_api == "blas"]


class _User:
    """Somebody who wants one BLAS thread."""


class _OneBlasThread:
    """The limit of one BLAS thread, as long as anybody wants it."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._wanted_by: WeakSet[_User] = WeakSet()  # one that is interrupted before its end is gone with its call
        self._before: list[tuple[Any, int]] = []  # BLAS libraries and their numbers of threads

    def begin(self, user: _User) -> None:
        """Set the limit, unless it is set."""
        with self._lock:
            if not self._before:
                self._before = [(blas, blas.num_threads) for blas in _blas()]
            if not self._wanted_by:
                for blas, _ in self._before:
                    blas.set_num_threads(1)
            self._wanted_by.add(user)

    def end(self, user: _User) -> None:
        """Lift the limit if nobody else wants it; that can be repeated after an interrupt."""
        with self._lock:
            self._wanted_by.discard(user)
            if not self._wanted_by:
                for blas, count in self._before:
                    blas.set_num_threads(count)
                self._before = []


class _Work:
    """Calls in threads that belong together."""

    stopped = False  # whether nobody waits for the results any more


class _Worker(local):
    """What a thread knows of the work that it is part of, from the outermost one on."""

    works: tuple[_Work, ...] = ()


_ONE_BLAS_THREAD = _OneBlasThread()
_WORKER = _Worker()


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Return a context with one BLAS thread."""
    user = _User()
    try:
        _ONE_BLAS_THREAD.begin(user)
        yield
    finally:
        _ONE_BLAS_THREAD.end(user)


def few_threads(n_columns: int) -> AbstractContextManager[Any]:
    """Return a context with one BLAS thread if the matrices are so small that more threads make them slower."""
    return one_blas_thread() if n_columns <= _SMALL_MATRIX else nullcontext()


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads `n_jobs` means; None is as many as BLAS may use at present."""
    if n_jobs is not None:
        return int(effective_n_jobs(n_jobs))
    return max((library.num_threads or 1 for library in _blas()), default=1)


def stream(function: Callable[[In], Out], items: Iterable[In], n_jobs: int | None) -> Iterator[Out]:
    """Call `function` on the items in threads and yield the results one by one, in order."""
    items = list(items)
    threads = min(thread_count(n_jobs), len(items))
    if len(items) == 1:  # nothing to run in parallel: BLAS may use all threads
        yield function(items[0])
        return
    with one_blas_thread():
        if threads <= 1:
            yield from map(function, items)
            return
        yield from _in_threads(function, items, threads)


def _in_threads(function: Callable[[In], Out], items: list[In], n_threads: int) -> Iterator[Out]:
    """Yield the results of `function` in order.

    An executor has locks written in Python.  Ctrl-C between two steps of such a lock leaves it locked, and the executor
    then waits for its threads for ever.  The queues and threads here are written in C: each step is done or not done.
    """
    waiting: SimpleQueue[tuple[int, In]] = SimpleQueue()
    done: SimpleQueue[tuple[int, Any, BaseException | None] | None] = SimpleQueue()
    work, outer = _Work(), _WORKER.works
    started: list[int] = []
    ended: list[bool] = []
    results: dict[int, tuple[Any, BaseException | None]] = {}

    def run() -> None:
        try:
            _WORKER.works = (*outer, work)
            while not work.stopped:
                try:
                    number, item = waiting.get_nowait()
                except Empty:
                    break
                try:
                    done.put((number, function(item), None))
                except BaseException as error:
                    done.put((number, None, error))
        finally:
            ended.append(True)
            done.put(None)

    for numbered in enumerate(items):
        waiting.put(numbered)
    try:
        for _ in range(n_threads):
            started.append(start_new_thread(run, ()))
        for number in range(len(items)):
            while number not in results:
                if (found := done.get()) is not None:
                    results[found[0]] = found[1:]
                elif len(ended) == n_threads and done.empty():
                    raise RuntimeError("All threads have ended, but not all of the work is done.")
                found = None
            if (error := results[number][1]) is not None:
                raise error
            yield results.pop(number)[0]  # without a name: nothing here keeps it
    finally:
        work.stopped = True  # or Ctrl-C would wait until all items are done
        error = found = None
        results.clear()
        while len(ended) < len(started) or not done.empty():
            with suppress(Empty):
                done.get(timeout=0.1)


def stop_if_interrupted() -> None:
    """Raise KeyboardInterrupt in a thread whose result nobody waits for any more; long loops call this."""
    if any(work.stopped for work in _WORKER.works):
        raise KeyboardInterrupt


def each(function: Callable[[In], Out], items: Iterable[In], n_jobs: int | None) -> list[Out]:
    """Call `function` on the items in threads; the results do not depend on the number of threads."""
    return list(stream(function, items, n_jobs))


@dataclass(frozen=True)
class Threads:
    """How many threads to use; functions that get None instead leave all threads to BLAS."""

    n_jobs: int | None


def each_in(threads: Threads | None, function: Callable[[In], Out], items: Iterable[In]) -> list[Out]:
    """Call `function` on the items in these threads, or one after the other if `threads` is None."""
    return [function(item) for item in items] if threads is None else each(function, items, threads.n_jobs)
