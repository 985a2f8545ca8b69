import matplotlib.pyplot
import numpy as np
import pytest
from sklearn.datasets import load_iris

from radiusmargin import FSVM, FSVMCV
from radiusmargin.plots.metric import MarginDisplay, MetricDisplay


@pytest.fixture(autouse=True)
def close_figures():
    yield
    matplotlib.pyplot.close("all")


@pytest.mark.parametrize("params", [{}, {"eta": 0.1}, {"coupling": "shared"}])
def test_margin_display(params):
    X, y = load_iris(return_X_y=True)
    model = FSVM(**params).fit(X, y)
    display = MarginDisplay.from_estimator(model, X, y, column=1)
    assert len(display.axes_) == 2
    # In the learned metric the picture shows what the model reports; the ball contains every point of its shadow.
    if params.get("coupling") == "shared":
        assert display.views["after"]["radius"] == pytest.approx(model.radius_[1], rel=1e-6)
        assert display.views["after"]["margin"] == pytest.approx(model.margin_[1], rel=1e-4)
    for view in display.views.values():
        distances = np.linalg.norm(view["points"] - view["centre"], axis=1)
        assert distances.max() <= view["radius"] * (1 + 1e-9)


def test_an_average_of_linear_models_is_drawn_as_one():
    X, y = load_iris(return_X_y=True)
    model = FSVMCV(3, cv=3).fit(X, y)
    assert len(MarginDisplay.from_estimator(model, X, y, column=1).axes_) == 2
    np.testing.assert_array_equal(model.features(X), X)
    with pytest.raises(ValueError, match="no features in common"):
        FSVMCV([1.0], cv=3, kernel=["linear", "laplacian"], band=100).fit(X, y).features(X)


def test_metric_display_shows_the_history_it_has():
    X, y = load_iris(return_X_y=True)
    silent = MetricDisplay.from_estimator(FSVM().fit(X, y))
    assert len(silent.axes_) == 1
    assert silent.eigenvalues.sum() > 0
    told = MetricDisplay.from_estimator(FSVM(eta=0.1, verbose=1).fit(X, y))
    assert len(told.axes_) == 2
    assert len(told.history) > 1
