"""The compiled loop of a stream: rows learned one by one have the memberships of a batch, and certified steps."""

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.model.membership import distances_to_means
from fbtwsvm.online._loops import Watch
from fbtwsvm.online.absorb import learn_rows
from fbtwsvm.online.kept import Chunk
from fbtwsvm.online.trust import RATE, REST, Trust
from helpers import FOURIER, clouds, stream

NOBODY = (*(getattr(Trust(1), name) for name in Trust.ARRAYS), RATE, REST)
NO_WATCH = Watch(0, np.zeros(1), 1.0, np.inf, np.zeros(1, dtype=np.int64), 0, 0, 10**9, 10**9, *NOBODY)


def one_by_one(model, X, y):
    """Learn rows one by one on a copy of a stream's machine; yield the machine before each, the row and its label."""
    machine, rows = model_of(model).members[0].copy(), model_of(model).mapping.rows(X)
    for i, label in enumerate(y):
        before = machine.copy()
        time, name = np.array([machine.clock]), np.array([None], dtype=object)
        learn_rows([machine], Chunk(rows[i : i + 1], y[i : i + 1], np.ones(1), time, name, None), NO_WATCH)
        yield before, machine, rows[i : i + 1], label


@pytest.mark.parametrize("membership", ["fuzzy", "printed", "none"])
@pytest.mark.parametrize("mu", [0.1, 0.5, 0.9])
def test_row_by_row_memberships_are_those_of_the_batch_formula(membership, mu):
    """With the ranges of the last re-solve, and the class means as they are when the row comes."""
    X, y = clouds(300, spread=2.0)
    model = FBTWSVM(**FOURIER, warm_up=100, membership=membership, mu=mu, C=0.7)
    stream(model, X[:200], y[:200], 100).settle()
    for before, after, row, label in one_by_one(model, X[200:], y[200:]):
        distances = distances_to_means(row, before.moments.means)
        expected = 0.7 * before.ranges.memberships(distances, np.array([label]))[0]
        expected[label] = 0.0
        np.testing.assert_allclose(after.pending.kept().box[-1], expected, rtol=1e-8, atol=1e-10)


def test_a_row_has_the_box_that_the_next_resolve_gives_it_if_means_and_ranges_stay():
    """Among very many rows one more changes neither the means nor the ranges: both find the same membership."""
    X, y = clouds(4000, spread=2.0)
    model = FBTWSVM(**FOURIER, warm_up=100, memory=None, accept="all").partial_fit(X, y).settle()
    for i in range(5):
        model.partial_fit(X[i : i + 1] + 1e-3, y[i : i + 1])
    box = model_of(model).members[0].pending.kept().box
    kept = model_of(model.settle()).members[0].kept
    np.testing.assert_allclose(kept.box[kept.times >= 4000], box[np.argsort(y[:5], kind="stable")], atol=2e-3)


def test_a_row_moves_the_planes_near_its_class_to_the_least_squares_solution():
    """The root of G^-1 follows the row: the step is that of a new Gram matrix, with the duals as they are."""
    X, y = clouds(200, 2)
    model = FBTWSVM(**FOURIER, warm_up=100, membership="none")
    stream(model, X[:150], y[:150], 150).settle()
    for before, after, row, own in one_by_one(model, X[150:160], y[150:160]):
        inverse = before.roots.of(own).T @ before.roots.of(own)
        gram = np.linalg.inv(inverse)
        dual_sum = -gram @ before.planes[own, 1 - own]
        expected = -np.linalg.solve(gram + row.T @ row, dual_sum)
        np.testing.assert_allclose(after.planes[own, 1 - own], expected, atol=1e-8)
