"""Both objectives of a hinge problem without rounding, for the certificate of the NumPy solver."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import fsum

import numpy as np
from scipy import sparse

UNSEEN = 1e-10  # share of the objective below which rounding cannot be seen in a gap
UNIT = 4 * np.finfo(float).eps


@dataclass(eq=False)
class UserProblem:
    """A hinge problem in the user's units: rows, labels, weights of the loss, and ``1/2 w'Bw - q'w + constant``."""

    X: np.ndarray | sparse.csr_array
    y: np.ndarray
    c: np.ndarray
    B: np.ndarray  # a diagonal or a matrix
    q: np.ndarray
    constant: float
    intercept: bool

    def objectives(self, w, b, alpha):
        """Objective at (w, b) and dual objective at alpha; None where rounding in double precision cannot be seen."""
        z = 1.0 - self.y * (self.X @ w + b)
        rounding = UNIT * np.sqrt(self.X.shape[1] + 4) * (1.0 + abs(b) + abs(self.X) @ abs(w))
        form = self._square(w)
        size = abs(0.5 * form - self.q @ w + self.constant + self.c @ np.maximum(z, 0.0))
        of_form = UNIT * np.sqrt(len(w)) * (abs(w) @ abs(self._times_B(abs(w), abs(self.B))) + abs(self.q) @ abs(w))
        of_dual = np.sqrt(len(z)) * (alpha @ rounding + UNIT * size)
        if self.c @ rounding + of_form + of_dual <= UNSEEN * size:
            return None
        near = np.flatnonzero(z > -2.0 * rounding)
        scores = exact_times(self.X[near], w, b, -self.y[near])  # less one, on the side of the label
        loss = exact_dot(self.c[near], np.maximum(-self.y[near] * scores, 0.0))
        return fsum([0.5 * form, -exact_dot(self.q, w), self.constant, loss]), self._bound(z, b, w, alpha)

    def _bound(self, z, b, w, alpha):
        """The dual objective, less what it costs that multipliers are out of balance by rounding."""
        v, total = self.y * alpha, fsum(alpha)
        left, centre = fsum(v) if self.intercept else 0.0, np.asarray(self.X.mean(axis=0)).reshape(-1)
        shift = two_product(np.full(len(centre), -left), centre)
        g = exact_times(self.X.T.tocsr() if sparse.issparse(self.X) else self.X.T, v, *shift, self.q)
        u = g / self.B if self.B.ndim == 1 else np.linalg.solve(self.B, g)
        rest = g - self._times_B(u, self.B)
        remainder = rest @ (rest / self.B if self.B.ndim == 1 else np.linalg.solve(self.B, rest))
        bound = fsum([total, self.constant, -exact_dot(g, u), 0.5 * self._square(u), -0.5 * remainder])
        unbalanced = abs(left) * (1.0 + abs(b + centre @ w) + abs(z[alpha > 0]).max(initial=0.0))
        return bound - UNIT * (total + abs(self.constant) + abs(g) @ abs(u)) - unbalanced

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
    """``a @ b`` plus more numbers, rounded once."""
    return fsum([*np.concatenate(two_product(a, b)), *more])


def exact_times(X, w, *more):
    """``X @ w`` plus more vectors or numbers, every entry rounded once."""
    more = [np.broadcast_to(each, X.shape[0]) for each in more]
    if not sparse.issparse(X):
        return np.array([exact_dot(row, w, *(each[i] for each in more)) for i, row in enumerate(X)])
    ends = enumerate(pairwise(X.indptr))
    rows = ((i, X.data[first:last], w[X.indices[first:last]]) for i, (first, last) in ends)
    return np.array([exact_dot(values, factors, *(each[i] for each in more)) for i, values, factors in rows])
