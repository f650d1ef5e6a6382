"""Accuracy of fits on a GPU beside those on the processor, with the same map; beside two learners of Torch."""

import time
from itertools import pairwise

import numpy as np
import torch

from benchmarks.gpu.base import device, header, made_rows, wait
from benchmarks.gpu.speed import model
from benchmarks.harness.data import gamma_scale, load, load_stream
from benchmarks.harness.table import progress, table
from fbtwsvm import FBTWSVM

# data: features
SETS = {"mnist": 1000, "covtype": 300, "letter": 300, "SEA_1M": 300}


def split(name, quick):
    """Return training and test rows: the given ones, or a fifth of a stream (250,000 rows of covtype), scaled."""
    if name in ("mnist", "letter"):
        X, y, X_test, y_test = load(name, scaled=True)
        return (X[:25_000], y[:25_000], X_test, y_test) if quick else (X, y, X_test, y_test)
    X, y = load_stream(name, 40_000 if quick else 250_000 if name == "covtype" else None)
    X = ((X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-6)).astype(np.float32)
    order = np.random.default_rng(0).permutation(len(y))
    test, train = order[::5], np.delete(order, np.s_[::5])
    return X[train], y[train], X[test], y[test]


def run(plan):
    header()
    lines = []
    for name in plan.names or SETS:
        progress(name)
        X, y, X_test, y_test = split(name, plan.quick)
        features = 50 if plan.quick else SETS[name]
        given = {"feature_map": "fourier", "gamma": gamma_scale(X[:20_000]), "n_components": features}
        given |= {"metric": "none", "random_state": 0}
        here, spent = timed(FBTWSVM(**given).fit, X, y)
        if not lines:
            timed(FBTWSVM(device=device(), **given).fit, X, y)  # warm-up
        there, spent_there = timed(FBTWSVM(device=device(), **given).fit, X, y)
        own, other = (100 * one.set_params(device=None).score(X_test, y_test) for one in (here, there))
        on_device = there.set_params(device=device()).predict(X_test)
        same = 100 * np.mean(there.set_params(device=None).predict(X_test) == on_device)
        cells = (f"{len(y):,}", features, f"{own:.2f}", f"{other:.2f}", f"{other - own:+.2f}")
        lines.append((name, *cells, f"{same:.3f}", f"{spent:.1f}", f"{spent_there:.2f}"))
    heads = (
        "data", "rows", "features", "accuracy here", "on the GPU", "difference", "equal answers of GPU's model, %",
        "s here", "s on the GPU",
    )  # fmt: skip
    table(heads, lines, "The same map on the processor and on the GPU")


def large(plan):
    """Print accuracy and seconds on mnist with 10,000 features."""
    header()
    X, y, X_test, y_test = split("mnist", plan.quick)
    features = 100 if plan.quick else 10_000
    # Chosen by cross-validation on 16,000 training rows with 2,000 features; reg grows with the rows of a class.
    given = {"feature_map": "nystroem", "gamma": 0.02, "reg": 0.1, "metric": "none", "n_components": features}
    given |= {"random_state": 0}
    fitted, spent = timed(FBTWSVM(device=device(), **given).fit, X, y)
    hits, gap = 100 * fitted.score(X_test, y_test), fitted.duality_gap_.max()
    table(
        ("features", "classes", "fit, s", "largest gap", "accuracy"),
        [(f"{features:,}", 10, f"{spent:.1f}", f"{gap:.1e}", f"{hits:.2f}")],
        "mnist",
    )


def timed(function, *arguments):
    wait()
    begin = time.perf_counter()
    result = function(*arguments)
    wait()
    return result, time.perf_counter() - begin


def peers(plan):
    """Print accuracy at equal seconds beside logistic regression and a net with two layers, on the raw columns."""
    header()
    n, features = (40_000, 50) if plan.quick else (5_000_000, 2000)
    X, y, best = made_rows(n)
    X_test, y_test, _ = made_rows(n // 10, seed=1000)
    model(features).fit(X, y)
    fitted, spent = timed(model(features).fit, X, y)
    lines = [("FBTWSVM", f"{spent:.2f}", f"{100 * fitted.score(X_test, y_test):.2f}")]
    del fitted
    for times in (1, 4):
        for name, hidden in (("logistic regression", ()), ("two layers of 256", (256, 256))):
            progress(name)
            train(X, y, hidden, 0.05)  # warm-up
            net, took = train(X, y, hidden, times * spent)
            with torch.no_grad():
                hits = 100 * float(((net(X_test)[:, 0] > 0) == (y_test == 1)).float().mean())
            lines.append((name, f"{took:.2f}", f"{hits:.2f}"))
    table(("learner", "s", "accuracy"), lines, f"{n:,} rows, equal seconds (best accuracy possible: {100 * best:.2f})")


def train(X, y, hidden, limit):
    """Train a net with Adam on batches of 16,384 rows for so many seconds, the step size falling to zero."""
    torch.manual_seed(0)
    sizes = (X.shape[1], *hidden, 1)
    layers = []
    for one, other in pairwise(sizes):
        layers += [torch.nn.Linear(one, other, device=X.device), torch.nn.ReLU()]
    net = torch.nn.Sequential(*layers[:-1])
    optimiser = torch.optim.Adam(net.parameters(), lr=1e-2 if not hidden else 3e-3)
    first, targets = [group["lr"] for group in optimiser.param_groups], y.float()
    wait()
    begin = time.perf_counter()
    while (spent := time.perf_counter() - begin) < limit:
        for group, rate in zip(optimiser.param_groups, first, strict=True):
            group["lr"] = rate * (1 - spent / limit)
        start = int(torch.randint(0, max(1, len(X) - 16_384), (1,)))
        part = slice(start, start + 16_384)
        loss = torch.nn.functional.binary_cross_entropy_with_logits(net(X[part])[:, 0], targets[part])
        optimiser.zero_grad(set_to_none=True)
        loss.backward()
        optimiser.step()
        wait()
    return net, time.perf_counter() - begin
