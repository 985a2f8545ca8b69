"""Choose hyper-parameters: one way in for every model, on folds that are given."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from .catalogue import is_batched, is_scale_free, make_estimator

__all__ = ["Chosen", "choose", "configurations", "final_estimator", "pipeline"]


@dataclass(frozen=True)
class Chosen:
    """The chosen configuration, its cross-validated accuracy, and what the choice cost."""

    params: dict
    score: float
    n_configurations: int
    seconds: float


def choose(cell, X, y, folds) -> Chosen:
    """Try every configuration of the cell on the folds; the first of the best wins."""
    start = time.perf_counter()
    search = _batched_search if is_batched(cell) else _grid_search
    params, score, n_configurations = search(cell, X, y, folds)
    return Chosen(params, score, n_configurations, time.perf_counter() - start)


def _batched_search(cell, X, y, folds):
    return _grid_search(cell, X, y, folds)


def _grid_search(cell, X, y, folds):
    grid = [
        {f"model__{name}": [value] for name, value in params.items()}
        for params in configurations(cell.grid, cell.budget)
    ]
    search = GridSearchCV(pipeline(cell), grid, scoring="accuracy", cv=folds, refit=False, n_jobs=1)
    search.fit(X, y)
    params = {name.removeprefix("model__"): value for name, value in search.best_params_.items()}
    return params, float(search.best_score_), len(grid)


def configurations(grid: dict, budget: int | None) -> list[dict]:
    """The points of a grid, or ``budget`` of them spread evenly over its range.

    >>> configurations({"C": [1, 10, 100]}, None)
    [{'C': 1}, {'C': 10}, {'C': 100}]
    >>> configurations({"C": [1, 10, 100]}, 2)
    [{'C': 1}, {'C': 100}]
    >>> len(configurations({"C": [1, 10, 100], "lam": [0, 1, 2]}, 4))
    4
    """
    axes = {name: list(values) for name, values in grid.items()}
    if budget is not None:
        axes = _thinned(axes, budget)
    points = list(ParameterGrid(axes)) if axes else [{}]
    return points if budget is None else [points[i] for i in _even(len(points), budget)]


def _thinned(axes, budget):
    """Shorten the longest axes until the product is within the budget; the values left are spread over each axis."""
    lengths = {name: len(values) for name, values in axes.items()}
    while np.prod(list(lengths.values())) > budget:
        name = max(lengths, key=lengths.get)
        if lengths[name] <= 2:
            break
        lengths[name] -= 1
    return {name: [values[i] for i in _even(len(values), lengths[name])] for name, values in axes.items()}


def _even(n, wanted):
    return np.unique(np.round(np.linspace(0, n - 1, min(n, wanted))).astype(int)).tolist()


def pipeline(cell, **params) -> Pipeline:
    """The model of a cell behind the standardisation it needs, which is part of what is fitted."""
    model = make_estimator(cell, **params)
    scaler = "passthrough" if is_scale_free(cell) else StandardScaler()
    return Pipeline([("scale", scaler), ("model", model)])


def final_estimator(fitted):
    """The model inside a pipeline, or the thing itself."""
    return fitted.named_steps["model"] if isinstance(fitted, Pipeline) else fitted
