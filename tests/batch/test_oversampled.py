"""Rows that were made of others are found, and only those."""

from itertools import pairwise

import numpy as np
import pytest

from fbtwsvm import FBTWSVM
from fbtwsvm.batch.oversampled import without_oversampled
from fbtwsvm.model.rows import arrange

ORIGINAL, MADE = 60, 500


@pytest.fixture
def filled_up():
    """Return 560 rows of two classes; all but 60 of the second were made of these."""
    random = np.random.default_rng(0)
    own = random.normal(size=(ORIGINAL, 8))
    first = random.integers(ORIGINAL, size=MADE)
    near = np.argsort(((own[:, None] - own) ** 2).sum(axis=2), axis=1)[:, 1:6]
    second = near[first, random.integers(5, size=MADE)]
    made = own[first] + random.uniform(size=(MADE, 1)) * (own[second] - own[first])
    X = np.concatenate([random.normal(size=(ORIGINAL + MADE, 8)) + 1.0, own, made])
    return X, np.repeat([0, 1], ORIGINAL + MADE)


def arranged(X, y):
    return arrange(X, y, np.ones(len(y)), 2, merge=False)


def test_rows_made_of_two_others_are_left_out(filled_up):
    X, y = filled_up
    rows = without_oversampled(arranged(X, y), seed=0)
    kept = {row.tobytes() for row in rows.X[rows.labels == 1]}
    assert np.diff(rows.starts)[0] == ORIGINAL + MADE  # the other class stays whole
    assert ORIGINAL <= len(kept) < 2 * ORIGINAL
    assert kept >= {row.tobytes() for row in X[ORIGINAL + MADE :][:ORIGINAL]}
    totals = [rows.weights[first:last].sum() for first, last in pairwise(rows.starts)]
    np.testing.assert_allclose(totals, ORIGINAL + MADE)  # classes weigh what they did


def test_gamma_does_not_depend_on_them(filled_up):
    X, y = filled_up
    real = np.arange(len(y)) < 2 * ORIGINAL + MADE
    weights = np.where(y == 1, (ORIGINAL + MADE) / ORIGINAL, 1.0)
    alone = FBTWSVM(random_state=0).fit(X[real], y[real], weights[real]).gamma_
    filled = FBTWSVM(random_state=0).fit(X, y).gamma_
    assert 0.2 < filled / alone < 5.0


@pytest.mark.parametrize("columns", [2, 3, 10])
def test_other_rows_stay(columns):
    X, y = np.random.default_rng(0).normal(size=(400, columns)), np.repeat([0, 1], 200)
    rows = arranged(X, y)
    assert without_oversampled(rows, seed=0) is rows


def test_rows_along_a_line_stay():
    t = np.random.default_rng(0).uniform(size=(400, 1))
    rows = arranged(np.column_stack([t, 2 * t, 3 * t]), np.repeat([0, 1], 200))
    assert without_oversampled(rows, seed=0) is rows


def copied(noise, in_both=False):
    """Return rows of two classes; of one, or of both, most rows are copies with a little noise of 60 others."""
    random = np.random.default_rng(0)
    copies = [random.normal(size=(ORIGINAL, 8))[random.integers(ORIGINAL, size=600)] for _ in range(2)]
    copies = [rows + random.normal(0, noise, size=(600, 8)) for rows in copies]
    other = copies[1] if in_both else random.normal(size=(600, 8))
    return np.concatenate([other, copies[0]]), np.repeat([0, 1], 600)


@pytest.mark.parametrize("noise", [1e-4, 0.01])
def test_one_of_several_near_copies_stays(noise):
    rows = without_oversampled(arranged(*copied(noise)), seed=0)
    assert np.diff(rows.starts)[0] == 600
    assert 0.9 * ORIGINAL < np.diff(rows.starts)[1] < 1.3 * ORIGINAL


def test_near_copies_in_all_classes_are_in_the_nature_of_the_data():
    rows = arranged(*copied(0.01, in_both=True))
    assert without_oversampled(rows, seed=0) is rows


@pytest.mark.parametrize("values", [(20, 20, 4), (5, 5, 5, 5)])
def test_rows_on_a_grid_stay(values):
    X = np.stack(np.meshgrid(*map(np.arange, values)), axis=-1).reshape(-1, len(values)).astype(float)
    rows = arranged(X, (np.arange(len(X)) >= len(X) // 2).astype(int))
    assert without_oversampled(rows, seed=0) is rows


def test_rows_in_a_plane_stay():
    """Among 50 neighbours in a plane, two lie nearly opposite each other; interpolated rows lie exactly so."""
    X = np.random.default_rng(0).normal(size=(1000, 2)) @ np.random.default_rng(1).normal(size=(2, 5))
    rows = arranged(X, np.repeat([0, 1], 500))
    assert without_oversampled(rows, seed=0) is rows


def test_classes_with_some_near_copies_are_not_oversampled():
    """Pictures of things: some have been taken twice, others hardly changed in between."""
    random = np.random.default_rng(0)
    parts = []
    for things in (10, 60, 120, 240, 300):
        originals = random.normal(size=(things, 8))
        parts.append(originals[np.arange(300) % things] + random.normal(0, 0.01, size=(300, 8)))
    rows = arrange(np.concatenate(parts), np.repeat(np.arange(5), 300), np.ones(1500), 5, merge=False)
    assert without_oversampled(rows, seed=0) is rows
