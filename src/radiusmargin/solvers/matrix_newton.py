"""Semismooth Newton on the augmented Lagrangian for problems whose columns meet in a nuclear norm.

The hinge solver's method, with a second term split off: both the hinge and ``psi(A) = phi(|A|_*)`` at ``A = [V,
sqrt(eta) T^{1/2}]`` are replaced by their Moreau envelopes, so that eta = 0 needs no smoothing and small eta costs
nothing extra. The slope of the second envelope is ``Y = clip of the singular values of sigma A + Y0``; its derivative
follows from the singular value decomposition.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse

from ._line_search import minimise_along
from .metric_norm import Constrained
from .result import relative_gap

GROWTH = 2.5
RESIDUAL_SHARE = 3.0
NEGLIGIBLE = 1e-5  # relative size of singular values that the certificate is asked to do without


class NuclearEnvelope:
    """Moreau envelope of phi(|A|_*) at ``A = [V, K0]``, penalty sigma, reference Y0: its slope Y and derivative."""

    def __init__(self, norm, penalty):
        self.norm, self.penalty = norm, penalty
        self.block = np.sqrt(norm.eta) * norm.root  # all zero for eta = 0: padding that makes A wide

    def matrix(self, V):
        return np.hstack([V, self.block])

    def slope(self, V, reference, sigma):
        """Y = sigma (P - prox(P)) for P = A + reference / sigma; also keeps the factors for `derivative`."""
        L, s, Rt = np.linalg.svd(self.matrix(V) + reference / sigma, full_matrices=False)
        tau = self._threshold(s, sigma)
        self.factors = L, s, Rt, tau, sigma, V.shape[1]
        return (L * (sigma * np.minimum(s, tau))) @ Rt

    def low_rank(self):
        """The proximal point of the last `slope`: close to V, and of exactly low rank (perhaps zero)."""
        L, s, Rt, tau, _, K = self.factors
        left = np.maximum(s - tau, 0.0)
        left[left < NEGLIGIBLE * left[0]] = 0.0
        return (L * left) @ Rt[:, :K]

    def _threshold(self, s, sigma):
        """Level at which singular values are clipped: slope / sigma, where the slope may depend on what is left above
        it.
        """
        if not isinstance(self.penalty, Constrained):
            return self.penalty.slope(None) / sigma
        # tau = N(U) / (kappa sigma) with N(U) = sum (s - tau)_+: try every number of values above tau.
        counts = np.arange(1, len(s) + 1)
        candidates = np.cumsum(s) / (self.penalty.kappa * sigma + counts)
        return candidates[np.flatnonzero(s > candidates)[-1]] if (s > candidates).any() else 0.0

    def conjugate(self):
        """phi*(|Y|_2) at the last `slope`, whose Y is feasible."""
        _, s, _, tau, sigma, _ = self.factors
        return self.penalty.kappa * (sigma * min(s[0], tau)) ** 2 / 2 if isinstance(self.penalty, Constrained) else 0.0

    def derivative(self, basis):
        """dY/dV as an array of (K, K) blocks, each turned into ``G block G'`` with ``G = basis @ L``.

        In the rotated coordinates H~ = L'HR the derivative multiplies entry (p, q) by a divided difference of
        ``h(s) = min(s, tau)``, for the symmetric and the antisymmetric part of H~; what H has outside of R is
        multiplied by h/s.
        """
        L, s, Rt, tau, sigma, K = self.factors
        R = Rt[:, :K].T  # K x d: the part of the right vectors that V can move
        symmetric, antisymmetric, single, above = _divided_differences(s, tau)
        direct, crossed = (symmetric + antisymmetric) / 2, (symmetric - antisymmetric) / 2
        blocks = R[None, :, :, None] * crossed * R[:, None, None, :]  # (l, k, p, q)
        p = np.arange(len(s))
        blocks[:, :, p, p] += np.einsum("pq,kq,lq->lkp", direct, R, R, optimize=True)
        blocks[:, :, p, p] += single * (np.eye(K) - R @ R.T)[:, :, None]
        G = basis @ L
        blocks = sigma * (G @ blocks @ G.T)
        if isinstance(self.penalty, Constrained) and above.any():
            # tau moves with P too: by the mean change of the values above it, damped by kappa sigma.
            u = (R * above) @ G.T
            scale = sigma / (self.penalty.kappa * sigma + above.sum())
            blocks += scale * u[:, None, :, None] * u[None, :, None, :]
        return blocks


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
    solver = _MatrixNewton(problem, state)
    if state.certify() > problem.tol or problem.norm.eta == 0.0:
        solver.run(problem.max_iter)


class _MatrixNewton:
    def __init__(self, problem, state):
        self.problem, self.state = problem, state
        self.c = problem.C * problem.weights
        self.signs = problem.Y
        self.envelope = NuclearEnvelope(problem.norm, problem.penalty)
        self.root = problem.norm.root
        self.K, self.d = problem.n_columns, len(self.root)
        self.X = problem.X if not sparse.issparse(problem.X) else problem.X.tocsr()

    def run(self, max_steps):
        problem, state = self.problem, self.state
        V = self.root @ state.W
        A = self.envelope.matrix(V)
        L, s, Rt = np.linalg.svd(A, full_matrices=False)
        level = problem.penalty.slope(s.sum())
        reference = state.alpha / self.c
        Y0 = level * (L @ Rt)
        penalty, sigma = 10.0, 30.0 * level / max(s[0], 1e-300)
        steps = 0
        z = self._margins(state.W, state.b)
        while steps < max_steps:
            first = True
            while True:
                point = self._evaluate(state.W, z, reference, penalty, Y0, sigma)
                small = point["residual"] + point["complementarity"] <= 0.5 * problem.tol * point["objective"]
                if small or not first:
                    state.alpha = self._balanced(point["a"] * self.c)
                if small and self._finish():
                    return
                if not first and point["residual"] <= RESIDUAL_SHARE * max(
                    point["complementarity"], 0.05 * problem.tol * point["objective"]
                ):
                    break
                if steps >= max_steps or not self._step(state, z, point, reference, penalty, Y0, sigma):
                    state.certify()
                    return
                steps += 1
                state.n_iter += 1
                z = self._margins(state.W, state.b)
                first = False
            if self._finish():
                return
            reference, Y0 = point["a"], point["Y"]
            penalty, sigma = min(GROWTH * penalty, 1e10), min(GROWTH * sigma, 1e12)

    def _finish(self):
        """Whether the gap is reached; without smoothing the low-rank neighbour is preferred where it is as good."""
        state, problem = self.state, self.problem
        gap = state.certify()
        if problem.norm.eta == 0.0:
            W = problem.norm.inverse_root @ self.envelope.low_rank()
            if relative_gap(problem.objective(W, state.b), state.best_dual) <= problem.tol:
                state.W = W
                return True
        return gap <= problem.tol and problem.norm.eta > 0.0

    def _margins(self, W, b):
        return 1.0 - self.signs * (self.X @ W + b).T

    def _evaluate(self, W, z, reference, penalty, Y0, sigma):
        problem = self.problem
        a = np.clip(reference + penalty * z, 0.0, 1.0)
        V = self.root @ W
        Y = self.envelope.slope(V, Y0, sigma)
        ca = self.signs * (self.c * a)
        gradient = self.root @ Y[:, : self.K] - self.X.T @ ca.T
        shift = -ca.sum(axis=1) if problem.fit_intercept else np.zeros(self.K)
        N = problem.norm.value(W)
        positive = np.maximum(z, 0.0)
        psi = problem.penalty.value(N)
        complementarity = ((positive - a * z) @ self.c).sum()
        complementarity += psi + self.envelope.conjugate() - np.sum(Y * self.envelope.matrix(V))
        residual = N * np.linalg.norm(problem.norm.inverse_root @ gradient) + np.abs(shift).sum()
        return {
            "a": a, "Y": Y, "gradient": gradient, "shift": shift, "objective": psi + (positive @ self.c).sum(),
            "residual": residual, "complementarity": complementarity,
        }  # fmt: skip

    def _balanced(self, alpha):
        """y'alpha = 0 in every column, by shrinking the class that carries too much."""
        if not self.problem.fit_intercept:
            return alpha
        up = np.where(self.signs > 0, alpha, 0.0).sum(axis=1)
        down = alpha.sum(axis=1) - up
        least = np.minimum(up, down)
        factors = [np.where(total > 0, least / np.where(total > 0, total, 1.0), 0.0)[:, None] for total in (up, down)]
        return alpha * np.where(self.signs > 0, *factors)

    def _step(self, state, z, point, reference, penalty, Y0, sigma):
        d, K, D = self.d, self.K, self.d + 1
        intercept = self.problem.fit_intercept
        H = np.zeros((K, D, K, D))
        H[:, :d, :, :d] = self.envelope.derivative(self.root).transpose(0, 2, 1, 3)
        band = (point["a"] > 0.0) & (point["a"] < 1.0)
        for k in range(K):
            rows = self.X[band[k]]
            weights = penalty * self.c[band[k]]
            scaled = rows.multiply(weights[:, None]).tocsr() if sparse.issparse(rows) else rows * weights[:, None]
            gram = rows.T @ scaled
            H[k, :d, k, :d] += gram.toarray() if sparse.issparse(gram) else gram
            H[k, :d, k, d] = H[k, d, k, :d] = np.asarray(scaled.sum(axis=0)).ravel() if intercept else 0.0
            H[k, d, k, d] = weights.sum() + 1e-9 * self.c.sum() if intercept else 1.0
        H = H.reshape(K * D, K * D)
        H = (H + H.T) / 2
        # Directions in which neither term curves keep a little of the scatter.
        ridge = 1e-10 * np.mean(np.diag(H))
        H[np.diag_indices_from(H)] += ridge
        right = np.column_stack([point["gradient"].T, point["shift"]]).ravel()
        try:
            direction = -linalg.cho_solve(linalg.cho_factor(H, lower=True, check_finite=False), right)
        except linalg.LinAlgError:
            return False
        direction = direction.reshape(K, D)
        dW, db = direction[:, :d].T, direction[:, d] if intercept else np.zeros(K)
        dz = -self.signs * (self.X @ dW + db).T
        dV = self.root @ dW
        V = self.root @ state.W

        def slope(t):
            a = np.clip(reference + penalty * (z + t * dz), 0.0, 1.0)
            Y = self.envelope.slope(V + t * dV, Y0, sigma)
            return np.sum(Y[:, :K] * dV) + ((a * dz) @ self.c).sum()

        t = minimise_along(slope, right @ direction.ravel())
        if not np.isfinite(t):
            return False
        state.W, state.b = state.W + t * dW, state.b + t * db
        return True
