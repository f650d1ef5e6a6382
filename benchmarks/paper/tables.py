"""The paper's tables of accuracy, forgetting and time; docs/paper.md says how to read them."""

import itertools

import numpy as np

from benchmarks.harness.data import Missing, fetch, find, load
from benchmarks.harness.table import optional, table
from benchmarks.paper import figures, jobs, published
from benchmarks.paper.jobs import BATCH, COLUMNS, EVERY_ROW, OURS, PAPER, Job, choose, do, learn, mean, mean_sd, values
from benchmarks.paper.settings import BATCH_RIVALS, ONE_PASS, RIVALS

SHARES = {"coil": 0.5, "outdoor": 0.5, "dna": 0.5}  # of the training rows that ours may keep; a tenth of others
METHODS = (PAPER, BATCH, OURS, *ONE_PASS, *BATCH_RIVALS)
PROCEDURES = {PAPER: "the paper's procedure", EVERY_ROW: "all rows stay in the sums"}


def available(names):
    """Return the data sets that can be found; says why others cannot."""
    there = []
    for name in names:
        try:
            if not find(name):
                fetch(name)
            there.append(name)
        except Missing as missing:
            print(f"{name}: {missing}")
    return there


def choices(record, quick, names):
    chosen = {name: {} for name in names}
    for name, group in itertools.product(names, ("ours", "svc", "orf", "ilvq", "sgd", "linear")):
        known = {"svc": chosen[name].get("svc")} if group in ("sgd", "linear") else {}  # they take its gamma
        options = {"quick": quick, "chosen": known}
        last = do(record, Job(choose, name, group, "settings", options=options, limited=False), None)[-1]
        if last["status"] == "ok":
            chosen[name][group] = last["parameters"]
        else:
            print(f"No settings for {group} on {name}: {last['why']}")
    return chosen


def measure(record, names, chosen, seeds, limit):
    found = {name: dict.fromkeys(METHODS, ()) for name in names}
    for name in names:
        for method in METHODS:
            needed = ("ours",) if method == OURS else RIVALS[method][0] if method in RIVALS else ()
            known = {group: chosen[name][group] for group in needed if group in chosen[name]}
            if len(known) == len(needed):
                options = {"seeds": seeds, "share": SHARES.get(name, 0.1), "chosen": known, "duals": False}
                limited = method in (PAPER, *RIVALS) or name == "susy"
                job = Job(learn, name, method, "accuracy", options=options, limited=limited)
                found[name][method] = do(record, job, limit)
    return found


def accuracy(plan):
    record = plan.record("paper_accuracy", COLUMNS)
    names = available(plan.chosen(published.SETTINGS, ["border"]))
    chosen = choices(record, plan.quick, names)
    found = measure(record, names, chosen, plan.seeds or plan.pick(5, 1), plan.limit or plan.pick(1_200, 30))
    print_ours(found, chosen)
    print_rivals(found)
    print_prequential(found)
    print_best_rival(found)
    figures.accuracy(found, plan.out / "paper_accuracy.png")


def print_ours(found, chosen):
    lines = []
    for name, results in found.items():
        best, middle, spread, *_, marked = published.ACCURACY[name]
        paper, batch, own = results[PAPER], results[BATCH], results[OURS]
        faithful = values(paper) or values(batch)
        sd = np.std(faithful, ddof=1) if len(faithful) > 1 else 0.0
        reached = compared(np.mean(faithful) - middle, -max(spread, sd)) if faithful else "-"
        above = compared(mean(own) - best, 0.0) if values(own) else "-"
        ours = chosen[name].get("ours", {})
        landmarks = ours.get("n_components") if ours.get("feature_map") == "nystroem" else 0
        kept = f"{optional(mean(own, 'kept'), ',.0f')} of {optional(mean(own, 'rows'), ',.0f')}"
        printed = [f"{best:.2f}{'*' if marked else ''}", f"{middle:.2f} +- {spread:.2f}"]
        here = [
            jobs.best_mean_sd(paper),
            mean_sd(batch),
            reached,
            jobs.best_mean_sd(own),
            above,
            kept,
            f"{landmarks:,}",
        ]
        lines.append([name, *printed, *here])
    header = ["data", "paper: best", "paper: mean +- sd", "paper's settings here: best / mean +- sd",
              "the same, all rows at once", "paper's mean reached", "our settings: best / mean +- sd",
              "mean at or above the paper's best", "rows kept by ours", "landmarks of its map"]  # fmt: skip
    table(header, lines, "Accuracy on the test part after one pass, in %: the paper and this library")


def compared(gap, least):
    return "yes" if gap >= least else f"no, {gap:+.2f}"


