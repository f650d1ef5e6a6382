"""Fits on a Dask cluster: equal to those of one process, faster with two workers, and flat in memory."""

import tempfile

import dask.array as da
import numpy as np
from sklearn.preprocessing import StandardScaler

from benchmarks.cluster.workers import FileChunks, cluster, file_arrays, timed_fit, write_rows
from benchmarks.harness.data import load_stream
from benchmarks.harness.internals import plane_distance
from benchmarks.harness.job import run_apart
from benchmarks.harness.measure import measured, peak_memory
from benchmarks.harness.table import mebibytes, number, progress, table
from fbtwsvm import FBTWSVM

COLUMNS = 20
PART = 62_500  # rows of a partition
SETS = ("SEA_1M", "covtype")


def model(n_components, **changes):
    return FBTWSVM(feature_map="fourier", n_components=n_components, gamma=0.05, random_state=0, **changes)


def equal_job(name, rows, n_components, tol, counts):
    """Yield how far fits on a cluster are from fits of the same rows in one process."""
    X, y = load_stream(name, 2 * rows)
    order = np.random.default_rng(0).permutation(len(y))
    X = StandardScaler().fit_transform(X[order]).astype(np.float64)
    y = y[order]
    half = len(y) // 2
    X, y, X_test = X[:half], y[:half], X[half:]
    chunks = [(X[i : i + 10_000], y[i : i + 10_000]) for i in range(0, half, 10_000)]
    memory = model(n_components, tol=tol, max_iter=100_000).fit(X, y)
    disk = model(n_components, tol=tol).fit(chunks)
    exact = model(n_components, tol=1e-9, max_iter=1_000_000).fit(X, y) if tol < 1e-4 else None
    for count in counts:
        cuts = np.sort(np.random.default_rng(count).integers(0, half, count - 1))
        cuts[1:2] = cuts[:1]  # an empty partition
        sizes = tuple(np.diff([0, *cuts, half]).tolist())
        with cluster(2):
            found = model(n_components, tol=tol).fit(
                da.from_array(X, chunks=(sizes, -1)), da.from_array(y, chunks=(sizes,))
            )
        answers = found.predict(X_test)
        yield {
            "partitions": count,
            "gap": float(found.duality_gap_.max()),
            "passes": found.n_passes_,
            "disk": plane_distance(found, disk, X, y),
            "memory": plane_distance(found, memory, X, y),
            "solution": None if exact is None else plane_distance(found, exact, X, y),
            "memory_solution": None if exact is None else plane_distance(memory, exact, X, y),
            "disk_answers": float(np.mean(answers == disk.predict(X_test))),
            "memory_answers": float(np.mean(answers == memory.predict(X_test))),
        }


def equal(plan):
    rows, n_components, counts = plan.pick((50_000, 300, (1, 3, 17)), (21_000, 20, (1, 3)))
    lines = []
    for name in plan.chosen(SETS):
        for tol in (1e-3, 1e-6):
            progress(f"{name}, tol {tol:g}")
            for found in run_apart(equal_job, {"name": name, "rows": rows, "n_components": n_components, "tol": tol,
                                               "counts": counts}):  # fmt: skip
                if found["status"] != "ok":
                    lines.append([name, f"{tol:g}", found.get("why", found["status"]), *[""] * 6])
                    continue
                distances = [f"{found[key]:.1e}" if found[key] is not None else "-"
                             for key in ("disk", "memory", "solution", "memory_solution")]  # fmt: skip
                shares = [f"{100 * found[key]:.2f}" for key in ("disk_answers", "memory_answers")]
                head = [name, f"{tol:g}", found["partitions"], found["passes"], f"{found['gap']:.1e}"]
                lines.append([*head, *distances, *shares])
    header = ["data", "tol", "partitions", "passes", "largest gap", "to chunks", "to array", "to solution",
              "array to solution", "same answers as chunks: %", "as array: %"]  # fmt: skip
    title = (
        f"{rows:,} rows, {n_components} features: distance of planes, ||u - v|| / ||v|| in the norm of the problem,\n"
    )
    title += "from a fit of chunks and of an array in one process, and from the solution (an array, tol 1e-9)"
    table(header, lines, title)


def speed_job(folder, rows, n_components, n_workers):
    """Yield the seconds of a fit of files: on a cluster, or with no workers in this process."""
    if not n_workers:
        model(20, n_jobs=1).fit(FileChunks(folder, 2 * PART if rows >= 2 * PART else rows, min(PART, rows)))  # compiles
        _, seconds, _ = timed_fit(model(n_components, n_jobs=1), FileChunks(folder, rows, min(PART, rows)))
        yield {"seconds": seconds, "passes": None, "names": None}
        return
    with cluster(n_workers):
        X, y = file_arrays(folder, rows, COLUMNS, min(PART, rows))
        model(20).fit(X, y)  # compiles, on the workers too
        _, seconds, passes = timed_fit(model(n_components), X, y)
        yield {"seconds": seconds, "passes": sum(spent for _, spent in passes), "names": passes}


