"""What the benchmarks on a GPU share: made-up rows, seconds on the device, and the lines that open a log."""

import math
import os
import platform
import time
from datetime import UTC, datetime

import numpy as np
import sklearn
import torch

import fbtwsvm

GAMMA = 0.05
COLUMNS = 18


def has_gpu():
    """Whether Torch sees a GPU."""
    return torch.cuda.is_available()


def header():
    """Print date, versions and card."""
    print(header_text())


def header_text():
    """Return date, card and versions, in one line."""
    card = torch.cuda.get_device_name(0) if has_gpu() else "no GPU"
    versions = (
        f"fbtwsvm {fbtwsvm.__version__}, Python {platform.python_version()}, NumPy {np.__version__}, "
        f"scikit-learn {sklearn.__version__}, Torch {torch.__version__}"
    )
    return f"{datetime.now(UTC):%Y-%m-%d}, {card}, {os.cpu_count()} cores; {versions}"


def device():
    """Return the GPU; the processor where there is none, to show that everything runs."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def made_rows(n, seed=0):
    """Return n rows of 18 columns and two classes that overlap, on the device, and the best accuracy possible.

    They are made a million at a time: the first ones are the same for every n.
    """
    make = torch.Generator(device()).manual_seed(10_000)
    first = torch.randn(COLUMNS, 32, device=device(), generator=make) / math.sqrt(COLUMNS)
    second = torch.randn(32, device=device(), generator=make)
    X = torch.empty(n, COLUMNS, device=device())
    y = torch.empty(n, dtype=torch.int64, device=device())
    best = 0
    for k, start in enumerate(range(0, n, 1_000_000)):
        make = torch.Generator(device()).manual_seed(seed + k)
        part = slice(start, min(start + 1_000_000, n))
        X[part] = torch.randn(part.stop - part.start, COLUMNS, device=device(), generator=make)
        value = torch.tanh(2 * X[part] @ first) @ second / 4
        noise = torch.randn(len(value), device=device(), generator=make)
        y[part] = value + 0.5 * noise > 0
        best += int(((value > 0) == (y[part] == 1)).sum())
    return X, y, best / n


def seconds(function, repeats=3):
    """Return the seconds of each of some calls after a warm-up, and what the last of them returned."""
    spent, result = [], None
    for _ in range(repeats + 1):
        result = None  # a model before holds memory
        wait()
        begin = time.perf_counter()
        result = function()
        wait()
        spent.append(time.perf_counter() - begin)
    return spent[1:], result


def wait():
    """Wait until the device has done all its work."""
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def shown(spent):
    """Return the least of some seconds, and the largest in brackets."""
    return f"{min(spent):.3f} ({max(spent):.3f})"
