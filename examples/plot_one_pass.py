"""
One pass is enough
==================

A stream shows each row once.  After one pass in small chunks ``FBTWSVM`` is about as good as after ``fit`` on all rows
at once.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import train_test_split

from fbtwsvm import FBTWSVM

X, y = load_digits(return_X_y=True)
X = X / 16.0
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=1200, stratify=y, random_state=0)


def one_pass(model, order):
    """Learn the rows in some order, 40 at a time; return the accuracy on test rows after each chunk."""
    scores = []
    for first in range(0, len(order), 40):
        chunk = order[first : first + 40]
        model.partial_fit(X_train[chunk], y_train[chunk], classes=np.arange(10))
        scores.append(model.score(X_test, y_test))
    return scores


# %%
# Three different orders of the rows, for both models, with the default settings of both.

orders = [np.random.default_rng(seed).permutation(len(y_train)) for seed in range(3)]
curves = {
    "FBTWSVM().partial_fit": ([one_pass(FBTWSVM(random_state=0), order) for order in orders], "#3f90da"),
    "SGDClassifier().partial_fit": ([one_pass(SGDClassifier(random_state=0), order) for order in orders], "#e76300"),
}
all_at_once = FBTWSVM(random_state=0).fit(X_train, y_train).score(X_test, y_test)

# %%
# Each line is one order.  The dashed line is ``FBTWSVM().fit`` on all rows at once.

figure, ax = plt.subplots(figsize=(9, 4.2), layout="constrained")
rows = np.minimum(np.arange(40, len(y_train) + 40, 40), len(y_train))
for name, (lines, colour) in curves.items():
    for line in lines:
        ax.plot(rows, line, color=colour, linewidth=1.3, label=name if line is lines[0] else None)
    print(f"{name:28} after one pass: " + ", ".join(f"{100 * line[-1]:.1f} %" for line in lines))
print(f"{'FBTWSVM().fit':28} on all rows:    {100 * all_at_once:.1f} %")
ax.axhline(all_at_once, color="black", linestyle="--", linewidth=1.2, label="FBTWSVM().fit on all rows")
ax.set(
    xlabel="rows learned, each of them once", ylabel="accuracy on new rows", title="Digits in one pass", ylim=(0.5, 1)
)
ax.legend(frameon=False, loc="lower right")
