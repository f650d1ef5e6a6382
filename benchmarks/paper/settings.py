"""Settings of all methods: the paper's, and those that one rule chooses on training rows.

All choices use the same three stratified folds that keep the rows in their order, on at most `MOST_ROWS` of them (for
rivals other than SVC half as many). What is not searched is the author's advice or the library's default.
"""

import itertools

import numpy as np
from river import forest
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from benchmarks.harness.data import gamma_scale
from benchmarks.paper.published import SETTINGS
from benchmarks.rivals.ilvq import ILVQ
from benchmarks.rivals.isvm import ISVM
from benchmarks.rivals.lasvm import LASVM
from benchmarks.rivals.methods import RiverModel, arf, fourier_sgd, nystroem_svc
from benchmarks.rivals.orf import ORF
from fbtwsvm import FBTWSVM

ONE_PASS = ("ISVM", "LASVM", "ORF", "ILVQ", "Fourier + SGD", "ARF", "AMF")
BATCH_RIVALS = ("SVC", "Nystroem + LinearSVC")
MOST_ROWS = 10_000
MOST_FEATURES = 1_000  # while searching; the final model has more
GAMMAS = (1 / 4, 1 / 2, 1, 2, 4, 8, 16)  # times "scale"

# One parameter after another, starting from the default: the best value stays.
STEPS = {
    "C": (0.3, 1.0, 3.0, 10.0),
    "membership": ("fuzzy", "none"),
    "mu": (0.1, 0.5),
    "reg": (0.001, 0.01, 0.1),
    "decision": ("calibrated", "value", "distance"),
    "multiclass": ("dag", "vote"),
}
GRIDS = {
    "svc": ("SVC", {"C": (1.0, 10.0, 100.0), "gamma": (1 / 16, 1 / 4, 1, 4, 16)}),  # gamma: times "scale"
    "sgd": ("Fourier + SGD", {"alpha": (1e-6, 1e-5, 1e-4, 1e-3), "average": (False, True)}),
    "linear": ("Nystroem + LinearSVC", {"C": (1.0, 10.0, 100.0)}),
    "orf": ("ORF", {"least_rows": (10, 50), "least_gain": (0.02, 0.1)}),
    "ilvq": ("ILVQ", {"most_errors": (1, 3, 10), "rate": (0.002, 0.02, 0.1, 0.5)}),
}
# method: the groups of settings that it needs, and how it is made from them, the number of rows and a seed
RIVALS = {
    "ISVM": (("svc",), lambda chosen, n, seed: ISVM(**chosen["svc"])),
    "LASVM": (("svc",), lambda chosen, n, seed: LASVM(**chosen["svc"])),
    "ORF": (("orf",), lambda chosen, n, seed: ORF(random_state=seed, **chosen["orf"])),
    "ILVQ": (("ilvq",), lambda chosen, n, seed: ILVQ(random_state=seed, **chosen["ilvq"])),
    "Fourier + SGD": (("svc", "sgd"), lambda chosen, n, seed: on_features(fourier_sgd, chosen, "sgd", n, seed)),
    "ARF": ((), lambda chosen, n, seed: arf(seed)),
    "AMF": ((), lambda chosen, n, seed: RiverModel(forest.AMFClassifier(seed=seed))),
    "SVC": (("svc",), lambda chosen, n, seed: SVC(cache_size=1000, **chosen["svc"])),
    "Nystroem + LinearSVC": (
        ("svc", "linear"), lambda chosen, n, seed: on_features(nystroem_svc, chosen, "linear", n, seed)
    ),
}  # fmt: skip


def on_features(make, chosen, group, n_rows, seed):
    return make(chosen["svc"]["gamma"], features_for(n_rows), seed, **chosen[group])


def features_for(n_rows):
    """Return the number of features of our settings and of the rivals' maps: 20 sqrt(n), at most 2,000."""
    return int(min(2000, max(100, 20 * np.sqrt(n_rows))))


