"""Whether one method is better than another: paired bootstrap over the rows of the test part."""

import numpy as np

from benchmarks.paper.tables import values


def right_answers(results, n_rows):
    """Return for each test row the share of seeds that had it right."""
    bits = [
        np.unpackbits(np.frombuffer(bytes.fromhex(text[1:]), np.uint8))[:n_rows] for text in values(results, "right")
    ]
    return np.mean(bits, axis=0)


def difference(ours, theirs, n_rows, *, repeats=4000, level=0.95):
    """Return the difference of two methods' accuracies in points, and its interval.

    Each method is the mean of its seeds. Both have the same test rows, which are drawn again with replacement.
    """
    gaps = 100.0 * (right_answers(ours, n_rows) - right_answers(theirs, n_rows))
    random = np.random.default_rng(0)
    means = np.empty(repeats)
    for i in range(repeats):
        means[i] = gaps[random.integers(n_rows, size=n_rows)].mean()
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(gaps.mean()), float(low), float(high)
