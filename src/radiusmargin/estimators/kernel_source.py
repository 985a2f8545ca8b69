"""Where the engines take kernel values from: a function of rows, or a matrix that is there already."""

from __future__ import annotations

import numpy as np


class FunctionSource:
    """Blocks of the kernel matrix of the rows of X, computed when asked for."""

    def __init__(self, function, X):
        self.function, self.X = function, X
        self.n_rows = X.shape[0]

    def diagonal(self):
        return self.function.diagonal(self.X)

    def gram(self, index=None):
        """Kernel matrix of all rows, or of some."""
        return self.function(self.X if index is None else self.X[index])

    def columns(self, index):
        """Kernel values of all rows (down) against some (across)."""
        return self.function(self.X, self.X[index])

    def rank_bound(self):
        return self.function.rank_bound(self.X.shape[1])


class MatrixSource:
    """Blocks of a kernel matrix given by the user."""

    def __init__(self, K):
        self.K = K
        self.n_rows = len(K)

    def diagonal(self):
        return np.diagonal(self.K).copy()

    def gram(self, index=None):
        return self.K.copy() if index is None else self.K[np.ix_(index, index)]

    def columns(self, index):
        return self.K[:, index]

    def rank_bound(self):
        return np.inf
