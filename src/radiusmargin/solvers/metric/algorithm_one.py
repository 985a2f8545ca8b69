"""Algorithm 1 of the F-SVM paper, as printed, for comparison with the optimum of its problem:

    min over w, b, M:   1/2 w'M^{-1}w + C sum_i s_i max(0, 1 - y_i (w'x_i + b)) + rho tr(MS)                    (Eq. 12)

It alternates between the SVM in the metric M and gradient steps on M, each followed by a projection onto the positive
semidefinite cone, with a decreasing step length. The objective may increase. The projection makes M singular as soon as a
step is too long. The gradient, which contains M^{-1}, does not exist there, and the algorithm ends. The optimum itself is
singular (docs/mathematics.md), so that it cannot be reached.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from ..hinge import hinge_svm
from ..result import HingeResult, certificate, relative_gap

CONVERGED = 1e-6  # relative change of M at which a descent ends
EPS = np.finfo(float).eps


@dataclass(frozen=True)
class Descent:
    """Parameters of Algorithm 1 that the paper leaves open, and one line that it prints wrongly.

    Attributes
    ----------
    step : float
        Step length t at the start of every round; 1 in the paper.
    shrink : float
        Factor beta of t from one step to the next, in (0, 1].
    n_steps : int
        Most gradient steps of a round ("while not converged").
    n_rounds : int
        Most rounds ("until M and (w, b) converge").
    reset : bool
        Reset M and t in every iteration of the inner loop, as printed, which then repeats the same step. By default they
        are set before the loop.
    """

    step: float = 1.0
    shrink: float = 0.9
    n_steps: int = 200
    n_rounds: int = 15
    reset: bool = False


@dataclass(frozen=True, eq=False, kw_only=True)
class AlgorithmOneResult(HingeResult):
    """Last separator and metric of the algorithm.

    `objective` is that of (w, b, M), `dual_objective` a lower bound of the minimum over all three. `root` is L with M = L'L,
    one row per dimension of its range. `message` says at which step M became singular, and is empty if it did not.
    """

    root: np.ndarray = field(repr=False)
    message: str = ""

    @property
    def M(self) -> np.ndarray:
        """The metric."""
        return self.root.T @ self.root


def algorithm_one(
    X, y, C=1.0, rho=1.0, *, descent=None, sample_weight=None, fit_intercept=True, tol=1e-6
) -> AlgorithmOneResult:
    """Run Algorithm 1 and end with the separator of its last metric.

    Parameters
    ----------
    X : array of shape (n, d)
        Directions without variance are left out, since the initial metric divides by the deviation.
    y : array of shape (n,)
        Labels, -1 or +1.
    C, rho : float
        Weights of the loss and of tr(MS).
    descent : Descent, optional
    sample_weight : array of shape (n,), optional
        Weights in the loss and in the scatter.
    fit_intercept : bool
    tol : float
        Relative gap of the SVMs; the algorithm itself does not stop at a gap.

    Returns
    -------
    AlgorithmOneResult

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers.metric.algorithm_one import Descent, algorithm_one
    >>> X = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0], [3.0, 2.0]])
    >>> algorithm_one(X, np.array([-1, -1, 1, 1])).message
    'M became singular (rank 0 of 2) at step 1 of round 1'
    >>> algorithm_one(X, np.array([-1, -1, 1, 1]), descent=Descent(step=1e-3, n_rounds=3)).message
    ''
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    weight = np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    run = _Run(X, y, float(C), float(rho), weight, bool(fit_intercept), tol)
    descent = descent or Descent()
    M, message = np.diag(np.sqrt(rho / run.S)), ""  # M_0 as printed, with |w| = 1
    n_rounds = n_steps = 0
    separator = run.separate(M)
    while n_rounds < descent.n_rounds and not message:
        n_rounds += 1
        before, (M, steps, singular) = M, _descend(M, separator.coef, rho * run.S, descent)
        n_steps += steps
        if singular:
            message = f"M became singular (rank {_rank(M)} of {len(M)}) at step {steps} of round {n_rounds}"
        separator = run.separate(M)
        if np.linalg.norm(M - before) <= CONVERGED * np.linalg.norm(before):
            break
    return run.result(separator, M, n_steps, message)


