"""Images as numbers without gaps: missing values filled, centred, and, where it is wanted, principal components."""

from __future__ import annotations

from numbers import Integral
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA
from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = ["ImageProjection"]

#: Up to so many features PCA takes the eigenvectors of their covariance, beyond it random projections, whose second power
#: iteration is the last that the accuracies of view 1 noticed.
FEW_FEATURES, POWER = 1000, 2


class ImageProjection(TransformerMixin, BaseEstimator):
    """Principal components of images: everything is learned from the rows given to `fit`.

    Missing values take the mean of their column.

    Parameters
    ----------
    n_components : int or None, default=100
        As many as the rows and columns allow, if they allow no more. None does not rotate: features that mean something
        one by one, such as attributes, lose by it when pairs are compared feature by feature.
    random_state : int, RandomState or None, default=0
        Of the randomised PCA, used where there are many features.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    pca_ : PCA or None

    Examples
    --------
    >>> rows = np.array([[0.0, 5.0, np.nan], [2.0, 1.0, 1.0], [4.0, 3.0, 2.0]])
    >>> ImageProjection(2).fit(rows).transform(rows).shape
    (3, 2)
    >>> ImageProjection(None).fit(rows).transform(rows)[0]
    array([-2.,  2.,  0.])
    """

    def __init__(self, n_components: int | None = 100, *, random_state: int | None = 0):
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: None = None) -> Self:
        """Learn means and components."""
        k = self.n_components
        if k is not None and (not isinstance(k, Integral) or k < 1):
            raise ValueError(f"n_components must be a positive integer or None, got {k!r}.")
        X = self._checked(X, reset=True)
        missing = np.isnan(X).all(axis=0)
        if missing.any():
            raise ValueError(f"{int(missing.sum())} features are missing on every image, the first is column "
                             f"{int(np.argmax(missing))}.")  # fmt: skip
        self.mean_ = np.nanmean(X, axis=0, dtype=np.float64).astype(X.dtype)
        self.pca_ = None
        if k is not None:
            solver = "covariance_eigh" if X.shape[1] <= FEW_FEATURES else "randomized"
            pca = PCA(min(int(k), *X.shape), svd_solver=solver, iterated_power=POWER, random_state=self.random_state)
            self.pca_ = pca.fit(self._centred(X))
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """The components of every image, largest variance first, or the centred features."""
        check_is_fitted(self, "mean_")
        centred = self._centred(self._checked(X, reset=False))
        return centred if self.pca_ is None else self.pca_.transform(centred)

    def _checked(self, X, reset):
        return validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan",
                             ensure_min_samples=2 if reset else 1)  # fmt: skip

    def _centred(self, X):
        centred = X - self.mean_
        np.copyto(centred, 0, where=np.isnan(centred))
        return centred

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
