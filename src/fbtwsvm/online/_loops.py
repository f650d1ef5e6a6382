"""The compiled loops of a stream: learning row by row, and trust in the machines of a committee.

Near its own class b a row of weight w moves the planes by least squares, u_bk <- u_bk - w (h.u_bk) G_b^-1 h with the
new G_b; against every other class a whose plane it violates it takes one coordinate step, alpha = min(box, (1 + h.u_ab)
/ h'G_a^-1 h) and u_ab <- u_ab - alpha G_a^-1 h.  Duals of rows that came before stay until the next re-solve.
"""

from __future__ import annotations

import numpy as np

from .._arrays import compiled

ACCEPT = ("kkt", "inside", "outside", "all")
MEMBERSHIP = ("none", "printed", "fuzzy")


@compiled
def trust_rows(chances, labels, trust, slopes, rate):
    """Let the trust in each member follow its success, row by row; `trust` and `slopes` in place.

    `chances` (n, n_members, K) are log-chances before the row was learned, and sum_e trust_e chances_e those of the
    committee.  A step goes along the gradient of the log-likelihood, over its running root mean square.
    """
    n, n_members, n_classes = chances.shape
    together = np.empty(n_classes)
    for i in range(n):
        largest = -np.inf
        for k in range(n_classes):
            together[k] = 0.0
            for e in range(n_members):
                together[k] += trust[e] * chances[i, e, k]
            largest = max(largest, together[k])
        total = 0.0
        for k in range(n_classes):
            together[k] = np.exp(together[k] - largest)
            total += together[k]
        for e in range(n_members):
            gradient = chances[i, e, labels[i]]
            for k in range(n_classes):
                gradient -= together[k] / total * chances[i, e, k]
            slopes[e] += 0.001 * (gradient * gradient - slopes[e])
            trust[e] = max(0.0, trust[e] + rate * gradient / np.sqrt(slopes[e]))


@compiled
def _dot(left, right):
    """Inner product of two vectors."""
    total = left.dtype.type(0.0)
    for k in range(left.shape[0]):
        total += left[k] * right[k]
    return total


@compiled
def _whiten(root, row, zeta, pull):
    """Set zeta = R h and pull = R'zeta = G^-1 h; return ||zeta||^2."""
    pull[:] = 0.0
    square = 0.0
    for r in range(root.shape[0]):
        total = _dot(root[r], row)
        zeta[r] = total
        square += total * total
        for k in range(root.shape[1]):
            pull[k] += total * root[r, k]
    return square


@compiled
def _distance(row, total, count):
    """Squared distance of a row to the mean total / count."""
    square = 0.0
    for k in range(row.shape[0]):
        apart = row[k] - total[k] / count
        square += apart * apart
    return square


@compiled
def _share(own, other, nearest, farthest, mu, kind):
    """Membership of one row from its squared distances and those of the nearest and farthest row of its class."""
    if kind == 0 or farthest <= nearest:
        return 1.0
    largest = max(farthest, own) + 1e-10
    share = (mu if own >= other else 1.0 - mu) * (1.0 - np.sqrt(own / largest))
    if kind == 1:
        return share
    highest = max(mu, 1.0 - mu) * (1.0 - np.sqrt(min(nearest, own) / largest))
    return min(1.0, share / highest) if highest > 0.0 else 1.0


@compiled
def learn_rows(
    rows,
    labels,
    weights,
    factors,
    counts,
    sums,
    roots,
    ranks,
    planes,
    nearest,
    farthest,
    price,
    mu,
    kind,
    accept,
    bounds,
    solved,
    alive,
    all_statistics,
    every_value,
    values,
    box,
    alpha,
    accepted,
):
    """Learn rows one after another; `counts` to `planes` in place, and per row the last four.

    `factors` multiply the weights of each class in the problem, but not in the moments; `alive` are classes of which
    there is anything, `solved` the planes that have been solved.

    values    (n, K, K): plane values before the row was learned; unless `every_value`, those of its own class only
    box, alpha (n, K): bound and dual of the row in the plane near each other class
    accepted  (n,): whether the row passes the accept rule
    """
    n, n_classes = rows.shape[0], planes.shape[0]
    zeta, pull = np.empty(rows.shape[1], dtype=rows.dtype), np.empty(rows.shape[1], dtype=rows.dtype)
    for i in range(n):
        row, own = rows[i], labels[i]
        weight = weights[i] * factors[own]
        for a in range(n_classes):
            for b in range(n_classes):
                if a != b and (every_value or a == own or b == own):
                    values[i, a, b] = _dot(row, planes[a, b])
        own_distance = _distance(row, sums[own], counts[own]) if counts[own] > 0.0 else 0.0
        accepted[i] = accept == 3
        alone = True
        for a in range(n_classes):
            if a != own and alive[a]:
                alone = False
                other = _distance(row, sums[a], counts[a]) if kind > 0 and counts[a] > 0.0 else np.inf
                box[i, a] = price[a] * weight * _share(own_distance, other, nearest[own], farthest[own], mu, kind)
                grad = -values[i, a, own] - 1.0
                inside = bounds[a, own, 0] < grad < bounds[a, own, 1]
                passes = grad < 0.0 if accept == 0 else inside == (accept == 1)
                if passes or not solved[a, own]:  # a pair with a new class has no bounds yet
                    accepted[i] = True
        if alone and not all_statistics:
            accepted[i] = True  # else nothing would ever be summed
        for a in range(n_classes):
            if a != own and alive[a] and accepted[i] and values[i, a, own] > -1.0:
                square = _whiten(roots[a], row, zeta, pull)
                step = min(box[i, a], (1.0 + values[i, a, own]) / square)
                alpha[i, a] = step
                factor = rows.dtype.type(step)
                for k in range(pull.shape[0]):
                    planes[a, own, k] -= factor * pull[k]
        if accepted[i] or all_statistics:
            square = _whiten(roots[own], row, zeta, pull)
            grown = 1.0 + weight * square
            beta = rows.dtype.type((1.0 - 1.0 / np.sqrt(grown)) / square)
            root = roots[own]
            for r in range(root.shape[0]):
                factor = beta * zeta[r]
                for k in range(root.shape[1]):
                    root[r, k] -= factor * pull[k]
            for b in range(n_classes):
                if b != own:
                    factor = rows.dtype.type(weight / grown * values[i, own, b])
                    for k in range(pull.shape[0]):
                        planes[own, b, k] -= factor * pull[k]
            for k in range(row.shape[0]):
                sums[own, k] += weights[i] * row[k]
            counts[own] += weights[i]
            alive[own] = True
            ranks[own] += 1
