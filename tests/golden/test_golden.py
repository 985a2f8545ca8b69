"""What the models return today, in about fifty configurations: a change of the code that is no change of a model keeps it.

``python tests/golden/test_golden.py`` writes the file anew, after a change that is meant to change results.
"""

import json
import warnings
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from scipy import sparse
from sklearn.preprocessing import PolynomialFeatures

from radiusmargin import (
    FSVM,
    FSVMCV,
    MRSVM,
    MSVM,
    RMM,
    SVM,
    FSVMAlgorithm1,
    KernelMap,
    RSVMMuPlus,
    RSVMPlus,
    SigmaSVM,
)
from radiusmargin.paper.data import make_gaussian_mixture, make_twonorm

FILE = Path(__file__).with_name("golden.json")
TIGHT = {"tol": 1e-10}


def data(kind):
    """(X, y, weights): two classes of correlated features, three, sparse ones, or fewer rows than features."""
    rng = np.random.default_rng(7)
    if kind == "three":
        X, y = make_gaussian_mixture(120, 4, n_classes=3, separation=1.0, random_state=3)
    elif kind == "sparse":
        X = rng.normal(size=(90, 40)) * (rng.random((90, 40)) < 0.2)
        y = (X[:, :5].sum(axis=1) + rng.normal(size=90) > 0).astype(int)
        X = sparse.csr_array(X)
    elif kind == "wide":
        X, y = rng.normal(size=(40, 60)), np.arange(40) % 2
    else:
        X, y = make_twonorm(100, 4, random_state=5)
        X = X @ rng.normal(size=(4, 4)) + rng.normal(size=4)
    weights = rng.integers(0, 4, X.shape[0]).astype(float) if kind == "weighted" else None
    return X, y, weights


def kernel_matrix(X):
    return (X @ X.T + 1.0) ** 2 / 100


FITS = {
    "fsvm": ("two", FSVM(0.3, **TIGHT)),
    "fsvm half": ("two", FSVM(0.3, whitening=0.5, **TIGHT)),
    "fsvm standardised": ("two", FSVM(0.3, whitening=0.0, **TIGHT)),
    "fsvm raw": ("two", FSVM(0.3, whitening=-1.0, **TIGHT)),
    "fsvm within": ("two", FSVM(0.3, scatter="within", **TIGHT)),
    "fsvm rho": ("two", FSVM(2.0, rho=5.0, **TIGHT)),
    "fsvm eta": ("two", FSVM(0.3, eta=0.1, **TIGHT)),
    "fsvm eta rho": ("two", FSVM(2.0, eta=0.1, rho=0.5, whitening=0.5, **TIGHT)),
    "fsvm no intercept": ("two", FSVM(0.3, fit_intercept=False, **TIGHT)),
    "fsvm balanced": ("weighted", FSVM(0.3, class_weight="balanced", **TIGHT)),
    "fsvm weighted eta": ("weighted", FSVM(0.3, eta=0.1, **TIGHT)),
    "fsvm wide": ("wide", FSVM(0.01, whitening=0.5, **TIGHT)),
    "fsvm alternating": ("two", FSVM(0.3, eta=0.5, solver="alternating", tol=1e-8)),
    "fsvm projected": ("two", FSVM(0.3, solver="projected-gradient")),
    "fsvm pairs": ("three", FSVM(0.3, **TIGHT)),
    "fsvm rest": ("three", FSVM(0.3, multi_class="ovr", whitening=0.5, **TIGHT)),
    "fsvm shared": ("three", FSVM(0.3, coupling="shared", multi_class="ovo", tol=1e-8)),
    "fsvm shared eta": ("three", FSVM(0.3, coupling="shared", multi_class="ovo", eta=0.1, tol=1e-8)),
    "fsvm sparse": ("sparse", FSVM(0.1, **TIGHT)),
    "fsvm sparse standardised": ("sparse", FSVM(0.1, whitening=0.0, **TIGHT)),
    "fsvm sparse half raw": ("sparse", FSVM(0.1, whitening=-0.5, **TIGHT)),
    "fsvm rbf": ("two", FSVM(3.0, kernel="rbf", whitening=0.0, tol=1e-9)),
    "fsvm rbf pairs": ("three", FSVM(3.0, kernel="rbf", whitening=0.0, tol=1e-9)),
    "fsvm rbf half": ("two", FSVM(0.3, kernel="rbf", whitening=0.5, **TIGHT)),
    "fsvm rbf white": ("two", FSVM(0.3, kernel="rbf", n_components=10, **TIGHT)),
    "fsvm laplacian weighted": ("weighted", FSVM(1.0, kernel="laplacian", gamma=0.2, whitening=0.0, tol=1e-9)),
    "fsvm poly": ("two", FSVM(0.1, kernel="poly", degree=2, coef0=1.0, whitening=0.0, tol=1e-9)),
    "fsvm precomputed": ("kernel", FSVM(1.0, kernel="precomputed", whitening=0.0, tol=1e-9)),
    "fsvm transformer": ("two", FSVM(0.1, kernel=PolynomialFeatures(2, include_bias=False), whitening=0.5, **TIGHT)),
    "svm": ("two", SVM(0.3, **TIGHT)),
    "svm pairs": ("three", SVM(0.3, **TIGHT)),
    "svm sparse": ("sparse", SVM(0.3, **TIGHT)),
    "svm rbf": ("two", SVM(3.0, kernel="rbf", tol=1e-9)),
    "rmm": ("two", RMM(0.3, 1.5)),
    "rmm pairs weighted": ("three", RMM(0.3, 1.5)),
    "r-svm+": ("two", RSVMPlus(0.3, 0.5)),
    "r-svm+ rbf": ("two", RSVMPlus(0.3, 0.5, kernel="rbf", n_components=6)),
    "r-svm_mu+": ("weighted", RSVMMuPlus(0.3, 0.5)),
    "mr-svm": ("two", MRSVM(0.3)),
    "msvm": ("two", MSVM(0.3)),
    "sigma-svm": ("two", SigmaSVM(0.3, 0.5, **TIGHT)),
    "sigma-svm white": ("weighted", SigmaSVM(0.3, 1.0, **TIGHT)),
    "algorithm 1": ("two", FSVMAlgorithm1(100.0, step=1e-4, n_rounds=3)),
}
SEARCHES = {
    "search": ("two", FSVMCV(random_state=0)),
    "search three": ("three", FSVMCV(random_state=0, whitening=[0.0, 0.5, 1.0])),
    "search best": ("weighted", FSVMCV(combine="best", scatter="within", class_weight="balanced")),
    "search sparse": ("sparse", FSVMCV(cv=3, whitening=[-1.0, 0.0])),
    "search eta": ("two", FSVMCV(Cs=[0.1, 1.0], eta=[0.0, 0.1], cv=3)),
    "search leave-one-out": ("two", FSVMCV(Cs=4, criterion="loo")),
    "search bound": ("two", FSVMCV(Cs=4, criterion="radius-margin")),
    "search rbf half": ("two", FSVMCV(Cs=[0.1, 1.0], kernel="rbf", gamma=[0.03, 0.1], whitening=0.5, cv=3)),
}
# Of searches over kernels what was chosen is kept, not the scores of members that had no chance.
CHOICES = {
    "choice rbf": ("two", FSVMCV(Cs=[0.1, 1.0, 10.0], kernel="rbf", gamma=[0.03, 0.3], combine="best", cv=3)),
    "choice auto": ("three", FSVMCV(Cs=4, kernel="auto", cv=3, combine="best")),
}


