"""What the plots share: labels as text, colours and legends of classes, grids of points, axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Extent = tuple[float, float, float, float]

# Ten colours that can be told apart with any kind of colour vision (M. A. Petroff, arXiv:2107.02270), greys last.
_COLOURS = (
    "#3f90da", "#ffa90e", "#bd1f01", "#b9ac70", "#92dadd", "#a96b59", "#e76300", "#832db6", "#717581", "#94a4a2",
)  # fmt: skip
_GOLDEN = 0.618034  # steps of this size along a colour map give neighbours in a list unlike colours
_MOST_LETTERS = 24  # of a label in a legend
_AXIS_LETTERS = 18  # of a name beside an axis
_MOST_ENTRIES = 12  # of a legend of classes
_LINE_LETTERS = 70  # of a line of a legend
_AXIS_POINTS = 34  # height of the numbers and the name below an axis
_LAST_LETTERS = 4  # that a shortened text keeps of its end


def shown(value: Any, most: int = _MOST_LETTERS) -> str:
    """Return a label or name as one line of visible letters; of a long one, the beginning and the end."""
    text = str(value)
    if len(text) > most:
        text = f"{text[: most - _LAST_LETTERS - 1]}…{text[-_LAST_LETTERS:]}"
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def drawn(value: Any, most: int = _MOST_LETTERS) -> str:
    """Return the same for matplotlib, which hides names that begin with _ and reads $ as the start of a formula."""
    text = shown(value, most)
    return ("\u200b" if text.startswith("_") else "") + text.replace("$", r"\$")


def new_axes(ax: Axes | None) -> Axes:
    """Return the axes, or those of a new figure."""
    return new_figure(figsize=(6, 5), layout="constrained")[1] if ax is None else ax


def new_figure(*shape: int, **options: Any) -> tuple[Any, Any]:
    """Return a new figure and its axes, as `pyplot.subplots` makes them."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'fbtwsvm[plot]'.") from error
    return pyplot.subplots(*shape, **options)


def class_colours(count: int) -> Array:
    """Return a colour for each class."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgb

    if count <= len(_COLOURS):
        return np.array([to_rgb(colour) for colour in _COLOURS[:count]]).reshape(count, 3)
    # More than ten cannot all be told apart: colours that differ in lightness, whatever the colour vision.
    return np.asarray(colormaps["viridis"]((_GOLDEN * np.arange(count)) % 1.0))[:, :3]


def largest(sizes: Array, most: int = _MOST_ENTRIES) -> Array:
    """Return the indices of the classes that a legend names, in their order: the largest ones if they are many."""
    count = most if len(sizes) > most + 1 else len(sizes)  # "and 1 more" would take the place of a name
    return np.sort(np.argsort(-sizes, kind="stable")[:count])


def name_the_rest(ax: Axes, count: int) -> None:
    """Add a line to the legend that says how many classes it does not name."""
    if count > 0:
        ax.scatter([], [], color="none", label=f"and {count} more")


def add_legend(ax: Axes, columns: int, **options: Any) -> None:
    """Add a legend below the axes if the layout of the figure makes room for it; otherwise inside them."""
    if ax.figure.get_layout_engine() is not None:
        legend_below(ax, columns, **options)
    elif ax.get_legend_handles_labels()[1]:
        ax.legend(loc="best", **options)


def legend_below(ax: Axes, columns: int, *, letters: int = _LINE_LETTERS, **options: Any) -> None:
    """Add a legend below the axes and their name, in fewer columns where the names are long."""
    from matplotlib.transforms import ScaledTranslation

    names = ax.get_legend_handles_labels()[1]
    if not names:
        return
    columns = min(columns, len(names))
    while columns > 1 and _width(names, columns) > letters:
        columns -= 1
    place = ax.transAxes + ScaledTranslation(0, -_AXIS_POINTS / 72, ax.figure.dpi_scale_trans)
    ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, 0), bbox_transform=place, ncols=columns, frameon=False, **options
    )


def _width(names: list[str], columns: int) -> int:
    """Return the number of letters in a line of a legend, with six for each symbol."""
    return sum(max(map(len, part)) + 6 for part in np.array_split(names, columns))


def draw_importances(ax: Axes, names: list[str], shares: Array, most: int) -> None:
    """Draw the largest shares as bars, the largest on top, and say what the others have in all."""
    order = np.argsort(-shares, kind="stable")[:most]
    bars = ax.barh(range(len(order)), shares[order], color=_COLOURS[0])
    ax.bar_label(bars, [f"{100 * share:.1f} %" for share in shares[order]], fontsize=9, padding=2)
    ax.set_yticks(range(len(order)), [drawn(names[j], _AXIS_LETTERS) for j in order])
    ax.invert_yaxis()
    ax.margins(x=0.2)
    ax.set_xticks([])
    for side in ("top", "right", "bottom"):
        ax.spines[side].set_visible(False)
    rest = len(shares) - len(order)
    ax.set_xlabel("importance" + (f"; {rest} others: {100 * (1.0 - shares[order].sum()):.1f} %" if rest else ""))


def grid(low: Array, high: Array, margin: float, resolution: int) -> tuple[Array, Array, Array]:
    """Return the coordinates of a grid over a rectangle and its margin along both axes, and its points."""
    border = margin * np.where(high > low, high - low, 1.0)
    first, second = (np.linspace(low[j] - border[j], high[j] + border[j], resolution) for j in range(2))
    return first, second, np.column_stack([part.ravel() for part in np.meshgrid(first, second)])


def show_colours(ax: Axes, colours: Array, first: Array, second: Array, **options: Any) -> Extent:
    """Draw the colours of the points of a grid, and return the extent of the picture."""
    extent = (first[0], first[-1], second[0], second[-1])
    image = colours.reshape(len(second), len(first), 3)
    ax.imshow(image, origin="lower", extent=extent, aspect="auto", **options)
    return extent
