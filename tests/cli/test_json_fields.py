"""The page of the command names the fields of --json."""

import json
import re
from pathlib import Path

import pytest

from command import QUICK, called, fbtwsvm_json

PAGE = (Path(__file__).parents[2] / "docs" / "command.md").read_text()


def documented():
    """Return the first words in code of each part of the rows of the table: the fields of each verb."""
    section = PAGE.partition("## JSON")[2].partition("\n## ")[0]
    found = {}
    for verbs, text in re.findall(r"^\| (`.*?) \| (.*) \|$", section, flags=re.MULTILINE):
        top = re.sub(r"\([^()]*\)", "", text)  # what is in brackets explains
        for verb in re.findall(r"`(\w+)`", verbs):
            found[verb] = set(re.findall(r"`(\w+)`", top))
    found["merge"] = found["train"] - {"set_aside"}
    return found


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """Run every verb once; return what it printed."""
    folder = tmp_path_factory.mktemp("json")
    rows, more, one, two = (folder / name for name in ("rows.csv", "more.csv", "one.fbt", "two.fbt"))
    called("generate", "sea", "-n", 50, "--seed", 1, "-o", more)
    found = {"generate": fbtwsvm_json("generate", "sea", "-n", 400, "-o", rows)}
    fourier = ("--feature-map", "fourier", "--chunk", 100)
    found["train"] = fbtwsvm_json("train", rows, "-t", "y", "-o", one, *fourier, *QUICK)
    called("train", rows, "--like", one, "-o", two, "--chunk", 100)
    found["merge"] = fbtwsvm_json("merge", one, two, "-o", folder / "both.fbt")
    found["update"] = fbtwsvm_json("update", one, more)
    found["unlearn"] = fbtwsvm_json("unlearn", one, more)
    found["evaluate"] = fbtwsvm_json("evaluate", one, rows)
    found["info"] = fbtwsvm_json("info", one)
    found["stream"] = fbtwsvm_json("stream", rows, "-t", "y", *QUICK)
    found["tune"] = fbtwsvm_json("tune", rows, "-t", "y", "--gamma", 1, "--reg", 0.01, "--C", 1)
    found["export"] = fbtwsvm_json("export", one, folder / "one.onnx")
    found["predict"] = json.loads(called("predict", one, rows, "--json").splitlines()[0])
    return found


def test_every_verb_is_there(printed):
    assert set(documented()) == set(printed)


@pytest.mark.parametrize("verb", sorted(documented()))
def test_the_page_names_the_fields(verb, printed):
    assert documented()[verb] - {"probability_"} == set(printed[verb])
