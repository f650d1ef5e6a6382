"""Model files: the same bits after loading, the same learning, written in one step."""

import json
import tracemalloc
from copy import copy
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import StandardScaler

import fbtwsvm
from command import QUICK, called
from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.evaluate.prequential import Snapshot
from fbtwsvm.export.modelfile import ModelFileError
from fbtwsvm.export.modelfile.value_types import Context, Int, Record
from fbtwsvm.features import FourierFeatures
from fbtwsvm.online.drift import HoeffdingDrift
from helpers import assert_nearly_same_answers, assert_same_answers, clouds, learn_table
from mutations import opened, with_header

FILES = Path(__file__).parent.parent / "files"


STREAMS = {
    "plain": {},
    "committee": {"decay": "auto"},
    "fading fourier": {"half_life": 100, "feature_map": "fourier", "gamma": 0.1},
    "the paper's": {"accept": "inside", "statistics": "kept", "forget_after": 2, "decision": "distance"},
    "balanced vote": {"class_weight": "balanced", "multiclass": "vote"},
    "weights": {"class_weight": {0: 1.0, 1: 2.0, 2: 0.5}, "C": 0.5},
    "detector": {"drift_detector": HoeffdingDrift(0.05), "half_life": 200},
    "chi2": {"kernel": "chi2"},
    "skewed": {"kernel": "skewed_chi2", "feature_map": "fourier"},
    "intersection": {"kernel": "intersection"},
    "metric": {"metric": [1.0, 2.0, 0.5, 0.0]},
    "fourier metric": {"metric": (1.0, 2.0, 0.5, 0.0), "feature_map": "fourier", "gamma": 0.1},
    "learned metric": {"metric": "columns", "gamma": 0.1},
}


@pytest.mark.parametrize("rows", [0, 7, 80, 250, 257, 420])
@pytest.mark.parametrize("name", STREAMS)
def test_saved_and_loaded_goes_on_as_if_never_stopped(name, rows, tmp_path):
    """At every stage: nothing learned, the first rows, the provisional model, just started, rows pending."""
    X, y = clouds(600, n_columns=4)
    X = np.abs(X)
    model = FBTWSVM(n_components=30, warm_up=250, memory=30, random_state=0, **STREAMS[name])
    ids = [f"row {i}" for i in range(len(X))]
    for first in range(0, rows, 20):
        part = slice(first, min(first + 20, rows))
        model.partial_fit(X[part], y[part], ids=ids[part])
    fbtwsvm.save(model, tmp_path / "model.fbt")
    loaded = fbtwsvm.load(tmp_path / "model.fbt")
    preparing = rows and getattr(model_of(model), "preparation", None) is not None
    same = assert_nearly_same_answers if preparing else assert_same_answers  # what is in preparation is stored finished
    for first in range(rows, 480, 25):
        part = slice(first, min(first + 25, 480))
        for each in (model, loaded):
            each.partial_fit(X[part], y[part], ids=ids[part])
    same(model, loaded, X)
    gone = slice(10, 30)
    reports = [each.unlearn(X[gone], y[gone], ids=ids[gone]) for each in (model, loaded)]
    assert reports[0] == reports[1]
    same(model, loaded, X)


@pytest.mark.parametrize("labels", ["texts", "objects", "floats", "bools", "int16"])
def test_a_fit_and_its_labels(labels, tmp_path):
    X, y = clouds(200)
    kinds = {"texts": np.array(["ä", "bee", ""])[y], "floats": y.astype(float), "int16": y.astype(np.int16)}
    kinds |= {"objects": np.array(["one", "two", "three"], dtype=object)[y], "bools": y > 0}
    model = FBTWSVM().fit(X, kinds[labels])
    fbtwsvm.save(model, tmp_path / "m.fbt")
    loaded = fbtwsvm.load(tmp_path / "m.fbt")
    assert_same_answers(model, loaded, X)
    assert loaded.classes_.dtype == model.classes_.dtype
    for name in ("support_", "memberships_", "duality_gap_"):
        np.testing.assert_array_equal(getattr(model, name), getattr(loaded, name))
    assert loaded.get_params() == model.get_params()
    for each in (model, loaded):
        each.partial_fit(X[:50], kinds[labels][:50])
    assert_same_answers(model, loaded, X)


