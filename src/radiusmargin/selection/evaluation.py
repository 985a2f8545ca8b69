"""Every member of a search on every split, each in the way that is quickest for it."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral

import numpy as np

from .kinds import is_text
from .plan import groups_of
from .ways import FoldByFold, KernelFolds, LinearFolds, OneFit, SparseFolds, Task

EXTENSIONS = 3  # times that a grid of C chosen from the data may grow at an edge
# Relative gaps of fits that are scored. Linear ones at 1e-3 choose other members than exact fits do; those of kernels do
# not (benchmarks/kernel_search.py).
EXACT, EXACT_KERNEL = 1e-7, 1e-3
# Of text for the time: fits to 1e-6 take 2 to 20 times as long. What a tighter one would choose was not compared.
TEXT = 1e-3


class Evaluation:
    """Fills the scores of the members of some groups on the splits of some data.

    Parameters
    ----------
    groups : list of Group
    ways_of : function of Group
        The ways that serve it, the quickest first.
    scores : Scores
    tol : float
    """

    def __init__(self, groups, ways_of, scores, tol):
        self.groups, self.ways_of, self.scores, self.tol = groups, ways_of, scores, tol

    def run(self, Cs, may_grow):
        """Score the grid; where it may grow it does while the best of its Cs is at an edge."""
        for _ in range(EXTENSIONS + 1):
            expected = len(Cs) * self.scores.n_splits * sum(len(group.powers) for group in self.groups)
            self.scores.progress.expected += expected
            for group in self.groups:
                self._score(group, Cs)
            Cs = self._beyond_the_edge() if may_grow else None
            if Cs is None:
                return

    def _score(self, group, Cs):
        left = tuple(range(self.scores.n_splits))
        for way in self.ways_of(group):
            if left:
                left = way.score(Task(group, group.powers, np.asarray(Cs), left, self.tol), self.scores)

    def _beyond_the_edge(self):
        own = [m for m in self.scores.members() if any(group.holds(m) for group in self.groups)]
        tried, best = np.unique([m.C for m in own]), self.scores.best(among=own).C
        if len(tried) < 3 or best not in tried[[0, -1]]:
            return None
        steps = (tried[-1] / tried[0]) ** (np.arange(1, 4) / (len(tried) - 1))
        return best * steps if best == tried[-1] else best / steps


def evaluate(search, kinds, data, fitting, scores):
    """Score all that a search (its parameters) asks for, kind by kind; `fitting` says how members are fitted.

    Grids of several kinds do not grow: what lies beyond is the dearest to fit, and another kind serves as well.
    """
    may_grow = isinstance(search.Cs, Integral) and len(kinds) == 1
    for kind in kinds:
        own = replace(data, training=kind.training(data.training))
        tol = search.cv_tol or gap_of(kind, own.training.X)
        ways_of = Ways(own, fitting, search.criterion)
        Evaluation(groups_of(search, kind), ways_of, scores, tol).run(kind.Cs, may_grow)


def gap_of(kind, X):
    """The relative gap to which members of a kind are fitted where they are only scored."""
    if not kind.features.is_linear:
        return EXACT_KERNEL
    return TEXT if is_text(X) else EXACT


class Ways:
    """The ways that serve a group, the quickest first; each is built once for the groups of a kind."""

    def __init__(self, data, fitting, criterion):
        self.of_criterion = None if criterion == "cv" else [OneFit(data, fitting, criterion)]
        self.of_expansions, self.general = [KernelFolds(data, fitting)], [FoldByFold(data, fitting)]
        self.of_data = [SparseFolds(data, fitting), LinearFolds(data, fitting), *self.general]

    def __call__(self, group):
        if self.of_criterion:
            return self.of_criterion
        if group.features.is_linear:
            return self.of_data
        return self.of_expansions if group.is_expansion else self.general
