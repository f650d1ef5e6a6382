"""Fit a model to all rows at once."""
