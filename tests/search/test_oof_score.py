"""The score of an average on the rows that folds hold out."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import accuracy_score, balanced_accuracy_score
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold

from radiusmargin import FSVM, FSVMCV, AutoSVM
from radiusmargin.search import scoring as out_of_fold

SCORES = {None: accuracy_score, "balanced_accuracy": balanced_accuracy_score}


def sizes_and_models(members, X, y, train, multi_class):
    """Each member fitted to all rows and to a training part, with its weight over the size of its scores."""
    for member in members:
        params = {name: value for name, value in member.items() if name != "weight"}
        whole, part = (FSVM(**params, multi_class=multi_class, tol=1e-9) for _ in range(2))
        scores = whole.fit(X, y).decision_function(X)
        yield member["weight"] / np.sqrt(np.mean(scores**2)), part.fit(X[train], y[train])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_it_is_the_score_of_averages_of_models_that_have_not_seen_the_rows(classes, scoring):
    X, y = load_iris(return_X_y=True)
    X, y = (X[y < classes] + np.random.default_rng(0).normal(size=(50 * classes, 4)))[:, :3], y[y < classes]
    folds = StratifiedKFold(4, shuffle=True, random_state=0)
    model = FSVMCV([0.01, 1.0, 10.0], cv=folds, multi_class="ovr", scoring=scoring, tol=1e-9, cv_tol=1e-9).fit(X, y)
    assert len(model.members_) > 1
    found = []
    for train, test in folds.split(X, y):
        values = sum(s * m.decision_function(X[test]) for s, m in sizes_and_models(model.members_, X, y, train, "ovr"))
        predicted = values.argmax(axis=1) if classes > 2 else (values > 0).astype(int)
        found.append(SCORES[scoring](y[test], predicted))
    assert model.oof_score_ == pytest.approx(np.mean(found), abs=1 / len(y))


@pytest.mark.parametrize(
    "search",
    [
        FSVMCV(),
        FSVMCV(kernel="rbf"),
        AutoSVM(),
        FSVMCV(cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0), probability=True),
    ],
)
def test_the_score_of_the_best_alone_is_its_cross_validated_one(search):
    X, y = make_moons(120, noise=0.4, random_state=0)
    model = search.set_params(combine="best", random_state=0).fit(X, y)
    assert model.oof_score_ == pytest.approx(model.best_score_)


@pytest.mark.parametrize("params", [{"refit": False}, {"criterion": "loo"}])
def test_without_held_out_rows_or_a_model_there_is_none(params):
    X, y = make_moons(60, noise=0.4, random_state=0)
    model = FSVMCV(Cs=3).fit(X, y)
    assert hasattr(model, "oof_score_")
    assert not hasattr(model.set_params(**params).fit(X, y), "oof_score_")


def test_of_many_values_a_part_of_the_rows_is_kept(monkeypatch):
    X, y = make_moons(400, noise=0.4, random_state=0)
    whole = FSVMCV(Cs=3, random_state=0).fit(X, y)
    monkeypatch.setattr(out_of_fold, "MOST_VALUES", 100)
    part = FSVMCV(Cs=3, random_state=0).fit(X, y)
    assert part.oof_score_ != whole.oof_score_
    assert part.oof_score_ == pytest.approx(whole.oof_score_, abs=0.15)
    np.testing.assert_array_equal(part.predict(X), whole.predict(X))


def test_on_coin_tosses_it_is_less_optimistic_than_the_best_score():
    rng = np.random.default_rng(0)
    models = [AutoSVM().fit(rng.normal(size=(60, 5)), rng.integers(0, 2, 60)) for _ in range(12)]
    assert np.mean([m.oof_score_ for m in models]) < np.mean([m.best_score_ for m in models]) - 0.01
