"""The rivals: four methods written from their papers, and one table of those from PyPI (`methods.py`)."""

from .ilvq import ILVQ
from .isvm import ISVM
from .lasvm import LASVM
from .orf import ORF

__all__ = ["ILVQ", "ISVM", "LASVM", "ORF"]
