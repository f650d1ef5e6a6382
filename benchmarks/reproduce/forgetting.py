"""Tables 2 and 3, forgetting and time: accuracy, stored points and seconds for the paper's d."""

from benchmarks.reproduce import published
from benchmarks.reproduce.accuracy import available
from benchmarks.reproduce.runs import Job, values
from benchmarks.reproduce.tables import Table, count, mean, mean_sd, plain

PAPER, EVERY, BATCH = "FBTWSVM, paper", "FBTWSVM, all rows in the sums", "FBTWSVM, batch"
WORDS = {
    PAPER: "the paper's procedure",
    EVERY: "all rows stay in the sums",
}


def measure(runner, plan, table, steps, *, batch):
    """Return results by data set, method and d; what another table has measured in this run is taken over."""
    names, missing = available(plan.datasets)
    shared = {"options": {"seeds": plan.seeds}, "limited": False}
    jobs = [Job(table, name, method, d=d, **shared) for name in names for method in (PAPER, EVERY) for d in steps]
    if batch:
        jobs += [Job(table, name, BATCH, **shared) for name in names]
    earlier = {job: again for job in range(len(jobs)) if (again := runner.again(jobs[job], "forgetting")) is not None}
    fresh = [number for number in range(len(jobs)) if number not in earlier]
    results = dict(zip(fresh, runner.do([jobs[number] for number in fresh]), strict=True))  # alone: seconds count
    for number, rows in earlier.items():
        results[number] = rows
        runner.rows += rows
    found = {(job.dataset, job.method, job.d): results[number] for number, job in enumerate(jobs)}
    return names, missing, found


def forgetting(runner, plan):
    """Table 2."""
    steps = published.STEPS
    names, missing, found = measure(runner, plan, "forgetting", steps, batch=True)
    rows = []
    for name in names:
        printed = published.FORGETTING[name]
        rows.append([name, "paper, printed", *(f"{p[0]:.2f} / {count(p[1])}" if p else "-" for p in printed)])
        for method, words in WORDS.items():
            cells = [_cell(found[name, method, d]) for d in steps]
            rows.append([name, words, *cells, _cell(found[name, BATCH, None]) if method == PAPER else ""])
    return [
        Table(
            "Forgetting: accuracy in % / nSV as the paper counts it / dual variables above zero",
            ["data", "who", *(f"d = {d}" if d else "d = none" for d in steps), "batch"],
            rows,
            [
                "d: how often a point may be found without weight in any pair before it is forgotten. nSV as the "
                "paper counts it "
                "is the number of stored points times the number of opponents (K - 1), not the number of points with "
                "weight, "
                "which stands behind it.",
                '"The paper\'s procedure": forgotten points leave the Gram matrices too. "All rows stay in the '
                'sums": the Gram '
                "matrices, whose size does not depend on the number of rows, keep every row; only its place among "
                "the points "
                "that push goes. New rows are then accepted by the optimality conditions.",
                f"{plan.seeds} seed(s), chunks of a twentieth (at least 100).",
                *(f"{name}: {why}" for name, why in missing.items()),
            ],
            ["forgetting.png"],
        )
    ]


def _cell(results):
    if not values(results, "accuracy"):
        return mean_sd(results)
    return f"{mean_sd(results)} / {count(mean(results, 'nsv'))} / {count(mean(results, 'duals'))}"


def time(runner, plan):
    """Table 3."""
    steps = (1, 10, None)
    names, missing, found = measure(runner, plan, "time", steps, batch=False)
    rows = []
    for name in names:
        printed = published.TIME[name]
        cells = [f"{plain(p[0])} / {plain(p[1])}" if p else "-" for p in printed]
        rows.append([name, "paper, printed", *cells, ""])
        for method, words in WORDS.items():
            results = [found[name, method, d] for d in steps]
            cells = [
                f"{plain(mean(r, 'train_s'))} / {plain(mean(r, 'test_s'))}" if values(r, "train_s") else mean_sd(r)
                for r in results
            ]
            ratios = [
                p[0] / mean(r, "train_s") for p, r in zip(printed, results, strict=True) if p and values(r, "train_s")
            ]
            rows.append([name, words, *cells, ", ".join(f"{ratio:.0f}" for ratio in ratios)])
    return [
        Table(
            "Time: seconds of training / of testing",
            ["data", "who", *(f"d = {d}" if d else "d = none" for d in steps), "paper's training time / ours"],
            rows,
            [
                "Ours: one thread, one job at a time, compiled before the clock runs, mean over seeds; testing "
                "includes the map. "
                "The paper's figures are MATLAB on an Intel i7-7700HQ with four cores, so that ratios compare "
                "programs and "
                "machines together.",
                *(f"{name}: {why}" for name, why in missing.items()),
            ],
            ["time.png"],
        )
    ]
