"""A search on rows in chunks: members are scored on a subsample of the rows, and what was chosen is fitted to all of them.

Scoring all members on all rows costs a separator for each of them, fold and pass. On a subsample of 100,000 rows the choice is as
good to within the noise of the test rows (docs/large.md has the figures).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..estimators.features import Raw
from ..estimators.linear import LinearModel, Sum
from ..outofcore.fit import ChunkedTraining
from ..solvers.result import Certificate
from .ensemble import Averaged, directions_of, over_sizes

MOST_MEMBERS = 5  # in an average: each is a separator in every pass, and of many rows nearly all are near-best
RARE = 0.1  # share of the rows of a subsample that the classes have in equal parts, however rare they are


@dataclass(frozen=True, eq=False)
class SearchInChunks:
    """The data of a search: chunks after a first look at them.

    Attributes
    ----------
    training : ChunkedTraining
    """

    training: ChunkedTraining

    @classmethod
    def of(cls, search, X, y, sample_weight) -> SearchInChunks:
        return cls(ChunkedTraining.of(search, (X, y, sample_weight), full=True, least_rows=2 * int(search.subsample)))

    def subsample(self, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(X, y, weight) of random rows; of rare classes there are more, of less weight."""
        overview = self.training.overview
        classes, samples = overview.classes, overview.samples()
        counts = np.array([moments.rows for moments in overview.moments()])
        rate = min(1.0, rows / counts.sum(), *(sample.threshold for sample in samples))
        rates = np.maximum(rate, np.minimum(1.0, RARE * rows / len(classes) / counts))
        parts = [sample.below(r) for sample, r in zip(samples, rates, strict=True)]
        weights = [part.weight * (rate / part.threshold) for part in parts]
        y = np.repeat(classes, [len(part) for part in parts])
        # In the order of their keys, so that folds without a shuffle are random.
        order = np.argsort(np.concatenate([part.keys for part in parts]), kind="stable")
        return np.concatenate([part.X for part in parts])[order], y[order], np.concatenate(weights)[order]

    @staticmethod
    def weights(scores, band) -> dict:
        """The best of the near-best members, each with the same weight."""
        best = sorted(scores.near_best(band), key=lambda m: (-scores.table[m].mean(), m.preference))[:MOST_MEMBERS]
        return {member: 1 / len(best) for member in best}

    def average(self, weights, options, told, rank_tol) -> tuple[Averaged, list]:
        """Members fitted to all rows in the same passes, and averaged as `Averaging` does; and the result of every problem.

        `told` is called after every pass, unless it is None.
        """
        training, members = self.training, list(weights)
        scatters = {kind: training.scatter(kind, rank_tol) for kind in {m.scatter for m in members}}
        forms = [training.tempered(scatters[m.scatter], float(m.whitening)) for m in members]
        Cs = [float(m.C) for m in members]
        found = training.solve(list(zip(Cs, forms, strict=True)), options, told)
        results = [result for own in found for result in own]
        coef = np.array([[r.coef for r in own] for own in found])
        intercept = np.array([[r.intercept for r in own] for own in found])
        shares = over_sizes(weights, self._sizes(coef, intercept))
        coef, intercept = np.einsum("mkd,m->kd", coef, shares), np.einsum("mk,m->k", intercept, shares)
        moments = training.moments
        directions = directions_of(coef @ moments.scatter @ coef.T / moments.total)
        model = LinearModel(Raw(), coef, intercept, training.reduction)
        certificate = Certificate.of(*np.array([(r.objective, r.dual_objective, r.n_iter) for r in results]).T)
        shares = dict(zip(members, shares, strict=True))
        n_dropped = max(scatters[m.scatter].n_dropped if m.whitening > 0 else 0 for m in members)
        return Averaged(Sum((model,)), directions, shares, certificate, n_dropped), results

    def _sizes(self, coef, intercept):
        """Root mean squares of the members' scores on all rows, which their moments tell."""
        moments = self.training.moments
        variance = np.einsum("mkd,de,mke->mk", coef, moments.scatter, coef) / moments.total
        squares = variance + (coef @ moments.mean + intercept) ** 2
        return np.sqrt(squares.mean(axis=1))


__all__ = ["SearchInChunks"]