def test_promised_classes_still_bind(tmp_path):
    X, y = clouds(200, n_columns=4)
    model = FBTWSVM(warm_up=60, n_components=10, random_state=0).partial_fit(X, y, classes=[0, 1, 2, 9])
    fbtwsvm.save(model, tmp_path / "m.fbt")
    loaded = fbtwsvm.load(tmp_path / "m.fbt")
    assert loaded.classes_.tolist() == [0, 1, 2, 9]
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="not in the classes"):
        loaded.partial_fit(X[:1], [5])
    (tmp_path / "m.fbt").write_bytes(
        with_header((tmp_path / "m.fbt").read_bytes(), lambda header: header["model"][1]["learned"].__setitem__(
            "promised", {"type": "i8", "values": header["model"][1]["stage"][1]["learner"]["drifts"]}
        ))
    )  # fmt: skip
    with pytest.raises(ModelFileError, match="no classes"):  # the array of drifts is empty
        fbtwsvm.load(tmp_path / "m.fbt")


def test_sparse_rows_frames_and_pairs(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = clouds(300, n_columns=4)
    sparse = sp.csr_matrix(np.where(X > 0.5, X, 0.0))
    frame = pd.DataFrame(X, columns=["a", "b", "c", "d"])
    two = FBTWSVM(C=(1.0, 2.0), reg=(0.01, 0.02)).fit(frame, y > 0)
    many = FBTWSVM(n_components=20, warm_up=100, random_state=0).partial_fit(sparse, y)
    for model, rows in ((two, frame), (many, sparse)):
        fbtwsvm.save(model, tmp_path / "m.fbt")
        loaded = fbtwsvm.load(tmp_path / "m.fbt")
        assert_same_answers(model, loaded, rows)
        for each in (model, loaded):
            each.partial_fit(rows, y > 0 if model is two else y)
        assert_same_answers(model, loaded, rows)
    assert fbtwsvm.load(tmp_path / "m.fbt").inspect().kept_rows.format == "csr"


def test_loaded_models_can_be_merged(tmp_path):
    """Maps are compared by their numbers, not by what pickle makes of them."""
    X, y = clouds(600, n_columns=4)
    mapping = FourierFeatures(gamma=0.2, n_components=40, random_state=0).fit(X)
    models = []
    for part in (slice(0, 300), slice(300, 600)):
        model = FBTWSVM(feature_map=FrozenEstimator(mapping), warm_up=50).partial_fit(X[part], y[part])
        fbtwsvm.save(model, tmp_path / "m.fbt")
        models.append((model, fbtwsvm.load(tmp_path / "m.fbt")))
    for first, second in zip(*models, strict=True):
        first.merge(second)
    assert_same_answers(models[0][0], models[0][1], X)
    with pytest.raises(ValueError, match="twice"):
        models[0][1].merge(models[0][0])


def test_what_is_code_is_refused_and_leaves_no_file(tmp_path):
    X, y = clouds(100, n_columns=4)
    unsaved = [
        FBTWSVM(kernel=lambda A, B: A @ B.T).fit(X, y),
        FBTWSVM(feature_map=StandardScaler()).fit(X, y),
        FBTWSVM(random_state=np.random.RandomState(0)).fit(X, y),
        FBTWSVM(warm_up=50, n_components=20).partial_fit(X, y, ids=[(i, i) for i in range(100)]),
    ]
    for model in unsaved:
        with pytest.raises(ModelFileError, match="pickle"):
            fbtwsvm.save(model, tmp_path / "m.fbt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", sorted(FILES.glob("*.fbt")), ids=lambda path: path.name)
def test_older_versions_stay_readable(path):
    """One file of each version; the answers were written down when it was made."""
    wanted = json.loads(path.with_suffix(".json").read_text())
    model = fbtwsvm.load(path)
    rows = {name: [row[j] for row in wanted["rows"]] for j, name in enumerate(wanted["columns"])}
    assert model.predict(rows).tolist() == wanted["labels"]
    # The model is in float32, whose rounding (1e-7) differs between BLAS kernels; probabilities follow the logarithm of
    # plane values, which are as small as 1e-2 and less, with a slope of several.
    np.testing.assert_allclose(model.predict_proba(rows), wanted["probabilities"], atol=1e-4)
    learn_table(model, {**rows, "y": wanted["labels"]})
    assert model.rows == wanted["learned"] + len(wanted["rows"])


def test_long_labels_take_no_more_memory_than_the_file(tmp_path):
    """One long label among many short ones: what is read is what was stored."""
    y = np.array(["a", "b" * 50_000])[np.arange(200) % 2]
    model = FBTWSVM(gamma="scale").fit(np.arange(400.0).reshape(200, 2), y)
    fbtwsvm.save(model, tmp_path / "m.fbt")
    size = (tmp_path / "m.fbt").stat().st_size
    tracemalloc.start()
    loaded = fbtwsvm.load(tmp_path / "m.fbt")
    assert tracemalloc.get_traced_memory()[1] <= 1.5 * size + 2**20
    tracemalloc.stop()
    np.testing.assert_array_equal(loaded.classes_, model.classes_)


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError, match="no file"):
        fbtwsvm.load(tmp_path / "none.fbt")
    with pytest.raises(ModelFileError, match="not a file"):
        fbtwsvm.load(tmp_path)


