"""A small archive with the layout of WESAD's own, made for tests."""

import pickle

import numpy as np


def subject_pickle(number, random, protocol=2, **extra):
    """Return a pickle of the archive's layout, and what should be read from it."""
    n_rows = 400
    labels = random.integers(0, 8, n_rows)
    chest = {"ACC": random.normal(size=(n_rows, 3))}
    for place, channel in enumerate(("ECG", "EMG", "EDA", "Temp", "Resp")):
        chest[channel] = random.normal(size=(n_rows, 1)) + 5 * labels[:, None] * (place == 2)
    content = {
        "signal": {"chest": chest, "wrist": {"BVP": np.zeros((20, 1))}},
        "label": labels,
        "subject": f"S{number}",
    }
    content.update(extra)
    wanted = (labels >= 1) & (labels <= 3)
    channels = np.concatenate([chest[name] for name in ("ACC", "ECG", "EMG", "EDA", "Temp", "Resp")], axis=1)
    return pickle.dumps(content, protocol=protocol), channels[wanted].astype(np.float32), labels[wanted]


def make_archive(place):
    """Write the files of three subjects and return their rows by subject."""
    random, rows = np.random.default_rng(0), {}
    for number in (2, 3, 10):
        content, X, y = subject_pickle(number, random)
        (place / f"S{number}").mkdir(parents=True)
        (place / f"S{number}" / f"S{number}.pkl").write_bytes(content)
        rows[f"S{number}"] = X, y
    (place / "wesad_readme.pdf").write_bytes(b"nothing to read")
    return rows
