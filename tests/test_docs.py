"""The site lists every public name, every example and every part of the benchmarks."""

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest

from command import called
from fbtwsvm.cli.app import _VERBS

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
REFERENCE = (ROOT / "docs" / "api" / "index.md").read_text()
# Modules with public names; of the last one only the names that the reference lists are public.
MODULES = ("", ".features", ".evaluate", ".evaluate.plot", ".data.generators", ".data.sources", ".export.onnx",
           ".online.drift", ".river")  # fmt: skip
CONSTANTS = {"GENERATORS", "FORMATS"}


def listed():
    """Return the names of the reference, from `fbtwsvm.` on."""
    return re.findall(r"^   ([\w.]+)$", REFERENCE, flags=re.MULTILINE)


@pytest.mark.parametrize("module", MODULES)
def test_the_reference_has_every_public_name(module):
    names = {
        f"{module}.{name}".strip(".") for name in import_module(f"fbtwsvm{module}").__all__ if name not in CONSTANTS
    }
    assert names <= set(listed())


def test_every_name_of_the_reference_is_there_and_documented():
    assert len(listed()) == len(set(listed())) > 30
    for path in listed():
        module, _, name = f"fbtwsvm.{path}".rpartition(".")
        thing = getattr(import_module(module), name)
        assert (thing.__doc__ or "").strip(), path


def test_every_page_has_a_way_to_it():
    """A page that no table of contents names would be found by nobody; Sphinx warns of it only when it is built."""
    pages = {page for page in (ROOT / "docs").rglob("*.md") if not {"_build", "gallery"} & set(page.parts)}
    named = {(ROOT / "docs" / "index.md")}
    for page in pages:
        for toctree in re.findall(r"```{toctree}\n(.*?)```", page.read_text(), flags=re.DOTALL):
            entries = [line for line in toctree.splitlines() if line and not line.startswith(":")]
            named |= {(page.parent / f"{entry}.md") for entry in entries}
    assert pages <= named


def test_links_of_readme_lead_to_files():
    links = re.findall(r"\]\((?!http)([^)#]+)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_python_of_the_readme_runs(capsys):
    exec(re.search(r"```python\n(.*?)```", README, flags=re.DOTALL).group(1), {})
    accuracy, unlearned, *_ = capsys.readouterr().out.splitlines()
    assert float(accuracy) > 0.9
    assert unlearned.startswith("10 rows taken out")


def test_the_commands_of_the_readme_run(tmp_path, monkeypatch):
    """With fewer rows."""
    monkeypatch.chdir(tmp_path)
    text = README
    for many, few in (("-n 20000", "-n 1200"), ("-n 1000", "-n 100"), ("-every 5000", "-every 300")):
        assert many in text
        text = text.replace(many, few)
    lines = re.findall(r"^    fbtwsvm (.*)$", text, flags=re.MULTILINE)
    results = {line.split()[0]: called(*line.split()) for line in lines}
    assert set(results) == {*_VERBS} - {"merge"}
    assert "100 rows taken out" in results["unlearn"]


EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))


def test_there_are_at_least_twelve_pictures():
    assert len(EXAMPLES) >= 12


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_picture_is_drawn_in_one_block(example):
    """The gallery takes a picture at the end of the block that begins it: what comes later would be missing."""
    begun = set()
    for block in example.read_text().split("# %%"):
        nodes = list(ast.walk(ast.parse(block)))
        figures = [
            node.targets[0] for node in nodes
            if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith(("plt.subplots", "plt.figure"))
        ]  # fmt: skip
        here = {name.id for figure in figures for name in ast.walk(figure) if isinstance(name, ast.Name)}
        assert not (begun - here) & {node.id for node in nodes if isinstance(node, ast.Name)}
        begun |= here


def test_benchmarks_readme_names_every_part():
    from benchmarks.__main__ import PARTS

    text = (ROOT / "benchmarks" / "README.md").read_text()
    assert [part for part in PARTS if f"`{part}`" not in text] == []
    pages = set(re.findall(r"docs/[\w/]+\.md", text))
    assert [page for page in pages if not (ROOT / page).exists()] == []
