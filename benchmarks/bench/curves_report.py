"""Tables and picture of the race: area under each method's curve, who is ahead when."""

import json

import numpy as np

from benchmarks.bench.measure import mebibytes, number
from benchmarks.bench.plan import Wanted
from benchmarks.bench.plots import COLOURS, grid, plain_ticks, save
from benchmarks.bench.rivals import METHODS, at_edge
from benchmarks.bench.steps import Curve, area, crossings, ranges
from benchmarks.data import table


def rungs(rows, seeds, limit):
    """Return {n_components: rows of all seeds} of one method; a rung that is not whole, or over the limit, is out."""
    found = {}
    for row in rows:
        if row["status"] == "ok" and row["seed"] < seeds:  # a resumed run may have been over more seeds
            found.setdefault(row["n_components"], []).append(row)
    whole = {count: sorted(own, key=lambda row: row["seed"]) for count, own in sorted(found.items())}
    return {
        count: own for count, own in whole.items()
        if len(own) == seeds and all(row["seconds"] <= limit for row in own)
    }  # fmt: skip


def curve(ladder, seed=None):
    """Return the curve of mean accuracy against mean seconds, or of one seed's accuracy at the same seconds."""
    seconds = [np.mean([row["seconds"] for row in own]) for own in ladder.values()]
    if seed is None:
        return Curve.of(seconds, [np.mean([row["accuracy"] for row in own]) for own in ladder.values()])
    return Curve.of(seconds, [own[seed]["accuracy"] for own in ladder.values()])


def areas(ladders, ours, seeds):
    """Return the range, the other end, and by method: area, areas of the seeds, and area with the other end."""
    curves = {name: curve(ladder) for name, ladder in ladders.items()}
    low, high, other = ranges(curves, ours)
    found = {}
    for name, ladder in ladders.items():
        single = [area(curve(ladder, seed), low, high) for seed in range(seeds)]
        found[name] = (area(curves[name], low, high), single, area(curves[name], low, other))
    return (low, high, other), found


def report(plan, record, choices, sets, ours):
    """Print everything, draw the picture, and say whether ours has the largest area on each set."""
    wanted, lines, stretches, sizes, pictures = [], [], [], [], {}
    for name in sets:
        ladders = {m: rungs(record.select(dataset=name, method=m), plan.seeds, plan.limit) for m in METHODS}
        ladders = {method: ladder for method, ladder in ladders.items() if ladder}
        if ours not in ladders:
            wanted.append(Wanted("curves", f"{name}: area at least that of every rival", "no fit in time", False))
            continue
        (low, high, other), found = areas(ladders, ours, plan.seeds)
        for method, (value, single, shorter) in found.items():
            spread = f"{_points(min(single))} to {_points(max(single))}"
            times = [number(t) for t in (low, high, other)]
            lines.append([name, method, _points(value), spread, *times[:2], _points(shorter), times[2]])
            sizes += [_size(name, method, count, own) for count, own in ladders[method].items()]
        curves = {method: curve(ladder) for method, ladder in ladders.items()}
        stretches += [
            [name, f"{number(a)} to {number(b)}", who, "ours has not begun" if np.isinf(lead) else f"{lead:.2f}"]
            for a, b, who, lead in crossings(curves, ours)
        ]
        best = max(value for method, (value, _, _) in found.items() if method != ours) if len(found) > 1 else np.nan
        text = f"{_points(found[ours][0])} against {_points(best)}"
        wanted.append(Wanted("curves", f"{name}: area at least that of every rival", text, found[ours][0] >= best))
        pictures[name] = ladders
    _print(plan, choices, lines, stretches, sizes)
    if pictures:
        draw(plan.out / "curves.png", pictures, plan.seeds)
    return wanted


def _points(value):
    """Return an accuracy; there is none where the methods have no time in common."""
    return "-" if np.isnan(value) else f"{value:.2f}"


def _size(name, method, count, own):
    """Return one line of the table of all rungs."""
    seconds, scores = [row["seconds"] for row in own], [row["accuracy"] for row in own]
    gaps = [row["gap"] for row in own if row["gap"] is not None]
    return [
        name, method, f"{count:,}", f"{number(np.mean(seconds))} ({number(min(seconds))} to {number(max(seconds))})",
        f"{np.mean(scores):.2f} ({min(scores):.2f} to {max(scores):.2f})", f"{max(gaps):.1e}" if gaps else "-",
        mebibytes(max(row["peak_bytes"] for row in own)), sum(row["unconverged"] for row in own),
    ]  # fmt: skip


def _print(plan, choices, lines, stretches, sizes):
    print("\nWhat was chosen on training rows\n")
    header = ["data", "method", "gamma", "settings", "validation accuracy", "at an end of its grid"]
    lines_chosen = []
    for row in choices.rows:
        edges = ", ".join(at_edge(row["method"], json.loads(row["settings"]))) or "-"
        shown = [f"{row['gamma']:.4g}", row["settings"], f"{row['validation_accuracy']:.2f}", edges]
        lines_chosen.append([row["dataset"], row["method"], *shown])
    table(header, lines_chosen)
    print(f"\nThe ladders, one thread, {plan.seeds} seeds: means, with the smallest and the largest\n")
    header = ["data", "method", "features", "seconds", "test accuracy", "gap", "peak: MiB", "not converged"]
    table(header, sizes)
    print("\nArea under the best accuracy within t seconds, over log t, divided by the width: an average accuracy.\n"
          "From the time at which every method has something to show to the end of the largest of our settings;\n"
          "the other area ends where the first of the methods ends. The spread is that of the seeds.\n")  # fmt: skip
    table(["data", "method", "area", "seeds", "from: s", "to: s", "other area", "to: s"], lines)
    print("\nWhere another method is ahead of ours, on the mean of the seeds\n")
    table(["data", "seconds", "ahead", "by at most"], stretches or [["-", "-", "nobody, nowhere", "-"]])


def draw(path, pictures, seeds):
    """Draw a panel for each set: steps of the mean, points with the spread of the seeds."""
    figure, panels = grid(len(pictures))
    for axes, (name, ladders) in zip(panels, pictures.items(), strict=True):
        for colour, method in zip(COLOURS, METHODS, strict=False):
            if method not in ladders:
                continue
            ladder = ladders[method]
            steps = curve(ladder)
            axes.step(steps.seconds, steps.best, where="post", color=colour, lw=1.5, label=method)
            for own in ladder.values():
                scores, t = [row["accuracy"] for row in own], np.mean([row["seconds"] for row in own])
                axes.plot([t, t], [min(scores), max(scores)], color=colour, lw=1)
                axes.plot(t, np.mean(scores), "o", color=colour, ms=4)
        axes.set(title=name, xscale="log", xlabel="seconds of fit, one thread", ylabel="test accuracy, %")
        plain_ticks(axes.xaxis)
        axes.grid(alpha=0.3)
    handles = {
        label: handle for axes in panels for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.suptitle(f"Best accuracy within a training time; points: each setting, bars: {seeds} seeds", fontsize=11)
    figure.tight_layout()
    figure.legend(handles.values(), handles.keys(), loc="upper center", bbox_to_anchor=(0.5, 0), ncols=4, frameon=False)
    save(figure, path)
