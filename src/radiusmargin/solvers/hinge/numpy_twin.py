"""The hinge solver in plain NumPy: the compiled core's algorithm, written to be read.

It is the oracle of the core, and serves alone where the package was installed without a compiler. With theta = (w, b)
and rows ``a_i = y_i [x_i - mean, 1]`` the problem is ::

    min  1/2 w'Bw - q'theta + constant + sum_i c_i max(0, z_i),      z = 1 - A theta.

Of the core's methods it has Newton's and the interior point. It has no sifting of many rows, no pairs of rows and no Newton
steps in coordinates of the rows where these, or those of the band, are few, no coordinate descent where features are many (its Newton matrix is
d x d), no principal axes where the interior point stalls, and one thread.

References
----------
.. [1] J. Yin and Q. Li, "A semismooth Newton method for support vector classification and regression",
   Computational Optimization and Applications 73 (2019).
.. [2] S. Mehrotra, "On the implementation of a primal-dual interior point method", SIAM J. Optim. 2 (1992).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy import linalg, sparse

from ..._checks import check_taking_part
from ..line_search import minimise_along
from ..multipliers import balanced
from ..problem import Batch, Options, Start
from ..result import Results, relative_gap
from .exact import UserProblem

COLD_PENALTY = 0.45  # every row starts inside the band: the first step is a ridge regression
WARM_PENALTY = 3.0
GROWTH = 2.5
LARGEST_PENALTY = 1e10
RESIDUAL_SHARE = 3.0  # an inner problem is solved when its residual no longer dominates complementarity
WIDE_BAND = 3  # rows per coefficient of a band that rows leave for good
CENTRED_ROWS = 10000  # between more there is no room worth a pass
PATIENCE = 10  # iterations of the interior point without progress, after which rounding has stopped it
NEWTON_BUDGET = 200  # Newton steps past which the interior point is the cheaper bet


@dataclass(eq=False)
class SignedRows:
    """``A = y * [X - mean, 1]``, the last column only with an intercept; a sparse X is never filled."""

    X: np.ndarray | sparse.csr_array
    y: np.ndarray
    intercept: bool

    @cached_property
    def mean(self):
        """What the rows are centred at: it moves the intercept only, and conditions the problem."""
        d = self.X.shape[1]
        return np.asarray(self.X.mean(axis=0)).reshape(d) if self.intercept else np.zeros(d)

    @property
    def D(self):
        return self.X.shape[1] + self.intercept

    def times(self, theta):
        d = self.X.shape[1]
        return self.y * (self.X @ theta[:d] - self.mean @ theta[:d] + theta[d:].sum())

    def transposed_times(self, v):
        signed = self.y * v
        g = self.X.T @ signed - signed.sum() * self.mean
        return np.append(g, signed.sum()) if self.intercept else g

    def gram(self, J, weights):
        """``sum_{i in J} weights_i a_i a_i'``."""
        X, m, total = self.X[J], self.mean, weights.sum()
        if sparse.issparse(X):
            s = X.T @ weights - total * m
            H = (
                (X.T @ X.multiply(weights[:, None])).toarray()
                - np.outer(s, m)
                - np.outer(m, s)
                - total * np.outer(m, m)
            )
        else:
            s, H = (X - m).T @ weights, ((X - m).T * weights) @ (X - m)
        return np.block([[H, s[:, None]], [s, total]]) if self.intercept else H

    def in_users_units(self, theta):
        """(coef, intercept) for rows that are not centred."""
        d = self.X.shape[1]
        return theta[:d], float(theta[d:].sum() - self.mean @ theta[:d]) if self.intercept else 0.0

    def centred(self, coef, intercept):
        """theta of coefficients in the user's units."""
        return np.append(coef, intercept + self.mean @ coef) if self.intercept else coef


@dataclass(eq=False)
class Regularizer:
    """``1/2 w'Bw - q'w + constant``."""

    B: np.ndarray  # d x d
    q: np.ndarray
    constant: float = 0.0

    def __post_init__(self):
        self.factor = cholesky(self.B), True

    def squared_dual_norm(self, g):
        return g @ linalg.cho_solve(self.factor, g)


