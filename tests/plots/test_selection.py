import matplotlib.pyplot
import pytest
from sklearn.datasets import load_iris

from radiusmargin import FSVMCV
from radiusmargin.plots.kernels import KindsDisplay
from radiusmargin.plots.selection import CVDisplay, PathDisplay
from radiusmargin.search import fsvm_path


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


def test_kinds_display():
    X, y = load_iris(return_X_y=True)
    model = FSVMCV(4, kernel=["rbf", "linear", "laplacian-ranks"]).fit(X, y)
    display = KindsDisplay.from_estimator(model)
    assert [panel.kernel for panel in display.panels] == ["linear", "laplacian-ranks", "rbf"]
    assert max(panel.scores.max() for panel in display.panels) == pytest.approx(model.best_score_)
    shares = {panel.kernel: ax.get_title() for panel, ax in zip(display.panels, display.axes_, strict=True)}
    for kernel in {m["kernel"] for m in model.members_}:
        share = sum(m["weight"] for m in model.members_ if m["kernel"] == kernel)
        assert shares[kernel] == f"{kernel}: {share:.0%} of the average"
    with pytest.raises(ValueError, match="CVDisplay"):
        KindsDisplay.from_estimator(FSVMCV(3).fit(X, y))
    matplotlib.pyplot.close("all")
