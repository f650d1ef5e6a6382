"""Ten streams from river's generators: concepts that switch, abruptly and gradually, or change all the time.

A stream with switches has concept after concept, in equal parts.  Switches are abrupt and gradual in turns; around a
gradual one, the chance that a row is of the next concept rises from 0 to 1 over `_WIDTH` rows.
"""

import numpy as np
from river.datasets import synth

_WIDTH = 2_000  # rows of a gradual switch


def rows_of(generator, n):
    """Return the first rows of a generator, with text labels and truth values as numbers."""
    pairs = list(generator.take(n))
    X = np.array([list(x.values()) for x, _ in pairs], dtype=np.float32)
    return X, np.array([int(y) for _, y in pairs])


def switching(*concepts):
    """Return a stream maker: a concept is a function of a seed that returns a generator."""

    def make(n, seed):
        random = np.random.default_rng(seed)
        made = [rows_of(concept(1_000 * seed + c), n) for c, concept in enumerate(concepts)]
        row, which = np.arange(n), np.zeros(n, dtype=np.int64)
        for c in range(1, len(concepts)):
            apart = row - c * n // len(concepts)
            chance = (apart >= 0) if c % 2 else np.clip(apart / min(_WIDTH, n // 10) + 0.5, 0.0, 1.0)
            which = np.where(random.random(n) < chance, c, which)
        X, y = (np.stack([concept[part] for concept in made]) for part in (0, 1))
        return X[which, row], y[which, row]

    return make


def _agrawal(function):
    return lambda seed: synth.Agrawal(classification_function=function, perturbation=0.05, seed=seed)


def _agrawal_pair(one, two):
    """Return a stream of one function, the other after an abrupt switch, and the first again after a gradual one."""
    return switching(_agrawal(one), _agrawal(two), _agrawal(one))


def _led(moved):
    return lambda seed: synth.LEDDrift(seed, noise_percentage=0.1, irrelevant_features=True, n_drift_features=moved)


def _hyperplane(n, seed):
    return rows_of(synth.Hyperplane(seed, n_features=10, n_drift_features=5, mag_change=0.001), n)


def _random_rbf(n, seed):
    return rows_of(synth.RandomRBFDrift(seed, seed, n_classes=5, n_features=10, change_speed=0.0001), n)


# stream: a function of rows and seed that returns X and y
GENERATED = {
    "agrawal_0_3": _agrawal_pair(0, 3),
    "agrawal_2_6": _agrawal_pair(2, 6),
    "agrawal_4_8": _agrawal_pair(4, 8),
    "hyperplane": _hyperplane,
    "led": switching(*(_led(moved) for moved in (0, 3, 5, 7))),
    "random_rbf": _random_rbf,
    "sea": switching(*(lambda seed, v=v: synth.SEA(variant=v, noise=0.1, seed=seed) for v in (0, 3, 1, 2))),
    "sine": switching(*(lambda seed, f=f: synth.Sine(f, seed=seed) for f in (0, 1, 2, 3))),
    "mixed": switching(*(lambda seed, f=f: synth.Mixed(f, seed=seed) for f in (0, 1, 0, 1))),
    "stagger": switching(*(lambda seed, f=f: synth.STAGGER(f, seed=seed) for f in (0, 1, 2))),
}
