"""Test, then learn: how well a model does on a stream; pictures of it are in :mod:`fbtwsvm.evaluate.plot`."""

from .prequential import Prequential, Snapshot, chunked, prequential
from .score import Score

__all__ = ["Prequential", "Score", "Snapshot", "chunked", "prequential"]
