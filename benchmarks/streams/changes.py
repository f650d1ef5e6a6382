"""One pass against batch; unlearning, a new class, a rare one; and how exact a model is after millions of rows.

In one pass the map is fitted on the first rows of the shuffled training part and serves both. gamma and C of letter are
those that `nystroem` chose on its training part, gamma of border and overlap is the paper's.
"""

import time
from copy import deepcopy

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import balanced_accuracy_score

from benchmarks.harness.data import gamma_scale, load_stream, shuffled, unit_columns
from benchmarks.harness.internals import distance_to_fresh_solve, smallest_eigenvalue
from benchmarks.harness.measure import learn_chunks, seconds_of
from benchmarks.harness.table import mean_sd, progress, table
from benchmarks.rivals.methods import fourier_sgd
from fbtwsvm import FBTWSVM
from fbtwsvm.features import FourierFeatures, NystroemFeatures

# data: (map, features, gamma, chunk, wanted, parameters)
SETTINGS = {
    "border": (FourierFeatures, 150, 0.4, 100, "", {"memory": 50}),
    "letter": (NystroemFeatures, 350, 0.007394, 1000, ">= 97.0", {"memory": 50, "C": 3.0}),
    "mnist": (NystroemFeatures, 1000, 0.02, 5000, ">= 98.0", {"memory": 300}),
    "overlap": (FourierFeatures, 500, 0.4, 100, "", {"memory": 100, "second_look": 300}),
}


def model_for(name, X, seed):
    """Return an unfitted model whose map knows the first rows only."""
    kind, count, gamma, _, _, options = SETTINGS[name]
    features = kind(gamma=gamma, n_components=count, random_state=seed).fit(X[: max(500, 2 * count)])
    return FBTWSVM(feature_map=FrozenEstimator(features), random_state=seed, **options)


def one_pass(name, seed, rows):
    """Return accuracy of fit and of one pass, kept rows, bytes of state, seconds of fit and of the pass."""
    X, y, X_test, y_test = shuffled(name, seed)
    X, y, size = X[:rows], y[:rows], SETTINGS[name][3]
    batch, stream = model_for(name, X, seed), model_for(name, X, seed)
    fit_s = seconds_of(batch.fit, X, y)
    learn_chunks(model_for(name, X, seed), X[:size], y[:size], size)  # compiles
    pass_s = seconds_of(learn_chunks, stream, X, y, size)
    held = stream.inspect()
    scores = [100 * model.score(X_test, y_test) for model in (batch, stream)]
    return *scores, held.kept, held.bytes / 2**20, fit_s, pass_s, len(y)


def one_pass_table(plan):
    seeds, lines = plan.seeds or plan.pick(5, 1), []
    for name in plan.chosen(SETTINGS, ["border"]):
        progress(name)
        found = np.array([one_pass(name, seed, plan.pick(None, 800)) for seed in range(seeds)])
        batch, stream, kept, size, fit_s, pass_s, rows = found.mean(axis=0)
        difference = f"{stream - batch:+.2f} +- {np.std(found[:, 1] - found[:, 0]):.2f}"
        cells = [f"{batch:.2f}", f"{stream:.2f}", difference, SETTINGS[name][4], f"{kept:.0f} of {rows:.0f}"]
        lines.append([name, *cells, f"{size:.1f}", f"{fit_s:.1f}", f"{pass_s:.1f}"])
    header = ["data", "fit", "one pass", "difference", "wanted", "kept rows", "MiB of state", "fit: s", "pass: s"]
    table(header, lines, f"One pass, shuffled, mean of {seeds} seeds (wanted: at most 0.4 below fit)")


def chunk_sizes(plan):
    seeds, lines = min(plan.seeds or 3, plan.pick(3, 1)), []
    rows = plan.pick(4_000, 800)
    for name in plan.chosen(("border", "letter"), ["border"]):
        found = []
        for size in (1, 10, 100, 1_000):
            progress(f"{name}, chunks of {size}")
            scores = []
            for seed in range(seeds):
                X, y, X_test, y_test = shuffled(name, seed)
                model = learn_chunks(model_for(name, X, seed), X[:rows], y[:rows], size)
                scores.append(100 * model.score(X_test, y_test))
            found.append(np.mean(scores))
        lines.append([name, *(f"{score:.2f}" for score in found), f"{max(found) - min(found):.2f}"])
    title = f"Test accuracy after {rows:,} rows in chunks, mean of {seeds} seeds (wanted: range at most 0.5)"
    table(["data", "1", "10", "100", "1,000", "range"], lines, title)
    _long_stream(plan)


