"""Fit, search and answer on a device, such as a GPU: rows of Torch, CuPy or NumPy through the array API."""
