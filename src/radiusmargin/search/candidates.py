"""The candidates of a search: kernels, whitening exponents, gammas and values of C.

First the defaults that a search chooses from the data, with what was measured for each; then `Grids`, `KernelSpec` and
`kernel_specs`, which turn the parameters of an estimator into specifications; then checks of these parameters; then
`Candidate`, `CandidateGroup` and `Task`, which the evaluation works on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from .._checks import check_choice
from ..estimators.base import TrainingData
from ..estimators.features import ExplicitSpace, FeatureChoice, RankTransform, ScaledSpace, Scaling, Standardizer
from ..multiclass import TEXT_COLUMNS
from ..solvers import Options

AUTO = ("linear", "rbf", "laplacian", "rbf-ranks", "laplacian-ranks")
NAMES = (*AUTO, "poly", "sigmoid", "cosine")
RANK_SUFFIX = "-ranks"  # ends the name of a kernel on the ranks of the features
# Values of gamma times the number of features: standardised rows have a mean squared distance of twice that number.
MULTIPLES = {"rbf": (0.03, 0.1, 0.3, 1.0, 3.0), "laplacian": (0.1, 0.3, 1.0, 3.0)}
SEVERAL_CS = 0.1, 1e3  # range for each of several kernels, with half as many values: a finer grid was not better
MOST_COLUMNS = 2000  # beyond it the linear kernel is as good, and others are slow
MOST_CLASSES = (
    50  # for kernels, which take 10 s there with 600 rows, and a time that grows with the cube of the classes
)
# More than `WHOLE` rows are searched in two rounds: all candidates on the first sample, the better ones on the second
# (benchmarks/scale.py). The second is all rows where there are no more.
WHOLE, ROUNDS = 3_000, (2_000, 5_000)
LEAST_OF_CLASS = 10  # rows of a class in a sample, if it has so many: two in each of five folds


@dataclass(frozen=True)
class Defaults:
    """Values that are tried by default: exponents, the largest C, and the relative gap of fits that are only scored."""

    exponents: tuple[float, ...]
    highest: float
    tol: float


# Two exponents are as accurate as five up to 1 on the data sets used for design, in less than half of the time
# (benchmarks/auto_choices.py). A gap of 1e-3 chooses other candidates than exact fits do.
FEW = Defaults((0.0, 0.5), highest=1e2, tol=1e-7)
# With more features the second exponent costs once or twice as much as the first and gains nothing (benchmarks/exponents.py).
# With more numbers it makes the search slower than LogisticRegressionCV instead of faster (benchmarks/selection.py).
MANY = Defaults((0.0,), highest=1e2, tol=1e-7)
FEW_FEATURES, FEW_NUMBERS = 32, 1 << 16
# Exponents: rare words should weigh more than their counts say, but not as much as common ones. Largest C: scaled columns make
# rows long, and fits beyond C = 1 slow. Gap: a search to 1e-7 takes 1.5 to 6 times as long as one to 1e-3. At 1e-3 other
# candidates were averaged on one of twelve tasks, at 1e-4 on none (benchmarks/text.py).
TEXT = Defaults((-1.0, -0.5), highest=1.0, tol=1e-4)
# Sparse rows of some hundred columns that are not text (categories, counts). With noisy labels most multipliers are free, and a
# search to 1e-7 over C up to 100 takes up to eight times as long, for the same accuracy (benchmarks/text.py noisy).
WIDE = Defaults((0.0,), highest=1.0, tol=1e-4)
WIDE_COLUMNS = 400
# Largest ratio of the sizes of numbers in two columns of text. A larger number is a time or an amount, which would dominate
# the distances in the units of the data.
TEXT_SIZES = 1e3
# Whitening gained nothing with kernels (benchmarks/averaging.py). At a gap of 1e-3 the choice is nearly always that of exact
# fits (benchmarks/kernel_search.py).
KERNEL = Defaults((0.0,), highest=1e3, tol=1e-3)


@dataclass(frozen=True, eq=False)
class Grids:
    """Values to try, as the user gave them. None, or a number of Cs, means that they are chosen from the data."""

    Cs: int | Sequence[float]
    whitening: Any = None
    scatter: Any = "total"
    eta: Any = 0.0
    gamma: Any = "scale"
    n_components: Any = None

    @classmethod
    def of(cls, search) -> Grids:
        """Build from an estimator's parameters."""
        return cls(**{field.name: getattr(search, field.name) for field in fields(cls)})


