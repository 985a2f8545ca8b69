"""Score every candidate on every split, with the quickest fold strategy that serves it.

`evaluate` is the entry. `Evaluation` scores the grid of one kernel, lets it grow, and holds the racing loop. `FoldStrategies` chooses
strategies. `Racing` (successive elimination) decides after some splits which candidates cannot be chosen any more.
"""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral

import numpy as np
from scipy import sparse

from .candidates import Task, candidate_groups
from .fold_strategies import FoldByFold, KernelFolds, MomentFolds, SingleFit, SparseFolds
from .scoring import TIE, best_candidate

MOST_ADDED = 9  # values of C that may be added at the edges of a grid that was chosen from the data
ABOVE = 3  # values of C added at a time above the largest: the first has no neighbour to start from, and costs most
MOST_ROUNDS = 10  # of racing: with leave-one-out, a decision after every row would take longer than it saves
COSTLY = 1 << 18  # numbers in dense rows from which candidates race: with fewer, one call for all splits is as quick
LEAST_SPLITS = 3  # for racing
CHANCE = 2.0  # standard deviations by which two equally good candidates may differ


def evaluate(specs, grids, data, recorder, options, racing=None, among=None) -> None:
    """Score all candidates of some kernel specifications, each fitted to the gap of its specification.

    `among` restricts the search to some candidates, such as those that a round on fewer rows has left. The grid of a single kernel grows while the best C lies at its edge. Grids of several kernels do not: larger Cs cost most
    to fit, and another kernel serves as well.
    """
    may_grow = isinstance(grids.Cs, Integral) and len(specs) == 1 and among is None
    for spec in specs:
        groups = candidate_groups(grids, spec)
        if among is not None:
            groups = [group for group in groups if any(group.holds(c) for c in among)]
            if not groups:
                continue
        strategies = FoldStrategies(replace(data, training=spec.training(data.training)))
        own = replace(options, tol=spec.tol)
        Evaluation(groups, strategies, recorder, own, racing, among).run(spec.Cs, may_grow)


class Evaluation:
    """Fills the scores of the candidates of some groups.

    Parameters
    ----------
    groups : list of CandidateGroup
    strategies : FoldStrategies
    recorder : Recorder
    options : Options
        How candidates are fitted.
    racing : Racing or None
        None scores all candidates on all splits.
    among : list of Candidate or None
        None takes the whole grid.
    """

    def __init__(self, groups, strategies, recorder, options, racing=None, among=None):
        self.groups, self.strategies, self.recorder, self.options = groups, strategies, recorder, options
        self.racing, self.table, self.among = racing, recorder.table, among

    def run(self, Cs, may_grow):
        """Score the grid, and let it grow, if it may, while the best C is at an edge."""
        added, splits = 0, tuple(range(self.table.n_splits))
        while True:
            tasks = [self._task(group, np.asarray(Cs), splits) for group in self.groups]
            self.recorder.progress.expected += sum(len(task.candidates) for task in tasks) * len(splits)
            for together in self.strategies.batches(tasks):
                self._race(together, splits)
            Cs = self._beyond_the_edge() if may_grow and added < MOST_ADDED else ()
            added += len(Cs)
            if not len(Cs):
                return

    def _task(self, group, Cs, splits):
        if self.among is None:
            return Task(group, group.exponents, Cs, splits, self.options)
        return Task.among(self.among, group, splits, self.options)

    def _race(self, tasks, splits):
        """Score tasks round by round; after each round drop the candidates that the best beats beyond chance."""
        done = 0
        for some in self.strategies.rounds(tasks, splits) if self.racing else [splits]:
            tasks = self._survivors(tasks, splits[:done]) if done else tasks
            if not tasks:
                return
            self.strategies.score([task.on(some) for task in tasks], self.recorder)
            done += len(some)

    def _survivors(self, tasks, splits):
        """Remove from the tasks exponents eliminated at every C, and the largest Cs eliminated at every exponent."""
        candidates = [candidate for task in tasks for candidate in task.candidates]
        out = self.racing.eliminated(candidates, splits, self.table.dropped)
        survivors = []
        for task, own in zip(tasks, np.split(out, np.cumsum([len(t.candidates) for t in tasks])[:-1]), strict=True):
            eliminated = own.reshape(len(task.exponents), -1)
            left = replace(
                task,
                exponents=tuple(p for p, gone in zip(task.exponents, eliminated.all(axis=1), strict=True) if not gone),
                Cs=task.Cs[~trailing_run(eliminated.all(axis=0))],
            )
            self.recorder.drop(set(task.candidates) - set(left.candidates))
            survivors += [left] if left.candidates else []
        return survivors

    def _beyond_the_edge(self):
        """Return further values of C if the best one lies at the edge of those that were tried."""
        own = [c for c in self.table.candidates() if any(group.holds(c) for group in self.groups)]
        standing = [c for c in own if c not in self.table.dropped]
        tried, best = np.unique([c.C for c in own]), best_candidate(self.table, standing).C
        if len(tried) < 3 or best not in tried[[0, -1]]:
            return ()
        # A tie at the edge (a constant classifier, say) will not improve further out.
        inner = tried[1] if best == tried[0] else tried[-2]
        before = [c for c in standing if inner == c.C]
        if before and self.table.means(before).max() >= self.table.means(standing).max() - TIE:
            return ()
        step = (tried[-1] / tried[0]) ** (1 / (len(tried) - 1))
        return best * step ** np.arange(1.0, ABOVE + 1) if best == tried[-1] else np.array([best / step])


