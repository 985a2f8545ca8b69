"""The scores of a search, and the rules that pick among them."""

from __future__ import annotations

import time
from contextlib import contextmanager

import numpy as np

from .plan import Member

# Of a kernel in an average: no worse than all that are near the best (benchmarks/auto_choices.py), and of a fine grid better
# than eight (benchmarks/kernel_search.py).
MOST_MEMBERS = 16
TIE = 1e-12  # scores closer than this are equal


class Scores:
    """Scores of members on splits, filled in split by split; what was not reached is NaN.

    `seconds` is the time that the fits and the scores of each split took, of all members together; `listeners` hear of the
    decision values behind the scores.
    """

    def __init__(self, n_splits, progress, listeners=()):
        self.n_splits, self.progress, self.listeners = n_splits, progress, listeners
        self.table: dict[Member, np.ndarray] = {}
        self.given_up: set[Member] = set()
        self.seconds = {"fit": np.zeros(n_splits), "score": np.zeros(n_splits)}
        self._ordered: list[Member] = []

    @contextmanager
    def work(self, what, splits):
        """Around work on some splits: "fit" or "score"."""
        start = time.perf_counter()
        with self.progress.task(what):
            yield
        self.seconds[what][splits] += (time.perf_counter() - start) / np.size(splits)

    def set(self, member, split, value):
        """Put the score of a member on one split, or its scores on several."""
        self.set_all([member], split, [value])

    def set_all(self, members, split, values):
        """The same for some members."""
        if not np.isfinite(values).all():
            self._refuse(members, split, values)
        for member, value in zip(members, values, strict=True):
            scores = self.table.get(member)
            if scores is None:
                scores = self.table[member] = np.full(self.n_splits, np.nan)
            scores[split] = value
        self.progress.known += len(members) * np.size(split)

    def _refuse(self, members, split, values):
        member, value = next((m, v) for m, v in zip(members, values, strict=True) if not np.isfinite(v).all())
        raise ValueError(f"scoring gave {value!r} for {member} on split {split}; it must be a finite number.")

    def keeper(self, members, split):
        """What is told decision values (M, K, n) of members on a split, in blocks of these, and which rows they have right."""
        if not self.listeners:
            return None

        def keep(block, *told):
            for member, *own in zip(members[block], *told, strict=True):
                for listener in self.listeners:
                    listener.hear(member, split, *own)

        return keep

    def members(self):
        """Members in order of preference."""
        if len(self._ordered) != len(self.table):
            self._ordered = sorted(self.table, key=lambda member: member.preference)
        return self._ordered

    def standing(self):
        """Members that were not given up, in order of preference."""
        return [m for m in self.members() if m not in self.given_up]

    def give_up(self, members):
        """Score some members no further: they are not chosen."""
        self.progress.known += sum(int(np.isnan(self.table[m]).sum()) for m in members - self.given_up)
        self.given_up |= members

    def values(self):
        """One row per member, in order of preference, one column per split."""
        return np.array([self.table[m] for m in self.members()])

    def finished(self):
        """Which splits have every score, but for members that were given up."""
        return ~np.isnan([self.table[m] for m in self.standing()]).any(axis=0)

    def drop_unfinished(self):
        """After an interrupt: without the members that were only begun, if others have all their scores."""
        whole = {m: values for m, values in self.table.items() if m in self.given_up or not np.isnan(values).any()}
        self.table = whole if whole.keys() - self.given_up else self.table

    def summary(self, among=None):
        """(members in order of preference, mean, standard error) over the finished splits, of all that stand or of some."""
        members = self.standing() if among is None else among
        values = np.array([self.table[m] for m in members])[:, self.finished()]
        error = values.std(axis=1, ddof=1) / np.sqrt(values.shape[1]) if values.shape[1] > 1 else np.zeros(len(values))
        return members, values.mean(axis=1), error

    def best(self, one_standard_error=False, among=None):
        """The preferred member among those with the best mean, or within one standard error of it."""
        members, mean, error = self.summary(among)
        top = int(np.argmax(mean >= mean.max() - TIE))
        reach = error[top] if one_standard_error else TIE
        return members[int(np.argmax(mean >= mean[top] - reach))]

    def near_best(self, band, among=None):
        """Every member within `band` standard errors of the best mean."""
        members, mean, error = self.summary(among)
        top = int(np.argmax(mean))
        return [m for m, value in zip(members, mean, strict=True) if value >= mean[top] - band * error[top] - TIE]

    def weights(self, band) -> dict[Member, float]:
        """What is averaged, and with which weight.

        Kinds of kernels whose best member is within `band` standard errors of the best of all have equal shares; within a
        kind the members near its best have, of a kernel the best few of them.
        """
        kinds = {}
        for member in self.standing():
            kinds.setdefault(member.kernel, []).append(member)
        leaders = {self.best(among=members): members for members in kinds.values()}
        chosen = [leaders[leader] for leader in self.near_best(band, among=list(leaders))]
        near = [self._few(self.near_best(band, among=members)) for members in chosen]
        return {member: 1 / (len(near) * len(own)) for own in near for member in own}

    def _few(self, members):
        """The best of some members of one kind, as many as are worth their rows; linear members become one."""
        if members[0].kernel == "linear" or len(members) <= MOST_MEMBERS:
            return members
        _, mean, _ = self.summary(members)
        return [members[i] for i in sorted(np.argsort(-mean, kind="stable")[:MOST_MEMBERS])]

    def results(self, searched):
        """A dict in the form of GridSearchCV's ``cv_results_``."""
        members, values = self.members(), self.values()[:, self.finished()]
        mean = np.nanmean(values, axis=1)
        given_up = np.array([m in self.given_up for m in members])
        rounded = np.round(mean - (mean.max() + 1) * given_up, 12)  # behind all that were not
        results = {"params": [m.params(searched) for m in members]}
        for name in searched:
            values_of = [getattr(m, name) for m in members]
            kind = None if len({type(value) for value in values_of}) == 1 else object
            results[f"param_{name}"] = np.ma.array(np.array(values_of, dtype=kind))
        for what, seconds in self.seconds.items():  # the members were fitted together: each has its share
            shares = seconds[self.finished()] / len(members)
            results[f"mean_{what}_time"] = np.full(len(members), shares.mean())
            results[f"std_{what}_time"] = np.full(len(members), shares.std())
        results |= {f"split{i}_test_score": values[:, i] for i in range(values.shape[1])}
        return results | {
            "mean_test_score": mean,
            "std_test_score": np.nanstd(values, axis=1),
            "rank_test_score": (1 + (rounded > rounded[:, None]).sum(axis=1)).astype(np.int32),
            "given_up": given_up,
        }
