"""Fits of rows on a device: the same problem as here, solved to the same tolerance."""

import numpy as np
import pytest
import scipy.sparse as sp

from devices import DEVICES, PLACES, crowd, here, needs_torch, there
from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.device import first_planes, solve

GIVEN = {"feature_map": "fourier", "gamma": 0.2, "n_components": 40, "random_state": 0}


def distance(one, other, X, y):
    """Largest distance of two models' planes in the norm of their problem, relative to the planes."""
    rows = model_of(other).mapping.rows(X).astype(np.float64)
    worst = 0.0
    for a, near in enumerate(other.classes_):
        gram = rows[y == near].T @ rows[y == near] + 0.01 * np.eye(rows.shape[1])
        for b in range(len(other.classes_)):
            if a != b:
                error, best = one.planes_[a, b] - other.planes_[a, b], other.planes_[a, b]
                worst = max(worst, float(np.sqrt(error @ gram @ error / (best @ gram @ best))))
    return worst


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"membership": "none"},
        {"membership": "printed", "mu": 0.3},
        {"kernel": "laplacian"},
        {"kernel": "linear", "feature_map": "auto", "n_components": "auto"},
        {"class_weight": "balanced"},
        {"class_weight": {0: 3.0, 1: 0.5, 2: 1.0}},
        {"C": (2.0, 0.3), "reg": (0.01, 0.1)},
        {"metric": [1.0, 2.0, 0.5, 0.0, 1.0]},
    ],
    ids=str,
)
def test_planes_are_those_of_a_fit_here(place, parameters):
    X, y = crowd(n_classes=2 if "C" in parameters else 3)
    given = {**GIVEN, **parameters, "tol": 1e-6, "precision": "highest"}
    other = FBTWSVM(**{**given, "tol": 1e-9, "max_iter": 100_000}).fit(X, y)
    one = FBTWSVM(**given).fit(there(X, place), there(y, place))
    assert one.duality_gap_.max() <= 1e-6
    assert distance(one, other, X, y) <= 3e-2
    assert np.mean(one.predict(X) == other.predict(X)) >= 0.995
    np.testing.assert_array_equal(one.classes_, other.classes_)


@pytest.mark.parametrize("place", PLACES)
def test_landmarks_and_trials_of_large_data(place):
    """More than 20,000 rows: kernel and map are chosen on the same sample as here, so the map is the same."""
    X, y = crowd(21_000, dtype=np.float32)
    given = {"n_components": 50, "random_state": 0, "gamma": "scale", "metric": "none", "precision": "highest"}
    other = FBTWSVM(**given).fit(X, y)
    one = FBTWSVM(**given).fit(there(X, place), there(y, place))
    np.testing.assert_array_equal(
        model_of(one).mapping.transformer.landmarks_, model_of(other).mapping.transformer.landmarks_
    )
    assert one.gamma_ == pytest.approx(other.gamma_, rel=1e-5)
    assert abs(one.score(X, y) - other.score(X, y)) <= 0.001


@pytest.mark.parametrize("place", PLACES)
def test_weights_are_repeated_rows(place):
    X, y = crowd()
    weights = np.random.default_rng(1).integers(0, 4, len(y))
    given = {**GIVEN, "tol": 1e-6, "precision": "highest"}
    many = np.repeat(np.arange(len(y)), weights)
    one = FBTWSVM(**given).fit(there(X, place), there(y, place), sample_weight=there(weights.astype(float), place))
    other = FBTWSVM(**given).fit(there(X[many], place), there(y[many], place))
    assert distance(one, other, X[many], y[many]) <= 2e-2


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ["text", "bool", "numpy", "float", "column", "uint16"])
def test_labels_of_every_kind(place, kind):
    X, y = crowd()
    names = {
        "text": np.array(["no", "yes"])[y],
        "bool": there(y == 1, place),
        "numpy": y,
        "float": there(y.astype(np.float32), place),
        "column": there(y[:, None], place),
        "uint16": there(y.astype(np.uint16), place),
    }[kind]
    fitted = FBTWSVM(**GIVEN).fit(there(X, place), names)
    expected = {"text": ["no", "yes"], "bool": [False, True]}.get(kind, [0, 1])
    assert fitted.classes_.tolist() == expected
    answer = fitted.predict(there(X, place))
    assert isinstance(answer, np.ndarray) == (kind == "text")
    assert np.mean(here(answer) == np.array(expected)[y]) > 0.75


@pytest.mark.parametrize("place", PLACES)
def test_planes_that_a_sample_does_not_tell_are_solved_on_all_rows(place, monkeypatch):
    """Few rows push the planes of parted classes, and evenly spaced ones are not among them."""
    random = np.random.default_rng(0)
    X = np.concatenate([random.normal(-1.0, 0.4, (1500, 2)), random.normal(1.0, 0.4, (1500, 2))])
    y = np.repeat([0, 1], 1500)
    X[1:1500:40] += 1.5  # some rows lie with the other class
    for module in (first_planes, solve):
        monkeypatch.setattr(module, "SAMPLED", 20)
    fitted = FBTWSVM(**GIVEN, precision="highest").fit(there(X, place), there(y, place))
    assert fitted.duality_gap_.max() <= 1e-3


