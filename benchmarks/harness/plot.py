"""One style for all figures."""

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

GREY, ORANGE, BLUE, GREEN = "#8a8a8a", "#d1802f", "#1f6fb2", "#4f9a5b"
COLOURS = (BLUE, GREEN, ORANGE, GREY)


def grid(count, *, columns=3, width=4.4, height=3.3):
    columns = min(columns, count)
    lines = -(-count // columns)
    figure, panels = plt.subplots(lines, columns, figsize=(width * columns, height * lines), squeeze=False)
    for panel in panels.flat[count:]:
        panel.axis("off")
    for panel in panels.flat[:count]:
        panel.grid(alpha=0.3)
    return figure, list(panels.flat[:count])


def log_axis(axis, form="{:,g}".format):
    """Make an axis logarithmic, with plain numbers at 1, 2 and 5."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: form(value)))
    axis.set_minor_formatter(NullFormatter())


def legend_below(figure, panels):
    handles = {}
    for panel in panels:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.tight_layout()
    figure.legend(handles.values(), handles, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=4, frameon=False)


def save(figure, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130, bbox_inches="tight")
    plt.close(figure)
