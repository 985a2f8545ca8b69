"""Import modules by their former names, so that old imports, pickles and model files keep working."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec

#: Former packages, and the modules that have their public names now.
PACKAGES = {
    "chunks": ("outofcore",),
    "commands": ("app.commands",),
    "datasets": ("tables", "paper.data"),
    "experiments": ("paper",),
    "export": ("app",),
    "features": ("estimators", "kernels"),
    "models": ("estimators",),
    "pairs": ("paper.faces",),
    "problems": ("solvers", "outofcore"),
    "report": ("paper.page",),
    "selection": ("search",),
}

#: Former modules whose classes are in pickles, and the modules that have them now.
MODULES = {
    "datasets.table_encoder": ("tables.table_encoder",),
    "export.bundle": ("app.model_file",),
    "features.engines": ("estimators.kernel_pca",),
    "features.functions": ("kernels",),
    "features.map": ("estimators.kernel_map",),
    "features.space": ("estimators.features",),
    "features.units": ("estimators.features",),
    "models.algorithm_one": ("estimators.algorithm_one",),
    "models.fsvm": ("estimators.fsvm",),
    "models.linear": ("estimators.decision",),
    "models.mrsvm": ("estimators.mrsvm",),
    "models.msvm": ("estimators.msvm",),
    "models.multiclass": ("multiclass",),
    "models.probability": ("estimators.decision",),
    "models.rmm": ("estimators.rmm",),
    "models.rsvm": ("estimators.rsvm",),
    "models.semi_whitening": ("estimators.semi_whitening",),
    "models.sigma_svm": ("estimators.sigma_svm",),
    "models.svm": ("estimators.svm",),
    "models.svml": ("estimators.svml",),
    "pairs.features": ("paper.faces.features",),
    "pairs.ldml": ("paper.faces.ldml",),
    "pairs.projection": ("paper.faces.projection",),
    "pairs.verifier": ("paper.faces.verifier",),
    "selection.auto": ("search.autosvm",),
    "selection.cv": ("search.fsvmcv",),
}

#: Former and present names of classes.
NAMES = {
    "InUnits": "ScaledSpace",
    "Linear": "LinearMap",
    "Ranks": "RankTransform",
    "Reduction": "MulticlassReduction",
    "Sigmoids": "PlattCalibration",
    "Standard": "Standardizer",
    "Sum": "Ensemble",
}


class MovedModules(MetaPathFinder, Loader):
    """Import hook for former module names; attributes are looked up in the present modules."""

    def find_spec(self, fullname, path=None, target=None):
        name = fullname.removeprefix("radiusmargin.")
        return ModuleSpec(fullname, self, is_package=True) if name in PACKAGES or name in MODULES else None

    def exec_module(self, module):
        present = (PACKAGES | MODULES)[module.__name__.removeprefix("radiusmargin.")]

        def lookup(name):
            for module_name in present:
                value = getattr(import_module(f"radiusmargin.{module_name}"), NAMES.get(name, name), None)
                if value is not None:
                    return value
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__getattr__ = lookup


def install() -> None:
    """Let the import system know of the old names: first, since empty folders of theirs would pass for packages."""
    if not any(isinstance(finder, MovedModules) for finder in sys.meta_path):
        sys.meta_path.insert(0, MovedModules())