class _Run:
    """The problem in the principal axes of the data, where S is diagonal, with the best bound and the history so far."""

    def __init__(self, X, y, C, rho, weight, fit_intercept, tol):
        self.X, self.y, self.C, self.rho, self.weight, self.tol = X, y, C, rho, weight, tol
        self.options = {"sample_weight": weight, "fit_intercept": fit_intercept, "tol": tol}
        mean = weight @ X / weight.sum()
        # The eigenvalues of S would have half the digits.
        _, deviations, axes = np.linalg.svd(np.sqrt(weight)[:, None] * (X - mean), full_matrices=False)
        kept = deviations > len(deviations) * EPS * deviations[0]
        self.S, self.axes = deviations[kept] ** 2, axes[kept].T
        self.mean = mean if fit_intercept else np.zeros_like(mean)
        self.rows = (X - self.mean) @ self.axes
        # Without an intercept the mean may lie outside of the range of S, where a metric costs nothing: there is no bound then.
        outside = mean - self.axes @ (self.axes.T @ mean)
        self.bounded = fit_intercept or np.linalg.norm(outside) <= 1e-12 * np.linalg.norm(mean)
        self.best_bound, self.history = 0.0, []

    def separate(self, M) -> HingeResult:
        """Lines 7 to 9: solve the SVM of z = Sigma^{1/2}V'x, and add its objective and bound to the history."""
        L = _root(M)
        svm = hinge_svm(self.rows @ L.T, self.y, self.C, **self.options)
        objective = svm.objective + self.rho * np.trace(M * self.S)
        self.best_bound = max(self.best_bound, self._bound(svm.alpha))
        gap = relative_gap(objective, self.best_bound)
        entry = {"objective": objective, "dual_objective": self.best_bound, "gap": gap, "rank": _rank(M)}
        self.history.append(entry | {"round": len(self.history)})
        return replace(svm, coef=L.T @ svm.coef)

    def _bound(self, alpha):
        """Dual objective of Eq. 12: sum alpha, scaled down until g'S^{-1}g <= 2 rho."""
        length = np.linalg.norm(self.rows.T @ (self.y * alpha) / np.sqrt(self.S))
        scale = min(1.0, np.sqrt(2 * self.rho) / length) if length > 0 else 1.0
        return scale * alpha.sum() if self.bounded else 0.0

    def result(self, separator, M, n_steps, message):
        """The last separator and metric in the user's units, with their objective there."""
        w, root = self.axes @ separator.coef, _root(M)
        b = separator.intercept - self.mean @ w
        v = np.linalg.lstsq(root.T, separator.coef, rcond=None)[0]
        loss = self.weight @ np.maximum(0.0, 1.0 - self.y * (self.X @ w + b))
        objective = v @ v / 2 + self.C * loss + self.rho * np.trace(M * self.S)
        return AlgorithmOneResult(
            coef=w, intercept=b, alpha=separator.alpha, **certificate(objective, self.best_bound, n_steps, self.tol),
            history=tuple(self.history), root=_signed(root @ self.axes.T), message=message,
        )  # fmt: skip


def _descend(M, w, rho_S, descent):
    """Lines 11 to 18: (M, steps taken, True if M is singular)."""
    first, t, singular = M, descent.step, _rank(M) < len(M)
    for step in range(descent.n_steps):
        if singular:
            return M, step, True
        base = first if descent.reset else M
        u = np.linalg.solve(base, w)
        before, (M, rank) = M, _projected(base + t * (0.5 * np.outer(u, u) - np.diag(rho_S)))
        singular, t = rank < len(M), t if descent.reset else descent.shrink * t
        if np.linalg.norm(M - before) <= CONVERGED * np.linalg.norm(before):
            break
    return M, step + 1, singular


def _projected(M):
    """(the nearest positive semidefinite matrix, its rank)."""
    values, vectors = np.linalg.eigh((M + M.T) / 2)
    rank = np.count_nonzero(values > _rounding(values))
    return (vectors * values.clip(0.0)) @ vectors.T, rank


def _rounding(values):
    """Threshold below which eigenvalues (in ascending order) are rounding errors."""
    return 10 * len(values) * EPS * max(values[-1], 0.0)


def _spectrum(M):
    """Eigenvalues and eigenvectors of M, without those that are rounding errors."""
    values, vectors = np.linalg.eigh(M)
    kept = values > _rounding(values)
    return values[kept], vectors[:, kept]


def _rank(M):
    return len(_spectrum(M)[0])


def _root(M):
    """L with M = L'L; a row of zeros if M is zero."""
    values, vectors = _spectrum(M)
    return (vectors * np.sqrt(values)).T if len(values) else np.zeros((1, len(M)))


def _signed(L):
    """L with the largest entry of every row positive, since the signs of a decomposition are arbitrary."""
    largest = L[np.arange(len(L)), np.abs(L).argmax(axis=1)]
    return L * np.where(largest < 0, -1.0, 1.0)[:, None]
