"""Strategies of hypothesis that several tests use."""

from hypothesis import strategies as st

SEEDS = st.integers(0, 10_000)
# Squared distances of the rows of a class to its own centre and to another one.
DISTANCES = st.lists(st.tuples(st.floats(0.01, 100.0), st.floats(0.01, 100.0)), min_size=1, max_size=12)
# Sizes of two to four classes.
CLASS_SIZES = st.lists(st.integers(1, 40), min_size=2, max_size=4)
