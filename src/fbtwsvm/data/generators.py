"""The paper's synthetic streams: LED, SEA, random tree, random RBF and rotating hyperplane.

They follow the generators of MOA that the paper used, with the same labels but other random numbers.  The first rows
are the same however many rows are generated.  Every stream can change suddenly, every `drift_every` rows; two of them
can also change gradually, by `drift_speed` with each row.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from .._arrays import Array

__all__ = ["GENERATORS", "Generator", "Hyper", "Led", "Rbf", "Rtg", "Sea", "make"]

_BLOCK = 65_536  # rows drawn with one seed
_SEGMENTS = np.array(
    [
        [1, 1, 1, 0, 1, 1, 1], [0, 0, 1, 0, 0, 1, 0], [1, 0, 1, 1, 1, 0, 1], [1, 0, 1, 1, 0, 1, 1],
        [0, 1, 1, 1, 0, 1, 0], [1, 1, 0, 1, 0, 1, 1], [1, 1, 0, 1, 1, 1, 1], [1, 0, 1, 0, 0, 1, 0],
        [1, 1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 1, 1],
    ],
    dtype=np.int64,
)  # fmt: skip


class Generator:
    """Base class of the generators.

    Parameters
    ----------
    seed : int, default=0
        Seed; the same seed gives the same rows.
    noise : float, default=None
        Share of labels (for LED: of segments) that are wrong; each generator has its own default.
    drift_every : int, default=0
        Number of rows after which the concept changes suddenly; 0 means never.
    """

    labels: Array = np.array([-1, 1])
    default_noise: ClassVar[float] = 0.0

    def __init__(self, *, seed: int = 0, noise: float | None = None, drift_every: int = 0) -> None:
        self.seed = _integer("seed", seed, 0)
        self.noise = self.default_noise if noise is None else float(noise)
        self.drift_every = _integer("drift_every", drift_every, 0)
        if not 0.0 <= self.noise <= 1.0:
            raise ValueError(f"noise must lie between 0 and 1, got {noise!r}.")

    def rows(self, n: int) -> tuple[Array, Array]:
        """Return the first n rows and their labels."""
        blocks = list(self.blocks(n))
        if not blocks:
            return np.empty((0, 0)), self.labels[:0]
        X, y = zip(*blocks, strict=True)
        return np.concatenate(X), np.concatenate(y)

    def blocks(self, n: int) -> Iterator[tuple[Array, Array]]:
        """Yield the first n rows and their labels, block by block."""
        for number in range(-(-n // _BLOCK)):
            first = number * _BLOCK
            times = np.arange(first, min(first + _BLOCK, n))
            draws, flips = np.random.default_rng([self.seed, number]).spawn(2)
            X, classes = self._draw(draws, times)
            yield X, self.labels[self._with_noise(flips, classes)]

    def _with_noise(self, random: np.random.Generator, classes: Array) -> Array:
        """Give some rows a wrong class, each with the same probability."""
        chances = random.random((len(classes), 2))
        step = 1 + (chances[:, 1] * (len(self.labels) - 1)).astype(np.int64)
        return np.where(chances[:, 0] < self.noise, (classes + step) % len(self.labels), classes)

    def _draw(self, random: np.random.Generator, times: Array) -> tuple[Array, Array]:
        """Return rows and class indices."""
        raise NotImplementedError

    def _concepts(self, times: Array) -> Array:
        """Return the number of the concept of each row."""
        return times // self.drift_every if self.drift_every else np.zeros_like(times)

    def _concept_random(self, concept: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, 2**31, concept])


class Sea(Generator):
    """SEA (Street and Kim 2001): three columns in [0, 10]; the class is whether the first two sum to more than theta.

    `function` 1 to 4 has theta 8, 9, 7, 9.5; sudden drift moves to the next one.  10 % of the labels are wrong.
    """

    thresholds: Array = np.array([8.0, 9.0, 7.0, 9.5])
    default_noise = 0.1

    def __init__(self, *, function: int = 1, **options: Any) -> None:
        super().__init__(**options)
        self.function = _integer("function", function, 1, 4)

    def _draw(self, random: np.random.Generator, times: Array) -> tuple[Array, Array]:
        X = 10.0 * random.random((len(times), 3))
        threshold = self.thresholds[(self._concepts(times) + self.function - 1) % 4]
        return X, (X[:, 0] + X[:, 1] > threshold).astype(np.int64)


class Led(Generator):
    """LED (Breiman et al. 1984): a digit shown by seven segments, some of them wrong, and 17 random columns.

    `noise` is the share of wrong segments.  Sudden drift permutes the columns.
    """

    labels = np.arange(10)
    default_noise = 0.1

    def _with_noise(self, random: np.random.Generator, classes: Array) -> Array:
        return classes

    def _draw(self, random: np.random.Generator, times: Array) -> tuple[Array, Array]:
        digits, bits, flips = random.spawn(3)
        classes = digits.integers(10, size=len(times))
        shown = _SEGMENTS[classes] ^ (flips.random((len(times), 7)) < self.noise)
        X = np.concatenate([shown, bits.integers(2, size=(len(times), 17))], axis=1)
        concepts = self._concepts(times)
        for concept in np.unique(concepts[concepts > 0]):
            own = concepts == concept
            X[own] = X[own][:, self._concept_random(int(concept)).permutation(24)]
        return X, classes


class Hyper(Generator):
    """Rotating hyperplane (Hulten et al. 2001): rows in [0, 1]^features; the class is the side of a plane.

    Sudden drift draws another plane.  With gradual drift the first `drifting` weights (all by default) change by
    `drift_speed` with each row, and reverse direction with probability 10 %.  5 % of the labels are wrong.
    """

    default_noise = 0.05
    _turns = 0.1

    def __init__(
        self, *, features: int = 10, drift_speed: float = 0.0, drifting: int | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.features = _integer("features", features, 1)
        self.drift_speed = float(drift_speed)
        self.drifting = self.features if drifting is None else _integer("drifting", drifting, 0, self.features)
        self._moved = np.zeros((1, self.features))  # change of the weights before each block
        self._signs = np.ones((1, self.features))

    def _draw(self, random: np.random.Generator, times: Array) -> tuple[Array, Array]:
        rows, turns = random.spawn(2)
        X = rows.random((len(times), self.features))
        concepts = self._concepts(times)
        if not self.drift_speed and concepts[0] == concepts[-1]:
            weights = self._weights(int(concepts[0]))
            return X, (X @ weights >= 0.5 * weights.sum()).astype(np.int64)
        weights = np.stack([self._weights(int(concept)) for concept in np.unique(concepts)])[concepts - concepts[0]]
        if self.drift_speed:
            weights = weights + self._path(turns, times)
        return X, (np.einsum("ij,ij->i", X, weights) >= 0.5 * weights.sum(axis=1)).astype(np.int64)

    def _weights(self, concept: int) -> Array:
        return self._concept_random(concept).random(self.features)

    def _path(self, random: np.random.Generator, times: Array) -> Array:
        """Return the change of each weight before each row; blocks come in order, so the state before is there."""
        number = int(times[0]) // _BLOCK
        self._moved, self._signs = self._moved[: number + 1], self._signs[: number + 1]
        turned = np.where(random.random((len(times), self.features)) < self._turns, -1.0, 1.0)
        signs = self._signs[-1] * np.cumprod(turned, axis=0)
        steps = self.drift_speed * signs
        steps[:, self.drifting :] = 0.0
        moved: Array = self._moved[-1] + np.cumsum(steps, axis=0)
        self._moved, self._signs = np.vstack([self._moved, moved[-1]]), np.vstack([self._signs, signs[-1]])
        before: Array = moved - steps
        return before


class Rbf(Generator):
    """Random RBF: clouds around `centroids` random centres in [0, 1]^features, each of a random class.

    The standard deviation of a cloud is drawn between 0 and `spread`.  Sudden drift draws other centres.  With gradual
    drift each centre moves by `drift_speed` with each row, and turns back at the borders.
    """

    def __init__(
        self,
        *,
        features: int = 10,
        classes: int = 5,
        centroids: int = 50,
        spread: float = 1.0,
        drift_speed: float = 0.0,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.features = _integer("features", features, 1)
        self.centroids = _integer("centroids", centroids, 1)
        self.labels = np.arange(_integer("classes", classes, 2))
        self.spread = float(spread)
        self.drift_speed = float(drift_speed)

    def _draw(self, random: np.random.Generator, times: Array) -> tuple[Array, Array]:
        picks, ways, lengths = random.spawn(3)
        chances = picks.random(len(times))
        directions = ways.uniform(-1.0, 1.0, (len(times), self.features))
        distances = lengths.standard_normal(len(times))
        X = np.empty((len(times), self.features))
        classes = np.empty(len(times), dtype=np.int64)
        concepts = self._concepts(times)
        for concept in np.unique(concepts):
            own = concepts == concept
            centres, labels, spreads, shares, velocities = self._clouds(int(concept))
            which = np.searchsorted(shares, chances[own], side="right")
            middle = centres[which]
            if self.drift_speed:
                middle = middle + velocities[which] * times[own, None]
                middle = 1.0 - np.abs(middle % 2.0 - 1.0)  # reflected at the borders
            unit = directions[own] / np.linalg.norm(directions[own], axis=1, keepdims=True)
            X[own] = middle + unit * (distances[own] * spreads[which])[:, None]
            classes[own] = labels[which]
        return X, classes

    @lru_cache(maxsize=4)  # noqa: B019  (a generator is small, and lives as long as its stream)
    def _clouds(self, concept: int) -> tuple[Array, Array, Array, Array, Array]:
        random = self._concept_random(concept)
        centres = random.random((self.centroids, self.features))
        labels = random.integers(len(self.labels), size=self.centroids)
        spreads = self.spread * random.random(self.centroids)
        weights = random.random(self.centroids)
        velocities = random.standard_normal((self.centroids, self.features))
        velocities *= self.drift_speed / np.linalg.norm(velocities, axis=1, keepdims=True)
        shares = np.cumsum(weights / weights.sum())
        shares[-1] = 1.0
        return centres, labels, spreads, shares, velocities


class Rtg(Generator):
    """Random tree (Domingos and Hulten 2000): rows in [0, 1]^features; the class is that of a leaf of a random tree.

    The tree has `depth` levels, with splits at random positions of random columns; from level `first_leaf` on a branch
    ends early with probability `leaf_share`.  Sudden drift grows another tree.
    """

    def __init__(
        self, *, features: int = 10, depth: int = 3, first_leaf: int = 3, leaf_share: float = 0.15, **options: Any
    ) -> None:
        super().__init__(**options)
        self.features = _integer("features", features, 1)
        self.depth = _integer("depth", depth, 1, 20)
        self.first_leaf = _integer("first_leaf", first_leaf, 0)
        self.leaf_share = float(leaf_share)

    def _draw(self, random: np.random.Generator, times: Array) -> tuple[Array, Array]:
        X = random.random((len(times), self.features))
        classes = np.empty(len(times), dtype=np.int64)
        concepts = self._concepts(times)
        for concept in np.unique(concepts):
            own = np.flatnonzero(concepts == concept)
            columns, places, leaves = self._tree(int(concept))
            node = np.zeros(len(own), dtype=np.int64)
            for _ in range(self.depth):
                right = X[own, columns[node]] >= places[node]
                node = 2 * node + 1 + right
            classes[own] = leaves[node]
        return X, classes

    @lru_cache(maxsize=4)  # noqa: B019  (a generator is small, and lives as long as its stream)
    def _tree(self, concept: int) -> tuple[Array, Array, Array]:
        """Return column and position of each split and the class of each leaf, of a full tree numbered as a heap."""
        random = self._concept_random(concept)
        size = 2 ** (self.depth + 1) - 1
        columns = np.zeros(size, dtype=np.int64)
        places = np.zeros(size)
        leaves = np.zeros(size, dtype=np.int64)

        def grow(node: int, level: int, low: Array, high: Array, leaf: int | None) -> None:
            ends = level >= self.depth or (level >= self.first_leaf and random.random() < self.leaf_share)
            if leaf is None and ends:
                leaf = int(random.integers(len(self.labels)))
            if level >= self.depth:
                leaves[node] = leaf
                return
            j = columns[node] = random.integers(self.features)
            places[node] = random.uniform(low[j], high[j])
            for child, bound in ((2 * node + 1, high), (2 * node + 2, low)):
                kept = bound[j]
                bound[j] = places[node]
                grow(child, level + 1, low, high, leaf)
                bound[j] = kept

        grow(0, 0, np.zeros(self.features), np.ones(self.features), None)
        return columns, places, leaves


GENERATORS: dict[str, type[Generator]] = {"led": Led, "sea": Sea, "rtg": Rtg, "rbf": Rbf, "hyper": Hyper}


def make(name: str, **options: Any) -> Generator:
    """Create a generator by its name.

    Parameters
    ----------
    name : {"led", "sea", "rtg", "rbf", "hyper"}
        Name of the generator.
    **options
        Parameters of the generator: `seed`, `noise` and `drift_every` for all, `function` for sea, `features` for rtg,
        rbf and hyper, `classes`, `centroids` and `spread` for rbf, `depth`, `first_leaf` and `leaf_share` for rtg,
        `drift_speed` for rbf and hyper, `drifting` for hyper.

    Returns
    -------
    Generator
        The generator.  `rows(n)` returns the first n rows and labels, `blocks(n)` yields the same block by block.

    Examples
    --------
    >>> from fbtwsvm.data.generators import make
    >>> X, y = make("sea", seed=1, noise=0.0).rows(1000)
    >>> bool(((X[:, 0] + X[:, 1] > 8) == (y == 1)).all())
    True
    """
    return GENERATORS[name](**options)


def _integer(name: str, value: Any, low: int, high: int = 2**31) -> int:
    if int(value) != value or not low <= value <= high:
        raise ValueError(f"{name} must be an integer from {low}" + (f" to {high}" if high < 2**31 else "") + ".")
    return int(value)
