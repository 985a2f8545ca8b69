"""Small two-class problems, and the checks that every margin machine of the solvers has to pass."""

import cvxpy as cp
import numpy as np


def blobs(n=40, d=3, seed=0, distance=1.0):
    """Two Gaussian classes of equal size; they overlap unless `distance` is large."""
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return rng.normal(size=(n, d)) * (1.0 + np.arange(d) / 2) + distance * y[:, None] / np.sqrt(d), y


def hard_problems():
    """Name and data of problems that punish careless scaling, and of degenerate ones."""
    X, y = blobs()
    far, _ = blobs(distance=9.0)
    return {
        "large": (X * 1e4, y),
        "small": (X * 1e-4, y),
        "one large feature": (X * [1e4, 1, 1], y),
        "one small feature": (X * [1e-4, 1, 1], y),
        "far from the origin": (X + 1e4, y),
        "separable": (far, y),
        "separable and large": (far * 1e4, y),
        "redundant features": (np.c_[X, X[:, 0], X[:, 0] + X[:, 1]], y),
        "constant features": (np.c_[X, np.ones(40), np.zeros(40)], y),
        "duplicated rows": (np.r_[X, X, X[:5]], np.r_[y, y, y[:5]]),
        "contradictory rows": (np.r_[X, X], np.r_[y, -y]),
        "more features than rows": blobs(n=8, d=20),
        "one feature": (X[:, :1], y),
        "two rows": (X[:2], y[:2]),
        "unbalanced": (X[[1, 3, *range(0, 40, 2)]], y[[1, 3, *range(0, 40, 2)]]),
    }


def check_certificate(result, tol=1e-6):
    """Objective above dual objective, and both close."""
    assert result.objective >= result.dual_objective
    assert result.converged
    assert result.gap <= tol


def check_weights(solve, X, y, **tolerance):
    """Zero weights are rows left out, integer weights are repeated rows (also of an outlier)."""
    X, y = np.r_[X, 50.0 + X[:2]], np.r_[y, y[:2]]
    counts = np.r_[np.arange(len(y) - 2) % 3, 0, 0]
    counts[:2] = 1
    weighted = solve(X, y, sample_weight=counts)
    repeated = solve(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.objective, repeated.objective, rtol=1e-6)
    np.testing.assert_allclose(weighted.coef, repeated.coef, **({"rtol": 1e-3, "atol": 1e-4} | tolerance))
    assert not weighted.alpha[counts == 0].any()


def minimum(objective, constraints=()):
    """The oracle: cvxpy's minimum, by Clarabel with tight tolerances."""
    problem = cp.Problem(cp.Minimize(objective), list(constraints))
    problem.solve(solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9)
    return problem.value


def margins(X, y, w, b):
    """cvxpy's ``y_i (w'x_i + b)``."""
    return cp.multiply(y, X @ w + b)


def svm(X, y, C):
    """The oracle's SVM objective."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    return minimum(cp.sum_squares(w) / 2 + C * cp.sum(cp.pos(1 - margins(X, y, w, b))))


def random_rotation(d, seed=3):
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))[0]
