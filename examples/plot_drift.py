"""
A stream that drifts
====================

Two moons turn by a full circle while their rows come in, and half way the labels are exchanged at one blow.  A model
that remembers everything goes wrong; ``decay="auto"`` notices and follows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.linear_model import SGDClassifier

from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import chunked, plot, prequential

ROWS = 4000

X, y = make_moons(ROWS, noise=0.25, random_state=0)
angle = np.linspace(0.0, 2.0 * np.pi, ROWS)
turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
X = np.einsum("abi,ib->ia", turn, X - X.mean(axis=0))
y[ROWS // 2 :] = 1 - y[ROWS // 2 :]

# %%
# ``prequential`` tests each chunk of twenty rows first and learns it afterwards, so every answer is for rows that the
# model has never seen.

models = {
    'FBTWSVM(decay="auto")': (FBTWSVM(decay="auto", random_state=0), "#3f90da"),
    "FBTWSVM(), forgets nothing": (FBTWSVM(random_state=0), "#e76300"),
    "SGDClassifier()": (SGDClassifier(random_state=0), "#717581"),
}
runs = {}
for name, (model, _) in models.items():
    runs[name] = prequential(model, chunked(X, y, 20), window=300, every=100, classes=[0, 1]).run()
    print(f"{name:28} {100 * runs[name].snapshots[-1].accuracy:.1f} % of all rows right")

# %%
# On the right is what the model with ``decay="auto"`` knows in the end: the moons as they are now.  What
# it learned from the earlier positions no longer disturbs it.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
for name, run in runs.items():
    rows = [snapshot.rows for snapshot in run.snapshots]
    left.plot(rows, [snapshot.window_accuracy for snapshot in run.snapshots], color=models[name][1], label=name)
left.axvline(ROWS // 2, color="black", linestyle=":", linewidth=1)
left.annotate("labels are exchanged", (ROWS // 2, 0.41), (6, 0), textcoords="offset points", fontsize=9)
left.set(xlabel="rows", ylabel="accuracy on the last 300 rows", title="Tested before learned", ylim=(0.4, 1.0))
left.legend(frameon=False, loc="lower left", fontsize=9)
adaptive = models['FBTWSVM(decay="auto")'][0]
plot.decision_regions(adaptive, X[-300:], y[-300:], ax=right)
right.set_title('decay="auto" in the end, with the last 300 rows')
