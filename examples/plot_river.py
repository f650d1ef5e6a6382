"""
In a loop of river
==================

`river <https://riverml.xyz>`_ learns row by row, with rows that are dictionaries.  ``RiverFBTWSVM`` takes part in such
loops and pipelines.  Here it stands beside river's adaptive random forest.
"""

import matplotlib.pyplot as plt
from river import forest, preprocessing, stats, utils

from fbtwsvm import FBTWSVM
from fbtwsvm.data.generators import make
from fbtwsvm.river import RiverFBTWSVM

# %%
# The class is the side of a plane on which a row lies; after 1,200 rows it is another plane.

ROWS, CHANGE = 2400, 1200
X, y = make("hyper", features=6, drift_every=CHANGE, seed=1).rows(ROWS)
stream = [dict(zip("abcdef", row, strict=True)) for row in X.tolist()]

twin = FBTWSVM(decay="auto", gamma="scale", warm_up=200, random_state=0)  # what RiverFBTWSVM() takes, with a seed
models = {
    "RiverFBTWSVM": (preprocessing.StandardScaler() | RiverFBTWSVM(twin), "#3f90da"),
    "ARFClassifier": (forest.ARFClassifier(seed=0), "#e76300"),
}

# %%
# Each row is answered first and learned afterwards.  On this stream ``RiverFBTWSVM`` is ahead of the forest from the
# first hundreds of rows on, and close to where it was about 600 rows after the change.

figure, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
for name, (model, colour) in models.items():
    window, right, curve = utils.Rolling(stats.Mean, window_size=200), 0, []
    for row, label in zip(stream, y.tolist(), strict=True):
        hit = model.predict_one(row) == label
        model.learn_one(row, label)
        window.update(hit)
        right += hit
        curve.append(window.get())
    print(f"{name:16} {100 * right / ROWS:.1f} % of all rows right")
    ax.plot(range(100, ROWS), curve[100:], color=colour, label=f"{name}: {100 * right / ROWS:.1f} % of all rows")
ax.axvline(CHANGE, color="black", linestyle=":", linewidth=1, label="the change")
ax.set(xlabel="rows", ylabel="accuracy on the last 200 rows", title="Tested before learned, row by row", ylim=(0.5, 1))
ax.legend(frameon=False, loc="lower right")
