"""Cells of the paper's tables: means over seeds, and why there are none."""

import numpy as np

from benchmarks.harness import table as plain_table
from benchmarks.harness.data import Missing, fetch, find


def values(results, key="accuracy"):
    """Return one column of the results that are there."""
    return [row[key] for row in results if row["status"] == "ok" and row.get(key) is not None]


def mean(results, key="accuracy"):
    """Return the mean over seeds, or None."""
    found = values(results, key)
    return float(np.mean(found)) if found else None


def mean_sd(results, key="accuracy"):
    """Return "mean +- sd" over seeds, with their number if some are missing, or why there is none."""
    found = values(results, key)
    if not found:
        return next((row["status"] for row in results if row["status"] != "ok"), "-")
    missing = any(row["status"] != "ok" for row in results)
    return plain_table.mean_sd(found) + (f", n = {len(found)}" if missing else "")


def best_mean_sd(results):
    """Return "best / mean +- sd" of accuracy."""
    found = values(results)
    return f"{max(found):.2f} / {mean_sd(results)}" if found else mean_sd(results)


def plain(value, digits=2):
    """Return a number as text; "-" for None."""
    return "-" if value is None else f"{value:,.{digits}f}"


def count(value):
    """Return a count in the paper's short form, 1.3k or 455k."""
    if value is None:
        return "-"
    if value >= 999_500:
        return f"{value / 1e6:.1f}M"
    return f"{value:.0f}" if value < 1000 else f"{value / 1000:.1f}k" if value < 10_000 else f"{value / 1000:.0f}k"


def available(names):
    """Return the data sets that can be found; says why others cannot."""
    there = []
    for name in names:
        try:
            if not find(name):
                fetch(name)
        except Missing as missing:
            print(f"{name}: {missing}")
        else:
            there.append(name)
    return there
