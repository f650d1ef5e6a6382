"""Train on data that scikit-learn ships, print a short table, draw the twin planes of a two-dimensional problem.

make demo
"""

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits, load_wine, make_moons
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from fbtwsvm import FBTWSVM, plot

SETS = {"digits": load_digits, "wine": load_wine, "breast cancer": load_breast_cancer}
OUT = Path("out")


def main():
    print("FBTWSVM with nothing set, on data sets that scikit-learn ships (70 % to learn from, 30 % to test):\n")
    print(f"{'data':15}{'rows':>6}{'classes':>9}{'accuracy':>10}{'log loss':>10}{'support':>9}{'seconds':>9}")
    FBTWSVM().fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])  # compiles, once per installation
    for name, load in SETS.items():
        X, y = load(return_X_y=True)
        X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
        model = make_pipeline(StandardScaler(), FBTWSVM(random_state=0))
        start = time.perf_counter()
        model.fit(X_train, y_train)
        seconds = time.perf_counter() - start
        loss = log_loss(y_test, model.predict_proba(X_test))
        support = len(model[-1].support_) / len(X_train)
        accuracy = model.score(X_test, y_test)
        print(
            f"{name:15}{len(X_train):6}{len(model[-1].classes_):9}{accuracy:10.3f}{loss:10.3f}{support:9.0%}{seconds:9.2f}"
        )

    X, y = make_moons(300, noise=0.25, random_state=0)
    model = FBTWSVM().fit(X, y)
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.4), layout="constrained")
    plot.planes(model, X, y, ax=left)
    plot.decision_regions(model, X, y, ax=right)
    right.set_title(f"Decision regions, {100 * model.score(X, y):.1f} % of these rows right")
    OUT.mkdir(exist_ok=True)
    figure.savefig(OUT / "twin_planes.png", dpi=110)
    print(f"\nThe twin planes of two moons: {OUT / 'twin_planes.png'}")


if __name__ == "__main__":
    main()