def parts_of(path):
    """Return the tree of a file with its arrays in it, and the bytes of its start and its checksum."""
    data = path.read_bytes()
    header, start = opened(data)
    arrays, tree = [], header["model"]
    for kind, shape, _ in header["arrays"]:
        size = int(kind[1:]) * int(np.prod(shape))
        arrays.append(data[start : start + size])
        start += size + -size % 64
    return tree, arrays, data


def lineage_of(tree):
    """Return the number of the array with the lineage."""
    stage = tree[1]["estimator"]["stage"]
    return (stage[1]["learner"] if stage[0] == "learning" else stage[1]["answers"])["lineage"][0]


@pytest.fixture(scope="module")
def fit_in_passes():
    """Return a fit whose mapped rows are never all in memory, and its rows."""
    X, y = clouds(21_000)
    chunks = [(X[first : first + 3000], y[first : first + 3000]) for first in range(0, len(X), 3000)]
    return FBTWSVM(n_components=20, gamma=0.1, random_state=0).fit(chunks), X


def test_a_fit_in_passes_is_read_again(fit_in_passes, tmp_path):
    model, X = fit_in_passes
    fbtwsvm.save(model, tmp_path / "model.fbt")
    loaded = fbtwsvm.load(tmp_path / "model.fbt")
    assert_same_answers(loaded, model, X[:500])
    np.testing.assert_array_equal(loaded.support_, model.support_)
    assert model.support_.dtype == np.int64


def test_files_of_fits_in_passes_from_before_0_15_are_read(fit_in_passes, tmp_path):
    """Their numbers of support rows have 32 bits; 0.13 and 0.14 could not read them."""
    model, X = fit_in_passes
    older = copy(model)
    older._learned = replace(model._learned, model=replace(model_of(model), support=model.support_.astype(np.int32)))
    fbtwsvm.save(older, tmp_path / "model.fbt")
    assert_same_answers(fbtwsvm.load(tmp_path / "model.fbt"), model, X[:500])


