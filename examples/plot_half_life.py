"""
How fast to forget
==================

``half_life`` says after how many rows the weight of a row has fallen to half.  A short one follows a change at once but
learns from few rows; a long one is better as long as nothing changes.  ``decay="auto"`` needs no such choice.
"""

import matplotlib.pyplot as plt
import numpy as np

from fbtwsvm import FBTWSVM
from fbtwsvm.data.generators import make
from fbtwsvm.evaluate import chunked, prequential

CHANGE = 2000

# %%
# The stream has three columns, and the class is the side of a plane on which a row lies.  After 2,000 rows it is
# another plane.  One label in twenty is wrong, so nobody can be right on more than 95 % of the rows.

X, y = make("hyper", features=3, drift_every=CHANGE, seed=2).rows(2 * CHANGE)
settings = {
    "half_life=50": ({"half_life": 50}, "#ffa90e"),
    "half_life=300": ({"half_life": 300}, "#a96b59"),
    "half_life=3000": ({"half_life": 3000}, "#832db6"),
    'decay="auto"': ({"decay": "auto"}, "#3f90da"),
}
parts = {"just before": (CHANGE - 1000, CHANGE), "400 rows after": (CHANGE, CHANGE + 400), "the end": (-1000, None)}
curves, means = {}, {}

for name, (setting, _) in settings.items():
    model = FBTWSVM(n_components=100, random_state=0, **setting)
    run = prequential(model, chunked(X, y, 20), window=20, every=20).run()  # one snapshot for each chunk
    hits = np.array([snapshot.window_accuracy for snapshot in run.snapshots])
    rows = np.array([snapshot.rows for snapshot in run.snapshots])
    smooth = np.convolve(hits[1:], np.ones(10) / 10, mode="valid")
    curves[name] = rows[-len(smooth) :], smooth
    means[name] = [np.mean(hits[slice(*(None if i is None else i // 20 for i in part))]) for part in parts.values()]

# %%
# On the left, the accuracy over time.  On the right, three numbers for each model: accuracy on the 1,000 rows before
# the change, on the 400 rows after it, and on the last 1,000.  Before the change the longer half-lives lead, after it
# the shortest does.  ``decay="auto"`` is with the best each time.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained", width_ratios=[3, 2])
for name, values in means.items():
    print(f"{name:15}", "  ".join(f"{part}: {100 * value:.1f} %" for part, value in zip(parts, values, strict=True)))
    left.plot(*curves[name], color=settings[name][1], label=name, linewidth=2.2 if "auto" in name else 1.2)
    right.plot(range(3), values, "o-", color=settings[name][1], markersize=9, linewidth=0.8)
left.axvline(CHANGE, color="black", linestyle=":", linewidth=1)
left.set(xlabel="rows", ylabel="accuracy on the last 200 rows", title="Tested before learned; dotted: the change")
left.legend(frameon=False, loc="lower right", fontsize=9)
right.set_xticks(range(3), list(parts))
right.set(xlim=(-0.3, 2.3), ylabel="accuracy", title="Memory against agility")
