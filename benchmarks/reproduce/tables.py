"""Tables that can be read in a terminal and on a page, and the words in their cells."""

from dataclasses import dataclass, field
from html import escape

import numpy as np

from benchmarks.data import aligned
from benchmarks.reproduce.runs import state, values


@dataclass
class Table:
    """A table with a title and what one must know to read it."""

    title: str
    header: list[str]
    rows: list[list[str]]
    notes: list[str] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)  # names of PNG files

    def text(self):
        """Return it as Markdown."""
        return "\n".join([f"## {self.title}", "", aligned(self.header, self.rows), "", *self.notes, ""])

    def html(self):
        """Return it as HTML."""
        head = "".join(f"<th>{escape(cell)}</th>" for cell in self.header)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>\n" for row in self.rows
        )
        notes = "".join(f"<p>{escape(note)}</p>\n" for note in self.notes)
        return (
            f"<h2>{escape(self.title)}</h2>\n<div class='wide'><table><thead><tr>{head}</tr></thead>\n"
            f"<tbody>{body}</tbody></table></div>\n{notes}"
        )


def sd(found):
    """Return the standard deviation of a sample."""
    return float(np.std(found, ddof=1)) if len(found) > 1 else 0.0


def mean_sd(results, key="accuracy", digits=2):
    """Return "mean +- sd" over seeds, with their number if some are missing, or why there is none."""
    found = values(results, key)
    if not found:
        return state(results) or "-"
    spread = f" +- {sd(found):.{digits}f}" if len(found) > 1 else ""
    number = f", n = {len(found)}" if any(row["status"] != "ok" for row in results) else ""
    return f"{np.mean(found):.{digits}f}{spread}{number}"


def best_mean_sd(results):
    """Return "best / mean +- sd" of accuracy."""
    found = values(results, "accuracy")
    return f"{max(found):.2f} / {mean_sd(results)}" if found else mean_sd(results)


def plain(value, digits=2):
    """Return a number as text; "-" for none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def count(value):
    """Return a count in the paper's short form, 1.3k or 455k."""
    if value is None:
        return "-"
    if value >= 999_500:
        return f"{value / 1e6:.1f}M"
    return f"{value:.0f}" if value < 1000 else f"{value / 1000:.1f}k" if value < 10_000 else f"{value / 1000:.0f}k"


def mean(results, key):
    """Return the mean over seeds, or None."""
    found = values(results, key)
    return float(np.mean(found)) if found else None
