"""The target column: whether it holds classes, or quantities that a regression would predict."""

from __future__ import annotations

from typing import Any

import numpy as np

from .sources.base import DataError
from .values import as_numbers

_FEW, _MANY = 5, 20  # different numbers: up to five are always classes


def check_target(name: str, values: Any) -> None:
    """Refuse a column of quantities, as `fit` refuses continuous labels.

    Fractions are quantities when there are many different ones or they hardly repeat, whole numbers when both holds.
    """
    numbers = as_numbers(values)
    if numbers is None:
        return
    numbers = numbers[~np.isnan(numbers)]
    different = np.unique(numbers)
    hardly_repeat = len(different) > len(numbers) / 2
    whole = bool((different == np.floor(different)).all())
    many = len(different) > _MANY
    if len(different) > _FEW and ((many and hardly_repeat) if whole else (many or hardly_repeat)):
        raise DataError(
            f"The target column {name!r} holds {len(different):,} different numbers in {len(numbers):,} rows: this "
            "looks like regression, and a classifier learns classes. Name another column with --target, put the "
            f"numbers into groups such as low and high, or add --categorical {name} if each number is a class."
        )
