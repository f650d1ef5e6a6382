"""What the plots share: colours of classes, grids of points, axes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._arrays import Array

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Extent = tuple[float, float, float, float]


def new_axes(ax: Axes | None) -> Axes:
    """Return the axes, or those of a new figure."""
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("Plots need matplotlib: pip install 'fbtwsvm[plot]'.") from error
    return pyplot.subplots(figsize=(6, 5))[1] if ax is None else ax


def class_colours(count: int) -> Array:
    """Return a colour for each class."""
    from matplotlib import colormaps

    table = colormaps["tab10"] if count <= 10 else colormaps["hsv"].resampled(count + 1)
    return np.array([table(k)[:3] for k in range(count)])


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
