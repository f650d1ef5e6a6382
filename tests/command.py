"""Helpers for tests of the command: run it as a user does, and compare two models in every number."""

import io
import json
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from fbtwsvm.cli.app import run

COMMAND = str(Path(sys.executable).with_name("fbtwsvm"))
TIMES = {"seconds", "rows_per_second", "bytes"}  # what two equal runs do not have in common
LINEAGE = {"lineage"}
QUICK = ("--n-components", 40, "--warm-up", 200, "--gamma", "scale")


def fbtwsvm(*arguments, status=0, **options):
    """Run the command in a process of its own; returns what it printed, on the error stream if it was to fail."""
    done = subprocess.run([COMMAND, *map(str, arguments)], capture_output=True, text=True, check=False, **options)
    assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done.stderr if status else done.stdout


def called(*arguments, status=0):
    """Do the same in this process, which takes a tenth of the time."""
    out, err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8"), io.StringIO()
    with redirect_stdout(out), redirect_stderr(err), warnings.catch_warnings():
        try:
            run(list(map(str, arguments)))
        except SystemExit as ended:
            code = ended.code
    out.flush()
    printed = out.buffer.getvalue().decode()
    assert code == status, f"status {code}\n{printed}\n{err.getvalue()}"
    return err.getvalue() if status else printed


def fbtwsvm_json(*arguments, **options):
    """Run the command with --json, in a process of its own where there are options for it."""
    return json.loads((fbtwsvm if options else called)(*arguments, "--json", **options))


def assert_equal(one, other, place="model"):
    """Compare two things with everything in them, bit for bit."""
    assert type(one) is type(other), place
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype, place
        assert one.shape == other.shape, place
        if one.dtype == object:
            assert one.tolist() == other.tolist(), place
        else:
            assert one.tobytes() == other.tobytes(), place
    elif sp.issparse(one):
        assert_equal(one.toarray(), other.toarray(), place)
    elif isinstance(one, dict):
        assert list(one) == list(other), place
        for key in one:
            if key not in TIMES | LINEAGE:
                assert_equal(one[key], other[key], f"{place}.{key}")
    elif isinstance(one, (list, tuple)):
        assert len(one) == len(other), place
        for number, pair in enumerate(zip(one, other, strict=True)):
            assert_equal(*pair, f"{place}[{number}]")
    elif isinstance(one, float):
        assert one == other or (np.isnan(one) and np.isnan(other)), place
    elif hasattr(one, "__dict__") and not isinstance(one, (type, np.dtype)) and not callable(one):
        assert_equal(one.__getstate__(), other.__getstate__(), place)  # without what follows from the rest
    else:
        assert one == other, place
