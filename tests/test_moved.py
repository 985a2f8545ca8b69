"""Names of modules from before they moved: imports and pickles that use them keep working."""

import importlib
import pickle
from unittest import mock

import numpy as np
import pytest
from sklearn.datasets import load_iris

import radiusmargin
from radiusmargin import AutoSVM
from radiusmargin._moved import MODULES, NAMES, PACKAGES

# Classes that fitted models hold, as pickles of version 0.1.0 before the move name them.
PICKLED = [
    "radiusmargin.features.engines.FittedMap",
    "radiusmargin.features.functions.KernelFunction",
    "radiusmargin.features.map.KernelMap",
    "radiusmargin.features.space.Expansion",
    "radiusmargin.features.space.Mapped",
    "radiusmargin.features.space.Raw",
    "radiusmargin.features.units.InUnits",
    "radiusmargin.features.units.Linear",
    "radiusmargin.features.units.Ranks",
    "radiusmargin.features.units.Standard",
    "radiusmargin.models.algorithm_one.FSVMAlgorithm1",
    "radiusmargin.models.fsvm.FSVM",
    "radiusmargin.models.fsvm.Previous",
    "radiusmargin.models.linear.LinearModel",
    "radiusmargin.models.linear.Sum",
    "radiusmargin.models.mrsvm.MRSVM",
    "radiusmargin.models.msvm.MSVM",
    "radiusmargin.models.multiclass.Reduction",
    "radiusmargin.models.probability.Sigmoids",
    "radiusmargin.models.rmm.RMM",
    "radiusmargin.models.rsvm.RSVMMuPlus",
    "radiusmargin.models.rsvm.RSVMPlus",
    "radiusmargin.models.semi_whitening.SemiWhitening",
    "radiusmargin.models.sigma_svm.SigmaSVM",
    "radiusmargin.models.svm.SVM",
    "radiusmargin.models.svml.SVML",
    "radiusmargin.selection.auto.AutoSVM",
    "radiusmargin.selection.cv.FSVMCV",
    "radiusmargin.datasets.table_encoder.TableEncoder",
    "radiusmargin.pairs.verifier.PairVerifier",
    "radiusmargin.pairs.ldml.LDML",
]

PUBLIC = {
    "problems": ("Batch", "Options", "Dense", "Kernel", "Results", "Chunk"), "models": ("FSVM", "list_models"),
    "features": ("KernelMap", "KernelFunction", "kernel_dimension_path"), "selection": ("FSVMCV", "fsvm_path"),
    "chunks": ("ArraySource", "in_chunks"), "datasets": ("load", "read_table", "make_twonorm", "DataError"),
    "pairs": ("PairVerifier", "LDML"), "export": ("save_bundle", "load_bundle"), "experiments": ("Spec", "Store"),
}  # fmt: skip


@pytest.mark.parametrize("name", PICKLED)
def test_classes_of_pickles_are_found(name):
    module, _, cls = name.rpartition(".")
    found = getattr(importlib.import_module(module), cls)
    assert isinstance(found, type)
    assert found.__name__ == NAMES.get(cls, cls)


@pytest.mark.parametrize("package", PUBLIC)
def test_public_names_are_found(package):
    module = importlib.import_module(f"radiusmargin.{package}")
    for name in PUBLIC[package]:
        assert getattr(module, name) is not None


def test_scatter_is_still_in_geometry():
    from radiusmargin.geometry import scatter_matrix

    assert scatter_matrix is radiusmargin.scatter.scatter_matrix
    with pytest.raises(ImportError, match="no_such_name"):
        from radiusmargin.geometry import no_such_name  # noqa: F401


def test_a_pickle_that_names_old_modules_predicts_the_same():
    X, y = load_iris(return_X_y=True)
    model = AutoSVM(cv=3).fit(X, y)
    text = pickle.dumps(model, protocol=0)
    back = {new: old for old, new in NAMES.items()}
    for old, (new, *_) in MODULES.items():
        for cls in ("AutoSVM", "LinearModel", "Ensemble", "MulticlassReduction", "ScaledSpace", "Standardizer", "Raw"):
            wanted = f"cradiusmargin.{old}\n{back.get(cls, cls)}\n".encode()
            if hasattr(importlib.import_module(f"radiusmargin.{old}"), back.get(cls, cls)):
                text = text.replace(f"cradiusmargin.{new}\n{cls}\n".encode(), wanted)
    assert b"radiusmargin.selection.auto" in text
    np.testing.assert_array_equal(pickle.loads(text).predict(X), model.predict(X))


def test_what_never_was_is_not_found():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("radiusmargin.nothing")
    with pytest.raises(AttributeError, match="no attribute"):
        _ = importlib.import_module("radiusmargin.models").nothing
    assert not PACKAGES.keys() & {"solvers", "geometry", "plots"}


def test_a_pickle_of_another_version_warns_and_loads():
    X, y = load_iris(return_X_y=True)
    model = radiusmargin.FSVMCV().fit(X, y)
    here = pickle.dumps(model)
    assert pickle.loads(here).score(X, y) == model.score(X, y)  # the same version: no warning, which would be an error
    with mock.patch("radiusmargin._compat.VERSION", "0.0.9"):
        there = pickle.dumps(model)
    with pytest.warns(UserWarning, match=r"FSVMCV was pickled by radiusmargin 0\.0\.9"):
        np.testing.assert_array_equal(pickle.loads(there).predict(X), model.predict(X))
