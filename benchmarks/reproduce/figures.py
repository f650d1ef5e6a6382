"""Pictures of the tables: each says what its axes are, so that it can be read alone."""

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from benchmarks.reproduce import published
from benchmarks.reproduce.methods import BATCH
from benchmarks.reproduce.tables import count, sd
from benchmarks.reproduce.tuning import convergence

PRINTED, FAITHFUL, OURS, RIVAL = "#8a8a8a", "#d1802f", "#1f6fb2", "#4f9a5b"


def draw(rows, folder):
    """Draw what the rows of results.csv allow; returns the names of the files."""
    made = {}
    for name, function in FIGURES.items():
        figure = function(rows)
        if figure is not None:
            figure.savefig(folder / name, dpi=130, bbox_inches="tight")
            plt.close(figure)
            made[name] = folder / name
    return made


def _good(rows, table, **wanted):
    return [
        row
        for row in rows
        if row["table"] == table
        and row["status"] == "ok"
        and all(row.get(key) == value for key, value in wanted.items())
    ]


def _names(rows):
    return list(dict.fromkeys(row["dataset"] for row in rows))


def accuracy(rows):
    """Best and mean: the paper beside its settings here and our settings."""
    rows = _good(rows, "accuracy")
    names = _names(rows)
    if not names:
        return None
    figure, axes = plt.subplots(figsize=(8, 0.5 * len(names) + 1.6))
    named = set()
    for place, name in enumerate(reversed(names)):
        best, middle, spread, *_ = published.ACCURACY[name]
        kinds = ((0.22, PRINTED, "paper, printed: mean, sd and best", (middle, spread, best)),)
        for shift, colour, word, method in (
            (0.0, FAITHFUL, "paper's settings here: mean, sd and best", "FBTWSVM, paper"),
            (-0.22, OURS, "our settings: mean, sd and best", "FBTWSVM, ours"),
        ):
            found = [row["accuracy"] for row in rows if row["dataset"] == name and row["method"] == method]
            if found:
                kinds += ((shift, colour, word, (np.mean(found), sd(found), max(found))),)
        for shift, colour, word, (centre, width, top) in kinds:
            label = None if word in named else word
            named.add(word)
            axes.errorbar(centre, place + shift, xerr=width, fmt="o", color=colour, ms=5, capsize=2, label=label)
            axes.plot(top, place + shift, "|", color=colour, ms=11)
    axes.set_yticks(range(len(names)), reversed(names))
    axes.set_xlabel("accuracy on the test part after one pass, in %  (| is the best run)")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.18 if len(names) > 5 else -0.3), ncols=1, frameon=False)
    return figure


def rivals(rows):
    """How far every rival is from ours."""
    rows = [row for row in _good(rows, "accuracy") if row["method"] != "FBTWSVM, paper"]
    names, methods = _names(rows), [m for m in dict.fromkeys(r["method"] for r in rows) if m != "FBTWSVM, ours"]
    if not names or not methods:
        return None
    means = {}
    for row in rows:
        means.setdefault((row["dataset"], row["method"]), []).append(row["accuracy"])
    grid = np.full((len(methods), len(names)), np.nan)
    for i, method in enumerate(methods):
        for j, name in enumerate(names):
            if (name, method) in means and (name, "FBTWSVM, ours") in means:
                grid[i, j] = np.mean(means[name, method]) - np.mean(means[name, "FBTWSVM, ours"])
    figure, axes = plt.subplots(figsize=(1.0 * len(names) + 2.5, 0.45 * len(methods) + 1.5))
    image = axes.imshow(np.clip(grid, -10, 10), cmap="RdBu", vmin=-10, vmax=10, aspect="auto")
    for (i, j), value in np.ndenumerate(grid):
        text = "-" if np.isnan(value) else f"{value:+.1f}"
        axes.text(j, i, text, ha="center", va="center", color="white" if abs(value) > 6 else "black", fontsize=9)
    axes.set_xticks(range(len(names)), names, rotation=30, ha="right")
    axes.set_yticks(range(len(methods)), [m + " (batch)" if m in BATCH else m for m in methods])
    axes.set_title("Accuracy of rivals less that of FBTWSVM with our settings, in points", fontsize=10)
    figure.colorbar(image, label="points (blue: rival better; cut at 10)")
    return figure


def _grid_of_panels(names):
    columns = min(3, len(names))
    lines = -(-len(names) // columns)
    figure, panels = plt.subplots(lines, columns, figsize=(4.2 * columns, 3.1 * lines), squeeze=False)
    for panel in panels.flat[len(names) :]:
        panel.axis("off")
    return figure, panels.flat


def forgetting(rows):
    """Accuracy against stored points, one line for the paper's procedure and one for ours."""
    rows = _good(rows, "forgetting")
    names = _names(rows)
    if not names:
        return None
    figure, panels = _grid_of_panels(names)
    for panel, name in zip(panels, names, strict=False):
        printed = [point for point in published.FORGETTING[name][:5] if point]
        panel.plot([p[1] for p in printed], [p[0] for p in printed], "s--", color=PRINTED, label="paper, printed")
        for method, colour, word in (
            ("FBTWSVM, paper", FAITHFUL, "the paper's procedure here"),
            ("FBTWSVM, all rows in the sums", OURS, "all rows stay in the sums"),
        ):
            points = []
            for d in published.STEPS:
                found = [r for r in rows if (r["dataset"], r["method"], r["d"]) == (name, method, d)]
                if found:
                    points.append([np.mean([r[key] for r in found]) for key in ("nsv", "accuracy")])
            if points:
                panel.plot(*np.transpose(points), "o-", color=colour, label=word)
        panel.set(title=name, xscale="log", xlabel="nSV: stored points x opponents", ylabel="accuracy %")
        panel.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        panel.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count(value)))
        panel.xaxis.set_minor_formatter(NullFormatter())
        panel.grid(alpha=0.3)
    figure.legend(*panels[0].get_legend_handles_labels(), loc="lower center", ncols=3, frameon=False)
    figure.suptitle("Forgetting: from left to right d = 1, 2, 4, 10 and none")
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    return figure


