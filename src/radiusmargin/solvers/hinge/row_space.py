"""Fewer rows than features: the optimum is a combination of rows, so that n coordinates are enough."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg, sparse

from ...problems import Batch, Dense, Quadratics


def reduced(batch: Batch):
    """(the same batch in coordinates of the rows, the way back of coefficients), or None where there is no gain."""
    n, d = batch.rows.shape
    form = batch.regularizers
    if d <= n or batch.subsets or len(form) > 1 or form.linear is not None:
        return None
    space = RowSpace(batch.rows.X, None if form.matrices is None else form.matrices[0])
    return replace(batch, rows=Dense(space.rows), regularizers=Quadratics()), space.lift


class RowSpace:
    """With fewer rows than features the optimum is ``B^{-1} X' v``: solve for the n coordinates instead of d.

    ``rows @ u`` equals ``X @ lift(u)`` and ``u @ u`` equals ``lift(u) @ B @ lift(u)``.
    """

    def __init__(self, X, B):
        self.B, self.factor = B, None
        if B is not None and B.ndim == 2:
            try:
                self.factor = linalg.cholesky(B, lower=True)
            except linalg.LinAlgError:
                raise ValueError("regularizer is not positive definite") from None
        # The basis is as large as X itself, so a sparse X with so few rows may as well be dense here.
        dense = X.toarray() if sparse.issparse(X) else X
        self.basis, R = linalg.qr(self._unscale(dense.T), mode="economic", overwrite_a=True, check_finite=False)
        self.rows = np.ascontiguousarray(R.T)

    def _unscale(self, V, transposed=False):
        """L^{-1} V, or L^{-T} V, for B = L L'."""
        if self.B is None:
            return V.copy()
        if self.factor is not None:
            return linalg.solve_triangular(self.factor, V, lower=True, trans="T" if transposed else "N")
        return V / np.sqrt(self.B)[:, None]

    def lift(self, coefs):
        return np.ascontiguousarray(self._unscale(self.basis @ coefs.T, transposed=True).T)
