"""Choose hyper-parameters: one way in for every model, on folds that are given."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from ..search import FSVMCV
from .catalogue import grid_of, is_batched, is_regressor, is_scale_free, is_self_tuning, is_unit_scaled, make_estimator
from .metrics import METRICS

__all__ = ["Chosen", "choose", "final_estimator", "pipeline", "within_rank"]


@dataclass(frozen=True)
class Chosen:
    """The chosen configuration, its cross-validated accuracy, and the processor seconds of the choice.

    ``estimator`` is the fitted model where the search makes it, and None where a model is yet to be fitted.
    """

    params: dict
    score: float
    n_configurations: int
    seconds: float = 0.0
    estimator: Any = None


def choose(cell, X, y, folds) -> Chosen:
    """Try every configuration of the cell on the folds; the first of the best wins."""
    start = time.process_time()
    cell = within_rank(cell, min(len(train) for train, _ in folds))
    if is_self_tuning(cell):
        found = _self_tuned(cell, X, y, folds)
    elif is_regressor(cell.model) and not cell.grid:
        found = Chosen({}, float("nan"), 1)  # it has nothing to choose, or does so without folds
    elif is_batched(cell):
        found = _batched_search(cell, X, y, folds)
    else:
        found = _grid_search(cell, X, y, folds)
    return replace(found, seconds=time.process_time() - start)


def within_rank(cell, n_rows):
    """The cell with no more kernel components than a centred kernel matrix of so many rows has."""
    most = n_rows - 1
    grid, fixed = dict(cell.grid), dict(cell.fixed)
    if "n_components" in grid:
        grid["n_components"] = sorted({min(k, most) for k in grid["n_components"]})
    if "n_components" in fixed:
        fixed["n_components"] = min(fixed["n_components"], most)
    return replace(cell, grid=grid, fixed=fixed)


def _batched_search(cell, X, y, folds) -> Chosen:
    """F-SVM's own search: the same grid and folds, many problems to a compiled call.

    With a kernel the features are standardised on all rows that are given, once, and not fold by fold: these
    are training rows in any case.
    """
    model = make_estimator(cell)
    several = {
        name: cell.grid.get(name, getattr(model, name)) for name in ("whitening", "eta", "gamma", "n_components")
    }
    if cell.kernel == "linear":
        several |= {"gamma": "scale", "n_components": None}
    shared = {name: getattr(model, name) for name in ("scatter", "multi_class", "fit_intercept", "class_weight")}
    how = {"cv": folds, "scoring": METRICS[cell.metric].scoring, "refit": False, "n_jobs": 1, "random_state": cell.seed}
    search = FSVMCV(cell.grid.get("C", [model.C]), **several, **shared, kernel=cell.kernel, combine="best", **how)
    search.fit(X if is_scale_free(cell) else StandardScaler().fit_transform(X), y)
    best = {**search.best_params_, "kernel": cell.kernel}
    params = {name: best[name] for name in cell.grid if name in best}
    return Chosen(params, float(search.best_score_), len(search.cv_results_["params"]))


def _self_tuned(cell, X, y, folds) -> Chosen:
    """An estimator that searches by itself; its fit is the search."""
    grids = {}
    if cell.kernel == "rbf" and make_estimator(cell).kernel != "auto":
        grid = grid_of("svm", "rbf")
        grids = {"kernel": "rbf", "Cs": grid["C"], "gamma": grid["gamma"], "scatter": "total"}
    if cell.metric != "accuracy":  # their default
        grids["scoring"] = METRICS[cell.metric].scoring
    model = pipeline(cell, cv=folds, n_jobs=1, random_state=cell.seed, **grids).fit(X, y)
    search = final_estimator(model)
    return Chosen(
        dict(search.best_params_),
        float(search.best_score_),
        len(search.cv_results_["params"]),
        estimator=model,
    )


def _grid_search(cell, X, y, folds) -> Chosen:
    grid = {f"model__{name}": values for name, values in cell.grid.items()}
    search = GridSearchCV(pipeline(cell), grid, scoring=METRICS[cell.metric].scoring, cv=folds, refit=False, n_jobs=1)
    search.fit(X, y)
    params = {name.removeprefix("model__"): value for name, value in search.best_params_.items()}
    return Chosen(params, float(search.best_score_), len(search.cv_results_["params"]))


def pipeline(cell, **params) -> Pipeline:
    """The model of a cell behind the standardisation it needs, which is part of what is fitted."""
    model = make_estimator(cell, **params)
    scaler = MinMaxScaler() if is_unit_scaled(cell) else StandardScaler()
    return Pipeline([("scale", "passthrough" if is_scale_free(cell) else scaler), ("model", model)])


def final_estimator(fitted):
    """The model inside a pipeline, or the thing itself."""
    return fitted.named_steps["model"] if isinstance(fitted, Pipeline) else fitted
