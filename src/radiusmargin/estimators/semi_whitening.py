"""Semi-whitened PCA, the initialisation of the F-SVM paper, as a transformer."""

from __future__ import annotations

from typing import Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import check_weights
from .._types import ArrayLike
from ..scatter import RANK_TOL, tempered_scatter
from .family import MetricTransformerMixin


class SemiWhitening(MetricTransformerMixin, BaseEstimator):
    """Scale the principal directions by the fourth root of their variances, half-way to whitening.

    ``z = R^{-1/4} D^{-1/2} (x - mean)`` with D the variances and R the correlations of the features: the metric ``M ~
    S^{-1/2}`` of the paper's Theorem 4. A linear SVM on z is ``FSVM(whitening=0.5)`` with the same C.

    Parameters
    ----------
    standardise : bool, default=True
        False uses the covariance instead of R, as the paper does; the result then depends on the units of the data.

    Attributes
    ----------
    mean_ : ndarray of shape (n_features,)
    components_ : ndarray of shape (n_components, n_features)
        The map L: square if the scatter has full rank, else one row per direction of its range. With standardised rows, directions
        of less than 1e-4 deviations are left out, as with `rank_tol` of `FSVM`.

    Notes
    -----
    The scale that the paper prints for its initial metric is inverted (erratum E3); a scale only rescales C, so
    none is applied here. See `radiusmargin.scatter.semi_whitening` for the corrected one.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 10.0], [1.0, 10.0]])
    >>> SemiWhitening().fit_transform(X).tolist()
    [[-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0], [1.0, 1.0]]
    """

    def __init__(self, *, standardise: bool = True):
        self.standardise = standardise

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Compute the map from the scatter of X; y is ignored."""
        rows = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        weight = check_weights(sample_weight, len(rows))
        rank_tol = RANK_TOL if self.standardise else 0.0  # columns may be small because of their units
        space = tempered_scatter(rows, sample_weight=weight, standardise=self.standardise, rank_tol=rank_tol)
        assert space.eigenvectors is not None  # they are asked for unless a diagonal is enough
        roots = space.eigenvectors * space.eigenvalues**-0.25
        L = roots @ space.eigenvectors.T if len(space.eigenvalues) == rows.shape[1] else roots.T
        self.mean_ = space.mean
        self.components_ = L * space.inverse_scale if len(L) else np.zeros((1, rows.shape[1]))
        return self

    def transform(self, X: ArrayLike) -> np.ndarray:
        """Map every row to ``L (x - mean)``."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        return (rows - self.mean_) @ self.components_.T
