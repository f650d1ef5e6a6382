"""
Which columns matter
====================

After learning, ``feature_importances_`` says how much the answer of the model depends on each column.  Here it is for
the wine data, beside scikit-learn's permutation importance, which is measured in another way.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import spearmanr
from sklearn.datasets import load_wine
from sklearn.inspection import permutation_importance
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import plot

data = load_wine(as_frame=True)
X, y = StandardScaler().set_output(transform="pandas").fit_transform(data.data), data.target
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
model = FBTWSVM().fit(X_train, y_train)
print(f"{100 * model.score(X_test, y_test):.1f} % of new rows right")

# %%
# The importance of a column is how fast the probabilities change along it.  It comes from the model alone, without
# asking it again about any row.  Permutation importance shuffles a column of the test rows and counts how many answers
# become wrong.

shuffled = permutation_importance(model, X_test, y_test, n_repeats=20, random_state=0)
agreement = spearmanr(model.feature_importances_, shuffled.importances_mean).statistic
print(f"rank correlation of the two: {agreement:.2f}")

# %%
# Both see the most in the flavanoids, by far, and both have od280/od315, proline and alcohol among the columns that
# matter.  A column of which the model already knows enough from others loses little when it is shuffled.

order = np.argsort(-model.feature_importances_)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
plot.importances(model, ax=left)
left.set_title("feature_importances_: share of each column")
right.barh(range(len(order)), shuffled.importances_mean[order], xerr=shuffled.importances_std[order], color="#ffa90e")
right.set(xlabel="accuracy lost when the column is shuffled", title="Permutation importance, in the same order")