def papers_settings(name, X, **changes):
    """Return the paper's parameters of a data set.

    The paper's features are not normalised, ours are: its ridge is divided by their mean square norm.
    """
    setting = SETTINGS[name]
    shared = {"C": setting["box"], "mu": 0.1, "decision": "distance"}
    if "features" not in setting:
        norm = float(np.einsum("ij,ij->", X, X, dtype=np.float64)) / len(X)
        return {**shared, "kernel": "linear", "reg": setting["ridge"] / norm, **changes}
    count, gamma = setting["features"], setting.get("read_gamma", setting["gamma"])
    shape = {"feature_map": "fourier", "n_components": count, "gamma": gamma, "reg": setting["ridge"] / count}
    return {**shared, **shape, **changes}


def limits(share, n_rows, n_classes):
    each = int(min(20_000, share * n_rows) / n_classes)
    return {"memory": max(1, each - each // 4), "second_look": each // 4}


def sample(X, y, most):
    if len(y) <= most:
        return X, y
    rows = np.sort(np.random.default_rng(0).choice(len(y), most, replace=False))
    return X[rows], y[rows]


def paper_chunks(n_rows, first):
    """Return slices: `first` rows, then a twentieth of all rows at a time, at least 100, as in the paper."""
    edges = [0, *range(min(first, n_rows), n_rows, max(100, n_rows // 20)), n_rows]
    return [slice(a, b) for a, b in itertools.pairwise(edges)]


def score(make, X, y, *, one_pass=False):
    """Return the mean accuracy over three folds, in %; in one pass, rows come in chunks and in a random order."""
    least = np.unique(y, return_counts=True)[1].min()
    found = []
    for train, test in StratifiedKFold(max(2, min(3, least))).split(y, y):
        model = make()
        if one_pass:
            train = np.random.default_rng(0).permutation(train)
            for part in paper_chunks(len(train), len(train) // 20):
                model.partial_fit(X[train[part]], y[train[part]], classes=np.unique(y))
        else:
            model.fit(X[train], y[train])
        found.append(100.0 * np.mean(model.predict(X[test]) == y[test]))
    return float(np.mean(found))


def choose_ours(X, y, *, quick=False):
    """Return the parameters of our settings: map and gamma together, then one parameter after another."""
    n_features = features_for(len(y))
    X, y = sample(X, y, 2_000 if quick else MOST_ROWS)
    count = min(n_features, MOST_FEATURES, 3 * len(y) // 5)

    def score_of(parameters):
        return score(lambda: FBTWSVM(random_state=0, n_components=count, **parameters), X, y)

    maps = itertools.product(("nystroem", "fourier"), GAMMAS)
    candidates = [{"feature_map": kind, "gamma": gamma_scale(X) * factor} for kind, factor in maps]
    scores = [score_of(candidate) for candidate in candidates]
    best, top = candidates[int(np.argmax(scores))], max(scores)
    for name, values in STEPS.items():
        if name == "mu" and best.get("membership") == "none":
            continue  # all memberships are one
        default = FBTWSVM().get_params()[name]
        for candidate in [{**best, name: value} for value in values if value != default]:
            found = score_of(candidate)
            if found > top:
                best, top = candidate, found
    return {**best, "n_components": n_features}


def choose(group, X, y, *, chosen=None, quick=False):
    """Return the parameters of ours, or of a group of rivals that may need what others have `chosen`."""
    if group == "ours":
        return choose_ours(X, y, quick=quick)
    method, grid = GRIDS[group]
    X, y = sample(X, y, 2_000 if quick else MOST_ROWS if group == "svc" else MOST_ROWS // 2)
    best, top = {}, -1.0
    for values in itertools.product(*grid.values()):
        candidate = dict(zip(grid, values, strict=True))
        if "gamma" in candidate:
            candidate["gamma"] *= gamma_scale(X)
        options = {**(chosen or {}), group: candidate}
        found = score(lambda o=options: RIVALS[method][1](o, len(y), 0), X, y, one_pass=method in ONE_PASS)
        if found > top:
            best, top = candidate, found
    return best
