"""The solvers in plain NumPy: the algorithms of the compiled core, written to be read, and the oracle of the tests.

In order: objectives of a hinge problem without rounding errors, for certificates; the hinge solver (semismooth Newton on the
augmented Lagrangian, then an interior point); the kernel solver (SMO with second-order selection of pairs).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from math import fsum

import numpy as np
from scipy import linalg, sparse

from .._checks import check_taking_part
from .line_search import minimise_along
from .problem import Batch, Options, Start, Targets, balanced
from .result import Results, certificate, relative_gap, status_of

# -- Objectives without rounding errors -------------------------------------------------------------------------------


UNSEEN = 1e-10  # rounding below this fraction of the objective does not show in a gap
UNIT = 4 * np.finfo(float).eps


@dataclass(eq=False)
class UserProblem:
    """A hinge problem in the user's units: rows, labels, targets, weights of the loss, and ``1/2 w'Bw - q'w + constant``."""

    X: np.ndarray | sparse.csr_array
    y: np.ndarray
    t: np.ndarray
    c: np.ndarray
    B: np.ndarray  # a diagonal or a matrix
    q: np.ndarray
    constant: float
    intercept: bool

    def objectives(self, w, b, alpha):
        """Objective at (w, b) and dual objective at alpha; None if rounding in double precision is negligible."""
        z = self.t - self.y * (self.X @ w + b)
        rounding = UNIT * np.sqrt(self.X.shape[1] + 4) * (abs(self.t) + abs(b) + abs(self.X) @ abs(w))
        form = self._square(w)
        size = abs(0.5 * form - self.q @ w + self.constant + self.c @ np.maximum(z, 0.0))
        of_form = UNIT * np.sqrt(len(w)) * (abs(w) @ abs(self._times_B(abs(w), abs(self.B))) + abs(self.q) @ abs(w))
        of_dual = np.sqrt(len(z)) * (alpha @ rounding + UNIT * size)
        if self.c @ rounding + of_form + of_dual <= UNSEEN * size:
            return None
        near = np.flatnonzero(z > -2.0 * rounding)
        scores = exact_times(self.X[near], w, b, -self.y[near] * self.t[near])  # scores minus labels times targets
        loss = exact_dot(self.c[near], np.maximum(-self.y[near] * scores, 0.0))
        return fsum([0.5 * form, -exact_dot(self.q, w), self.constant, loss]), self._bound(z, b, w, alpha)

    def _bound(self, z, b, w, alpha):
        """Lower bound of the dual objective, with a correction for multipliers that rounding has put out of balance."""
        v, total, size = self.y * alpha, exact_dot(self.t, alpha), abs(self.t) @ alpha
        left, centre = fsum(v) if self.intercept else 0.0, np.asarray(self.X.mean(axis=0)).reshape(-1)
        shift = two_product(np.full(len(centre), -left), centre)
        g = exact_times(self.X.T.tocsr() if sparse.issparse(self.X) else self.X.T, v, *shift, self.q)
        u = g / self.B if self.B.ndim == 1 else np.linalg.solve(self.B, g)
        rest = g - self._times_B(u, self.B)
        remainder = rest @ (rest / self.B if self.B.ndim == 1 else np.linalg.solve(self.B, rest))
        bound = fsum([total, self.constant, -exact_dot(g, u), 0.5 * self._square(u), -0.5 * remainder])
        unbalanced = abs(left) * (abs(self.t).max() + abs(b + centre @ w) + abs(z[alpha > 0]).max(initial=0.0))
        return bound - UNIT * (size + abs(self.constant) + abs(g) @ abs(u)) - unbalanced

    def _square(self, w):
        if self.B.ndim == 1:
            return exact_dot(self.B * w, w)
        products, rests = two_product(w[:, None], w)
        return exact_dot(self.B.ravel(), products.ravel()) + float(np.sum(self.B * rests))

    def _times_B(self, w, B):
        return B * w if B.ndim == 1 else B @ w


