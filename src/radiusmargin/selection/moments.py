"""Scatter matrices of the training parts of many folds, by leaving moments out of a sum instead of summing anew."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..geometry.tempered import TemperedScatter, decompose, tempered_scatter

TRUSTED = 1e-8  # relative size of eigenvalues below which what subtraction leaves may be rounding


class FoldMoments:
    """Weights, sums and second moments of every test fold, about one common point.

    Kept per class only where they are needed apart: for the within-class scatter, or for class weights.
    """

    def __init__(self, X, codes, weights, folds, *, by_class):
        self.X, self.codes, self.weights = X, codes, weights
        self.groups = codes if by_class else np.zeros_like(codes)
        self.shift = np.asarray(weights @ X).ravel() / weights.sum()
        self.all = self._moments(np.arange(X.shape[0]))
        self.left_out = [self._moments(test) for test in folds]

    def _moments(self, rows):
        K, d = int(self.groups.max()) + 1, self.X.shape[1]
        totals, sums, squares = np.zeros(K), np.zeros((K, d)), np.zeros((K, d, d))
        for c in range(K):
            index = rows[self.groups[rows] == c]
            part, s = self.X[index], self.weights[index]
            part = (part.toarray() if sparse.issparse(part) else part) - self.shift
            totals[c], sums[c], squares[c] = s.sum(), s @ part, (part.T * s) @ part
        return totals, sums, squares

    def space(self, fold, train, factors, kind="total") -> TemperedScatter:
        """The tempered scatter of the rows `train`, which are all but one fold; `factors` weigh the classes."""
        totals, sums, squares = (a - b for a, b in zip(self.all, self.left_out[fold], strict=True))
        if len(totals) > 1:
            totals, sums, squares = factors * totals, factors[:, None] * sums, factors[:, None, None] * squares
        total = totals.sum()
        mean = sums.sum(axis=0) / total
        second = squares.sum(axis=0)
        S = second - total * np.outer(mean, mean)
        chosen = S
        if kind == "within":
            present = totals > 0
            centres = sums[present] / totals[present, None]
            chosen = second - (centres.T * totals[present]) @ centres
        # Small differences of large numbers are rounding: then the rows are asked themselves.
        trusted = np.diag(S) > TRUSTED * np.diag(self.all[2].sum(axis=0))
        if trusted.all() and np.trace(chosen) > TRUSTED * np.trace(S):
            space = decompose((S + S.T) / 2, (chosen + chosen.T) / 2, mean + self.shift, total)
            if space.full_rank and space.eigenvalues.min() > TRUSTED * space.eigenvalues.max():
                return space
        weights = self.weights[train] * factors[self.codes[train]]
        return tempered_scatter(self.X[train], self.codes[train], sample_weight=weights, kind=kind)
