"""Moved: :mod:`fbtwsvm.export.onnx`."""

from fbtwsvm.export.onnx import *  # noqa: F403
