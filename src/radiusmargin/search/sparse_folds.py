"""Folds of sparse data where columns are scaled at most: all of them on the one matrix, of which nothing is copied.

It exists because text has more columns than a scatter, or a copy of the rows for every fold, has room for. The separators of all
Cs would not fit either where classes are many: some problems at a time are solved and scored.
"""

from __future__ import annotations

import numpy as np

from .._blocks import split
from ..geometry.scatter import sparse_moments
from ..solvers import IDENTITY, Batch, Quadratics, Sparse, solve

BATCH = 1 << 23  # numbers of the separators that are solved for at a time
UNUSED = 1e100  # in B: a column that is constant in a training part has no say, whatever its numbers are


class SparseFolds:
    """Serves exponents up to 0 of sparse data."""

    def __init__(self, data):
        self.data = data

    def score(self, task, scores):
        group = task.group
        if group.eta > 0 or group.scatter != "total" or max(group.powers) > 0:
            return task.splits
        # Training parts that weigh their classes each in its own way have no common weights.
        apart = self.data.class_weight == "balanced"
        for splits in [(i,) for i in task.splits] if apart else [task.splits]:
            values = [self._values(splits, p, task, scores) for p in task.powers]
            with scores.work("score", list(splits)):
                for place, i in enumerate(splits):
                    held_out, of_all = self.data.held_out(i), np.concatenate([of_power[place] for of_power in values])
                    found = held_out.score_values(of_all, task.keeper(scores, i))
                    task.record(scores, i, found.reshape(len(task.powers), len(task.Cs)))
        return ()

    def _values(self, splits, power, task, scores):
        """Decision values (C, K, held-out rows) of every split."""
        whole, K, Cs = self.data.training, len(self.data.training.labels), task.Cs
        costs = whole.weight * self.data.factors(self.data.splits[splits[0]][0])[whole.codes]
        with scores.work("fit", list(splits)):
            regularizers = self._regularizers(splits, power, costs)
        out = [np.empty((len(Cs), K, len(self.data.splits[i][1]))) for i in splits]
        cells = np.array([[f, k, f if len(regularizers) > 1 else 0] for f in range(len(splits)) for k in range(K)])
        for block in split(len(cells), len(Cs) * whole.X.shape[1], BATCH):
            with scores.work("fit", list(splits)):
                batch = Batch(
                    Sparse(whole.X), whole.labels, costs, np.asarray(Cs, dtype=float), regularizers,
                    tuple(self.data.splits[i][0] for i in splits), cells[block], whole.intercept,
                )  # fmt: skip
                found = solve(batch, task.options)
            with scores.work("score", list(splits)):
                for f in np.unique(cells[block, 0]):
                    own = np.flatnonzero(cells[block, 0] == f)
                    out[f][:, cells[block][own, 1]] = self._scores(splits[f], found.coef[own], found.intercept[own])
        return out

    def _scores(self, i, coef, intercept):
        """Decision values (C, problems, held-out rows) for separators (problems, C, d)."""
        unseen = self.data.training.X[self.data.splits[i][1]]
        values = unseen @ coef.reshape(-1, coef.shape[2]).T + intercept.ravel()
        return values.T.reshape(*intercept.shape, -1).swapaxes(0, 1)

    def _regularizers(self, splits, power, costs):
        """B = D^(1 + p) of every training part."""
        if power == -1:
            return IDENTITY
        variances = []
        for i in splits:
            weight = np.zeros(len(costs))
            np.add.at(weight, self.data.splits[i][0], costs[self.data.splits[i][0]])
            variances.append(sparse_moments(self.data.training.X, weight)[1])
        B = np.array(variances) ** (1 + power)
        return Quadratics(np.where(B > 0, B, UNUSED))
