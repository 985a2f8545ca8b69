"""What a learned transformation is worth to others: nearest neighbours after it, tuned alike for every transformation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.metrics import get_scorer
from sklearn.model_selection import ParameterGrid, check_cv
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.utils.validation import check_is_fitted

from ..estimators import FSVM, ModelEntry

__all__ = ["NEIGHBOURS", "NeighboursCV", "maps"]

NUMBERS = (1, 3, 5, 9, 15, 25)


class NeighboursCV(ClassifierMixin, BaseEstimator):
    """Nearest neighbours after a transformation; its parameters and their number are chosen together on given folds.

    Parameters
    ----------
    transformer : transformer or "passthrough"
    grid : dict of str to list, optional
        Parameters of the transformer to try.
    reduction : transformer or None
        What comes after it, if anything: a map of few dimensions.
    n_neighbors : tuple of int
    cv : int or list of (train, test)
    scoring : str
    n_jobs, random_state
        As the harness hands them to every search; neighbours draw nothing.

    Attributes
    ----------
    best_params_, best_score_, cv_results_
        As in `GridSearchCV`.
    """

    def __init__(
        self, transformer, grid=None, reduction=None, *, n_neighbors=NUMBERS, cv=None, scoring="accuracy", n_jobs=None,
        random_state=None,
    ):  # fmt: skip
        self.transformer = transformer
        self.grid = grid
        self.reduction = reduction
        self.n_neighbors = n_neighbors
        self.cv = cv
        self.scoring = scoring
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X, y):
        """Choose on the folds, then fit to all rows."""
        settings = list(ParameterGrid(self.grid or {}))
        scores = np.array([self._scores(setting, X, y) for setting in settings])
        best, k = np.unravel_index(scores.argmax(), scores.shape)
        self.best_params_ = {**settings[best], "n_neighbors": self.n_neighbors[k]}
        self.best_score_ = float(scores[best, k])
        tried = [{**setting, "n_neighbors": number} for setting in settings for number in self.n_neighbors]
        self.cv_results_ = {"params": tried, "mean_test_score": scores.ravel()}
        self.map_ = self._map(settings[best])
        self.neighbours_ = KNeighborsClassifier(self.n_neighbors[k]).fit(self.map_.fit_transform(X, y), y)
        self.classes_ = self.neighbours_.classes_
        return self

    def predict(self, X):
        """The class of most neighbours."""
        check_is_fitted(self)
        return self.neighbours_.predict(self.map_.transform(X))

    def _map(self, setting):
        return chained(self.transformer, self.reduction, **setting)

    def _scores(self, setting, X, y):
        """Mean score over the folds, for every number of neighbours."""
        found, score = np.zeros(len(self.n_neighbors)), get_scorer(self.scoring)
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y))
        for train, test in folds:
            mapped = self._map(setting).fit(X[train], y[train])
            model = KNeighborsClassifier().fit(mapped.transform(X[train]), y[train])
            rows = mapped.transform(X[test])
            for k, number in enumerate(self.n_neighbors):
                model.set_params(n_neighbors=min(number, len(train)))
                found[k] += score(model, rows, y[test]) / len(folds)
        return found


def chained(transformer, reduction, **setting) -> Pipeline:
    """The transformer at a setting, and what reduces its dimensions; both new."""
    first = transformer if transformer == "passthrough" else clone(transformer).set_params(**setting)
    return make_pipeline(first, "passthrough" if reduction is None else clone(reduction))


class Leading(TransformerMixin, BaseEstimator):
    """A map of two dimensions: the first columns, where they come in order, else the principal components."""

    def __init__(self, ordered=False, n_dimensions=2):
        self.ordered = ordered
        self.n_dimensions = n_dimensions

    def fit(self, X, y=None):
        """Find them."""
        n = min(self.n_dimensions, *X.shape)
        self.axes_ = np.eye(X.shape[1])[:n] if self.ordered else PCA(n).fit(X).components_
        return self

    def transform(self, X):
        """Project on them."""
        return X @ self.axes_.T


class Discriminants(LinearDiscriminantAnalysis):
    """Linear discriminants by eigenvectors, which take shrinkage; collinear features are made regular by the least of it."""

    def __init__(self, shrinkage=0.1):
        super().__init__(solver="eigen", shrinkage=shrinkage)


@dataclass(frozen=True)
class Transformation:
    """One row of the comparison: four settings each, so that with six numbers of neighbours all try 24."""

    key: str
    name: str
    transformer: object
    grid: dict
    reference: str
    ordered: bool = False  # whether its columns come by importance


COSTS = [2.0**e for e in (-8, -5, -2, 1)]

TRANSFORMATIONS = (
    Transformation("none", "standardised", "passthrough", {}, "no transformation"),
    Transformation("whitened", "PCA whitening", PCA(whiten=True, svd_solver="full"),
                   {"n_components": [0.8, 0.9, 0.97, 0.999999]}, "H. Hotelling, 1933", ordered=True),
    Transformation("lda", "LDA", Discriminants(), {"shrinkage": [1e-4, 0.1, 0.5, 0.9]}, "R. Fisher, 1936", ordered=True),
    Transformation("nca", "NCA", NeighborhoodComponentsAnalysis(init="pca", random_state=0),
                   {"n_components": [None, 2], "max_iter": [10, 50]}, "J. Goldberger et al., NIPS 2004"),
    Transformation("fsvm-eta", "F-SVM (eta)", FSVM(eta=0.1), {"eta": [0.01, 1.0], "C": COSTS[1:3]}, "X. Wu et al., 2015"),
    Transformation("fsvm-shared", "shared F-SVM", FSVM(coupling="shared", eta=0.01), {"C": COSTS}, "X. Wu et al., 2015"),
)  # fmt: skip


def _entry(row: Transformation, prefix, reduction):
    return ModelEntry(
        key=f"{prefix}-{row.key}", name=row.name, estimator=NeighboursCV, grid=None, kernel_grid=None,
        fixed={"transformer": row.transformer, "grid": row.grid, "reduction": reduction}, reference=row.reference,
    )  # fmt: skip


#: Entries for the harness: neighbours in all dimensions of a transformation, and in a map of two.
NEIGHBOURS = (
    *(_entry(row, "knn", None) for row in TRANSFORMATIONS),
    *(_entry(row, "map", Leading(row.ordered)) for row in TRANSFORMATIONS),
)


def maps(X, y) -> dict[str, np.ndarray]:
    """Every transformation at its own default, as a map in two dimensions."""
    return {row.name: chained(row.transformer, Leading(row.ordered)).fit(X, y).transform(X) for row in TRANSFORMATIONS}
