"""For models that learn a metric: its root as a transformation of the features."""

from __future__ import annotations

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._types import Data
from ..geometry.powers import with_positive_pivots
from .chunkwise import chunkwise

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


def _in_directions(white, A):
    """``U'A`` for the left singular vectors U of `white` that are not rounding; of many rows these are not formed."""
    if len(white) <= white.shape[1]:
        left, sizes, _ = np.linalg.svd(white, full_matrices=False)
        return left[:, sizes**2 > RANK * sizes[0] ** 2].T @ A
    squares, axes = np.linalg.eigh(white.T @ white)
    kept = squares > RANK * squares[-1]
    return (axes[:, kept] / np.sqrt(squares[kept])).T @ (white.T @ A)


def metric_root(A, white=None):
    """The unique L with ``L'L = A'A``: symmetric where it has full rank, else scaled eigenvectors of ``A'A``.

    Directions that A has for rounding only are told from `white`, the same rows in coordinates in which the data have no
    thin direction; without it all of them are there. The sign of a vector is that which makes its largest entry positive.
    """
    if white is not None:
        A = _in_directions(white, A)
    if not A.any():
        return np.zeros((1, A.shape[1]))
    if len(A) == 1 < A.shape[1]:
        return with_positive_pivots(A)
    _, roots, axes = np.linalg.svd(A, full_matrices=False)
    if len(roots) == A.shape[1]:
        return (axes.T * roots) @ axes
    return with_positive_pivots(axes) * roots[:, None]
