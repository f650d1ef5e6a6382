"""What is computed from the results of jobs: means over seeds, their words, and the significance of a difference."""

import numpy as np

from benchmarks.harness.table import mean_sd as sample_mean_sd


def values(results, key="accuracy"):
    return [row[key] for row in results if row["status"] == "ok" and row.get(key) is not None]


def mean(results, key="accuracy"):
    found = values(results, key)
    return float(np.mean(found)) if found else None


def mean_sd(results, key="accuracy"):
    """Return "mean +- sd" over seeds, with their number if some are missing, or why there is none."""
    found = values(results, key)
    problem = next((row["status"] for row in results if row["status"] != "ok"), "")
    if not found:
        return problem or "-"
    return sample_mean_sd(found) + (f", n = {len(found)}" if problem else "")


def best_mean_sd(results):
    found = values(results)
    return f"{max(found):.2f} / {mean_sd(results)}" if found else mean_sd(results)


def count(value):
    """Return a count in the paper's short form, 1.3k or 455k."""
    if value is None:
        return "-"
    if value >= 999_500:
        return f"{value / 1e6:.1f}M"
    return f"{value:.0f}" if value < 1000 else f"{value / 1000:.1f}k" if value < 10_000 else f"{value / 1000:.0f}k"


def right_answers(results, n_rows):
    """Return for each test row the share of seeds that had it right."""
    packed = [np.frombuffer(bytes.fromhex(text[1:]), np.uint8) for text in values(results, "right")]
    return np.mean([np.unpackbits(bits)[:n_rows] for bits in packed], axis=0)


def difference(ours, theirs, n_rows, *, repeats=4000):
    """Return the difference of two methods' accuracies in points and its 95 % interval: a paired bootstrap.

    Each method is the mean of its seeds. Both have the same test rows, which are drawn again with replacement.
    """
    gaps = 100.0 * (right_answers(ours, n_rows) - right_answers(theirs, n_rows))
    random = np.random.default_rng(0)
    means = [gaps[random.integers(n_rows, size=n_rows)].mean() for _ in range(repeats)]
    return gaps.mean(), *np.quantile(means, [0.025, 0.975])