@dataclass(frozen=True, eq=False)
class KernelSpec:
    """One kernel of a search, with the exponents, gammas and Cs to try.

    `scaling` is applied to the rows first; None leaves them as they are. `name` is the kernel's name in the results. `tol` is the
    relative gap of fits that are only scored.
    """

    features: FeatureChoice
    exponents: tuple[float, ...]
    Cs: np.ndarray
    gammas: tuple = ("scale",)
    scaling: Scaling | None = None
    name: Any = None
    tol: float = KERNEL.tol

    def training(self, training: TrainingData) -> TrainingData:
        """Return the training data with scaled rows."""
        return training if self.scaling is None else replace(training, X=self.scaling.rows(training.X))

    def space(self, space) -> ExplicitSpace:
        """Wrap a space that was fitted to scaled rows, so that it takes rows in the user's units."""
        return space if self.scaling is None else ScaledSpace(space, self.scaling)


def kernel_specs(
    choice: FeatureChoice, grids: Grids, training: TrainingData, *, linear_alone: bool = False
) -> list[KernelSpec]:
    """Return one specification per kernel to search; `linear_alone` restricts lists and "auto" to the linear kernel."""
    names = kernel_names(choice.kernel, training)
    names = ("linear",) if names and linear_alone else names
    if names is None:
        return [_unscaled_spec(choice, grids, training, tuple(listed(grids.gamma)), choice.kernel)]
    made = {}  # scalings, which kernels share
    return [
        _named_spec(name, grids, choice.with_(kernel=name.removesuffix(RANK_SUFFIX)), training, made) for name in names
    ]


def _unscaled_spec(features, grids, training, gammas=("scale",), name=None):
    """Return a specification in the user's units."""
    defaults = defaults_of(features, training.X)
    exponents = defaults.exponents if grids.whitening is None else tuple(float(p) for p in listed(grids.whitening))
    Cs = initial_Cs(grids.Cs, training.weight, defaults.highest)
    if defaults is TEXT and isinstance(
        grids.Cs, Integral
    ):  # in the units of the data C scales as one over their squares
        Cs = Cs / mean_squared_length(training.X)
    return KernelSpec(features, exponents, Cs, gammas, name=name, tol=defaults.tol)


