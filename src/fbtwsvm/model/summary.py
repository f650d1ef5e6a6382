"""What was chosen and learned, in a few words: the line above a fitted model in a notebook."""

from __future__ import annotations

from contextvars import ContextVar
from html import escape
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import estimator_html_repr

from ..features.exact import ExactKernel
from ..features.fourier import FourierFeatures
from ..features.nystroem import NystroemFeatures

_MAPS = {ExactKernel: "exact kernel", FourierFeatures: "Fourier features", NystroemFeatures: "Nystroem landmarks"}
_STAGES = {"batch": "{:,} support rows", "warm_up": "a stream in its warm-up", "stream": "a stream, {:,} rows kept"}
_NAMED = 3  # columns with the largest factors
_IN_VIEW: ContextVar[bool] = ContextVar("in_view", default=False)  # whether a notebook's view is made


def summary(model: Any, names: Any = None) -> dict[str, str]:
    """Return what a fitted FBTWSVM has chosen: rows, kernel, features, metric.

    Parameters
    ----------
    model : FBTWSVM
        A fitted model.
    names : sequence of str, default=None
        Names of its columns, the same for several columns made of one; those that it knows, or numbers from 0 on, if
        None.
    """
    inside, gamma = model.inspect(), model.gamma_
    mapping, count = model._model.mapping, len(model.classes_)
    classes = f"{count} classes" if count > 1 else "one class"
    found = {"rows": f"{inside.seen:,} of {classes} ({_STAGES[inside.stage].format(inside.kept)})"}
    kernel = getattr(mapping.transformer, "kernel", model.kernel)  # the parameter may have been set anew since the fit
    kernel = kernel if isinstance(kernel, str) else "of your own"
    found["kernel"] = kernel if gamma is None else f"{kernel}, gamma = {gamma:.4g}"
    kind = _MAPS.get(type(mapping.transformer), "the columns" if mapping.transformer is None else "")
    kind = kind or type(mapping.transformer).__name__
    found["features"] = f"{model.n_components_:,} ({kind})"
    if mapping.metric is None:
        found["metric"] = "none: all columns count alike"
    else:
        names = getattr(model, "feature_names_in_", None) if names is None else names
        order = np.argsort(-mapping.metric, kind="stable")
        named = dict.fromkeys(str(column if names is None else names[column]) for column in order)
        most = ", ".join(list(named)[:_NAMED])
        rounds = "1 round" if model.n_rounds_ == 1 else f"{model.n_rounds_} rounds"
        origin = f"learned in {rounds}" if model.n_rounds_ else "given"
        found["metric"] = f"{origin}; largest factors: columns {most}"
    return found


class Summarised(BaseEstimator):
    """An estimator that a notebook shows with a summary above scikit-learn's own view.

    That view, and dir(), read all attributes; those that are computed when they are read are left alone.
    """

    _computed: ClassVar[tuple[str, ...]] = ("feature_importances_",)
    _computed_from: ClassVar[str] = "classes_"

    def __dir__(self) -> list[str]:
        """Return the names of all attributes; computed ones only if there is what they come from."""
        names = [name for name in object.__dir__(self) if name not in self._computed and hasattr(self, name)]
        return [*names, *(self._computed if hasattr(self, self._computed_from) and not _IN_VIEW.get() else ())]

    def _get_fitted_attr_html(self, *arguments: Any, **named: Any) -> Any:
        """Show what costs nothing; scikit-learn calls this."""
        before = _IN_VIEW.set(True)
        try:
            return super()._get_fitted_attr_html(*arguments, **named)
        finally:
            _IN_VIEW.reset(before)

    def _summary(self) -> dict[str, str]:
        """Return what was chosen and learned; nothing before a fit."""
        raise NotImplementedError

    def _html_repr(self) -> str:
        found = " &nbsp;·&nbsp; ".join(
            f"<b>{escape(name)}</b> {escape(text)}" for name, text in self._summary().items()
        )
        line = f'<div class="fbtwsvm-summary" style="margin: 0.3em 0; font-size: 90%">{found}</div>' if found else ""
        return line + cast(str, estimator_html_repr(self))
