"""The parts of `make bench` that have logic, and tiny runs of the whole on made-up data."""

import csv
import gc
import json

import numpy as np
import pytest
from benchmarks.bench import (
    __main__ as bench,
)
from benchmarks.bench import (
    cases,
    chunks,
    classes,
    curves,
    curves_report,
    first,
    floor,
    growth,
    measure,
    memory,
    nine,
    profile,
    rivals,
)
from benchmarks.bench.plan import Plan, at_least, at_most, summary
from benchmarks.bench.record import Record
from benchmarks.bench.steps import Curve, area, crossings, ranges
from threadpoolctl import threadpool_info

from fbtwsvm import FBTWSVM


@pytest.fixture(autouse=True, scope="module")
def frozen():
    """Take what the imports have made out of garbage collection, which would be most of the time of a tiny run."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Return a data folder with small sets of four clouds under the names of the large ones."""
    random = np.random.default_rng(0)
    place = tmp_path / "data"
    for part in ("", "streams", "synthetic"):
        (place / part).mkdir(parents=True)
    y = random.integers(0, 4, 1_200)
    X = (random.normal(size=(1_200, 6)) + 4 * np.eye(4, 6)[y]).astype(np.float32)
    for name in ("mnist", "isolet", "letter", "usps", "coil", "border", "overlap"):
        scale = {"mnist": 255, "coil": 0.05}.get(name, 1)  # for their widths, which are fixed
        np.savez(place / f"{name}.npz", X_train=scale * X[:900], y_train=y[:900], X_test=scale * X[900:],
                 y_test=y[900:])  # fmt: skip
    np.savez(place / "streams" / "covtype.npz", X=X, y=y)
    np.savez(place / "synthetic" / "SEA_1M.npz", X=X[:, :3], y=y % 2)
    monkeypatch.setenv("FBTWSVM_DATA", str(place))
    return place


@pytest.fixture
def here(monkeypatch):
    """Measure in this process what otherwise has one of its own, to save the time of starting it."""

    def in_child(prepare, *, threads=1, **arguments):
        return memory.measured(prepare(**arguments))

    for module in (floor, classes, chunks):
        monkeypatch.setattr(module, "in_child", in_child)