def _named_spec(name, grids, features, training, made):
    """Return the specification of one of several kernels. Linear models need no scaling: they standardise in every fold."""
    if features.is_linear:
        return _unscaled_spec(features, grids, training, name=name)
    make = RankTransform if name.endswith(RANK_SUFFIX) else Standardizer
    if make is RankTransform and sparse.issparse(training.X):
        raise ValueError(f"kernel={name!r} needs dense rows; leave it out, or pass X.toarray().")
    if make not in made:
        made[make] = make.of(training.X, training.weight, training.groups)
    Cs = grids.Cs
    if isinstance(Cs, Integral):
        Cs = np.geomspace(*SEVERAL_CS, max(2, Cs // 2)) / training.weight.mean()
    gammas = gammas_of(grids.gamma, features.kernel, training.X, training.groups)
    return KernelSpec(features, KERNEL.exponents, np.unique(Cs), gammas, made[make], name)


def kernel_names(kernel, training) -> tuple[str, ...] | None:
    """Return the names of the kernels of a list or of "auto"; None for a single kernel."""
    if isinstance(kernel, (list, tuple)):
        return tuple(dict.fromkeys(kernel))
    if not (isinstance(kernel, str) and kernel == "auto"):
        return None
    X = training.X
    alone = sparse.issparse(X) or X.shape[1] > MOST_COLUMNS or training.reduction.n_classes > MOST_CLASSES
    return ("linear",) if alone else AUTO


def initial_Cs(Cs, weight, highest):
    """Return the given Cs, or a range from where w is the difference of the class means to nearly a hard margin."""
    if not isinstance(Cs, Integral):
        return np.unique(np.asarray(listed(Cs), dtype=float))
    mean = weight.mean()
    if Cs == 1:
        return np.array([1.0 / mean])
    return np.geomspace(max(1.0 / len(weight), 1e-4), highest, int(Cs)) / mean


def defaults_of(features, X) -> Defaults:
    """Choose the defaults by the features and the shape of the data."""
    if not features.is_linear:
        return KERNEL
    if is_text(X):
        return TEXT
    if sparse.issparse(X) and X.shape[1] >= WIDE_COLUMNS:
        return WIDE
    return FEW if X.shape[1] <= FEW_FEATURES and X.shape[0] * X.shape[1] <= FEW_NUMBERS else MANY


def mean_squared_length(X) -> float:
    """Return the mean squared length of sparse rows, or 1 if all are zero. Rows of a `TfidfVectorizer` have length 1."""
    return float(X.data @ X.data) / X.shape[0] or 1.0


def is_text(X) -> bool:
    """Tell whether X looks like counts of words: sparse, with many columns, none with far larger numbers than the others."""
    if not sparse.issparse(X) or X.shape[1] < TEXT_COLUMNS:
        return False
    sizes, counts = np.abs(X.data), np.bincount(X.indices, minlength=X.shape[1])
    means = np.bincount(X.indices, sizes, minlength=X.shape[1]) / np.maximum(counts, 1)
    return bool(means.max(initial=0.0) <= TEXT_SIZES * np.median(means[counts > 0])) if len(sizes) else True


def gammas_of(gamma, kernel, X, groups=None) -> tuple:
    """Return the given gammas, or for "scale" multiples that suit standardised features."""
    if kernel not in MULTIPLES or not (isinstance(gamma, str) and gamma == "scale"):
        return tuple(listed(gamma))
    return tuple(multiple / varying_features(X, groups) for multiple in MULTIPLES[kernel])


def varying_features(X, groups=None) -> int:
    """Return the number of features that are not constant, at least one; a category column counts once."""
    spread = X.max(axis=0) - X.min(axis=0)
    varying = spread.count_nonzero() if sparse.issparse(spread) else np.count_nonzero(spread)
    if groups is not None:
        several = groups[(groups >= 0) & (spread > 0)]
        varying -= len(several) - len(np.unique(several))
    return max(1, int(varying))


def row_rounds(codes) -> list[np.ndarray | None]:
    """Return the rows of every round of a search, by number: nested stratified samples, always the same; None is all rows."""
    if len(codes) <= WHOLE:
        return [None]
    return [stratified_sample(codes, size) if size < len(codes) else None for size in ROUNDS]


def stratified_sample(codes, size) -> np.ndarray:
    """Return sorted numbers of about `size` rows; a rare class has `LEAST_OF_CLASS` of them, or all that it has."""
    order = np.random.default_rng(0).permutation(len(codes))
    counts = np.bincount(codes)
    wanted = np.maximum(np.round(size * counts / len(codes)).astype(int), np.minimum(counts, LEAST_OF_CLASS))
    rows = [order[codes[order] == k][:count] for k, count in enumerate(wanted)]
    return np.sort(np.concatenate(rows))


def check_kernel_names(kernel):
    """Raise a ValueError unless a list of kernels holds known names."""
    if isinstance(kernel, (list, tuple)):
        if not kernel:
            raise ValueError("kernel must not be an empty list.")
        for name in kernel:
            check_choice("kernel", name, NAMES)


def check_grid(name, value):
    """Raise a ValueError unless a grid is one value or a flat list of values."""
    try:
        empty = len(listed(value)) == 0
    except TypeError:  # neither a list nor a value, or a list of lists
        raise ValueError(f"{name} must be a value or a list of values, got {value!r}.") from None
    if empty:
        raise ValueError(f"{name} must not be empty.")


def listed(value: Any) -> list:
    """Return a single value, or the distinct values of a list, as a list."""
    return [value] if value is None or isinstance(value, (str, Real)) else list(dict.fromkeys(value))


# -- Candidates, groups of them that share features, scatter and smoothing, and tasks for a fold strategy ------------------


class Candidate(NamedTuple):
    """One combination of hyper-parameters. A tuple, since candidates are keys of tables and its hash costs least."""

    whitening: float
    C: float
    eta: float = 0.0
    scatter: str = "total"
    n_components: int | float | None = None
    gamma: float | str | None = None
    kernel: Any = "linear"

    @property
    def form(self) -> dict[str, Any]:
        """The parameters of `FSVM`, except those of its kernel."""
        return self.params(("C", "eta", "whitening", "scatter"))

    def params(self, searched):
        return {name: getattr(self, name) for name in searched}

    @property
    def preference(self):
        """Sort key among equal scores: the linear kernel first, then less whitening, then the smaller C."""
        return (
            self.kernel != "linear", self.whitening, self.C, self.eta, self.scatter, str(type(self.n_components)),
            self.n_components or 0, str(self.gamma), str(self.kernel),
        )  # fmt: skip


@dataclass(frozen=True)
class CandidateGroup:
    """Candidates that differ in exponent and C only."""

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
        """Whether kernel values are all that these candidates need: nothing is whitened or smoothed."""
        return self.exponents == (0.0,) and self.eta == 0 and self.scatter == "total" and self.features.has_kernel


@dataclass(frozen=True, eq=False)
class Task:
    """Work for a fold strategy: candidates of a group (exponents times Cs), splits to score them on, solver options."""

    group: CandidateGroup
    exponents: tuple[float, ...]
    Cs: np.ndarray
    splits: tuple[int, ...]
    options: Options

    @classmethod
    def among(cls, candidates, group, splits, options) -> Task:
        """Build the smallest grid of a group that holds those of some candidates that are its own."""
        own = [c for c in candidates if group.holds(c)]
        exponents = tuple(p for p in group.exponents if p in {c.whitening for c in own})
        return cls(group, exponents, np.unique([c.C for c in own]), splits, options)

    @cached_property
    def candidates(self) -> list[Candidate]:
        return [self.group.candidate(p, C) for p in self.exponents for C in self.Cs]

    def on(self, splits) -> Task:
        return replace(self, splits=tuple(splits))

    def record(self, recorder, splits, values):
        """Record scores of shape (P, C), or (splits, P, C) for several splits."""
        recorder.record(self.candidates, splits, values.reshape(*values.shape[:-2], -1))

    def on_scores(self, recorder, split):
        """Return the callback for decision values of the candidates on a split; see `Recorder.on_scores`."""
        return recorder.on_scores(self.candidates, split)


def candidate_groups(grids: Grids, spec: KernelSpec) -> list[CandidateGroup]:
    """Return all groups of one kernel that the grids ask for.

    With a kernel and no number of components every exponent is a group of its own: 0 needs no kernel map, and for the others the
    default number of components depends on the exponent.
    """
    forms = list(product(listed(grids.scatter), listed(grids.eta)))
    if spec.features.is_linear:  # exponents below 0 only scale columns, and need no scatter
        parts = tuple(p for p in spec.exponents if p < 0), tuple(p for p in spec.exponents if p >= 0)
        return [CandidateGroup(spec, spec.features, part, *form) for part in parts if part for form in forms]
    groups = []
    for gamma, n_components, form in product(spec.gammas, listed(grids.n_components), forms):
        features = spec.features.with_(gamma=gamma, n_components=n_components)
        apart = n_components is None and not features.is_transformer
        for part in [(p,) for p in sorted(spec.exponents)] if apart else [spec.exponents]:
            groups.append(CandidateGroup(spec, features, part, *form))
    return groups
