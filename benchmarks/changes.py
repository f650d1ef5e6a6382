"""What it costs to forget rows, to meet a new class, and what balancing does for a rare one.

FBTWSVM_DATA=... python -m benchmarks.changes [unlearn|new_class|imbalance]
"""

import argparse
import time
from copy import deepcopy

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import RBFSampler
from sklearn.linear_model import SGDClassifier
from sklearn.metrics import balanced_accuracy_score
from sklearn.preprocessing import MinMaxScaler

from benchmarks.data import load, load_stream, progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.features import NystroemFeatures

REPEATS = 5


def letter_model(X, **options):
    features = NystroemFeatures(gamma=0.007394, n_components=350, random_state=0).fit(X[:700])
    return FBTWSVM(feature_map=FrozenEstimator(features), C=3.0, random_state=0, **options)


def learn(model, X, y, size=1000):
    for first in range(0, len(y), size):
        model.partial_fit(X[first : first + size], y[first : first + size])
    return model


def timed(call, *arguments):
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


def unlearn():
    X, y, X_test, y_test = load("letter")
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    spread = np.random.default_rng(1).choice(len(y), len(y) // 100, replace=False)
    tasks = {"10 rows of one class": (np.flatnonzero(y == 3)[:10], 10), "1 % over all classes": (spread, 50)}
    rows = []
    for memory in (50, 200):
        model = learn(letter_model(X, memory=memory), X, y)
        for name, (out, wanted) in tasks.items():
            progress(f"unlearn, memory {memory}, {name}")
            rest = np.setdiff1d(np.arange(len(y)), out)
            costs, fits, passes = [], [], []
            for _ in range(REPEATS):
                twin, retrained = deepcopy(model), letter_model(X, memory=memory)
                costs.append(timed(twin.unlearn, X[out], y[out]))
                fits.append(timed(letter_model(X, memory=memory).fit, X[rest], y[rest]))
                passes.append(timed(learn, retrained, X[rest], y[rest]))
            cost, fit, one_pass = np.median(costs), np.median(fits), np.median(passes)
            same = 100 * (retrained.predict(X_test) == twin.predict(X_test)).mean()
            rows.append(
                [
                    memory,
                    name,
                    f"{1000 * cost:.0f}",
                    f"{1000 * fit:.0f}",
                    f"{1000 * one_pass:.0f}",
                    f"{100 * cost / fit:.1f} %",
                    f"{100 * cost / one_pass:.1f} %",
                    f"<= {wanted} %",
                    f"{same:.2f} %",
                    f"{100 * (twin.score(X_test, y_test) - retrained.score(X_test, y_test)):+.2f}",
                ]
            )
    print(
        "letter, 350 features: unlearning against retraining without the rows (fit, and one pass in chunks of 1,000)\n"
    )
    header = ["memory", "rows", "unlearn: ms", "fit: ms", "one pass: ms", "of fit", "of one pass", "wanted"]
    table([*header, "same answers", "accuracy: points"], rows)


def new_class():
    X, y, X_test, y_test = load("letter")
    order = np.random.default_rng(0).permutation(len(y))
    X, y = X[order], y[order]
    rows = []
    for label in (0, 7, 18):
        old, new = np.flatnonzero(y != label), np.flatnonzero(y == label)
        model = learn(letter_model(X, memory=50), X[old[:3000]], y[old[:3000]], 100)
        plain = old[3000:3100]
        arriving = np.concatenate([old[3100:3190], new[:10]])
        costs = np.median(
            [
                [timed(deepcopy(model).partial_fit, X[chunk], y[chunk]) for chunk in (plain, arriving)]
                for _ in range(REPEATS)
            ],
            axis=0,
        )
        for step in range(20):  # 200 rows of the new class among 1,800 others
            chunk = np.concatenate([old[3100 + 90 * step : 3190 + 90 * step], new[10 * step : 10 * step + 10]])
            model.partial_fit(X[chunk], y[chunk])
        own = y_test == label
        batch = letter_model(X).fit(
            X[np.concatenate([old[:4900], new[:200]])], y[np.concatenate([old[:4900], new[:200]])]
        )
        rows.append(
            [
                "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[label],
                f"{1000 * costs[0]:.0f}",
                f"{1000 * costs[1]:.0f}",
                f"{costs[1] / costs[0]:.2f}",
                f"{100 * (model.predict(X_test[own]) == label).mean():.1f}",
                f"{100 * (batch.predict(X_test[own]) == label).mean():.1f}",
                f"{100 * model.score(X_test, y_test):.1f}",
                f"{100 * batch.score(X_test, y_test):.1f}",
            ]
        )
    print("\nletter: a class that first turns up at row 3,000, in chunks of 100, 10 of each its own\n")
    header = [
        "new class",
        "plain chunk: ms",
        "its first chunk: ms",
        "times",
        "found after 200 of its rows: %",
        "by fit: %",
    ]
    table([*header, "all classes: %", "by fit: %"], rows)


def imbalance():
    X, y = load_stream("covtype")
    two = np.flatnonzero((y == 0) | (y == 1))
    rows = []
    found = {}
    for seed in range(5):
        random = np.random.default_rng(seed)
        common = random.choice(two[y[two] == 1], 29_700, replace=False)
        rare = random.choice(two[y[two] == 0], 300, replace=False)
        order = random.permutation(np.concatenate([common, rare]))
        learned, tested = order[:20_000], order[20_000:]
        more = random.choice(np.setdiff1d(two[y[two] == 0], rare), 2000, replace=False)
        tested = np.concatenate([tested, more])
        scaler = MinMaxScaler().fit(X[learned[:500]])
        A, B = (scaler.transform(X[part]).astype(np.float32) for part in (learned, tested))
        labels = y[learned]
        features = RBFSampler(gamma=1.0 / (A.shape[1] * A[:500].var()), n_components=300, random_state=seed).fit(A[:1])
        weights = {0: 20_000 / (2 * (labels == 0).sum()), 1: 20_000 / (2 * (labels == 1).sum())}
        models = {
            "FBTWSVM": learn(FBTWSVM(random_state=seed), A, labels, 500),
            'FBTWSVM, class_weight="balanced"': learn(
                FBTWSVM(random_state=seed, class_weight="balanced"), A, labels, 500
            ),
        }
        scores = {name: balanced_accuracy_score(y[tested], model.predict(B)) for name, model in models.items()}
        for name, weight in (("SGD", None), ("SGD, weighted by the true shares", weights)):
            sgd = SGDClassifier(loss="log_loss", random_state=seed, class_weight=weight)
            for first in range(0, len(labels), 500):
                part = slice(first, first + 500)
                sgd.partial_fit(features.transform(A[part]), labels[part], classes=[0, 1])
            scores[name] = balanced_accuracy_score(y[tested], sgd.predict(features.transform(B)))
        for name, score in scores.items():
            found.setdefault(name, []).append(100 * score)
    rows = [[name, f"{np.mean(scores):.1f} +- {np.std(scores):.1f}"] for name, scores in found.items()]
    print("\ncovtype, classes 0 and 1 at 1 % and 99 %, one pass over 20,000 rows in chunks of 500, 5 draws\n")
    table(["model", "balanced accuracy: %"], rows)


PARTS = {"unlearn": unlearn, "new_class": new_class, "imbalance": imbalance}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    for part in parser.parse_args().parts:
        PARTS[part]()


if __name__ == "__main__":
    main()
