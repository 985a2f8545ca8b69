"""Every member of a search on every split, each in the way that is quickest for it."""

from __future__ import annotations

from itertools import product
from numbers import Integral

import numpy as np

from ..models.base import as_dense
from .criteria import OneFit
from .features import feature_sets, listed
from .folds import Fold, take
from .gram_folds import GramFolds
from .grid import Member, Scores
from .held_out import HeldOut
from .progress import Progress
from .together import LinearFolds

EXTENSIONS = 3  # times that a grid of C chosen from the data may grow at an edge


class Evaluation:
    """The `scores` of the members of a search (an `FSVMCV`) on splits of its checked data.

    `sets` holds the features that members share, and the forms (scatter, eta) of these members.
    """

    def __init__(self, search, X, codes, weight, splits):
        self.search, self.X, self.codes, self.weight, self.splits = search, X, codes, weight, splits
        forms = list(product(listed(search.scatter), listed(search.eta)))
        self.sets = {shared: [form for form in forms if shared.serves(*form)] for shared in feature_sets(search)}
        self.scores = Scores(len(splits), Progress(search))
        self.together = None
        if search.criterion == "cv" and 0 in listed(search.eta):
            self.together = (LinearFolds if search._is_linear else GramFolds)(search, X, codes, weight, splits)

    def run(self):
        """Score the grid; one whose Cs were chosen from the data grows where the best of them is at an edge."""
        Cs = self._initial_Cs()
        for _ in range(EXTENSIONS + 1):
            self._score_grid(Cs)
            Cs = self._beyond_the_edge()
            if Cs is None:
                return

    def _initial_Cs(self):
        """From where the separator is still the difference of the class means, to where slack is nearly forbidden."""
        search, weight = self.search, self.weight
        if not isinstance(search.Cs, Integral):
            return np.unique(np.asarray(listed(search.Cs), dtype=float))
        if search.Cs == 1:
            return np.array([1.0 / weight.mean()])
        low, high = max(1.0 / len(weight), 1e-4), 1e2 if search._is_linear else 1e3
        return np.geomspace(low, high, int(search.Cs)) / weight.mean()

    def _beyond_the_edge(self):
        if not isinstance(self.search.Cs, Integral):
            return None
        tried, best = np.unique([m.C for m in self.scores.table]), self.scores.best().C
        if len(tried) < 3 or best not in tried[[0, -1]]:
            return None
        steps = (tried[-1] / tried[0]) ** (np.arange(1, 4) / (len(tried) - 1))
        return best * steps if best == tried[-1] else best / steps

    def _score_grid(self, Cs):
        n_members = sum(len(powers) * len(forms) for shared, forms in self.sets.items() for _, powers in shared.parts)
        self.scores.progress.expected += len(Cs) * len(self.splits) * n_members
        if self.search.criterion != "cv":
            return self._score_without_refitting(Cs)
        done = self.together.score(Cs, self.scores) if self.together else set()  # but for smoothed members
        for i, (shared, forms) in product(range(len(self.splits)), self.sets.items()):
            left = [(scatter, eta) for scatter, eta in forms if eta > 0] if (shared, i) in done else forms
            if left:
                self._score_split(i, shared, left, Cs)

    def _score_split(self, i, shared, forms, Cs):
        search, scores, (train, test) = self.search, self.scores, self.splits[i]
        codes, weight = self.codes[train], self.weight[train]
        columns = train if isinstance(search.kernel, str) and search.kernel == "precomputed" else None
        with scores.work("fit", i):
            whole = shared.fit(
                search, take(self.X, train, columns), weight * search._class_factors(codes, weight)[codes]
            )
        with scores.work("score", i):
            unseen = take(self.X, test, columns)
            mapped = whole.of(unseen)
        for n_components, powers in shared.parts:
            part = whole.part(n_components, powers)
            known = mapped if part.mapping is whole.mapping else part.of(unseen)
            fold = Fold(search, part, codes, unseen, known, HeldOut(search, self.codes[test], self.weight[test]))
            for scatter, eta in forms:
                key = {"scatter": scatter, "gamma": shared.gamma, "n_components": n_components}
                fold.score(powers, Cs, eta, key, i, scores, shared.euclidean)

    def _score_without_refitting(self, Cs):
        search, scores, codes = self.search, self.scores, self.codes
        weight = self.weight * search._class_factors(codes, self.weight)[codes]
        for shared, forms in self.sets.items():
            with scores.work("fit", 0):
                whole = shared.fit(search, self.X, weight)
            for (scatter, _), (n_components, powers) in product(forms, shared.parts):
                part = whole.part(n_components, powers)
                family = OneFit(search, as_dense(part.rows), codes, weight, self.weight, part.scatter(codes, scatter))
                key = {"scatter": scatter, "gamma": shared.gamma, "n_components": n_components}
                for p in powers:
                    with scores.work("fit", 0):
                        for C, value in zip(Cs, family.criterion(p, Cs), strict=True):
                            scores.set(Member(p, float(C), **key), 0, value)