def _long_stream(plan):
    """Print how chunks of 1,000 rows and more, which are learned as blocks, follow a stream that never changes."""
    steps = plan.pick((20_000, 100_000, 500_000), (2_000, 4_000))
    random = np.random.default_rng(0)
    X = random.normal(size=(steps[-1] + 20_000, 6))
    value = 2 * np.sin(2 * X[:, 0]) + X[:, 1] * np.sign(X[:, 2]) + X[:, 3]
    y = random.random(len(X)) < 1 / (1 + np.exp(-3 * value))
    lines = []
    for size in (100, 1_000, 20_000):
        progress(f"a long stream, chunks of {size:,}")
        model, scores, before, begin = FBTWSVM(random_state=0), [], 0, time.process_time()
        for step in steps:
            model = learn_chunks(model, X[before:step], y[before:step], size)
            scores.append(f"{100 * model.score(X[steps[-1] :], y[steps[-1] :]):.2f}")
            before = step
        lines.append([f"{size:,}", *scores, f"{time.process_time() - begin:.1f}"])
    header = ["chunks of", *(f"{step:,} rows" for step in steps), "CPU seconds"]
    table(header, lines, "A stream of 6 columns that does not change: test accuracy in %")


def after_fit(plan):
    """Fit half of the rows, then learn the other half in chunks of 100."""
    header, lines = ["data", "fit of half", "and 100 rows", "and the other half", "fit of all", "kept to go on"], []
    for name in plan.chosen(SETTINGS, ["border"]):
        found = []
        for seed in range(plan.seeds or plan.pick(3, 1)):
            X, y, X_test, y_test = shuffled(name, seed)
            X, y = X[: plan.pick(20_000, 800)], y[: plan.pick(20_000, 800)]
            half, model, every = len(y) // 2, model_for(name, X, seed), model_for(name, X, seed).fit(X, y)
            scores = [100 * model.fit(X[:half], y[:half]).score(X_test, y_test)]
            held = model.inspect().bytes / 2**20
            for part in (slice(half, half + 100), slice(half + 100, None)):
                learn_chunks(model, X[part], y[part], 100)
                scores.append(100 * model.score(X_test, y_test))
            found.append([*scores, 100 * every.score(X_test, y_test), held])
            progress(f"{name}, seed {seed}")
        *scores, held = zip(*found, strict=True)
        lines.append([name, *(mean_sd(values) for values in scores), f"{np.mean(held):.1f} MiB"])
    table(header, lines, "Going on after fit: test accuracy in %")


