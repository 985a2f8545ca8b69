"""The registry of models, which tests, documentation, command line and experiments read, and their hyper-parameter grids.

First grids that adapt to a budget of configurations: every grid has at least three values of C near its centre; the rest of the
budget is shared by the model's own parameters and gamma, none with more values than C. Then the entries `MODELS`, and the functions
that look them up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor, prod
from typing import Any, TypedDict

from sklearn.base import BaseEstimator

from .algorithm_one import FSVMAlgorithm1
from .fsvm import FSVM
from .mrsvm import MRSVM
from .msvm import MSVM
from .rmm import RMM
from .rsvm import RSVMMuPlus, RSVMPlus
from .sigma_svm import SigmaSVM
from .svm import SVM
from .svml import SVML

#: Fewest values of C: enough to see whether the best one is inside the range.
LEAST_C = 3


@dataclass(frozen=True)
class Powers:
    """A range of powers of two around a centre.

    Attributes
    ----------
    centre : float
        Exponent of 2 in the middle.
    spacing : float
        Distance of the exponents; smaller if that many values would leave the range.
    reach : float
        Largest distance of an exponent from the centre.
    most : int
        Largest useful number of values.
    """

    centre: float
    spacing: float
    reach: float
    most: int = 1000

    def values(self, n: int) -> list[float]:
        """Return `n` powers around the centre.

        >>> [Powers(0, 3, 12).values(n) for n in (1, 3)]
        [[1.0], [0.125, 1.0, 8.0]]
        >>> len(set(Powers(0, 3, 12).values(24)))
        24
        """
        n = min(n, self.most)
        step = min(self.spacing, 2 * self.reach / n)
        return [2.0 ** floor(self.centre + step * (i - (n - 1) / 2)) for i in range(n)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Grid:
    """The hyper-parameters of a model, and how they share a number of configurations.

    Attributes
    ----------
    C : Powers
    gamma : Powers or None
        Values of gamma of the Gaussian kernel; None for linear features.
    own : dict of str to list
        All values of the model's own parameters.
    """

    C: Powers
    gamma: Powers | None = None
    own: Mapping[str, Sequence] = field(default_factory=dict)

    def without(self, names) -> Grid:
        """Return the grid without some parameters."""
        return replace(self, own={name: values for name, values in self.own.items() if name not in names})

    def within(self, budget: int) -> dict[str, list]:
        """Return values to try for every parameter: at most `budget` configurations, but at least three values of C.

        >>> grid = Grid(C=Powers(0, 3, 12), own={"lam": [0.01, 0.1, 1.0, 10.0]})
        >>> grid.within(6)
        {'C': [0.125, 1.0, 8.0], 'lam': [0.1, 10.0]}
        >>> {name: len(values) for name, values in grid.within(24).items()}
        {'C': 6, 'lam': 4}
        >>> grid.within(1)
        {'C': [0.125, 1.0, 8.0], 'lam': [1.0]}
        """
        lengths = {"gamma": self.gamma.most} if self.gamma else {}
        lengths |= {name: len(values) for name, values in self.own.items()}
        while (longest := max(lengths.values(), default=1)) > 1 and _least(lengths) > budget:
            lengths[next(name for name, length in lengths.items() if length == longest)] -= 1
        n_C = max(LEAST_C, budget // prod(lengths.values()))
        kernel: dict[str, list] = {}
        if self.gamma:
            kernel = {"kernel": ["rbf"], "gamma": self.gamma.values(lengths["gamma"])}
        own = {name: _spread(list(values), lengths[name]) for name, values in self.own.items()}
        return {"C": self.C.values(n_C)} | kernel | own


def _least(lengths):
    """Return the fewest configurations of a grid in which no parameter has more values than C."""
    return prod(lengths.values()) * max(LEAST_C, *lengths.values())


def _spread(values, n):
    """Choose ``n`` of the values, evenly spread.

    >>> [_spread([1, 2, 3, 4], n) for n in (1, 2, 3)]
    [[3], [2, 4], [1, 3, 4]]
    """
    return [values[floor((i + 0.5) * len(values) / n)] for i in range(n)]


# -- The registry ------------------------------------------------------------------------------------------------------------


BUDGET = 24  # configurations per grid

LINEAR_C = Powers(centre=0, spacing=3, reach=12, most=24)
KERNEL_C = Powers(centre=2, spacing=2, reach=10, most=12)
# Conic programs are slow and have few values of C, farther apart: image and splice need 2^4 and more, small sets 1.
CONE_C = Powers(centre=3, spacing=3, reach=10, most=12)
# Feature weights that sum to one make each feature small: C must be larger.
SIMPLEX_C = Powers(centre=8, spacing=3, reach=10, most=12)
# Whitened features are many and small: the best C lies in 2^-8 to 2^-2.
WHITE_C = Powers(centre=-5, spacing=2, reach=7, most=12)
HALF_WHITE_C = Powers(centre=-1, spacing=2, reach=9, most=12)
GAMMA = Powers(centre=-5, spacing=2, reach=6, most=6)


@dataclass(frozen=True, eq=False, kw_only=True)
class ModelEntry:
    """One model of the registry.

    Parameters
    ----------
    key : str
        Short name, for files and the command line.
    name : str
        Name in tables: that of the paper where it has one.
    estimator : type
        The class.
    fixed : dict
        Constructor parameters of this entry.
    grid, kernel_grid : Grid
        Hyper-parameters to try with linear features, and with the RBF kernel.
    instances : tuple of dict
        Parameters of the instances that scikit-learn's estimator checks are run on.
    reference : str
        The publication of the model.
    in_paper : bool
        Whether it is a column of the F-SVM paper's tables.
    exact : bool
        Whether it reaches the optimum that its certificate is about.
    """

    key: str
    name: str
    estimator: type
    fixed: dict = field(default_factory=dict)
    grid: Grid
    kernel_grid: Grid
    instances: tuple[dict, ...] = ({},)
    reference: str
    in_paper: bool = False
    exact: bool = True


class Grids(TypedDict):
    """The two grids of a `ModelEntry`."""

    grid: Grid
    kernel_grid: Grid


def _grids(linear=None, kernel=None, *, kernel_C=KERNEL_C) -> Grids:
    """Return both grids, from the model's own parameters and the range of C with a kernel."""
    return {
        "grid": Grid(C=LINEAR_C, own=linear or {}),
        "kernel_grid": Grid(C=kernel_C, gamma=GAMMA, own=kernel or {}),
    }


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
XU = "Z. Xu, K. Weinberger, O. Chapelle, Distance metric learning for kernel machines, 2012"
ZHU = "X. Zhu, P. Gong, Z. Zhao, C. Zhang, Learning similarity metric with SVM, IJCNN 2012"