def quick(tmp_path, *arguments):
    """Run parts at quick sizes; returns what was wanted and the rows of the first part's CSV file."""
    out = tmp_path / "out"
    wanted = bench.main([*arguments, "--quick", "--out", str(out)])
    with (out / f"{arguments[0]}.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert (out / f"{arguments[0]}.png").stat().st_size > 5_000
    return wanted, rows


# curves


def test_area_under_steps():
    curve = Curve.of([10.0, 1.0], [70.0, 50.0])
    assert area(curve, 1.0, 100.0) == pytest.approx(60.0)  # a decade at 50, a decade at 70
    assert area(curve, 1.0, 10.0) == pytest.approx(50.0)
    assert area(curve, 10.0, 1000.0) == pytest.approx(70.0)
    assert area(curve, 1.0, 1000.0) == pytest.approx((50 + 70 + 70) / 3)


def test_a_worse_setting_that_takes_longer_does_not_count():
    curve = Curve.of([1.0, 10.0, 100.0], [50.0, 40.0, 60.0])
    assert [curve.at(t) for t in (0.5, 1.0, 9.0, 10.0, 100.0)] == [-np.inf, 50.0, 50.0, 50.0, 60.0]
    assert area(curve, 1.0, 1000.0) == pytest.approx((50 + 50 + 60) / 3)


def test_there_is_no_area_where_a_curve_has_not_begun():
    curve = Curve.of([1.0, 10.0], [50.0, 70.0])
    assert np.isnan(area(curve, 0.5, 10.0))
    assert np.isnan(area(curve, 10.0, 10.0))
    assert np.isnan(area(curve, 10.0, 2.0))


def test_ranges_of_areas():
    times = {"ours": [2.0, 40.0], "a": [1.0, 9.0], "b": [3.0, 90.0]}
    assert ranges({name: Curve.of(t, [1, 2]) for name, t in times.items()}, "ours") == (3.0, 40.0, 9.0)


def test_crossings_name_who_is_ahead_and_by_how_much():
    found = {
        "ours": Curve.of([2.0, 10.0], [60.0, 80.0]),
        "a": Curve.of([1.0, 4.0, 6.0], [50.0, 65.0, 70.0]),
        "b": Curve.of([20.0, 30.0], [80.0, 82.0]),
        "c": Curve.of([40.0], [0.0]),
    }
    ahead = crossings(found, "ours")
    assert [(start, end, who) for start, end, who, _ in ahead] == [(1, 2, "a"), (4, 10, "a"), (30, 40, "b")]
    assert [lead for *_, lead in ahead] == [np.inf, 10.0, 2.0]  # a tie (b at 20) is nobody's lead


def test_ours_not_begun_and_ours_behind_are_two_stretches():
    found = {"ours": Curve.of([2.0, 3.0], [40.0, 60.0]), "a": Curve.of([1.0], [50.0])}
    assert crossings(found, "ours") == [(1.0, 2.0, "a", np.inf), (2.0, 3.0, "a", 10.0)]


def row(count, seed, seconds, accuracy=50.0, status="ok"):
    return {"n_components": count, "seed": seed, "seconds": seconds, "accuracy": accuracy, "status": status}


def test_a_rung_counts_when_all_its_seeds_ended_in_time():
    rows = [row(50, 1, 1.0), row(50, 0, 2.0), row(100, 0, 3.0), row(100, 1, 11.0), row(200, 0, 4.0),
            row(400, 0, None, status="no memory"), row(400, 1, None, status="no memory")]  # fmt: skip
    found = curves_report.rungs(rows, seeds=2, limit=10.0)
    assert list(found) == [50]
    assert [own["seed"] for own in found[50]] == [0, 1]


def test_areas_of_seeds_lie_around_that_of_the_mean():
    low_rung, high_rung = [row(50, 0, 1.0, 50.0), row(50, 1, 3.0, 54.0)], [row(100, 0, 20.0), row(100, 1, 20.0)]
    ladder = {50: low_rung, 100: high_rung}
    (low, high, other), found = curves_report.areas({"FBTWSVM": ladder, "rival": ladder}, "FBTWSVM", 2)
    assert (low, high, other) == (2.0, 20.0, 20.0)
    value, single, _ = found["rival"]
    assert value == pytest.approx(52.0)
    assert single == [pytest.approx(50.0), pytest.approx(54.0)]


def tiny_race(n=120):
    random = np.random.default_rng(0)
    y = random.integers(0, 3, n)
    X = (random.normal(size=(n, 4)) + 3 * np.eye(3, 4)[y]).astype(np.float32)
    return X, y


@pytest.mark.parametrize("method", list(rivals.METHODS))
def test_choices_are_made_on_training_rows_alone(method):
    X, y = tiny_race()
    race = curves.Race(X, y, None, None)  # to look at test rows would be an error
    accuracy, settings = curves.choose(race, method, 0.1, 20)
    assert settings in rivals.METHODS[method].choices
    assert accuracy > 60


def test_an_edge_of_the_grid_is_told():
    assert rivals.at_edge(rivals.LINEAR, {"C": 1000.0}) == ["C"]
    assert rivals.at_edge(rivals.LINEAR, {"C": 1.0}) == []
    assert rivals.at_edge(rivals.OURS, {"C": 1.0, "reg": 0.001}) == ["reg"]


def climbing(tmp_path, monkeypatch, **options):
    """Climb the quick ladder with stand-ins for the fits; returns the jobs that were done."""
    done = []

    def do(race, record, key, gamma, settings):
        done.append((key["method"], key["n_components"], key["seed"]))
        slow = key["method"] == rivals.LINEAR
        return record.add(**key, status="ok", seconds=5.0 if slow else 0.1, accuracy=50.0)

    monkeypatch.setattr(curves, "do", do)
    plan = Plan(tmp_path, quick=True, seeds=2, limit=2.0, **options)
    record = plan.record("curves", curves.COLUMNS, curves.KEY)
    curves.climb(None, "letter", plan, record, 0.1, {method: {} for method in rivals.METHODS})
    return done


def test_a_ladder_ends_where_a_fit_passes_the_limit(tmp_path, monkeypatch):
    done = climbing(tmp_path, monkeypatch)
    assert done[:4] == [(method, 50, 0) for method in rivals.METHODS]  # in turns
    assert [job for job in done if job[0] == rivals.LINEAR] == [(rivals.LINEAR, 50, 0)]
    assert len(done) == 3 * 4 + 1


def test_finished_jobs_are_not_done_again(tmp_path, monkeypatch):
    before = climbing(tmp_path, monkeypatch)
    lines = (tmp_path / "curves.csv").read_text().splitlines(keepends=True)
    (tmp_path / "curves.csv").write_text("".join(lines[:-3]) + lines[-3][:10])  # killed while it wrote
    assert climbing(tmp_path, monkeypatch, resume=True) == before[-3:]
    assert climbing(tmp_path, monkeypatch, resume=True) == []
    assert climbing(tmp_path, monkeypatch) == before


def test_what_does_not_fit_in_memory_is_written_down(tmp_path, monkeypatch):
    monkeypatch.setattr(curves, "too_large", lambda needed: needed > 120 * 50 * 20)
    X, y = tiny_race()
    race, plan = curves.Race(X, y, X, y), Plan(tmp_path, quick=True)
    record = plan.record("curves", curves.COLUMNS, curves.KEY)
    found = [
        curves.do(race, record, {"dataset": "a", "method": m, "n_components": 50, "seed": 0}, 0.1, {})["status"]
        for m in (rivals.OURS, rivals.LINEAR)
    ]
    assert found == ["ok", "no memory"]


# records


def test_rows_come_back_as_they_were(tmp_path):
    record = Record(tmp_path / "a.csv", ("name", "seed", "value", "note"), key=("name", "seed"))
    first_row = record.add(name="x, y", seed=0, value=np.float64(1 / 3), note='{"C": 1.0}')
    record.add(name="z", seed=1, value=2.0)
    again = Record(tmp_path / "a.csv", ("name", "seed", "value", "note"), key=("name", "seed"), resume=True)
    assert again.find(name="x, y", seed=0) == first_row
    assert again.find(name="z", seed=1)["note"] is None
    assert again.find(name="z", seed=0) is None
    assert again.select(seed=1) == [again.rows[1]]
    with pytest.raises(ValueError, match="told by"):
        again.find(name="z")
    with pytest.raises(ValueError, match="no columns"):
        again.add(colour="red")


def test_results_of_other_sizes_do_not_mix(tmp_path):
    Record(tmp_path / "a.csv", ("name",), key=("name",), quick=True).add(name="x")
    with pytest.raises(SystemExit, match=r"quick sizes; this is .* full sizes"):
        Record(tmp_path / "a.csv", ("name",), key=("name",), resume=True)
    with pytest.raises(SystemExit, match="other columns"):
        Record(tmp_path / "a.csv", ("name", "more"), key=("name",), quick=True, resume=True)


def test_summary_says_what_was_reached(capsys):
    wanted = [at_most("a", "ratio", 1.4, 1.5), at_least("a", "faster", 1.4, 1.6), at_most("b", "x", np.nan, 1.0)]
    assert [w.reached for w in wanted] == [True, False, False]
    summary(wanted, quick=False)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("|")[4].strip() for line in lines[2:]] == ["reached", "not reached", "not reached"]
    assert "ratio: at most 1.5" in lines[2]
    summary(wanted, quick=True)
    assert "nothing more" in capsys.readouterr().out