@dataclass(eq=False)
class Problem:
    """One hinge problem; B and q are padded with zeros for the intercept."""

    A: SignedRows
    c: np.ndarray
    regularizer: Regularizer
    B: np.ndarray = field(init=False)
    q: np.ndarray = field(init=False)

    def __post_init__(self):
        d, D = len(self.regularizer.B), self.A.D
        self.B, self.q = np.zeros((D, D)), np.zeros(D)
        self.B[:d, :d], self.q[:d] = self.regularizer.B, self.regularizer.q

    @property
    def y(self):
        return self.A.y

    @property
    def intercept(self):
        return self.A.intercept

    def split(self, theta):
        d = len(self.regularizer.B)
        return theta[:d], theta[d:]

    def margins(self, theta):
        return 1.0 - self.A.times(theta)

    def objective(self, theta):
        return self.smooth_part(theta) + self.c @ np.maximum(self.margins(theta), 0.0)

    def smooth_part(self, theta):
        return 0.5 * theta @ self.B @ theta - self.q @ theta + self.regularizer.constant

    def dual_objective(self, alpha):
        g, _ = self.split(self.A.transposed_times(alpha) + self.q)
        return self.regularizer.constant + alpha.sum() - 0.5 * self.regularizer.squared_dual_norm(g)


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
        return relative_gap(self.objective, self.dual_objective)

    def offer(self, problem, theta, alpha):
        alpha = np.abs(balanced(problem.y * alpha, problem.intercept))  # always inside the box
        objective, dual_objective = problem.objective(theta), problem.dual_objective(alpha)
        if objective < self.objective:
            self.objective, self.theta = objective, theta.copy()
        if dual_objective > self.dual_objective:
            self.dual_objective, self.alpha = dual_objective, alpha


