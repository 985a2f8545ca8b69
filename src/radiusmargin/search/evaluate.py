"""Every member of a search on every split, each in the way that is quickest for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import Protocol

import numpy as np
from scipy import sparse

from .candidates import Task, candidate_groups
from .fold_strategies import FoldByFold, KernelFolds, MomentFolds, SingleFit, SparseFolds
from .racing import trailing_run
from .scoring import TIE

MOST_ADDED = 9  # Cs by which a grid that was chosen from the data may grow at its edges
ABOVE = 3  # of them at a time above its largest: the first has no neighbour to start from, and is the dearest
MOST_ROUNDS = 10  # of a race over splits: of leave-one-out, say, to ask after every row would take longer than it saves
DEAR = 1 << 18  # numbers of dense rows from which splits race: with fewer, one call for all of them is as quick


class FoldStrategy(Protocol):
    """Built of the data once for a kind, and asked for one group at a time (`KernelFolds`: for several together)."""

    def score(self, task, scores) -> tuple[int, ...]:
        """Score what the task asks for; the splits that are left to another way."""


class Evaluation:
    """Fills the scores of the members of some groups on the splits of some data.

    Parameters
    ----------
    groups : list of CandidateGroup
    ways : FoldStrategies
    scores : Scores
    options : Options
        How members are fitted.
    race : Race or None
        Without, all members go through all splits.
    """

    def __init__(self, groups, ways, scores, options, race=None):
        self.groups, self.ways, self.scores, self.options, self.race = groups, ways, scores, options, race

    def run(self, Cs, may_grow):
        """Score the grid; where it may grow it does while the best of its Cs is at an edge."""
        added = 0
        while True:
            tasks = [
                Task(group, group.powers, np.asarray(Cs), tuple(range(self.scores.n_splits)), self.options)
                for group in self.groups
            ]
            self.scores.progress.expected += len(Cs) * self.scores.n_splits * sum(len(t.powers) for t in tasks)
            self._score(tasks)
            Cs = self._beyond_the_edge() if may_grow and added < MOST_ADDED else ()
            added += len(Cs)
            if not len(Cs):
                return

    def _score(self, tasks):
        together = [task for task in tasks if self.ways.serves_together(task.group)]
        if together:
            self.ways.together.score(together, self.scores, self.race)
        for task in tasks:
            if task not in together:
                self._race(task) if self.race and self.ways.are_dear else self._score_one(task)

    def _score_one(self, task):
        ways = self.ways.of(task.group)
        while task.splits:
            task = task.on(next(ways).score(task, self.scores))

    def _race(self, task):
        """Round by round, each without the exponents and the largest Cs that were beaten in those before."""
        splits, done = task.splits, 0
        for some in np.array_split(splits, min(len(splits), MOST_ROUNDS)):
            task = self._left(task, splits[:done]) if done else task
            if not task.members:
                return
            self._score_one(task.on(some.tolist()))
            done += len(some)

    def _left(self, task, splits):
        beaten = self.race.beaten(task.members, splits, self.scores.given_up).reshape(len(task.powers), -1)
        left = replace(
            task,
            powers=tuple(p for p, out in zip(task.powers, beaten.all(axis=1), strict=True) if not out),
            Cs=task.Cs[~trailing_run(beaten.all(axis=0))],
        )
        self.scores.give_up(set(task.members) - set(left.members))
        return left

    def _beyond_the_edge(self):
        own = [m for m in self.scores.members() if any(group.holds(m) for group in self.groups)]
        standing = [m for m in own if m not in self.scores.given_up]
        tried, best = np.unique([m.C for m in own]), self.scores.best(among=standing).C
        if len(tried) < 3 or best not in tried[[0, -1]]:
            return ()
        # What only ties at the edge, such as saying the same class always, gains nothing beyond it either.
        inner = tried[1] if best == tried[0] else tried[-2]
        before = [m for m in standing if inner == m.C]
        if before and self.scores.summary(before)[1].max() >= self.scores.summary(standing)[1].max() - TIE:
            return ()
        step = (tried[-1] / tried[0]) ** (1 / (len(tried) - 1))
        return best * step ** np.arange(1.0, ABOVE + 1) if best == tried[-1] else np.array([best / step])


def evaluate(kinds, grids, data, scores, options, race=None):
    """Score all that grids ask for, kind by kind, each to the gap of its kind; `race` tells which members go on.

    Grids of several kinds do not grow: what lies beyond is the dearest to fit, and another kind serves as well.
    """
    may_grow = isinstance(grids.Cs, Integral) and len(kinds) == 1
    for kind in kinds:
        ways = FoldStrategies(replace(data, training=kind.training(data.training)))
        own = replace(options, tol=kind.tol)
        Evaluation(candidate_groups(grids, kind), ways, scores, own, race).run(kind.Cs, may_grow)


class FoldStrategies:
    """The ways that serve a group; each is built once for the groups of a kind, when it is first asked for."""

    def __init__(self, data):
        self.data, self._built = data, {}

    @property
    def are_dear(self) -> bool:
        """Whether one split of the data is work enough to look at the scores before the next."""
        X = self.data.training.X
        return not sparse.issparse(X) and X.size >= DEAR

    @property
    def together(self) -> KernelFolds:
        return self._way(KernelFolds)

    def serves_together(self, group) -> bool:
        """Whether `together` serves it, with all others that it serves: gammas race against each other."""
        return self.data.criterion == "cv" and group.is_expansion

    def of(self, group) -> Iterator[FoldStrategy]:
        """The quickest first, each for the splits that those before have left."""
        return map(self._way, self._makers(group))

    def _way(self, make):
        if make not in self._built:
            self._built[make] = make(self.data)
        return self._built[make]

    def _makers(self, group):
        if self.data.criterion != "cv":
            return (SingleFit,)
        if not group.features.is_linear:
            return (FoldByFold,)
        if sparse.issparse(self.data.training.X):
            return SparseFolds, MomentFolds, FoldByFold
        return MomentFolds, FoldByFold
