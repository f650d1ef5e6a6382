"""
Two models become one
=====================

Two places learn from their own rows, each without the other.  ``merge`` joins the two models into one that
knows what both have learned.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fbtwsvm import FBTWSVM, merge

X, y = load_digits(return_X_y=True)
X = X / 16.0
order = np.random.default_rng(0).permutation(len(y))
train, test = order[:1300], order[1300:]

# %%
# The north has the digits 0 to 5, the south 4 to 9.  Both use features that are drawn at random with the same
# ``random_state`` and do not depend on any row; otherwise the models would not fit together.


def learn(rows):
    """Learn rows in chunks of 50."""
    model = FBTWSVM(feature_map="fourier", gamma=0.05, n_components=300, warm_up=100, random_state=0)
    for first in range(0, len(rows), 50):
        model.partial_fit(X[rows[first : first + 50]], y[rows[first : first + 50]])
    return model


is_north = (y[train] < 4) | ((y[train] < 6) & (np.arange(len(train)) % 2 == 0))
north, south = learn(train[is_north]), learn(train[~is_north])
together = merge([north, south])
models = {"north": north, "south": south, "merged": together, "one model, all rows": learn(train)}

# %%
# Each alone knows its own digits only.  Merged they are as good as one model that has learned all rows.

shares = []
for name, model in models.items():
    answers = model.predict(X[test])
    shares.append([np.mean(answers[y[test] == digit] == digit) for digit in range(10)] + [np.mean(answers == y[test])])
    print(f"{name:20} {model.inspect().seen:5} rows   {100 * shares[-1][-1]:.1f} % of new rows right")

figure, ax = plt.subplots(figsize=(10, 3.6), layout="constrained")
picture = ax.imshow(shares, cmap="cividis", vmin=0, vmax=1, aspect="auto")
for (row, column), share in np.ndenumerate(shares):
    ax.text(column, row, f"{100 * share:.0f}", ha="center", va="center", color="white" if share < 0.5 else "black")
ax.axvline(9.5, color="white", linewidth=4)
ax.set_xticks(range(11), [*map(str, range(10)), "all"])
ax.set_yticks(range(4), list(models))
ax.set(xlabel="digit", title="New rows right, in %: each place alone, merged, and one model that saw all rows")
figure.colorbar(picture, ax=ax, label="share of new rows right")
