"""Folds of the data themselves that leave out their test rows: all of them, all exponents and Cs, in one compiled call.

It exists because forming a scatter and calling a solver for every fold costs more than the fits: the folds share the rows of
one matrix, and their scatters come from one sum by leaving moments out of it.
"""

from __future__ import annotations

import numpy as np

from ...problems import Batch, Quadratics, rows_of
from ...solvers import solve
from .moments import FoldMoments

BATCH = 1 << 20  # numbers that the folds of a batch take: an interrupt loses the batch that it comes into


class LinearFolds:
    """A fold whose scatter cannot be had by subtraction, or is singular, is left to another way."""

    def __init__(self, data, fitting):
        self.data, self.fitting = data, fitting
        self.folds = [i for i, split in enumerate(data.splits) if self._is_complement(*split)]
        self.place = {i: place for place, i in enumerate(self.folds)}
        self._moments, self._regularizers = {}, {}

    def _is_complement(self, train, test):
        n, d = self.data.training.X.shape
        if len(train) + len(test) != n or len(train) <= d:
            return False
        return bool((np.bincount(np.concatenate([train, test]), minlength=n) == 1).all())

    def score(self, task, scores):
        if task.group.eta > 0 or min(task.powers) < 0:
            return task.splits
        left = [i for i in task.splits if i not in self.place]
        for folds in self._batches([i for i in task.splits if i in self.place], task):
            left += self._score_batch(folds, task, scores)
        return tuple(left)

    def _batches(self, folds, task):
        (n, d), K = self.data.training.X.shape, len(self.data.training.labels)
        numbers = n * d + len(task.powers) * d * (d + K * len(task.Cs))
        if self.data.class_weight == "balanced":
            numbers = BATCH  # every training part has class weights of its own
        size = max(1, BATCH // numbers)
        return [folds[start : start + size] for start in range(0, len(folds), size)]

    def _score_batch(self, folds, task, scores):
        """Score folds that weigh their classes alike; returns those that are not to be trusted."""
        factors = self.data.factors(self.data.splits[folds[0]][0])
        with scores.work("fit", folds):
            B, trusted = self._regularizers_of(folds, task, factors)
            left, folds = [i for i, known in zip(folds, trusted, strict=True) if not known], np.array(folds)[trusted]
            separators = self._fit(folds, factors, B[:, trusted], task) if len(folds) else ()
        if len(folds):
            X, splits = self.data.training.X, self.data.splits
            with scores.work("score", folds):
                fits = zip(folds, *separators, strict=True)
                values = [
                    self.data.held_out(i).score(w, b, X[splits[i][1]], task.keeper(scores, i)) for i, w, b in fits
                ]
                task.record(scores, folds, np.array(values))
        return left

    def _regularizers_of(self, folds, task, factors):
        """(B (P, folds, ...), which folds to trust), kept for the next Cs."""
        scatter, places = task.group.scatter, tuple(self.place[i] for i in folds)
        key = scatter, places, task.group.powers
        if key not in self._regularizers:
            ranks = scatter == "within" or not self.fitting.intercept
            self._regularizers[key] = self._moments_of(scatter).regularizers(
                factors, scatter, task.group.powers, list(places), ranks=ranks
            )
        B, trusted = self._regularizers[key]
        return B[[task.group.powers.index(p) for p in task.powers]], trusted

    def _moments_of(self, scatter):
        by_class = scatter == "within" or self.data.class_weight is not None
        if by_class not in self._moments:
            whole, tests = self.data.training, [self.data.splits[i][1] for i in self.folds]
            self._moments[by_class] = FoldMoments(whole.X, whole.codes, whole.weight, tests, by_class=by_class)
        return self._moments[by_class]

    def _fit(self, folds, factors, B, task):
        """Separators of shape (fold, power, C, problem, feature), and their intercepts."""
        whole, (P, F), K = self.data.training, B.shape[:2], len(self.data.training.labels)
        cells = np.array([[f, k, p * F + f] for f in range(F) for p in range(P) for k in range(K)])
        batch = Batch(
            rows_of(whole.X), whole.labels, whole.weight * factors[whole.codes], np.asarray(task.Cs, dtype=float),
            Quadratics(np.ascontiguousarray(B.reshape(P * F, *B.shape[2:]))),
            tuple(self.data.splits[i][0] for i in folds), cells, bool(self.fitting.intercept),
        )  # fmt: skip
        found = solve(batch, self.fitting.options(task.tol))
        coef = found.coef.reshape(F, P, K, len(task.Cs), -1).swapaxes(2, 3)
        return np.ascontiguousarray(coef), found.intercept.reshape(F, P, K, len(task.Cs)).swapaxes(2, 3)
