"""The average of members: each divided by the size of its scores, so that none outweighs the others."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby

import numpy as np

from ..features.space import Raw
from ..geometry.powers import with_positive_pivots
from ..models.expansion import fit_expansion
from ..models.family import Family
from ..models.linear import LinearModel, Sum
from ..models.metric import RANK
from .data import blocks
from .ways.fold_by_fold import smoothed


@dataclass(frozen=True, eq=False)
class Averaged:
    """The model, and the sums of the members' certificates.

    `directions` (K, rank) turn scores of the problems into rows of the metric that the separators make.
    """

    model: Sum
    directions: np.ndarray
    objective: float
    dual_objective: float
    n_iter: int


class Averaging:
    """Fits members to all training rows, and averages their scores; of the data themselves that is one linear model."""

    def __init__(self, training, choice, fitting, tol):
        self.training, self.choice, self.fitting, self.tol = training, choice, fitting, tol

    def of(self, members, groups) -> Averaged:
        parts, totals, scores = [], np.zeros(3), 0.0
        for group in groups:
            own = sorted((m for m in members if group.holds(m)), key=lambda m: (m.whitening, m.C))
            if own:
                fit = self._expansion if group.is_expansion(self.choice) else self._explicit
                space, (coef, intercept), certificates, own_scores = fit(group, own)
                scores = scores + own_scores
                parts.append(LinearModel(space, coef / len(members), intercept / len(members), self.training.reduction))
                totals += certificates
        if isinstance(parts[0].space, Raw):
            coef, intercept = sum(part.coef for part in parts), sum(part.intercept for part in parts)
            parts = [LinearModel(parts[0].space, coef, intercept, self.training.reduction)]
        directions = _directions(scores, self.training.costs)
        return Averaged(
            Sum(tuple(parts)), directions * len(members), float(totals[0]), float(totals[1]), int(totals[2])
        )

    def _explicit(self, group, members):
        """(space, separators of the sum, certificates, scores) of members that share features."""
        training = self.training
        space = group.choice(self.choice).explicit(group.powers[0])
        rows = space.fit(training.X, training.costs)
        if group.eta > 0:
            coef, intercept, certificates = self._smoothed(space, rows, members)
        else:
            coef, intercept, certificates = self._family(space, rows, group, members)
        coef, intercept = self._sum(rows, coef, intercept)
        return space, (coef, intercept), certificates, np.asarray(rows @ coef.T)

    def _family(self, space, rows, group, members):
        training, found = self.training, []
        for power, own in groupby(members, key=lambda m: m.whitening):
            data = training.codes, training.costs
            family = Family.on(space, rows, data, group.scatter, (power,), self.fitting.intercept)
            Cs = [m.C for m in own]
            found.append(family.fit(training.labels, training.costs, Cs, self.fitting.options(self.tol)))
        totals = [(f.objective.sum(), f.dual_objective.sum(), f.results.n_iter.sum()) for f in found]
        coef = np.concatenate([f.coef[0] for f in found])
        return coef, np.concatenate([f.intercept[0] for f in found]), np.sum(totals, axis=0)

    def _smoothed(self, space, rows, members):
        training = self.training
        models = [
            smoothed(m, self.fitting, self.tol, training.reduction, space).fit(rows, training.codes, training.costs)
            for m in members
        ]
        totals = [(m.objective_, m.dual_objective_, m.n_iter_) for m in models]
        return np.array([m.coef_ for m in models]), np.array([m.intercept_ for m in models]), np.sum(totals, axis=0)

    def _expansion(self, group, members):
        choice, Cs, weight = group.choice(self.choice), [m.C for m in members], self.training.costs
        space, found = fit_expansion(choice, self.training, Cs, self.fitting.options(self.tol))
        squares = found.scores**2 @ weight / weight.sum()
        sizes = np.sqrt(squares.mean(axis=0)).clip(1e-300)
        coef = np.einsum("kcn,c->kn", found.coef, 1 / sizes)
        support = np.flatnonzero(coef.any(axis=0))
        bound = found.dual_objective.sum() if found.definite.all() else np.nan  # there is none
        totals = np.array([found.objective.sum(), bound, found.n_iter.sum()])
        intercept = found.intercept @ (1 / sizes)
        scores = np.einsum("kcn,c->nk", found.scores, 1 / sizes) - intercept
        return space.part(support), (coef[:, support], intercept), totals, scores

    def _sum(self, rows, coef, intercept):
        """Separators (M, K, d) of some members, each divided by the size of its scores, as those of their sum."""
        (M, K, d), sizes, weight = coef.shape, np.empty(len(coef)), self.training.costs
        for block in blocks(M, K * len(weight)):
            decision = np.asarray(rows @ coef[block].reshape(-1, d).T) + intercept[block].ravel()
            squares = weight @ decision**2 / weight.sum()
            sizes[block] = np.sqrt(squares.reshape(-1, K).mean(axis=1)).clip(1e-300)
        return np.einsum("mkd,m->kd", coef, 1 / sizes), np.einsum("mk,m->k", intercept, 1 / sizes)


def _directions(scores, weight):
    """`directions_of` scores (n, K) of weighted rows."""
    p = weight / weight.sum()
    Z = scores - p @ scores
    return directions_of((Z * p[:, None]).T @ Z)


def directions_of(covariance):
    """What turns scores into coordinates of their mean metric: each of unit variance, directions by their size."""
    deviation = np.sqrt(np.diag(covariance))
    unit = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0) / np.sqrt(len(deviation))
    values, axes = np.linalg.eigh(unit[:, None] * covariance * unit)
    kept = values > RANK * max(values[-1], 0.0)
    return unit[:, None] * with_positive_pivots(axes[:, kept][:, ::-1].T).T
