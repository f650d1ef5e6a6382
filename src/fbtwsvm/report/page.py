"""The report: an HTML page that needs nothing else (no network, scripts or fonts), or a PNG picture."""

from __future__ import annotations

import io
import re
from html import escape
from typing import Any, BinaryIO

from matplotlib import rc_context
from matplotlib.figure import Figure

from ..data.table_model import TableModel
from .panels import Panel, panels_for

_STYLE = """
:root { --ink: #1d2733; --soft: #5b6673; --line: #d9dfe6; --card: #ffffff; --page: #f4f6f8; --blue: #2a5d9f; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.45 system-ui, sans-serif; }
main { max-width: 1160px; margin: 0 auto; padding: 20px 16px 40px; }
h1 { font-size: 1.5rem; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 0 0 2px; }
p { margin: 0 0 8px; color: var(--soft); }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 10px; margin: 16px 0; }
.tile, .card { background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 12px 14px; }
.tile b { display: block; font-size: 1.35rem; color: var(--blue); font-variant-numeric: tabular-nums; }
.tile span { color: var(--soft); font-size: .85rem; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); gap: 14px; }
.card { min-width: 0; break-inside: avoid; }
.card svg { display: block; width: 100%; height: auto; max-width: 620px; margin: 0 auto; }
.note { border-left: 4px solid #d9822b; margin-bottom: 14px; }
table { border-collapse: collapse; width: 100%; font-size: .9rem; }
td, th { text-align: left; padding: 3px 8px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td { overflow-wrap: anywhere; }
th { font-weight: 500; color: var(--soft); white-space: nowrap; }
@page { size: A4; margin: 12mm; }
@media print {
  body { background: white; font-size: 11pt; }
  main { max-width: none; padding: 0; }
  .cards { grid-template-columns: 1fr 1fr; gap: 8px; }
  .tiles { grid-template-columns: repeat(4, 1fr); }
  .tile, .card { border-color: #bbb; padding: 8px; }
}
"""


def html_page(model: TableModel) -> str:
    """Return the report as an HTML page."""
    run = model.run
    assert run is not None
    cards = "\n".join(_card(model, *panel) for panel in panels_for(model))
    notes = "".join(
        f'<div class="card note"><h2>Column {escape(name)} has moved</h2><p>Compared with the first rows, '
        f"{escape(text)}. The model keeps the scale of the first rows, which all its sums are in; a new model "
        "would take a new scale.</p></div>"
        for name, text in model.columns.moved().items()
    )
    tiles = "".join(f'<div class="tile"><b>{escape(v)}</b><span>{escape(k)}</span></div>' for k, v in headline(model))
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(run.name)}: tested, then learned</title>
<style>{_STYLE}</style>
</head>
<body>
<main>
<h1>{escape(run.name)}</h1>
<p>Each chunk of {run.chunk:,} rows was first predicted, then learned. The very first rows, before the model had learned
anything, are not counted.</p>
<div class="tiles">{tiles}</div>
{notes}
<div class="cards">
{cards}
<section class="card"><h2>Settings</h2><p>Parameters; changed ones in bold.</p>{_settings(model)}</section>
<section class="card"><h2>Columns</h2><p>As found in the first rows.</p>{_columns(model)}</section>
</div>
</main>
</body>
</html>
"""


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


def write_png(model: TableModel, file: BinaryIO) -> None:
    """Write all plots of the report as one PNG picture."""
    assert model.run is not None
    panels = panels_for(model)
    n_rows = -(-len(panels) // 2)
    figure = Figure(figsize=(11, 0.9 + 3.9 * n_rows), layout="constrained")
    numbers = headline(model)
    facts = ", ".join(f"{name} {value}" for name, value in numbers[:2] + numbers[4:6])
    figure.suptitle(f"{model.run.name}\n{facts}", fontsize=11, parse_math=False)
    for place, (title, draw, _) in enumerate(panels, start=1):
        ax = figure.add_subplot(n_rows, 2, place)
        draw(ax, model)
        ax.set_title(title, fontsize=11)
    figure.savefig(file, format="png", dpi=110)


def _card(model: TableModel, title: str, draw: Panel, text: str) -> str:
    return f'<section class="card"><h2>{escape(title)}</h2><p>{escape(text)}</p>{_svg(model, title, draw)}</section>'


def _svg(model: TableModel, title: str, draw: Panel) -> str:
    """Draw a plot as inline SVG with real text, for the width of a phone."""
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": title, "font.size": 10, "font.family": "DejaVu Sans"}):
        figure = Figure(figsize=(4.2, 3.2), layout="constrained")
        draw(figure.add_subplot(), model)
        text = io.StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    svg = re.sub(r"^.*?(?=<svg)", "", text.getvalue(), flags=re.DOTALL)
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = svg.replace("'DejaVu Sans'", "'DejaVu Sans', Verdana, sans-serif")
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1)


def _settings(model: TableModel) -> str:
    defaults = type(model.estimator)().get_params(deep=False)
    rows = []
    for name, value in model.estimator.get_params(deep=False).items():
        text = escape(str(value))
        rows.append((name, f"<b>{text}</b>" if repr(value) != repr(defaults[name]) else text))
    if model.estimator.gamma_ is not None:
        rows.append(("gamma in use", f"{model.estimator.gamma_:.4g}"))
    return _table(rows)


def _columns(model: TableModel) -> str:
    choices = model.columns.choices
    rows = []
    for column in model.columns.columns:
        kind = "number" if column.categories is None else f"{len(column.categories)} categories"
        rows.append((column.name, kind))
    rows += [("target", choices.target), ("scale", choices.scale), ("encoding", choices.encode)]
    rows.append(("missing values", choices.impute))
    if model.columns.unseen:
        rows.append(("values of unknown category", f"{model.columns.unseen:,}"))
    return _table([(name, escape(str(value))) for name, value in rows])


def _table(rows: list[tuple[str, Any]]) -> str:
    return "<table>" + "".join(f"<tr><th>{escape(name)}</th><td>{value}</td></tr>" for name, value in rows) + "</table>"