def test_what_could_not_be_read_again_is_not_written(fit_in_passes, tmp_path):
    model, _ = fit_in_passes
    spoiled = copy(model)
    spoiled._learned = replace(model._learned, model=replace(model_of(model), support=model.support_.astype(np.int16)))
    with pytest.raises(ModelFileError, match="int16"):
        fbtwsvm.save(spoiled, tmp_path / "model.fbt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("options", [(), ("--chunk", 100)])
def test_two_equal_runs_differ_in_64_bytes(options, rows, tmp_path):
    """Lineage and checksum, as docs/guide/model_files.md says."""
    np.savez(tmp_path / "rows.npz", X=rows[0], y=rows[1])
    for name in ("one.fbt", "two.fbt"):
        called("train", tmp_path / "rows.npz", "-t", "y", "-o", tmp_path / name, *QUICK, *options)
    (tree, arrays, one), (other_tree, other_arrays, two) = (
        parts_of(tmp_path / f"{name}.fbt") for name in ("one", "two")
    )
    assert tree == other_tree
    differ = [number for number, (a, b) in enumerate(zip(arrays, other_arrays, strict=True)) if a != b]
    assert differ == [lineage_of(tree)]
    assert len(arrays[differ[0]]) == 32
    bytes_that_differ = np.flatnonzero(np.frombuffer(one, np.uint8) != np.frombuffer(two, np.uint8))
    place = one.index(arrays[differ[0]])
    outside = (bytes_that_differ < place) | (bytes_that_differ >= place + 32)
    assert (bytes_that_differ[outside] >= len(one) - 32).all()


def test_two_equal_streams_also_differ_in_their_times(rows, tmp_path):
    np.savez(tmp_path / "rows.npz", X=rows[0], y=rows[1])
    found = []
    for _ in range(2):
        called("stream", tmp_path / "rows.npz", "-t", "y", "--model", tmp_path / "m.fbt", *QUICK)
        found.append(parts_of(tmp_path / "m.fbt"))
        (tmp_path / "m.fbt").unlink()
    (tree, arrays, _), (other_tree, other_arrays, _) = found
    record, other_record = tree[1]["run"]["record"], other_tree[1]["run"]["record"]
    assert record.pop("seconds") != other_record.pop("seconds")
    assert tree == other_tree
    differ = {number for number, (a, b) in enumerate(zip(arrays, other_arrays, strict=True)) if a != b}
    assert differ == {lineage_of(tree), record["values"]}
    names = [name for name in Snapshot.__dataclass_fields__ if name != "window_classes"]
    values, others = (np.frombuffer(a[record["values"]]).reshape(-1, len(names)) for a in (arrays, other_arrays))
    assert {names[j] for j in np.flatnonzero((values != others).any(axis=0))} <= {"seconds", "rows_per_second"}


def test_a_part_that_is_new_in_a_format_has_a_value_in_older_files():
    record = Record(dict, {"old": Int(), "new": Int()}, added={"new": (2, 7)})
    older, newer = (Context(SimpleNamespace(version=version)) for version in (1, 2))
    assert record.read({"old": 1}, older) == {"old": 1, "new": 7}
    assert record.read({"old": 1, "new": 3}, newer) == {"old": 1, "new": 3}
    for node, context in (({"old": 1}, newer), ({"old": 1, "new": 3}, older)):
        with pytest.raises(ModelFileError, match="missing or unknown"):
            record.read(node, context)


def test_a_file_of_format_1_may_have_other_parameters_than_its_stream(tmp_path):
    """`set_params` had no effect on a stream, and was saved."""

    def change(header):
        header["model"][1]["estimator"]["parameters"]["C"] = ["number", 3.0]

    (tmp_path / "m.fbt").write_bytes(with_header((FILES / "model_v1.fbt").read_bytes(), change))
    model, plain = fbtwsvm.load(tmp_path / "m.fbt"), fbtwsvm.load(FILES / "model_v1.fbt")
    assert model.estimator.C == 3.0
    assert_same_answers(plain.estimator, model.estimator, np.eye(3, dtype=np.float32))


def test_a_committee_of_an_older_file_answers_as_before_and_goes_on():
    """Before format 6 there was one way to combine members, and none started again."""
    wanted = json.loads((FILES / "committees" / "v5.json").read_text())
    model, rows = fbtwsvm.load(FILES / "committees" / "v5.fbt"), np.array(wanted["rows"])
    np.testing.assert_allclose(model.predict_proba(rows), wanted["probabilities"], atol=0.01)
    assert len(model.memory_report().members) == 4
    X, y = clouds(200, 2, n_columns=2)
    for first in range(0, 200, 7):
        model.partial_fit(X[first : first + 7], y[first : first + 7])
    assert model_of(model).members[0].policy.starts_again
    assert model.score(X, y) > 0.7
