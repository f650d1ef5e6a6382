"""Other libraries are never imported unless they are given, and nothing needs numba on a device."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from devices import PLACES, crowd, here, there
from fbtwsvm import _namespace
from fbtwsvm._linalg import lower_factor, solve_lower

TESTS = Path(__file__).parents[1]

WITHOUT_NUMBA = """
import sys
sys.modules["numba"] = None
sys.path.insert(0, {tests!r})
import numpy as np
from devices import crowd, here, there
from fbtwsvm import FBTWSVM
X, y = crowd(2200, dtype=np.float32)
model = FBTWSVM(feature_map="fourier", gamma=0.2, n_components=20, random_state=0)
model.fit(there(X, {place!r}), there(y, {place!r}))
print(np.mean(here(model.predict(there(X, {place!r}))) == y), model.duality_gap_.max())
"""


def run(code, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **environment}, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def test_nothing_is_imported_that_was_not_given():
    code = (
        "import sys, numpy as np; from fbtwsvm import FBTWSVM; X = np.random.default_rng(0).normal(size=(200, 3)); "
        "FBTWSVM().fit(X, X[:, 0] > 0).predict(X); "
        "print([name for name in ('torch', 'cupy', 'array_api_strict', 'sklearn.externals.array_api_compat') "
        "if name in sys.modules])"
    )
    assert run(code)[0].strip() in ("[]", "['sklearn.externals.array_api_compat']")


@pytest.mark.parametrize("place", PLACES)
def test_fit_and_predict_without_numba(place):
    output, errors = run(WITHOUT_NUMBA.format(tests=str(TESTS), place=place))
    accuracy, gap = map(float, output.split())
    assert accuracy > 0.7
    assert gap <= 1e-3
    assert "numba is not installed" in errors


@pytest.mark.slow
def test_scikit_learns_checks_of_the_array_api():
    """They need a variable that SciPy reads when it is imported, so they run in a process of their own."""
    command = [sys.executable, "-m", "pytest", "-q", "-rN", "-p", "no:cacheprovider", "--noconftest"]
    done = subprocess.run(
        [*command, str(TESTS / "test_common.py"), "-k", "array_api"],
        capture_output=True,
        text=True,
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
        cwd=TESTS.parent,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert "passed" in done.stdout


@pytest.mark.parametrize("place", PLACES)
def test_arrays_come_and_go(place):
    values = np.arange(12.0).reshape(4, 3)
    x = there(values, place)
    assert _namespace.is_foreign(x)
    assert not _namespace.is_foreign(values)
    np.testing.assert_array_equal(_namespace.to_numpy(x), values)
    np.testing.assert_array_equal(here(_namespace.like(values, x)), values)
    np.testing.assert_array_equal(here(_namespace.rows_at(x, np.array([2, 0]))), values[[2, 0]])
    np.testing.assert_array_equal(here(_namespace.brought([1, 2], x, np.float64)), [1.0, 2.0])
    values.flags.writeable = False
    assert type(_namespace.like(values, x)) is type(x)
    copied = _namespace.copied(x)
    copied[0, 0] = 7.0
    assert float(x[0, 0]) == 0.0


@pytest.mark.parametrize("place", PLACES)
def test_factors_and_triangular_systems(place):
    random = np.random.default_rng(0)
    root = random.normal(size=(2, 7, 5))
    matrices = np.einsum("kij,kil->kjl", root, root)
    right = random.normal(size=(2, 5, 3))
    factors = lower_factor(there(matrices, place), "no factor", (0.5,))
    for k in range(2):
        expected = np.linalg.cholesky(matrices[k] + 0.5 * np.eye(5))
        np.testing.assert_allclose(here(factors)[k], expected, atol=1e-10)
        one = there(expected, place)
        for transposed, system in ((False, expected), (True, expected.T)):
            solved = np.linalg.solve(system, right[k])
            found = solve_lower(one, there(right[k], place), transposed=transposed)
            np.testing.assert_allclose(here(found), solved, atol=1e-10)
            vector = solve_lower(one, there(right[k, :, 0].copy(), place), transposed=transposed)
            np.testing.assert_allclose(here(vector), solved[:, 0], atol=1e-10)
            stacked = solve_lower(factors, there(right, place), transposed=transposed)
            np.testing.assert_allclose(here(stacked)[k], solved, atol=1e-10)
    with pytest.raises(ValueError, match="no factor"):
        lower_factor(there(-matrices, place), "no factor", (0.5,))


def test_crowd_is_not_linear():
    """What the other tests fit needs a kernel: a plane through the columns does hardly better than chance."""
    X, y = crowd(4000)
    design = np.column_stack([X, np.ones(len(X))])
    planes = np.linalg.lstsq(design, 2.0 * y - 1.0, rcond=None)[0]
    assert np.mean((design @ planes > 0) == (y == 1)) < 0.75
