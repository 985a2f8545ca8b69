"""PCA of image features, with missing values filled and blocks of features brought to the same size."""

from __future__ import annotations

from itertools import pairwise
from numbers import Integral

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["ImageProjection"]


class ImageProjection(TransformerMixin, BaseEstimator):
    """Principal components of images: everything is learned from the rows given to `fit`.

    Missing values take the mean of their column; every block of columns is divided by the root of its total variance,
    so that 73 attributes weigh as much as thousands of SIFT numbers; then PCA.

    Parameters
    ----------
    n_components : int, default=100
        As many as the rows and columns allow, if they allow no more. The first k columns are the projection on k.
    blocks : sequence of int or None, default=None
        Widths of the blocks; None is one block.
    random_state : int, RandomState or None, default=0
        Of the randomised PCA, used where there are many features.

    Attributes
    ----------
    mean_, scale_ : ndarray of shape (n_features,)
    n_components_ : int
    pca_ : PCA
    n_images_ : int
        Rows that were seen by `fit`.

    Examples
    --------
    >>> rows = np.array([[0.0, 5.0, np.nan], [2.0, 1.0, 1.0], [4.0, 3.0, 2.0]])
    >>> ImageProjection(2, blocks=[1, 2]).fit(rows).transform(rows).shape
    (3, 2)
    """

    def __init__(self, n_components=100, *, blocks=None, random_state=0):
        self.n_components = n_components
        self.blocks = blocks
        self.random_state = random_state

    def fit(self, X, y=None):
        """Learn means, block scales and components."""
        if not isinstance(self.n_components, Integral) or self.n_components < 1:
            raise ValueError(f"n_components must be a positive integer, got {self.n_components!r}.")
        X = self._checked(X, reset=True)
        missing = np.isnan(X).all(axis=0)
        if missing.any():
            raise ValueError(f"{int(missing.sum())} features are missing on every image, the first is column "
                             f"{int(np.argmax(missing))}.")  # fmt: skip
        self.mean_ = np.nanmean(X, axis=0, dtype=np.float64).astype(X.dtype)
        centred = self._centred(X)
        self.scale_ = self._block_scale(centred)
        self.n_components_ = min(int(self.n_components), *X.shape)
        self.pca_ = PCA(self.n_components_, random_state=self.random_state).fit(centred / self.scale_)
        self.n_images_ = len(X)
        return self

    def transform(self, X):
        """The components of every image, largest variance first."""
        check_is_fitted(self, "pca_")
        return self.pca_.transform(self._centred(self._checked(X, reset=False)) / self.scale_)

    def _checked(self, X, reset):
        return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan",
                             ensure_min_samples=2 if reset else 1)  # fmt: skip

    def _centred(self, X):
        return np.nan_to_num(X - self.mean_, nan=0.0)

    def _block_scale(self, centred):
        widths = [centred.shape[1]] if self.blocks is None else [int(width) for width in self.blocks]
        if sum(widths) != centred.shape[1]:
            raise ValueError(f"blocks must add up to the {centred.shape[1]} features, got {widths}.")
        edges = np.concatenate([[0], np.cumsum(widths)])
        variance = np.einsum("ij,ij->j", centred, centred, dtype=np.float64) / len(centred)
        sizes = [np.sqrt(variance[a:b].sum()) or 1.0 for a, b in pairwise(edges)]
        return np.repeat(sizes, widths).astype(centred.dtype)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