def time(rows):
    """Training seconds, printed and here, on a logarithmic axis."""
    rows = _good(rows, "time")
    names = _names(rows)
    if not names:
        return None
    figure, axes = plt.subplots(figsize=(8, 0.62 * len(names) + 1.6))
    lines = (("printed", PRINTED, "paper, printed"), ("FBTWSVM, paper", FAITHFUL, "the paper's procedure here"),
             ("FBTWSVM, all rows in the sums", OURS, "all rows stay in the sums"))  # fmt: skip
    for place, name in enumerate(reversed(names)):
        for number, (method, colour, word) in enumerate(lines):
            if method == "printed":
                seconds = [pair[0] for pair in published.TIME[name] if pair]
            else:
                found = [[r["train_s"] for r in rows if (r["dataset"], r["method"], r["d"]) == (name, method, d)]
                         for d in (1, 10, None)]  # fmt: skip
                seconds = [np.mean(part) for part in found if part]
            if seconds:
                axes.plot(seconds, [place + 0.2 - 0.2 * number] * len(seconds), "o-", color=colour, ms=4,
                          label=word if place == 0 else None)  # fmt: skip
    axes.set_yticks(range(len(names)), reversed(names))
    axes.set(xscale="log", xlabel="seconds of training; the three points of a line are d = 1, 10 and none")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(frameon=False, loc="best", fontsize=8)
    return figure


def synthetic(rows):
    """Seconds and memory against rows."""
    rows = _good(rows, "synthetic", method="FBTWSVM, ours")
    names = _names(rows)
    if not names:
        return None
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.4))
    for number, name in enumerate(names):
        colour = f"C{number}"
        own = sorted(
            (r for r in rows if r["dataset"] == name and not r["setting"].startswith("gen")), key=lambda r: r["rows"]
        )
        if not own:
            continue
        printed = published.SYNTHETIC[name]
        for panel, key, factor, line in (
            (panels[0], "train_s", 1, printed.seconds),
            (panels[1], "peak_mib", 1 / 1024, printed.gigabytes),
        ):
            panel.plot([r["rows"] for r in own], [r[key] * factor for r in own], "o-", color=colour, label=name)
            panel.plot(published.SIZES, line, "s--", color=colour, alpha=0.5, mfc="none")
    panels[0].set(xscale="log", yscale="log", xlabel="rows learned", ylabel="seconds of training")
    panels[1].set(xscale="log", yscale="log", xlabel="rows learned", ylabel="peak memory of the process, GB")
    panels[0].legend(frameon=False, title="filled: here\nopen, dashed: paper")
    for panel in panels:
        panel.grid(alpha=0.3)
    figure.tight_layout()
    return figure


def wesad(rows):
    """Accuracy of each subject when it is left out."""
    rows = _good(rows, "wesad")
    names = _names(rows)
    if not names:
        return None
    figure, panels = plt.subplots(len(names), 1, figsize=(8, 2.8 * len(names)), squeeze=False)
    for panel, name in zip(panels.flat, names, strict=True):
        settings = dict.fromkeys(row["setting"] for row in rows if row["dataset"] == name)
        for shift, (setting, colour) in enumerate(zip(settings, (FAITHFUL, OURS), strict=False)):
            own = [row for row in rows if (row["dataset"], row["setting"]) == (name, setting)]
            panel.bar(
                np.arange(len(own)) + 0.4 * shift - 0.2, [r["accuracy"] for r in own], 0.4, color=colour, label=setting
            )
            panel.set_xticks(range(len(own)), [r["seed"] for r in own])
        panel.set(title=name, xlabel="subject that was left out", ylabel="accuracy %")
        panel.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    return figure


def tuning(rows):
    """Least loss so far against evaluations."""
    rows = _good(rows, "tuning")
    if not rows:
        return None
    figure, axes = plt.subplots(figsize=(7, 4))
    for method, colour in (("2-D", OURS), ("4-D", FAITHFUL)):
        losses = [1.0 - row["accuracy"] / 100.0 for row in rows if row["method"] == method]
        if not losses:
            continue
        curves = convergence(losses)
        steps = np.arange(1, curves.shape[1] + 1)
        axes.plot(steps, curves.mean(axis=0), color=colour, label=f"{method} ({len(losses):,} points)")
        axes.fill_between(steps, *np.quantile(curves, [0.1, 0.9], axis=0), color=colour, alpha=0.2, lw=0)
    axes.set(
        xscale="log",
        xlabel="evaluations (random order over the grid)",
        ylabel="least loss so far: 1 - accuracy in 3 folds",
    )
    axes.set_title("One C and one reg (2-D) or two of each (4-D): mean, and 10 % to 90 % of orders", fontsize=10)
    axes.legend(frameon=False)
    axes.grid(alpha=0.3)
    return figure


FIGURES = {
    "accuracy.png": accuracy,
    "rivals.png": rivals,
    "forgetting.png": forgetting,
    "time.png": time,
    "synthetic.png": synthetic,
    "wesad.png": wesad,
    "tuning.png": tuning,
}
