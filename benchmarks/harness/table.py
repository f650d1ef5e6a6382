"""Tables in Markdown, and numbers as they are shown in them."""

import sys

import numpy as np


def table(header, rows, title):
    """Print rows as a Markdown table with aligned columns, below a title."""
    cells = [list(map(str, row)) for row in [header, *rows]]
    widths = [max(len(row[j]) for row in cells) for j in range(len(header))]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |" for row in cells]
    lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
    print("", title, "", *lines, sep="\n", flush=True)


def progress(message):
    """Say on the error stream what is being done, so that the output holds tables only."""
    print(f"... {message}", file=sys.stderr, flush=True)


def number(value):
    """Return a number with three significant digits, without powers of ten; "-" for None and nan."""
    if value is None or np.isnan(value):
        return "-"
    if value == 0 or abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.{2 - int(np.floor(np.log10(abs(value))))}f}"


def mebibytes(count):
    return "-" if count is None else number(count / 2**20)


def mean_sd(values, digits=2):
    """Return "mean +- standard deviation" of a sample."""
    spread = f" +- {np.std(values, ddof=1):.{digits}f}" if len(values) > 1 else ""
    return f"{np.mean(values):.{digits}f}{spread}"


def standard_error(values):
    """Return the standard error of a mean; 0 for a single value, whose error is not known."""
    return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def mean_error(values, digits=2):
    """Return "mean +- standard error" of differences, with a sign."""
    return f"{np.mean(values):+.{digits}f} +- {standard_error(values):.{digits}f}"


def optional(value, form):
    """Return a formatted value; "-" for None."""
    return "-" if value is None else format(value, form)
