"""Accuracy: the paper's settings and ours beside every rival, in one pass over the training rows.

Accuracy on the test part after one pass and prequential accuracy (each chunk is tested before it is learned) are two
tables. docs/paper.md says how to read them.
"""

import os

import numpy as np

from benchmarks.harness.data import load
from benchmarks.harness.table import table
from benchmarks.paper import figures, published
from benchmarks.paper.jobs import BATCH, COLUMNS, OURS, PAPER, Job, choose, do_all, learn
from benchmarks.paper.settings import BATCH as BATCH_RIVALS
from benchmarks.paper.settings import NEEDS, ONE_PASS, RIVALS
from benchmarks.paper.significance import difference
from benchmarks.paper.tables import available, best_mean_sd, mean, mean_sd, plain, values

SHARES = {"coil": 0.5, "outdoor": 0.5, "dna": 0.5}  # of the training rows that ours may keep; a tenth of others
METHODS = (PAPER, BATCH, OURS, *ONE_PASS, *BATCH_RIVALS)


def choices(record, plan, names):
    """Choose settings on training rows; returns for each data set the parameters by group."""
    chosen = {name: {} for name in names}
    for groups, needed in ((("ours", "svc", "orf", "ilvq"), ()), (("sgd", "linear"), ("svc",))):
        jobs = []
        for name in names:
            known = {group: chosen[name][group] for group in needed if group in chosen[name]}
            if len(known) == len(needed):
                options = {"quick": plan.quick, "chosen": known}
                jobs += [Job(choose, name, group, "settings", options=options, limited=False) for group in groups]
        for job, results in zip(jobs, do_all(record, jobs, None, os.cpu_count()), strict=True):
            if results[-1]["status"] == "ok":
                chosen[job.dataset][job.method] = results[-1]["parameters"]
            else:
                print(f"No settings for {job.method} on {job.dataset}: {results[-1]['why']}")
    return chosen


def measure(record, plan, names, chosen, seeds, limit):
    """Return the results by data set and method."""
    jobs = []
    for name in names:
        for method in METHODS:
            known = {group: chosen[name][group] for group in NEEDS.get(method, ()) if group in chosen[name]}
            if len(known) == len(NEEDS.get(method, ())):
                options = {"seeds": seeds, "share": SHARES.get(name, 0.1), "chosen": known, "duals": False}
                limited = method in (PAPER, *RIVALS) or name == "susy"
                jobs.append(Job(learn, name, method, "accuracy", options=options, limited=limited))
    found = {name: dict.fromkeys(METHODS, ()) for name in names}
    for job, results in zip(jobs, do_all(record, jobs, limit, os.cpu_count()), strict=True):
        found[job.dataset][job.method] = results
    return found


def print_ours(found, chosen):
    lines = []
    for name, results in found.items():
        best, middle, spread, *_, marked = published.ACCURACY[name]
        paper, batch, own = results[PAPER], results[BATCH], results[OURS]
        faithful = values(paper) or values(batch)
        reached, above = "-", "-"
        if faithful:
            sd = np.std(faithful, ddof=1) if len(faithful) > 1 else 0.0
            gap = np.mean(faithful) - middle
            reached = "yes" if gap >= -max(spread, sd) else f"no, {gap:+.2f}"
        if values(own):
            above = "yes" if mean(own) >= best else f"no, {mean(own) - best:+.2f}"
        ours = chosen[name].get("ours", {})
        landmarks = ours.get("n_components") if ours.get("feature_map") == "nystroem" else 0
        kept = f"{plain(mean(own, 'kept'), 0)} of {plain(mean(own, 'rows'), 0)}"
        printed = [f"{best:.2f}{'*' if marked else ''}", f"{middle:.2f} +- {spread:.2f}"]
        lines.append([name, *printed, best_mean_sd(paper), mean_sd(batch), reached, best_mean_sd(own), above, kept,
                      f"{landmarks:,}"])  # fmt: skip
    header = ["data", "paper: best", "paper: mean +- sd", "paper's settings here: best / mean +- sd",
              "the same, all rows at once", "paper's mean reached", "our settings: best / mean +- sd",
              "mean at or above the paper's best", "rows kept by ours", "landmarks of its map"]  # fmt: skip
    table(header, lines, "Accuracy on the test part after one pass, in %: the paper and this library")


def print_rivals(found):
    header = ["data", OURS, *ONE_PASS, *(f"{method} (batch)" for method in BATCH_RIVALS)]
    methods = (OURS, *ONE_PASS, *BATCH_RIVALS)
    lines = [[name, *(mean_sd(results[method]) for method in methods)] for name, results in found.items()]
    table(header, lines, "Accuracy on the test part, in %: rivals")
    for name, results in found.items():
        for method in methods:
            for row in results[method]:
                if row["status"] in ("failed", "out of memory"):
                    print(f"{method} on {name}: {row['status']}, {row['why']}")


def print_prequential(found):
    lines = []
    for name, results in found.items():
        printed = dict(zip(published.RIVALS, published.ACCURACY[name][3:7], strict=True))
        cells = [mean_sd(results[method], "prequential") for method in (PAPER, OURS)]
        for method in ONE_PASS:
            paper = f" ({plain(printed[method], 1)})" if method in printed else ""
            cells.append(mean_sd(results[method], "prequential") + paper)
        lines.append([name, *cells])
    title = "Prequential accuracy in %: each chunk is tested before it is learned (in brackets: printed in the paper)"
    table(["data", PAPER, OURS, *ONE_PASS], lines, title)


def print_verdict(found):
    lines = []
    for name, results in found.items():
        own, rivals = results[OURS], {m: results[m] for m in ONE_PASS if values(results[m])}
        if not values(own) or not rivals:
            lines.append([name, mean_sd(own), "-", "-", "-", "-"])
            continue
        best = max(rivals, key=lambda method: mean(rivals[method]))
        gap, low, high = difference(own, rivals[best], len(load(name)[3]))
        word = "above*" if low > 0 else "below*" if high < 0 else "no significant difference"
        interval = f"{gap:+.2f} ({low:+.2f} to {high:+.2f})"
        lines.append([name, mean_sd(own), best, mean_sd(rivals[best]), interval, word])
    header = ["data", OURS, "best rival", "its accuracy", "difference in points (95 % interval)", "verdict"]
    table(header, lines, "Our settings against the best rival in one pass (* significant at 95 %, paired bootstrap)")


def run(plan):
    record = plan.record("paper_accuracy", COLUMNS)
    names = available(plan.chosen(published.SETTINGS, ["border"]))
    chosen = choices(record, plan, names)
    found = measure(record, plan, names, chosen, plan.seeds or plan.pick(5, 1), plan.limit or plan.pick(1_200, 30))
    print_ours(found, chosen)
    print_rivals(found)
    print_prequential(found)
    print_verdict(found)
    figures.accuracy(found, plan.out / "paper_accuracy.png")
