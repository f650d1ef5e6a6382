"""Forgetting and time: accuracy, stored points and seconds for the paper's d. docs/paper.md says how to read them."""

from benchmarks.harness.table import table
from benchmarks.paper import figures, published
from benchmarks.paper.jobs import BATCH, COLUMNS, EVERY_ROW, PAPER, Job, do_all, learn
from benchmarks.paper.tables import available, count, mean, mean_sd, plain, values

WORDS = {PAPER: "the paper's procedure", EVERY_ROW: "all rows stay in the sums"}


def cell(results):
    """Return accuracy, nSV and dual variables above zero."""
    if not values(results):
        return mean_sd(results)
    return f"{mean_sd(results)} / {count(mean(results, 'nsv'))} / {count(mean(results, 'duals'))}"


def seconds(results):
    """Return the seconds of training and of testing."""
    return f"{plain(mean(results, 'train_s'))} / {plain(mean(results, 'test_s'))}" if values(results) else "-"


def head(steps):
    return ["data", "who", *(f"d = {d}" if d else "d = none" for d in steps)]


def print_forgetting(names, found):
    lines = []
    for name in names:
        printed = [f"{p[0]:.2f} / {count(p[1])}" if p else "-" for p in published.FORGETTING[name]]
        lines.append([name, "paper, printed", *printed])
        for method, words in WORDS.items():
            batch = cell(found[name, BATCH, None]) if method == PAPER else ""
            lines.append([name, words, *(cell(found[name, method, d]) for d in published.STEPS), batch])
    title = "Forgetting: accuracy in % / nSV as the paper counts it / dual variables above zero"
    table([*head(published.STEPS), "batch"], lines, title)


def print_time(names, found):
    steps, lines = (1, 10, None), []
    for name in names:
        printed = published.TIME[name]
        lines.append([name, "paper, printed", *(f"{p[0]:.2f} / {p[1]:.2f}" if p else "-" for p in printed), ""])
        for method, words in WORDS.items():
            results = [found[name, method, d] for d in steps]
            faster = [p[0] / mean(r, "train_s") for p, r in zip(printed, results, strict=True) if p and values(r)]
            ratios = ", ".join(f"{ratio:.0f}" for ratio in faster)
            lines.append([name, words, *map(seconds, results), ratios])
    title = "Time: seconds of training / of testing, one thread, one job at a time"
    table([*head(steps), "paper's training time / ours"], lines, title)


def run(plan):
    record = plan.record("paper_forgetting", COLUMNS)
    names = available(plan.chosen(published.SETTINGS, ["border"]))
    options = {"seeds": plan.seeds or plan.pick(5, 1)}
    cases = [(method, d) for method in WORDS for d in published.STEPS] + [(BATCH, None)]
    jobs = [Job(learn, name, method, d=d, options=options, limited=False) for name in names for method, d in cases]
    results = do_all(record, jobs, None)  # one at a time: seconds count
    found = {(job.dataset, job.method, job.d): rows for job, rows in zip(jobs, results, strict=True)}
    print_forgetting(names, found)
    print_time(names, found)
    figures.forgetting(names, found, plan.out / "paper_forgetting.png")
