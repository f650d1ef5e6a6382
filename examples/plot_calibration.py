"""
Probabilities that can be trusted
=================================

Of the rows to which a model gives 70 %, seventy in a hundred should be of that class.  ``FBTWSVM`` learns its
probabilities in ``fit``; an ``SVC`` needs to be fitted several times more, by ``CalibratedClassifierCV``.  (That is
quick too, on so few rows: ``FBTWSVM`` spends its time on the choice of gamma, which the SVC here does not choose.)
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, calibration_curve
from sklearn.datasets import make_classification
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from fbtwsvm import FBTWSVM

X, y = make_classification(
    8000, n_features=10, n_informative=6, n_clusters_per_class=4, flip_y=0.15, class_sep=0.9, random_state=2
)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=2000, random_state=0)

# %%
# Both models learn the same 2,000 rows, and are asked about 6,000 new ones.

models = {
    "FBTWSVM()": (FBTWSVM(random_state=0), "#3f90da", "o"),
    "CalibratedClassifierCV(SVC())": (CalibratedClassifierCV(SVC()), "#e76300", "s"),
}
answers = {}
for name, (model, _, _) in models.items():
    start = perf_counter()
    model.fit(X_train, y_train)
    seconds = perf_counter() - start
    chances = answers[name] = model.predict_proba(X_test)[:, 1]
    accuracy, loss = accuracy_score(y_test, chances > 0.5), log_loss(y_test, chances)
    print(f"{name:30} accuracy {100 * accuracy:.1f} %   log loss {loss:.3f}   fitted in {seconds:.1f} s")

# %%
# On the left, points on the dashed line are probabilities that come true.  Both models are near to it, and their log
# losses, which sum up the whole curve, are about equal.  On the right, how often each probability is given.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.4), layout="constrained")
left.plot([0, 1], [0, 1], color="0.6", linestyle="--", label="as it should be")
for name, (_, colour, marker) in models.items():
    happened, said = calibration_curve(y_test, answers[name], n_bins=10)
    left.plot(said, happened, color=colour, marker=marker, label=name)
    right.hist(answers[name], np.linspace(0, 1, 21), histtype="step", linewidth=1.8, color=colour, label=name)
left.set(xlabel="probability that the model gives", ylabel="share that is of class 1", title="What is said, what comes")
right.set(xlabel="probability that the model gives", ylabel="rows", title="How often it is said")
left.legend(frameon=False, fontsize=9)
right.legend(frameon=False, fontsize=9, loc="upper center")
