"""Problem (P): arrays in, planes and certificates out; knows no estimator."""