# measuring


def test_runs_take_turns_and_threads_are_held():
    calls = []

    def pools():
        return {pool["num_threads"] for pool in threadpool_info()}

    runs = {"a": measure.Run(lambda: calls.append("a") or pools()), "b": measure.Run(lambda: calls.append("b"))}
    times = measure.interleaved(2, runs)
    assert calls == ["a", "b"] * 2
    assert times["a"].result == {1}
    assert len(times["b"].seconds) == 2


def test_a_ratio_lies_within_its_rounds():
    found = measure.ratio(measure.Times([2.0, 3.0, 8.0]), measure.Times([4.0, 1.0, 2.0]))
    assert (found.value, found.low, found.high) == (2.0, 0.5, 4.0)


def test_exponent():
    sizes = np.array([10.0, 100.0, 1000.0])
    assert measure.exponent(sizes, 3 * sizes**1.3) == pytest.approx(1.3)
    assert np.isnan(measure.exponent([10.0], [1.0]))


@pytest.mark.parametrize(("value", "text"), [(1234.5, "1,234"), (12.345, "12.3"), (0.01234, "0.0123"), (0, "0")])
def test_numbers_have_three_digits(value, text):
    assert measure.number(value) == text


def test_peak_memory_counts_what_is_freed_again_and_not_what_was_there_before():
    def work():
        np.ones(8_000_000)  # 64 MB, gone at once
        return "done"

    found = memory.measured(work)
    assert 60e6 < found.peak < 80e6
    assert found.result == "done"
    kept = np.ones(8_000_000)
    assert memory.measured(lambda: None).peak < 8e6
    assert kept[0] == 1


