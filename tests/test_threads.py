"""Threads over parts of the work: one order, one result, one BLAS thread in each."""

import queue
import subprocess
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from fbtwsvm import _threads as threads

N_JOBS = [1, 2, 4, -1, None]


def blas_threads():
    return max(library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas")


@pytest.fixture(autouse=True)
def two_blas_threads():
    with threadpool_limits(limits=2, user_api="blas"):
        yield


@pytest.mark.parametrize("n_jobs", N_JOBS)
@pytest.mark.parametrize("n_items", [0, 1, 2, 7])
def test_results_come_in_the_order_of_the_items(n_jobs, n_items):
    def slowest_first(i):
        time.sleep(0.002 * (n_items - i))
        return 10 * i

    expected = [10 * i for i in range(n_items)]
    assert threads.each(slowest_first, range(n_items), n_jobs) == expected
    assert list(threads.stream(slowest_first, iter(range(n_items)), n_jobs)) == expected


@pytest.mark.parametrize("n_jobs", N_JOBS)
def test_products_are_the_same_to_the_last_bit_for_every_number_of_threads(n_jobs):
    random = np.random.default_rng(0)
    matrices = [random.normal(size=(150, 150)).astype(np.float32) for _ in range(5)]
    alone = threads.each(lambda matrix: matrix @ matrix.T, matrices, 1)
    for one, other in zip(alone, threads.each(lambda matrix: matrix @ matrix.T, matrices, n_jobs), strict=True):
        assert np.array_equal(one, other)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_there_is_one_blas_thread_inside_and_as_many_as_before_afterwards(n_jobs):
    before = blas_threads()
    assert threads.each(lambda _: blas_threads(), range(3), n_jobs) == [1, 1, 1]
    assert blas_threads() == before


def test_nested_work_keeps_to_one_blas_thread_until_the_last_is_done():
    before = blas_threads()
    inner = threads.each(lambda _: [*threads.each(lambda _: blas_threads(), range(2), 2), blas_threads()], range(2), 2)
    assert inner == [[1, 1, 1], [1, 1, 1]]
    assert blas_threads() == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_error_comes_through_and_lifts_the_limit(n_jobs):
    before = blas_threads()

    def fail(i):
        if i == 1:
            raise KeyError("second item")
        return i

    with pytest.raises(KeyError, match="second item"):
        threads.each(fail, range(4), n_jobs)
    assert blas_threads() == before


def test_a_result_that_is_lost_is_an_error_not_a_wait_for_ever(monkeypatch):
    class Lossy:
        """A queue that has no memory left for the second result."""

        def __init__(self):
            self.queue = queue.SimpleQueue()
            self.get, self.get_nowait, self.empty = self.queue.get, self.queue.get_nowait, self.queue.empty

        def put(self, found):
            if found is not None and found[0] == 1 and len(found) == 3:
                raise SystemExit  # ends the thread without a word
            self.queue.put(found)

    monkeypatch.setattr(threads, "SimpleQueue", Lossy)
    with pytest.raises(RuntimeError, match="not all of the work is done"):
        threads.each(lambda i: i, range(4), 2)


def test_results_that_were_yielded_are_not_kept():
    class Result:
        pass

    results = threads.stream(lambda _: Result(), range(3), 2)
    first = weakref.ref(next(results))
    assert first() is None
    results.close()


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_stream_that_is_left_early_lifts_the_limit(n_jobs):
    before = blas_threads()
    results = threads.stream(lambda i: i, range(5), n_jobs)
    assert next(results) == 0
    assert blas_threads() == 1
    results.close()
    assert blas_threads() == before


def test_no_more_threads_run_than_were_asked_for():
    running, most, lock = 0, 0, threading.Lock()

    def count(_):
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        time.sleep(0.005)
        with lock:
            running -= 1

    threads.each(count, range(12), 3)
    assert most == 3


def test_only_small_matrices_are_kept_to_one_blas_thread():
    with threads.few_threads(threads._SMALL_MATRIX):
        assert blas_threads() == 1
    before = blas_threads()
    with threads.few_threads(threads._SMALL_MATRIX + 1):
        assert blas_threads() == before


def test_an_error_of_inner_work_is_not_taken_for_an_interrupt():
    def fail(_):
        raise KeyError("inner")

    def outer(i):
        if i == 1:
            threads.each(fail, range(2), 2)
        for _ in range(20):
            time.sleep(0.005)
            threads.stop_if_interrupted()

    with pytest.raises(KeyError, match="inner"):
        threads.each(outer, range(2), 2)


def test_workers_stop_when_nobody_waits_for_them():
    stopped, running = [], threading.Event()

    def work(i):
        if i == 0:
            running.wait(10)
            raise KeyError("first")
        running.set()
        try:
            while True:
                time.sleep(0.001)
                threads.stop_if_interrupted()
        except KeyboardInterrupt:
            stopped.append(i)
            raise

    with pytest.raises(KeyError, match="first"):
        threads.each(work, range(2), 2)
    assert stopped == [1]


INTERRUPTED = """
import random, signal
from fbtwsvm import _threads as threads

def ring(number, frame):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, ring)
moments = random.Random(0)
for _ in range(3000):
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, moments.uniform(1e-5, 3e-3))
            for _ in range(200):  # Python may lose an interrupt, in a callback of a weak reference
                assert threads.each(abs, range(8), 2) == list(range(8))
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
    except KeyboardInterrupt:
        pass
"""


def test_no_interrupt_leaves_threads_that_wait_for_ever():
    """Ctrl-C while threads start, work and end; an executor of Python hangs after some hundred of them."""
    subprocess.run([sys.executable, "-c", INTERRUPTED], check=True, timeout=100)


def test_somebody_who_never_came_to_the_end_does_not_count_for_ever():
    """An interrupt may come before the end of a context is reached."""
    begun = threads._User()
    threads._ONE_BLAS_THREAD.begin(begun)
    assert blas_threads() == 1
    del begun
    with threads.one_blas_thread():
        assert blas_threads() == 1
    assert blas_threads() == 2
