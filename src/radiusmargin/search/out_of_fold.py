"""Decision values of rows by models that have not seen them, kept while members are scored.

Probabilities and the score of an average come from them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

LARGEST = 1e30  # value of a row that is kept in single precision: an outlier may be beyond it
MOST_VALUES = 1 << 18  # of a member: 2 MB. Beyond it every other held-out row is kept, or fewer


class FoldValues:
    """Decision values of every member on the rows that each split holds out, to score an average of members.

    Parameters
    ----------
    data : SearchData
    """

    def __init__(self, data):
        self.data, self._values = data, {}
        count = len(data.training.labels) * sum(len(test) for _, test in data.splits)
        self.step = -(-count // MOST_VALUES) if data.by_accuracy else 1  # other scorers may need every row

    def hear(self, member, split, values, right):
        """Take values (K, n_test) on the rows that a split holds out."""
        self._values.setdefault(member, {})[split] = values[:, :: self.step].copy()

    def score(self, weights) -> float:
        """Mean score over the splits of the sum of members times their weights."""
        return float(np.mean([self._score(weights, i) for i in range(len(self.data.splits))]))

    def _score(self, weights, i):
        values = sum(weight * self._values[member][i] for member, weight in weights.items())
        rows = self.data.held_out(i)
        rows = replace(rows, codes=rows.codes[:: self.step], weight=rows.weight[:: self.step])
        return rows.score_values(values[None])[0]


class OutOfFold:
    """Of every member one number for each problem and row that takes part in it; rows held out more than once have their mean.

    Parameters
    ----------
    labels : ndarray or ClassLabels of shape (K, n)
    splits : list of (train, test)

    Attributes
    ----------
    problem, row, label : ndarrays of one length
        Where each number belongs, and the label there.
    """

    def __init__(self, labels, splits):
        parts = [np.flatnonzero(label) for label in labels]
        self.problem, self.row = np.repeat(np.arange(len(parts)), [len(J) for J in parts]), np.concatenate(parts)
        self.label = np.concatenate([label[J] for label, J in zip(labels, parts, strict=True)])
        self.times = np.zeros(len(self.row))
        self._places, self._sums = [], {}
        place = np.full(labels.shape[1], -1)
        for _, test in splits:
            place[test] = np.arange(len(test))
            held = np.flatnonzero(place[self.row] >= 0)
            self._places.append((held, self.problem[held], place[self.row[held]]))
            self.times[held] += 1
            place[test] = -1

    def hear(self, member, split, values, right):
        """Take values (K, n_test) on the rows that a split holds out."""
        held, problem, row = self._places[split]
        sums = self._sums.setdefault(member, np.zeros(len(self.row), dtype=np.float32))
        sums[held] += values[problem, row].clip(-LARGEST, LARGEST)

    def mean(self, weights) -> np.ndarray:
        """Values of the sum of members times their weights; NaN for a row that was never held out."""
        total = sum(weight * self._sums[member] for member, weight in weights.items())
        return np.divide(total, self.times, out=np.full(len(total), np.nan), where=self.times > 0)
