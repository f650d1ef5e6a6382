"""gamma="auto": a ladder of widths, wanted by left-out values."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from fbtwsvm import FBTWSVM


def test_gamma_ladder_finds_the_width_and_says_so(capsys):
    """Ten stripes need a width far from "scale"."""
    random = np.random.default_rng(0)
    X = random.uniform(0, 10, size=(1200, 2))
    y = (X[:, 0].astype(int) % 2).astype(int)
    model = FBTWSVM(verbose=1).fit(X[:800], y[:800])
    assert model.score(X[800:], y[800:]) > FBTWSVM(gamma="scale").fit(X[:800], y[:800]).score(X[800:], y[800:]) + 0.1
    assert f"{model.gamma_:.6g}" in capsys.readouterr().out


def test_gamma_ladder_with_very_many_classes(monkeypatch):
    monkeypatch.setattr("fbtwsvm.batch.choose_gamma._MOST_CLASSES", 20)
    X, y = make_blobs(400, centers=40, n_features=4, cluster_std=0.2, random_state=0)
    for copies in (1, 6):  # small and large data
        rows, labels = np.tile(X, (copies, 1)), np.tile(y, copies)
        rows = rows + np.random.default_rng(0).normal(0, 0.05, rows.shape)
        model = FBTWSVM(random_state=0, n_components="auto" if copies == 1 else 200).fit(rows, labels)
        assert model.score(X, y) > 0.9


@pytest.mark.slow
def test_gamma_ladder_respects_groups_of_neighbouring_rows():
    """Rows come in runs of one label and one place: a narrow kernel knows the runs, new runs want a wide one."""
    random = np.random.default_rng(0)
    y = np.repeat(np.arange(70) % 2, 30)
    X = np.repeat(random.normal(0, 1.0, size=(70, 6)), 30, axis=0) + random.normal(0, 0.1, size=(2100, 6))
    X[:, 0] += 2.0 * y
    shuffled = random.permutation(2100)
    in_order = FBTWSVM(random_state=0, n_components=50).fit(X, y).gamma_
    mixed = FBTWSVM(random_state=0, n_components=50).fit(X[shuffled], y[shuffled]).gamma_
    assert in_order < mixed
