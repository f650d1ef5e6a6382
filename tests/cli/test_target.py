"""A target of quantities is refused, as fit refuses continuous labels; a target of classes is not."""

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from command import QUICK, called, fbtwsvm_json
from fbtwsvm.data.sources import DataError
from fbtwsvm.data.target import check_target

ROWS = 300


@pytest.fixture
def priced(tmp_path):
    """Return rows with a price: a fraction, and in whole units."""
    random = np.random.default_rng(0)
    price = random.normal(100.0, 20.0, size=ROWS)
    columns = {"size": price / 10 + random.normal(size=ROWS), "price": price, "units": (1000 * price).astype(int)}
    pacsv.write_csv(pa.table({**columns, "grade": (price > 100).astype(int)}), tmp_path / "rows.csv")
    return tmp_path / "rows.csv"


@pytest.mark.parametrize("verb", ["train -o MODEL", "train --chunk 50 -o MODEL", "tune", "stream --model MODEL"])
@pytest.mark.parametrize("target", ["price", "units"])
def test_quantities_are_refused_by_every_verb_that_learns(verb, target, priced, tmp_path):
    name, *options = verb.replace("MODEL", str(tmp_path / "m.fbt")).split()
    said = called(name, priced, "-t", target, *options, status=1)
    assert f"target column '{target}' holds" in said
    assert "different numbers in" in said
    assert "looks like regression" in said
    assert f"--categorical {target}" in said
    assert said.count("\n") == 1
    assert not (tmp_path / "m.fbt").exists()


def test_the_way_out_works(priced, tmp_path):
    """Numbers that are classes, hardly any of them twice, are learned if the user says so."""
    text = "size,y\n" + "".join(f"{row % 30},{row % 30}.5\n" for row in range(300))
    (tmp_path / "classes.csv").write_text(text)
    given = ("train", tmp_path / "classes.csv", "-t", "y", "-o", tmp_path / "m.fbt", "--chunk", 50, *QUICK)
    assert "30 different numbers in 200 rows" in called(*given, status=1)
    assert len(fbtwsvm_json(*given, "--categorical", "y")["classes"]) == 30
    assert fbtwsvm_json("train", priced, "-t", "grade", "-o", tmp_path / "g.fbt", *QUICK)["classes"] == ["0", "1"]


@pytest.mark.parametrize(
    ("values", "refused"),
    [
        (np.arange(100), True),  # whole, none twice
        (np.arange(100) % 40, False),  # 40 classes
        (np.arange(20), False),  # too few to tell
        (np.arange(100) / 10, True),
        (np.arange(10_000) % 300 / 10, True),  # fractions that repeat, as temperatures do
        (np.arange(100) % 5 / 2, False),  # half stars
        (np.arange(8) / 10, True),  # none twice
        (np.arange(4) / 10, False),  # too few to tell
        ([str(row) for row in range(100)], True),  # numbers in a text file
        ([f"label {row}" for row in range(100)], False),
        ([True, False] * 50, False),
        ([None, 1.0, 2.0] * 30, False),
    ],
)
def test_what_counts_as_a_quantity(values, refused):
    column = pa.chunked_array([pa.array(values)])
    if refused:
        with pytest.raises(DataError, match="looks like regression"):
            check_target("y", column)
    else:
        check_target("y", column)
