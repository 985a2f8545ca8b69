"""`KernelMap`: an explicit, centred feature map of a kernel.

First the two sources of kernel values (a function of rows, a precomputed matrix), then the transformer, which chooses one of the
engines of `kernel_pca`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from numbers import Integral
from typing import Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import (
    check_choice,
    check_count,
    check_kernel_matrix,
    check_number,
    check_sparse_indices,
    check_weights,
    is_number,
)
from .._types import ArrayLike, Data, Gamma, RandomState
from ..kernels import KernelFunction, kernel_on
from ..solvers.result import why_indefinite
from .kernel_pca import Truncation, cholesky, exact, landmarks


class FunctionSource:
    """Blocks of the kernel matrix of the rows of X, computed on demand."""

    def __init__(self, function, X):
        self.function, self.X = function, X
        self.n_rows = X.shape[0]

    def diagonal(self):
        return self.function.diagonal(self.X)

    def gram(self, index=None):
        """Return the kernel matrix of all rows, or of some."""
        return self.function(self.X if index is None else self.X[index])

    def columns(self, index):
        """Return kernel values of all rows (down) with some (across)."""
        return self.function(self.X, self.X[index])

    def rank_bound(self):
        return self.function.rank_bound(self.X.shape[1])


class MatrixSource:
    """Blocks of a kernel matrix given by the user."""

    def __init__(self, K):
        self.K = K
        self.n_rows = len(K)

    def diagonal(self):
        return np.diagonal(self.K).copy()

    def gram(self, index=None):
        return self.K.copy() if index is None else self.K[np.ix_(index, index)]

    def columns(self, index):
        return self.K[:, index]

    def rank_bound(self):
        return np.inf


# -- The transformer -------------------------------------------------------------------------------------------------------


ENGINES = ("auto", "exact", "cholesky", "landmarks")
EXACT_ROWS = 500  # up to here the eigendecomposition takes some tens of milliseconds
EXACT_FRACTION_ROWS = 2000  # and up to here it is worth its time if a fraction of the spectrum is asked for
DEFAULT_COMPONENTS = 72  # of the default above EXACT_ROWS, by the measurements of benchmarks/kernels.py
DEFAULT_BUDGET = 144_000  # entries of the features that the default may have, if that allows more components
OVERSAMPLING = 2  # landmarks per component: the leading half of their span is close to kernel PCA
DROPPED_WHITENED = 0.01  # share of the spectrum that the default drops at whitening 1
LOW_RANK = 1e-3  # Cholesky is chosen if half of the landmarks leave less than this share of the others unexplained
JITTER = 1e-10  # relative
INDEFINITE = 1e-6  # a larger share of negative eigenvalues is not rounding
_BLOCK_ENTRIES = 4_000_000  # kernel values held at a time by transform


class KernelMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Centred kernel PCA features: ``f_ik = sqrt(lambda_k) u_ik`` of the centred kernel matrix ``HKH``.

    A linear model on these features is the kernel model. New rows are mapped by centring their kernel values with the training
    means; training rows get exactly their features.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "precomputed" (X is then the kernel matrix,
        of shape (n_samples, n_samples) in `fit` and (n_rows, n_samples) in `transform`), or a function of two
        matrices of rows that returns the matrix of their kernel values, as in `SVC`.
    gamma : {"scale", "auto"} or float, default="scale"
        As in `SVC`: "scale" is ``1 / (n_features * X.var())``, "auto" ``1 / n_features``. For "rbf" and
        "laplacian" (``exp(-gamma |x - y|_1)``), "poly" and "sigmoid".
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant term of "poly" and "sigmoid".
    n_components : int, float or None, default=None
        A number of components, or a fraction in (0, 1] of the spectrum to keep. None drops the share
        ``tol^(1 - whitening) 0.01^whitening`` of the spectrum: practically nothing at whitening 0, and 1 % at 1. Above 500 rows
        None also keeps at most ``max(72, 144000 / n_samples)`` components, so that a fit is not slower than that of `SVC` (more
        only for a kernel of small finite rank, such as "linear"); `explained_` is the share that is kept. Components without
        spread are never kept.
    engine : {"auto", "exact", "cholesky", "landmarks"}, default="auto"
        "exact": eigendecomposition of the n x n matrix. "cholesky": pivoted incomplete Cholesky, which stops at a tolerance and
        never forms the n x n matrix. "landmarks": Nystroem approximation on random rows. "auto" takes "exact" up to 500 rows
        (2000 for a fraction, or if a quarter of all components is asked for), "cholesky" for a fraction or if the spectrum
        ends early, else "landmarks".
    n_landmarks : int or None, default=None
        Rows that "landmarks" draws and pivots that "cholesky" may take; by default twice the number of
        components.
    tol : float, default=1e-10
        Share of the spectrum that the default may drop at whitening 0.
    whitening : float in [0, 1], default=0.0
        Whitening exponent of the model that uses the features. It sets the default number of components only: a model that
        whitens needs fewer.
    kernel_params : dict or None, default=None
        Keyword arguments of a callable kernel.
    random_state : int, RandomState or None, default=None
        Draws the landmarks. None draws the same ones every time, so that a fit can be repeated.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centred kernel matrix, descending: the (weighted) scatter of each feature.
    n_components_ : int
    explained_ : float
        Share of the spectrum in the features (a lower bound, except with the exact engine).
    definite_ : bool
        Whether the kernel matrix is positive semi-definite up to rounding.
    residual_ : float
        Share of the kernel's trace that the low-rank approximation leaves out, before components are dropped.
    engine_ : str
        The engine that was used.
    gamma_ : float
        Value of gamma; None for a precomputed kernel.
    landmarks_ : ndarray of shape (n_landmarks,)
        Indices of the training rows that the map keeps.

    Notes
    -----
    If the kernel is not positive semi-definite (often "sigmoid", or a precomputed similarity), a warning is given and its negative
    eigenvalues are dropped. Memory is O(n_samples n_landmarks), except for the exact engine. Sample weights count as repeated
    rows in the means, in the scatter and in "scale".

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.estimators import KernelMap
    >>> X = np.random.default_rng(0).normal(size=(50, 3))
    >>> map = KernelMap("rbf", gamma=0.2).fit(X)
    >>> F = map.transform(X)
    >>> F.shape, bool(np.allclose(F.T @ F, np.diag(map.eigenvalues_)))
    ((50, 49), True)
    >>> KernelMap("rbf", gamma=0.2, n_components=0.9).fit(X).n_components_
    8
    """

    def __init__(
        self, kernel: str | Callable = "rbf", *, gamma: Gamma = "scale", degree: int = 3, coef0: float = 0.0,
        n_components: float | None = None, engine: str = "auto", n_landmarks: int | None = None, tol: float = 1e-10,
        whitening: float = 0.0, kernel_params: dict | None = None, random_state: RandomState = None,
    ):  # fmt: skip
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.engine = engine
        self.n_landmarks = n_landmarks
        self.tol = tol
        self.whitening = whitening
        self.kernel_params = kernel_params
        self.random_state = random_state

    def fit(self, X: Data, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
        y : ignored
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative; an integer weight equals that many copies of the row.

        Returns
        -------
        self
        """
        self.fit_transform(X, y, sample_weight)
        return self

    def fit_transform(self, X: Data, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> np.ndarray:
        """Fit, and return the features of the training rows."""
        check_sparse_indices(X)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        return self.fit_features(X, check_weights(sample_weight, X.shape[0], least=2))

    def transform(self, X: Data) -> np.ndarray:
        """Return the features of rows, an array of shape (n_rows, n_components)."""
        check_is_fitted(self)
        check_sparse_indices(X)
        return self._map(validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False))

    def transform_times(self, X: Data, V: np.ndarray) -> np.ndarray:
        """Compute ``transform(X) @ V`` for validated rows without forming the features: scores of linear models."""
        return self._map(X, V)

    # -- fitting ----------------------------------------------------------------------------------------

    def fit_features(self, X: Data, weight: np.ndarray) -> np.ndarray:
        """Do what `fit_transform` does, for rows and weights that are already validated."""
        self.n_features_in_ = X.shape[1]
        rows = np.flatnonzero(weight)
        source = self._make_source(X, weight, rows)
        n = source.n_rows
        if isinstance(self.n_components, Integral) and self.n_components > n - 1:
            raise ValueError(
                f"n_components must be at most n_samples - 1 = {n - 1} (the rank once centred), "
                f"got {self.n_components}."
            )
        expansion = self._expand(source, weight[rows])
        self._keep(expansion, X, rows, float(weight[rows] @ source.diagonal()))
        return expansion.features if weight.all() else self._map(X)

    def _check_parameters(self):
        check_choice("engine", self.engine, ENGINES)
        if self.n_landmarks is not None:
            check_count("n_landmarks", self.n_landmarks)
        check_number("tol", self.tol, 0, 1, low_allowed=False)
        check_number("whitening", self.whitening, 0, 1, high_allowed=True)
        wanted = self.n_components
        if isinstance(wanted, Integral):
            check_count("n_components", wanted)
        elif wanted is not None and not (is_number(wanted) and 0 < wanted <= 1):
            raise ValueError(f"n_components must be a positive integer, a fraction in (0, 1] or None, got {wanted!r}.")

    def kernel_function(self, X: Data, weight: np.ndarray) -> KernelFunction | None:
        """Return the kernel with gamma resolved on validated training rows; None for a precomputed kernel."""
        self._check_parameters()
        return kernel_on(self, X, weight, self.kernel_params)

    def _make_source(self, X, weight, rows):
        """Return the source of kernel values of the rows with positive weight."""
        self._function = self.kernel_function(X, weight)
        if self._function is None:
            K = check_kernel_matrix(X)
            self.gamma_ = None
            return MatrixSource(K if len(rows) == len(K) else K[np.ix_(rows, rows)])
        self.gamma_ = self._function.gamma
        return FunctionSource(self._function, X if len(rows) == X.shape[0] else X[rows])

    def _expand(self, source, weight):
        n, rank = source.n_rows, source.rank_bound()
        truncation = self._truncation(n, rank)
        count = self.n_landmarks or OVERSAMPLING * (truncation.fixed or truncation.cap or DEFAULT_COMPONENTS)
        count = min(count, n)
        draw = cache(partial(_draw, n, count, weight, self.random_state))  # once, and only if needed
        self.engine_ = self._suitable_engine(source, truncation, count, draw) if self.engine == "auto" else self.engine
        if self.engine_ == "exact":
            return exact(source, weight, truncation)
        if self.engine_ == "landmarks":
            return landmarks(source, weight, truncation, draw())
        by_tolerance = truncation.fixed is None and truncation.cap is None
        return cholesky(source, weight, truncation, n if by_tolerance and self.n_landmarks is None else count)

    def _truncation(self, n, rank):
        """Return the rule by which the engines choose the number of components."""
        if isinstance(self.n_components, Integral):
            return Truncation(fixed=int(self.n_components))
        if self.n_components is not None:
            return Truncation(dropped=1.0 - float(self.n_components))
        dropped = self._dropped(self.whitening)
        if n <= EXACT_ROWS:
            return Truncation(dropped=dropped)
        cap = max(DEFAULT_COMPONENTS, DEFAULT_BUDGET // n)
        return Truncation(dropped=dropped, cap=int(rank) if rank <= OVERSAMPLING * cap else cap)

    def _dropped(self, whitening):
        """Return the share of the spectrum that the default drops."""
        return self.tol ** (1.0 - whitening) * DROPPED_WHITENED**whitening

    def components_at(self, whitening: float) -> int:
        """Return how many components the default keeps at a larger exponent. Not for "cholesky", which stops earlier then."""
        lost = self._expansion.missing + self._expansion.spectrum - self.eigenvalues_.sum()
        return Truncation(dropped=self._dropped(whitening)).count(self.eigenvalues_, lost)

    def _suitable_engine(self, source, truncation, count, draw):
        n = source.n_rows
        if n <= EXACT_ROWS or (truncation.fixed is not None and 4 * truncation.fixed >= n):
            return "exact"
        if truncation.fixed is None and truncation.cap is None:
            return "exact" if n <= EXACT_FRACTION_ROWS else "cholesky"
        if source.rank_bound() <= count or _ends_early(source.gram(draw())):
            return "cholesky"
        return "landmarks"

    def _keep(self, expansion, X, rows, trace):
        if expansion.features.shape[1] == 0:
            raise ValueError("the kernel does not vary over the rows of X: there is no component to keep.")
        self.eigenvalues_ = expansion.eigenvalues
        self.n_components_ = self._n_features_out = expansion.features.shape[1]
        self.explained_ = expansion.explained
        self.definite_ = expansion.negative <= INDEFINITE
        self.residual_ = expansion.missing / trace if trace > 0 else 0.0
        self.landmarks_ = rows[expansion.index]
        self._expansion = replace(expansion, features=None)
        self._landmark_rows = None if self._function is None else X[self.landmarks_]
        if not self.definite_:
            warnings.warn(
                f"the negative part of the kernel matrix ({expansion.negative:.2g} of its spectrum) is dropped: "
                f"{why_indefinite(self._function)}.",
                UserWarning,
                stacklevel=4,
            )
        fraction = None if isinstance(self.n_components, Integral) else self.n_components
        if fraction is not None and self.explained_ < fraction - 1e-8:
            warnings.warn(
                f"n_components={fraction:g} of the spectrum was not reached: {self.n_components_} components hold "
                f"at least {self.explained_:.3g} (engine {self.engine_!r}). Increase n_landmarks.",
                UserWarning,
                stacklevel=4,
            )

    # -- mapping ----------------------------------------------------------------------------------------

    def _map(self, X, V=None):
        """Compute features (times V) in blocks of rows, so that few kernel values are held at a time."""
        projection = self._expansion.projection if V is None else self._expansion.projection @ V
        out = np.empty((X.shape[0], projection.shape[1]))
        shift = self._expansion.centre @ projection
        size = max(1, _BLOCK_ENTRIES // len(self.landmarks_))
        for start in range(0, X.shape[0], size):
            rows = slice(start, start + size)
            np.matmul(self._kernel_rows(X[rows]), projection, out=out[rows])
        out -= shift
        return out

    def _kernel_rows(self, X):
        if self._function is None:
            X = X.toarray() if sparse.issparse(X) else X
            return X[:, self.landmarks_]
        return self._function(X, self._landmark_rows)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def _draw(n, count, weight, random_state):
    """Draw distinct rows with probabilities that grow with their weights; return sorted indices."""
    rng = check_random_state(0 if random_state is None else random_state)
    uniform = np.all(weight == weight[0])
    chances = None if uniform else weight / weight.sum()
    return np.sort(rng.choice(n, size=count, replace=False, p=chances))


def _ends_early(W):
    """Tell whether half of some random rows explain the other half: then few pivots exhaust the spectrum.

    The squared pivots of an unpivoted Cholesky factor are the parts of each row that the rows before do not explain.
    """
    W = W + JITTER * np.trace(W) / len(W) * np.eye(len(W))  # equal rows must not look like an early end
    try:
        pivots = np.linalg.cholesky(W).diagonal() ** 2
    except np.linalg.LinAlgError:  # not positive semi-definite: pivots stop at the first negative block
        return False
    half = len(W) // 2
    return bool(pivots[half:].sum() <= LOW_RANK * np.trace(W[half:, half:]))
