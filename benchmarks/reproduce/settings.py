"""One rule for choosing settings, on training rows only: ours by a short coordinate search, the rivals' by small grids.

All are judged by the same three stratified folds that keep the rows in their order, on at most `MOST_ROWS` of them (the
rivals other than SVC: half as many).
What is not searched for a rival is its author's advice or its library's default.
"""

import itertools

import numpy as np
from sklearn.model_selection import StratifiedKFold

from benchmarks.reproduce.methods import ONE_PASS, RIVALS, features_for
from benchmarks.reproduce.worker import chunks
from fbtwsvm import FBTWSVM
from fbtwsvm.features.kernels import gamma_scale

MOST_ROWS = 10_000
MOST_FEATURES = 1_000  # while searching; the final model has more
WIDTHS = (1 / 4, 1 / 2, 1, 2, 4, 8, 16)  # times gamma "scale"

# One parameter after another, starting from the default: the best value stays.
STEPS = (
    {"C": (0.3, 1.0, 3.0, 10.0)},
    {"membership": ("fuzzy", "none")},
    {"mu": (0.1, 0.5)},
    {"reg": (0.001, 0.01, 0.1)},
    {"decision": ("calibrated", "value", "distance")},
    {"multiclass": ("dag", "vote")},
)

GRIDS = {
    "svc": ("SVC", {"C": (1.0, 10.0, 100.0), "width": (1 / 16, 1 / 4, 1, 4, 16)}),
    "sgd": ("Fourier + SGD", {"alpha": (1e-6, 1e-5, 1e-4, 1e-3), "average": (False, True)}),
    "linear": ("Nystroem + LinearSVC", {"C": (1.0, 10.0, 100.0)}),
    "orf": ("ORF", {"least_rows": (10, 50), "least_gain": (0.02, 0.1)}),
    "ilvq": ("ILVQ", {"most_errors": (1, 3, 10), "rate": (0.002, 0.02, 0.1, 0.5)}),
}


def sample(X, y, most=MOST_ROWS):
    """Return at most so many rows, in their order."""
    if len(y) <= most:
        return X, y
    rows = np.sort(np.random.default_rng(0).choice(len(y), most, replace=False))
    return X[rows], y[rows]


def folds(y):
    """Return three splits."""
    least = np.bincount(np.unique(y, return_inverse=True)[1]).min()
    return list(StratifiedKFold(max(2, min(3, least))).split(y, y))


def score(make, X, y, splits, *, one_pass=False):
    """Return the mean accuracy over the splits, in %; in one pass, rows come in chunks and in a random order."""
    found = []
    for train, test in splits:
        model = make()
        if one_pass:
            train = np.random.default_rng(0).permutation(train)
            for part in chunks(len(train), len(train) // 20):
                model.partial_fit(X[train[part]], y[train[part]], classes=np.unique(y))
        else:
            model.fit(X[train], y[train])
        found.append(100.0 * np.mean(model.predict(X[test]) == y[test]))
    return float(np.mean(found))


def choose(group, X, y, *, chosen=None, quick=False):
    """Return the parameters of ours, or of a group of rivals that may need what others have `chosen`."""
    if group == "ours":
        return choose_ours(X, y, quick=quick)
    return choose_rival(group, X, y, chosen=chosen or {}, quick=quick)


def choose_ours(X, y, *, quick=False):
    """Return the parameters of our settings: map and width together, then one parameter after another.

    The search fits in batch, which costs less than a stream and shares its planes.
    """
    n_features = features_for(len(y))
    X, y = sample(X, y, 2_000 if quick else MOST_ROWS)
    splits, scale = folds(y), gamma_scale(X)
    least = min(len(train) for train, _ in splits)

    def judge(parameters):
        fewer = {**parameters, "n_components": min(n_features, MOST_FEATURES, least)}
        return score(lambda: FBTWSVM(random_state=0, **fewer), X, y, splits)

    maps = ("nystroem", "fourier")
    candidates = [{"feature_map": m, "gamma": scale * width} for m, width in itertools.product(maps, WIDTHS)]
    best, top = {}, -1.0
    for step in (candidates, *STEPS):
        if isinstance(step, dict):
            (name, values), kept = *step.items(), dict(best)
            default = FBTWSVM().get_params()[name]
            step = [{**kept, name: value} for value in values if value != kept.get(name, default)]
            if name == "mu" and kept.get("membership") == "none":
                continue  # memberships are all one
        for candidate in step:
            found = judge(candidate)
            if found > top:
                best, top = candidate, found
    return {**best, "n_components": n_features}


def choose_rival(group, X, y, *, chosen, quick):
    """Return the parameters of a group of rivals, from its grid."""
    method, grid = GRIDS[group]
    X, y = sample(X, y, 2_000 if quick else MOST_ROWS if group == "svc" else MOST_ROWS // 2)
    splits, scale = folds(y), gamma_scale(X)
    best, top = {}, -1.0
    for values in itertools.product(*grid.values()):
        candidate = dict(zip(grid, values, strict=True))
        if "width" in candidate:
            candidate["gamma"] = scale * candidate.pop("width")
        options = {**chosen, group: candidate}
        one_pass = method in ONE_PASS
        found = score(lambda options=options: RIVALS[method](options, len(y), 0), X, y, splits, one_pass=one_pass)
        if found > top:
            best, top = candidate, found
    return best
