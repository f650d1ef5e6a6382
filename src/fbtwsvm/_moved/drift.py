"""Moved: :mod:`fbtwsvm.online.drift`."""

from fbtwsvm.online.drift import *  # noqa: F403
