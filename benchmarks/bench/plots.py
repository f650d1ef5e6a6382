"""Pictures: each says what its axes are, so that it can be read alone."""

from dataclasses import dataclass, field

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

OURS, RIVAL, OTHER, WANTED = "#1f6fb2", "#4f9a5b", "#8a8a8a", "#d1802f"
COLOURS = (OURS, RIVAL, WANTED, OTHER, "#7b5ea7", "#b04a5a")


@dataclass
class Dots:
    """A panel of named values with their spread, and the value that was wanted as a dashed line."""

    axis: str
    rows: list[tuple] = field(default_factory=list)  # name, value, low, high, colour, wanted of this one
    wanted: float | None = None
    log: bool = False
    from_zero: bool = True

    def add(self, name, value, low, high, colour=OURS, wanted=None):
        """Put one value on the panel, with what is wanted of it where that is not the same for all."""
        self.rows.append((name, value, low, high, colour, wanted))


@dataclass
class Lines:
    """A panel of lines with spread; `series` has (x, y, low, high) by name."""

    title: str
    across: str
    up: str
    series: dict[str, list[tuple]] = field(default_factory=dict)


def save(figure, path):
    """Write a figure and close it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, bbox_inches="tight")
    plt.close(figure)


def grid(count, *, columns=3, width=4.4, height=3.3):
    """Return a figure and so many panels."""
    columns = min(columns, count)
    lines = -(-count // columns)
    figure, panels = plt.subplots(lines, columns, figsize=(width * columns, height * lines), squeeze=False)
    for panel in panels.flat[count:]:
        panel.axis("off")
    return figure, list(panels.flat[:count])


def plain_ticks(axis):
    """Give a logarithmic axis numbers instead of powers of ten: 1, 2 and 5 of each, or 1 alone on a long axis."""
    low, high = axis.get_view_interval()
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0) if high < 300 * low else (1.0,)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}" if value < 1e5 else f"{value:.0e}"))
    axis.set_minor_formatter(NullFormatter())


def draw_dots(path, title, panels):
    """Draw panels of named values side by side."""
    tallest = max(len(panel.rows) for panel in panels)
    figure, places = grid(len(panels), columns=2, width=5.6, height=0.36 * tallest + 1.3)
    for axes, panel in zip(places, panels, strict=True):
        for place, (_, value, low, high, colour, wanted) in enumerate(reversed(panel.rows)):
            axes.plot([low, high], [place, place], color=colour, lw=1.5)
            axes.plot(value, place, "o", color=colour, ms=6)
            if wanted is not None:
                axes.plot(wanted, place, "|", color=WANTED, ms=16, mew=2, label="wanted" if place == 0 else None)
        if panel.wanted is not None:
            axes.axvline(panel.wanted, color=WANTED, ls="--", lw=1, label=f"wanted: {panel.wanted:g}")
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=8)
        axes.set_ylim(-0.6, len(panel.rows) - 0.4)
        axes.set_yticks(range(len(panel.rows)), [row[0] for row in reversed(panel.rows)])
        axes.set_xlabel(panel.axis)
        if panel.log:
            axes.set_xscale("log")
            plain_ticks(axes.xaxis)
        elif panel.from_zero:
            axes.set_xlim(left=0)
        axes.grid(axis="x", alpha=0.3)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    save(figure, path)


def draw_lines(path, title, panels):
    """Draw panels of lines, both axes logarithmic."""
    figure, places = grid(len(panels))
    for axes, panel in zip(places, panels, strict=True):
        for colour, (name, points) in zip(COLOURS, panel.series.items(), strict=False):
            x, y, low, high = np.transpose(sorted(points))
            axes.plot(x, y, "o-", color=colour, ms=4, label=name)
            axes.fill_between(x, low, high, color=colour, alpha=0.2, lw=0)
        axes.set(title=panel.title, xlabel=panel.across, ylabel=panel.up, xscale="log", yscale="log")
        plain_ticks(axes.xaxis)
        plain_ticks(axes.yaxis)
        axes.grid(alpha=0.3)
        axes.legend(frameon=False, fontsize=8)
    figure.suptitle(title, fontsize=11)
    figure.tight_layout()
    save(figure, path)
