"""
A first model
=============

``FBTWSVM()`` is used like any classifier of scikit-learn.  Here it learns two moons, beside ``SVC()`` with its own
default settings.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import plot

X, y = make_moons(1000, noise=0.25, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=300, random_state=0)

# %%
# Nothing needs to be set: the width of the kernel, ``gamma``, is found on the training rows.

model = FBTWSVM().fit(X_train, y_train)
svc = SVC().fit(X_train, y_train)
print(f"gamma found: {model.gamma_:.2f}")
for estimator in (model, svc):
    print(f"{type(estimator).__name__}(): {100 * estimator.score(X_test, y_test):.1f} % of new rows right")

# %%
# In the regions of ``FBTWSVM()`` the colour is pale where the model is not sure.  It gives probabilities without any
# further setting; ``SVC()`` gives none, so its colours are all alike.  The picture on the right shows the probabilities
# themselves: 0.5 on the border between the classes, near 0 and 1 in the middle of the moons.  Towards the edges, where
# there are no rows to learn from, the model becomes less sure.

figure, (left, middle, right) = plt.subplots(1, 3, figsize=(12, 4.2), layout="constrained")
for ax, estimator in ((left, model), (middle, svc)):
    plot.decision_regions(estimator, X_test, y_test, ax=ax)
    ax.set_title(f"{type(estimator).__name__}(): {100 * estimator.score(X_test, y_test):.1f} % of new rows right")

first, second = np.meshgrid(np.linspace(*left.get_xlim(), 150), np.linspace(*left.get_ylim(), 150))
chances = model.predict_proba(np.column_stack([first.ravel(), second.ravel()]))[:, 1].reshape(first.shape)
colours = right.contourf(first, second, chances, levels=np.linspace(0, 1, 11), cmap="cividis")
right.contour(first, second, chances, levels=[0.5], colors="white", linewidths=2)
right.set(xlabel="x0", ylabel="x1", title="FBTWSVM(): probability of class 1")
figure.colorbar(colours, ax=right, label="probability; white line: 0.5")