class FoldStrategies:
    """Choose the fold strategies of a group; each strategy is built once per kernel specification, when first needed."""

    def __init__(self, data):
        self.data, self._built = data, {}

    def batches(self, tasks) -> list[list[Task]]:
        """Group tasks that are scored and race together: kernel machines share kernel rows, and race over gamma."""
        together = [task for task in tasks if self._is_kernel_machine(task.group)]
        return ([together] if together else []) + [[task] for task in tasks if task not in together]

    def rounds(self, tasks, splits) -> list[tuple[int, ...]]:
        """Return the splits of every round of racing."""
        if self._is_kernel_machine(tasks[0].group):
            return self._strategy(KernelFolds).rounds(tasks)
        X = self.data.training.X
        if sparse.issparse(X) or X.size < COSTLY:  # one call for all splits is as quick
            return [splits]
        return [tuple(some.tolist()) for some in np.array_split(splits, min(len(splits), MOST_ROUNDS))]

    def score(self, tasks, recorder) -> None:
        """Score all candidates of the tasks on their splits."""
        if self._is_kernel_machine(tasks[0].group):
            return self._strategy(KernelFolds).score(tasks, recorder)
        for task in tasks:
            strategies = iter(self._chain(task.group))
            while task.splits:
                task = task.on(self._strategy(next(strategies)).score(task, recorder))

    def _is_kernel_machine(self, group):
        return self.data.criterion == "cv" and group.is_expansion

    def _chain(self, group):
        """Return strategies, the quickest first; each takes the splits that those before it left."""
        if self.data.criterion != "cv":
            return (SingleFit,)
        if not group.features.is_linear:
            return (FoldByFold,)
        if sparse.issparse(self.data.training.X):
            return SparseFolds, MomentFolds, FoldByFold
        return MomentFolds, FoldByFold

    def _strategy(self, make):
        if make not in self._built:
            self._built[make] = make(self.data)
        return self._built[make]


class Racing:
    """Successive elimination of candidates by the held-out rows that they classify correctly.

    A candidate is eliminated once the best so far beats it on the same rows beyond chance (the sign test on rows that only one
    of them classifies correctly), and by more than the band in which candidates are averaged.

    Parameters
    ----------
    splits : list of (train, test) row numbers
    weight : ndarray
        Weights of all rows.
    band : float
        Standard errors around the best within which candidates are averaged.
    """

    def __init__(self, splits, weight, band):
        self.weights = [weight[test] for _, test in splits]
        self.n = weight.sum() ** 2 / (weight**2).sum()  # rows of equal weight whose mean varies as much
        self.band = band
        self._correct = {}

    @classmethod
    def of(cls, data, band) -> Racing | None:
        """Build from the data of a search; None if its score is not accuracy, or if splits are few."""
        if not data.scores_are_shares or len(data.splits) < LEAST_SPLITS:
            return None
        return cls(data.splits, data.training.weight, max(1.0, float(band)))

    def on_scores(self, candidate, split, values, correct):
        """Keep which rows of a split a candidate classifies correctly."""
        self._correct.setdefault(candidate, {})[split] = correct

    def eliminated(self, candidates, splits, dropped) -> np.ndarray:
        """Mask of the candidates, all of one kernel, that cannot be chosen any more after some splits."""
        weight = np.concatenate([self.weights[i] for i in splits])
        scored = [c for c, own in self._correct.items() if c not in dropped and own.keys() >= set(splits)]
        correct = np.array([np.concatenate([self._correct[c][i] for i in splits]) for c in scored])
        share = correct @ weight / weight.sum()
        # Averaged candidates are near the best of their kernel, and that is near the best of all kernels.
        best = np.argmax(share)
        best_of_kernel = np.argmax(np.where([c.kernel == candidates[0].kernel for c in scored], share, -1))
        out = self._behind(correct, share, weight, best_of_kernel, self.band)
        out |= self._behind(correct, share, weight, best, 2 * self.band)
        standing = {c for c, is_out in zip(scored, out, strict=True) if not is_out}
        return np.array([c not in standing for c in candidates])

    def _behind(self, correct, share, weight, best, band):
        """Mask of accuracies below the best by more than `band` standard errors plus the margin of the sign test."""
        error = np.sqrt(share[best] * max(0.0, 1 - share[best]) / self.n)  # sums of weights are rounded
        chance = np.sqrt((correct != correct[best]) @ weight**2) / weight.sum()
        return share[best] - share > band * error + CHANCE * chance


def trailing_run(out: np.ndarray) -> np.ndarray:
    """Mask of the trailing run of eliminated values of C.

    Smaller eliminated Cs are kept: the warm-started path to larger ones goes through them.
    """
    return np.logical_and.accumulate(out[..., ::-1], axis=-1)[..., ::-1]


__all__ = ["Evaluation", "FoldStrategies", "Racing", "evaluate"]
