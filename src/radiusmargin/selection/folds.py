"""The training and test parts of a search: their features, and the scores of all members on them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from numbers import Integral, Real

import numpy as np
from sklearn.metrics import check_scoring

from ..models.fsvm import FSVM
from .family import fit_family
from .grid import Member


@dataclass(frozen=True)
class FeatureSet:
    """Features that several members share: one kernel map, from which `sizes` leading columns are taken.

    The default number of components depends on the exponent, so that without a number every exponent has a map of its own.
    """

    gamma: float | str | None
    n_components: int | float | None
    sizes: tuple
    powers: tuple

    def name(self, size):
        """What a member with this many columns calls its n_components."""
        return self.n_components if size is None else size


def feature_sets(search):
    """All feature sets that the grids of a search ask for."""
    powers = tuple(float(p) for p in listed(search.whitening))
    if search._is_linear:
        return [FeatureSet(None, None, (None,), powers)]
    numbers = [m for m in listed(search.n_components) if isinstance(m, Integral)]
    sets = []
    for gamma in listed(search.gamma):
        if numbers:
            sets.append(FeatureSet(gamma, max(numbers), tuple(sorted(int(m) for m in numbers)), powers))
        for m in listed(search.n_components):
            if m is None:
                sets += [FeatureSet(gamma, None, (None,), (p,)) for p in powers]
            elif not isinstance(m, Integral):
                sets.append(FeatureSet(gamma, m, (None,), powers))
    return sets


def take(X, rows, columns=None):
    """Rows of X; of a precomputed kernel also the columns that belong to the training rows."""
    return X[rows] if columns is None else X[np.ix_(rows, columns)]


class Fold:
    """One training and test part in the space of one feature set."""

    def __init__(self, search, rows, unseen, codes, weight, test_codes, test_weight):
        self.search, self.rows, self.unseen = search, rows, unseen
        self.codes, self.weight = codes, weight
        self.test_codes, self.test_weight = test_codes, test_weight

    def columns(self, size):
        """The same part with the leading columns only."""
        if size is None:
            return self
        parts = self.rows[:, :size], self.unseen[:, :size]
        return Fold(self.search, *parts, self.codes, self.weight, self.test_codes, self.test_weight)

    def score(self, space, powers, Cs, etas, key, split, scores):
        """Put the score of every member (exponent, eta, C) on this split into `scores`."""
        search = self.search
        columns = search._label_columns(self.codes)
        for eta in etas:
            if eta > 0:
                for p, C in product(powers, Cs):
                    member = Member(p, float(C), float(eta), **key)
                    model = search._plain_estimator(member, search.cv_tol)
                    model.fit(self.rows, self.codes, sample_weight=self.weight)
                    scores.set(member, split, self._score_one(model.coef_, model.intercept_))
                continue
            fit = fit_family(
                self.rows, columns, self.weight, space, powers, Cs, tol=search.cv_tol, max_iter=int(search.max_iter),
                fit_intercept=search.fit_intercept, n_jobs=search.n_jobs,
            )  # fmt: skip
            values = self.score_family(fit)
            for (i, p), (j, C) in product(enumerate(powers), enumerate(Cs)):
                scores.set(Member(p, float(C), **key), split, values[i, j])

    def score_family(self, fit):
        """Scores of fitted members, shape (P, C)."""
        if self.search.scoring is None or self.search.scoring == "accuracy":
            decision = fit.scores(self.unseen)
            predicted = decision[..., 0] > 0 if decision.shape[-1] == 1 else decision.argmax(axis=-1)
            return (predicted == self.test_codes) @ self.test_weight / self.test_weight.sum()
        P, C = fit.coef.shape[:2]
        return np.array([[self._score_one(fit.coef[i, j], fit.intercept[i, j]) for j in range(C)] for i in range(P)])

    def _score_one(self, coef, intercept):
        """Any scorer, on a model with the given separators."""
        model = FSVM()
        model.classes_, model.coef_, model.intercept_ = self.search.classes_, coef, intercept
        model.n_features_in_ = self.unseen.shape[1]
        scorer = check_scoring(model, scoring=self.search.scoring)
        truth = self.search.classes_[self.test_codes]
        if (self.test_weight == 1).all():
            return scorer(model, self.unseen, truth)
        return scorer(model, self.unseen, truth, sample_weight=self.test_weight)


def listed(value):
    """A list from a list or a single value."""
    return [value] if value is None or isinstance(value, (str, Real)) else list(value)
