"""Estimators that take tables with categories, dates and gaps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .._checks import is_plain_matrix
from ..tables import TableEncoder
from ..tables.table_encoder import is_numeric, numbers_with_gaps

#: Names, positions or a mask of columns.
CategoricalFeatures = str | Sequence | None


class TakesTables:
    """Mixin for a `MarginEstimator`: encode the columns of a table on the way to `fit` and `predict`.

    `encoder_` is set if the training rows needed one: columns that are not numbers, gaps, or `categorical_features`. It learns
    from all training rows, but not from their labels, like the scaling of the kernels. Without it rows are numbers already, and
    gaps of later rows become the mean of their column, `_means`.
    """

    categorical_features: CategoricalFeatures = "from_dtype"

    def _validated_both(self, X, y):
        if not self._needs_encoder(X):
            X, y = super()._validated_both(X, y)
            self._means = None if sparse.issparse(X) or self._takes_kernel_values else X.mean(axis=0)
            return X, y
        encoder = TableEncoder(categorical_features=self.categorical_features).fit(X)
        X, y = super()._validated_both(encoder.transform(X), y)
        self.encoder_, self.n_features_in_ = encoder, encoder.n_features_in_
        names = getattr(encoder, "feature_names_in_", ())
        if len(names) and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = names
        return X, y

    def _check_training(self, X, y, sample_weight):
        training = super()._check_training(X, y, sample_weight)
        groups = self.encoder_.indicator_groups if hasattr(self, "encoder_") else np.empty(0)
        return replace(training, groups=groups) if (groups >= 0).any() else training

    def _needs_encoder(self, X):
        if self._takes_kernel_values or sparse.issparse(X):
            return False
        chosen = self.categorical_features
        if not (chosen is None or isinstance(chosen, str) or len(chosen) == 0):
            return True
        return not (is_plain_matrix(X) or is_numeric(X))

    def _validated(self, X):
        check_is_fitted(self)
        encoder = getattr(self, "encoder_", None)
        if encoder is None and (self._means is None or sparse.issparse(X) or is_numeric(X)):
            return super()._validated(X)
        validate_data(self, X, reset=False, skip_check_array=True)  # names and number of columns
        if encoder is not None:
            return encoder.transform(X)
        X = numbers_with_gaps(X)
        return check_array(np.where(np.isnan(X), self._means, X), input_name="X", estimator=self)

    @property
    def _takes_kernel_values(self):
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = not self._takes_kernel_values
        return tags
