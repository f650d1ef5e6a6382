"""Linear algebra of several planes at once, with the Gram matrices of the classes that they are near.

Here, the planes are worked on in threads.  On a device, small matrices of several planes are factored and solved in one
call, because each call takes longer to start than to run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from .._arrays import Array
from .._linalg import at_once, lower_factor, solve_lower
from .._namespace import is_foreign, like, namespace, rows_at, to_numpy

Each = Callable[[Callable[[Any], Any], Any], list[Any]]


class PlaneAlgebra:
    """Products and systems with G_a, the Gram matrix of class a plus its ridge, and with Hessians of planes near a.

    `near` are the classes whose Gram matrices are factored, `each` calls a function on several items, in threads.
    Vectors are the rows of an array (m, D), one for each of m planes; `near` of a method are the classes of these.
    """

    def __init__(self, grams: Sequence[Array], reg: Array, near: Sequence[int], each: Each) -> None:
        self._grams, self._reg, self._each = grams, reg, each
        self._factors = dict(zip(near, each(self._gram_factor, near), strict=True))
        together = is_foreign(grams[0]) and at_once(grams[0].shape[0])
        self._stacked = namespace(grams[0]).stack(list(grams)) if together else None

    def _gram_factor(self, a: int) -> Array:
        message = (
            f"The Gram matrix of class number {a} plus reg={self._reg[a]:g} is not positive definite, because of "
            "rounding: raise reg, take fewer features, or give float64 rows (on a GPU with precision='highest')."
        )
        return lower_factor(self._grams[a], message, ridges=(float(self._reg[a]),))

    def times_gram(self, near: Array, vectors: Array) -> Array:
        """Return G_a v for each vector."""
        return self._by_near(lambda a, v: v @ self._grams[a] + float(self._reg[a]) * v, near, vectors)

    def whiten(self, near: Array, vectors: Array) -> Array:
        """Return L^-1 v for each vector, with the factor L of G_a."""
        return self._by_near(lambda a, v: solve_lower(self._factors[a], v.T).T, near, vectors)

    def _by_near(self, function: Callable[[int, Array], Array], near: Array, vectors: Array) -> Array:
        """Call a function on the vectors of each near class together."""
        places = [(int(a), np.flatnonzero(near == a)) for a in np.unique(near)]
        found = self._each(lambda pair: function(pair[0], rows_at(vectors, pair[1])), places)
        back = np.argsort(np.concatenate([own for _, own in places]))
        joined: Array = rows_at(namespace(vectors).concat(found, axis=0), back)
        return joined

    def hessian_factors(self, near: Array, curvature: Sequence[Array]) -> Sequence[Array]:
        """Return the Cholesky factors of G_a + curvature of each plane.

        If rounding errors make a Hessian indefinite, they are added to its diagonal: a Newton step is then a little
        shorter.  The gap does not depend on these factors.
        """
        message = "A Hessian is not positive definite: raise reg, or give float64 rows."
        if self._stacked is None:
            pairs = list(zip(near, curvature, strict=True))
            return self._each(lambda pair: self._hessian_factor(pair[0], pair[1], message), pairs)
        xp = namespace(self._stacked)
        sums = xp.stack(list(curvature))
        ridge = like(self._reg[near], sums, np.float64)[:, None, None]
        traces = xp.linalg.trace(sums)[:, None, None]
        ridges = [ridge + times * _ROUNDING * traces for times in _TIMES]
        return cast(Sequence[Array], lower_factor(rows_at(self._stacked, near) + sums, message, ridges))

    def _hessian_factor(self, a: int, curvature: Array, message: str) -> Array:
        rounding = _ROUNDING * float(namespace(curvature).linalg.trace(curvature))
        ridges = [float(self._reg[a]) + times * rounding for times in _TIMES]
        return lower_factor(self._grams[a] + curvature, message, ridges)

    def solve(self, factors: Sequence[Array], vectors: Array, *, transposed: bool = False) -> Array:
        """Return L^-1 v for each vector and the factor of its plane, or L'^-1 v if `transposed`."""
        if self._stacked is not None:
            solved: Array = solve_lower(factors, vectors, transposed=transposed)
            return solved
        places = range(vectors.shape[0])
        found = self._each(lambda i: solve_lower(factors[i], vectors[i, :], transposed=transposed), places)
        return namespace(vectors).stack(found)  # type: ignore[no-any-return]


_ROUNDING = float(np.finfo(np.float32).eps)  # of a sum of products, relative to its trace
_TIMES = (0.0, 1.0, 32.0, 1024.0)  # so many times as much is added to the diagonal of a Hessian, if less does not help


def dots(one: Array, other: Array) -> Array:
    """Return the inner products of the rows of two arrays, as an array of NumPy."""
    return to_numpy(namespace(one).sum(one * other, axis=1))
