"""The splits of a search solved together: one compiled call for all folds, exponents, classes and C."""

from __future__ import annotations

from itertools import product

import numpy as np

from ..solvers.hinge import _solve
from .family import FamilyFit
from .features import exponents, feature_sets, listed
from .grid import Member
from .held_out import HeldOut
from .moments import FoldMoments

BATCH = 1 << 20  # numbers that the folds of a batch take: an interrupt loses the batch that it comes into


class FoldsTogether:
    """The splits of a search, for which `score` knows a shorter way; it returns what it has scored."""

    def __init__(self, search, X, codes, weight, splits):
        self.search, self.X, self.codes, self.weight, self.splits = search, X, codes, weight, splits
        self.labels = search._reduction.columns(codes)

    @staticmethod
    def _batches(folds, numbers):
        """The folds in batches, where each takes so many numbers."""
        size = max(1, BATCH // numbers)
        return [folds[start : start + size] for start in range(0, len(folds), size)]

    def _score(self, i, fit, rows):
        """Scores of the members fitted to split i, shape (P, C), where `rows` are what they are linear in."""
        test = self.splits[i][1]
        return HeldOut(self.search, self.codes[test], self.weight[test]).score(fit, rows[test])


class LinearFolds(FoldsTogether):
    """Training parts that are all rows but the test fold, in the user's units: they share the rows of one matrix.

    A fold whose scatter cannot be had by subtraction, or is singular, is left to the caller.
    """

    def __init__(self, search, X, codes, weight, splits):
        super().__init__(search, X, codes, weight, splits)
        self.powers = exponents(search)
        self.folds = [i for i, split in enumerate(splits) if self._is_complement(*split)]
        by_class = "within" in listed(search.scatter) or search.class_weight is not None
        tests = [splits[i][1] for i in self.folds]
        self.moments = FoldMoments(X, codes, weight, tests, by_class=by_class) if tests else None

    def _is_complement(self, train, test):
        n, d = self.X.shape
        if len(train) + len(test) != n or len(train) <= d:
            return False
        return bool((np.bincount(np.concatenate([train, test]), minlength=n) == 1).all())

    def score(self, Cs, scores):
        """Put the scores of members without smoothing into `scores`; returns the (feature set, split) that were scored."""
        done, (n, d) = set(self.folds), self.X.shape
        numbers = n * d + len(self.powers) * d * (d + len(self.labels) * len(Cs))
        if self.search.class_weight == "balanced":
            numbers = BATCH  # every training part has class weights of its own
        for scatter, batch in product(listed(self.search.scatter), self._batches(range(len(self.folds)), numbers)):
            done -= self._score_batch(batch, scatter, Cs, scores)
        return set(product(feature_sets(self.search), done))

    def _score_batch(self, batch, scatter, Cs, scores):
        """Score the folds of these places, which weigh their classes alike; returns those that are not to be trusted."""
        search, folds = self.search, np.array(self.folds)[batch]
        train = self.splits[folds[0]][0]
        factors = search._class_factors(self.codes[train], self.weight[train])
        ranks = scatter == "within" or not search.fit_intercept
        B, trusted = self.moments.regularizers(factors, scatter, self.powers, batch, ranks=ranks)
        if not trusted.all():
            B = B[:, trusted]
        left, folds = folds[~trusted], folds[trusted]
        if len(folds):
            with scores.work("fit", folds):
                coef, intercept = self._fit(folds, factors, B, Cs)
            with scores.work("score", folds):
                fits = [FamilyFit(coef[f], intercept[f]) for f in range(len(folds))]
                values = np.array([self._score(i, fit, self.X) for i, fit in zip(folds, fits, strict=True)])
                for (j, p), (k, C) in product(enumerate(self.powers), enumerate(Cs)):
                    scores.set(Member(p, float(C), scatter=scatter), folds, values[:, j, k])
        return set(left.tolist())

    def _fit(self, folds, factors, B, Cs):
        """Separators of shape (fold, power, C, problem, feature), and their intercepts."""
        search, (P, F), K = self.search, B.shape[:2], len(self.labels)
        problems = np.array([[f, k, p * F + f] for f in range(F) for p in range(P) for k in range(K)])
        batch = _solve(
            self.X, self.labels, self.weight * factors[self.codes], Cs, B=B.reshape(P * F, *B.shape[2:]),
            subsets=[self.splits[i][0] for i in folds], problems=problems, fit_intercept=search.fit_intercept,
            tol=search.cv_tol, max_iter=int(search.max_iter), n_jobs=search.n_jobs,
        )  # fmt: skip
        coef = batch.coef.reshape(F, P, K, len(Cs), -1).swapaxes(2, 3)
        return np.ascontiguousarray(coef), batch.intercept.reshape(F, P, K, len(Cs)).swapaxes(2, 3)
