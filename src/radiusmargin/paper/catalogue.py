"""What the harness knows of the models: the registry, and which of its entries the batched search serves."""

from __future__ import annotations

import difflib
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from inspect import signature

from ..estimators import FSVM, FSVMAlgorithm1, ModelEntry, list_models
from ..estimators import get_model as registered_model
from ..estimators.base import ConicClassifier
from ..estimators.registry import BUDGET, Grid, Powers
from ..search import FSVMCV, AutoSVM
from ..tables import MissingDependencyError, UnknownNameError
from .faces.ldml import LDML
from .neighbours import NEIGHBOURS
from .references import PACKAGES, REFERENCES, REGRESSORS

__all__ = [
    "get_model",
    "grid_of",
    "is_batched",
    "is_scale_free",
    "is_self_tuning",
    "is_unit_scaled",
    "known_models",
    "make_estimator",
    "model_name",
    "paper_column",
    "resolve_models",
]

#: Estimators that choose their hyper-parameters themselves, on the folds they are given, from a grid of their
#: own.
SELF_TUNING = (
    ModelEntry(
        key="fsvm-cv", name="FSVMCV", estimator=FSVMCV, grid=None, kernel_grid=None,
        reference="this package: C and whitening of F-SVM, averaged over the near-best",
    ),
    ModelEntry(
        key="auto", name="AutoSVM", estimator=AutoSVM, fixed={"probability": True}, grid=None, kernel_grid=None,
        reference="this package: linear, Gaussian and Laplacian SVMs, each averaged over the near-best, and averaged",
    ),
)  # fmt: skip

#: The same estimator with criteria that need no folds.
CRITERIA = (
    ModelEntry(
        key="fsvm-span", name="span rule", estimator=FSVMCV, fixed={"criterion": "loo"}, grid=None, kernel_grid=None,
        reference="V. Vapnik, O. Chapelle, Bounds on error expectation for support vector machines, 2000",
    ),
    ModelEntry(
        key="fsvm-bound", name="radius-margin bound", estimator=FSVMCV, fixed={"criterion": "radius-margin"}, grid=None,
        kernel_grid=None, reference="O. Chapelle et al., Choosing multiple parameters for support vector machines, 2002",
    ),
)  # fmt: skip

#: Models of pairs: they see the signed differences of two images, and nothing else makes sense to them.
OF_PAIRS = (
    ModelEntry(
        key="ldml", name="LDML", estimator=LDML, grid=None, kernel_grid=None,
        reference="M. Guillaumin, J. Verbeek, C. Schmid, Is that you? Metric learning approaches for face "
        "identification, ICCV 2009",
    ),
)  # fmt: skip

#: Algorithm 1 on features scaled to [0, 1], as the authors' released code has them, with so small a rho that the metric may
#: survive the first step. The initial metric, sqrt(rho) S^{-1/2}, is small there: C must be larger.
IN_UNITS = tuple(
    ModelEntry(
        key=key, name=f"Algorithm 1, [0, 1], t = {step:g}", estimator=FSVMAlgorithm1, fixed={"step": step},
        grid=Grid(C=Powers(centre=11, spacing=3, reach=14), own={"rho": [2.0**power for power in powers]}),
        kernel_grid=None, reference=registered_model("fsvm").reference, exact=False,
    )
    for key, step, powers in (
        ("algorithm-1-unit", 1.0, (-20, -15, -10, -5)), ("algorithm-1-unit-short", 0.1, (-16, -11, -6, -1)),
    )
)  # fmt: skip

#: What a cell fixes of the features of pairs, not of a model.
OF_FEATURES = ("pair_components",)

#: Models that are there to show what the units of the features do: nothing standardises for them.
RAW = ("svm-raw",)


@cache
def _entries() -> dict:
    groups = (list_models(), SELF_TUNING, CRITERIA, IN_UNITS, NEIGHBOURS, REFERENCES, REGRESSORS, OF_PAIRS)
    return {entry.key: entry for group in groups for entry in group}


def known_models() -> list[str]:
    """All keys.

    >>> {"fsvm", "fsvm-cv", "logistic"} <= set(known_models())
    True
    """
    return list(_entries())


def get_model(name) -> ModelEntry:
    """The entry of a key or a name; those of single experiments (criteria, neighbours) by key only."""
    for entry in (*SELF_TUNING, *IN_UNITS, *REFERENCES, *REGRESSORS, *OF_PAIRS):
        if str(name).lower() in (entry.key, entry.name.lower()):
            return entry
    return _entries().get(str(name).lower()) or registered_model(name)


