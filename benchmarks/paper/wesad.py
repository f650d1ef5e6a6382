"""WESAD: leave one subject out, over the archive's own files; and the same on chest_accel.

The archive has a pickle for each subject (S2/S2.pkl ...): a dict with `signal` -> `chest` -> six arrays, `label` and
`subject`. An unpickler that makes numpy arrays and nothing else reads them one at a time; eight chest channels of the
rows with labels 1 to 3 are written to plain files, which are then read in pieces.
"""

import os
import pickle
import re
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.harness.data import Missing, fetch, find
from benchmarks.harness.measure import peak_memory
from benchmarks.harness.table import table
from benchmarks.paper import published
from benchmarks.paper.jobs import COLUMNS, Job, Learner, do, mean, mean_sd, values
from fbtwsvm import FBTWSVM

CHANNELS = ("ACC", "ECG", "EMG", "EDA", "Temp", "Resp")  # the first has three columns, the others one
PIECE = 1_000  # rows that stay together; pieces of all subjects are shuffled
CHUNK = 20  # pieces learned at a time
NAMES = ("WESAD", "chest_accel")
SETTINGS = {  # the paper's kernel, C, mu and decision; and a map
    "linear": {"kernel": "linear", "C": 8.0, "mu": 0.1, "decision": "distance"},
    "300 Nystroem features": {"feature_map": "nystroem", "n_components": 300, "gamma": "scale"},
}
ALLOWED = {("numpy", "ndarray"), ("numpy", "dtype"), ("_codecs", "encode")} | {
    (f"numpy.{core}.{module}", name)
    for core in ("core", "_core")
    for module, name in (("multiarray", "_reconstruct"), ("multiarray", "scalar"), ("numeric", "_frombuffer"))
}


class ArraysOnly(pickle.Unpickler):
    """An unpickler for numpy arrays in plain containers; anything else is refused."""

    def find_class(self, module, name):
        """Return what is asked for by name, if it is harmless."""
        if (module, name) not in ALLOWED:
            raise pickle.UnpicklingError(f"The file wants {module}.{name}, but only numpy arrays are expected in it.")
        return super().find_class(module, name)


def read_subject(file, name):
    """Return the eight channels in float32 and the labels 1 to 3 of one subject's pickle."""
    try:
        content = ArraysOnly(file, encoding="latin1").load()
        chest, labels = content["signal"]["chest"], np.asarray(content["label"]).ravel()
        parts = [np.asarray(chest[channel]).reshape(len(labels), -1) for channel in CHANNELS]
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"{name}.pkl has another layout than WESAD's files: {error!r}") from error
    columns = [part.shape[1] for part in parts]
    if columns != [3, 1, 1, 1, 1, 1]:
        raise ValueError(f"{name}.pkl: channels have {columns} columns, not 3, 1, 1, 1, 1, 1.")
    rows = (labels >= 1) & (labels <= 3)
    return np.concatenate([part[rows].astype(np.float32) for part in parts], axis=1), labels[rows].astype(np.int64)


def wesad_subjects():
    """Yield name, rows and labels of each subject of the folder WESAD in the data folder."""
    folder = Path(os.environ.get("FBTWSVM_DATA", ".")) / "WESAD"
    files = {path.stem: path for path in folder.rglob("*.pkl") if re.fullmatch(r"S\d+", path.stem)}
    if not files:
        raise Missing("The data folder has no folder WESAD with files S2/S2.pkl, S3/S3.pkl and so on.")
    for name in sorted(files, key=lambda name: int(name[1:])):
        with files[name].open("rb") as file:
            yield name, *read_subject(file, name)


def chest_accel_subjects(every):
    """Yield the same for chest_accel, whose rows have the number of their subject; every so many rows."""
    with np.load(find("chest_accel") or fetch("chest_accel")) as data:
        X, y, subject = data["X"], data["y"], data["subject"]
    for number in np.unique(subject):
        own = np.flatnonzero(subject == number)[::every]
        yield f"S{number}", X[own].astype(np.float32), y[own].astype(np.int64)