# In whitened kernel features any labels can be fitted, whatever the kernel: there the number of components is tuned.
FEW: dict[str, Any] = {"kernel": {"n_components": [10, 40, 160, 400]}, "kernel_C": WHITE_C}
LAMBDAS: dict[str, Any] = {"linear": {"lam": [0.01, 0.1, 1.0, 10.0]}, "kernel": {"lam": [0.1, 10.0]}}
# The initial metric of Algorithm 1 is sqrt(rho) S^{-1/2}, of order 1/sqrt(n): C must be larger. The range of rho is that of
# the authors' released code.
PRINTED: Grids = {
    "grid": Grid(C=Powers(centre=5, spacing=3, reach=12, most=24), own={"rho": [2.0**-8, 2.0**-4, 1.0, 2.0**4]}),
    "kernel_grid": Grid(C=Powers(centre=5, spacing=3, reach=12, most=12), gamma=GAMMA, own=FEW["kernel"]),
}


def _printed(key, step, **options):
    """Return the entry of Algorithm 1 with a step length; the paper prints 1."""
    return ModelEntry(key=key, name=f"Algorithm 1, t = {step:g}", estimator=FSVMAlgorithm1, fixed={"step": step},
                      **PRINTED, reference=WU, exact=False, **options)  # fmt: skip


