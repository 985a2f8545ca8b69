"""What the models share that F-SVM is compared with: the common keywords, and the way to a conic solver."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import ClassVar

import numpy as np

from .._types import ClassWeight, Gamma, KernelLike, RandomState
from ..multiclass import taking_part
from ..solvers import IDENTITY, Batch, Options, rows_of, solve
from .base import MarginClassifier, check_common, estimator
from .features import FeatureChoice


@estimator
class Competitor(MarginClassifier):
    """A model with the parameters that all have: its cost C, and the keywords it has in common with FSVM.

    A model with letters of its own has them after C, before the keywords.
    """

    C: float = 1.0
    _: KW_ONLY
    kernel: KernelLike = "linear"
    gamma: Gamma = "scale"
    degree: int = 3
    coef0: float = 0.0
    n_components: float | None = None
    fit_intercept: bool = True
    class_weight: ClassWeight = None
    tol: float = 1e-6
    max_iter: int = 1000
    random_state: RandomState = None
    verbose: int = 0

    def _check_parameters(self):
        check_common(self)


@estimator
class HingeCompetitor(Competitor):
    """A model whose labellings are one batch of the hinge solver."""

    _accepts_sparse = True

    _: KW_ONLY
    n_jobs: int | None = None

    @property
    def _options(self):
        return Options(float(self.tol), int(self.max_iter), self.n_jobs)

    def _solve_hinge(self, rows, training, listeners, regularizers=IDENTITY):
        """One result per labelling."""
        batch = Batch(
            rows_of(rows), training.labels, training.costs, np.array([float(self.C)]), regularizers,
            intercept=training.intercept,
        )  # fmt: skip
        with listeners.problems(training.labels):
            found = solve(batch, self._options)
        results = [found[k, 0] for k in range(len(found))]
        for k, result in enumerate(results):
            listeners.report(k, result)
        return results


class ColumnwiseCompetitor(Competitor):
    """A model whose labellings are solved one after the other."""

    def _learn(self, training, listeners):
        space = FeatureChoice.of(self).explicit(0.0)
        rows = space.fit(training.X, training.costs)
        results = []
        for k, y in enumerate(training.labels):
            with listeners.problems([y]):
                results.append(self._solve_problem(rows, y, training.costs))
            listeners.report(k, results[-1])
        self._keep(space, training, results)
        self._describe(results, rows, training)

    @abstractmethod
    def _solve_problem(self, rows, y, costs):
        """The result for one labelling; rows labelled 0 take no part."""

    def _describe(self, results, rows, training):
        """Keep what was learnt on the rows beside the separators."""


class ConicClassifier(ColumnwiseCompetitor):
    """A model that one function of `radiusmargin.solvers` solves, one labelling after the other.

    A model names that function and its letters, and says what else it keeps of the results (`_describe`).
    """

    _solver: ClassVar[Callable]
    _letters: ClassVar[tuple[str, ...]] = ()

    def _solve_problem(self, rows, y, costs):
        y, costs = taking_part(y, costs)
        letters = {name: float(getattr(self, name)) for name in self._letters}
        return self._solver(
            rows, y, float(self.C), **letters, sample_weight=costs, fit_intercept=bool(self.fit_intercept),
            tol=self.tol, max_iter=int(self.max_iter),
        )  # fmt: skip
