"""Scatter matrices of the training parts of many folds, by leaving moments out of a sum instead of summing anew."""

from __future__ import annotations

import numpy as np
from scipy import sparse

TRUSTED = 1e-8  # relative size of eigenvalues below which what subtraction leaves may be rounding


class FoldMoments:
    """Weights, sums and second moments of every training part, about one common point: all rows but a test fold.

    Kept per class only where they are needed apart: for the within-class scatter, or for class weights.
    """

    def __init__(self, X, codes, weights, folds, *, by_class):
        self.X, self.codes, self.weights = X, codes, weights
        self.K = int(codes.max()) + 1 if by_class else 1
        self.shift = np.asarray(weights @ X).ravel() / weights.sum()
        if not sparse.issparse(X):
            self.X = self._extended(X)
        everything = self._moments(np.arange(X.shape[0]))
        self.raw = everything.sum(axis=0).diagonal()[:-1]
        self.parts = everything - np.array([self._moments(test) for test in folds])

    def _extended(self, rows):
        """Centred rows with a last entry of one: their second moments are those, the sums and the total weight."""
        return np.column_stack([rows - self.shift, np.ones(len(rows))])

    def _moments(self, rows):
        """Second moments of the extended rows, one matrix per class."""
        K = self.K
        return np.stack([self._second_moment(rows if K == 1 else rows[self.codes[rows] == c]) for c in range(K)])

    def _second_moment(self, rows):
        part = self._extended(self.X[rows].toarray()) if sparse.issparse(self.X) else self.X[rows]
        return (part.T * self.weights[rows]) @ part

    def scatters(self, factors, kind="total", folds=slice(None)):
        """(total scatter, scatter of the `kind`, weight, whether to trust them), stacked over the training parts.

        `factors` weigh the classes.
        """
        parts = self.parts[folds] if self.K == 1 else factors[:, None, None] * self.parts[folds]
        squares, sums, totals = parts[..., :-1, :-1], parts[..., -1, :-1], parts[..., -1, -1]
        total, second, sums_of_all = totals.sum(axis=1), squares.sum(axis=1), sums.sum(axis=1)
        S = chosen = second - sums_of_all[:, :, None] * (sums_of_all / total[:, None])[:, None, :]
        if kind == "within":
            roots = sums / np.sqrt(np.where(totals > 0, totals, 1.0))[..., None]  # the sum of no rows is zero
            chosen = second - roots.transpose(0, 2, 1) @ roots
        # Small differences of large numbers are rounding: then the rows have to be asked themselves.
        spread, left = np.einsum("fii->fi", S), np.einsum("fii->fi", chosen)
        trusted = (spread > TRUSTED * self.raw).all(axis=1) & (left.sum(axis=1) > TRUSTED * spread.sum(axis=1))
        return S, chosen, total, trusted

    def regularizers(self, factors, kind, powers, folds=slice(None), *, ranks=True):
        """(B = D^(1/2) R^p D^(1/2) for every power and training part, which parts to trust).

        Singular scatters are not to be trusted. Without `ranks` a power of 0 alone asks for standardising only, and the
        diagonals are given: an optimal separator then lies in the range of the scatter by itself.
        """
        S, chosen, total, trusted = self.scatters(factors, kind, folds)
        variance = np.einsum("fii->fi", S).clip(np.finfo(float).tiny) / total[:, None]
        if tuple(powers) == (0.0,) and not ranks:
            return variance[None], trusted
        scale = np.sqrt(variance)
        R = chosen / (scale[:, :, None] * scale[:, None, :] * total[:, None, None])
        if not np.isfinite(R).all():
            raise ValueError("X holds values so large that their squares overflow; rescale its columns.")
        values, vectors = np.linalg.eigh(R)
        trusted &= values[:, 0] > TRUSTED * values[:, -1]
        values = np.maximum(values, TRUSTED)
        scaled = scale[:, :, None] * vectors
        return np.stack([(scaled * values[:, None, :] ** p) @ scaled.transpose(0, 2, 1) for p in powers]), trusted
