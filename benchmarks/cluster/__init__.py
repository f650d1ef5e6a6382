"""Rows in Dask collections, on a cluster of processes with one thread each."""
