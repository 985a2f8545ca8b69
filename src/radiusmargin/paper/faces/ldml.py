"""Logistic discriminant metric learning: M. Guillaumin, J. Verbeek, C. Schmid, "Is that you?", ICCV 2009."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted, validate_data

from .features import check_same

__all__ = ["LDML"]


class LDML(ClassifierMixin, BaseEstimator):
    """A metric M such that ``b - (x - y)'M(x - y)`` is the log-odds of "same person".

    Minimises ``mean log(1 + exp(-s (b - d'Md))) + ridge/2 |M|_F^2`` over b and positive semi-definite M, for the
    differences d of pairs, divided by their root mean square, and s = +1 for the same person, -1 for two. The problem is
    convex in M; it is solved by L-BFGS over a square L with M = L'L, which has no other local minima where L has full
    rank.

    Parameters
    ----------
    ridge : float, default=1e-2
    tol : float, default=1e-6
        On the largest entry of the gradient.
    max_iter : int, default=1000

    Attributes
    ----------
    components_ : ndarray of shape (n_features, n_features)
        L, in the units of the data.
    intercept_ : float
        b.
    objective_ : float
    n_iter_ : int
    classes_ : ndarray of shape (2,)

    Examples
    --------
    >>> from radiusmargin.paper.faces import LDML, PairVerifier, make_pairs
    >>> task = make_pairs(random_state=0)
    >>> train = task.folds > 0
    >>> verifier = PairVerifier(LDML(), features="signed", table=task.table).fit(task.pairs[train], task.y[train])
    >>> bool(verifier.score(task.pairs[~train], task.y[~train]) > 0.8)
    True
    """

    def __init__(self, ridge: float = 1e-2, *, tol: float = 1e-6, max_iter: int = 1000):
        self.ridge = ridge
        self.tol = tol
        self.max_iter = max_iter

    def fit(self, D: ArrayLike, y: ArrayLike) -> Self:
        """Learn from differences of pairs (`PairFeatures("signed")`) and their labels."""
        if not isinstance(self.ridge, Real) or not self.ridge >= 0:
            raise ValueError(f"ridge must be a number of at least 0, got {self.ridge!r}.")
        D = validate_data(self, D, dtype=np.float64)
        same = check_same(y, len(D))
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError("LDML needs pairs of the same person and pairs of two; y holds one kind only.")
        d = D.shape[1]
        unit = np.sqrt(np.mean(D**2)) or 1.0
        start = np.append(np.eye(d).ravel() / np.sqrt(d), 1.0)
        found = minimize(
            _objective, start, (D / unit, np.where(same, 1.0, -1.0), self.ridge), method="L-BFGS-B", jac=True,
            options={"maxiter": self.max_iter, "gtol": self.tol, "ftol": 1e-12, "maxfun": 2 * self.max_iter},
        )  # fmt: skip
        if not found.success:
            warnings.warn(
                f"LDML stopped after {found.nit} iterations with a gradient of {np.abs(found.jac).max():.1e}, above "
                f"tol={self.tol:g}: {found.message}; raise max_iter or ridge.",
                ConvergenceWarning,
                stacklevel=2,
            )
        self.components_ = found.x[:-1].reshape(d, d) / unit
        self.intercept_ = float(found.x[-1])
        self.objective_, self.n_iter_ = float(found.fun), int(found.nit)
        return self

    def decision_function(self, D: ArrayLike) -> np.ndarray:
        """The log-odds of "same", equal for d and -d."""
        check_is_fitted(self, "components_")
        D = validate_data(self, D, reset=False, dtype=np.float64)
        return self.intercept_ - np.square(D @ self.components_.T).sum(axis=1)

    def predict_proba(self, D: ArrayLike) -> np.ndarray:
        """Probabilities of "different" and "same"."""
        same = expit(self.decision_function(D))
        return np.column_stack([1 - same, same])

    def predict(self, D: ArrayLike) -> np.ndarray:
        """The label with the higher probability."""
        return self.classes_[(self.decision_function(D) >= 0).astype(int)]


def _objective(x, D, s, ridge):
    """Loss and gradient at (L, b): with G the gradient in M, that in L is 2 L G."""
    d = D.shape[1]
    L, b = x[:-1].reshape(d, d), x[-1]
    projected = D @ L.T
    margins = s * (b - np.square(projected).sum(axis=1))
    M = L.T @ L
    slope = s * expit(-margins) / len(s)  # minus the derivative in b - d'Md
    G = (D.T * slope) @ D + ridge * M
    value = np.logaddexp(0, -margins).mean() + ridge / 2 * np.square(M).sum()
    return value, np.append((2 * L @ G).ravel(), -slope.sum())
