"""The generators: the paper's streams as far as statistics can tell, the same rows for the same seed, and drift."""

import numpy as np
import pytest

from fbtwsvm.data.generators import GENERATORS, make


@pytest.fixture
def given(data_folder):
    """Return a loader of the given synthetic files."""

    def load(name):
        with np.load(data_folder / "synthetic" / f"{name}.npz") as data:
            return data["X"][:130_000], data["y"][:130_000].astype(int)

    return load


def within_sampling_error(one, other, n, m):
    """Whether two shares of n and m rows can be of the same chance (4.5 standard errors; many are compared)."""
    pooled = (one * n + other * m) / (n + m)
    return abs(one - other) <= 4.5 * np.sqrt(pooled * (1 - pooled) * (1 / n + 1 / m)) + 1e-12


def test_sea_is_like_the_given_file(given):
    X, y = given("SEA_1M")
    ours, labels = make("sea", seed=5).rows(len(X))
    n = len(X)
    assert set(labels) == set(y) == {-1, 1}
    for j in range(3):
        assert abs(ours[:, j].mean() - X[:, j].mean()) < 4.5 * 10 / np.sqrt(12 * n / 2)
        assert ours[:, j].min() == pytest.approx(X[:, j].min(), abs=0.01)
        assert ours[:, j].max() == pytest.approx(X[:, j].max(), abs=0.01)
    assert within_sampling_error((labels == 1).mean(), (y == 1).mean(), n, n)
    wrong = [((Z[:, 0] + Z[:, 1] > 8) != (t == 1)).mean() for Z, t in ((ours, labels), (X, y))]
    assert within_sampling_error(*wrong, n, n)
    assert 0.09 < wrong[0] < 0.11


def test_led_is_like_the_given_file(given):
    X, y = given("LED_1M")
    ours, labels = make("led", seed=5).rows(len(X))
    n = len(X)
    assert ours.shape[1] == X.shape[1] == 24
    assert set(np.unique(ours)) == set(np.unique(X)) == {0, 1}
    for digit in range(10):
        mine, theirs = ours[labels == digit], X[y == digit]
        assert within_sampling_error(len(mine) / n, len(theirs) / n, n, n)
        for j in range(24):  # which segments a digit shows, and how often they are wrong
            assert within_sampling_error(mine[:, j].mean(), theirs[:, j].mean(), len(mine), len(theirs))


def facts(X, y):
    """Describe a sample by numbers that do not depend on the order of columns or the names of classes."""
    classes, counts = np.unique(y, return_counts=True)
    shares = np.sort(counts / len(y))
    signs = np.where(y == classes[counts.argmax()], 1.0, -1.0)
    plane = np.linalg.lstsq(np.column_stack([X, np.ones(len(X))]), signs, rcond=None)[0]
    linear = (np.sign(X @ plane[:-1] + plane[-1]) == signs).mean()
    means, spreads = X.mean(axis=0), X.std(axis=0)
    return np.array(
        [shares[-1], shares[0], linear, means.min(), means.max(), spreads.min(), spreads.max(), X.min(), X.max()]
    )


@pytest.mark.parametrize(("name", "file"), [("rtg", "RTG_100K"), ("rbf", "RBF_100K"), ("hyper", "HYPER_100K")])
def test_files_lie_within_the_range_of_fifty_seeds(name, file, given):
    X, y = given(file)
    X, y = X[:20_000].astype(float), y[:20_000]
    made = [make(name, seed=seed).rows(20_000) for seed in range(50)]
    ours = np.array([facts(Z, t) for Z, t in made if len(np.unique(t)) > 1])
    assert len(ours) >= 40
    theirs = facts(X, y)
    slack = 2e-6  # the files have six decimals
    assert (theirs >= ours.min(axis=0) - slack).all(), (theirs, ours.min(axis=0))
    assert (theirs <= ours.max(axis=0) + slack).all(), (theirs, ours.max(axis=0))
    assert set(np.unique(y)) == set(np.unique(np.concatenate([t for _, t in made])))


@pytest.mark.parametrize("name", GENERATORS)
def test_fewer_rows_are_a_beginning_of_more(name):
    options = {"drift_every": 30_000, "seed": 3}
    if name in ("hyper", "rbf"):
        options["drift_speed"] = 1e-4
    generator = make(name, **options)
    many, few, other = generator.rows(140_000), generator.rows(66_000), make(name, **{**options, "seed": 4}).rows(1000)
    for long, short in zip(many, few, strict=True):
        np.testing.assert_array_equal(long[:66_000], short)
    assert not np.array_equal(many[0][:1000], other[0])


@pytest.mark.parametrize("name", GENERATORS)
def test_sudden_drift_changes_the_concept(name):
    """A linear or quadratic rule that holds before the change is worse after it."""
    X, y = make(name, seed=2, noise=0.0, drift_every=20_000).rows(40_000)
    X = X.astype(float)
    squares = np.column_stack([X, X**2, np.ones(len(X))])
    targets = (y[:, None] == np.unique(y)).astype(float)
    rule = np.linalg.lstsq(squares[:20_000], targets[:20_000], rcond=None)[0]
    right = (squares @ rule).argmax(axis=1) == targets.argmax(axis=1)
    assert right[20_000:].mean() < right[:20_000].mean() - 0.02


def test_gradual_drift_turns_the_plane():
    still = make("hyper", seed=1, noise=0.0).rows(60_000)
    moving = make("hyper", seed=1, noise=0.0, drift_speed=1e-3).rows(60_000)
    np.testing.assert_array_equal(still[0], moving[0])
    changed = still[1] != moving[1]
    assert changed[:100].mean() < 0.05
    assert changed[50_000:].mean() > 0.05
    few = make("hyper", seed=1, noise=0.0, drift_speed=1e-3, drifting=0).rows(60_000)
    np.testing.assert_array_equal(few[1], still[1])


def test_gradual_drift_moves_the_clouds_between_the_walls():
    speed = 1e-4
    still, moving = (make("rbf", seed=1, features=2, drift_speed=v).rows(60_000)[0] for v in (0.0, speed))
    apart = np.linalg.norm(moving - still, axis=1)
    assert (apart <= speed * np.arange(60_000) + 1e-9).all()
    assert apart[50_000:].mean() > 0.2
    assert apart.max() <= np.sqrt(2.0) + 1e-9


def test_noise_is_the_share_of_wrong_labels():
    clean, noisy = make("rbf", seed=1).rows(50_000), make("rbf", seed=1, noise=0.3).rows(50_000)
    np.testing.assert_array_equal(clean[0], noisy[0])
    assert (clean[1] != noisy[1]).mean() == pytest.approx(0.3, abs=0.01)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("sea", {"noise": 2.0}, "noise must lie between 0 and 1"),
        ("sea", {"function": 5}, "function must be an integer from 1 to 4"),
        ("rbf", {"classes": 1}, "classes must be an integer from 2"),
        ("hyper", {"drifting": 11}, "drifting"),
        ("rtg", {"depth": 0.5}, "depth"),
    ],
)
def test_wrong_options_are_refused(name, options, message):
    with pytest.raises(ValueError, match=message):
        make(name, **options)
