"""Cross-validated choice of the parameters."""

from .cv import FBTWSVMCV

__all__ = ["FBTWSVMCV"]
