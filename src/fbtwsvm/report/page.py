"""The report: an HTML page that needs nothing else (no network, scripts or fonts), or a PNG picture."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Sequence
from datetime import datetime
from html import escape
from textwrap import wrap
from typing import BinaryIO

from matplotlib import rc_context
from matplotlib.figure import Figure

from .. import __version__
from ..data.sources.address import masked
from ..data.table_model import TableModel
from ..evaluate._drawing import shown
from .command_line import shown_command
from .panels import Panel, draw_classes, panels_for
from .tables import class_table, classes_shown, columns_table, settings_table

_STYLE = """
:root { --ink: #1d2733; --soft: #5b6673; --line: #d9dfe6; --card: #ffffff; --page: #f4f6f8; --blue: #2a5d9f; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.45 system-ui, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 20px 16px 40px; }
h1 { font-size: 1.5rem; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 2px; overflow-wrap: anywhere; }
p { margin: 0 0 8px; color: var(--soft); overflow-wrap: anywhere; }
code { font: .85rem/1.4 ui-monospace, monospace; color: var(--ink); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 10px; margin: 16px 0; }
.tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; }
.tile b { display: block; font-size: 1.35rem; color: var(--blue); font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .85rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 14px; }
.card { min-width: 0; break-inside: avoid; }
.wide, .card:nth-last-child(3):nth-child(odd) { grid-column: 1 / -1; }
.wide tbody { display: grid; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); column-gap: 24px; }
.wide tr { display: grid; grid-template-columns: 1fr 1fr; border-bottom: 1px solid var(--line); }
.wide tr > * { border: 0; }
.card svg { display: block; width: 100%; height: auto; max-width: 620px; margin: 0 auto; }
.note { border-left: 4px solid #d9822b; margin-bottom: 14px; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
td, th { text-align: left; padding: 3px 8px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td, th { overflow-wrap: anywhere; }
th { font-weight: 500; color: var(--soft); }
.numbers td, .numbers thead th { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.numbers thead th:first-child { text-align: left; }
.numbers tbody th { color: var(--ink); }
@page { size: A4; margin: 12mm; }
@media print {
  body { background: white; font-size: 11pt; }
  main { max-width: none; padding: 0; }
  .cards { grid-template-columns: 1fr 1fr; gap: 8px; }
  .tiles { grid-template-columns: repeat(4, 1fr); }
  .tile, .card { border-color: #bbb; padding: 8px; }
}
"""
_MOST_LETTERS = 300  # of the name of a source
_LINE_LETTERS = 120  # of a line above the picture


def html_page(model: TableModel, command: Sequence[str]) -> str:
    """Return the report as an HTML page."""
    run = model.run
    assert run is not None
    cards = "\n".join(_card(model, *panel) for panel in panels_for(model))
    notes = "".join(
        f'<div class="card note"><h2>Column {escape(shown(name, 60))} has moved</h2><p>Compared with the first rows, '
        f"{escape(text)}. The model keeps the scale of the first rows, which all its sums are in; a new model "
        "would take a new scale.</p></div>"
        for name, text in model.columns.moved().items()
    )
    tiles = "".join(f'<div class="tile"><b>{escape(v)}</b><span>{escape(k)}</span></div>' for k, v in headline(model))
    name = escape(_name(model))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}: tested, then learned</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{name}</h1>
<p>Each chunk of {run.chunk:,} rows was first predicted, then learned. The very first rows, before the model had learned
anything, are not counted.</p>
<p>{escape(_origin())}{f" with <code>{escape(_command(command))}</code>" if command else "."}</p>
<div class="tiles">{tiles}</div>
{notes}
<div class="cards">
{cards}
<section class="card"><h2>By class</h2><p>{escape(classes_shown(model))}</p>{class_table(model)}</section>
<section class="card wide"><h2>Settings</h2><p>Parameters; changed ones in bold.</p>{settings_table(model)}</section>
<section class="card wide"><h2>Columns</h2><p>As found in the first rows.</p>{columns_table(model)}</section>
</div>
</main>
</body>
</html>
"""


def _name(model: TableModel) -> str:
    """Return the name of the source, without secrets."""
    assert model.run is not None
    return shown(masked(model.run.name), _MOST_LETTERS)


def _origin() -> str:
    """Return when and by what the report was written."""
    return f"Written on {datetime.now().astimezone():%Y-%m-%d %H:%M %Z} by fbtwsvm {__version__}"


def _command(command: Sequence[str]) -> str:
    return shown(shown_command(command), 20 * _MOST_LETTERS)


def headline(model: TableModel) -> list[tuple[str, str]]:
    """Return the most important numbers."""
    assert model.run is not None
    results = model.run.record.summary()
    return [
        ("accuracy", f"{100 * results['accuracy']:.1f} %"),
        ("label of the row before", f"{100 * results['label_before']:.1f} %"),
        ("balanced accuracy", f"{100 * results['balanced_accuracy']:.1f} %"),
        ("kappa", f"{results['kappa']:.3f}"),
        ("rows", f"{model.run.rows:,}"),
        ("rows a second", f"{results['rows_per_second']:,.0f}"),
        ("rows kept", f"{results['kept']:,}"),
        ("memory", f"{results['bytes'] / 2**20:.1f} MiB"),
    ]


def write_png(model: TableModel, file: BinaryIO, command: Sequence[str]) -> None:
    """Write all plots of the report, and the figures of the classes, as one PNG picture."""
    panels = [*panels_for(model), ("By class", draw_classes, "")]
    n_rows = -(-len(panels) // 2)
    figure = Figure(figsize=(11, 1.3 + 3.9 * n_rows), layout="constrained")
    numbers = headline(model)
    facts = ", ".join(f"{name} {value}" for name, value in numbers[:2] + numbers[4:6])
    lines = [shown(_name(model), _LINE_LETTERS), facts, _origin(), *wrap(_command(command), _LINE_LETTERS)[:3]]
    figure.suptitle("\n".join(lines), fontsize=11, parse_math=False)
    places = figure.subfigures(n_rows, 2, squeeze=False).flat
    for place, (title, draw, _) in zip(places, panels, strict=False):
        ax = place.add_subplot()
        draw(ax, model)
        ax.set_title(title, fontsize=11)
    with warnings.catch_warnings(record=True) as caught:
        figure.savefig(file, format="png", dpi=110)
    others = [warning for warning in caught if not str(warning.message).startswith("Glyph")]
    for warning in others:
        warnings.warn(warning.message, stacklevel=2)
    if len(others) < len(caught):  # one warning instead of one for each letter
        warnings.warn("The picture shows boxes for letters that its font lacks: a report .html has them.", stacklevel=2)


def _card(model: TableModel, title: str, draw: Panel, text: str) -> str:
    return f'<section class="card"><h2>{escape(title)}</h2><p>{escape(text)}</p>{_svg(model, title, draw)}</section>'


def _svg(model: TableModel, title: str, draw: Panel) -> str:
    """Draw a plot as inline SVG with real text, for the width of a phone."""
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": title, "font.size": 10, "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(4.2, 3.2), layout="constrained")
        draw(figure.add_subplot(), model)
        text = io.StringIO()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has more fonts
            figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = re.sub(r"^.*?(?=<svg)", "", text.getvalue(), flags=re.DOTALL)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)
