"""The hinge solver in plain NumPy: the compiled core's algorithm, written to be read.

It is the oracle of the core, and serves alone where the package was installed without a compiler. With theta = (w, b)
and rows ``a_i = y_i [x_i, 1]`` the problem is ::

    min  1/2 w'Bw - q'theta + constant + sum_i c_i max(0, z_i),      z = 1 - A theta.

References
----------
.. [1] J. Yin and Q. Li, "A semismooth Newton method for support vector classification and regression",
   Computational Optimization and Applications 73 (2019).
.. [2] S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optim. 2 (1992).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from ._line_search import minimise_along

COLD_PENALTY = 0.45  # every row starts inside the band: the first step is a ridge regression
WARM_PENALTY = 3.0
GROWTH = 2.5
LARGEST_PENALTY = 1e10
RESIDUAL_SHARE = 3.0  # an inner problem is solved when its residual no longer dominates complementarity


@dataclass
class Problem:
    """The data of one hinge problem; `A` holds the signed rows, with a last column `y` for the intercept."""

    A: np.ndarray
    y: np.ndarray
    c: np.ndarray
    B: np.ndarray  # d x d
    intercept: bool
    q: np.ndarray  # like theta
    constant: float = 0.0

    def __post_init__(self):
        self.B_factor = linalg.cho_factor(self.B, lower=True)
        d = len(self.B)
        self.B_padded = np.zeros((d + self.intercept, d + self.intercept))
        self.B_padded[:d, :d] = self.B

    def split(self, theta):
        d = len(self.B)
        return theta[:d], theta[d:]

    def objective(self, theta):
        return self.smooth_part(theta) + self.c @ np.maximum(1.0 - self.A @ theta, 0.0)

    def smooth_part(self, theta):
        return 0.5 * theta @ self.B_padded @ theta - self.q @ theta + self.constant

    def dual_objective(self, alpha):
        g, _ = self.split(self.A.T @ alpha + self.q)
        return self.constant + alpha.sum() - 0.5 * self.squared_dual_norm(g)

    def squared_dual_norm(self, g):
        return g @ linalg.cho_solve(self.B_factor, g)


@dataclass
class Solution:
    """The best primal and dual points so far; each is a bound of its own."""

    theta: np.ndarray | None = None
    alpha: np.ndarray | None = None
    objective: float = np.inf
    dual_objective: float = -np.inf
    n_iter: int = 0

    @property
    def gap(self):
        return (self.objective - self.dual_objective) / abs(self.objective)

    def offer(self, problem, theta, alpha):
        alpha = balance(problem, alpha)
        objective, dual_objective = problem.objective(theta), problem.dual_objective(alpha)
        if objective < self.objective:
            self.objective, self.theta = objective, theta.copy()
        if dual_objective > self.dual_objective:
            self.dual_objective, self.alpha = dual_objective, alpha


def balance(problem, alpha):
    """Make ``y @ alpha == 0`` by shrinking the class that carries too much: always inside the box."""
    if not problem.intercept:
        return alpha.copy()
    positive = problem.y > 0
    up, down = alpha[positive].sum(), alpha[~positive].sum()
    least = min(up, down)
    scale = np.where(positive, least / up if up > 0 else 0.0, least / down if down > 0 else 0.0)
    return alpha * scale


def centre_intercept(problem, tol, theta):
    """Where the loss is flat in the intercept, the middle of the flat part; see ``problem.hpp``."""
    if not problem.intercept:
        return theta
    z, y, c = 1.0 - problem.A @ theta, problem.y, problem.c
    here = np.abs(z) <= np.sqrt(tol)
    violated = (z > 0) & ~here
    pull, weight = (y * c)[violated].sum(), c[violated | here].sum()
    step = 0.0
    for side in (1.0, -1.0):
        ahead = np.abs(z[(side * y * z > 0) & ~here])
        if abs(pull - side * c[here & (side * y < 0)].sum()) <= 1e-9 * weight:
            step += side * 0.5 * ahead.min(initial=np.inf)
    shifted = np.append(theta[:-1], theta[-1] + step)
    if not np.isfinite(step) or c @ np.maximum(z - y * step, 0) > c @ np.maximum(z, 0) * (1 + 1e-14):
        return theta
    return shifted


def newton(problem, theta, reference, penalty, tol, max_iter, best):
    """Semismooth Newton on the augmented Lagrangian, in multipliers ``a = alpha / c`` scaled to [0, 1].

    For a reference ``a0`` and a penalty ``s`` the hinge becomes its Moreau envelope, with slope
    ``a = clip(a0 + s z, 0, 1)``; only the rows with ``0 < a < 1`` have curvature. After each inner problem the
    reference moves to ``a`` and the penalty grows.
    """
    A, c = problem.A, problem.c
    z = 1.0 - A @ theta
    target = tol
    while penalty < LARGEST_PENALTY:
        first = True
        while True:
            a, ca, loss, _, complementarity = multiplier_step(reference, z, penalty, c)
            gradient = problem.B_padded @ theta - problem.q - A.T @ ca
            # P - D = 1/2 |Bw - g|^2_{B^-1} + sum c (max(z, 0) - a z): the inner problem's part and the multipliers'.
            gw, gb = problem.split(gradient)
            residual = 0.5 * problem.squared_dual_norm(gw) + np.abs(gb).sum()
            scale = abs(problem.smooth_part(theta) + loss)
            if residual + complementarity <= target * scale:
                best.offer(problem, theta, ca)
                if best.gap <= tol:
                    return
                target *= 0.3
            if not first and residual <= RESIDUAL_SHARE * max(complementarity, 0.1 * target * scale):
                break
            if best.n_iter >= max_iter:
                best.offer(problem, theta, ca)
                return
            step = _newton_direction(problem, gradient, a, penalty)
            if step is None:
                best.offer(problem, theta, ca)
                return
            dz = -A @ step
            t = _line_search(problem, theta, step, gradient, reference, penalty, z, dz)
            theta, z = theta + t * step, z + t * dz
            best.n_iter += 1
            first = False
        reference, penalty = a, penalty * GROWTH
    best.offer(problem, theta, ca)


def multiplier_step(reference, z, s, c):
    """``a = clip(reference + s z, 0, 1)``, ``c a``, and the sums of loss, ``c a`` and complementarity."""
    a = np.clip(reference + s * z, 0.0, 1.0)
    ca, positive = c * a, np.maximum(z, 0.0)
    return a, ca, float(np.sum(c * positive)), float(ca.sum()), float(np.sum(c * positive - ca * z))


def slope(reference, z, dz, s, t, c):
    """The hinge part of the slope along a direction."""
    return float(np.sum(c * np.clip(reference + s * (z + t * dz), 0.0, 1.0) * dz))


def _newton_direction(problem, gradient, a, penalty):
    band = (a > 0.0) & (a < 1.0)
    rows = problem.A[band]
    H = problem.B_padded + penalty * (rows.T * problem.c[band]) @ rows
    H[np.diag_indices_from(H)] *= 1.0 + 1e-12
    if problem.intercept:  # an empty band leaves the intercept without curvature
        H[-1, -1] += 1e-9 * problem.c.sum()
    try:
        return -linalg.cho_solve(linalg.cho_factor(H, lower=True), gradient)
    except linalg.LinAlgError:
        return None


def _line_search(problem, theta, step, gradient, reference, penalty, z, dz):
    linear = (problem.B_padded @ theta - problem.q) @ step
    quadratic = step @ problem.B_padded @ step

    def along(t):
        return linear + t * quadratic + slope(reference, z, dz, penalty, t, problem.c)

    return minimise_along(along, gradient @ step)


def interior_point(problem, tol, max_iter, best):
    """Mehrotra's predictor-corrector: ``A theta + xi - s = 1`` with multipliers alpha of s and beta of xi."""
    A, c = problem.A, problem.c
    n, D = A.shape
    theta = np.zeros(D)
    alpha, beta = 0.5 * c, 0.5 * c
    s, xi = np.ones(n), np.full(n, 2.0)
    while True:
        best.offer(problem, theta, alpha)
        if best.gap <= tol or best.n_iter >= max_iter:
            return
        best.n_iter += 1
        primal = A @ theta + xi - s - 1.0
        dual = problem.B_padded @ theta - problem.q - A.T @ alpha
        mu = (s @ alpha + xi @ beta) / (2 * n)
        scaling = 1.0 / (xi / beta + s / alpha)
        if not (mu > 0.0 and np.isfinite(scaling).all()):
            return
        H = problem.B_padded + (A.T * scaling) @ A
        H[np.diag_indices_from(H)] *= 1.0 + 1e-14
        try:
            factor = linalg.cho_factor(H, lower=True)
        except linalg.LinAlgError:
            return

        def direction(rs, rx, primal=primal, dual=dual, scaling=scaling, factor=factor):
            h = -primal - rx / beta + rs / alpha
            dtheta = linalg.cho_solve(factor, A.T @ (scaling * h) - dual)
            dalpha = scaling * (h - A @ dtheta)
            return dtheta, dalpha, (rs - s * dalpha) / alpha, (rx + xi * dalpha) / beta

        def longest(dalpha, ds, dxi):
            values = np.concatenate([s, xi, alpha, beta])
            steps = np.concatenate([ds, dxi, dalpha, -dalpha])
            falling = steps < 0.0
            return np.min(-values[falling] / steps[falling], initial=1.0 / 0.995)

        _, dalpha, ds, dxi = direction(-s * alpha, -xi * beta)
        t = min(1.0, longest(dalpha, ds, dxi))
        reduced = ((s + t * ds) @ (alpha + t * dalpha) + (xi + t * dxi) @ (beta - t * dalpha)) / (2 * n * mu)
        centre = mu * reduced**3
        dtheta, dalpha, ds, dxi = direction(centre - s * alpha - ds * dalpha, centre - xi * beta + dxi * dalpha)
        t = min(1.0, 0.995 * longest(dalpha, ds, dxi))
        theta = theta + t * dtheta
        alpha, beta = alpha + t * dalpha, beta - t * dalpha
        s, xi = s + t * ds, xi + t * dxi


