"""
More rows than fit into memory
==============================

``fit`` takes chunks of rows instead of an array.  Many rows are then never held all at once, and the memory that
``fit`` needs hardly depends on how many there are.
"""

import tempfile
import tracemalloc
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from fbtwsvm import FBTWSVM
from fbtwsvm.data.generators import make

# %%
# The rows lie in a file, which is opened as a memory map.  ``Chunks`` yields a part of it at a time.  ``fit`` reads the
# chunks once and keeps them in a temporary file.

COUNTS = (40_000, 80_000, 120_000)
X, y = make("hyper", features=20, seed=0).rows(max(COUNTS) + 5000)
X_test, y_test = X[-5000:], y[-5000:]


class Chunks:
    """Rows of a file, 5,000 at a time."""

    def __init__(self, path, count):
        self.rows, self.count = np.load(path, mmap_mode="r"), count

    def __iter__(self):
        """Start from the first chunk."""
        for first in range(0, self.count, 5000):
            yield np.array(self.rows[first : first + 5000, :-1]), np.array(self.rows[first : first + 5000, -1])


def peak(*data):
    """Fit a model; return the largest memory in use meanwhile, in MiB, and the share of new rows right."""
    tracemalloc.start()
    model = FBTWSVM(n_components=100, gamma="scale", random_state=0).fit(*data)
    used = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return used, model.score(X_test, y_test)


# %%
# The same rows are fitted as an array, and as chunks.  (Up to about 20,000 rows
# the chunks take as much memory as the array.)

FBTWSVM(n_components=100, gamma="scale").fit(X[:3000], y[:3000])  # compiles, if this is the first model
with tempfile.TemporaryDirectory() as folder:
    np.save(Path(folder) / "rows.npy", np.column_stack([X, y]))
    as_chunks = [peak(Chunks(Path(folder) / "rows.npy", count)) for count in COUNTS]
as_array = [peak(X[:count], y[:count]) for count in COUNTS]
for count, one, two in zip(COUNTS, as_array, as_chunks, strict=True):
    print(
        f"{count:,} rows: array {one[0]:.0f} MiB, {100 * one[1]:.1f} %; chunks {two[0]:.0f} MiB, {100 * two[1]:.1f} %"
    )

# %%
# With an array the memory of ``fit`` grows with the rows, and the array itself comes on top of it.  With chunks it
# stays where it is.  The models are equally good.

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for name, results, colour, marker in (("array", as_array, "#e76300", "s"), ("chunks", as_chunks, "#3f90da", "o")):
    left.plot(COUNTS, [used for used, _ in results], color=colour, marker=marker, label=f"fit of {name}")
    right.plot(COUNTS, [score for _, score in results], color=colour, marker=marker, label=f"fit of {name}")
sizes = [X[:count].nbytes / 2**20 for count in COUNTS]
left.plot(COUNTS, sizes, color="0.5", linestyle="--", label="the rows themselves")
left.set(xlabel="rows", ylabel="MiB", title="Largest memory during fit", ylim=(0, None))
for ax in (left, right):
    ax.set_xticks(COUNTS, [f"{count:,}" for count in COUNTS])
right.set(xlabel="rows", ylabel="share of new rows right", title="Accuracy", ylim=(0.8, 1))
left.legend(frameon=False)
right.legend(frameon=False)
