"""
Two planes for each pair of classes
===================================

An ordinary SVM puts one plane between two classes.  A twin SVM gives each class a plane of its own, which runs through
the rows of its class and stays away from those of the other.  A new row goes to the class whose plane is nearer.
"""

# sphinx_gallery_thumbnail_number = -1

from itertools import combinations

import matplotlib.pyplot as plt
from sklearn.datasets import make_blobs, make_moons

from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import plot

# %%
# With a linear kernel the planes are straight lines.  Three classes make three pairs, and each pair has two lines: a
# solid one through its own class, and a dashed one beyond which the other class is kept.

X, y = make_blobs(150, centers=[[0, 0], [4, 1], [1, 4]], cluster_std=[0.6, 0.8, 1.0], random_state=3)
model = FBTWSVM(kernel="linear").fit(X, y)
figure, axes = plt.subplots(1, 3, figsize=(12, 5), layout="constrained")
for ax, pair in zip(axes, combinations(model.classes_, 2), strict=True):
    plot.planes(model, X, y, pair=pair, ax=ax)
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, fontsize=8, frameon=False)
print(f"{len(X)} rows, {len(model.support_)} of them support rows; planes: {model.planes_.shape}")

# %%
# With the default kernel the lines bend, and a plane may cross its own class more than once.  Large points have a large
# *membership*: they lie near the middle of their class and count in full.  Small points lie far from it and count less,
# so that a few wrong labels do little harm.  A black ring marks a support row, one that pushes the plane of the other
# class away.

X, y = make_moons(300, noise=0.25, random_state=0)
model = FBTWSVM().fit(X, y)
figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 5), layout="constrained")
plot.planes(model, X, y, ax=left)
plot.decision_regions(model, X, y, ax=right)
left.set_title("The planes of the two moons")
right.set_title(f"The nearer plane wins: {100 * model.score(X, y):.1f} % of these rows right")
print(f"{len(X)} rows, {len(model.support_)} of them support rows")
