"""Former entries, for modules that do not speak of batches yet."""

from __future__ import annotations

import numpy as np

from ..._checks import check_Cs, check_data, check_labels, check_regularizer, check_weights
from ...problems import Batch, InnerProducts, Options, Quadratics, Start, rows_of
from ...problems.rows import Dense
from .entry import solve


def _solve(
    X, labels, weights, Cs, *, B=None, subsets=None, problems=None, start=(None, None), keep_alpha=False,
    fit_intercept=True, tol=1e-6, max_iter=1000, n_jobs=1, gram=None,
):  # fmt: skip
    rows = InnerProducts(gram) if X is None else rows_of(X)
    if gram is not None and rows.kind == "dense":
        rows = Dense(X, gram)
    cells = np.zeros((1, 3), dtype=np.int64) if problems is None else problems
    batch = Batch(rows, labels, weights, Cs, Quadratics(B), tuple(subsets or ()), cells, bool(fit_intercept))
    theta, alpha = start
    coef, intercept = (theta[:, :-1], theta[:, -1]) if theta is not None and fit_intercept else (theta, None)
    return solve(batch, Options(tol, max_iter, n_jobs, keep_alpha), Start(coef, intercept, alpha))


def quiet_path(X, y, Cs, regularizer, sample_weight, *, fit_intercept=True, tol=1e-6, max_iter=1000):
    X = check_data(X)
    n, d = X.shape
    y = check_labels(y, n)
    B = check_regularizer(regularizer, d)
    form = Quadratics(None if B is None else B[None])
    batch = Batch(
        rows_of(X), y[None], check_weights(sample_weight, n, y), check_Cs(Cs), form, intercept=bool(fit_intercept)
    )
    return solve(batch, Options(tol, max_iter, keep_alpha=True)).of(0)
