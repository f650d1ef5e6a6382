"""What is said while a model is fitted: messages through logging, warnings that name the caller's line."""

import gc
import inspect
import logging
import warnings

import numba
import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fbtwsvm import FBTWSVM, FBTWSVMCV, _arrays
from fbtwsvm._linalg import is_definite, lower_factor
from fbtwsvm.cli.output import plain_messages

X, Y = make_moons(120, noise=0.3, random_state=0)
HASTY = FBTWSVM(gamma=1.0, tol=1e-9, max_iter=2)
SEARCH = {"gamma": None, "C": [1.0], "reg": [0.01], "membership": None, "cv": 2}


def fit_here(model):
    """Fit, and return the number of the line that does."""
    line = inspect.currentframe().f_lineno + 1
    model.fit(X, Y)
    return line


def test_a_convergence_warning_of_fit_names_the_line_of_the_call():
    with pytest.warns(ConvergenceWarning, match="Raise max_iter") as caught:
        line = fit_here(HASTY)
    assert [(warning.filename, warning.lineno) for warning in caught] == [(__file__, line)]
    assert HASTY.duality_gap_.max() > 1e-9
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FBTWSVM(gamma=1.0).fit(X, Y)


def test_a_convergence_warning_of_a_search_names_the_line_of_the_search():
    with pytest.warns(ConvergenceWarning) as caught:
        line = fit_here(FBTWSVMCV(HASTY, **SEARCH))
    assert {(warning.filename, warning.lineno) for warning in caught} == {(__file__, line)}


def test_a_warning_through_a_pipeline_names_a_file_outside_of_the_package():
    with pytest.warns(ConvergenceWarning) as caught:
        fit_here(make_pipeline(StandardScaler(), HASTY))
    assert not any("fbtwsvm/src" in warning.filename or "/src/fbtwsvm/" in warning.filename for warning in caught)


@pytest.mark.parametrize(("verbose", "shown"), [(0, []), (1, ["solving the planes"]), (2, ["solving the planes"])])
def test_verbose_prints_what_is_logged(verbose, shown, capsys):
    FBTWSVM(verbose=verbose, gamma=1.0).fit(X, Y)
    printed = capsys.readouterr().out.splitlines()
    assert all(line.startswith("[FBTWSVM] ") for line in printed)
    assert bool(printed) == bool(verbose)
    assert all(any(words in line for line in printed) for words in shown)
    assert logging.getLogger("fbtwsvm").handlers == []


def test_messages_go_through_logging(caplog):
    with caplog.at_level(logging.INFO, logger="fbtwsvm"):
        FBTWSVM(gamma=1.0).fit(X, Y)
    assert "solving the planes of 2 classes" in caplog.messages


def test_a_cholesky_factor_or_the_message_why_there_is_none():
    matrix = np.array([[4.0, 2.0], [2.0, 3.0]])
    factor = lower_factor(matrix.copy(), "no")
    np.testing.assert_allclose(factor @ factor.T, matrix)
    with pytest.raises(ValueError, match="too flat"):
        lower_factor(-matrix, "too flat", ridges=(1e-3, 1e-2))
    assert is_definite(matrix.copy())
    assert not is_definite(-matrix)


def compile_now(module="fbtwsvm.loops"):
    """Compile a function as if it were one of a module."""

    def loop(x):
        return x + 1

    loop.__module__ = module
    numba.njit(loop)(1)


@pytest.fixture
def waited(monkeypatch):
    """Let compilation have taken more than a second, and nothing have been said about it."""
    monkeypatch.setattr(_arrays._COMPILATION, "seconds", 1.1)
    monkeypatch.setattr(_arrays._COMPILATION, "told", False)


def test_a_long_compilation_is_said_once(waited, caplog):
    compile_now("somebody.elses")
    assert caplog.messages == []
    for _ in range(2):
        compile_now()
    assert caplog.messages == [
        "compiling part of fbtwsvm, once per installation; this takes some seconds, on a slow machine up to a minute"
    ]
    assert gc.isenabled()


def test_a_short_compilation_is_not_said(waited, caplog, monkeypatch):
    monkeypatch.setattr(_arrays._COMPILATION, "seconds", -1e9)
    compile_now()
    assert caplog.messages == []


def test_the_command_says_it_on_the_error_stream(waited, capsys):
    with plain_messages():
        compile_now()
    assert capsys.readouterr().err.startswith("fbtwsvm: compiling part of fbtwsvm, once per installation")
    assert logging.getLogger("fbtwsvm").handlers == []
