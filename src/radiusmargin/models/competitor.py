"""What the models share that F-SVM is compared with: the common keywords, and the way to a conic solver."""

from __future__ import annotations

from collections.abc import Callable

from .base import MarginClassifier, check_common
from .multiclass import taking_part


class Competitor(MarginClassifier):
    """A model with the parameters that all have: its cost C, and the keywords it has in common with FSVM.

    A model with letters of its own names them after C, before the keywords.
    """

    def __init__(
        self, C=1.0, *, kernel="linear", gamma="scale", degree=3, coef0=0.0, n_components=None,
        fit_intercept=True, class_weight=None, tol=1e-6, max_iter=1000, random_state=None, verbose=0,
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


class ConicClassifier(Competitor):
    """A model that one function of `radiusmargin.solvers` solves, one labelling after the other.

    A model names that function and its letters, and says what it keeps of the results (`_learn`).
    """

    _solver: Callable
    _letters: tuple[str, ...] = ()

    def _solve_column(self, X, column, weight, k):
        y, weight = taking_part(column, weight)
        letters = {name: float(getattr(self, name)) for name in self._letters}
        return self._solver(
            X, y, float(self.C), **letters, sample_weight=weight, fit_intercept=bool(self.fit_intercept),
            tol=self.tol, max_iter=int(self.max_iter),
        )  # fmt: skip

    def _solve(self, X, columns, weight, y):
        self._learn(super()._solve(X, columns, weight, y), X)

    def _learn(self, results, X):
        """Keep what was learnt on the rows X beside the separators."""

    def _user_rows(self, index):
        """Rows of the X that was given to `fit`, from those of positive weight, which the solvers see."""
        return self._kept_rows[index]
