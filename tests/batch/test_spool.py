"""Chunks written to a temporary file once, and read in any order."""

import numpy as np

from fbtwsvm.batch.spool import Spool
from helpers import Chunks, noisy_rows


def test_a_spool_reads_what_was_written():
    X, y = noisy_rows(2500)
    spool = Spool(Chunks(X[:2500], y[:2500]), lambda X, y: (X, y))
    assert (spool[10:1200] == X[10:1200]).all()
    assert (spool[[2400, 3, 3]] == X[[2400, 3, 3]]).all()
    assert spool.dtype == np.float32
    assert (spool.y == y[:2500]).all()


def test_labels_of_chunks_are_joined_by_name():
    """A chunk need not have all classes, and a later one may have new or longer names."""
    chunks = [np.array(["b", "a", "b"]), np.array(["c"]), np.array(["a", "aardvark"])]
    spool = Spool([(np.zeros((len(y), 1)), y) for y in chunks], lambda X, y: (X, y))
    assert spool.y[:].tolist() == np.concatenate(chunks).tolist()
    assert spool.y[[4, 1]].tolist() == ["a", "a"]
    assert spool.y.names.tolist() == ["a", "aardvark", "b", "c"]
    assert (len(spool.y), spool.y.codes.itemsize) == (6, 2)
