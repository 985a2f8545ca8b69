"""Folds of a kernel search where nothing is whitened: all of them share the rows of one kernel matrix.

It exists because a kernel machine needs kernel values only: those of one gamma serve all folds, problems and Cs. A fold is a
mask on the rows, and the scores of the rows that it holds out are there at the end for nothing.
"""

from __future__ import annotations

from numbers import Real

import numpy as np

from ..estimators.features import Expansion
from ..solvers import Batch, search_kernels
from .race import tail


class KernelFolds:
    """Serves the groups, one for each gamma, that are expansions in rows of a kernel: all of them together."""

    def __init__(self, data):
        self.data = data

    def score(self, tasks, scores, race=None):
        alike = self._alike(tasks)
        for functions, factors, folds in alike:
            told = _Told(self.data, tasks, folds, scores)
            with scores.work("fit", folds):
                search_kernels(
                    self._batch(tasks[0], factors, folds), [self.data.splits[i][1] for i in folds], functions,
                    tasks[0].options, told, told.race(race) if race and len(alike) == 1 else None,
                )  # fmt: skip

    def _alike(self, tasks):
        """[(kernel functions of the tasks, class factors, folds)]: folds with the same numbers for gamma and class weights."""
        groups, choices = {}, [task.group.features for task in tasks]
        given = all(isinstance(choice.gamma, Real) for choice in choices)  # and not of the rows of a fold
        for i in tasks[0].splits:
            if i == tasks[0].splits[0] or not given:
                part = self.data.part(i)
                functions = [choice.function(part.X, part.costs) for choice in choices]
            factors = self.data.factors(self.data.splits[i][0])
            key = (*(function and function.gamma for function in functions), *factors)
            groups.setdefault(key, (functions, factors, []))[2].append(i)
        return list(groups.values())

    def _batch(self, task, factors, folds):
        whole, features = self.data.training, task.group.features
        rows = Expansion.on(features, whole.X, whole.costs).kernel_rows(features.cache_size)
        return Batch(
            rows, whole.labels, whole.weight * factors[whole.codes], np.asarray(task.Cs, dtype=float),
            subsets=tuple(self.data.splits[i][0] for i in folds), intercept=whole.intercept,
        )  # fmt: skip


class _Told:
    """Makes scores of the decision values of held-out rows as these come."""

    def __init__(self, data, tasks, folds, scores):
        self.data, self.folds, self.scores = data, folds, scores
        self.members = [[task.group.member(0.0, C) for C in task.Cs] for task in tasks]

    def __call__(self, kernel, Cs, part, values):
        members, i = [self.members[kernel][c] for c in Cs], self.folds[part]
        self.scores.set_all(members, i, self.data.held_out(i).score_values(values, self.scores.keeper(members, i)))
        self.scores.progress.draw()

    def race(self, race):
        """What `search_kernels` asks who goes on."""

        def left(parts):
            flat = [member for own in self.members for member in own]
            beaten = race.beaten(flat, [self.folds[part] for part in parts], self.scores.given_up)
            out = tail(beaten.reshape(len(self.members), -1))
            self.scores.give_up({member for member, is_out in zip(flat, out.ravel(), strict=True) if is_out})
            return ~out

        return left
