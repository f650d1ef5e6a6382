"""Accuracy within a time: step curves, the area under them and where they cross."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np


@dataclass(frozen=True)
class Curve:
    """The best accuracy reached within t seconds: a step function, nothing (-inf) before its first time."""

    seconds: np.ndarray
    best: np.ndarray

    @classmethod
    def of(cls, seconds, accuracy):
        """Make the curve of settings that took so long and came so far."""
        order = np.argsort(seconds, kind="stable")
        return cls(np.asarray(seconds, dtype=float)[order], np.maximum.accumulate(np.asarray(accuracy, float)[order]))

    def at(self, t):
        """Return the best accuracy within t seconds."""
        place = int(np.searchsorted(self.seconds, t, side="right"))
        return float(self.best[place - 1]) if place else -np.inf


def area(curve, low, high):
    """Return the mean of the curve over log t from low to high: an average accuracy.

    nan where there is no such range, or where the curve begins inside it: nothing is known of it before.
    """
    if not low < high or curve.seconds[0] > low:
        return float("nan")
    inside = curve.seconds[(curve.seconds > low) & (curve.seconds < high)]
    edges = np.concatenate([[low], inside, [high]])
    values = [curve.at(t) for t in edges[:-1]]
    return float(np.dot(values, np.diff(np.log(edges))) / np.log(high / low))


def ranges(curves, ours):
    """Return where areas are compared: from, to, and the other choice of "to".

    From the time at which every method has something to show, so that none is charged for what it never claimed, to the
    time at which the largest of our settings ended: beyond it we have nothing more to say, and a rival that is still
    climbing shows in the crossings. The other choice ends where the first of the methods ends.
    """
    first = max(curve.seconds[0] for curve in curves.values())
    return first, curves[ours].seconds[-1], min(curve.seconds[-1] for curve in curves.values())


def crossings(curves, ours):
    """Return the stretches of time (from, to, method, lead) in which another method is ahead of ours.

    From the first time of any method to the last; a method keeps its best after its last. Where several are ahead the
    foremost is named, and `lead` is its largest lead in the stretch; it is inf in a stretch before ours has begun.
    """
    edges = np.unique(np.concatenate([curve.seconds for curve in curves.values()]))
    found = []
    for start, end in pairwise(edges):
        values = {name: curve.at(start) for name, curve in curves.items()}
        leader = max(values, key=lambda name: (values[name], name == ours))
        if leader == ours:
            continue
        lead = values[leader] - values[ours]
        goes_on = found and found[-1][1:3] == (start, leader) and np.isinf(found[-1][3]) == np.isinf(lead)
        if goes_on:
            found[-1] = (found[-1][0], float(end), leader, max(found[-1][3], lead))
        else:
            found.append((float(start), float(end), leader, lead))
    return found
