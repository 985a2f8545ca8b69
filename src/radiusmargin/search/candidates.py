"""The kinds of models that a search tries: one kernel, or several side by side.

Everything that ``kernel="auto"`` decides by itself stands here: kinds, exponents, gammas, and how many rows it searches on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from numbers import Integral, Real
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import check_choice
from ..estimators.base import TrainingData
from ..estimators.features import FeatureChoice, FeatureSpace, RankTransform, ScaledSpace, Scaling, Standardizer
from ..multiclass import TEXT_COLUMNS
from ..solvers import Options

AUTO = ("linear", "rbf", "laplacian", "laplacian-ranks")
NAMES = (*AUTO, "rbf-ranks", "poly", "sigmoid", "cosine")
RANK_SUFFIX = "-ranks"  # ends the name of a kind that looks at features by their ranks
# What gamma is, times the number of features: on standardised features their mean squared distance is twice that number.
MULTIPLES = {"rbf": (0.03, 0.1, 0.3, 1.0, 3.0), "laplacian": (0.1, 0.3, 1.0, 3.0)}
SEVERAL_CS = 0.1, 1e3  # of kernels side by side, half as many as of a single one: a finer grid was not better
MOST_COLUMNS = 2000  # from which the linear kind is as good and others are slow
MOST_CLASSES = (
    50  # up to which kernels are tried: they take ten seconds there at 600 rows, and a time that grows with the cube
)
MOST_ROWS, SAMPLE = 20_000, 5_000  # rows up to which all are searched on, and how many of more are
LEAST_OF_CLASS = 10  # rows of a class in a sample, where it has so many: two in each of five folds


@dataclass(frozen=True)
class Defaults:
    """What is tried where grids leave it open: exponents, the largest C, and the relative gap of fits that are only scored."""

    exponents: tuple[float, ...]
    highest: float
    tol: float


# Two exponents are as accurate on the sets for choosing as five up to 1, at less than half of their time
# (benchmarks/auto_choices.py). To 1e-3 other members are chosen than with exact fits.
FEW = Defaults((0.0, 0.5), highest=1e2, tol=1e-7)
# Of more features the second exponent costs as much as the first, or twice that, and gains nothing (benchmarks/exponents.py). Of
# more numbers it is the difference between less time than LogisticRegressionCV takes and more (benchmarks/selection.py).
MANY = Defaults((0.0,), highest=1e2, tol=1e-7)
FEW_FEATURES, FEW_NUMBERS = 32, 1 << 16
# Rare words must not weigh as much as common ones, but somewhat more than they do. Scaled columns make rows long, and fits beyond
# C = 1 slow. The gap is a compromise with time: a search to 1e-7 takes 1.5 to 6 times as long as one to 1e-3, with which other
# members were averaged on one of twelve tasks, and with 1e-4 on none (benchmarks/text.py).
TEXT = Defaults((-1.0, -0.5), highest=1.0, tol=1e-4)
# Sparse rows of some hundred columns that are no text (categories, counts): where labels are noisy most multipliers are between their
# bounds, and to 1e-7 a search over C up to 100 takes up to eight times as long, for the same accuracy (benchmarks/text.py noisy).
WIDE = Defaults((0.0,), highest=1.0, tol=1e-4)
WIDE_COLUMNS = 400
# How large numbers of a column of text may be beside others: what is larger is a time or an amount, which would be all that counts
# in the units of the data.
TEXT_SIZES = 1e3
# Whitening gained nothing with kernels (benchmarks/averaging.py), and to 1e-3 the choice is that of exact fits, nearly always
# (benchmarks/kernel_search.py).
KERNEL = Defaults((0.0,), highest=1e3, tol=1e-3)


@dataclass(frozen=True, eq=False)
class Grids:
    """The values that a search is to try, as they were given to it; None, or a number of Cs, is chosen from the data."""

    Cs: int | Sequence[float]
    whitening: Any = None
    scatter: Any = "total"
    eta: Any = 0.0
    gamma: Any = "scale"
    n_components: Any = None

    @classmethod
    def of(cls, search) -> Grids:
        """Those of an estimator."""
        return cls(**{field.name: getattr(search, field.name) for field in fields(cls)})


@dataclass(frozen=True, eq=False)
class KernelSpec:
    """Features of one kind, the exponents, gammas and Cs to try with them, and the units that they are made of.

    `units` None are the user's; `name` is what members are called by; `tol` is the relative gap to which they are fitted where they
    are only scored.
    """

    features: FeatureChoice
    exponents: tuple[float, ...]
    Cs: np.ndarray
    gammas: tuple = ("scale",)
    scaling: Scaling | None = None
    name: Any = None
    tol: float = KERNEL.tol

    def training(self, training: TrainingData) -> TrainingData:
        """Training rows in the units of this kind."""
        return training if self.scaling is None else replace(training, X=self.scaling.rows(training.X))

    def space(self, space) -> FeatureSpace:
        """A space that was fitted to such rows, for rows in the user's units."""
        return space if self.scaling is None else ScaledSpace(space, self.scaling)


