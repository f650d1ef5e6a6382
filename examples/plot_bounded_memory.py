"""
Memory that does not grow
=========================

A stream may have no end, so a model of it must not grow with it.  ``FBTWSVM`` keeps sums over all rows and a limited
number of the rows themselves.
"""

import matplotlib.pyplot as plt

from fbtwsvm import FBTWSVM
from fbtwsvm.data.generators import make
from fbtwsvm.evaluate import chunked, prequential

ROWS = 12_000
X, y = make("rbf", features=20, classes=4, centroids=60, spread=1.2, seed=1).rows(ROWS)

# %%
# ``memory`` is the largest number of support rows that are stored for each class after the planes have been solved
# again; the default is 200.  A reserve of ``second_look`` more rows comes on top.  ``memory=None`` stores all support
# rows.

runs = {}
for memory in (None, 200, 50):
    model = FBTWSVM(memory=memory, n_components=100, random_state=0)
    runs[memory] = prequential(model, chunked(X, y, 250), window=2000, every=250).run()

# %%
# ``memory_report`` says what the memory of the last model is used for.

print(model.memory_report())

# %%
# With a limit, the number of rows that are kept and the size of the whole model stop growing after a few thousand rows.
# (The peak at row 500 is the search for a feature map, which takes some room for a moment.)  The teeth are rows that
# wait for the planes to be solved again, at most 1,000 of them.  The accuracy is about the same with and without a
# limit, because sums over all rows remember what the dropped ones had to say.

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
for (memory, run), colour in zip(runs.items(), ("#e76300", "#3f90da", "#832db6"), strict=True):
    snapshots = run.snapshots[1:]
    rows = [snapshot.rows for snapshot in snapshots]
    axes[0].plot(rows, [snapshot.kept for snapshot in snapshots], color=colour, label=f"memory={memory}")
    axes[1].plot(rows, [snapshot.bytes / 2**20 for snapshot in snapshots], color=colour)
    axes[2].plot(rows, [snapshot.window_accuracy for snapshot in snapshots], color=colour)
axes[0].set(ylabel="rows", title=f"Rows kept, of {ROWS:,}", ylim=(0, None))
axes[1].set(ylabel="MiB", title="Size of the model", ylim=(0, None))
axes[2].set(ylabel="accuracy on the last 2,000 rows", title="Tested before learned", ylim=(0.8, 1))
for ax in axes:
    ax.set_xlabel("rows learned")
axes[0].legend(frameon=False, fontsize=9, loc="upper left")