def fitted(kind, model):
    X, y, weights = data("two" if kind == "kernel" else kind)
    X = kernel_matrix(X) if kind == "kernel" else X
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return model.fit(X, y, sample_weight=weights), X


def told(kind, model):
    """Objectives, some coefficients and scores, and a number made of all predictions."""
    model, X = fitted(kind, model)
    coef = model.coef_ if hasattr(model, "coef_") else getattr(model, "dual_coef_", np.empty(0))
    return {
        "objective": model.objective_, "dual": model.dual_objective_,
        "coef": np.ravel(coef)[:4].tolist(), "scores": np.ravel(model.decision_function(X[:4])).tolist(),
        "predictions": crc32(np.searchsorted(model.classes_, model.predict(X)).astype(np.int32).tobytes()),
    }  # fmt: skip


def told_of_search(kind, model):
    found = told(kind, model)
    return found | {"mean_test_score": model.cv_results_["mean_test_score"].tolist(), "Cs": model.Cs_.tolist()}


def told_of_choice(kind, model):
    found = told(kind, model)
    return found | {"best_score": model.best_score_, "C": model.C_}


def told_of_map(kind, model):
    model, _ = fitted(kind, model)
    return {"eigenvalues": model.eigenvalues_[:5].tolist(), "explained": model.explained_}


CASES = {
    **{name: (told, *case) for name, case in FITS.items()},
    **{name: (told_of_search, *case) for name, case in SEARCHES.items()},
    **{name: (told_of_choice, *case) for name, case in CHOICES.items()},
    "kernel map": (told_of_map, "two", KernelMap("rbf", gamma=0.2)),
    "kernel map, landmarks": (told_of_map, "weighted", KernelMap("rbf", gamma=0.2, engine="landmarks", n_components=5)),
}
# Relative to the largest number of a list. Solutions are flatter than objectives.
PRECISION = {"objective": 1e-6, "dual": 1e-6, "eigenvalues": 1e-9, "explained": 1e-9, "coef": 1e-3, "scores": 1e-3}
# They stop after some rounds, wherever they are: rounding decides the fourth digit of one, the sixth of the other.
UNSETTLED = {"fsvm projected": 1e-3, "algorithm 1": 1e-5}
ZERO = 1e-5  # lists of smaller numbers are zero but for rounding


@pytest.fixture(scope="module")
def golden():
    return json.loads(FILE.read_text())


@pytest.mark.parametrize("name", CASES)
def test_nothing_has_changed(name, golden):
    tell, *case = CASES[name]
    found = tell(*case)
    assert found.keys() == golden[name].keys()
    for what, expected in golden[name].items():
        if what == "predictions":
            assert found[what] == expected
        else:
            precision = max(PRECISION.get(what, 1e-6), UNSETTLED.get(name, 0.0))
            atol = precision * np.abs(expected).max(initial=ZERO)
            np.testing.assert_allclose(found[what], expected, rtol=0, atol=atol, err_msg=what)


def test_every_configuration_is_kept(golden):
    assert golden.keys() == CASES.keys()


def write():
    lines = [f"{json.dumps(name)}: {json.dumps(tell(*case))}" for name, (tell, *case) in CASES.items()]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    write()
