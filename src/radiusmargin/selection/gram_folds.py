"""The splits of a kernel search solved together where only inner products matter: without a feature map."""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy import linalg

from ..kernels.engines import DENSE_ROWS
from ..models.base import as_dense
from ..solvers.hinge import _solve
from .family import FamilyFit
from .features import feature_sets
from .grid import Member
from .together import FoldsTogether

JITTER = 1e-12  # times the number of rows: relative size of a negative eigenvalue that is rounding
EPS = np.finfo(float).eps


class GramFolds(FoldsTogether):
    """Euclidean members (exponent 0 of the total scatter) whose map would keep all components: all folds share one K.

    A separator is a combination of training rows, linear in the rows of K. Folds whose map would not keep everything (too
    many rows, a kernel that is not positive semi-definite), or would have something to complain of, and fits that do not
    converge in inner products are left to the caller.
    """

    def __init__(self, search, X, codes, weight, splits):
        super().__init__(search, X, codes, weight, splits)
        # Without an intercept the origin matters, which is the mean of the map's training rows.
        usable = search.fit_intercept and X.shape[0] <= DENSE_ROWS
        self.sets = [shared for shared in feature_sets(search) if usable and shared.euclidean]

    def score(self, Cs, scores):
        """Put the scores of euclidean members into `scores`; returns the (feature set, split) that were scored."""
        done = set()
        for shared in self.sets:
            for function, factors, folds in self._groups(shared):
                K = as_dense(self.X) if function is None else function(self.X)
                folds = [i for i in folds if _varies(K, self.splits[i][0])] if _is_kernel(function, K) else []
                for batch in self._batches(folds, len(self.labels) * len(Cs) * len(K)):
                    done |= {(shared, i) for i in self._score_group(K, factors, batch, shared, Cs, scores)}
        return done

    def _groups(self, shared):
        """[(kernel function, class factors, folds)]: folds with the same number for gamma, and the same class weights."""
        mapping, groups = shared.mapping(self.search), {}
        for i, (train, _) in enumerate(self.splits):
            factors = self.search._class_factors(self.codes[train], self.weight[train])
            function = mapping.kernel_function(self.X[train], self.weight[train] * factors[self.codes[train]])
            # With a small rank the features are the shorter description.
            rank = np.inf if function is None else function.rank_bound(self.X.shape[1])
            if mapping.keeps_all(function, len(train)) and len(train) <= 2 * rank:
                key = (function and function.gamma, *factors)
                groups.setdefault(key, (function, factors, []))[2].append(i)
        return groups.values()

    def _score_group(self, K, factors, folds, shared, Cs, scores):
        """Score those of some folds, which share K and weights, whose fits converged; returns them."""
        with scores.work("fit", folds):
            fits, converged = self._fit(K, factors, folds, Cs)
        fits = {i: fit for i, fit, known in zip(folds, fits, converged, strict=True) if known}
        with scores.work("score", folds):
            for i, fit in fits.items():
                for C, value in zip(Cs, self._score(i, fit, K)[0], strict=True):
                    scores.set(Member(0.0, float(C), gamma=shared.gamma), i, value)
        return fits.keys()

    def _fit(self, K, factors, folds, Cs):
        """Separators of every fold, and whether all of them converged."""
        problems = [[f, k, 0] for f, k in product(range(len(folds)), range(len(self.labels)))]
        batch = _solve(
            None, self.labels, self.weight * factors[self.codes], Cs, gram=np.ascontiguousarray(K),
            subsets=[self.splits[i][0] for i in folds], problems=np.array(problems), tol=self.search.cv_tol,
            max_iter=int(self.search.max_iter), n_jobs=self.search.n_jobs,
        )  # fmt: skip
        shape = len(folds), 1, len(self.labels), len(Cs)
        coef = batch.coef.reshape(*shape, -1).swapaxes(2, 3)
        intercept = batch.intercept.reshape(shape).swapaxes(2, 3)
        fits = [FamilyFit(w, b) for w, b in zip(coef, intercept, strict=True)]
        return fits, batch.converged.reshape(len(folds), -1).all(axis=1)


def _is_kernel(function, K):
    """Whether K is finite and positive semi-definite: else a map would complain, or take the positive part."""
    if not np.isfinite(K).all():
        return False
    if function is not None and function.is_definite:
        return True
    size = np.abs(K).max()
    if np.abs(K - K.T).max() > 1e-8 * size:
        return False
    try:
        linalg.cholesky(K + JITTER * len(K) * size * np.eye(len(K)), lower=True, check_finite=False)
    except linalg.LinAlgError:
        return False
    return True


def _varies(K, rows):
    """Whether the rows have different features: by their squared distances to the first."""
    squares, first = K.diagonal()[rows], K[rows[0], rows]
    return np.max(squares - 2 * first + first[0]) > 10 * len(rows) * EPS * squares.max()
