"""More than two classes as problems of two: every pair of classes, or every class against the rest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

ONE_PAIR = np.array([0]), np.array([1])


@dataclass(frozen=True)
class Reduction:
    """How classes, numbered from 0, become columns of labels, and how scores of the columns become classes again.

    In a column of labels +1 and -1 are its two sides, and rows labelled 0 take no part. Two classes make one column either
    way.
    """

    n_classes: int
    pairs: bool = True

    def columns(self, codes):
        """One row of labels per pair i < j, in which j is +1, or one per class, which is +1."""
        if self.pairs or self.n_classes == 2:
            i, j = self._pairs()
            return (codes == j[:, None]).astype(float) - (codes == i[:, None])
        return np.where(codes == np.arange(self.n_classes)[:, None], 1.0, -1.0)

    def class_scores(self, scores):
        """Scores (..., n, columns) as scores of the classes, whose largest is the prediction; two classes keep theirs.

        Of pairs they are votes, and between equal numbers of votes the sum of the pairs' scores decides, as in
        scikit-learn's `OneVsOneClassifier` and ``SVC(break_ties=True)``.
        """
        if self.n_classes == 2 or not self.pairs:
            return scores
        i, j = self._pairs()
        sides = np.zeros((len(i), self.n_classes))
        sides[np.arange(len(i)), i], sides[np.arange(len(i)), j] = -1.0, 1.0
        votes = (np.where(scores > 0, 0.5, -0.5) @ sides) + (self.n_classes - 1) / 2
        sums = scores @ sides
        return votes + sums / (3 * (np.abs(sums) + 1))

    def predict(self, scores):
        """Codes (..., n) from scores (..., n, columns)."""
        scores = self.class_scores(scores)
        return (scores[..., 0] > 0).astype(int) if scores.shape[-1] == 1 else scores.argmax(axis=-1)

    def names(self, classes):
        """What every column separates."""
        if self.pairs or self.n_classes == 2:
            return tuple(f"{classes[j]} against {classes[i]}" for i, j in zip(*self._pairs(), strict=True))
        return tuple(f"{name} against the rest" for name in classes)

    def _pairs(self):
        if self.n_classes == 2:  # the general way takes a tenth of a small fit
            return ONE_PAIR
        return np.triu_indices(self.n_classes, 1)


def taking_part(column, weight):
    """Labels of -1 and +1 and weights for a solver that leaves out rows of weight zero."""
    return np.where(column == 0, 1.0, column), weight * (column != 0)
