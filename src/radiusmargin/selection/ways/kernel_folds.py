"""Folds of a kernel search where nothing is whitened: all of them share one matrix of kernel values.

It exists because a kernel machine needs kernel values only: one matrix for each gamma serves all folds, problems and Cs.
"""

from __future__ import annotations

import numpy as np

from ...problems import Batch, InnerProducts
from ...solvers import solve

BATCH = 1 << 20  # numbers that the folds of a batch take: an interrupt loses the batch that it comes into


class KernelFolds:
    """Separators are combinations of training rows, linear in the rows of the kernel matrix."""

    def __init__(self, data, choice, fitting):
        self.data, self.choice, self.fitting = data, choice, fitting

    def score(self, task, scores):
        choice = task.group.choice(self.choice)
        for function, factors, folds in self._alike(choice, task.splits):
            with scores.work("fit", folds):
                K = np.ascontiguousarray(choice.products(function, self.data.training.X))
            size = max(1, BATCH // (len(self.data.training.labels) * len(task.Cs) * len(K)))
            for start in range(0, len(folds), size):
                self._score_batch(K, factors, folds[start : start + size], task, scores)
        return ()

    def _alike(self, choice, splits):
        """[(kernel function, class factors, folds)]: folds with the same number for gamma, and the same class weights."""
        groups = {}
        for i in splits:
            part = self.data.part(i)
            function = choice.function(part.X, part.costs)
            key = (function and function.gamma, *part.factors)
            groups.setdefault(key, (function, part.factors, []))[2].append(i)
        return groups.values()

    def _score_batch(self, K, factors, folds, task, scores):
        with scores.work("fit", folds):
            coef, intercept = self._fit(K, factors, folds, task)
        with scores.work("score", folds):
            for i, w, b in zip(folds, coef, intercept, strict=True):
                test = self.data.splits[i][1]
                task.record(scores, i, self.data.held_out(i).score(w, b, K[test]))

    def _fit(self, K, factors, folds, task):
        """Separators of shape (fold, 1, C, problem, row), and their intercepts."""
        whole, F, L = self.data.training, len(folds), len(self.data.training.labels)
        batch = Batch(
            InnerProducts(K), whole.labels, whole.weight * factors[whole.codes], np.asarray(task.Cs, dtype=float),
            subsets=tuple(self.data.splits[i][0] for i in folds),
        )  # fmt: skip
        found = solve(batch, self.fitting.options(task.tol))
        coef = found.coef.reshape(F, 1, L, len(task.Cs), -1).swapaxes(2, 3)
        return np.ascontiguousarray(coef), found.intercept.reshape(F, 1, L, len(task.Cs)).swapaxes(2, 3)
