"""
Give back the rows of one person
================================

Somebody asks for their data to be deleted.  ``unlearn`` takes rows out of a model that has learned them, and says
whether anything of them is left.
"""

from copy import deepcopy

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import plot

# %%
# Four hundred rows of many people make two moons.  Anna's forty rows are unlike all others, so one can see them in the
# model.  Every row has an id.

X, y = make_moons(400, noise=0.2, random_state=0)
annas = np.random.default_rng(1).normal([1.9, 1.1], 0.18, size=(40, 2))
X, y = np.vstack([X, annas]), np.append(y, np.ones(40, dtype=int))
ids = np.array([f"row {i}" for i in range(400)] + [f"anna {i}" for i in range(40)])
order = np.random.default_rng(0).permutation(len(y))
X, y, ids = X[order], y[order], ids[order]
is_anna = np.char.startswith(ids, "anna")

# %%
# With these settings a stream can forget a row without a trace: the features are drawn at random and do not depend on
# any row, and every row is kept.

settings = {"feature_map": "fourier", "gamma": 1.0, "n_components": 200, "random_state": 0}
settings |= {"memory": None, "second_look": 10_000, "warm_up": 100}


def learn(rows):
    """Learn some of the rows, in chunks of 20."""
    model = FBTWSVM(**settings)
    for first in range(0, len(rows), 20):
        chunk = rows[first : first + 20]
        model.partial_fit(X[chunk], y[chunk], ids=ids[chunk])
    return model.settle()


before = learn(np.arange(len(y)))

# %%
# The ids are enough to find the rows.  The report says what is left.

model = deepcopy(before)
report = model.unlearn(ids=ids[is_anna])
print(report)
print("complete:", report.complete)
retrained = learn(np.flatnonzero(~is_anna))
apart = np.abs(model.predict_proba(X) - retrained.predict_proba(X)).max()
print(f"largest difference to a model that never saw them: {apart:.1e}")

# %%
# The model in the middle has unlearned Anna's rows.  Up to rounding it equals the model on the right, which was trained
# without them.

figure, axes = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained", sharex=True, sharey=True)
plot.decision_regions(before, X, y, ax=axes[0])
axes[0].plot(*annas.T, "o", markersize=8, markerfacecolor="none", markeredgecolor="black")
axes[0].set_title("With Anna's rows (black rings)")
for ax, estimator, title in ((axes[1], model, "After unlearn"), (axes[2], retrained, "Trained without her rows")):
    plot.decision_regions(estimator, X, None, ax=ax)
    ax.scatter(
        *X[~is_anna].T, s=10, c=np.where(y[~is_anna] == 1, "#ffa90e", "#3f90da"), edgecolor="white", linewidth=0.4
    )
    ax.set_title(title)
