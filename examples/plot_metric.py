"""
Columns that tell nothing
=========================

Two of 22 columns make a checkerboard, the other 20 are noise.  A kernel that sees all columns alike cannot find the
board.  ``FBTWSVM`` learns a factor for each column, its *metric*, and finds it.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import plot

X = np.random.default_rng(0).uniform(0.0, 3.0, size=(4000, 22))
y = X[:, :2].astype(int).sum(axis=1) % 2


# %%
# ``metric="auto"`` is the default; it is written out here for comparison.

models = {metric: FBTWSVM(metric=metric, random_state=0).fit(X[:2000], y[:2000]) for metric in ("none", "auto")}
accuracies = {metric: 100 * model.score(X[2000:], y[2000:]) for metric, model in models.items()}
for metric, accuracy in accuracies.items():
    print(f'metric="{metric}": {accuracy:.1f} % of new rows right')

# %%
# To draw the answers in two columns, the other ones are set to their mean.  The factors that were learned are in
# ``metric_``: large for the two columns of the board, near zero for the noise.


def with_other_columns(rows):
    """Return rows of the first two columns with the other twenty, each at its mean."""
    return np.hstack([rows, np.full((len(rows), 20), 1.5)])


figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4.4), layout="constrained")
for ax, (metric, model) in zip((left, middle), models.items(), strict=True):
    in_two_columns = make_pipeline(FunctionTransformer(with_other_columns), FrozenEstimator(model))
    plot.decision_regions(in_two_columns, X[:2000, :2], y[:2000], ax=ax, resolution=120)
    ax.set_title(f'metric="{metric}": {accuracies[metric]:.1f} % of new rows right')
right.bar(range(22), models["auto"].metric_, color=["#bd1f01"] * 2 + ["#717581"] * 20)
right.set(xlabel="column", ylabel="factor", title="The factors learned (red: the board)")
right.set_xticks([0, 1, 5, 10, 15, 20])
