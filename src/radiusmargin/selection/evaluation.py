"""Every member of a search on every split, each in the way that is quickest for it."""

from __future__ import annotations

from numbers import Integral

import numpy as np

from .plan import groups_of, initial_Cs, is_text
from .ways import FoldByFold, KernelFolds, LinearFolds, OneFit, SparseFolds, Task

EXTENSIONS = 3  # times that a grid of C chosen from the data may grow at an edge
# Relative gaps of fits that are scored. At 1e-3 other members were chosen than exact fits choose.
EXACT, EXACT_KERNEL = 1e-7, 1e-5
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
        tried, best = np.unique([m.C for m in self.scores.table]), self.scores.best().C
        if len(tried) < 3 or best not in tried[[0, -1]]:
            return None
        steps = (tried[-1] / tried[0]) ** (np.arange(1, 4) / (len(tried) - 1))
        return best * steps if best == tried[-1] else best / steps


def evaluate(search, choice, data, fitting, scores):
    """Score all that a search (its parameters) asks for; `fitting` says how members are fitted."""
    groups = groups_of(search, choice, data.training.X)
    exact = EXACT_KERNEL if not choice.is_linear else TEXT if is_text(data.training.X) else EXACT
    tol = search.cv_tol or exact
    if search.criterion != "cv":
        only = [OneFit(data, choice, fitting, search.criterion)]
        evaluation = Evaluation(groups, lambda group: only, scores, tol)
    else:
        kernel, general = [KernelFolds(data, choice, fitting)], [FoldByFold(data, choice, fitting)]
        if choice.is_linear:
            general = [SparseFolds(data, fitting), LinearFolds(data, choice, fitting), *general]
        evaluation = Evaluation(groups, lambda group: kernel if group.is_expansion(choice) else general, scores, tol)
    evaluation.run(initial_Cs(search.Cs, data.training.weight, choice.is_linear), isinstance(search.Cs, Integral))
