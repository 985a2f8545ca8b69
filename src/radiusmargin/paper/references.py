"""Models of scikit-learn that users know, as entries like ours: what a model of ours is to be measured by."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from ..estimators import SVR, ModelEntry
from ..estimators.registry import Grid, Powers
from ..search import AutoSVR

__all__ = ["DUMMIES", "DUMMY", "PACKAGES", "REFERENCES", "REGRESSORS"]

#: The model that looks at no feature: what does not beat it has learnt nothing.
DUMMY = "dummy"

#: The same for classes and for a quantity.
DUMMIES = (DUMMY, "dummy-regressor")


@dataclass(frozen=True, eq=False)
class Choices:
    """A grid without C: the first configurations are the ones to keep."""

    own: dict

    def without(self, names) -> Choices:
        """The grid where these parameters are not to be chosen."""
        return Choices({name: values for name, values in self.own.items() if name not in names})

    def within(self, budget: int) -> dict:
        """The values of every parameter, the longest axes cut first.

        >>> Choices({"depth": [3, None], "rate": [0.1, 0.03, 0.3]}).within(4)
        {'depth': [3, None], 'rate': [0.1, 0.03]}
        """
        lengths = {name: len(values) for name, values in self.own.items()}
        while prod(lengths.values()) > budget and max(lengths.values()) > 1:
            lengths[max(lengths, key=lengths.get)] -= 1
        return {name: values[: lengths[name]] for name, values in self.own.items()}


class _Boosting(ClassifierMixin, BaseEstimator):
    """Gradient boosting of a package that is imported when a model is fitted."""

    def __init__(self, learning_rate=0.1, random_state=0):
        self.learning_rate = learning_rate
        self.random_state = random_state

    def fit(self, X, y):
        """Fit the package's model with one thread."""
        self.model_ = self._make().fit(X, y)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        """Return the most probable class of each row."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]

    def predict_proba(self, X):
        """Return the probabilities of the classes."""
        return self.model_.predict_proba(X)


class LightGBM(_Boosting):
    """LightGBM, if it is installed."""

    def _make(self):
        from lightgbm import LGBMClassifier

        how = {"learning_rate": self.learning_rate, "random_state": self.random_state}
        return LGBMClassifier(**how, n_jobs=1, verbose=-1)


class CatBoost(_Boosting):
    """CatBoost, if it is installed."""

    def _make(self):
        from catboost import CatBoostClassifier

        how = {"learning_rate": self.learning_rate, "random_state": self.random_state}
        return CatBoostClassifier(**how, thread_count=1, verbose=0, allow_writing_files=False)


class ScaledSVR(RegressorMixin, BaseEstimator):
    """`SVR` of a standardised target, in whose units C and epsilon are."""

    def __init__(self, C=1.0, kernel="rbf", gamma="scale"):
        self.C = C
        self.kernel = kernel
        self.gamma = gamma

    def fit(self, X, y):
        """Fit to the target, standardised."""
        model = SVR(C=self.C, kernel=self.kernel, gamma=self.gamma)
        self.model_ = TransformedTargetRegressor(model, transformer=StandardScaler()).fit(X, y)
        return self

    def predict(self, X):
        """Return predictions in the units of the target."""
        return self.model_.predict(X)


#: Models by the package that they need beside scikit-learn.
PACKAGES = {"lightgbm": "lightgbm", "catboost": "catboost"}


def _same(grid) -> dict:
    """One grid whatever the features of the others are."""
    return {"grid": grid, "kernel_grid": grid}


LINEAR = _same(Grid(C=Powers(centre=-1, spacing=3, reach=11)))
REFERENCE = "scikit-learn"

REFERENCES = (
    ModelEntry(key=DUMMY, name="dummy", estimator=DummyClassifier, **_same(None), reference=REFERENCE),
    ModelEntry(key="logistic", name="LogisticRegression", estimator=LogisticRegression, fixed={"max_iter": 1000},
               **LINEAR, reference=REFERENCE),
    ModelEntry(key="linear-svc", name="LinearSVC", estimator=LinearSVC, fixed={"dual": "auto", "random_state": 0},
               **LINEAR, reference=REFERENCE),
    ModelEntry(key="svc", name="SVC", estimator=SVC,
               **_same(Grid(C=Powers(centre=2, spacing=3, reach=9), gamma=Powers(centre=-4, spacing=2, reach=6, most=4))),
               reference=REFERENCE),
    ModelEntry(key="gradient-boosting", name="HistGradientBoosting", estimator=HistGradientBoostingClassifier,
               fixed={"random_state": 0, "early_stopping": False},
               **_same(Choices({"learning_rate": [0.1, 0.03]})), reference=REFERENCE),
    ModelEntry(key="random-forest", name="RandomForest", estimator=RandomForestClassifier, fixed={"random_state": 0},
               **_same(Choices({"max_features": ["sqrt", 0.5]})), reference=REFERENCE),
    ModelEntry(key="lightgbm", name="LightGBM", estimator=LightGBM, **_same(Choices({"learning_rate": [0.1, 0.03]})),
               reference="G. Ke et al., LightGBM: a highly efficient gradient boosting decision tree, 2017"),
    ModelEntry(key="catboost", name="CatBoost", estimator=CatBoost, **_same(Choices({"learning_rate": [0.1, 0.03]})),
               reference="L. Prokhorenkova et al., CatBoost: unbiased boosting with categorical features, 2018"),
)  # fmt: skip

#: Models of a quantity, those that `compare` takes.
REGRESSORS = (
    ModelEntry(key="dummy-regressor", name="DummyRegressor", estimator=DummyRegressor, **_same(None), reference=REFERENCE),
    ModelEntry(key="ridge", name="Ridge", estimator=RidgeCV, fixed={"alphas": [10.0**k for k in range(-4, 6)]},
               **_same(None), reference=REFERENCE),
    ModelEntry(key="forest-regressor", name="RandomForestRegressor", estimator=RandomForestRegressor,
               fixed={"random_state": 0}, **_same(Choices({"max_features": [1.0, 0.33]})), reference=REFERENCE),
    ModelEntry(key="boosting-regressor", name="HistGradientBoostingRegressor", estimator=HistGradientBoostingRegressor,
               fixed={"random_state": 0, "early_stopping": False},
               **_same(Choices({"learning_rate": [0.1, 0.03]})), reference=REFERENCE),
    ModelEntry(key="svr", name="SVR", estimator=ScaledSVR,
               **_same(Grid(C=Powers(centre=2, spacing=3, reach=9), gamma=Powers(centre=-4, spacing=2, reach=6, most=4))),
               reference="this package: the epsilon-insensitive loss, Gaussian kernel"),
    ModelEntry(key="auto-svr", name="AutoSVR", estimator=AutoSVR, **_same(None),
               reference="this package: least-squares SVMs, tuned by leave-one-out residuals and averaged"),
)  # fmt: skip
