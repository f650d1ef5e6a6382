"""The report as one picture."""

from __future__ import annotations

from typing import BinaryIO

from matplotlib.figure import Figure

from ..data.table_model import TableModel
from .page import headline
from .panels import panels_for


def draw(model: TableModel, file: BinaryIO) -> None:
    """Write all panels below each other as PNG."""
    assert model.run is not None
    panels = panels_for(model)
    n_rows = -(-len(panels) // 2)
    figure = Figure(figsize=(11, 0.9 + 3.9 * n_rows), layout="constrained")
    facts = ", ".join(f"{name} {value}" for name, value in headline(model)[:2] + headline(model)[4:6])
    figure.suptitle(f"{model.run.name}\n{facts}", fontsize=11, parse_math=False)
    for place, (title, panel, _) in enumerate(panels, start=1):
        ax = figure.add_subplot(n_rows, 2, place)
        panel(ax, model)
        ax.set_title(title, fontsize=11)
    figure.savefig(file, format="png", dpi=110)
