"""Run the Python of every page: the blocks of one page share their names, and an error ends the build.

A block that needs what is not here (a GPU, a file of yours) says so: ```{code-block} python with the class `not-run`.
"""

import contextlib
import io
import os
import tempfile
import warnings

from docutils import nodes
from sphinx.errors import ExtensionError

NOT_RUN = "not-run"


def run_page(app, doctree, name):
    """Run the Python blocks of a page in their order, in an empty folder."""
    blocks = [node for node in doctree.findall(nodes.literal_block) if node.get("language") in ("python", "py")]
    blocks = [node for node in blocks if NOT_RUN not in node.get("classes", ())]
    if not blocks or name.startswith(("gallery/", "api/")):
        return
    names = {"__name__": "__page__"}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder), warnings.catch_warnings():
        for number, node in enumerate(blocks, 1):
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(node.astext(), f"{name}, block {number}", "exec"), names)
            except Exception as error:
                raise ExtensionError(
                    f"{name}, Python block {number}: {type(error).__name__}: {error}", error
                ) from error
    if (plt := names.get("plt")) is not None:
        plt.close("all")


def setup(app):
    """Run pages when they are read, once for each change of a page."""
    if os.environ.get("FBTWSVM_DOCS_RUN", "1") == "1":
        app.connect("doctree-read", lambda app, doctree: run_page(app, doctree, app.env.docname))
    return {"parallel_read_safe": True}
