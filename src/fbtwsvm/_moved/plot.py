"""Moved: :mod:`fbtwsvm.evaluate.plot`."""

from fbtwsvm.evaluate.plot import *  # noqa: F403
