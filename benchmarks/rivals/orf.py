"""ORF: online random forests (Saffari, Leistner, Santner, Godec and Bischof, ICCV workshops 2009).

Each tree sees each row k times, k drawn from a Poisson distribution of mean 1 (online bagging).  A leaf makes up random
tests "x[feature] > threshold" and counts, for each, the classes on both sides.  With enough rows, and a test whose gain

    G(leaf) - |left| / |leaf| G(left) - |right| / |leaf| G(right),   G the Gini index,

is large enough, the leaf splits by its best test, and its children start with the counts of their sides.  The forest
adds up the class shares of the leaves that a row falls into.  Discarding old trees (for drift) is left out: nothing
drifts here.
"""

import numba as nb
import numpy as np

from .base import OnePass, set_seed


@nb.njit(cache=True)
def gini(counts):
    total = counts.sum()
    if total <= 0.0:
        return 0.0
    squares = 0.0
    for count in counts:
        squares += count * count
    return 1.0 - squares / (total * total)


@nb.njit(cache=True)
def best_test(sides):
    """Return the test with the largest gain, and the gain; sides has shape (tests, 2, classes)."""
    best, most = -1, -1.0
    for t in range(len(sides)):
        left, right = sides[t, 0].sum(), sides[t, 1].sum()
        if left == 0.0 or right == 0.0:
            continue
        total = left + right
        gain = gini(sides[t, 0] + sides[t, 1]) - left / total * gini(sides[t, 0]) - right / total * gini(sides[t, 1])
        if gain > most:
            best, most = t, gain
    return best, most


@nb.njit(cache=True)
def _make_tests(features, thresholds, low, high):
    for t in range(len(features)):
        features[t] = np.random.randint(len(low))
        thresholds[t] = low[features[t]] + np.random.random() * (high[features[t]] - low[features[t]])


@nb.njit(cache=True)
def _leaf_of(x, split_feature, split_threshold, children):
    node = 0
    while children[node, 0] >= 0:
        node = children[node, 1 if x[split_feature[node]] > split_threshold[node] else 0]
    return node


@nb.njit(cache=True)
def _learn(X, y, first, least, gain, low, high, tree, used, slots):
    """Teach one tree rows from `first` on; returns nodes in use, free slots, and the row where its arrays are full."""
    split_feature, split_threshold, children, counts, slot, test_feature, test_threshold, sides, free = tree
    for r in range(first, len(X)):
        if used + 2 > len(children) or slots < 2:
            return used, slots, r
        for _ in range(np.random.poisson(1.0)):
            x, label = X[r], y[r]
            node = _leaf_of(x, split_feature, split_threshold, children)
            counts[node, label] += 1.0
            own = slot[node]
            for t in range(test_feature.shape[1]):
                sides[own, t, 1 if x[test_feature[own, t]] > test_threshold[own, t] else 0, label] += 1.0
            if counts[node].sum() <= least or gini(counts[node]) == 0.0:
                continue
            best, found = best_test(sides[own])
            if best < 0 or found <= gain:
                continue
            split_feature[node], split_threshold[node] = test_feature[own, best], test_threshold[own, best]
            for side in range(2):
                child = used + side
                children[node, side] = child
                children[child] = -1
                counts[child] = sides[own, best, side]
                slots -= 1
                slot[child] = free[slots]
                sides[slot[child]] = 0.0
                _make_tests(test_feature[slot[child]], test_threshold[slot[child]], low, high)
            free[slots] = own  # the counts of the split leaf serve another one
            slots += 1
            used += 2
            if used + 2 > len(children) or slots < 2:
                break  # what is left of this row's repeats is lost, at most once for each growth of the arrays
    return used, slots, len(X)


@nb.njit(cache=True)
def _shares(X, split_feature, split_threshold, children, counts, out):
    for r in range(len(X)):
        node = _leaf_of(X[r], split_feature, split_threshold, children)
        total = counts[node].sum()
        if total > 0.0:
            out[r] += counts[node] / total


class _Tree:
    """The arrays of one tree, which grow when they are full."""

    def __init__(self, n_tests, n_classes):
        self.used, self.slots = 1, 0
        self.arrays = (
            np.zeros(1, dtype=np.int64), np.zeros(1), np.full((1, 2), -1), np.zeros((1, n_classes)),
            np.zeros(1, dtype=np.int64), np.zeros((1, n_tests), dtype=np.int64), np.zeros((1, n_tests)),
            np.zeros((1, n_tests, 2, n_classes), dtype=np.float32), np.zeros(1, dtype=np.int64),
        )  # fmt: skip

    def grow(self):
        """Double the nodes, and make more slots for counts if few are free."""
        nodes, slots = self.arrays[:5], self.arrays[5:]
        nodes = tuple(np.concatenate([array, np.zeros_like(array)]) for array in nodes)
        nodes[2][self.used :] = -1
        if self.slots < 2:
            old = len(slots[0])
            extra = max(4, old // 2)
            slots = tuple(np.concatenate([array, np.zeros((extra, *array.shape[1:]), array.dtype)]) for array in slots)
            fresh = np.arange(old, len(slots[0]))
            slots[3][self.slots : self.slots + len(fresh)] = fresh
            self.slots += len(fresh)
        self.arrays = (*nodes, *slots)


class ORF(OnePass):
    """Online random forest.

    A leaf splits after `least_rows` rows if the best of its random tests (ten times the root of the number of columns)
    gains `least_gain`.
    """

    def __init__(self, n_trees=100, least_rows=50, least_gain=0.05, random_state=0):
        self.n_trees = n_trees
        self.least_rows = least_rows
        self.least_gain = least_gain
        self.random_state = random_state

    def _start(self, X):
        n_tests = int(np.ceil(10 * np.sqrt(X.shape[1])))
        self.trees_ = [_Tree(n_tests, len(self.classes_)) for _ in range(self.n_trees)]
        self.low_, self.high_ = X.min(axis=0), X.max(axis=0)
        set_seed(np.random.RandomState(self.random_state).randint(2**31 - 1))
        for tree in self.trees_:
            _make_tests(tree.arrays[5][0], tree.arrays[6][0], self.low_, self.high_)

    def _learn(self, X, labels):
        self.low_, self.high_ = np.minimum(self.low_, X.min(axis=0)), np.maximum(self.high_, X.max(axis=0))
        for tree in self.trees_:
            done = 0
            while done < len(X):
                tree.used, tree.slots, done = _learn(
                    X, labels, done, self.least_rows, self.least_gain, self.low_, self.high_, tree.arrays, tree.used,
                    tree.slots,
                )  # fmt: skip
                if done < len(X):
                    tree.grow()

    def _winners(self, X):
        """Return the class with the largest sum of the trees' shares."""
        shares = np.zeros((len(X), len(self.classes_)))
        for tree in self.trees_:
            _shares(X, *tree.arrays[:4], shares)
        return shares.argmax(axis=1)
