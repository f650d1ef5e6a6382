"""How gamma="auto" judges a kernel, beside other ways to do it, on splits of training parts alone.

At most 6,000 training rows of each set are split 70 : 30 at random; test parts are never used. The planes themselves
are fitted with every gamma on the 70 %, and classify the 30 %. A way to choose gamma is as good as its choice is near
the best of these.
"""

import time

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.defaults.sets import NINE, TABLES, rows_of
from benchmarks.harness.data import SCALED, gamma_scale
from benchmarks.harness.internals import chosen_gamma
from benchmarks.harness.measure import threads
from benchmarks.harness.table import mean_error, progress, table
from fbtwsvm import FBTWSVM

SETS = (*NINE, *TABLES)
POWERS = np.arange(-5, 7)  # of 2, times "scale"
# way to choose: changes of constants
WAYS = {
    "as it is: ridge 0.01, 1,200 rows": {},
    "ridge 0.001": {"RIDGE": 0.001},
    "ridge 0.1": {"RIDGE": 0.1},
    "ridge 1": {"RIDGE": 1.0},
    "600 rows": {"_SAMPLE": 600},
    "2,400 rows": {"_SAMPLE": 2_400},
}


def splits(name, count, quick):
    X, y, _, _ = rows_of(name, quick)
    if name in SCALED or name in TABLES:
        X = StandardScaler().fit_transform(X)
    if len(X) > 6_000:
        X, _, y, _ = train_test_split(X, y, train_size=6_000, stratify=y, random_state=0)
    for seed in range(count):
        yield train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed)


def accuracies(X, X_held, y, y_held):
    """Return the accuracy of the planes with each gamma, in %."""
    size = {} if len(X) <= 2_000 else {"n_components": int(10 * np.sqrt(len(X)))}
    models = [FBTWSVM(gamma=gamma, random_state=0, n_jobs=1, **size) for gamma in gamma_scale(X) * 2.0**POWERS]
    return np.array([100 * model.fit(X, y).score(X_held, y_held) for model in models])


def choose(X, y, changes):
    """Return the power that a way chooses, and its CPU seconds."""
    start = time.process_time()
    gamma = chosen_gamma(X, y, changes)
    return round(np.log2(gamma / gamma_scale(X))), time.process_time() - start


def run(plan):
    sets, seeds = plan.chosen(SETS, ["border"]), plan.seeds or plan.pick(2, 1)
    behind, seconds = {way: [] for way in ('gamma="scale"', *WAYS)}, {way: [] for way in WAYS}
    with threads(1):
        for name in sets:
            progress(name)
            own = {way: [] for way in behind}
            for X, X_held, y, y_held in splits(name, seeds, plan.quick):
                found = accuracies(X, X_held, y, y_held)
                own['gamma="scale"'].append(found.max() - found[POWERS == 0][0])
                for way, changes in WAYS.items():
                    power, spent = choose(X, y, changes)
                    own[way].append(found.max() - found[power == POWERS][0])
                    seconds[way].append(spent)
            for way, values in own.items():
                behind[way].append(np.mean(values))
    lines = []
    for way, values in behind.items():
        worst = int(np.argmax(values))
        spent = f"{np.mean(seconds[way]):.3f}" if way in seconds else "-"
        lines.append([way, mean_error(np.array(values)), f"{values[worst]:.2f} ({sets[worst]})", spent])
    title = (
        f"{len(sets)} sets, {seeds} splits of the training part each: points of accuracy behind the best of 12 gammas"
    )
    table(["way to choose gamma", "behind the best", "worst set", "CPU: s"], lines, title)