def two_product(a, b):
    """``a * b`` and its rounding error, by Dekker's splitting of the factors."""
    product = a * b
    (a1, a2), (b1, b2) = split(a), split(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def split(a):
    large = 134217729.0 * a  # 2**27 + 1
    high = large - (large - a)
    return high, a - high


def exact_dot(a, b, *more):
    """``a @ b`` plus more numbers, with a single rounding."""
    return fsum([*np.concatenate(two_product(a, b)), *more])


def exact_times(X, w, *more):
    """``X @ w`` plus more vectors or numbers, with a single rounding of every entry."""
    more = [np.broadcast_to(each, X.shape[0]) for each in more]
    if not sparse.issparse(X):
        return np.array([exact_dot(row, w, *(each[i] for each in more)) for i, row in enumerate(X)])
    ends = enumerate(pairwise(X.indptr))
    rows = ((i, X.data[first:last], w[X.indices[first:last]]) for i, (first, last) in ends)
    return np.array([exact_dot(values, factors, *(each[i] for each in more)) for i, values, factors in rows])


# -- The hinge solver -------------------------------------------------------------------------------------------------


COLD_PENALTY = 0.45  # every row starts in the active set: the first step is a ridge regression
WARM_PENALTY = 3.0
GROWTH = 2.5
LARGEST_PENALTY = 1e10
RESIDUAL_SHARE = 3.0  # an inner problem is solved when its residual no longer dominates complementarity
WIDE_ACTIVE_SET = 3  # rows per coefficient of an active set that rows leave for good
CENTRED_ROWS = 10000  # with more rows the flat part of the loss is too short to be worth a pass
PATIENCE = 10  # iterations of the interior point without progress, after which rounding has stopped it
NEWTON_BUDGET = 200  # Newton steps after which the interior point is cheaper


@dataclass(eq=False)
class SignedRows:
    """``A = y * [X - mean, 1]``, the last column only with an intercept; a sparse X stays sparse."""

    X: np.ndarray | sparse.csr_array
    y: np.ndarray
    intercept: bool

    @cached_property
    def mean(self):
        """Centre of the rows: it changes the intercept only, and conditions the problem."""
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
        """Map theta to (coef, intercept) for rows that are not centred."""
        d = self.X.shape[1]
        return theta[:d], float(theta[d:].sum() - self.mean @ theta[:d]) if self.intercept else 0.0

    def centred(self, coef, intercept):
        """Map coefficients in the user's units to theta."""
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
    t: np.ndarray  # targets, all one but for regression
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
        return self.t - self.A.times(theta)

    def objective(self, theta):
        return self.smooth_part(theta) + self.c @ np.maximum(self.margins(theta), 0.0)

    def smooth_part(self, theta):
        return 0.5 * theta @ self.B @ theta - self.q @ theta + self.regularizer.constant

    def dual_objective(self, alpha):
        g, _ = self.split(self.A.transposed_times(alpha) + self.q)
        return self.regularizer.constant + self.t @ alpha - 0.5 * self.regularizer.squared_dual_norm(g)


@dataclass
class Solution:
    """Best primal and best dual point so far; they need not belong together."""

    theta: np.ndarray | None = None
    alpha: np.ndarray | None = None
    objective: float = np.inf
    dual_objective: float = -np.inf
    n_iter: int = 0
    method: str = "reference-newton"

    @property
    def gap(self):
        return relative_gap(self.objective, self.dual_objective)

    def offer(self, problem, theta, alpha):
        """Keep theta or alpha if it improves its bound."""
        alpha = np.abs(balanced(problem.y * alpha, problem.intercept))  # always inside the box
        objective, dual_objective = problem.objective(theta), problem.dual_objective(alpha)
        if objective < self.objective:
            self.objective, self.theta = objective, theta.copy()
        if dual_objective > self.dual_objective:
            self.dual_objective, self.alpha = dual_objective, alpha


def centre_intercept(problem, tol, alpha, theta):
    """Move the intercept to the middle of the interval on which the loss is flat, if there is one.

    A multiplier strictly between its bounds belongs to a row on the margin, which determines b. Otherwise rows within
    sqrt(tol) of their kink count as on it. On each side of b the loss is flat up to the next kink if its slope is zero.
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

    For a reference ``a0`` and a penalty ``s`` the hinge becomes its Moreau envelope, with slope ``a = clip(a0 + s z, 0, 1)``.
    Only the rows with ``0 < a < 1``, the active set, have curvature. After each inner problem the reference becomes ``a`` and
    the penalty grows. Rows then leave the active set, but most of them come back if it is small. The first step therefore
    goes to the minimum of the piece on which the active set is the previous one (`predicted`).
    """
    A, c = problem.A, problem.c
    z = problem.margins(theta)
    target, predicted = tol, None
    while penalty < LARGEST_PENALTY:
        first = True
        while True:
            a, ca, loss, _, complementarity = multiplier_step(reference, z, penalty, c)
            gradient = problem.B @ theta - problem.q - A.transposed_times(ca)
            # P - D = 1/2 |Bw - g|^2_{B^-1} + sum c (max(z, 0) - a z): residual of the inner problem, and complementarity.
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
            if predicted is not None:
                beyond = np.where(predicted, c * (reference + penalty * z - a), 0.0)
                step = _newton_direction(problem, gradient - A.transposed_times(beyond), predicted, penalty)
                predicted = None
            if step is None or gradient @ step >= 0:
                step = _newton_direction(problem, gradient, active_set(a), penalty)
            if step is None:
                best.offer(problem, theta, ca)
                return
            dz = -A.times(step)
            t = _line_search(problem, theta, step, gradient, reference, penalty, z, dz)
            theta, z = theta + t * step, z + t * dz
            best.n_iter += 1
            first = False
        reference, penalty, predicted = a, penalty * GROWTH, active_set(a)
        if predicted.sum() > WIDE_ACTIVE_SET * A.D:
            predicted = None
    best.offer(problem, theta, ca)


def multiplier_step(reference, z, s, c):
    """``a = clip(reference + s z, 0, 1)``, ``c a``, and the sums of loss, ``c a`` and complementarity."""
    a = np.clip(reference + s * z, 0.0, 1.0)
    ca, positive = c * a, np.maximum(z, 0.0)
    return a, ca, float(np.sum(c * positive)), float(ca.sum()), float(np.sum(c * positive - ca * z))


def slope(reference, z, dz, s, t, c):
    """Slope of the hinge part along a direction dz, at step t."""
    return float(np.sum(c * np.clip(reference + s * (z + t * dz), 0.0, 1.0) * dz))


def active_set(a):
    """Mask of the rows with curvature."""
    return (a > 0.0) & (a < 1.0)


def _newton_direction(problem, gradient, rows, penalty):
    H = problem.B + problem.A.gram(rows, penalty * problem.c[rows])
    H[np.diag_indices_from(H)] *= 1.0 + 1e-12
    if problem.intercept:  # with an empty active set the intercept has no curvature
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
    """Mehrotra's predictor-corrector: ``A theta + xi - s = t`` with multipliers alpha of s and beta of xi."""
    A, c = problem.A, problem.c
    n = len(c)
    theta = np.zeros(A.D)
    alpha, beta = 0.5 * c, 0.5 * c
    s, xi = 1.0 + np.maximum(-problem.t, 0.0), 1.0 + np.maximum(problem.t, 0.0)
    lowest, patience = np.full(3, np.inf), PATIENCE
    while True:
        best.offer(problem, theta, alpha)
        if best.gap <= tol or best.n_iter >= max_iter:
            return
        best.n_iter += 1
        primal = A.times(theta) + xi - s - problem.t
        dual = problem.B @ theta - problem.q - A.transposed_times(alpha)
        mu = (s @ alpha + xi @ beta) / (2 * n)
        scaling = 1.0 / (xi / beta + s / alpha)
        unseen = 1e-3 * tol * abs(best.objective) / (2 * n)  # complementarity that is negligible in the gap
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
    """Solve by Newton's method; by the interior point if that stalls."""
    n, start = len(problem.c), np.zeros(problem.A.D)
    best = Solution()
    best.offer(problem, start, np.zeros(n))  # zero is always feasible; a start that is worse is ignored
    if theta is not None:
        with np.errstate(over="ignore", invalid="ignore"):
            start = theta if problem.objective(theta) < best.objective else start
    reference = np.full(n, 0.5) if alpha is None else np.clip(alpha / problem.c, 0.0, 1.0)
    penalty = COLD_PENALTY if alpha is None else WARM_PENALTY
    budget = 0 if options.method == "interior-point" else min(options.max_iter, NEWTON_BUDGET)
    newton(problem, start, reference, penalty, options.tol, budget, best)
    if not best.gap <= options.tol and best.n_iter < options.max_iter:
        before = best.gap
        interior_point(problem, options.tol, options.max_iter, best)
        best.method = "reference-interior-point" if best.gap < before else best.method
    return best


def solve_batch(batch: Batch, options: Options, start: Start) -> Results:
    """Solve one problem after the other; the counterpart of ``_core.solve_batch``."""
    P, K, (n, d) = len(batch), len(batch.Cs), batch.rows.shape
    coef, intercept, alpha = np.zeros((P, K, d)), np.zeros((P, K)), np.zeros((P, K, n))
    objective, dual, n_iter = np.zeros((P, K)), np.zeros((P, K)), np.zeros((P, K), dtype=np.int64)
    method = np.full((P, K), "", dtype=object)
    for p in range(P):
        J, y, t, weights = participants(batch, p)
        rows, regularizer, combine = in_features(batch, p, J)
        A = SignedRows(rows, y, batch.intercept)
        theta = None
        if start.coef is not None and rows.shape[1] == d:
            theta = A.centred(start.coef[p], 0.0 if start.intercept is None else start.intercept[p])
        sides = y if isinstance(batch.labels, Targets) else np.ones(len(y))  # multipliers of a regression are signed
        multipliers = None if start.alpha is None else np.maximum(sides * start.alpha[p, J], 0.0)
        for k, C in enumerate(batch.Cs):
            problem = Problem(A, C * weights, regularizer, t)
            best = solve_problem(problem, options, theta, multipliers)
            best.theta = centre_intercept(problem, options.tol, best.alpha, best.theta)
            w, intercept[p, k] = A.in_users_units(best.theta)
            coef[p, k] = combine(w)
            alpha[p, k] = np.bincount(J, sides * best.alpha, n)
            exact = users_problem(batch, p, J, y, t, problem.c).objectives(coef[p, k], intercept[p, k], best.alpha)
            objective[p, k], bound = (best.objective, best.dual_objective) if exact is None else exact
            dual[p, k], n_iter[p, k] = min(bound, objective[p, k]), best.n_iter
            method[p, k] = best.method
            theta, multipliers = best.theta, best.alpha * (batch.Cs[k + 1] / C if k + 1 < K else 1.0)
    bounds = certificate(objective, dual, n_iter, options.tol)
    status = status_of(bounds["converged"], n_iter >= options.max_iter)
    kept = alpha if options.keep_alpha else None
    return Results(batch.Cs, coef, intercept, **bounds, alpha=kept, method=method.astype(str), status=status)


def participants(batch, p):
    """Row numbers, labels, targets and weights of problem p: rows of its subset with a label and a positive weight.

    Of a regression every row is there twice: above and below the tube around its target.
    """
    subset, label, _ = batch.cells[p]
    J = batch.subsets[subset] if batch.subsets else np.arange(len(batch.weights))
    J = J[batch.weights[J] > 0]
    if isinstance(batch.labels, Targets):
        y, targets, (epsilon, *sides) = (
            np.repeat([1.0, -1.0], len(J)),
            batch.labels.values[label, J],
            batch.labels.tubes[label],
        )
        check_taking_part(y)
        return np.tile(J, 2), y, y * np.tile(targets, 2) - epsilon, np.outer(sides, batch.weights[J]).ravel()
    J = J[batch.labels[label, J] != 0]
    y = batch.labels[label, J]
    check_taking_part(y)
    return J, y, np.ones(len(y)), batch.weights[J]


def users_problem(batch, p, J, y, t, c):
    """Problem p in the user's units, which the certificate is about."""
    form, r, d = batch.regularizers, batch.cells[p, 2], batch.rows.shape[1]
    B = np.ones(d) if form.matrices is None else form.matrices[r]
    q, constant = (np.zeros(d), 0.0) if form.linear is None else (form.linear[r], form.constants[r])
    return UserProblem(batch.rows.X[J], y, t, c, B, q, constant, batch.intercept)


def in_features(batch, p, J):
    """(rows J, regulariser, map of coefficients to the user's) of problem p, in as few coordinates as possible.

    With fewer rows than features the optimum is ``B^{-1} X'v``. With ``L^{-1} X' = QR`` for B = LL', the rows of R' and the
    identity replace X and B, and ``w = L^{-T} Q u``.
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


# -- The kernel solver: SMO with second-order selection of pairs, without shrinking, in double precision --------------


_FLAT = 1e-12  # relative curvature of a pair below which it is a rounding error


class KernelRows:
    """Rows of a kernel matrix, the last used ones kept in a cache of so many bytes."""

    def __init__(self, rows, cache):
        n = rows.shape[0]
        everything = np.arange(n)
        self.diagonal = rows.diagonal()
        self.row = lru_cache(max(2, int(cache / (8 * n))))(lambda i: rows.block(np.array([i]), everything)[0])

    def solve(self, y, weights, Cs, start, options, alpha, f, numbers):
        """Fill the last three arrays, as `_core.KernelRows.solve` does; return True if the kernel was found to be indefinite."""
        if y.ndim == 2:  # a regression: every row is there twice, above the tube and below it
            sides = np.array([[1.0], [-1.0]]) * (weights > 0)
            start = None if start is None else np.maximum([start, -start], 0.0).ravel()
            state = _State(_TwoSides(self), sides.ravel(), y.ravel(), start, options.intercept)
        else:
            state = _State(self, y, y, start, options.intercept)
        for k, found in enumerate(self._path(state, Cs[:, None] * weights.ravel(), options)):
            numbers[k] = found
            alpha[k], f[k] = state.alpha[: len(alpha[k])], state.f[: len(f[k])]
            if y.ndim == 2:
                alpha[k] -= state.alpha[len(alpha[k]) :]
        return state.negative

    def _path(self, state, bounds, options):
        """Solve for rising bounds of the multipliers; yield the numbers of each."""
        y = state.y
        for c in bounds:
            state.rescale(c * (y != 0))
            pairs, often = 0, max(16, len(y) // 4)
            while (gap := state.certificate()[3]) > options.tol and pairs < options.max_sweeps * len(y):
                options.callback(pairs, gap)
                moved = sum(state.move() for _ in range(often))
                pairs += moved
                if moved == 0:
                    break
            state.recompute()
            yield *state.certificate()[:3], pairs, 0, pairs >= options.max_sweeps * len(y)


class _TwoSides:
    """The rows of a kernel matrix twice, one after the other."""

    def __init__(self, rows):
        self.diagonal, self.row = np.tile(rows.diagonal, 2), lambda i: np.tile(rows.row(i % len(rows.diagonal)), 2)


class _State:
    """Multipliers, and f = y t - K (y alpha), t the targets: all one, but for regression."""

    def __init__(self, rows, y, signed_targets, alpha, intercept):
        self.rows, self.y, self.signed_targets, self.intercept = rows, y, signed_targets, intercept
        self.alpha = np.zeros_like(y) if alpha is None else alpha.copy()
        self.c, self.negative = np.zeros_like(y), False
        self.recompute()

    @property
    def parts(self):
        """Both parts of the dual objective: targets times multipliers, and ``v'Kv``."""
        v = self.y * self.alpha
        return v @ self.signed_targets, v @ (self.signed_targets - self.f)

    def recompute(self):
        self.f = self.signed_targets.copy()
        for i in np.flatnonzero(self.alpha):
            self.f -= self.y[i] * self.alpha[i] * self.rows.row(i)

    def rescale(self, c):
        """Scale the multipliers to their best multiple within the new box."""
        self.c, some = c, self.alpha > 0
        if not some.any():
            return
        reward, square = self.parts
        best = max(reward, 0.0) / square if square > 0 else np.inf
        scale = min(best, np.min(c[some] / self.alpha[some]))
        self.alpha = np.minimum(scale * self.alpha, c)
        self.f = self.signed_targets + scale * (self.f - self.signed_targets)

    def certificate(self):
        """Intercept, objective, dual objective, relative gap."""
        y, f, c, alpha = self.y, self.f, self.c, self.alpha
        b = self._best_intercept() if self.intercept else 0.0
        reward, square = self.parts
        primal = 0.5 * square + c @ np.maximum(y * (f - b), 0.0)
        dual = reward - 0.5 * square
        self.negative |= bool(square < -1e-8 * alpha.sum())
        return b, primal, dual, (primal - dual) / max(abs(primal), 1e-300)

    def _sides(self):
        more, less = self.alpha < self.c, self.alpha > 0
        return np.where(self.y > 0, more, less) & (self.y != 0), np.where(self.y > 0, less, more) & (self.y != 0)

    def _best_intercept(self):
        up, down = self._sides()
        high, low = np.max(self.f[up], initial=-np.inf), np.min(self.f[down], initial=np.inf)
        if not np.isfinite([high, low]).all():
            return high if np.isfinite(high) else low if np.isfinite(low) else 0.0
        if high <= low:
            return 0.5 * (high + low)
        kinks = np.unique(self.f[(self.f >= low) & (self.f <= high) & (self.c > 0)])
        left = self.f <= kinks[:, None]
        slopes = ((self.y < 0) & left) @ self.c - ((self.y > 0) & ~left) @ self.c
        return kinks[min(np.searchsorted(slopes, 0.0), len(kinks) - 1)]

    def move(self):
        """Update a pair of multipliers, or one without an intercept; return False if the optimality conditions hold."""
        (up, down), f, diagonal = self._sides(), self.f, self.rows.diagonal
        if not self.intercept:
            slope = np.where(f > 0, up * f, down * f)
            i = int(np.argmax(slope**2 / np.maximum(diagonal, 1e-300)))
            return slope[i] != 0 and self._shift({i: 1.0}, f[i], diagonal[i], abs(diagonal[i]))
        if not up.any() or not down.any():
            return False
        i = int(np.argmax(np.where(up, f, -np.inf)))
        slope = np.where(down, np.maximum(f[i] - f, 0.0), 0.0)
        curvature = diagonal[i] + diagonal - 2.0 * self.rows.row(i)
        j = int(np.argmax(slope**2 / np.maximum(curvature, _FLAT * np.abs(diagonal[i] + diagonal) + 1e-300)))
        return slope[j] > 0 and self._shift({i: 1.0, j: -1.0}, slope[j], curvature[j], abs(diagonal[i] + diagonal[j]))

    def _shift(self, directions, slope, curvature, scale):
        self.negative |= bool(curvature < -1e-4 * scale)
        t = slope / max(curvature, _FLAT * scale + 1e-300)
        for i, sign in directions.items():
            room = self.c[i] - self.alpha[i] if self.y[i] * sign * t > 0 else self.alpha[i]
            t = np.sign(t) * min(abs(t), room)
        for i, sign in directions.items():
            self.alpha[i] = np.clip(self.alpha[i] + self.y[i] * sign * t, 0.0, self.c[i])
            self.f -= sign * t * self.rows.row(i)
        return True
