"""Scatter matrices of the training parts of many folds, by leaving moments out of a sum instead of summing anew."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from ..geometry.tempered import TemperedScatter, decompose

ROUNDING = 1e-10  # what subtraction leaves of a null space, relative to the largest eigenvalue


class FoldMoments:
    """Weights, sums and second moments of every (test fold, class), about one common point."""

    def __init__(self, X, codes, weights, folds):
        self.X, self.codes, self.weights = X, codes, weights
        self.n_classes = int(codes.max()) + 1
        self.shift = np.asarray(weights @ X).ravel() / weights.sum()
        self.all = self._moments(np.arange(X.shape[0]))
        self.left_out = [self._moments(test) for test in folds]

    def _moments(self, rows):
        d = self.X.shape[1]
        totals, sums, squares = (
            np.zeros(self.n_classes),
            np.zeros((self.n_classes, d)),
            np.zeros((self.n_classes, d, d)),
        )
        for c in range(self.n_classes):
            index = rows[self.codes[rows] == c]
            part, s = self.X[index], self.weights[index]
            part = (part.toarray() if sparse.issparse(part) else part) - self.shift
            totals[c], sums[c], squares[c] = s.sum(), s @ part, (part.T * s) @ part
        return totals, sums, squares

    def space(self, fold, kind="total", standardise=True) -> TemperedScatter:
        """The tempered scatter of everything but one fold (of all rows for fold None)."""
        totals, sums, squares = self.all
        if fold is not None:
            totals, sums, squares = (a - b for a, b in zip(self.all, self.left_out[fold], strict=True))
        total = totals.sum()
        mean = sums.sum(axis=0) / total
        S = squares.sum(axis=0) - total * np.outer(mean, mean)
        # What is left of a constant column after subtraction is rounding, not spread.
        floor = 1e-12 * np.maximum(np.diag(self.all[2].sum(axis=0)), np.diag(squares.sum(axis=0)))
        constant = np.diag(S) <= floor
        S[constant], S[:, constant] = 0.0, 0.0
        chosen = S
        if kind == "within":
            present = totals > 0
            centres = sums[present] / totals[present, None]
            chosen = squares[present].sum(axis=0) - (centres.T * totals[present]) @ centres
            chosen[constant], chosen[:, constant] = 0.0, 0.0
        return decompose(
            (S + S.T) / 2,
            (chosen + chosen.T) / 2,
            mean + self.shift,
            total,
            standardise=standardise,
            rtol=ROUNDING,
        )
