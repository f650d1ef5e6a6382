"""What this library is measured against: four methods written from their papers, and others from PyPI.

All are scikit-learn style classifiers.  Those that learn in one pass have `partial_fit`; one that has something left to
do when the stream ends has `finish` as well.  Nothing here is part of the package.
"""

from .ilvq import ILVQ
from .isvm import ISVM
from .lasvm import LASVM
from .orf import ORF

__all__ = ["ILVQ", "ISVM", "LASVM", "ORF"]
