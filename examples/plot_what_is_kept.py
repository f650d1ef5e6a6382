"""
What a stream keeps
===================

A stream keeps few of its rows: those that may still move a plane.  Of all others, sums are enough.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import plot

X, y = make_moons(5000, noise=0.2, random_state=0)
model = FBTWSVM(memory=30, second_look=10, warm_up=100, n_components=60, random_state=0)

# %%
# Grey points have been learned, but are no longer kept.  Large points are kept: at most 30 support rows of each class
# and a reserve of ten, however long the stream.  Rows in the middle of the border are not among them: they push the
# plane of the other class with all the weight that they have, so their push is added to a sum.  Kept are rows whose
# push may still become stronger or weaker.

figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained", sharex=True, sharey=True)
first = 0
for ax, last in zip(axes, (100, 500, 5000), strict=True):
    model.partial_fit(X[first:last], y[first:last]).settle()
    first, inside = last, model.inspect()
    plot.decision_regions(model, X, None, ax=ax)
    ax.scatter(*X[:last].T, s=3, color="#717581", alpha=0.4)
    colours = np.array(["#3f90da", "#ffa90e"])[inside.kept_labels]
    ax.scatter(*inside.kept_rows.T, s=34, c=colours, edgecolor="black", linewidth=0.7)
    ax.set_title(f"{last:,} rows learned, {inside.kept} kept")
    print(f"{last:5,} rows learned, {inside.kept:3} kept, {inside.bytes / 1024:4.0f} KiB")

# %%
# The same rows at once, for comparison.

fitted = FBTWSVM(random_state=0).fit(X, y)
print(f"one pass: {100 * model.score(X, y):.1f} % right; fit: {100 * fitted.score(X, y):.1f} % right")