def solve(problem, tol, max_iter, newton_budget, theta=None, alpha=None):
    """Newton first; the interior point where it stalls."""
    n, D = problem.A.shape
    best, start = Solution(), np.zeros(D)
    best.offer(problem, start, np.zeros(n))  # always a valid pair; a start that is worse is not worth starting from
    if theta is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            start = theta if problem.objective(theta) < best.objective else start
    reference = np.full(n, 0.5) if alpha is None else np.clip(alpha / problem.c, 0.0, 1.0)
    penalty = COLD_PENALTY if alpha is None else WARM_PENALTY
    newton(problem, start, reference, penalty, tol, min(max_iter, newton_budget), best)
    if not best.gap <= tol and best.n_iter < max_iter:
        interior_point(problem, tol, max_iter, best)
    return best


def solve_many(
    X, labels, weights, Cs, rows, starts, label_of, B, regularizer_of, linear, start_theta, start_alpha,
    keep_alpha, intercept, tol, max_iter, newton_budget, sifting, n_threads, gram=None,
):  # fmt: skip
    """Drop-in replacement of ``_core.solve_many`` (`sifting`, `n_threads` and `gram` have no effect here)."""
    if isinstance(X, tuple):
        from scipy.sparse import csr_array

        values, indices, indptr, d = X
        X = csr_array((values, indices, indptr), shape=(len(indptr) - 1, d)).toarray()
    n, d = gram.shape if X is None else X.shape
    P, K = len(label_of), len(Cs)
    coef, intercepts = np.zeros((P, K, d)), np.zeros((P, K))
    objective, dual = np.zeros((P, K)), np.zeros((P, K))
    alphas = np.zeros((P if keep_alpha else 0, K, n))
    n_iter = np.zeros((P, K), dtype=np.int64)
    for p in range(P):
        J = np.arange(n) if rows is None else rows[starts[p] : starts[p + 1]]
        J = J[(weights[J] > 0) & (labels[label_of[p], J] != 0)]
        y = labels[label_of[p], J]
        features, combine = _features(gram[np.ix_(J, J)]) if X is None else (X[J], None)
        mean = features.mean(axis=0) if intercept else np.zeros(features.shape[1])
        A = y[:, None] * (features - mean)
        if intercept:
            A = np.column_stack([A, y])
        matrix = _as_matrix(B, regularizer_of[p], len(mean))
        q, constant = np.zeros(A.shape[1]), 0.0  # the intercept has no linear term
        if linear is not None:
            q[:d], constant = linear[p, :d], linear[p, d]
        theta = None if start_theta is None else start_theta[p]
        alpha = None if start_alpha is None else start_alpha[p, J]
        if theta is not None and intercept:
            theta = np.append(theta[:d], theta[d] + mean @ theta[:d])
        for k, C in enumerate(Cs):
            try:
                problem = Problem(A, y, C * weights[J], matrix, intercept, q, constant)
            except linalg.LinAlgError:
                raise ValueError("regularizer is not positive definite") from None
            best = solve(problem, tol, max_iter, newton_budget, theta, alpha)
            best.theta = centre_intercept(problem, tol, best.theta)
            w, b = problem.split(best.theta)
            if combine is None:
                coef[p, k] = w
            else:
                np.add.at(coef[p, k], J, combine @ w)
            intercepts[p, k] = b[0] - mean @ w if intercept else 0.0
            objective[p, k], dual[p, k], n_iter[p, k] = best.objective, best.dual_objective, best.n_iter
            if keep_alpha:
                alphas[p, k, J] = best.alpha
            theta, alpha = best.theta, best.alpha * (Cs[k + 1] / C if k + 1 < K else 1.0)
    return coef, intercepts, alphas, objective, dual, n_iter


def _features(gram):
    """Features F of rows from their inner products, and the matrix that makes w = F'u into the combination u of rows."""
    values, vectors = np.linalg.eigh(gram)
    keep = values > 1e-13 * values[-1]
    roots, vectors = np.sqrt(values[keep]), vectors[:, keep]
    return vectors * roots, vectors / roots


def _as_matrix(B, index, d):
    if B is None:
        return np.eye(d)
    return B[index] if B.ndim == 3 else np.diag(B[index])
