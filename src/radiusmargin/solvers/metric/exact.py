"""Semismooth Newton on the augmented Lagrangian for problems whose columns meet in a nuclear norm.

The hinge solver's method, with a second term split off: both the hinge and ``psi(A) = phi(|A|_*)`` at ``A = [V,
sqrt(eta) T^{1/2}]`` (V alone for eta = 0) are replaced by their Moreau envelopes, so that eta = 0 needs no smoothing
and small eta costs nothing extra. The slope of the second envelope clips the singular values of ``sigma A + Y0``; its
derivative follows from their decomposition.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np
from scipy import linalg, sparse

from ..hinge import backend
from ..line_search import minimise_along
from ..problem import Quadratics
from ..result import relative_gap
from .problem import RadiusMarginProblem, RadiusMarginResult, initial_state

FIRST_PENALTY, FIRST_SIGMA = 3.0, 100.0
GROWTH = 1.5
RESIDUAL_SHARE = 10.0  # an inner problem is solved when its residual no longer dominates complementarity
RIDGE = 1e-5  # of what the envelope curves at most, for directions in which neither term does
NEGLIGIBLE = 1e-5  # relative size of singular values that the certificate is asked to do without


class NuclearEnvelope:
    """Moreau envelope of phi(|A|_*) at ``A = [V, K0]``, penalty sigma, reference Y0: its slope Y and derivative."""

    def __init__(self, norm, penalty):
        self.norm, self.penalty = norm, penalty
        self.block = np.sqrt(norm.eta) * norm.root

    def matrix(self, V):
        return np.hstack([V, self.block]) if self.norm.eta > 0.0 else V

    def slope(self, V, reference, sigma):
        """Y = sigma (P - prox(P)) for P = A + reference / sigma; also keeps the factors for `add_derivative`."""
        L, s, Rt = np.linalg.svd(self.matrix(V) + reference / sigma, full_matrices=False)
        tau = self.penalty.threshold(s, sigma)
        self.factors = L, s, Rt, tau, sigma, V.shape[1]
        return (L * (sigma * np.minimum(s, tau))) @ Rt

    def low_rank(self):
        """The proximal point of the last `slope`: close to V, and of exactly low rank (perhaps zero)."""
        L, s, Rt, tau, _, K = self.factors
        left = np.maximum(s - tau, 0.0)
        left[left < NEGLIGIBLE * left[0]] = 0.0
        return (L * left) @ Rt[:, :K]

    def conjugate(self):
        """phi*(|Y|_2) at the last `slope`, whose Y is feasible."""
        _, s, _, tau, sigma, _ = self.factors
        return self.penalty.conjugate(sigma * min(s[0], tau))

    def add_derivative(self, H):
        """Add d(T^{1/2} Y)/dW to the blocks of H, one block row and column per column of W, on and below the diagonal.

        In the rotated coordinates E~ = L'ER a direction E of V has its entry (p, q) multiplied by a divided difference
        of ``h(s) = min(s, tau)``, for the symmetric and the antisymmetric part of E~; what E has outside of L or of R
        is multiplied by h/s.
        """
        L, s, Rt, tau, sigma, K = self.factors
        R = Rt[:, :K].T  # the part of the right vectors that V can move
        G, (d, r) = self.norm.root @ L, L.shape
        symmetric, antisymmetric, single, above = _divided_differences(s, tau)
        direct, crossed = (symmetric + antisymmetric) / 2, (symmetric - antisymmetric) / 2
        inner = R[:, None, None, :] * (sigma * crossed)[:, None, :] * R.T[None, :, :, None]  # (l, p, k, q)
        diagonal = np.einsum("pq,lq,kq->plk", direct, R, R, optimize=True)
        diagonal += single[:, None, None] * (np.eye(K) - R @ R.T)
        p = np.arange(r)
        inner[:, p, :, p] += sigma * diagonal
        moves = self.penalty.threshold_slope(above.sum(), sigma)
        if moves and above.any():  # tau moves with P too: by the mean change of the values above it, damped
            u = (R * above).ravel()
            inner += sigma * moves * np.multiply.outer(u, u).reshape(inner.shape)
        half = inner @ G.T
        outside, mixing = self.norm.T - G @ G.T, sigma * (R * single) @ R.T
        for k in range(K):
            row = H[k * d : (k + 1) * d, : (k + 1) * d]
            row += G @ half[k, :, : k + 1].reshape(r, -1)
            if r < d:
                row += (outside[:, None, :] * mixing[k, : k + 1, None]).reshape(d, -1)


def _divided_differences(s, tau):
    """Of h(s) = min(s, tau): (h_p - h_q)/(s_p - s_q), (h_p + h_q)/(s_p + s_q), h/s, and which s exceed tau."""
    h, above = np.minimum(s, tau), s > tau
    difference, total = s[:, None] - s, s[:, None] + s
    distinct = np.abs(difference) > 1e-12 * max(s[0], 1e-300)
    limit = np.where(above[:, None] & above, 0.0, 1.0)
    symmetric = np.where(distinct, (h[:, None] - h) / np.where(distinct, difference, 1.0), limit)
    antisymmetric = np.where(total > 0, (h[:, None] + h) / np.where(total > 0, total, 1.0), 1.0)
    return symmetric, antisymmetric, np.where(s > 0, h / np.where(s > 0, s, 1.0), 1.0), above


def solve_matrix_newton(problem, state):
    """Improve `state` until its certified gap is at most `problem.tol`."""
    if state.certify() > problem.tol or problem.norm.eta == 0.0:
        _MatrixNewton(problem, state).run(problem.max_iter - state.n_iter)


@dataclass
class _Point:
    """What one evaluation of the augmented Lagrangian leaves: multipliers a, Y and gradients, and the gap's two parts."""

    a: np.ndarray
    ca: np.ndarray
    Y: np.ndarray
    gradient: np.ndarray
    shift: np.ndarray
    objective: float
    residual: float
    complementarity: float


