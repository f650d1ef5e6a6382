"""The paper's figures again."""

import numpy as np

from benchmarks.harness.plot import BLUE, GREY, ORANGE, grid, legend_below, log_axis, save
from benchmarks.paper import published
from benchmarks.paper.jobs import EVERY_ROW, OURS, PAPER, count, mean, values


def accuracy(found, path):
    names = list(found)
    figure, (axes,) = grid(1, width=8, height=0.5 * len(names) + 1.6)
    for place, name in enumerate(reversed(names)):
        best, middle, spread, *_ = published.ACCURACY[name]
        lines = [("paper, printed: mean, sd and best", GREY, (middle, spread, best))]
        for words, colour, method in (("paper's settings here", ORANGE, PAPER), ("our settings", BLUE, OURS)):
            scores = values(found[name][method])
            if scores:
                sd = np.std(scores, ddof=1) if len(scores) > 1 else 0.0
                lines.append((f"{words}: mean, sd and best", colour, (np.mean(scores), sd, max(scores))))
        for number, (label, colour, (centre, width, top)) in enumerate(lines):
            height = place + 0.22 - 0.22 * number
            axes.errorbar(centre, height, xerr=width, fmt="o", color=colour, ms=5, capsize=2, label=label)
            axes.plot(top, height, "|", color=colour, ms=11)
    axes.set_yticks(range(len(names)), reversed(names))
    axes.set_xlabel("accuracy on the test part after one pass, in %  (| is the best run)")
    legend_below(figure, [axes])
    save(figure, path)


def forgetting(names, found, path):
    figure, panels = grid(len(names))
    for panel, name in zip(panels, names, strict=True):
        printed = [point[::-1] for point in published.FORGETTING[name][:5] if point]
        panel.plot(*np.transpose(printed), "s--", color=GREY, label="paper, printed")
        lines = ((PAPER, ORANGE, "the paper's procedure here"), (EVERY_ROW, BLUE, "all rows stay in the sums"))
        for method, colour, words in lines:
            results = [found[name, method, d] for d in published.STEPS]
            points = [(mean(rows, "nsv"), mean(rows)) for rows in results if values(rows)]
            if points:
                panel.plot(*np.transpose(points), "o-", color=colour, label=words)
        panel.set(title=name, xlabel="nSV: stored points x opponents", ylabel="accuracy %")
        log_axis(panel.xaxis, count)
    figure.suptitle("Forgetting: from left to right d = 1, 2, 4, 10 and none")
    legend_below(figure, panels)
    save(figure, path)


def synthetic(results, path):
    """Draw seconds and memory against rows; `results` has the rows of our runs on files by stream."""
    figure, panels = grid(2, width=5.5, height=4.4)
    for number, (name, rows) in enumerate(results.items()):
        seconds, gigabytes, _ = zip(*published.SYNTHETIC[name]["printed"], strict=True)
        lines = (("train_s", 1, seconds), ("peak_bytes", 2**-30, gigabytes))
        for panel, (key, factor, line) in zip(panels, lines, strict=True):
            panel.plot([r["rows"] for r in rows], [r[key] * factor for r in rows], "o-", color=f"C{number}", label=name)
            panel.plot(published.SIZES, line, "s--", color=f"C{number}", alpha=0.5, mfc="none")
    for panel, words in zip(panels, ("seconds of training", "peak memory of the process, GB"), strict=True):
        panel.set(xscale="log", yscale="log", xlabel="rows learned", ylabel=words)
    figure.suptitle("Synthetic streams; filled: here, open and dashed: paper")
    legend_below(figure, panels)
    save(figure, path)


def tuning(found, path):
    figure, (axes,) = grid(1, width=7, height=4)
    for (method, curves), colour in zip(found.items(), (BLUE, ORANGE), strict=True):
        steps = np.arange(1, curves.shape[1] + 1)
        axes.plot(steps, curves.mean(axis=0), color=colour, label=f"{method} ({len(steps):,} points)")
        axes.fill_between(steps, *np.quantile(curves, [0.1, 0.9], axis=0), color=colour, alpha=0.2, lw=0)
    axes.set(xlabel="evaluations (random order over the grid)", ylabel="least loss so far: 1 - accuracy in 3 folds")
    axes.set_title("One C and one reg (2-D) or two of each (4-D): mean, and 10 % to 90 % of orders", fontsize=10)
    log_axis(axes.xaxis)
    legend_below(figure, [axes])
    save(figure, path)
