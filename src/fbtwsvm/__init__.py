"""Kernel classifiers that update, forget and fit in bounded memory."""

from .classifier import FBTWSVM

__version__ = "0.1.0"
__all__ = ["FBTWSVM"]