def unlearn(plan):
    X, y, X_test, y_test = shuffled("letter", 0)
    X, y = X[: plan.pick(None, 1_500)], y[: plan.pick(None, 1_500)]
    spread = np.random.default_rng(1).choice(len(y), len(y) // 100, replace=False)
    tasks = {"10 rows of one class": (np.flatnonzero(y == 3)[:10], 10), "1 % over all classes": (spread, 50)}
    lines = []
    for memory in (50, 200):
        model = learn_chunks(model_for("letter", X, 0).set_params(memory=memory), X, y, 1000)
        for name, (out, wanted) in tasks.items():
            progress(f"unlearn, memory {memory}, {name}")
            rest = np.setdiff1d(np.arange(len(y)), out)
            seconds = []
            for _ in range(plan.repeats or plan.pick(5, 1)):
                twin, retrained = deepcopy(model), model_for("letter", X, 0).set_params(memory=memory)
                cost = seconds_of(twin.unlearn, X[out], y[out])
                fit = seconds_of(model_for("letter", X, 0).set_params(memory=memory).fit, X[rest], y[rest])
                seconds.append((cost, fit, seconds_of(learn_chunks, retrained, X[rest], y[rest], 1000)))
            cost, fit, one_pass = 1000 * np.median(seconds, axis=0)
            same = 100 * (retrained.predict(X_test) == twin.predict(X_test)).mean()
            points = 100 * (twin.score(X_test, y_test) - retrained.score(X_test, y_test))
            shares = [f"{100 * cost / fit:.1f} %", f"{100 * cost / one_pass:.1f} %", f"<= {wanted} %"]
            times = [f"{value:.0f}" for value in (cost, fit, one_pass)]
            lines.append([memory, name, *times, *shares, f"{same:.2f} %", f"{points:+.2f}"])
    header = ["memory", "rows", "unlearn: ms", "fit: ms", "one pass: ms", "of fit", "of one pass", "wanted"]
    title = (
        "letter, 350 features: unlearning against retraining without the rows (fit, and one pass in chunks of 1,000)"
    )
    table([*header, "same answers", "accuracy: points"], lines, title)


def new_class(plan):
    X, y, X_test, y_test = shuffled("letter", 0)
    lines = []
    for label in plan.pick((0, 7, 18), (0,)):
        progress(f"new class {label}")
        old, new = np.flatnonzero(y != label), np.flatnonzero(y == label)
        model = learn_chunks(model_for("letter", X, 0), X[old[:3000]], y[old[:3000]], 100)
        chunks = [np.concatenate([old[first : first + 90], new[i : i + 10]])
                  for first, i in zip(range(3100, 4900, 90), range(0, 200, 10), strict=True)]  # fmt: skip
        seconds = []
        for _ in range(plan.repeats or plan.pick(5, 1)):
            pair = (old[3000:3100], chunks[0])
            seconds.append([seconds_of(deepcopy(model).partial_fit, X[chunk], y[chunk]) for chunk in pair])
        for chunk in chunks:
            model.partial_fit(X[chunk], y[chunk])
        rows = np.concatenate([old[:4900], new[:200]])
        batch = model_for("letter", X, 0).fit(X[rows], y[rows])
        own = y_test == label
        found = [f"{100 * (m.predict(X_test[own]) == label).mean():.1f}" for m in (model, batch)]
        scores = [f"{100 * m.score(X_test, y_test):.1f}" for m in (model, batch)]
        plain, first = 1000 * np.median(seconds, axis=0)
        lines.append([chr(65 + label), f"{plain:.0f}", f"{first:.0f}", f"{first / plain:.2f}", *found, *scores])
    header = ["new class", "plain chunk: ms", "its first chunk: ms", "times", "found after 200 of its rows: %"]
    title = "letter: a class that first comes at row 3,000, in chunks of 100, 10 of each its own"
    table([*header, "by fit: %", "all classes: %", "by fit: %"], lines, title)


def imbalance(plan):
    X, y = load_stream("covtype")
    zero, one = np.flatnonzero(y == 0), np.flatnonzero(y == 1)
    common, rare, found = plan.pick(29_700, 2_970), plan.pick(300, 30), {}
    seeds = plan.seeds or plan.pick(5, 1)
    for seed in range(seeds):
        progress(f"rare class, draw {seed}")
        random = np.random.default_rng(seed)
        drawn = random.choice(one, common, replace=False), random.choice(zero, rare, replace=False)
        order = random.permutation(np.concatenate(drawn))
        n = 2 * len(order) // 3
        more = random.choice(np.setdiff1d(zero, drawn[1]), 2000, replace=False)
        rows = np.concatenate([order, more])
        A, labels = unit_columns(X[rows]), y[rows]
        weights = {label: n / (2 * (labels[:n] == label).sum()) for label in (0, 1)}
        gamma = gamma_scale(A[:500])
        models = {
            "FBTWSVM": FBTWSVM(random_state=seed),
            'FBTWSVM, class_weight="balanced"': FBTWSVM(random_state=seed, class_weight="balanced"),
            "SGD": fourier_sgd(gamma, 300, seed, loss="log_loss"),
            "SGD, weighted by the true shares": fourier_sgd(gamma, 300, seed, loss="log_loss", class_weight=weights),
        }
        for name, model in models.items():
            model.partial_fit(A[:500], labels[:500], classes=[0, 1])
            learn_chunks(model, A[500:n], labels[500:n], 500)
            score = 100 * balanced_accuracy_score(labels[n:], model.predict(A[n:]))
            found.setdefault(name, []).append(score)
    title = f"covtype, classes 0 and 1 at 1 % and 99 %, one pass over {n:,} rows in chunks of 500, {seeds} draws"
    table(["model", "balanced accuracy: %"], [[name, mean_sd(scores, 1)] for name, scores in found.items()], title)


CHUNK = 5000
OPTIONS = {"feature_map": "fourier", "n_components": 100, "gamma": "scale", "memory": 100, "tol": 1e-8}


def soak_line(X, y, n, name, options, *, unlearn):
    model = FBTWSVM(**OPTIONS, max_iter=100_000, **options)
    start, smallest = time.perf_counter(), np.inf
    for learned in range(0, n, CHUNK):
        first = learned % (len(y) - CHUNK)
        rows = np.arange(first, first + CHUNK)
        model.partial_fit(X[rows], y[rows])
        if unlearn and learned:
            model.unlearn(X[rows[::50]], y[rows[::50]])
        if learned % (100 * CHUNK) == 0 or learned + CHUNK >= n:
            smallest = min(smallest, smallest_eigenvalue(model))
            progress(f"{name}: {learned:,} rows")
    seconds = time.perf_counter() - start
    return [name, f"{n:,}", f"{smallest:.2e}", f"{distance_to_fresh_solve(model):.1e}", f"{seconds:.0f}"]


def soak(plan):
    X, y = load_stream("SEA_1M")
    X, n = (X / 10.0).astype(np.float64), plan.pick(5_000_000, 50_000)
    lines = [
        soak_line(X, y, n, "half_life=20,000", {"half_life": 20_000.0}, unlearn=False),
        soak_line(X, y, n, "learn and unlearn", {}, unlearn=True),
    ]
    title = "SEA: smallest eigenvalue of G over the ridge (wanted: positive; exact sums give at least 1), and the\n"
    title += "relative distance of the planes to a fresh solve from the same sums (wanted: at most 1e-4)"
    table(["run", "rows", "smallest eigenvalue", "distance", "s"], lines, title)