def speed(plan):
    rows, n_components, repeats = plan.pick((2_000_000, 1000, plan.repeats or 3), (125_000, 30, 1))
    found = {0: [], 1: [], 2: []}
    with tempfile.TemporaryDirectory() as folder:
        write_rows(folder, rows, COLUMNS, min(PART, rows))
        for turn in range(repeats):
            for n_workers in found:
                progress(f"round {turn + 1}: {n_workers or 'no'} workers")
                (result,) = run_apart(
                    speed_job,
                    {"folder": folder, "rows": rows, "n_components": n_components, "n_workers": n_workers},
                )
                if result["status"] != "ok":
                    raise SystemExit(f"{n_workers} workers: {result['why']}")
                found[n_workers].append(result)
    lines = []
    for n_workers, name in ((0, "chunks, one process"), (1, "one worker"), (2, "two workers")):
        seconds = [result["seconds"] for result in found[n_workers]]
        passes = [result["passes"] for result in found[n_workers] if result["passes"]]
        lines.append([name, number(min(seconds)), number(max(seconds)), number(min(passes)) if passes else "-"])
    title = (
        f"{rows:,} rows x {COLUMNS} in files of {PART:,}, float32, {n_components} features, {repeats} rounds in turn"
    )
    table(["", "seconds: least", "most", "of these, passes"], lines, title)
    gain = [one["passes"] / two["passes"] for one, two in zip(found[1], found[2], strict=True)]
    cost = [one["seconds"] / none["seconds"] for one, none in zip(found[1], found[0], strict=True)]
    table(
        ["", "each round", "wanted"],
        [
            ["passes of one worker / of two", ", ".join(f"{ratio:.2f}" for ratio in gain), "at least 1.7"],
            ["one worker / chunks in one process", ", ".join(f"{ratio:.2f}" for ratio in cost), "at most 1.20"],
        ],
        "Ratios",
    )
    last = {number: dict(found[number][-1]["names"]) for number in (1, 2)}
    table(
        ["pass", "one worker: s", "two workers: s"],
        [[name, number(last[1][name]), number(last[2].get(name))] for name in last[1]],
        "The last pass of each kind, in the last round",
    )
    on_paper(rows, n_components, found[1][-1]["names"])


def on_paper(rows, n_components, passes, workers=100, many=10**9, wanted=2000, bandwidth=1e9):
    """Print what a fit of very many rows on many workers would take, from the seconds of one worker."""
    spent = dict(passes)
    each = {name: seconds / rows for name, seconds in spent.items()}  # the last pass of each kind, for one row
    steps = sum(name == "Newton step" for name, _ in passes)
    columns = wanted / n_components
    gram = (each["sums of the classes"] - each["ranges of the memberships"]) * columns**2
    linear = each["ranges of the memberships"] * 2 + steps * each["Newton step"] + each["support rows"]
    reading = each["check"] + each["sample"] + each["chosen rows"]
    work = many / workers * (gram + linear * columns + reading)
    down, up = 8 * wanted * (COLUMNS + 2 * 2), 2 * 8 * (wanted + 1) * (wanted + 2)
    levels = int(np.ceil(np.log(workers) / np.log(8)))
    travel = (steps + 1) * levels * 8 * up / bandwidth
    table(
        ["", "figure"],
        [
            ["to each worker in a Newton step: frequencies and planes, MiB", mebibytes(down)],
            ["from each task: gradient and Hessian of two planes, MiB", mebibytes(up)],
            ["on the way, if sums of eight go over a line of 1 GB/s: s", number(travel)],
            ["work of a worker, in all passes: s", number(work)],
            ["together: minutes", number((work + travel) / 60)],
        ],
        f"On paper: {many:,} rows x {COLUMNS}, {wanted:,} features, {workers} workers with one thread, {steps} steps",
    )


def memory_job(folder, rows, n_components):
    """Yield the peak memory of the client and of the worker with the highest one, above that after a small fit."""
    with cluster(2) as client:
        X, y = file_arrays(folder, rows, COLUMNS, min(PART, rows))
        model(20).fit(X[: 4 * 10_000], y[: 4 * 10_000])  # compiles
        before = client.run(peak_memory, "VmRSS")
        client.run(_reset_peak)
        here = measured(lambda: model(n_components).fit(X, y))
        after = client.run(peak_memory)
        workers = max(after[name] - before[name] for name in before)
        yield {"client": here.peak, "worker": workers, "seconds": here.seconds}


def _reset_peak():
    with open("/proc/self/clear_refs", "w") as mark:
        mark.write("5")


def memory(plan):
    sizes, n_components = plan.pick(((1_000_000, 4_000_000), 1000), ((62_500, 125_000), 30))
    lines = []
    for rows in sizes:
        progress(f"memory: {rows:,} rows")
        with tempfile.TemporaryDirectory() as folder:
            write_rows(folder, rows, COLUMNS, min(PART, rows))
            (found,) = run_apart(memory_job, {"folder": folder, "rows": rows, "n_components": n_components})
        if found["status"] != "ok":
            raise SystemExit(found["why"])
        lines.append([f"{rows:,}", mebibytes(found["worker"]), mebibytes(found["client"]), number(found["seconds"])])
    mapped, square = 4 * PART * (n_components + 1), 8 * (n_components + 1) ** 2
    title = (
        f"Peak memory of a fit on two workers, above that before it: {COLUMNS} columns, {n_components} features, two "
        f"classes.\nA partition of {PART:,} rows takes {mebibytes(4 * PART * COLUMNS)} MiB, mapped it would take "
        f"{mebibytes(mapped)} MiB; a Gram matrix takes {mebibytes(square)} MiB"
    )
    table(["rows", "a worker: MiB", "the client: MiB", "seconds"], lines, title)
