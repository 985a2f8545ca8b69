"""For models that learn a metric: its root as a transformation of the features."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._linalg import eigh, svd
from .._types import Data
from ..geometry.powers import with_positive_pivots
from ..outofcore.chunkwise import chunkwise

RANK = 1e-9  # relative size of a squared singular value that is rounding


class MetricTransformerMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """For models that learn a metric M: `components_` is L with ``M = L'L``."""

    @chunkwise
    def transform(self, X: Data) -> np.ndarray:
        """``L x`` for every row: Euclidean distances there are distances in the learned metric."""
        X = self._validated(X)
        return self._model.space.scores(X, self.components_)

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """The learned metric M = L'L."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def metric_root(A, white=None):
    """The unique L with ``L'L = A'A``: symmetric where it has full rank, else scaled eigenvectors of ``A'A``.

    Directions that A has for rounding only are told from `white`, the same rows in coordinates in which the data have no
    thin direction; without it all of them are there. The sign of a vector is that which makes its largest entry positive.
    """
    if white is None:
        return _root(A)
    if len(white) > white.shape[1]:
        return metric_root_of_blocks([(A, white)])
    left, sizes, _ = svd(white, full_matrices=False)
    return _root(left[:, sizes**2 > RANK * sizes[0] ** 2].T @ A)


def metric_root_of_blocks(blocks):
    """The same for many rows, of which there are blocks (A, white): left singular vectors are not formed."""
    squares = products = 0.0
    for A, white in blocks:
        squares, products = squares + white.T @ white, products + white.T @ A
    values, axes = eigh(squares)
    kept = values > RANK * values[-1]
    return _root((axes[:, kept] / np.sqrt(values[kept])).T @ products)


def _root(A):
    if not A.any():
        return np.zeros((1, A.shape[1]))
    if len(A) == 1 < A.shape[1]:
        return with_positive_pivots(A)
    _, roots, axes = svd(A, full_matrices=False)
    if len(roots) == A.shape[1]:
        return (axes.T * roots) @ axes
    return with_positive_pivots(axes) * roots[:, None]
