"""What the models share that F-SVM is compared with: the common keywords, and the way to a conic solver."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

from .._types import ClassWeight, Gamma, KernelLike, RandomState
from ..features.space import FeatureChoice
from .base import MarginClassifier, check_common
from .multiclass import taking_part


class Competitor(MarginClassifier):
    """A model with the parameters that all have: its cost C, and the keywords it has in common with FSVM.

    A model with letters of its own names them after C, before the keywords.
    """

    def __init__(
        self, C: float = 1.0, *, kernel: KernelLike = "linear", gamma: Gamma = "scale", degree: int = 3,
        coef0: float = 0.0, n_components: float | None = None, fit_intercept: bool = True,
        class_weight: ClassWeight = None, tol: float = 1e-6, max_iter: int = 1000, random_state: RandomState = None,
        verbose: int = 0,
    ):  # fmt: skip
        self.C = C
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self):
        check_common(self)


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

    _solver: Callable
    _letters: tuple[str, ...] = ()

    def _solve_problem(self, rows, y, costs):
        y, costs = taking_part(y, costs)
        letters = {name: float(getattr(self, name)) for name in self._letters}
        return self._solver(
            rows, y, float(self.C), **letters, sample_weight=costs, fit_intercept=bool(self.fit_intercept),
            tol=self.tol, max_iter=int(self.max_iter),
        )  # fmt: skip
