"""Split by split: fits the features to a training part, and all members on it. It serves every group with explicit features.

It is the way of reference: the others exist because they are quicker, and are tested against it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from ..estimators import FSVM, LeadingFeatures
from ..estimators.family import Family
from ..estimators.features import FeatureSpace, Raw


@dataclass(frozen=True, eq=False)
class Features:
    """Training rows of a split, and those that it holds out, in a space that was fitted to the former."""

    space: FeatureSpace
    rows: Any
    unseen: Any

    def at(self, whitening) -> Features | None:
        """Of a kernel map: the leading features, as many as another exponent needs; None where this map does not have them."""
        fitted = self.space.transformer
        if whitening == fitted.whitening:
            return self
        if whitening < fitted.whitening or fitted.engine_ == "cholesky":  # pivots end earlier
            return None
        kept = slice(fitted.components_at(whitening))
        return Features(self.space, self.rows[:, kept], self.unseen[:, kept])


class FoldByFold:
    """Every split on its own."""

    def __init__(self, data):
        self.data = data
        self.gamma, self.maps = None, {}  # of the kernel that was scored last: its exponents follow each other

    def score(self, task, scores):
        fit = self._fit_smoothed if task.group.eta > 0 else self._fit_family
        for i in task.splits:
            part = self.data.part(i)
            features = self._features(task.group, part, i, scores)
            with scores.work("fit", i):
                coef, intercept = fit(part, features, task)
            with scores.work("score", i):
                keeper, held_out = task.keeper(scores, i), self.data.held_out(i)
                task.record(scores, i, held_out.score(coef, intercept, features.unseen, keeper))
        return ()

    def _features(self, group, part, i, scores):
        """Features for a split: fitted to its training part, or those of a map that was, for a smaller exponent."""
        if not group.features.has_kernel:  # their number does not depend on the exponent
            return self._fitted(group, part, i, scores)
        if self.gamma != group.features.gamma:
            self.gamma, self.maps = group.features.gamma, {}
        known = self.maps[i].at(group.powers[0]) if i in self.maps else None
        if known is None:
            known = self.maps[i] = self._fitted(group, part, i, scores)
        return known

    def _fitted(self, group, part, i, scores):
        train, test = self.data.splits[i]
        with scores.work("fit", i):
            space = group.features.explicit(group.powers[0])
            rows = space.fit(part.X, part.costs)
        with scores.work("score", i):
            return Features(space, rows, space.rows(self.data.rows(test, train)))

    def _fit_family(self, part, features, task):
        """Separators of all exponents; those that whiten have a range of their own."""
        group, powers, fits = task.group, np.array(task.powers), {}
        for some in filter(np.any, (powers <= 0, powers > 0)):
            own = tuple(powers[some].tolist())
            family = Family.on(features.space, features.rows, part, group.scatter, own, group.features.rank_tol)
            fit = family.fit(part.labels, part.costs, task.Cs, task.options)
            fits |= zip(own, zip(fit.coef, fit.intercept, strict=True), strict=True)
        coef, intercept = zip(*(fits[p] for p in task.powers), strict=True)
        return np.array(coef), np.array(intercept)

    def _fit_smoothed(self, part, features, task):
        models = [
            fit_smoothed(
                task.group.member(p, C), features.space, features.rows, part, task.options, task.group.features.rank_tol
            )
            for p, C in product(task.powers, task.Cs)
        ]
        shape = len(task.powers), len(task.Cs), len(part.labels)
        coef, intercept = np.array([m.coef_ for m in models]), np.array([m.intercept_ for m in models])
        return coef.reshape(*shape, -1), intercept.reshape(shape)


def fit_smoothed(member, space, rows, training, options, rank_tol) -> FSVM:
    """The estimator of a member with eta > 0, on rows in a space that was fitted; those of a map keep their units."""
    model = FSVM(
        **member.form, rank_tol=rank_tol, tol=options.tol, max_iter=options.max_iter,
        multi_class="ovo" if training.reduction.pairs else "ovr",
        fit_intercept=training.intercept, kernel="linear" if isinstance(space, Raw) else LeadingFeatures(),
    )  # fmt: skip
    return model.fit(rows, training.codes, sample_weight=training.costs)