def test_memory_that_lies_freed_in_the_heap_does_not_hide_what_is_used():
    def small_blocks():
        return [b"x" * (60_000 + number % 7) for number in range(1_000)]

    pin = small_blocks()[-1]  # the end of the heap stays in use, so the rest of it is not given back by itself
    assert 50e6 < memory.measured(small_blocks).peak < 80e6
    assert len(pin) > 0


# the floor


def test_floor_is_the_sum_over_rows():
    random = np.random.default_rng(0)
    X = random.normal(size=(300, 5)).astype(np.float32)
    y = np.repeat([2, 0, 1], [200, 90, 10])[random.permutation(300)]
    landmarks, normalisation = X[:40].copy(), random.normal(size=(40, 40)).astype(np.float32) / 6
    found = floor.floor(X, y, landmarks, normalisation, 0.1)
    distances = np.square(X[:, None].astype(float) - landmarks).sum(axis=2)
    mapped = np.exp(-0.1 * distances) @ normalisation.astype(float)
    assert [matrix.shape for matrix in found] == [(40, 40), (10, 10), (40, 40)]  # class 1 has fewer rows than features
    for k in (0, 2):
        naive = sum(np.outer(z, z) for z in mapped[y == k])
        np.testing.assert_allclose(found[k], naive, rtol=1e-4, atol=1e-4)
    few = mapped[y == 1]
    np.testing.assert_allclose(found[1], [[a @ b for b in few] for a in few], rtol=1e-4, atol=1e-4)