def centre_intercept(problem, tol, alpha, theta):
    """Where the loss is flat in the intercept, the middle of the flat part.

    A multiplier between its bounds belongs to a row on the margin, which says where b is. Else rows within sqrt(tol) of
    their kink count as on it, and on each side of b the loss is flat up to the next kink if the rows that pull balance.
    """
    inside = (alpha > 0.05 * problem.c) & (alpha < 0.95 * problem.c)
    if not problem.intercept or inside.any() or len(alpha) > CENTRED_ROWS:
        return theta
    z, y, c = problem.margins(theta), problem.y, problem.c
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
    ``a = clip(a0 + s z, 0, 1)``; only the rows with ``0 < a < 1``, the band, have curvature. After each inner problem the
    reference moves to ``a`` and the penalty grows. That throws rows out of the band which, where it is narrow, mostly come
    back, so the first step goes to the minimum of the piece on which they are there.
    """
    A, c = problem.A, problem.c
    z = problem.margins(theta)
    target, expected = tol, None
    while penalty < LARGEST_PENALTY:
        first = True
        while True:
            a, ca, loss, _, complementarity = multiplier_step(reference, z, penalty, c)
            gradient = problem.B @ theta - problem.q - A.transposed_times(ca)
            # P - D = 1/2 |Bw - g|^2_{B^-1} + sum c (max(z, 0) - a z): the inner problem's part and the multipliers'.
            gw, gb = problem.split(gradient)
            residual = 0.5 * problem.regularizer.squared_dual_norm(gw) + np.abs(gb).sum()
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
            step = None
            if expected is not None:
                beyond = np.where(expected, c * (reference + penalty * z - a), 0.0)
                step = _newton_direction(problem, gradient - A.transposed_times(beyond), expected, penalty)
                expected = None
            if step is None or gradient @ step >= 0:
                step = _newton_direction(problem, gradient, band(a), penalty)
            if step is None:
                best.offer(problem, theta, ca)
                return
            dz = -A.times(step)
            t = _line_search(problem, theta, step, gradient, reference, penalty, z, dz)
            theta, z = theta + t * step, z + t * dz
            best.n_iter += 1
            first = False
        reference, penalty, expected = a, penalty * GROWTH, band(a)
        if expected.sum() > WIDE_BAND * A.D:
            expected = None
    best.offer(problem, theta, ca)


def multiplier_step(reference, z, s, c):
    """``a = clip(reference + s z, 0, 1)``, ``c a``, and the sums of loss, ``c a`` and complementarity."""
    a = np.clip(reference + s * z, 0.0, 1.0)
    ca, positive = c * a, np.maximum(z, 0.0)
    return a, ca, float(np.sum(c * positive)), float(ca.sum()), float(np.sum(c * positive - ca * z))


def slope(reference, z, dz, s, t, c):
    """The hinge part of the slope along a direction."""
    return float(np.sum(c * np.clip(reference + s * (z + t * dz), 0.0, 1.0) * dz))


def band(a):
    return (a > 0.0) & (a < 1.0)


def _newton_direction(problem, gradient, rows, penalty):
    H = problem.B + problem.A.gram(rows, penalty * problem.c[rows])
    H[np.diag_indices_from(H)] *= 1.0 + 1e-12
    if problem.intercept:  # an empty band leaves the intercept without curvature
        H[-1, -1] += 1e-9 * problem.c.sum()
    try:
        return -linalg.cho_solve(linalg.cho_factor(H, lower=True), gradient)
    except linalg.LinAlgError:
        return None


def _line_search(problem, theta, step, gradient, reference, penalty, z, dz):
    linear = (problem.B @ theta - problem.q) @ step
    quadratic = step @ problem.B @ step

    def along(t):
        return linear + t * quadratic + slope(reference, z, dz, penalty, t, problem.c)

    return minimise_along(along, gradient @ step)


def interior_point(problem, tol, max_iter, best):
    """Mehrotra's predictor-corrector: ``A theta + xi - s = 1`` with multipliers alpha of s and beta of xi."""
    A, c = problem.A, problem.c
    n = len(c)
    theta = np.zeros(A.D)
    alpha, beta = 0.5 * c, 0.5 * c
    s, xi = np.ones(n), np.full(n, 2.0)
    lowest, patience = np.full(3, np.inf), PATIENCE
    while True:
        best.offer(problem, theta, alpha)
        if best.gap <= tol or best.n_iter >= max_iter:
            return
        best.n_iter += 1
        primal = A.times(theta) + xi - s - 1.0
        dual = problem.B @ theta - problem.q - A.transposed_times(alpha)
        mu = (s @ alpha + xi @ beta) / (2 * n)
        scaling = 1.0 / (xi / beta + s / alpha)
        unseen = 1e-3 * tol * abs(best.objective) / (2 * n)  # complementarity that the gap has nothing of
        progress = np.array([best.gap, max(mu, unseen), abs(dual).max()])
        patience = PATIENCE if (progress < 0.9 * lowest).any() else patience - 1
        lowest = np.minimum(lowest, progress)
        if not (mu > 0.0 and np.isfinite(scaling).all()) or patience < 0:
            return
        H = problem.B + A.gram(slice(None), scaling)
        H[np.diag_indices_from(H)] *= 1.0 + 1e-14
        try:
            factor = linalg.cho_factor(H, lower=True)
        except linalg.LinAlgError:
            return

        def direction(rs, rx, primal=primal, dual=dual, scaling=scaling, factor=factor):
            h = -primal - rx / beta + rs / alpha
            dtheta = linalg.cho_solve(factor, A.transposed_times(scaling * h) - dual)
            dalpha = scaling * (h - A.times(dtheta))
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


def solve_problem(problem, options, theta=None, alpha=None):
    """Newton first; the interior point where it stalls."""
    n, start = len(problem.c), np.zeros(problem.A.D)
    best = Solution()
    best.offer(problem, start, np.zeros(n))  # always a valid pair; a start that is worse is not worth starting from
    if theta is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            start = theta if problem.objective(theta) < best.objective else start
    reference = np.full(n, 0.5) if alpha is None else np.clip(alpha / problem.c, 0.0, 1.0)
    penalty = COLD_PENALTY if alpha is None else WARM_PENALTY
    budget = 0 if options.method == "interior-point" else min(options.max_iter, NEWTON_BUDGET)
    newton(problem, start, reference, penalty, options.tol, budget, best)
    if not best.gap <= options.tol and best.n_iter < options.max_iter:
        interior_point(problem, options.tol, options.max_iter, best)
    return best


