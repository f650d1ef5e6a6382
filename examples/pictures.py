"""Learn a stream that drifts, meet a new class, forget a person; then look at pictures of it.

make pictures
"""

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits, make_moons
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from fbtwsvm import FBTWSVM
from fbtwsvm.evaluate import chunked, plot, prequential

OUT = Path("out")
ROWS = 8000


def turning_moons(n):
    """Two moons that turn by a full circle as rows come, with a sudden exchange of labels half way."""
    X, y = make_moons(n, noise=0.25, random_state=0)
    angle = np.linspace(0.0, 2.0 * np.pi, n)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    X = np.einsum("abi,ib->ia", turn, X - X.mean(axis=0))
    y[n // 2 :] = 1 - y[n // 2 :]
    return X, y


def drift():
    print(
        f"A stream of {ROWS:,} rows that turns, and exchanges its labels half way: test, then learn, in chunks of 10\n"
    )
    X, y = turning_moons(ROWS)
    adaptive = FBTWSVM(decay="auto", random_state=0)
    models = {
        'FBTWSVM(decay="auto")': adaptive,
        "FBTWSVM(), which never fades": FBTWSVM(random_state=0),
        "SGDClassifier()": SGDClassifier(random_state=0),
    }
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
    for name, model in models.items():
        run = prequential(model, chunked(X, y, 10), window=400, every=200, classes=[0, 1]).run()
        last = run.snapshots[-1]
        print(f"{name:30} accuracy {last.accuracy:.3f}   kappa {last.kappa:.3f}   {last.rows_per_second:9,.0f} rows/s")
        rows = [snapshot.rows for snapshot in run.snapshots]
        left.plot(rows, [snapshot.window_accuracy for snapshot in run.snapshots], label=name)
    left.set(xlabel="rows", ylabel="accuracy on the last 400 rows", title="Tested before learned")
    left.legend(frameon=False, loc="lower left")
    plot.decision_regions(adaptive, X[-300:], y[-300:], ax=right)
    right.set_title("What it knows in the end, with the last 300 rows")
    figure.savefig(OUT / "stream.png", dpi=110)
    print(f"\n{adaptive.memory_report()}\n")


def forget():
    print("Digits, 0 to 8 first, 9 later, every row with an id:")
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    order = np.concatenate([np.flatnonzero(y[:1300] < 9), np.flatnonzero(y[:1300] == 9)])
    model = FBTWSVM(feature_map="fourier", gamma=0.05, n_components=200, warm_up=300, random_state=0)
    for first in range(0, len(order), 50):
        chunk = order[first : first + 50]
        model.partial_fit(X[chunk], y[chunk], ids=chunk)
    print(f"  {len(order)} rows learned, accuracy on {len(y) - 1300} others: {model.score(X[1300:], y[1300:]):.3f}")
    start = time.perf_counter()
    person = order[::13]
    report = model.unlearn(X[person], y[person], ids=person)
    print(f"  {len(person)} rows of one person unlearned in {time.perf_counter() - start:.2f} s: {report}")
    print(f"  accuracy without them: {model.score(X[1300:], y[1300:]):.3f}\n")


def planes():
    X, y = make_moons(300, noise=0.25, random_state=0)
    model = FBTWSVM().fit(X, y)
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5.4), layout="constrained")
    plot.planes(model, X, y, ax=left)
    plot.decision_regions(model, X, y, ax=right)
    right.set_title(f"Decision regions, {100 * model.score(X, y):.1f} % of these rows right")
    figure.savefig(OUT / "twin_planes.png", dpi=110)


def with_other_columns(X):
    """Return rows of the first two of 22 columns with the others, each at its mean."""
    return np.hstack([X, np.full((len(X), 20), 1.5)])


def metric():
    """Learn a checkerboard in two of 22 columns, without and with a metric."""
    X = np.random.default_rng(0).uniform(0.0, 3.0, size=(4000, 22))
    y = X[:, :2].astype(int).sum(axis=1) % 2
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(14, 4.8), layout="constrained")
    for ax, setting in ((left, "none"), (middle, "auto")):
        model = FBTWSVM(metric=setting).fit(X[:2000], y[:2000])
        accuracy = 100 * model.score(X[2000:], y[2000:])
        print(f'A checkerboard among 20 columns of noise, metric="{setting}": {accuracy:.1f} % of new rows right')
        of_two_columns = make_pipeline(FunctionTransformer(with_other_columns), FrozenEstimator(model))
        plot.decision_regions(of_two_columns, X[:2000, :2], y[:2000], ax=ax)
        ax.set_title(f'metric="{setting}": {accuracy:.1f} % of new rows right')
    right.bar(range(1, 23), model.metric_)
    right.set(xlabel="column", ylabel="factor", title=f"The metric, learned in {model.n_rounds_} rounds")
    figure.savefig(OUT / "metric.png", dpi=110)


def main():
    OUT.mkdir(exist_ok=True)
    FBTWSVM(gamma=1.0, n_components=5, warm_up=10).partial_fit(*turning_moons(400))  # compiles, once per installation
    drift()
    forget()
    planes()
    metric()
    print(f"Pictures: {', '.join(str(OUT / name) for name in ('stream.png', 'twin_planes.png', 'metric.png'))}")


if __name__ == "__main__":
    main()
