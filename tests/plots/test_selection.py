import matplotlib.pyplot
import pytest
from sklearn.datasets import load_iris

from radiusmargin import FSVMCV
from radiusmargin.plots.selection import CVDisplay, PathDisplay
from radiusmargin.selection import fsvm_path


def test_path_display():
    X, y = load_iris(return_X_y=True)
    display = PathDisplay.from_path(fsvm_path(X, y, [10.0, 0.1, 1.0]), column=2)
    lines = display.axes_[0].lines
    assert len(lines) == 4
    assert list(lines[0].get_xdata()) == [0.1, 1.0, 10.0]
    matplotlib.pyplot.close("all")


def test_cv_display():
    X, y = load_iris(return_X_y=True)
    model = FSVMCV(Cs=[0.1, 1.0], whitening=(0.0, 1.0), random_state=0).fit(X, y)
    display = CVDisplay.from_estimator(model)
    curves = [line for line in display.ax_.lines if len(line.get_xdata()) == 2 and line.get_marker() == "."]
    assert len(curves) == 2
    best = max(max(line.get_ydata()) for line in curves)
    assert best == pytest.approx(model.best_score_)
    matplotlib.pyplot.close("all")
