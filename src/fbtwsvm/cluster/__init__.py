"""Rows in a Dask collection: fit them, and answer for them, on whatever scheduler is current."""
