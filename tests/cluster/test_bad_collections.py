"""Bad collections are refused in the first pass, with the number of the partition, and leave a model as it was."""

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

from collected import arrays, frame, large, model
from helpers import clouds

X, Y = clouds(600, 3, n_columns=3, seed=4, spread=1.5)
COLUMNS = ["x0", "x1", "x2"]


def changed(part, row, value):
    """Return X with a value in one row of the partition that begins there."""
    found = part.copy()
    found[row, 1] = value
    return found


def blocks(X, y, chunks=(200, 200, 200)):
    return da.from_array(X, chunks=(chunks, -1)), da.from_array(y, chunks=(chunks,))


CASES = {
    "nan": (lambda: blocks(changed(X, 410, np.nan), Y), r"Partition 2: .*NaN"),
    "infinity": (lambda: blocks(changed(X, 10, np.inf), Y), r"Partition 0: .*infinity"),
    "too large": (lambda: blocks(changed(X, 203, 1e200), Y), r"Partition 1: Row 3 has the value 1e\+200 in column 1"),
    "one class": (lambda: blocks(X, np.zeros(600)), "one class only"),
    "kinds of labels": (
        lambda: (
            blocks(X, Y)[0],
            da.arange(600, chunks=200).map_blocks(lambda part: part % 3 if part[0] else (part % 3).astype(str)),
        ),
        "one kind",
    ),
    "kinds of labels in a partition": (
        lambda: blocks(X, np.array(["a"] * 300 + [1] * 300, dtype=object)),
        "Partition 1: ",
    ),
    "numbers as labels": (lambda: blocks(X, Y + 0.5), r"Partition 0: .*label type"),
    "missing labels": (lambda: blocks(X, np.where(Y == 0, np.nan, Y)), r"Partition 0: Row 7 has no label"),
    "lengths": (lambda: (blocks(X, Y)[0], blocks(X[:599], Y[:599], (200, 200, 199))[1]), "600 rows and y has 599"),
    "lengths in a partition": (
        lambda: (
            blocks(X, Y)[0],
            da.concatenate(
                [
                    da.from_delayed(dask.delayed(Y[i : i + n]), (np.nan,), Y.dtype)
                    for i, n in ((0, 200), (200, 150), (350, 250))
                ]
            ),
        ),
        r"Partition 1: .*inconsistent",
    ),
    "partitions": (lambda: (frame(3, X, Y)[COLUMNS], frame(4, X, Y)["y"]), "3 partitions and y has 4"),
    "no rows": (lambda: blocks(X[:0], Y[:0], (0,)), "has no rows"),
    "three dimensions": (lambda: (da.ones((4, 2, 2)), da.ones(4)), "3 dimensions"),
    "a series": (lambda: (frame(3, X, Y)["x0"], frame(3, X, Y)["y"]), "to_frame"),
    "no labels": (lambda: (blocks(X, Y)[0], None), "needs the labels"),
    "two columns of labels": (lambda: (blocks(X, Y)[0], da.ones((600, 2), chunks=200)), "one column"),
    "labels without lengths": (lambda: (arrays(3, X, known=False)[0], Y), "no Dask collection"),
    "text": (
        lambda: (frame(3, X, Y).assign(x1="word")[COLUMNS], frame(3, X, Y)["y"]),
        r"Partition 0: .*could not convert string",
    ),
    "a series subtracted": (
        lambda: (frame(3, X, Y)[COLUMNS] - pd.Series(X.mean(axis=0), COLUMNS), frame(3, X, Y)["y"]),
        "scale with X.map_partitions",
    ),
    "columns in another order": (
        lambda: (
            dd.from_map(
                lambda n: pd.DataFrame(X[200 * n : 200 * (n + 1)], columns=COLUMNS if n < 2 else COLUMNS[::-1]),
                range(3),
                meta=pd.DataFrame(X[:0], columns=COLUMNS),
                enforce_metadata=False,
            ),
            blocks(X, Y)[1],
        ),
        r"Partition 2: The feature names should match(.|\n)*scale with X.map_partitions",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_bad_collections_are_refused(case):
    make, message = CASES[case]
    fitted = model().fit(X, Y)
    planes = fitted.planes_
    with large(100), pytest.raises(ValueError, match=message):
        fitted.fit(*make())
    assert fitted.planes_ is planes


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.where(np.arange(600) == 250, -1.0, 1.0), r"Partition 1: .*[Nn]egative"),
        (np.where(np.arange(600) == 450, np.nan, 1.0), r"Partition 2: .*NaN"),
        (np.zeros(600), "Every sample_weight is zero"),
    ],
)
def test_bad_weights_are_refused(weights, message):
    dX, dy = blocks(X, Y)
    with pytest.raises(ValueError, match=message):
        model().fit(dX, dy, da.from_array(weights, chunks=200))


def test_a_partition_without_weight_is_left_out():
    dX, dy = blocks(X, Y)
    weights = np.repeat([1.0, 0.0, 1.0], 200)
    with large(100):
        found = model().fit(dX, dy, da.from_array(weights, chunks=200))
        without = model().fit(*blocks(np.delete(X, slice(200, 400), 0), np.delete(Y, slice(200, 400)), (200, 200)))
    np.testing.assert_allclose(found.planes_, without.planes_, atol=1e-9)


def test_groups_are_refused():
    with pytest.raises(ValueError, match="groups cannot be given"):
        model().fit(*blocks(X, Y), groups=np.arange(600) % 5)


@pytest.mark.parametrize(("y", "weights"), [(3, None), (Y, 2.0), (np.ones((600, 2)), None)])
def test_labels_and_weights_of_other_shapes(y, weights):
    with pytest.raises(ValueError, match="give one for each row"):
        model().fit(blocks(X, Y)[0], y, weights)
    assert model().fit(blocks(X, Y)[0], Y[:, None]).classes_.tolist() == [0, 1, 2]


@pytest.mark.parametrize("value", [np.nan, -1.0])
def test_scores_refuse_bad_weights(value):
    dX, dy = blocks(X, Y)
    weights = np.where(np.arange(600) == 250, value, 1.0)
    with pytest.raises(ValueError, match="Partition 1: sample_weight"):
        model().fit(X, Y).score(dX, dy, da.from_array(weights, chunks=200))


def test_what_is_no_array_and_no_frame():
    with pytest.raises(TypeError, match="Dask array or a Dask frame"):
        model().fit(dask.delayed(X), dask.delayed(Y))


@pytest.mark.parametrize("changes", [{"C": -1.0}, {"n_components": 700}, {"class_weight": {9: 1.0}}])
def test_bad_parameters_are_refused(changes):
    with large(100), pytest.raises(ValueError, match=r"C|n_components|class_weight"):
        model(feature_map="nystroem").set_params(**changes).fit(*blocks(X, Y))
