"""n_components="auto": the map grows while held-out rows gain by it."""

import numpy as np

from fbtwsvm import FBTWSVM
from fbtwsvm.model.choose_map import auto_components


def stripes(n, frequency, seed=0):
    """Return rows in a square whose label changes along a wave: the finer, the more features it takes."""
    random = np.random.default_rng(seed)
    X = random.uniform(-1, 1, size=(n, 2)).astype(np.float32)
    return X, (np.sin(frequency * X[:, 0]) * np.sin(frequency * X[:, 1]) > 0).astype(int)


def test_an_easy_problem_stays_small_and_a_hard_one_grows(capsys):
    sizes = {}
    for frequency, gamma in ((3.0, 1.0), (25.0, 150.0)):
        X, y = stripes(2200, frequency)
        model = FBTWSVM(feature_map="fourier", gamma=gamma, random_state=0, verbose=1).fit(X, y)
        sizes[frequency] = model.n_components_
        assert f"features: {model.n_components_} (between" in capsys.readouterr().out
    assert sizes[3.0] == auto_components(2200, 2)
    assert sizes[25.0] > sizes[3.0]


def test_a_larger_map_is_better_where_it_was_chosen():
    X, y = stripes(3200, 25.0)
    settings = {"feature_map": "fourier", "gamma": 150.0, "random_state": 0}
    grown = FBTWSVM(**settings).fit(X[:2200], y[:2200])
    usual = FBTWSVM(**settings, n_components=auto_components(2200, 2)).fit(X[:2200], y[:2200])
    assert grown.score(X[2200:], y[2200:]) > usual.score(X[2200:], y[2200:])


def test_the_choice_is_the_same_for_every_number_of_threads():
    X, y = stripes(2100, 20.0)
    model = FBTWSVM(feature_map="nystroem", gamma=50.0, random_state=0, n_jobs=2).fit(X, y)
    again = FBTWSVM(feature_map="nystroem", gamma=50.0, random_state=0, n_jobs=1).fit(X, y)
    assert model.n_components_ == again.n_components_
    assert (model.planes_ == again.planes_).all()


def test_small_data_and_given_numbers_do_not_grow():
    X, y = stripes(500, 40.0)
    assert FBTWSVM(random_state=0).fit(X, y).n_components_ == 500  # the exact kernel
    assert FBTWSVM(n_components=30, random_state=0, gamma=1.0).fit(X, y).n_components_ == 30
