"""The objective of every model as its docstring states it, computed from the data and what `fit` has returned.

Nothing here calls the library: these are the definitions that its certificates are held against.
"""

from itertools import combinations

import numpy as np


def objective(model, X, y, weight):
    """Summed over the problems of two classes, in which other rows take no part."""
    X, y, weight = X[weight > 0], np.asarray(y)[weight > 0], weight[weight > 0]
    problems = combinations(np.unique(y), 2)
    total = 0.0
    for k, (negative, positive) in enumerate(problems):
        part = (y == negative) | (y == positive)
        signs = np.where(y[part] == positive, 1.0, -1.0)
        w, b = model.coef_[k], model.intercept_[k]
        outputs = X[part] @ w + b
        slack = np.maximum(0.0, 1.0 - signs * outputs)
        total += OBJECTIVES[type(model).__name__](model, k, w, slack, (X[part], weight[part]), (X, weight))
    return total


def fsvm(model, k, w, slack, part, everything):
    """1/2 w'Tw/n + C sum s_i slack_i, with T = n R^p in standardised units."""
    X, weight = everything
    values, axes, scale = tempered(X, weight, model.rank_tol)
    inner = (w * scale) @ axes * values ** (model.whitening / 2)
    if model.whitening == 0:
        inner = w * scale
    return 0.5 * inner @ inner + model.C * part[1] @ slack


def tempered(X, weight, rank_tol):
    """Eigenvalues and axes of the weighted correlation matrix, by singular values of the rows, and the deviations.

    Directions in which standardised rows deviate by no more than `rank_tol` are left out.
    """
    p = weight / weight.sum()
    Z = X - p @ X
    Z -= p @ Z
    scale = np.sqrt(p @ Z**2)
    Z = Z / np.where(scale > 0, scale, 1.0) * np.sqrt(p)[:, None]
    _, roots, axes = np.linalg.svd(Z, full_matrices=False)
    keep = roots > max(rank_tol, 1e-13 * roots[0])
    return roots[keep] ** 2, axes[keep].T, scale


def svm(model, k, w, slack, part, everything):
    return 0.5 * w @ w + model.C * part[1] @ slack


def sigma_svm(model, k, w, slack, part, everything):
    X, weight = everything
    Z = X - weight @ X / weight.sum()
    spread = weight / weight.sum() @ (Z @ w) ** 2
    return 0.5 * ((1 - model.D) * w @ w + model.D * spread) + model.C * part[1] @ slack


def rmm(model, k, w, slack, part, everything):
    outputs = part[0] @ w + model.intercept_[k]
    assert np.abs(outputs).max() <= model.B * (1 + 1e-6), "a point outside of the bound is not feasible"
    return 0.5 * w @ w + model.C * part[1] @ slack


def mrsvm(model, k, w, slack, part, everything):
    mu = model.mu_[k]
    assert mu.min() >= 0
    assert abs(mu.sum() - 1) < 1e-9
    s = mu @ (np.ptp(part[0], axis=0) / 2) ** 2
    return 0.5 * weighted(w, mu) + model.C / (2 * s) * part[1] @ slack**2


def rsvm_plus(model, k, w, slack, part, everything):
    return 0.5 * w @ w + model.lam * half_diameter(part[0] * w) + model.C * part[1] @ slack


def rsvm_mu_plus(model, k, w, slack, part, everything):
    mu = model.mu_[k]
    r = half_diameter((part[0] - part[0][0]) * np.sqrt(mu))
    return 0.5 * weighted(w, mu) + model.lam * r + model.C * part[1] @ slack


def msvm(model, k, w, slack, part, everything):
    X, weight = part
    Z = X - weight @ X / weight.sum()
    return 0.5 * np.max((Z @ w) ** 2) + model.C * weight @ slack


def weighted(w, mu):
    assert not w[mu == 0].any()
    return np.sum(np.divide(w**2, mu, out=np.zeros_like(w), where=mu > 0))


def half_diameter(Z):
    """Half the largest squared distance of two rows."""
    differences = Z[:, None] - Z[None]
    return 0.5 * np.max(np.einsum("ijk,ijk->ij", differences, differences))


OBJECTIVES = {
    "FSVM": fsvm, "SVM": svm, "SigmaSVM": sigma_svm, "RMM": rmm, "MRSVM": mrsvm, "RSVMPlus": rsvm_plus,
    "RSVMMuPlus": rsvm_mu_plus, "MSVM": msvm,
}  # fmt: skip