MODELS = (
    # The baseline of the experiments is the SVM on standardised features: F-SVM without whitening. The class
    # `SVM` itself works in the units of the data.
    ModelEntry(key="svm", name="SVM", estimator=FSVM, fixed={"whitening": 0.0}, **_grids(),
               reference=CORTES, in_paper=True),
    # The largest bound is hardly active, so that the grid contains nearly the SVM.
    ModelEntry(key="rmm", name="RMM", estimator=RMM, **_grids({"B": [1.2, 2.5, 10.0, 100.0]}, {"B": [1.5, 10.0]}, kernel_C=CONE_C),
               instances=({}, {"B": float("inf")}), reference=SHIVASWAMY, in_paper=True),
    ModelEntry(key="rsvm-plus", name="R-SVM+", estimator=RSVMPlus, **_grids(**LAMBDAS, kernel_C=CONE_C),
               instances=({}, {"lam": 0.0}), reference=DO, in_paper=True),
    ModelEntry(key="rsvm-mu-plus", name="R-SVM_mu+", estimator=RSVMMuPlus, **_grids(**LAMBDAS, kernel_C=SIMPLEX_C),
               reference=DO, in_paper=True),
    ModelEntry(key="fsvm", name="F-SVM", estimator=FSVM, **_grids(**FEW),
               instances=({}, {"rho": 1e-3}, {"solver": "alternating", "whitening": 0.5}),
               reference=WU, in_paper=True),
    ModelEntry(key="fsvm-eta", name="F-SVM (eta)", estimator=FSVM, fixed={"eta": 0.1},
               **_grids({"eta": [1e-3, 0.1, 10.0]}, {"eta": [1e-3, 0.1]}), reference=WU),
    ModelEntry(key="fsvm-tempered", name="tempered F-SVM", estimator=FSVM, fixed={"whitening": 0.75},
               **_grids({"whitening": [0.25, 0.5, 0.75, 1.0]}, {"whitening": [0.25, 0.75]}, kernel_C=HALF_WHITE_C), reference=WU),
    ModelEntry(key="fsvm-within", name="F-SVM within", estimator=FSVM, fixed={"scatter": "within"},
               **_grids(**FEW), reference=ZAFEIRIOU),
    ModelEntry(key="fsvm-shared", name="shared F-SVM", estimator=FSVM, fixed={"coupling": "shared"},
               **_grids(**FEW), reference=WU),
    ModelEntry(key="semi-whitened-svm", name="semi-whitened SVM", estimator=FSVM, fixed={"whitening": 0.5},
               **_grids(kernel_C=HALF_WHITE_C), reference=WU),
    ModelEntry(key="sigma-svm", name="Sigma-SVM", estimator=SigmaSVM,
               **_grids({"D": [0.1, 0.5, 0.9, 1.0]}, {"D": [0.5, 0.9]}),
               instances=({}, {"D": 1.0}), reference=SHIVASWAMY),
    ModelEntry(key="mr-svm", name="MR-SVM", estimator=MRSVM, **_grids(kernel_C=SIMPLEX_C), reference=DO_MR),
    ModelEntry(key="msvm", name="MSVM", estimator=MSVM, **_grids(**FEW), reference=ZHU),
    # It always has a Gaussian kernel. At the largest lam the metric hardly moves, and the model is nearly the SVM.
    ModelEntry(key="svml", name="SVML", estimator=SVML, **_grids({"lam": [0.001, 0.01, 0.1, 1.0]}, {"lam": [0.01, 1.0]}),
               reference=XU),
    _printed("algorithm-1", 1.0, instances=({"C": 1000.0, "step": 1e-6, "n_rounds": 2},)),
    _printed("algorithm-1-short", 1e-2, instances=()),
    _printed("algorithm-1-shorter", 1e-4, instances=()),
    ModelEntry(key="svm-raw", name="SVM (raw units)", estimator=SVM, **_grids(), reference=CORTES),
)  # fmt: skip


def list_models() -> tuple[ModelEntry, ...]:
    """Return all models, those of the paper's tables in the order of their columns.

    >>> [entry.name for entry in list_models() if entry.in_paper]
    ['SVM', 'RMM', 'R-SVM+', 'R-SVM_mu+', 'F-SVM']
    """
    return MODELS


def get_model(name: str) -> ModelEntry:
    """Return the entry with this key or name; case is ignored.

    Parameters
    ----------
    name : str

    Examples
    --------
    >>> get_model("r-svm+").estimator.__name__, get_model("RMM").key
    ('RSVMPlus', 'rmm')
    """
    for entry in MODELS:
        if str(name).lower() in (entry.key, entry.name.lower()):
            return entry
    known = ", ".join(f"{entry.key} ({entry.name})" for entry in MODELS)
    raise ValueError(f"there is no model {name!r}; known are {known}.")


def make_model(name: str, **parameters) -> BaseEstimator:
    """Build the estimator of an entry; given parameters override the entry's own.

    Parameters
    ----------
    name : str
        As in `get_model`.
    **parameters
        Parameters of the constructor.

    Examples
    --------
    >>> make_model("semi-whitened-svm", C=2.0)
    FSVM(C=2.0, whitening=0.5)
    """
    entry = get_model(name)
    return entry.estimator(**{**entry.fixed, **parameters})