def solve_batch(batch: Batch, options: Options, start: Start) -> Results:
    """What ``_core.solve_batch`` does, one problem after the other."""
    P, K, (n, d) = len(batch), len(batch.Cs), batch.rows.shape
    coef, intercept, alpha = np.zeros((P, K, d)), np.zeros((P, K)), np.zeros((P, K, n))
    objective, dual, n_iter = np.zeros((P, K)), np.zeros((P, K)), np.zeros((P, K), dtype=np.int64)
    for p in range(P):
        J = participants(batch, p)
        rows, regularizer, combine = in_features(batch, p, J)
        A = SignedRows(rows, batch.labels[batch.cells[p, 1], J], batch.intercept)
        theta = None
        if start.coef is not None and rows.shape[1] == d:
            theta = A.centred(start.coef[p], 0.0 if start.intercept is None else start.intercept[p])
        multipliers = None if start.alpha is None else start.alpha[p, J]
        for k, C in enumerate(batch.Cs):
            problem = Problem(A, C * batch.weights[J], regularizer)
            best = solve_problem(problem, options, theta, multipliers)
            best.theta = centre_intercept(problem, options.tol, best.alpha, best.theta)
            w, intercept[p, k] = A.in_users_units(best.theta)
            coef[p, k] = combine(w)
            alpha[p, k, J] = best.alpha
            exact = users_problem(batch, p, J, problem.c).objectives(coef[p, k], intercept[p, k], best.alpha)
            objective[p, k], bound = (best.objective, best.dual_objective) if exact is None else exact
            dual[p, k], n_iter[p, k] = min(bound, objective[p, k]), best.n_iter
            theta, multipliers = best.theta, best.alpha * (batch.Cs[k + 1] / C if k + 1 < K else 1.0)
    converged = relative_gap(objective, dual) <= options.tol
    return Results(batch.Cs, coef, intercept, objective, dual, n_iter, converged, alpha if options.keep_alpha else None)


def participants(batch, p):
    """Row numbers of problem p: those of its subset that are labelled and weigh something."""
    subset, label, _ = batch.cells[p]
    J = batch.subsets[subset] if batch.subsets else np.arange(len(batch.weights))
    J = J[(batch.weights[J] > 0) & (batch.labels[label, J] != 0)]
    check_taking_part(batch.labels[label, J])
    return J


def users_problem(batch, p, J, c):
    """The problem that the certificate is about."""
    form, r, d = batch.regularizers, batch.cells[p, 2], batch.rows.shape[1]
    B = np.ones(d) if form.matrices is None else form.matrices[r]
    q, constant = (np.zeros(d), 0.0) if form.linear is None else (form.linear[r], form.constants[r])
    return UserProblem(batch.rows.X[J], batch.labels[batch.cells[p, 1], J], c, B, q, constant, batch.intercept)


def in_features(batch, p, J):
    """(rows J, their regulariser, what makes coefficients into the caller's).

    With fewer rows than features the optimum is ``B^{-1} X'v``: with ``L^{-1} X' = QR`` for B = LL', the rows of R' and the
    identity stand for X and B, and ``w = L^{-T} Q u``.
    """
    form, r = batch.regularizers, batch.cells[p, 2]
    X, (n, d) = batch.rows.X[J], (len(J), batch.rows.shape[1])
    B = np.ones(d) if form.matrices is None else form.matrices[r]
    if d <= n or form.linear is not None:
        q, constant = (np.zeros(d), 0.0) if form.linear is None else (form.linear[r], form.constants[r])
        return X, Regularizer(B if B.ndim == 2 else np.diag(B), q, constant), lambda w: w
    dense = X.toarray() if sparse.issparse(X) else X
    if B.ndim == 1:
        Q, R = np.linalg.qr(dense.T / np.sqrt(B)[:, None])
        return R.T, identity(n), lambda u: (Q @ u) / np.sqrt(B)
    L = cholesky(B)
    Q, R = np.linalg.qr(linalg.solve_triangular(L, dense.T, lower=True))
    return R.T, identity(n), lambda u: linalg.solve_triangular(L, Q @ u, lower=True, trans="T")


def identity(d):
    return Regularizer(np.eye(d), np.zeros(d))


def cholesky(B):
    try:
        return linalg.cholesky(B, lower=True)
    except linalg.LinAlgError:
        raise ValueError("regularizer is not positive definite") from None
