"""Table 1, accuracy: the paper's settings and ours beside every rival, in one pass over the training rows.

Two things are kept apart: accuracy on the test part after one pass, and prequential accuracy (each chunk is tested
before it is learned).
"""

from benchmarks.data import Missing, fetch, find
from benchmarks.reproduce import accuracy_tables, published
from benchmarks.reproduce.accuracy_tables import OURS, PAPER, PAPER_BATCH, Found
from benchmarks.reproduce.methods import BATCH, LARGE, NEEDS, ONE_PASS, RIVALS
from benchmarks.reproduce.runs import Job

SHARES = {"coil": 0.5, "outdoor": 0.5, "dna": 0.5}  # of the training rows that ours may keep; a tenth of others


def choices(runner, plan, names, methods):
    """Choose settings on training rows; returns for each data set what was chosen, by group, and what failed."""
    wanted = {group for method in methods for group in NEEDS.get(method, ())}
    chosen, failed = {name: {} for name in names}, []
    for groups in (("ours", "svc", "orf", "ilvq"), ("sgd", "linear")):  # the second need the width of the first
        jobs = [
            Job(
                "settings", name, group, kind="choose", limited=False, size=published.SETTINGS[name].rows,
                options={"group": group, "quick": plan.quick,
                         "chosen": _needed(chosen[name], ("svc",) if group in ("sgd", "linear") else ())},
            )
            for name in names
            for group in groups
            if group in wanted and (group not in ("sgd", "linear") or "svc" in chosen[name])
        ]  # fmt: skip
        for job, results in zip(jobs, runner.do(jobs, at_once=plan.at_once), strict=True):
            if results[0]["status"] == "ok":
                chosen[job.dataset][job.method] = results[0]["parameters"]
            else:
                failed.append(f"No settings for {job.method} on {job.dataset}: {results[0]['why']}")
    return chosen, failed


def _needed(chosen, groups):
    return {group: chosen[group] for group in groups if group in chosen}


def _job(name, method, plan, chosen):
    options = {
        "seeds": plan.seeds,
        "share": SHARES.get(name, 0.1),
        "chosen": _needed(chosen, NEEDS.get(method, ())),
        **({"duals": False} if method == PAPER_BATCH else {}),
    }
    setting = "paper" if method in (PAPER, PAPER_BATCH) else "chosen" if method in NEEDS else "default"
    # the paper's procedure keeps all rows and solves again and again: it has a limit like the rivals
    limited, size = method in (PAPER, *RIVALS) or name in LARGE, published.SETTINGS[name].rows
    return Job("accuracy", name, method, setting=setting, options=options, limited=limited, size=size)


def run(runner, plan):
    """Measure, and return the tables."""
    names, missing = available(plan.datasets)
    methods = [PAPER, PAPER_BATCH, OURS, *(method for method in (*ONE_PASS, *BATCH) if method in plan.rivals)]
    chosen, failed = choices(runner, plan, names, methods)
    jobs = [_job(name, method, plan, chosen[name]) for name in names for method in methods]
    jobs = [job for job in jobs if len(job.options["chosen"]) == len(NEEDS.get(job.method, ()))]  # all that it needs
    found = {name: {} for name in names}
    for job, results in zip(jobs, runner.do(jobs, at_once=plan.at_once), strict=True):
        found[job.dataset][job.method] = results
    for name, why in missing.items():
        runner.rows.append({"table": "accuracy", "dataset": name, "method": "", "setting": "", "d": None,
                            "kind": "learn", "status": "missing", "why": why})  # fmt: skip
    return accuracy_tables.all_of_them(Found(found, missing, chosen, failed, plan))


def available(names):
    """Return the data sets that are to be had, and why the others are not."""
    there, missing = [], {}
    for name in names:
        try:
            if not find(name):
                fetch(name)
        except Missing as error:
            missing[name] = str(error)
        else:
            there.append(name)
    return there, missing