def resolve_models(names) -> list[str]:
    """Keys of the registry for what a user named: keys or names, ``"paper"`` for the columns of the paper's tables, or
    ``"all"`` models of this package.

    >>> resolve_models(["F-SVM", "svm", "fsvm"])
    ['fsvm', 'svm']
    """
    keys = []
    for name in names:
        if name == "all":
            keys += [entry.key for entry in (*list_models(), *SELF_TUNING)]
        elif name == "paper":
            keys += [entry.key for entry in _entries().values() if entry.in_paper]
        else:
            keys.append(_one(name))
    return list(dict.fromkeys(keys))


def _one(name) -> str:
    try:
        key = get_model(name).key
        if key in PACKAGES and find_spec(PACKAGES[key]) is None:
            raise MissingDependencyError(f"{name} is not installed: pip install {PACKAGES[key]}")
        return key
    except MissingDependencyError:
        raise
    except ValueError:
        near = difflib.get_close_matches(str(name).lower(), _entries(), n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"known are {', '.join(_entries())}"
        raise UnknownNameError(f"there is no model {name!r}; {hint}") from None


def model_name(key: str) -> str:
    """The name to show; the key itself for a model that the registry no longer has.

    >>> model_name("fsvm"), model_name("gone")
    ('F-SVM', 'gone')
    """
    return _entries()[key].name if key in _entries() else key


def paper_column(key: str) -> str | None:
    """The name of the model's column in the paper's tables, None if it has none."""
    entry = _entries().get(key)
    return entry.name if entry is not None and entry.in_paper else None


def grid_of(key: str, kernel: str, budget: int | None = None, *, C: Powers | None = None, fixed=()) -> dict:
    """What is tried of a model within a number of configurations, as plain lists.

    `C` takes the place of its own range; parameters that are `fixed` leave their part to the others.
    """
    entry = get_model(key)
    grid = entry.grid if kernel == "linear" else entry.kernel_grid
    if grid is None:
        return {}
    grid = grid.without(fixed)
    if C is not None and isinstance(grid, Grid):
        grid = replace(grid, C=C)
    return grid.within(BUDGET if budget is None else budget)


def make_estimator(cell, **params):
    """The estimator of a cell, unfitted."""
    fixed = {name: value for name, value in cell.fixed.items() if name not in OF_FEATURES}
    return get_model(cell.model).estimator(**{**fixed, **params})


def is_scale_free(cell) -> bool:
    """Tell whether nothing is standardised: linear F-SVM does not notice units, some are to show their effect, and principal
    components would be whitened by it.
    """
    if cell.model in (*RAW, "auto-svr") or is_of_pairs(cell.model) or "pair_components" in cell.fixed:
        return True
    return cell.kernel == "linear" and get_model(cell.model).estimator in (FSVM, FSVMCV, AutoSVM)


def is_unit_scaled(cell) -> bool:
    """Tell whether every feature is scaled to [0, 1] instead of to unit variance."""
    return any(entry.key == cell.model for entry in IN_UNITS)


def is_of_pairs(key: str) -> bool:
    """Tell whether the model takes differences of pairs only.

    >>> is_of_pairs("ldml"), is_of_pairs("svm")
    (True, False)
    """
    return any(entry.key == key for entry in OF_PAIRS)


def is_regressor(key: str) -> bool:
    """Tell whether the model predicts a quantity.

    >>> is_regressor("ridge"), is_regressor("svm")
    (True, False)
    """
    return any(entry.key == key for entry in REGRESSORS)


def has_own_search(key: str) -> bool:
    """Tell whether the model is a row of an experiment on how to choose, with a search that the protocol of pairs does not know.

    >>> has_own_search("fsvm-span"), has_own_search("fsvm-cv")
    (True, False)
    """
    return any(entry.key == key for entry in (*CRITERIA, *NEIGHBOURS))


def is_conic(key: str) -> bool:
    """Tell whether the model is solved by a general conic program, one after the other.

    >>> is_conic("rmm"), is_conic("fsvm")
    (True, False)
    """
    return issubclass(get_model(key).estimator, ConicClassifier)


def is_self_tuning(cell) -> bool:
    """Tell whether the model's `fit` is its search: it takes folds."""
    return not is_regressor(cell.model) and "cv" in signature(get_model(cell.model).estimator).parameters


def is_batched(cell) -> bool:
    """Tell whether the batched search serves: F-SVM with separate metrics and its usual hyper-parameters."""
    if get_model(cell.model).estimator is not FSVM:
        return False
    model = make_estimator(cell)
    usual = {"C", "whitening", "eta", "kernel", "gamma", "n_components"}
    return model.rho is None and model.coupling == "separate" and model.solver == "exact" and set(cell.grid) <= usual