def test_floor_is_that_of_many_tiles(monkeypatch):
    X, y = tiny_race(300)
    given = X[:20].copy(), np.eye(20, dtype=np.float32)
    whole = floor.floor(X, y, *given, 0.1)
    monkeypatch.setattr(floor, "TILE", 64)
    for one, other in zip(whole, floor.floor(X, y, *given, 0.1), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


# profile


def test_own_seconds_leave_out_those_of_others(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(profile.time, "perf_counter", lambda: now[0])
    clock = profile.Clock()

    def spend(seconds):
        now[0] += seconds

    inner = clock.wrap(spend, "inner")

    def work():
        spend(1.0)
        inner(2.0)
        inner(3.0)

    clock.wrap(work, "outer")()
    assert clock.seconds == {"inner": 5.0, "outer": 6.0}
    assert clock.own == {"inner": 5.0, "outer": 1.0}
    assert clock.calls == {"inner": 2, "outer": 1}


def test_functions_are_wrapped_wherever_they_were_imported_and_put_back():
    from fbtwsvm.batch import prepare as preparing
    from fbtwsvm.model import mapping as maps
    from fbtwsvm.model import rows

    before = rows.arrange, maps.Mapping.fit
    assert preparing.arrange is before[0]
    X, y = tiny_race()
    with profile.clocked(
        [("fbtwsvm.model.rows.arrange", "arrange"), ("fbtwsvm.model.mapping.Mapping.fit", "map")]
    ) as clock:
        FBTWSVM(feature_map="fourier", n_components=20, gamma=0.1).fit(X, y)
    assert clock.calls == {"arrange": 1, "map": 1}
    assert (preparing.arrange, maps.Mapping.fit) == before


def test_a_name_that_does_not_exist_is_an_error():
    with (
        pytest.raises(AttributeError, match=r"fbtwsvm.maps.Mapping.no_such does not exist"),
        profile.clocked([("fbtwsvm.model.mapping.Mapping.no_such", "nothing")]),
    ):
        pass
    with pytest.raises(ModuleNotFoundError), profile.clocked([("fbtwsvm.no_such.thing", "nothing")]):
        pass


# chunks


def test_chunks_can_be_read_again(tmp_path):
    random = np.random.default_rng(0)
    X, y = random.normal(size=(25, 3)).astype(np.float32), random.integers(0, 2, 25)
    chunks.write(tmp_path, X, y)
    parts = chunks.Chunks(tmp_path, 25, 3, size=10)
    for _ in range(2):
        found = list(parts)
        assert [len(labels) for _, labels in found] == [10, 10, 5]
        np.testing.assert_array_equal(np.concatenate([rows for rows, _ in found]), X)
        np.testing.assert_array_equal(np.concatenate([labels for _, labels in found]), y)


# tiny runs


def test_quick_floor_with_a_process_for_the_memory(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "CASES", {name: cases.CASES[name] for name in ("mnist, 1,000",)})
    wanted, rows = quick(tmp_path, "floor")
    assert {int(r["threads"]) for r in rows} == {1, measure.CORES}
    one = next(r for r in rows if r["threads"] == "1")
    assert float(one["ratio"]) == pytest.approx(float(one["fit_s"]) / float(one["floor_s"]))
    assert int(one["mapped_bytes"]) == 4 * 900 * cases.QUICK_FEATURES
    assert int(one["peak_bytes"]) > 0
    assert float(one["accuracy"]) > 80
    assert len(wanted) == 4  # ratio, gap, memory, the whole


def test_quick_classes(folder, here, tmp_path):
    wanted, rows = quick(tmp_path, "classes")
    assert {r["method"] for r in rows} == {classes.THEIRS, classes.DISTANCE, classes.DEFAULT, classes.SIDE_BY_SIDE}
    assert all(float(r["accuracy"]) > 80 for r in rows)
    assert len(wanted) == 4
    ours = next(r for r in rows if (r["method"], r["step"]) == (classes.DISTANCE, "predict"))
    speed = next(w for w in wanted if "predict" in w.text)
    assert float(speed.found) == pytest.approx(1 / float(ours["ratio"]), rel=0.01)


def test_quick_curves(folder, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(curves, "SETS", ("covtype",))
    wanted, rows = quick(tmp_path, "curves", "--seeds", "2")
    assert len(rows) == 4 * 2 * 2
    assert [w.text.split(":")[0] for w in wanted] == ["covtype"]
    assert "Where another method is ahead" in capsys.readouterr().out
    with (tmp_path / "out" / "curves_settings.csv").open() as file:
        chosen = list(csv.DictReader(file))
    assert len({r["gamma"] for r in chosen}) == 1  # the same width for all
    used = {(r["dataset"], r["method"], r["settings"]) for r in rows}
    assert used == {(r["dataset"], r["method"], r["settings"]) for r in chosen}


@pytest.mark.parametrize("make", [growth.by_rows, growth.by_features, growth.by_classes, growth.by_chunk])
def test_quick_growth(folder, tmp_path, make):
    plan = Plan(tmp_path, quick=True, repeats=1)
    record = plan.record("growth", growth.COLUMNS)
    section = make(plan)
    growth.sweep(section, plan, record)
    found = growth.points(record, section.name, rivals.OURS)
    assert [point[0] for point in found] == list(section.sizes)
    assert all(least <= most for _, least, most, *_ in found)
    assert len(growth.report(record, section)) == 2
    slope, extent = growth.exponents(record, [section], 0)
    assert np.isnan(slope) == (make is not growth.by_rows)
    assert extent == ("200 to 800" if make is growth.by_rows else "-")


def test_quick_fit_of_chunks(folder, here, tmp_path):
    (wanted,) = chunks.run(Plan(tmp_path, quick=True))
    assert "largest over smallest of 600 to 1,200 rows" in wanted.text


def test_quick_predict(folder, tmp_path):
    wanted, rows = quick(tmp_path, "predict")
    assert len(rows) == 2 * len({1, measure.CORES})
    assert all(float(r["accuracy"]) > 80 for r in rows)
    assert len(wanted) == 1


def test_quick_profile(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(cases, "CASES", {name: cases.CASES[name] for name in ("SEA",)})
    _, rows = quick(tmp_path, "profile")
    for name in ("SEA", "coil"):
        assert sum(float(r["share"]) for r in rows if r["case"] == name) == pytest.approx(1.0)
        assert int(next(r["calls"] for r in rows if (r["case"], r["label"]) == (name, "map"))) == 1


def test_imports_are_counted_less_the_start_of_python(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(first, "seconds_of", lambda code: 0.5 if code == first.BARE else 0.75)
    runs = iter([{"seconds": 8.0, "peak_bytes": 3e8, "gap": 1e-4}, {"seconds": 2.0, "peak_bytes": 2e8, "gap": 1e-4}])
    folders = []
    monkeypatch.setattr(first, "first_model", lambda cache: folders.append(cache) or next(runs))
    (wanted,), rows = quick(tmp_path, "first")
    assert wanted.found == "0.250"
    assert wanted.reached
    assert folders[0] == folders[1]  # warm is the cold one's folder again
    assert [r["what"] for r in rows] == ["cold", "warm", *first.IMPORTS]


@pytest.mark.parametrize("given", [[], ["--plain"]])
def test_quick_tuning(folder, tmp_path, given):
    wanted, rows = quick(tmp_path, "tuning", *given)
    assert [r["method"] for r in rows] == ["FBTWSVMCV", "FBTWSVMCV, early_stop", "GridSearchCV"]
    assert [int(r["estimated"]) for r in rows] == [0, 0, int(not given)]
    assert len(wanted) == (4 if given else 3)


def test_quick_table_goes_on_where_it_ended(folder, tmp_path, monkeypatch):
    wanted, rows = quick(tmp_path, "table", "--seeds", "2")
    assert len(rows) == 2 * (1 + 2 * 2)
    assert len(wanted) == 2
    monkeypatch.setattr(nine, "do", None)  # to do anything again would be an error
    assert quick(tmp_path, "table", "--seeds", "2", "--resume") == (wanted, rows)


def test_tuned_svc_of_a_part_is_fitted_on_all_rows(monkeypatch):
    monkeypatch.setattr(nine, "MOST_TUNING_ROWS", {"mnist": 60})
    X, y = tiny_race()
    model, chosen = nine.tuned_svc("mnist", X, y, quick=True)
    assert model.shape_fit_ == X.shape
    assert model.get_params()["C"] == chosen["C"]


def test_verdict_of_the_table_counts_ties_and_takes_the_worst(tmp_path):
    plan = Plan(tmp_path, quick=True, seeds=2)
    record = plan.record("table", nine.COLUMNS, nine.KEY)
    for name, theirs, ours in (("a", 90.0, (90.0, 90.0)), ("b", 90.0, (89.0, 89.5)), ("c", 90.0, (91.0, 90.0))):
        record.add(dataset=name, method=nine.THEIRS, seed=0, accuracy=theirs, seconds=1.0, peak_bytes=1)
        for seed, accuracy in enumerate(ours):
            found = {"dataset": name, "seed": seed, "accuracy": accuracy, "seconds": 1.0, "peak_bytes": 1, "gap": 0.0}
            for method in (nine.UNTUNED, nine.TUNED):
                record.add(method=method, **found)
    count, deficit = nine.report(plan, record, ("a", "b", "c"))
    assert (count.found, count.reached) == ("2", False)
    assert (deficit.found, deficit.reached) == ("0.750", False)


# real data


def test_cases_are_what_they_say(data_folder):
    data = cases.CASES["isolet"].load()
    assert data.X.dtype == np.float32
    assert data.X.shape == (6_238, 617)
    assert data.gamma == pytest.approx(0.5 / (617 * data.X.var()))
    assert data.mapped_bytes == 6_238 * 4_000
    race = curves.data("letter", quick=False)
    np.testing.assert_allclose(race.X.mean(axis=0), 0, atol=1e-5)
    assert np.abs(race.X_test.mean(axis=0)).max() > 1e-3  # its scale is that of the training rows
    assert len(np.unique(classes.data("coil", quick=True)[1])) == 6


# the command


def test_options():
    parts, plan = bench.parse([])
    assert parts == ["floor", "classes", "growth", "curves", "tuning", "table", "predict", "first", "profile"]
    assert (plan.repeats, plan.seeds, plan.limit, str(plan.out)) == (3, 5, 60.0, "out/bench")
    parts, plan = bench.parse(["predict", "floor", "--quick", "--seeds", "2"])
    assert parts == ["floor", "predict"]
    assert (plan.repeats, plan.seeds, plan.limit) == (1, 2, 2.0)


@pytest.mark.parametrize(("arguments", "message"), [(["cat"], "cat is not among"), (["--seeds", "0"], "above zero")])
def test_wrong_options_are_told(arguments, message, capsys):
    with pytest.raises(SystemExit):
        bench.parse(arguments)
    assert message in capsys.readouterr().err


def test_settings_are_written_as_json(folder, tmp_path):
    plan = Plan(tmp_path, quick=True, seeds=1)
    record = plan.record("table", nine.COLUMNS, nine.KEY)
    parts = nine.data("border", quick=True)
    found = nine.do(record, {"dataset": "border", "method": nine.UNTUNED, "seed": 0}, parts, quick=True)
    assert json.loads(found["settings"])["gamma"] > 0
    assert found["gap"] <= 1e-3
