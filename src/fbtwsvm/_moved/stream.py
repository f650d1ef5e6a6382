"""Moved: :mod:`fbtwsvm.evaluate`."""

from fbtwsvm.evaluate import *  # noqa: F403