@pytest.mark.parametrize("place", PLACES)
def test_few_rows_are_fitted_here_to_the_last_bit(place):
    X, y = crowd(300)
    one = FBTWSVM(random_state=0).fit(there(X, place), there(y, place))
    np.testing.assert_array_equal(one.planes_, FBTWSVM(random_state=0).fit(X, y).planes_)


@pytest.mark.parametrize("place", PLACES)
def test_a_model_keeps_sums_and_goes_on_here(place):
    X, y = crowd(8000, dtype=np.float32)
    fitted = FBTWSVM(**{**GIVEN, "n_components": 20}, memory=50).fit(there(X, place), there(y, place))
    assert model_of(fitted).sums is not None
    assert fitted.n_support_.sum() > 100
    before = fitted.score(X, y)
    fitted.partial_fit(X[:50], y[:50])
    assert fitted.score(X, y) > before - 0.02
    fitted.unlearn(X[:20], y[:20])


def test_what_is_said_if_sums_are_off():
    """Rounding that makes a Gram matrix indefinite is added to the ridge of its class, and told."""
    place = PLACES[0]
    random = np.random.default_rng(0)
    rows = random.normal(size=(5, 8))
    gram = there(rows.T @ rows - 0.3 * np.eye(8), place)
    fine = there(np.eye(8), place)
    with pytest.warns(UserWarning, match=r"class 'b' exceeds reg=0.1: 0.4 was added"):
        found = solve.definite([fine, gram], np.array([0.1, 0.1]), np.array(["a", "b"]))
    assert found[0] is fine
    assert np.linalg.eigvalsh(here(found[1]))[0] > -0.05
    with pytest.raises(ValueError, match="NaN or infinity"):
        solve.definite([there(np.full((2, 2), np.nan), place)], np.array([0.1]), np.array(["a"]))


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.nan}, "NaN or infinity"),
        ({"X": np.inf}, "NaN or infinity"),
        ({"X": 1e200}, "holds the value"),
        ({"y": None}, "requires y"),
        ({"y": np.arange(10)}, "one label for each row"),
        ({"y": np.zeros(3000)}, "one class|1 class|classes"),
        ({"y": np.linspace(0, 1, 3000)}, "continuous"),
        ({"sample_weight": -np.ones(3000)}, "Negative values"),
        ({"sample_weight": np.ones(7)}, "one weight for each"),
        ({"sample_weight": np.zeros(3000)}, "weight"),
        ({"ids": np.arange(3000)}, "ids cannot be given"),
        ({"groups": np.arange(3000)}, "groups cannot be given"),
    ],
    ids=str,
)
def test_bad_input_changes_nothing(place, change, message):
    X, y = crowd()
    model = FBTWSVM(**GIVEN).fit(X[:300], y[:300])
    planes = model.planes_.copy()
    given = {"X": X.copy(), "y": y, **change}
    if np.isscalar(change.get("X")):
        given["X"] = X.copy()
        given["X"][7, 3] = change["X"]
    for name in ("X", "y", "sample_weight"):
        if given.get(name) is not None:
            given[name] = there(given[name], place)
    with pytest.raises(ValueError, match=message):
        model.fit(**given)
    np.testing.assert_array_equal(model.planes_, planes)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(
    "parameters", [{"feature_map": "exact"}, {"kernel": "chi2"}, {"kernel": "intersection"}], ids=str
)
def test_maps_that_a_device_has_not(place, parameters):
    X, y = crowd()
    with pytest.raises(ValueError, match=r"device|exact"):
        FBTWSVM(**parameters).fit(there(np.abs(X), place), there(y, place))


@pytest.mark.parametrize("place", PLACES)
def test_shapes_that_are_refused(place):
    X, y = crowd()
    with pytest.raises(ValueError, match="Expected 2D array"):
        FBTWSVM(**GIVEN).fit(there(X[:, 0], place), there(y, place))
    fitted = FBTWSVM(**GIVEN).fit(there(X, place), there(y, place))
    with pytest.raises(ValueError, match="X has 2 features, but FBTWSVM is expecting 5 features"):
        fitted.predict(there(X[:, :2], place))


@needs_torch
@pytest.mark.parametrize("device", DEVICES)
def test_sparse_rows_are_refused(device):
    X, y = crowd()
    with pytest.raises(ValueError, match="Sparse rows"):
        FBTWSVM(**GIVEN, device=device).fit(sp.csr_array(X), y)


@needs_torch
def test_a_device_that_is_not_there():
    X, y = crowd()
    with pytest.raises(ValueError, match="device='cuda:99' cannot be used"):
        FBTWSVM(**GIVEN, device="cuda:99").fit(X, y)
