"""Every member of a search on every split, each in the way that is quickest for it."""

from __future__ import annotations

from itertools import groupby
from numbers import Integral

import numpy as np

from .plan import groups_of, initial_Cs
from .ways import FoldByFold, KernelFolds, LinearFolds, OneFit, Task

EXTENSIONS = 3  # times that a grid of C chosen from the data may grow at an edge
EXACT = 1e-7  # relative gap from which scores no longer change
ROWS = 2  # whose predictions a rough fit may change in a mean score without being suspected


class Evaluation:
    """Fills the scores of the members of a plan on the splits of some data.

    Members are fitted roughly at first (`tol`). What is near the best is then solved again, to `EXACT`, until the choice no
    longer depends on rough fits: members that would be near the best if their scores changed by as much as any has.

    Parameters
    ----------
    groups : list of Group
    ways : list of functions, Group to list of ways
        Those that serve it, the quickest first.
    scores : Scores
    band : float
        Members within so many standard errors of the best are to be exact.
    tol : float
    slack : float
        How much a rough fit may be off in its mean score, at least.
    """

    def __init__(self, groups, ways_of, scores, *, band, tol, slack):
        self.groups, self.ways_of, self.scores = groups, ways_of, scores
        self.band, self.tol, self.slack = band, tol, slack

    def run(self, Cs, may_grow):
        """Score the grid; where it may grow it does while the best of its Cs is at an edge."""
        for _ in range(EXTENSIONS + 1):
            expected = len(Cs) * self.scores.n_splits * sum(len(group.powers) for group in self.groups)
            self.scores.progress.expected += expected
            for group in self.groups:
                self._score(group, group.powers, Cs, self.tol)
            self._settle()
            Cs = self._beyond_the_edge() if may_grow else None
            if Cs is None:
                return

    def _score(self, group, powers, Cs, tol):
        left = tuple(range(self.scores.n_splits))
        for way in self.ways_of(group):
            if left:
                left = way.score(Task(group, tuple(powers), np.asarray(Cs), left, tol), self.scores)
        if tol <= EXACT:
            self.scores.exact |= {group.member(p, C) for p in powers for C in Cs}

    def _settle(self):
        """Solve again what is near the best and rough."""
        slack = self.slack
        while rough := [m for m in self.scores.near_best(self.band, slack) if m not in self.scores.exact]:
            before = np.array([self.scores.table[m].mean() for m in rough])
            self.scores.progress.expected += len(rough) * self.scores.n_splits
            for group in self.groups:
                own = sorted((m for m in rough if group.holds(m)), key=lambda m: (m.whitening, m.C))
                for power, members in groupby(own, key=lambda m: m.whitening):
                    self._score(group, (power,), [m.C for m in members], EXACT)
            after = np.array([self.scores.table[m].mean() for m in rough])
            slack = max(slack, np.abs(after - before).max())

    def _beyond_the_edge(self):
        tried, best = np.unique([m.C for m in self.scores.table]), self.scores.best().C
        if len(tried) < 3 or best not in tried[[0, -1]]:
            return None
        steps = (tried[-1] / tried[0]) ** (np.arange(1, 4) / (len(tried) - 1))
        return best * steps if best == tried[-1] else best / steps


def evaluate(search, choice, data, fitting, scores):
    """Score all that a search (its parameters) asks for; `fitting` says how members are fitted."""
    groups = groups_of(search, choice)
    Cs = initial_Cs(search.Cs, data.training.weight, choice.is_linear)
    band = search.band if search.combine == "average" else float(search.one_standard_error)
    slack = ROWS / len(data.training.codes)
    if search.criterion != "cv":
        only = [OneFit(data, choice, fitting, search.criterion)]
        evaluation = Evaluation(groups, lambda group: only, scores, band=0.0, tol=EXACT, slack=0.0)
    else:
        kernel, general = [KernelFolds(data, choice, fitting)], [FoldByFold(data, choice, fitting)]
        if choice.is_linear:
            general = [LinearFolds(data, choice, fitting), *general]

        def ways_of(group):
            return kernel if group.is_expansion(choice) else general

        evaluation = Evaluation(groups, ways_of, scores, band=band, tol=search.cv_tol, slack=slack)
    evaluation.run(Cs, isinstance(search.Cs, Integral))
