"""Accuracy over the number of kernel components: one decomposition per fold, the same scores as refitting."""

import sys

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from radiusmargin import FSVM
from radiusmargin.estimators import DimensionPath, KernelMap, kernel_dimension_path
from radiusmargin.paper.data import make_ringnorm

DIMENSIONS = [2, 10, 40]


@pytest.fixture(scope="module")
def data():
    return make_ringnorm(120, 6, random_state=0)


def test_scores_are_those_of_refitted_models(data):
    X, y = data
    model = FSVM(kernel="rbf", gamma=0.1, whitening=0.5)
    path = kernel_dimension_path(model, X, y, DIMENSIONS[::-1], cv=3)
    np.testing.assert_array_equal(path.dimensions, DIMENSIONS)
    for column, m in enumerate(DIMENSIONS):
        refitted = cross_val_score(model.set_params(n_components=m), X, y, cv=3)
        np.testing.assert_allclose(path.scores[0, column], refitted)
    assert path.names == ("FSVM",)


def test_one_decomposition_per_fold_serves_all_models_and_dimensions(data, monkeypatch):
    X, y = data
    fits = []
    original = KernelMap.fit_features
    monkeypatch.setattr(KernelMap, "fit_features", lambda self, *args: fits.append(1) or original(self, *args))
    models = {"F-SVM": FSVM(kernel="rbf"), "SVM": FSVM(kernel="rbf", whitening=0.0), "SVC": SVC()}
    path = kernel_dimension_path(models, X, y, DIMENSIONS, cv=StratifiedKFold(4))
    assert path.scores.shape == (3, 3, 4)
    assert len(fits) == 4  # the three have the same map
    np.testing.assert_allclose(path.scores[1], path.scores[2], atol=0.04)


def test_precomputed_other_models_and_scorings(data):
    X, y = data
    K = rbf_kernel(X, gamma=0.1)
    given = kernel_dimension_path(FSVM(kernel="precomputed"), K, y, [5, 20], cv=3, scoring="roc_auc")
    computed = kernel_dimension_path(FSVM(kernel="rbf", gamma=0.1), X, y, [5, 20], cv=3, scoring="roc_auc")
    np.testing.assert_allclose(given.scores, computed.scores, atol=1e-6)
    assert given.scoring == "roc_auc"
    assert given.standard_error.shape == given.mean.shape == (1, 2)


def test_bad_input(data):
    X, y = data
    with pytest.raises(ValueError, match="dimensions must be a sequence of positive integers"):
        kernel_dimension_path(FSVM(kernel="rbf"), X, y, [0, 3])
    with pytest.raises(ValueError, match="at most n_samples - 1"):
        kernel_dimension_path(FSVM(kernel="rbf"), X, y, [3, 500])
    from sklearn.linear_model import LogisticRegression

    with pytest.raises(ValueError, match="LogisticRegression has no kernel parameter"):
        kernel_dimension_path(LogisticRegression(), X, y, [3])
    path = kernel_dimension_path(LogisticRegression(), X, y, [3], kernel_map=KernelMap(), cv=2)
    assert path.mean.shape == (1, 1)


PATH = DimensionPath(np.array([1, 10, 100]), ("a", "b"), np.random.default_rng(0).uniform(size=(2, 3, 4)))


def test_the_display_draws_the_means():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib.figure import Figure

    from radiusmargin.plots.dimension import DimensionPathDisplay

    display = DimensionPathDisplay.from_result(PATH, ax=Figure().subplots())
    for line, mean in zip(display.lines_, PATH.mean, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), mean)
    assert display.ax_.get_xscale() == "log"
    assert display.ax_.get_ylabel() == "accuracy"
    np.testing.assert_array_equal(display.table()[:, 0], PATH.dimensions)


def test_the_display_computes_the_path_itself(data):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from matplotlib import pyplot

    from radiusmargin.plots.dimension import DimensionPathDisplay

    display = DimensionPathDisplay.from_estimators({"F": FSVM(kernel="rbf")}, *data, [2, 5], cv=2)
    assert display.ax_.get_legend() is None
    assert display.path.scores.shape == (1, 2, 2)
    pyplot.close(display.figure_)


def test_without_matplotlib_the_error_says_what_to_install(monkeypatch):
    from radiusmargin.plots.dimension import DimensionPathDisplay

    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match="pip install"):
        DimensionPathDisplay(PATH).plot()
