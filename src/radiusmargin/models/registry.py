"""The registry of models: what tests, documentation, command line and experiments know of each.

A model is added with one file and one entry of `MODELS`. Grids are meant for standardised features, and each
holds the same number of configurations, `BUDGET`: no model is tuned harder than another.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from .fsvm import FSVM
from .mrsvm import MRSVM
from .msvm import MSVM
from .rmm import RMM
from .rsvm import RSVMMuPlus, RSVMPlus
from .sigma_svm import SigmaSVM
from .svm import SVM

BUDGET = 24  # configurations per grid

# Exponents of 2, by how many values of C the budget leaves.
LINEAR_C = {24: range(-11, 13), 8: range(-9, 13, 3), 6: range(-8, 13, 4)}
KERNEL_C = {6: range(-3, 8, 2), 4: range(-2, 8, 3)}
KERNEL_GAMMA = {6: range(-8, -1, 2), 4: range(-8, -1, 3)}

Grid = Mapping[str, Sequence]


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelEntry:
    """One model of the registry.

    Attributes
    ----------
    key : str
        Short name, for files and the command line.
    name : str
        Name in tables: that of the paper where it has one.
    estimator : type
        The class.
    fixed : dict
        Constructor parameters that make this entry of the class.
    grid : dict of str to list
        Hyper-parameters to try with linear features; `BUDGET` configurations.
    kernel_grid : dict of str to list
        The same for the RBF kernel.
    instances : tuple of dict
        Parameters of the instances that scikit-learn's estimator checks are run on.
    reference : str
        Where the model comes from.
    in_paper : bool
        Whether it is a column of the F-SVM paper's tables.
    """

    key: str
    name: str
    estimator: type
    fixed: dict = field(default_factory=dict)
    grid: dict
    kernel_grid: dict
    instances: tuple[dict, ...] = ({},)
    reference: str
    in_paper: bool = False


def _grids(linear: Grid | None = None, kernel: Grid | None = None) -> dict[str, dict]:
    """Both grids: the model's own values, and as many of C (and gamma) as the budget leaves."""
    linear, kernel = dict(linear or {}), dict(kernel or {})
    n_linear = BUDGET // prod(map(len, linear.values()))
    n_kernel = 4 if kernel else 6
    rbf = {"kernel": ["rbf"], "C": _powers(KERNEL_C[n_kernel]), "gamma": _powers(KERNEL_GAMMA[n_kernel])}
    return {"grid": {"C": _powers(LINEAR_C[n_linear])} | linear, "kernel_grid": rbf | kernel}


def _powers(exponents: Sequence[int]) -> list[float]:
    return [2.0**e for e in exponents]


WU = (
    "X. Wu, W. Zuo, Y. Zhu, L. Lin, F-SVM: combination of feature transformation and SVM learning via convex "
    "relaxation, 2015"
)
CORTES = "C. Cortes, V. Vapnik, Support-vector networks, Machine Learning 20, 1995"
ZAFEIRIOU = "S. Zafeiriou, A. Tefas, I. Pitas, Minimum class variance support vector machines, IEEE TIP 16, 2007"
SHIVASWAMY = "P. Shivaswamy, T. Jebara, Maximum relative margin and data-dependent regularization, JMLR 11, 2010"
DO = "H. Do, A. Kalousis, Convex formulations of radius-margin based support vector machines, ICML 2013"
DO_MR = (
    "H. Do, A. Kalousis, M. Hilario, Feature weighting using margin and radius based error bound "
    "optimization in SVMs, ECML-PKDD 2009"
)
ZHU = "X. Zhu, P. Gong, Z. Zhao, C. Zhang, Learning similarity metric with SVM, IJCNN 2012"

# In whitened kernel features all outputs are free, whatever the kernel: their number is what is tuned there.
FEW = {"n_components": [10, 40]}
LAMBDAS = {"linear": {"lam": [0.01, 0.1, 1.0, 10.0]}, "kernel": {"lam": [0.1, 10.0]}}

