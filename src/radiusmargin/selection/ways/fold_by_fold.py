"""Split by split: fits the features to a training part, and all members on it. It serves every group with explicit features.

It is the way of reference: the others exist because they are quicker, and are tested against it.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from ...features import LeadingFeatures
from ...features.space import Raw
from ...models.family import Family
from ...models.fsvm import FSVM


class FoldByFold:
    """Every split on its own."""

    def __init__(self, data, fitting):
        self.data, self.fitting = data, fitting

    def score(self, task, scores):
        for i in task.splits:
            train, test = self.data.splits[i]
            with scores.work("fit", i):
                part = self.data.part(i)
                space = task.group.features.explicit(task.group.powers[0])
                rows = space.fit(part.X, part.costs)
            with scores.work("score", i):
                unseen = space.rows(self.data.rows(test, train))
            fit = self._fit_smoothed if task.group.eta > 0 else self._fit_family
            with scores.work("fit", i):
                coef, intercept = fit(part, space, rows, task)
            with scores.work("score", i):
                task.record(scores, i, self.data.held_out(i).score(coef, intercept, unseen, task.keeper(scores, i)))
        return ()

    def _fit_family(self, part, space, rows, task):
        data = part.codes, part.costs
        family = Family.on(space, rows, data, task.group.scatter, task.powers, self.fitting.intercept)
        fit = family.fit(part.labels, part.costs, task.Cs, self.fitting.options(task.tol))
        return fit.coef, fit.intercept

    def _fit_smoothed(self, part, space, rows, task):
        models = [
            smoothed(task.group.member(p, C), self.fitting, task.tol, part.reduction, space)
            for p, C in product(task.powers, task.Cs)
        ]
        models = [model.fit(rows, part.codes, sample_weight=part.costs) for model in models]
        shape = len(task.powers), len(task.Cs), len(part.labels)
        coef, intercept = np.array([m.coef_ for m in models]), np.array([m.intercept_ for m in models])
        return coef.reshape(*shape, -1), intercept.reshape(shape)


def smoothed(member, fitting, tol, reduction, space):
    """The estimator of a member with eta > 0, for features that are there already; those of a map keep their units."""
    return FSVM(
        member.C, eta=member.eta, whitening=member.whitening, scatter=member.scatter, tol=tol,
        multi_class="ovo" if reduction.pairs else "ovr", max_iter=int(fitting.max_iter),
        fit_intercept=fitting.intercept,
    ).set_params(kernel="linear" if isinstance(space, Raw) else LeadingFeatures())  # fmt: skip