def kernel_specs(
    choice: FeatureChoice, grids: Grids, training: TrainingData, *, linear_alone: bool = False
) -> list[KernelSpec]:
    """The kinds that a choice of features names; "auto" may have to be the linear one alone."""
    names = names_of(choice.kernel, training)
    names = ("linear",) if names and linear_alone else names
    if names is None:
        return [_unscaled_spec(choice, grids, training, tuple(listed(grids.gamma)), choice.kernel)]
    made = {}  # units are shared by the kinds that want them
    return [
        _named_spec(name, grids, choice.with_(kernel=name.removesuffix(RANK_SUFFIX)), training, made) for name in names
    ]


def _unscaled_spec(features, grids, training, gammas=("scale",), name=None):
    """A kind in the user's units."""
    defaults = defaults_of(features, training.X)
    exponents = defaults.exponents if grids.whitening is None else tuple(float(p) for p in listed(grids.whitening))
    Cs = initial_Cs(grids.Cs, training.weight, defaults.highest)
    if defaults is TEXT and isinstance(
        grids.Cs, Integral
    ):  # in the units of the data C is in those of one over their squares
        Cs = Cs / mean_square(training.X)
    return KernelSpec(features, exponents, Cs, gammas, name=name, tol=defaults.tol)


def _named_spec(name, grids, features, training, made):
    """One of several kinds. The linear family standardises by itself, fold by fold."""
    if features.is_linear:
        return _unscaled_spec(features, grids, training, name=name)
    make = RankTransform if name.endswith(RANK_SUFFIX) else Standardizer
    if make is RankTransform and sparse.issparse(training.X):
        raise ValueError(f"kernel={name!r} needs dense rows; leave it out, or pass X.toarray().")
    if make not in made:
        made[make] = make.of(training.X, training.weight)
    Cs = grids.Cs
    if isinstance(Cs, Integral):
        Cs = np.geomspace(*SEVERAL_CS, max(2, Cs // 2)) / training.weight.mean()
    gammas = gammas_of(grids.gamma, features.kernel, training.X)
    return KernelSpec(features, KERNEL.exponents, np.unique(Cs), gammas, made[make], name)


def names_of(kernel, training) -> tuple[str, ...] | None:
    """Kinds that are searched side by side; None of a single kernel."""
    if isinstance(kernel, (list, tuple)):
        return tuple(dict.fromkeys(kernel))
    if not (isinstance(kernel, str) and kernel == "auto"):
        return None
    X = training.X
    alone = sparse.issparse(X) or X.shape[1] > MOST_COLUMNS or training.reduction.n_classes > MOST_CLASSES
    return ("linear",) if alone else AUTO


def initial_Cs(Cs, weight, highest):
    """From where the separator is still the difference of the class means, to where slack is nearly forbidden."""
    if not isinstance(Cs, Integral):
        return np.unique(np.asarray(listed(Cs), dtype=float))
    mean = weight.mean()
    if Cs == 1:
        return np.array([1.0 / mean])
    return np.geomspace(max(1.0 / len(weight), 1e-4), highest, int(Cs)) / mean


def defaults_of(features, X) -> Defaults:
    """By the features and what the data look like."""
    if not features.is_linear:
        return KERNEL
    if is_text(X):
        return TEXT
    if sparse.issparse(X) and X.shape[1] >= WIDE_COLUMNS:
        return WIDE
    return FEW if X.shape[1] <= FEW_FEATURES and X.shape[0] * X.shape[1] <= FEW_NUMBERS else MANY


def mean_square(X) -> float:
    """Of the lengths of sparse rows; 1 for nothing but zeros, and for rows of unit length, as a `TfidfVectorizer` makes them."""
    return float(X.data @ X.data) / X.shape[0] or 1.0


def is_text(X) -> bool:
    """Whether X looks like counts of words: sparse, with many columns, none of numbers that dwarf all others."""
    if not sparse.issparse(X) or X.shape[1] < TEXT_COLUMNS:
        return False
    sizes, counts = np.abs(X.data), np.bincount(X.indices, minlength=X.shape[1])
    means = np.bincount(X.indices, sizes, minlength=X.shape[1]) / np.maximum(counts, 1)
    return bool(means.max(initial=0.0) <= TEXT_SIZES * np.median(means[counts > 0])) if len(sizes) else True


def gammas_of(gamma, kernel, X) -> tuple:
    """The gammas that were given, or for "scale" multiples that suit standardised features."""
    if kernel not in MULTIPLES or not (isinstance(gamma, str) and gamma == "scale"):
        return tuple(listed(gamma))
    spread = X.max(axis=0) - X.min(axis=0)
    varying = max(1, spread.count_nonzero() if sparse.issparse(spread) else np.count_nonzero(spread))
    return tuple(multiple / varying for multiple in MULTIPLES[kernel])


def sampled(codes):
    """Numbers of the rows that kinds are chosen on: None for all, or of very many a sample, always the same.

    Classes have their shares of it, rare ones all rows or a few.
    """
    if len(codes) <= MOST_ROWS:
        return None
    order = np.random.default_rng(0).permutation(len(codes))
    counts = np.bincount(codes)
    wanted = np.maximum(np.round(SAMPLE * counts / len(codes)).astype(int), np.minimum(counts, LEAST_OF_CLASS))
    rows = [order[codes[order] == k][:count] for k, count in enumerate(wanted)]
    return np.sort(np.concatenate(rows))


def check_kernel_names(kernel):
    """A list of kernels holds names of such as can be searched side by side."""
    if isinstance(kernel, (list, tuple)):
        if not kernel:
            raise ValueError("kernel must not be an empty list.")
        for name in kernel:
            check_choice("kernel", name, NAMES)


def check_grid(name, value):
    """One value, or a flat list of some."""
    try:
        empty = len(listed(value)) == 0
    except TypeError:  # neither a list nor a value, or a list of lists
        raise ValueError(f"{name} must be a value or a list of values, got {value!r}.") from None
    if empty:
        raise ValueError(f"{name} must not be empty.")


def listed(value: Any) -> list:
    """A list from a list, without repetitions, or from a single value."""
    return [value] if value is None or isinstance(value, (str, Real)) else list(dict.fromkeys(value))


# -- What a search tries: members of the family, in groups that share features, scatter and smoothing, and tasks made of them


@dataclass(frozen=True)
class Candidate:
    """One configuration."""

    whitening: float
    C: float
    eta: float = 0.0
    scatter: str = "total"
    n_components: int | float | None = None
    gamma: float | str | None = None
    kernel: Any = "linear"

    def __post_init__(self):  # candidates are keys of tables: to compute the hash once is a tenth of a small search
        fields = (self.whitening, self.C, self.eta, self.scatter, self.n_components, self.gamma, self.kernel)
        object.__setattr__(self, "_hash", hash(fields))

    def __hash__(self):
        return self._hash

    @property
    def form(self) -> dict[str, Any]:
        """The parameters of `FSVM` that are not of its features."""
        return self.params(("C", "eta", "whitening", "scatter"))

    def params(self, searched):
        return {name: getattr(self, name) for name in searched}

    @property
    def preference(self):
        """The order among equals: the linear kind, less whitening, smaller C."""
        return (
            self.kernel != "linear", self.whitening, self.C, self.eta, self.scatter, str(type(self.n_components)),
            self.n_components or 0, str(self.gamma), str(self.kernel),
        )  # fmt: skip


@dataclass(frozen=True)
class CandidateGroup:
    """Members that differ in exponent and C only."""

    spec: KernelSpec
    features: FeatureChoice
    exponents: tuple[float, ...]
    scatter: str = "total"
    eta: float = 0.0

    def candidate(self, exponent, C) -> Candidate:
        form, features = (exponent, float(C), self.eta, self.scatter), self.features
        if features.is_linear:
            return Candidate(*form)
        return Candidate(*form, features.n_components, features.gamma, self.spec.name)

    def holds(self, candidate) -> bool:
        return candidate.whitening in self.exponents and self.candidate(candidate.whitening, candidate.C) == candidate

    @property
    def is_expansion(self) -> bool:
        """Whether kernel values are all these members need: nothing is whitened or smoothed."""
        return self.exponents == (0.0,) and self.eta == 0 and self.scatter == "total" and self.features.has_kernel


@dataclass(frozen=True, eq=False)
class Task:
    """What a way is asked: members of a group (some exponents times some Cs) on some splits, and how they are fitted."""

    group: CandidateGroup
    exponents: tuple[float, ...]
    Cs: np.ndarray
    splits: tuple[int, ...]
    options: Options

    @cached_property
    def candidates(self) -> list[Candidate]:
        return [self.group.candidate(p, C) for p in self.exponents for C in self.Cs]

    def on(self, splits) -> Task:
        return replace(self, splits=tuple(splits))

    def record(self, recorder, splits, values):
        """Record scores of shape (P, C), or (splits, P, C) for several splits."""
        recorder.record(self.candidates, splits, values.reshape(*values.shape[:-2], -1))

    def on_scores(self, recorder, split):
        """The callback for the decision values of the candidates on a split; see `Recorder.on_scores`."""
        return recorder.on_scores(self.candidates, split)


def candidate_groups(grids: Grids, spec: KernelSpec) -> list[CandidateGroup]:
    """All groups that the grids ask for, of one kind.

    With a kernel and no number of components the exponent 0 is a group of its own, which needs no map of the kernel, and so
    is every other exponent, whose default number depends on it.
    """
    forms = list(product(listed(grids.scatter), listed(grids.eta)))
    if spec.features.is_linear:  # what scales columns only needs no scatter
        parts = tuple(p for p in spec.exponents if p < 0), tuple(p for p in spec.exponents if p >= 0)
        return [CandidateGroup(spec, spec.features, part, *form) for part in parts if part for form in forms]
    groups = []
    for gamma, n_components, form in product(spec.gammas, listed(grids.n_components), forms):
        features = spec.features.with_(gamma=gamma, n_components=n_components)
        apart = n_components is None and not features.is_transformer
        for part in [(p,) for p in sorted(spec.exponents)] if apart else [spec.exponents]:
            groups.append(CandidateGroup(spec, features, part, *form))
    return groups