MODELS = (
    # The baseline of the experiments is the SVM on standardised features: F-SVM without whitening. The class
    # `SVM` itself works in the units of the data.
    ModelEntry(key="svm", name="SVM", estimator=FSVM, fixed={"whitening": 0.0}, **_grids(),
               reference=CORTES, in_paper=True),
    # The largest bound hardly binds: the SVM must be within every competitor's reach.
    ModelEntry(key="rmm", name="RMM", estimator=RMM, **_grids({"B": [1.2, 2.5, 10.0, 100.0]}, {"B": [1.5, 10.0]}),
               instances=({}, {"B": float("inf")}), reference=SHIVASWAMY, in_paper=True),
    ModelEntry(key="rsvm-plus", name="R-SVM+", estimator=RSVMPlus, **_grids(**LAMBDAS),
               instances=({}, {"lam": 0.0}), reference=DO, in_paper=True),
    ModelEntry(key="rsvm-mu-plus", name="R-SVM_mu+", estimator=RSVMMuPlus, **_grids(**LAMBDAS),
               reference=DO, in_paper=True),
    ModelEntry(key="fsvm", name="F-SVM", estimator=FSVM, **_grids(kernel=FEW),
               instances=({}, {"rho": 1e-3}, {"solver": "alternating", "whitening": 0.5}),
               reference=WU, in_paper=True),
    ModelEntry(key="fsvm-eta", name="F-SVM (eta)", estimator=FSVM, fixed={"eta": 0.1},
               **_grids({"eta": [1e-3, 0.1, 10.0]}, {"eta": [1e-3, 0.1]}), reference=WU),
    ModelEntry(key="fsvm-tempered", name="tempered F-SVM", estimator=FSVM, fixed={"whitening": 0.75},
               **_grids({"whitening": [0.25, 0.5, 0.75, 1.0]}, {"whitening": [0.25, 0.75]}), reference=WU),
    ModelEntry(key="fsvm-within", name="F-SVM within", estimator=FSVM, fixed={"scatter": "within"},
               **_grids(kernel=FEW), reference=ZAFEIRIOU),
    ModelEntry(key="fsvm-shared", name="shared F-SVM", estimator=FSVM, fixed={"coupling": "shared"},
               **_grids(kernel=FEW), reference=WU),
    ModelEntry(key="semi-whitened-svm", name="semi-whitened SVM", estimator=FSVM, fixed={"whitening": 0.5},
               **_grids(), reference=WU),
    ModelEntry(key="sigma-svm", name="Sigma-SVM", estimator=SigmaSVM,
               **_grids({"D": [0.1, 0.5, 0.9, 1.0]}, {"D": [0.5, 0.9]}),
               instances=({}, {"D": 1.0}), reference=SHIVASWAMY),
    ModelEntry(key="mr-svm", name="MR-SVM", estimator=MRSVM, **_grids(), reference=DO_MR),
    ModelEntry(key="msvm", name="MSVM", estimator=MSVM, **_grids(kernel=FEW), reference=ZHU),
    ModelEntry(key="svm-raw", name="SVM (raw units)", estimator=SVM, **_grids(), reference=CORTES),
)  # fmt: skip


def list_models() -> tuple[ModelEntry, ...]:
    """All models, those of the paper's tables in the order of their columns.

    >>> [entry.name for entry in list_models() if entry.in_paper]
    ['SVM', 'RMM', 'R-SVM+', 'R-SVM_mu+', 'F-SVM']
    """
    return MODELS


def get_model(name: str) -> ModelEntry:
    """The entry with this key or name, in upper or lower case.

    >>> get_model("r-svm+").estimator.__name__, get_model("RMM").key
    ('RSVMPlus', 'rmm')
    """
    for entry in MODELS:
        if str(name).lower() in (entry.key, entry.name.lower()):
            return entry
    known = ", ".join(f"{entry.key} ({entry.name})" for entry in MODELS)
    raise ValueError(f"there is no model {name!r}; known are {known}.")


def make_model(name: str, **parameters):
    """An estimator: the entry's own parameters, then those given.

    >>> make_model("semi-whitened-svm", C=2.0)
    FSVM(C=2.0, whitening=0.5)
    """
    entry = get_model(name)
    return entry.estimator(**{**entry.fixed, **parameters})
