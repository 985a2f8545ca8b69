"""Nearest neighbours after a transformation: the search, and the entries of the harness."""

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from stubs import toy_plan, toy_task

from radiusmargin.paper.catalogue import resolve_models
from radiusmargin.paper.cells import run_cell
from radiusmargin.paper.data import load
from radiusmargin.paper.neighbours import NEIGHBOURS, NUMBERS, NeighboursCV, maps


def wine():
    task = load("sklearn/wine")
    return (task.X - task.X.mean(axis=0)) / task.X.std(axis=0), task.y


def test_the_search_is_that_of_grid_search():
    X, y = wine()
    folds = list(StratifiedKFold(3, shuffle=True, random_state=0).split(X, y))
    ours = NeighboursCV(PCA(), {"n_components": [1, 4]}, cv=folds).fit(X, y)
    steps = Pipeline([("map", PCA()), ("knn", KNeighborsClassifier())])
    grid = {"map__n_components": [1, 4], "knn__n_neighbors": NUMBERS}
    theirs = GridSearchCV(steps, grid, cv=folds).fit(X, y)
    assert ours.best_score_ == pytest.approx(theirs.best_score_)
    assert len(ours.cv_results_["params"]) == len(theirs.cv_results_["params"]) == 12
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.97  # equal scores may be at other parameters


def test_the_search_is_scored_by_the_metric_of_the_comparison():
    """Nine rows in ten are of one class: all neighbours are good for accuracy, for balanced accuracy few are."""
    rng = np.random.default_rng(0)
    y = (np.arange(100) % 10 == 0).astype(int)
    X = rng.normal(size=(100, 2)) + y[:, None]
    chosen = {
        name: NeighboursCV("passthrough", cv=5, scoring=name).fit(X, y) for name in ("accuracy", "balanced_accuracy")
    }
    assert chosen["accuracy"].best_score_ >= 0.9
    assert chosen["balanced_accuracy"].best_score_ < 0.8
    _, tasks, plan = toy_plan(names=("a",), models=("knn-none",), metric="balanced_accuracy", splits="folds")
    assert run_cell(plan[0], tasks["a"])["status"] == "ok"


def test_the_test_folds_are_not_seen_by_the_transformation():
    """A transformation that knows the labels of all rows would score 1 on noise."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 40)), np.arange(60) % 2
    folds = list(StratifiedKFold(3).split(X, y))
    entry = next(entry for entry in NEIGHBOURS if entry.key == "knn-lda")
    assert entry.estimator(**entry.fixed, cv=folds).fit(X, y).best_score_ < 0.75


@pytest.mark.parametrize("key", [entry.key for entry in NEIGHBOURS if "nca" not in entry.key])
def test_every_transformation_runs_in_the_harness(key):
    _, _, (cell, *_) = toy_plan(models=(key,))
    record = run_cell(cell, toy_task())
    assert record["status"] == "ok", record
    assert record["n_configurations"] == len(NUMBERS) * (1 if "none" in key else 4)
    assert record["params"]["n_neighbors"] in NUMBERS


def test_they_are_no_models_of_the_package():
    assert not {entry.key for entry in NEIGHBOURS} & set(resolve_models(["all"]))


def test_maps_have_two_dimensions():
    X, y = wine()
    found = maps(X, y)
    assert all(points.shape == (len(X), 2) for points in found.values())
    assert len(found) == len(NEIGHBOURS) / 2
