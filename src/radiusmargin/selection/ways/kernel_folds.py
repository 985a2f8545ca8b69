"""Folds of a kernel search where nothing is whitened: all of them share the rows of one kernel matrix.

It exists because a kernel machine needs kernel values only: those of one gamma serve all folds, problems and Cs. A fold is a
mask on the rows, and the scores of the rows that it holds out are there at the end for nothing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...features.space import Expansion
from ...problems import Batch
from ...solvers import solve_kernel

SINGLE = 1e-4  # relative gap from which single precision is enough to estimate it
BATCH = 1 << 20  # numbers that the folds of a batch take: an interrupt loses the batch that it comes into


class KernelFolds:
    """Serves groups that are expansions in rows of a kernel."""

    def __init__(self, data, fitting):
        self.data, self.fitting = data, fitting

    def score(self, task, scores):
        n, K = len(self.data.training.codes), len(self.data.training.labels)
        size = max(1, BATCH // (K * len(task.Cs) * n))
        for space, factors, folds in self._alike(task.group.features, task.splits):
            rows = space.kernel_rows(task.group.features.cache_size)
            for start in range(0, len(folds), size):
                self._score_batch(rows, factors, folds[start : start + size], task, scores)
        return ()

    def _alike(self, choice, splits):
        """[(space, class factors, folds)]: folds with the same number for gamma, and the same class weights."""
        groups = {}
        for i in splits:
            part = self.data.part(i)
            function = choice.function(part.X, part.costs)
            key = (function and function.gamma, *part.factors)
            if key not in groups:
                whole = replace(choice, gamma=function.gamma) if function else choice
                groups[key] = Expansion.on(whole, self.data.training.X, part.costs), part.factors, []
            groups[key][2].append(i)
        return groups.values()

    def _score_batch(self, rows, factors, folds, task, scores):
        whole, shape = self.data.training, (len(folds), len(self.data.training.labels), len(task.Cs))
        with scores.work("fit", folds):
            batch = Batch(
                rows, whole.labels, whole.weight * factors[whole.codes], np.asarray(task.Cs, dtype=float),
                subsets=tuple(self.data.splits[i][0] for i in folds), intercept=whole.intercept,
            )  # fmt: skip
            strict = task.tol < SINGLE
            found = solve_kernel(batch, self.fitting.options(task.tol), keep_scores=True, strict=strict)
        with scores.work("score", folds):
            values = found.scores.reshape(*shape, -1).swapaxes(1, 2)
            for i, value in zip(folds, values, strict=True):
                test = self.data.splits[i][1]
                task.record(
                    scores, i, self.data.held_out(i).score_values(value[..., test], task.keeper(scores, i))[None]
                )