def unpack(subjects, folder):
    """Write each subject's rows to NAME-X.npy and NAME-y.npy in a folder; yields the names."""
    for name, X, y in subjects:
        np.save(Path(folder) / f"{name}-X.npy", X)
        np.save(Path(folder) / f"{name}-y.npy", y)
        yield name


def pieces(folder, names):
    """Yield chunks of rows: pieces of all subjects in a random order, read when they are needed."""
    held = {name: [np.load(Path(folder) / f"{name}-{part}.npy", mmap_mode="r") for part in "Xy"] for name in names}
    places = [(name, first) for name, (_, y) in held.items() for first in range(0, len(y), PIECE)]
    order = np.random.default_rng(0).permutation(len(places))
    for start in range(0, len(order), CHUNK):
        chosen = [places[number] for number in order[start : start + CHUNK]]
        rows = [[np.asarray(part[first : first + PIECE]) for part in held[name]] for name, first in chosen]
        yield np.concatenate([X for X, _ in rows]), np.concatenate([y for _, y in rows])


class Standardised:
    """Columns with mean 0 and standard deviation 1, as the first chunk has them; then the model."""

    def __init__(self, model):
        self.model, self.centre = model, None

    def partial_fit(self, X, y):
        """Learn a chunk."""
        if self.centre is None:
            self.centre, self.spread = X.mean(axis=0), np.maximum(X.std(axis=0), 1e-12)
        self.model.partial_fit((X - self.centre) / self.spread, y)

    def predict(self, X):
        """Return the labels of rows."""
        return self.model.predict((X - self.centre) / self.spread)


def leave_one_out(name, method, d, setting, every, subjects=None):
    with tempfile.TemporaryDirectory() as folder:
        names = list(unpack(wesad_subjects() if name == "WESAD" else chest_accel_subjects(every), folder))
        for left_out in names[:subjects]:
            learner, rows = Learner(Standardised(FBTWSVM(random_state=0, **SETTINGS[setting]))), 0
            for X, y in pieces(folder, [other for other in names if other != left_out]):
                learner.partial_fit(X, y)
                rows += len(y)
            start, right, tested = time.perf_counter(), 0, 0
            for X, y in pieces(folder, [left_out]):
                right += int((learner.predict(X) == y).sum())
                tested += len(y)
            yield {
                "seed": left_out, "rows": rows, "accuracy": 100.0 * right / tested, "train_s": learner.seconds,
                "test_s": time.perf_counter() - start, "peak_bytes": peak_memory(),
            }  # fmt: skip


def run(plan):
    record = plan.record("paper_wesad", COLUMNS)
    lines = []
    for name in plan.chosen(NAMES):
        for setting in SETTINGS:
            options = {"setting": setting, "every": plan.pick(1, 20), "subjects": plan.pick(None, 2)}
            results = do(record, Job(leave_one_out, name, "FBTWSVM", setting, options=options, limited=False), None)
            cells = ["-", "-", mean_sd(results), "-", "-"]
            if values(results):
                cells[:2] = [len(values(results)), f"{mean(results, 'rows'):,.0f}"]
                cells[3:] = [f"{mean(results, 'train_s'):.1f}", f"{mean(results, 'peak_bytes') / 2**30:.2f}"]
            printed = [f"{value:,}" for value in published.WESAD] if name == "WESAD" else ["-", "-", "-"]
            lines.append([name, setting, *cells, *printed])
    header = ["data", "settings", "subjects", "training rows", "accuracy %: mean +- sd over subjects", "training: s",
              "peak: GB", "printed: s", "printed: GB", "printed: %"]  # fmt: skip
    table(header, lines, "Leave one subject out: WESAD, and chest_accel in the same way")