class _MatrixNewton:
    """References a0 and Y0 with penalties s and sigma, the current margins z, and the `state` that is improved."""

    def __init__(self, problem, state):
        self.problem, self.state = problem, state
        self.X, self.signs = problem.X, problem.Y
        self.c = problem.costs
        self.envelope = NuclearEnvelope(problem.norm, problem.penalty)
        self.root = problem.norm.root
        self.K, self.d = problem.n_columns, len(self.root)
        L, s, Rt = np.linalg.svd(self.envelope.matrix(self.root @ state.W), full_matrices=False)
        level = problem.penalty.slope(s.sum())
        self.reference = np.divide(state.alpha, self.c, out=np.zeros_like(self.c), where=self.c > 0)
        self.penalty = FIRST_PENALTY
        self.Y0, self.sigma = level * (L @ Rt), FIRST_SIGMA * level / max(s[0], 1e-300)

    def run(self, max_steps):
        tol, state = self.problem.tol, self.state
        for outer in count():
            self.z = 1.0 - self.signs * (self.X @ state.W + state.b).T
            for inner in count():
                point = self._evaluate()
                if point.residual + point.complementarity <= 0.5 * tol * point.objective and self._finish(point):
                    return
                enough = RESIDUAL_SHARE * max(point.complementarity, 0.05 * tol * point.objective)
                if inner > 0 and point.residual <= enough:
                    break
                if max_steps <= 0 or not self._step(point):
                    self._finish(point)
                    return
                max_steps -= 1
                state.n_iter += 1
            if outer > 0 and self._finish(point):
                return
            self.reference, self.Y0 = point.a, point.Y
            self.penalty = min(GROWTH * self.penalty, 1e10)
            self.sigma = min(GROWTH * self.sigma, 1e12)

    def _finish(self, point):
        """Whether the gap is reached; without smoothing the low-rank neighbour is preferred where it is as good."""
        state, problem = self.state, self.problem
        state.alpha = problem.feasible(point.ca)
        gap = state.certify()
        if problem.norm.eta > 0.0:
            return gap <= problem.tol
        W = problem.norm.inverse_root @ self.envelope.low_rank()
        if relative_gap(problem.objective(W, state.b), state.best_dual) > problem.tol:
            return False
        state.W = W
        return True

    def _evaluate(self):
        problem, W = self.problem, self.state.W
        a, ca, loss, total, complementarity = backend.multiplier_step(self.reference, self.z, self.penalty, self.c)
        V = self.root @ W
        Y = self.envelope.slope(V, self.Y0, self.sigma)
        signed = self.signs * ca
        G = self.X.T @ signed.T
        N = problem.norm.value(W)
        psi = problem.penalty.value(N)
        complementarity += psi + self.envelope.conjugate() - np.sum(Y * self.envelope.matrix(V))
        dual, _ = problem.norm.dual_value(problem.penalty, total, G, N)
        gradient = self.root @ Y[:, : self.K] - G
        # Two bounds of what an inexact inner solution costs: the true gap's share is the sharper one on the way, the
        # gradient's goes to zero.
        unsolved = min(psi + loss - dual - complementarity, N * np.linalg.norm(problem.norm.inverse_root @ gradient))
        shift = -signed.sum(axis=1) if problem.fit_intercept else np.zeros(self.K)
        return _Point(
            a=a, ca=ca, Y=Y, gradient=gradient, shift=shift, objective=psi + loss,
            residual=max(unsolved, 0.0) + np.abs(shift).sum(), complementarity=complementarity,
        )  # fmt: skip

    def _step(self, point):
        state, size = self.state, self.K * self.d
        right = np.concatenate([point.gradient.T.ravel(), point.shift])
        try:
            # The lower triangle by rows is the upper one by columns, which LAPACK takes without a copy.
            factor = linalg.cho_factor(self._hessian(point).T, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return False
        direction = -linalg.cho_solve(factor, right, check_finite=False)
        dW, db = direction[:size].reshape(self.K, self.d).T, direction[size:]
        dz = -self.signs * (self.X @ dW + db).T
        V, dV = self.root @ state.W, self.root @ dW

        def slope(t):
            Y = self.envelope.slope(V + t * dV, self.Y0, self.sigma)
            return np.sum(Y[:, : self.K] * dV) + backend.slope(self.reference, self.z, dz, self.penalty, t, self.c)

        t = minimise_along(slope, right @ direction)
        if not np.isfinite(t):
            return False
        state.W, state.b = state.W + t * dW, state.b + t * db
        self.z += t * dz
        return True

    def _hessian(self, point):
        """Lower triangle of the Newton matrix, for all columns of W and then for b."""
        d, size = self.d, self.K * self.d
        H = np.zeros((size + self.K, size + self.K))
        self.envelope.add_derivative(H)
        for k in range(self.K):
            band = np.flatnonzero((point.a[k] > 0.0) & (point.a[k] < 1.0) & (self.c[k] > 0.0))
            rows, weights = self.X[band], self.penalty * self.c[k, band]
            scaled = rows.multiply(weights[:, None]).tocsr() if sparse.issparse(rows) else rows * weights[:, None]
            gram = rows.T @ scaled
            own, b = slice(k * d, (k + 1) * d), size + k
            H[own, own] += gram.toarray() if sparse.issparse(gram) else gram
            H[own, own] += RIDGE * self.sigma * self.problem.norm.T
            H[b, b] = 1.0
            if self.problem.fit_intercept:
                H[b, own] = np.asarray(scaled.sum(axis=0)).ravel()
                H[b, b] = weights.sum() + 1e-9 * self.c[k].sum()
        return H


# -- Proximal Newton for one separator whose metric cannot be eliminated to a quadratic form (eta > 0, or a penalty rho)


MOST_ROUNDS = 12  # where these do not suffice the regulariser is nearly a kink
HALVINGS = 4
CURVATURE_RIDGE = 1e-9  # relative: the penalised form has no curvature of its own along w
ONLY = np.array([0])


def solve_proximal_newton(problem, state):
    """Improve `state` until its certified gap is at most `problem.tol`, or put it back and return False."""
    start = state.W.copy(), state.b.copy()
    gap = state.certify()
    inner_tol = 0.1 * problem.tol
    for _ in range(MOST_ROUNDS):
        if gap <= problem.tol or state.n_iter >= problem.max_iter:
            return True
        W, b, objective = state.W.copy(), state.b.copy(), state.history[-1]["objective"]
        model = _quadratic_model(problem, W)
        state.take(ONLY, problem.hinge(ONLY, model, inner_tol, state.start(ONLY), spent=state.n_iter))
        state.certify()
        descends = _descends(problem, state, W, b, objective)
        gap = state.history[-1]["gap"]
        if not descends:
            break
        inner_tol = max(0.3 * inner_tol, 1e-12)  # the next round is there because this one was not enough
    if gap <= problem.tol:
        return True
    state.W, state.b = start
    return False


def _quadratic_model(problem, W):
    """The quadratic function that equals phi(N) to second order at W."""
    point, w = problem.norm.at(W), W[:, 0]
    gradient, H = point.expansion(problem.penalty)
    H = (H + H.T) / 2 + CURVATURE_RIDGE * problem.penalty.slope(point.value) / point.value * problem.norm.T
    constant = problem.penalty.value(point.value) - w @ gradient + w @ H @ w / 2
    return Quadratics(H[None], (H @ w - gradient)[None], np.array([constant]))


def _descends(problem, state, W, b, objective):
    """Shorten the step from (W, b) until the objective falls below `objective`; False where it heads for the kink."""
    for _ in range(HALVINGS):
        if state.history[-1]["objective"] <= objective * (1 + 1e-12):
            break
        state.W, state.b = (state.W + W) / 2, (state.b + b) / 2
        state.history.pop()
        state.certify()
    reached = state.history[-1]["objective"]
    at_kink = problem.norm.eta == 0.0 and reached >= problem.objective(np.zeros_like(W), state.b)
    return reached <= objective * (1 + 1e-12) and not at_kink


# -- `solver="exact"`: the method that a radius-margin problem needs --------------------------------------------------


def solve_exact(problem: RadiusMarginProblem) -> RadiusMarginResult:
    """Minimise to `tol`: by as few hinge problems as the model allows, by matrix Newton steps where it allows none.

    That is where columns share M, and near the kink of the penalised norm at w = 0.
    """
    state = initial_state(problem)
    if problem.is_plain:
        state.certify()
    elif problem.n_columns > 1 or not solve_proximal_newton(problem, state):
        solve_matrix_newton(problem, state)
    return state.result()
