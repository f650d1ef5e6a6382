"""Moved: :mod:`fbtwsvm.data.generators`."""

from fbtwsvm.data.generators import *  # noqa: F403
