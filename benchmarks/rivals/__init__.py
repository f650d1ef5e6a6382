"""The rivals: four methods written from their papers, and one table of those from PyPI (`methods.py`)."""
