"""Solve problem (P): arrays in, planes and duality gaps out, without any part of an estimator."""
