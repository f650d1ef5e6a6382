"""Fixture of the solver's tests."""

import pytest

from fbtwsvm.solver import choose


@pytest.fixture
def newton_for_all(monkeypatch):
    """Send every plane of an ordinary fit through a sample and Newton's method; return the planes it was given."""
    for name, value in {
        "MANY_ROWS": 0, "_MOST_KERNEL_ROWS": 0, "_CROWDED": -1, "_SAMPLED": 4, "_SMALLEST_SAMPLE": 2,
    }.items():  # fmt: skip
        monkeypatch.setattr(choose, name, value)
    solved, solve = [], choose.solve_newton

    def counted(reader, problem, grams, todo, *rest):
        solved.append(todo)
        solve(reader, problem, grams, todo, *rest)

    monkeypatch.setattr(choose, "solve_newton", counted)
    return solved
