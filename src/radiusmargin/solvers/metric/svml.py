"""SVML (Xu, Weinberger, Chapelle 2012): the metric of a Gaussian kernel by gradient steps on a smoothed validation error.

The kernel is exp(-|L(x - z)|^2), and for every L the machine inside is solved to its optimum, without the rows held out. How
its multipliers move with L follows from what holds there (docs/mathematics.md, "The kernel machine"): rows at a bound stay,
rows between their bounds keep a score of y. The error is not convex in L, and has kinks where a row comes to a bound: what is
returned is the best L that was seen, without a certificate.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.linalg import solve as solve_linear
from scipy.optimize import minimize
from scipy.special import expit

from ..kernel import solve_kernel
from ..problem import Batch, Kernel, Options

RIDGE = 1e-10  # of the kernel's unit diagonal: rows that the metric has made one point
FREE = 1e-6  # share of its bound that a multiplier between its bounds is away from both


@dataclass(frozen=True, eq=False)
class ValidationError:
    """Share of rows held out that are misclassified, smoothed, as a function of L.

    ::

        E(L) = sum_t s_t sigma(-slope y_t h(x_t)) / sum_t s_t

    over all rows t, each when it is held out, and over all labellings; h is the machine of the other rows, sigma the
    logistic function.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    labels : ndarray of shape (K, n)
        Labellings by -1 and +1; a row labelled 0 takes no part.
    weights : ndarray of shape (n,)
        Weights s, of the machine's losses and of the error.
    C : float
        Weight of the loss.
    fold : integer ndarray of shape (n,)
        The part with which a row is held out.
    slope : float, default=5.0
        The larger, the more like the number of errors, and the less is told by its gradient.
    intercept : bool, default=True
    tol : float, default=1e-6
        Relative gap of the machines.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers.metric.svml import ValidationError
    >>> X, y = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([[-1.0, -1.0, 1.0, 1.0]])
    >>> error = ValidationError(X, y, np.ones(4), 10.0, np.array([0, 1, 0, 1]))
    >>> value, gradient = error(np.array([[0.5]]))
    >>> value < 0.1, gradient.shape
    (True, (1, 1))
    """

    X: np.ndarray
    labels: np.ndarray
    weights: np.ndarray
    C: float
    fold: np.ndarray
    slope: float = 5.0
    intercept: bool = True
    tol: float = 1e-6

    def __call__(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        """E(L) and its gradient, of the shape of L."""
        if not len(self._cells):
            return 0.0, np.zeros_like(L)
        Z = self._centred @ L.T
        K = gaussian(Z)
        machines = self._machines(K)
        error, total, U, V = 0.0, 0.0, [], []
        for p, (part, column, _) in enumerate(self._cells):
            v, held = machines.coef[p, 0], self.fold == part
            value, weight, slopes = self._smoothed(K @ v + machines.intercept[p, 0], self.labels[column] * held)
            error, total = error + value, total + weight
            U.append(self._sensitivity(K, np.abs(v), slopes, held))
            V.append(v)
        return float(error / total), _gradient(np.array(U).T @ np.array(V) * K, self._centred, Z) / total

    @cached_property
    def _centred(self):
        return self.X - self.X.mean(axis=0)  # which no distance notices, but rounding does

    @cached_property
    def _cells(self) -> np.ndarray:
        """(part, labelling, 0) of the machines that can be had, and asked: with rows of both sides, and rows held out."""
        y = np.where(self.weights > 0, self.labels, 0.0)
        cells = [
            (part, column, 0)
            for part in range(self.fold.max() + 1)
            for column in range(len(y))
            if {-1.0, 1.0} <= set(y[column, self.fold != part]) and y[column, self.fold == part].any()
        ]
        return np.array(cells, dtype=np.int64).reshape(-1, 3)

    def _machines(self, K):
        rest = tuple(np.flatnonzero(self.fold != part) for part in range(self.fold.max() + 1))
        batch = Batch(
            Kernel(K), self.labels, self.weights, np.array([self.C]), subsets=rest, cells=self._cells,
            intercept=self.intercept,
        )  # fmt: skip
        return solve_kernel(batch, Options(self.tol))

    def _smoothed(self, scores, y):
        """Error of the rows that y does not call 0, their weight, and the derivative by every score."""
        weights = self.weights * (y != 0)
        wrong = expit(-self.slope * y * scores)
        return weights @ wrong, weights.sum(), -self.slope * weights * y * wrong * (1 - wrong)

    def _sensitivity(self, K, alpha, slopes, held):
        """u with dE = u'(dK)v: the derivative by scores of rows held out, and minus what these make of the scores of free rows.

        Free rows keep their scores: K_FF dv_F + 1 db = -(dK v)_F, and 1'dv_F = 0 with an intercept.
        """
        bound = self.C * self.weights
        free = np.flatnonzero((alpha > FREE * bound) & (alpha < (1 - FREE) * bound) & ~held)
        u = slopes.copy()
        if not len(free):
            return u
        system, right = K[np.ix_(free, free)] + RIDGE * np.eye(len(free)), K[free] @ slopes
        if self.intercept:
            ones = np.ones((len(free), 1))
            system, right = np.block([[system, ones], [ones.T, np.zeros((1, 1))]]), np.append(right, slopes.sum())
        u[free] = -solve_linear(system, right, assume_a="sym")[: len(free)]
        return u


def gaussian(Z: np.ndarray) -> np.ndarray:
    """exp(-|z_i - z_j|^2) of all rows.

    >>> gaussian(np.array([[0.0], [1.0]])).round(4).tolist()
    [[1.0, 0.3679], [0.3679, 1.0]]
    """
    squares = np.einsum("ij,ij->i", Z, Z)
    distances = squares[:, None] + squares - 2 * Z @ Z.T
    np.fill_diagonal(distances, 0.0)
    return np.exp(-np.maximum(distances, 0.0))


def _gradient(W, X, Z):
    """sum_ij W_ij d(-|z_i - z_j|^2)/dL."""
    both = W + W.T
    return 2 * Z.T @ (both @ X - both.sum(axis=1)[:, None] * X)


@dataclass(frozen=True, eq=False)
class SVMLResult:
    """A metric of low validation error.

    Attributes
    ----------
    root : ndarray of shape (d, d)
        L.
    objective : float
        Error and penalty at L.
    history : tuple of float
        The same wherever it was computed, the start first.
    message : str
        Why the steps ended.
    """

    root: np.ndarray = field(repr=False)
    objective: float
    history: tuple[float, ...] = field(repr=False)
    message: str


def svml(error: ValidationError, start, lam=0.01, *, diagonal=False, n_steps=30) -> SVMLResult:
    """Minimise ``E(L) + lam |L - L_0|^2 / |L_0|^2`` by quasi-Newton steps from L_0.

    Parameters
    ----------
    error : ValidationError
        E, or any function of L that returns its value and its gradient.
    start : ndarray of shape (d, d)
        L_0.
    lam : float, default=0.01
        Weight of the distance from the start.
    diagonal : bool, default=False
        Whether only the diagonal of L is learned: weights of the features.
    n_steps : int, default=30
        Most steps.

    Returns
    -------
    SVMLResult
        The best that was seen, which is no worse than the start, and no more is known of it.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers.metric.svml import svml
    >>> found = svml(lambda L: (np.sum((L - 2) ** 2), 2 * (L - 2)), np.eye(2), 0.0, diagonal=True)
    >>> found.root.round(4).tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    places = np.diag_indices(len(start)) if diagonal else np.indices(start.shape).reshape(2, -1)
    places, unit, history = tuple(places), np.linalg.norm(start), []
    best = start, np.inf

    def objective(values):  # of L in units of the start, so that a step of one is a large one
        nonlocal best
        L = np.zeros_like(start)
        L[places] = unit * values
        value, gradient = error(L)
        away = (L - start) / unit
        value, gradient = value + lam * np.sum(away**2), unit * gradient + 2 * lam * away
        history.append(float(value))
        if value < best[1]:
            best = L, float(value)
        return value, gradient[places]

    found = minimize(objective, start[places] / unit, jac=True, method="L-BFGS-B", options={"maxiter": int(n_steps)})
    return SVMLResult(best[0], best[1], tuple(history), str(found.message))


__all__ = ["SVMLResult", "ValidationError", "gaussian", "svml"]
