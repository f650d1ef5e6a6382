"""Feature maps z(x) with z(x).z(y) close to k(x, y), as transformers."""

from .additive import AdditiveIntersectionFeatures
from .exact import ExactKernel
from .fourier import FourierFeatures
from .nystroem import NystroemFeatures

__all__ = ["AdditiveIntersectionFeatures", "ExactKernel", "FourierFeatures", "NystroemFeatures"]
