"""AutoSVR: what it chooses, promises and refuses."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from radiusmargin import AutoSVR
from radiusmargin.search import least_squares
from radiusmargin.search.least_squares import Rows, mixed, near_best
from radiusmargin.search.targets import TargetScale

SMALL = AutoSVR(kernel=["linear", "laplacian"])


@parametrize_with_checks(
    [SMALL, AutoSVR(kernel="rbf", target_transform=None)],
    expected_failed_checks=lambda model: {
        "check_sample_weight_equivalence_on_dense_data": "a row that is there twice is not left out twice",
    },
)
def test_estimator_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def curve():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(150, 3))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=150)


def test_a_curve_is_learned_and_certified(curve):
    X, y = curve
    model = AutoSVR().fit(X[:100], y[:100])
    assert model.score(X[100:], y[100:]) > 0.95
    assert model.max_dual_gap_ < 1e-8
    assert model.dual_objective_ <= model.objective_
    assert sum(member["weight"] for member in model.members_) == pytest.approx(1.0)


def test_held_out_predictions_are_those_of_fits_without_the_row(curve, monkeypatch):
    """With one candidate nothing is chosen, and every fit has the same scaling but for one row."""
    monkeypatch.setattr(least_squares, "RIDGES", np.array([1.0]))
    X, y = curve[0][:60], curve[1][:60]
    model = AutoSVR(kernel="linear", target_transform=None).fit(X, y)
    without = [clone(model).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0] for i in range(10)]
    np.testing.assert_allclose(model.oof_prediction_[:10], without, atol=0.02)
    residuals = y - model.oof_prediction_
    assert model.oof_score_ == pytest.approx(1 - (residuals**2).sum() / ((y - y.mean()) ** 2).sum())


def test_features_without_use_are_scaled_down(curve, monkeypatch):
    X, y = curve
    rng = np.random.default_rng(1)
    wide = np.hstack([X, rng.normal(size=(150, 8))])
    learned = AutoSVR().fit(wide[:100], y[:100])
    plain = AutoSVR(learn_scales=False).fit(wide[:100], y[:100])
    assert learned.score(wide[100:], y[100:]) > plain.score(wide[100:], y[100:]) + 0.02
    assert any(member["kernel"].endswith("-metric") for member in learned.members_)


@pytest.mark.parametrize(("factor", "shift"), [(1e6, 0.0), (-3.0, 0.0), (1e-8, 0.0), (2.0, 100.0)])
def test_predictions_follow_the_units_of_the_target(curve, factor, shift):
    X, y = curve
    model = clone(SMALL).set_params(target_transform=None)
    plain, other = (model.fit(X, target).predict(X[:5]) for target in (y, factor * y + shift))
    np.testing.assert_allclose(other, factor * plain + shift, rtol=1e-6, atol=1e-9 * abs(factor))


def test_a_skewed_target_is_fitted_on_a_power_scale(curve):
    X = curve[0]
    price = np.exp(X @ [1.0, -1.0, 0.5] + 0.3 * np.random.default_rng(2).normal(size=150))
    model, scaled = (clone(SMALL).fit(X, price * unit) for unit in (1.0, 1e5))
    assert abs(model.powers_[0]) < 0.35
    kept = clone(SMALL).set_params(target_transform=None).fit(X, price)
    assert model.oof_score_ > kept.oof_score_
    np.testing.assert_allclose(scaled.predict(X[:9]), 1e5 * model.predict(X[:9]), rtol=1e-6)
    assert model.predict(X, quantiles=[0.05]).min() > 0


@pytest.mark.parametrize("y", [np.geomspace(0.1, 10, 50), np.linspace(-5, 5, 50) ** 3, np.arange(50.0)])
@pytest.mark.parametrize("power", [-2.0, -0.5, 0.0, 0.5, 2.0, 3.0])
def test_power_scales_lead_back(y, power):
    scale = TargetScale.of(y, np.ones(50), power)
    z = scale.forward(y)
    assert (np.diff(z) >= 0).all()
    np.testing.assert_allclose(scale.backward(z), y, rtol=1e-5, atol=1e-5)
    assert np.isfinite(scale.backward(np.array([-50.0, 50.0]))).all()


def test_intervals_cover_what_they_say():
    covered = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        X = rng.uniform(-2, 2, size=(1080, 2))
        y = np.sin(2 * X[:, 0]) + rng.laplace(size=1080)
        low, high = clone(SMALL).fit(X[:80], y[:80]).prediction_interval(X[80:], coverage=0.8).T
        covered.append(((low <= y[80:]) & (y[80:] <= high)).mean())
    assert np.mean(covered) == pytest.approx(0.8, abs=0.03)


def test_quantiles_are_in_order_and_the_interval_is_of_two(curve):
    X, y = curve
    model = clone(SMALL).fit(X, np.exp(y))
    quantiles = model.predict(X[:7], quantiles=[0.05, 0.5, 0.95])
    assert (np.diff(quantiles, axis=1) > 0).all()
    np.testing.assert_allclose(model.prediction_interval(X[:7], 0.9), quantiles[:, [0, 2]])
    for wrong in ([0.0], [1.5], [np.nan]):
        with pytest.raises(ValueError, match="quantiles"):
            model.predict(X, quantiles=wrong)


def test_several_targets_are_those_one_by_one(curve):
    X, y = curve
    both = np.column_stack([y, X @ [1.0, 0.0, -1.0]])
    model = clone(SMALL).set_params(learn_scales=False).fit(X, both)
    for t in range(2):
        one = clone(model).fit(X, both[:, t])
        np.testing.assert_allclose(model.predict(X)[:, t], one.predict(X), rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(model.oof_prediction_[:, t], one.oof_prediction_, rtol=1e-6, atol=1e-8)
    assert model.predict(X, quantiles=[0.1, 0.9]).shape == (150, 2, 2)


def test_rows_of_weight_zero_are_left_out(curve):
    X, y = curve
    weight = np.ones(150)
    weight[100:] = 0
    weighted = clone(SMALL).fit(X, np.where(weight > 0, y, 1e9), sample_weight=weight)
    np.testing.assert_allclose(weighted.predict(X[:5]), clone(SMALL).fit(X[:100], y[:100]).predict(X[:5]))
    assert np.isnan(weighted.oof_prediction_[100:]).all()


@pytest.mark.parametrize("y", [np.full(40, 7.0), np.r_[np.zeros(39), 1.0], np.repeat([1.0, 2.0], 20)])
def test_constant_and_nearly_constant_targets(y):
    X = np.random.default_rng(0).normal(size=(40, 3))
    X[:, 1] = 5.0  # a constant column
    model = AutoSVR().fit(X, y)
    assert np.isfinite(model.predict(10 * X)).all()
    if len(set(y)) == 1:
        np.testing.assert_allclose(model.predict(X), y)
        np.testing.assert_allclose(model.prediction_interval(X), 7.0)


def test_a_frame_is_learned_as_it_is(curve):
    X, y = curve
    hue = np.where(X[:, 1] > 0, "red", "blue")
    frame = pd.DataFrame({"size": np.where(np.arange(150) % 9, X[:, 0], np.nan), "hue": hue})
    target = y + 3 * (hue == "red")
    model = AutoSVR().fit(frame[:100], target[:100])
    assert model.score(frame[100:], target[100:]) > 0.85
    assert list(model.feature_names_in_) == ["size", "hue"]
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))


def test_many_rows_are_approximated(monkeypatch):
    X, y = make_friedman1(900, noise=1.0, random_state=0)
    monkeypatch.setattr(least_squares, "SAMPLE", 200)
    model = AutoSVR(kernel=["linear", "rbf"])
    exact = clone(model).fit(X[:500], y[:500])
    monkeypatch.setattr(least_squares, "EXACT", 400)
    monkeypatch.setattr(least_squares, "LANDMARKS", 250)
    nearly = clone(model).fit(X[:500], y[:500])
    assert nearly.max_dual_gap_ < 1e-6
    assert nearly.score(X[500:], y[500:]) > exact.score(X[500:], y[500:]) - 0.02
    assert nearly.oof_score_ == pytest.approx(exact.oof_score_, abs=0.03)


def test_it_is_ahead_of_ridge_regression():
    X, y = load_diabetes(return_X_y=True)
    assert cross_val_score(AutoSVR(), X[:250], y[:250], cv=2).mean() > 0.35


def test_near_best_members_are_within_standard_errors_of_the_best():
    rng = np.random.default_rng(0)
    best = rng.normal(size=200) ** 2
    squares = np.array([best + 0.001, best, best + 5.0])
    assert near_best(squares, np.ones(200)).tolist() == [1]  # a constant difference has no error
    assert near_best(best + 0.1 * rng.normal(size=(3, 200)), np.ones(200)).size == 3


def test_mixtures_have_the_least_squares(curve):
    rng = np.random.default_rng(0)
    residuals = rng.normal(size=(2, 4000)) * np.array([[1.0], [2.0]])
    np.testing.assert_allclose(mixed(residuals, np.ones(4000)), [0.8, 0.2], atol=0.05)  # inverse variances
    np.testing.assert_allclose(mixed(residuals[:, :1].repeat(9, axis=1), np.ones(9)).sum(), 1.0)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [({"kernel": "cubic"}, "kernel"), ({"kernel": []}, "empty"), ({"target_transform": "log"}, "target_transform")],
)
def test_parameters_out_of_range_are_named(curve, parameters, message):
    with pytest.raises(ValueError, match=message):
        AutoSVR(**parameters).fit(*curve)


def test_text_as_target_is_refused(curve):
    with pytest.raises(ValueError, match="y holds texts, and AutoSVR predicts a quantity"):
        AutoSVR().fit(curve[0], np.where(curve[1] > 0, "yes", "no"))


def test_rows_keep_their_weights():
    rows = Rows(np.arange(6.0).reshape(3, 2), np.zeros((3, 1)), np.array([1.0, 2.0, 3.0]))
    assert rows.at([2, 0]).weight.tolist() == [3.0, 1.0]
