"""The dual on mapped rows: working sets, paths of boxes, groups of classes."""

from fbtwsvm.solver.dual import _NearPlanes
from reference import largest_error, make_problem, solve_cold


def test_working_set_stops_short_of_all_rows(monkeypatch):
    rows, box, problem = make_problem((900, 900), 6, seed=3, weighted=False, tol=1e-6)
    rows[:900, 0] += 2.0
    sizes = []
    store = _NearPlanes.store
    monkeypatch.setattr(
        _NearPlanes, "store", lambda self, solution: (sizes.append(len(self.working_set)), store(self, solution))
    )
    solution = solve_cold(rows, box, problem)
    assert solution.gaps.max() <= 1e-6
    assert largest_error(solution.planes, rows, box, problem) <= 1e-2
    assert len(sizes) == 2
    assert max(sizes) < 600
