"""Giving up members of a search that cannot be chosen any more.

After a split a member is given up that the best so far beats on the same rows beyond chance (the sign test on rows that one has
right and the other wrong), and beyond what is averaged with the best in the end.
"""

from __future__ import annotations

import numpy as np

LEAST_SPLITS = 3
CHANCE = 2.0  # standard deviations of a difference between two members that are met by chance


class Racing:
    """Hears which rows members are right on, and tells who is beaten.

    Parameters
    ----------
    splits : list of (train, test) row numbers
    weight : ndarray
        Of all rows.
    band : float
        Standard errors around the best within which members are wanted.
    """

    def __init__(self, splits, weight, band):
        self.weights = [weight[test] for _, test in splits]
        self.n = weight.sum() ** 2 / (weight**2).sum()  # rows of equal weight whose mean varies as much
        self.band = band
        self._right = {}

    @classmethod
    def of(cls, data, band) -> Racing | None:
        """On the data of a search; None where its scores are not shares of rows, or splits are few."""
        if not data.scores_are_shares or len(data.splits) < LEAST_SPLITS:
            return None
        return cls(data.splits, data.training.weight, max(1.0, float(band)))

    def hear(self, member, split, values, right):
        self._right.setdefault(member, {})[split] = right

    def beaten(self, members, splits, given_up):
        """Which of some members, all of one kind, cannot be chosen any more after some splits."""
        weight = np.concatenate([self.weights[i] for i in splits])
        scored = [m for m, own in self._right.items() if m not in given_up and own.keys() >= set(splits)]
        right = np.array([np.concatenate([self._right[m][i] for i in splits]) for m in scored])
        share = right @ weight / weight.sum()
        # What is averaged is near the best of its kind, whose best is near the best of all kinds.
        best = np.argmax(share)
        best_of_kind = np.argmax(np.where([m.kernel == members[0].kernel for m in scored], share, -1))
        out = self._behind(right, share, weight, best_of_kind, self.band)
        out |= self._behind(right, share, weight, best, 2 * self.band)
        going = {m for m, is_out in zip(scored, out, strict=True) if not is_out}
        return np.array([m not in going for m in members])

    def _behind(self, right, share, weight, best, band):
        """Who is behind by more than a band and than chance."""
        error = np.sqrt(share[best] * max(0.0, 1 - share[best]) / self.n)  # sums of weights are rounded
        chance = np.sqrt((right != right[best]) @ weight**2) / weight.sum()
        return share[best] - share > band * error + CHANCE * chance


def trailing_run(out: np.ndarray) -> np.ndarray:
    """Of members by increasing C, the largest Cs that are out: those after the last one that is not.

    Smaller Cs that are out stay in: the path to larger ones goes through them.
    """
    return np.logical_and.accumulate(out[..., ::-1], axis=-1)[..., ::-1]
