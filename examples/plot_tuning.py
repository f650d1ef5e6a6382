"""
A search for the best settings
==============================

``FBTWSVM()`` finds its kernel on the training rows, and most users need no more.  ``FBTWSVMCV`` tries other values of
``gamma``, and of ``C`` and ``reg``, which are fixed otherwise, by cross-validation.  It shares most of the work between
them.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from fbtwsvm import FBTWSVM, FBTWSVMCV
from fbtwsvm.evaluate import plot

X, y = load_digits(return_X_y=True)
X = X / 16.0
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=600, stratify=y, random_state=0)

# %%
# An int is the number of values to try: of ``gamma`` and ``reg`` around the default, of ``C`` from 1/4 on.

tuned = FBTWSVMCV(gamma=4, C=3, reg=3, membership=None, random_state=0).fit(X_train, y_train)
default = FBTWSVM(random_state=0).fit(X_train, y_train)
print(f"{len(tuned.cv_results_['mean_test_score'])} settings in {tuned.n_splits_} folds: {tuned.search_time_:.1f} s")
print({name: round(value, 4) for name, value in tuned.best_params_.items()})
print(f"new rows right: tuned {100 * tuned.score(X_test, y_test):.1f} %")
print(f"              default {100 * default.score(X_test, y_test):.1f} %")

# %%
# ``plot.search`` shows the scores: on the left against ``gamma``, on the right over ``C`` and ``reg`` at the best
# ``gamma``.  The star is the best.  The scores of all good settings differ by a point or so: here the choice matters
# little.

figure, axes = plt.subplots(1, 2, figsize=(11, 4.4), layout="constrained")
plot.search(tuned, axes=axes)
axes[0].set_title("All settings that were tried", fontsize="medium")
