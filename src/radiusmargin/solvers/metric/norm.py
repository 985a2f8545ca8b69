"""What eliminating the metric M leaves behind: a (smoothed) nuclear norm, its metric and its dual.

For a scatter T, weights W (one column per problem that shares M) and a smoothing eta >= 0, minimising over M ::

    1/2 tr(M^{-1} Q) + rho tr(MT)      or      1/2 tr(M^{-1} Q)  s.t.  tr(MT) <= kappa,        Q = WW' + eta I

gives ``sqrt(2 rho) N(W)`` or ``N(W)^2 / (2 kappa)`` with ``N(W) = tr (T^{1/2} Q T^{1/2})^{1/2}``, the nuclear norm of
``T^{1/2} [W, sqrt(eta) I]``. Everything below is in the coordinates ``V = T^{1/2} W``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..._linalg import eigh, eigvalsh, svd

RANK = 1e-9  # relative size of a singular value that is rounding


@dataclass(frozen=True)
class Constrained:
    """Eq. 11 of the paper, ``tr(MT) <= kappa``: the norm enters as ``phi(N) = N^2 / (2 kappa)``."""

    kappa: float
    is_quadratic = True  # phi(N) is, for one column without smoothing

    def value(self, N):
        return N**2 / (2 * self.kappa)

    def slope(self, N):
        return N / self.kappa

    @property
    def curvature(self):
        return 1.0 / self.kappa

    def bound(self, weight):
        """tr(MT) of the metric to start from, for rows of this total weight."""
        return self.kappa

    def dual_value(self, norm, alpha_sum, G, N):
        """See `MetricNorm.dual_value`. Every t >= |T^{-1/2}G|_2 gives a bound; the best is the slope of phi at the optimum."""
        spectral = norm.dual_norm(G)
        if norm.eta == 0.0:
            scale = min(1.0, alpha_sum / (self.kappa * spectral**2)) if spectral > 0 else 1.0
            return scale * alpha_sum - self.kappa / 2 * (scale * spectral) ** 2, scale
        t = max(spectral, self.slope(N))
        return alpha_sum + norm.smoothing(G, t) - self.kappa * t**2 / 2, 1.0

    def threshold(self, s, sigma):
        """Level at which the proximal map of phi / sigma clips singular values s.

        ``tau = N(U) / (kappa sigma)`` with ``N(U) = sum (s - tau)_+``: every number of values above tau is tried.
        """
        candidates = np.cumsum(s) / (self.kappa * sigma + np.arange(1, len(s) + 1))
        return candidates[np.flatnonzero(s > candidates)[-1]] if (s > candidates).any() else 0.0

    def threshold_slope(self, count, sigma):
        """How much the level moves with each of the `count` values above it."""
        return 1.0 / (self.kappa * sigma + count)

    def conjugate(self, t):
        """phi*(t)."""
        return self.kappa * t**2 / 2

    def metric_cost(self, M):
        """What M costs in the objective: nothing, since its trace is given (T is the identity here, and below)."""
        return 0.0

    def multiplier(self, inverse, Q):
        """rho, or what takes its place where the trace of M is fixed."""
        return np.trace(inverse @ Q) / (2 * self.kappa)

    def first_metric(self, M):
        return self.feasible_metric(M)

    def feasible_metric(self, M):
        return M * (self.kappa / np.trace(M))


@dataclass(frozen=True)
class Penalised:
    """Eq. 12 of the paper, ``rho tr(MT)`` in the objective: the norm enters as ``phi(N) = sqrt(2 rho) N``."""

    rho: float
    is_quadratic = False
    curvature = 0.0

    def value(self, N):
        return np.sqrt(2 * self.rho) * N

    def slope(self, N):
        return np.sqrt(2 * self.rho)

    def bound(self, weight):
        return weight

    def dual_value(self, norm, alpha_sum, G, N):
        t, spectral = self.slope(N), norm.dual_norm(G)
        scale = min(1.0, t / spectral) if spectral > 0 else 1.0
        return scale * alpha_sum + norm.smoothing(scale * G, t), scale

    def threshold(self, s, sigma):
        return self.slope(None) / sigma

    def threshold_slope(self, count, sigma):
        return 0.0

    def conjugate(self, t):
        return 0.0

    def metric_cost(self, M):
        return self.rho * np.trace(M)

    def multiplier(self, inverse, Q):
        return self.rho

    def first_metric(self, M):
        return M / np.sqrt(2 * self.rho)

    def feasible_metric(self, M):
        return M


class MetricNorm:
    """The function N for one T and eta, evaluated through one decomposition at a time."""

    def __init__(self, T, eta=0.0):
        values, vectors = eigh(T)
        if values[0] <= 0:
            raise ValueError("T is not positive definite.")
        self.T, self.eta = T, eta
        self.root = (vectors * np.sqrt(values)) @ vectors.T
        self.inverse_root = (vectors / np.sqrt(values)) @ vectors.T

    def with_eta(self, eta):
        other = object.__new__(MetricNorm)
        other.__dict__.update(self.__dict__, eta=eta)
        return other

    def at(self, W):
        return NormPoint(self, W)

    def value(self, W):
        V = self.root @ W
        if self.eta == 0.0:
            return svd(V, compute_uv=False).sum()
        return np.sqrt(eigvalsh(V @ V.T + self.eta * self.T).clip(0)).sum()

    def dual_value(self, form, alpha_sum, G, N):
        """(D, scale): a dual value, and the factor that makes the multipliers feasible.

        `G` has the columns ``sum_i alpha_i y_i x_i``, and N is the current norm; see section 4 of the mathematics page.
        """
        return form.dual_value(self, alpha_sum, G, N)

    def dual_norm(self, G):
        """|T^{-1/2} G|_2."""
        white = self.inverse_root @ G
        return np.linalg.norm(white) if white.shape[1] == 1 else np.linalg.norm(white, 2)

    def smoothing(self, G, t):
        """sqrt(eta) t tr (T - GG'/t^2)^{1/2}."""
        if self.eta == 0.0:
            return 0.0
        return np.sqrt(self.eta) * t * np.sqrt(eigvalsh(self.T - G @ G.T / t**2).clip(0)).sum()


class NormPoint:
    """N at one W: its value and the optimal metric."""

    def __init__(self, norm, W):
        self.norm = norm
        V = norm.root @ W
        self.v = V[:, 0]
        # Singular values, not eigenvalues of VV' + eta T: half the digits would be lost as eta goes to zero.
        wide = V if norm.eta == 0.0 else np.hstack([V, np.sqrt(norm.eta) * norm.root])
        self.vectors, roots, _ = svd(wide, full_matrices=norm.eta == 0.0)
        self.roots = np.zeros(len(V))
        self.roots[: len(roots)] = roots
        self.value = roots.sum()
        self.safe = np.maximum(self.roots, 1e-14 * max(self.roots[0], 1e-300))

    def root(self, form):
        """A factor A, one row per direction that M has, of the optimal metric ``M = A'A``.

        ``M = c T^{-1/2} Q~^{1/2} T^{-1/2}`` is the geometric mean of T^{-1} and Q, scaled. Its rank is decided here, where T
        is the identity: M itself is large where the data are thin, and says nothing of its rank.
        """
        slope = form.slope(self.value)
        there = self.roots > (0.0 if self.norm.eta > 0 else RANK * self.roots[0])  # smoothing gives M full rank
        if slope == 0 or not there.any():
            return np.zeros((1, len(self.norm.T)))
        return (self.norm.inverse_root @ self.vectors[:, there] * np.sqrt(self.roots[there] / slope)).T

    def expansion(self, form):
        """Gradient and Hessian of ``phi(N(w))`` for one column, where it is smooth (eta > 0, or w not zero).

        In the basis of the left singular vectors, with a = U'v and singular values s, ``dN = sum a_p x_p / s_p`` and
        the derivative of the inverse root contributes the divided differences ``E_pq = 1 / (s_p s_q (s_p + s_q))``.
        """
        half = self.norm.root @ self.vectors
        s, a = self.safe, self.vectors.T @ self.v
        if self.norm.eta == 0.0:
            gradient, curvature = np.zeros_like(s), np.full_like(s, 1.0 / s[0])
            gradient[0], curvature[0] = np.sign(a[0]), 0.0
            hessian = np.diag(curvature)
        else:
            gradient = a / s
            E = 1.0 / (np.multiply.outer(s, s) * np.add.outer(s, s))
            hessian = -E * np.multiply.outer(a, a)
            hessian[np.diag_indices_from(hessian)] += 1.0 / s - E @ a**2
        slope = form.slope(self.value)
        hessian = slope * hessian + form.curvature * np.multiply.outer(gradient, gradient)
        return slope * (half @ gradient), half @ hessian @ half.T

    def inverse_metric(self, form):
        half = self.norm.root @ self.vectors
        return (half / self.safe) @ half.T * form.slope(self.value)
