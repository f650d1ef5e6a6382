"""
A class that comes later
========================

A stream of handwritten digits has no nines for a long time; then they come.  ``partial_fit`` takes labels that it has
never seen, at any time, and the classes need not be named in advance.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from fbtwsvm import FBTWSVM

X, y = load_digits(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
train, test = order[:1300], order[1300:]

# %%
# The nines of the first half of the stream are left out.

train = np.concatenate([train[:650][y[train[:650]] < 9], train[650:]])
start = int(np.flatnonzero(y[train] == 9)[0])
nines, others = test[y[test] == 9], test[y[test] < 9]

model = FBTWSVM(random_state=0)
rows, right_on_nines, right_on_others, called = [], [], [], {}
for first in range(0, len(train), 10):
    chunk = train[first : first + 10]
    if first <= start < first + 10:
        called["before"] = np.bincount(model.predict(X[nines]), minlength=10)
    model.partial_fit(X[chunk], y[chunk])
    rows.append(first + len(chunk))
    right_on_nines.append(model.score(X[nines], y[nines]))
    right_on_others.append(model.score(X[others], y[others]))
called["after"] = np.bincount(model.predict(X[nines]), minlength=10)

# %%
# On the left, the model is asked about the same new rows after each chunk of ten.  It learns the nines from a few
# examples, and the other digits do not suffer.  On the right, what the nines were taken for before the first one had
# been learned, and in the end.

learned = np.cumsum(y[train] == 9)
half = int(np.argmax(np.array(right_on_nines) > 0.8))
print(f"nines learned when 80 % of new nines are right: {learned[rows[half] - 1]}")
print(f"in the end: {100 * right_on_nines[-1]:.1f} % of nines, {100 * right_on_others[-1]:.1f} % of other digits right")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained", width_ratios=[3, 2])
left.plot(rows, right_on_others, color="#3f90da", label="digits 0 to 8")
left.plot(rows, right_on_nines, color="#bd1f01", label="nines")
left.axvline(start, color="black", linestyle=":", linewidth=1, label="the first nine comes")
left.set(
    xlabel="rows learned", ylabel="share of new rows right", title="Old classes and the new one", ylim=(-0.02, 1.02)
)
left.legend(frameon=False, loc="center left")
right.bar(np.arange(10) - 0.2, called["before"], 0.4, color="#ffa90e", label="before the first nine")
right.bar(np.arange(10) + 0.2, called["after"], 0.4, color="#832db6", label="in the end")
right.set_xticks(range(10))
right.set(xlabel="answer of the model", ylabel="new nines", title=f"What {len(nines)} new nines are taken for")
right.legend(frameon=False, loc="upper left")
