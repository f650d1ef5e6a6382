"""Seconds of fit, predict and partial_fit on a GPU, beside the least work possible: the map and the Gram matrices."""

from copy import copy

import numpy as np
import torch

from benchmarks.gpu.base import GAMMA, device, header, made_rows, seconds, shown
from benchmarks.harness.table import progress, table
from fbtwsvm import FBTWSVM
from fbtwsvm.classifier import model_of
from fbtwsvm.device.home import DeviceHome
from fbtwsvm.device.rows import arrange_on_device
from fbtwsvm.device.solve import class_sums


def model(n_components=2000, **parameters):
    return FBTWSVM(feature_map="fourier", gamma=GAMMA, n_components=n_components, random_state=0, **parameters)


def floor(fitted, X, y, precision):
    """Map all rows and add up the Gram matrices, with the map of a fitted model."""
    rows = arrange_on_device(X, y, None, None, X[:0])
    home = DeviceHome(rows, model_of(fitted).mapping, precision)
    home.hold()
    return class_sums(home)


def run(plan):
    header()
    n, features = (40_000, 50) if plan.quick else (5_000_000, 2000)
    repeats = plan.repeats or 3
    X, y, best = made_rows(n)
    X_new, y_new, _ = made_rows(n // 10, seed=1000)
    lines = []
    for precision in ("high", "highest"):
        progress(f"fit, {precision}")
        spent, fitted = seconds(lambda p=precision: model(features, precision=p).fit(X, y), repeats)
        least, _ = seconds(lambda p=precision, f=fitted: floor(f, X, y, p), repeats)
        gap, hits = fitted.duality_gap_.max(), 100 * fitted.score(X_new, y_new)
        lines.append(("rows on the card", precision, shown(spent), shown(least), f"{gap:.1e}", f"{hits:.2f}"))
        if precision == "high":
            kept = fitted
    progress("fit from host memory")
    here, labels = X.cpu().numpy(), y.cpu().numpy()
    spent, fitted = seconds(lambda: model(features, device=device()).fit(here, labels), repeats)
    gap, hits = fitted.duality_gap_.max(), 100 * fitted.score(X_new.cpu().numpy(), y_new.cpu().numpy())
    lines.append(("rows in host memory", "high", shown(spent), "", f"{gap:.1e}", f"{hits:.2f}"))
    heads = ("rows", "precision", "fit, s", "map and Gram, s", "largest gap", "accuracy")
    table(heads, lines, f"{n:,} rows x {X.shape[1]}, {features:,} features (best accuracy possible: {100 * best:.2f})")
    lines = []
    progress("predict and partial_fit")
    spent, there = seconds(lambda: kept.predict(X), repeats)
    lines.append(("predict", f"{n:,}", shown(spent), f"{n / min(spent) / 1e6:.1f} million rows/s"))
    some = slice(0, min(n, 200_000))
    same = np.mean(kept.predict(here[some]) == there[some].cpu().numpy())
    lines.append(("equal answers of GPU and CPU", f"{some.stop:,}", "", f"{100 * same:.3f} %"))
    more, more_labels, _ = made_rows(n // 5, seed=2000)
    spent, updated = seconds(lambda: copy(kept).partial_fit(more, more_labels), repeats)
    gap, hits = updated.duality_gap_.max(), 100 * updated.score(X_new, y_new)
    lines.append(("partial_fit", f"{n // 5:,}", shown(spent), f"largest gap {gap:.1e}, accuracy {hits:.2f}"))
    table(("what", "rows", "s", ""), lines, "Answers and updates")


def fit_of(n, features, repeats):
    """Return the seconds of fits of n made-up rows, and the last model."""
    X, y, _ = made_rows(n)
    return seconds(lambda: model(features).fit(X, y), repeats)


def growth(plan):
    """Print seconds of fit against rows, up to so many that they do not fit mapped."""
    header()
    features, sizes = (50, (25_000, 50_000)) if plan.quick else (2000, (5_000_000, 25_000_000, 50_000_000))
    lines = []
    for n in sizes:
        progress(f"{n:,} rows")
        spent, fitted = fit_of(n, features, 1 if n > 10_000_000 else plan.repeats or 2)
        mapped = n * 2 * features / 2**30
        per = min(spent) / n * 1e6
        lines.append((f"{n:,}", f"{mapped:.0f}", shown(spent), f"{per:.3f}", f"{fitted.duality_gap_.max():.1e}"))
        del fitted
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
    heads = ("rows", "mapped, GiB", "fit, s", "s for a million rows", "largest gap")
    table(heads, lines, f"Growth: {features:,} features, bf16")