def print_rivals(found):
    methods, lines, problems = (OURS, *ONE_PASS, *BATCH_RIVALS), [], []
    for name, results in found.items():
        lines.append([name, *(mean_sd(results[method]) for method in methods)])
        rows = [row for method in methods for row in results[method] if row["status"] in ("failed", "out of memory")]
        problems += [f"{row['method']} on {name}: {row['status']}, {row['why']}" for row in rows]
    header = ["data", OURS, *ONE_PASS, *(f"{method} (batch)" for method in BATCH_RIVALS)]
    table(header, lines, "Accuracy on the test part, in %: rivals")
    print("\n".join(problems))


def print_prequential(found):
    lines = []
    for name, results in found.items():
        printed = dict(zip(published.RIVALS, published.ACCURACY[name][3:7], strict=True))
        cells = []
        for method in (PAPER, OURS, *ONE_PASS):
            bracket = f" ({printed[method]:.1f})" if method in printed else ""
            cells.append(mean_sd(results[method], "prequential") + bracket.replace("nan", "-"))
        lines.append([name, *cells])
    title = "Prequential accuracy in %: each chunk is tested before it is learned (in brackets: printed in the paper)"
    table(["data", PAPER, OURS, *ONE_PASS], lines, title)


def print_best_rival(found):
    lines = []
    for name, results in found.items():
        own, rivals = results[OURS], {method: results[method] for method in ONE_PASS if values(results[method])}
        if not values(own) or not rivals:
            lines.append([name, mean_sd(own), "-", "-", "-", "-"])
            continue
        best = max(rivals, key=lambda method: mean(rivals[method]))
        gap, low, high = jobs.difference(own, rivals[best], len(load(name)[3]))
        word = "above*" if low > 0 else "below*" if high < 0 else "no significant difference"
        interval = f"{gap:+.2f} ({low:+.2f} to {high:+.2f})"
        lines.append([name, mean_sd(own), best, mean_sd(rivals[best]), interval, word])
    header = ["data", OURS, "best rival", "its accuracy", "difference in points (95 % interval)", "verdict"]
    table(header, lines, "Our settings against the best rival in one pass (* significant at 95 %, paired bootstrap)")


def forgetting(plan):
    record = plan.record("paper_forgetting", COLUMNS)
    names = available(plan.chosen(published.SETTINGS, ["border"]))
    options = {"seeds": plan.seeds or plan.pick(5, 1)}
    cases = [(method, d) for method in PROCEDURES for d in published.STEPS] + [(BATCH, None)]
    found = {}
    for name in names:
        for method, d in cases:
            job = Job(learn, name, method, d=d, options=options, limited=False)
            found[name, method, d] = do(record, job, None)
    print_forgetting(names, found)
    print_time(names, found)
    figures.forgetting(names, found, plan.out / "paper_forgetting.png")


def print_forgetting(names, found):
    def cell(*key):
        results = found[key]
        return f"{mean_sd(results)} / {jobs.count(mean(results, 'nsv'))} / {jobs.count(mean(results, 'duals'))}"

    lines = []
    for name in names:
        printed = [f"{p[0]:.2f} / {jobs.count(p[1])}" if p else "-" for p in published.FORGETTING[name]]
        lines.append([name, "paper, printed", *printed])
        for method, words in PROCEDURES.items():
            batch = cell(name, BATCH, None) if method == PAPER else ""
            lines.append([name, words, *(cell(name, method, d) for d in published.STEPS), batch])
    title = "Forgetting: accuracy in % / nSV as the paper counts it / dual variables above zero"
    table(["data", "who", *(f"d = {d or 'none'}" for d in published.STEPS), "batch"], lines, title)


def print_time(names, found):
    steps, lines = (1, 10, None), []
    for name in names:
        printed = published.TIME[name]
        lines.append([name, "paper, printed", *(f"{p[0]:.2f} / {p[1]:.2f}" if p else "-" for p in printed), ""])
        for method, words in PROCEDURES.items():
            results = [found[name, method, d] for d in steps]
            trained, tested = ([mean(rows, key) for rows in results] for key in ("train_s", "test_s"))
            cells = [f"{optional(a, '.2f')} / {optional(b, '.2f')}" for a, b in zip(trained, tested, strict=True)]
            faster = [f"{p[0] / a:.0f}" for p, a in zip(printed, trained, strict=True) if p and a]
            lines.append([name, words, *cells, ", ".join(faster)])
    title = "Time: seconds of training / of testing, one thread, one job at a time"
    table(["data", "who", *(f"d = {d or 'none'}" for d in steps), "paper's training time / ours"], lines, title)
