"""Evaluation of models on streams, by testing each chunk before it is learned; plots are in `evaluate.plot`."""

from .prequential import Prequential, Snapshot, chunked, prequential
from .score import Score

__all__ = ["Prequential", "Score", "Snapshot", "chunked", "prequential"]
