"""All tables and figures on one page that needs nothing else."""

import base64
import os
import platform
from html import escape

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; color: #222; }
h1 { font-size: 1.5rem; } h2 { font-size: 1.15rem; margin-top: 2.5rem; }
.wide { overflow-x: auto; } table { border-collapse: collapse; font-size: 13px; }
th, td { padding: .25rem .6rem; border-bottom: 1px solid #ddd; text-align: right; white-space: nowrap; }
th { vertical-align: bottom; white-space: normal; background: #f5f5f5; }
th:first-child, td:first-child { text-align: left; }
p { color: #444; max-width: 55rem; } img { max-width: 100%; height: auto; margin-top: 1rem; }
"""


def write(path, tables, figures, command):
    """Write the page; a table is followed by its figures."""
    import sklearn

    from fbtwsvm import __version__

    where = f"Python {platform.python_version()}, scikit-learn {sklearn.__version__}, {os.cpu_count()} cores"
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>",
        "<meta name='viewport' content='width=device-width, initial-scale=1'>",
        f"<title>The paper, reproduced</title><style>{STYLE}</style></head><body>",
        "<h1>Incremental and decremental fuzzy bounded twin SVM: the paper, reproduced</h1>",
        f"<p>fbtwsvm {escape(__version__)}, {escape(where)}. Made by <code>{escape(command)}</code>. Every measured "
        "value "
        "is in results.csv. The paper: A. R. Mello, M. R. Stemmer, A. L. Koerich, Information Sciences 526 "
        "(2020).</p>",
    ]
    for table in tables:
        parts.append(table.html())
        for name in table.figures:
            if name in figures:
                data = base64.b64encode(figures[name].read_bytes()).decode()
                parts.append(f"<img alt='{escape(table.title)}' src='data:image/png;base64,{data}'>")
    parts.append("</body></html>")
    path.write_text("\n".join(parts))
