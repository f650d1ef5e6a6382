"""The base class of the feature maps."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from .._arrays import Array
from .kernels import check_domain, check_metric, gamma_scale

_DEFAULT_COMPONENTS = 100


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of the feature maps: validation, gamma and tags."""

    def transform(self, X: Any) -> Array:
        """Map rows; rows in float32 give features in float32."""
        return self.map(self._check_rows(X))

    def map(self, X: Any) -> Array:
        """Map rows without checking them."""
        raise NotImplementedError

    def _check_training_rows(self, X: Any) -> Any:
        """Validate parameters and training rows, and set `gamma_` and `metric_`."""
        self._validate_params()
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        check_domain(self.kernel, X)
        if hasattr(self, "gamma"):
            self.metric_ = None if self.metric is None else check_metric(self.metric, self.kernel, X.shape[1])
            given = self.gamma != "scale"
            self.gamma_ = float(self.gamma) if given else gamma_scale(X, self.kernel, metric=self.metric_)
        return X

    def gradient(self, X: Array, weights: Array) -> Array:
        """Return the gradients of weights_i.z(x) at rows x_i, dense and checked before, a row for each."""
        raise NotImplementedError

    def _check_rows(self, X: Any) -> Any:
        """Validate rows that are to be mapped."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32], reset=False)
        check_domain(self.kernel, X)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.positive_only = self.kernel in ("chi2", "intersection")
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
