"""The search of `AutoSVR`: least-squares kernel machines, scored by their exact leave-one-out residuals.

In this order: the candidates (`Kernel` with ridges), their fit to rows (`score`), the metric that a fit learns (`learned_scales`),
the choice of members (`choose`), and the search that goes through them (`LeastSquaresSearch`).

References
----------
.. [1] A. Radhakrishnan, D. Beaglehole, P. Pandit and M. Belkin, "Mechanism for feature learning in neural networks and
   backpropagation-free machine learning models", Science 383 (2024).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from .._blocks import split
from ..estimators.decision import Ensemble, LinearModel
from ..estimators.features import Expansion, Mapped, RankTransform, Raw, ScaledSpace, Scaling, Standardizer
from ..estimators.kernel_map import KernelMap
from ..estimators.shared_rows import shared_rows
from ..kernels import KernelFunction
from ..solvers.least_squares import FeatureSpectrum, KernelSpectrum, certified, certified_linear
from ..solvers.result import Certificate
from .candidates import RANK_SUFFIX, varying_features

NAMES = ("linear", "rbf", "laplacian", "rbf-ranks", "laplacian-ranks")
METRIC_SUFFIX = "-metric"  # ends the name of a kernel on features with learned scales
RIDGES = np.geomspace(1e-4, 100.0, 13)
# Values of gamma times the number of features.
MULTIPLES = {"rbf": (0.01, 0.03, 0.1, 0.3, 1.0, 3.0), "laplacian": (0.03, 0.1, 0.3, 1.0, 3.0)}
MOST_FEATURES = 500  # with learned scales; a derivative of the Laplacian kernel costs n^2 per feature
METRIC_STEPS = 2
BAND = 1.5  # standard errors of the paired differences within which a member is near-best
MOST_MEMBERS = 16  # of one kernel
LEAST_SHARE = 0.01  # of a kernel in the mixture
SAMPLE = (
    400  # rows on which all candidates are tried; with 600 no more accurate at 1,000 rows, and slower by three quarters
)
FINALISTS = 2  # widths of a kernel that are fitted to all rows
# Rows up to which kernel matrices are decomposed: at 4,000 that takes seven times as long, for the same R2.
EXACT = 2000
LANDMARKS = 1000
SCORED = 20_000  # rows whose leave-one-out residuals are formed
BLOCK = 1 << 22  # numbers of features that are formed at a time


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel with its width on scaled rows, and the ridges to try."""

    name: str
    function: KernelFunction
    scaling: Scaling
    ridges: np.ndarray

    @property
    def is_linear(self) -> bool:
        return self.function.kernel == "linear"

    def params(self, ridge) -> dict:
        gamma = None if self.is_linear else self.function.gamma
        return {"kernel": self.name, "gamma": gamma, "ridge": float(ridge)}


@dataclass(frozen=True, eq=False)
class Rows:
    """Training rows with targets of mean zero and deviation one, of shape (n, T)."""

    X: np.ndarray
    targets: np.ndarray
    weight: np.ndarray
    groups: np.ndarray | None = None

    def at(self, index) -> Rows:
        return replace(self, X=self.X[index], targets=self.targets[index], weight=self.weight[index])


@dataclass(frozen=True, eq=False)
class Scored:
    """A kernel that was fitted to rows with all its ridges.

    Attributes
    ----------
    kernel : Kernel
    space : FeatureSpace
        Of the scaled rows.
    coef : ndarray of shape (ridges, n or features, T)
    residuals : ndarray of shape (ridges, n_scored, T)
        Leave-one-out residuals.
    """

    kernel: Kernel
    space: Expansion | Mapped | Raw
    coef: np.ndarray
    residuals: np.ndarray

    def part(self, rows: Rows, shares: np.ndarray) -> tuple[LinearModel, Certificate]:
        """Add up the models of all ridges, with shares of shape (ridges, T), and certify those that have one."""
        ks, ts = np.nonzero(shares)
        coef, targets, ridges = self.coef[ks, :, ts].T, rows.targets[:, ts], self.kernel.ridges[ks]
        if isinstance(self.space, Expansion):
            K = self.space.function(self.space.support)
            found = certified(K, targets, coef, ridges, rows.weight)
        else:
            blocks = feature_blocks(self.kernel, self.space, replace(rows, targets=targets))
            found = certified_linear(blocks, coef, ridges)
        into = np.zeros((len(ks), rows.targets.shape[1]))
        into[np.arange(len(ks)), ts] = shares[ks, ts]
        space = ScaledSpace(self.space, self.kernel.scaling)
        model = LinearModel(space, np.ascontiguousarray((coef @ into).T), found.intercept @ into, None)
        return model, Certificate.of(found.objective, found.dual_objective, 1)


def score(kernel: Kernel, rows: Rows, scored: np.ndarray | slice = slice(None)) -> Scored:
    """Fit a kernel with all its ridges, exactly or by landmarks, and form the residuals of the rows `scored`."""
    n, d = rows.X.shape
    if kernel.is_linear and d < n:
        return _explicit(kernel, Raw(), rows, scored)
    if n > EXACT:
        landmarks = np.random.default_rng(0).choice(n, LANDMARKS, replace=False)
        scaled = kernel.scaling.rows(rows.X[landmarks])
        return _explicit(kernel, _landmark_features(kernel, scaled), rows, scored)
    scaled = kernel.scaling.rows(rows.X)
    spectrum = KernelSpectrum.of(kernel.function(scaled), rows.weight)
    coef = spectrum.multipliers(rows.targets, kernel.ridges)
    return Scored(kernel, Expansion(kernel.function, scaled), coef, spectrum.leave_one_out(rows.targets, kernel.ridges))


def _landmark_features(kernel, landmarks):
    """Return the space of the kernel functions at some rows, without loss for these rows."""
    function = kernel.function
    space = KernelMap(
        function.kernel, gamma=function.gamma, n_components=len(landmarks) - 1, engine="exact", whitening=0.0
    )
    return Mapped(space.fit(landmarks))


def _explicit(kernel, space, rows, scored):
    spectrum = FeatureSpectrum.of(feature_blocks(kernel, space, rows))
    coef = np.array([spectrum.coef(ridge)[0] for ridge in kernel.ridges])
    found = [spectrum.leave_one_out(*block, kernel.ridges) for block in feature_blocks(kernel, space, rows.at(scored))]
    return Scored(kernel, space, coef, np.concatenate(found, axis=1))


def feature_blocks(kernel: Kernel, space, rows: Rows) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield blocks (features, targets, weights) of rows."""
    for block in split(len(rows.X), max(rows.X.shape[1], LANDMARKS), BLOCK):
        yield space.rows(kernel.scaling.rows(rows.X[block])), rows.targets[block], rows.weight[block]


# -- A metric from a fit: features whose derivative is large count more -----------------------------------------------


def learned_scales(scored: Scored, rows: Rows) -> np.ndarray:
    """Return a factor for every scaled feature: the root of the mean squared derivative of the best model along it [1]_.

    For several targets the squares are summed.
    """
    kernel, X = scored.kernel, scored.space.support
    best = np.argmin(np.einsum("rnt,n->r", scored.residuals**2, rows.weight))
    coef = scored.coef[best]
    K = kernel.function(X)
    squares = np.empty(X.shape[1])
    if kernel.function.kernel == "rbf":
        fit = K @ coef
        for j, x in enumerate(X.T):
            squares[j] = ((x[:, None] * fit - K @ (x[:, None] * coef)) ** 2).sum()
    else:
        for j, x in enumerate(X.T):
            squares[j] = (((np.sign(x[:, None] - x) * K) @ coef) ** 2).sum()
    return np.sqrt(squares)


def rescaled(scaling: Scaling, factors: np.ndarray) -> Scaling:
    """Return the scaling followed by a factor for every feature."""
    factors = np.maximum(factors, 1e-6 * factors.max())
    if isinstance(scaling, RankTransform):
        return replace(scaling, standard=rescaled(scaling.standard, factors))
    return replace(scaling, scale=scaling.scale / factors)


# -- Choosing ---------------------------------------------------------------------------------------------------------


def near_best(squares: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the near-best rows of squared residuals (members, n): within some standard errors of paired differences."""
    share = weight / weight.sum()
    mean = squares @ share
    difference = squares - squares[np.argmin(mean)]
    error = np.sqrt(np.maximum((difference**2) @ share - (difference @ share) ** 2, 0.0) / len(weight))
    near = np.flatnonzero(difference @ share <= BAND * error)
    return near[np.argsort(mean[near], kind="stable")[:MOST_MEMBERS]]


def choose(found: list[Scored], rows: Rows, t: int) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the shares of the ridges of every scored kernel for one target, and the mixture's leave-one-out residuals.

    Near-best members of a kernel, of all widths, are averaged; kernels are mixed by non-negative least squares.
    """
    shares = [np.zeros(len(one.residuals)) for one in found]
    members, averages = [], []
    for name in dict.fromkeys(one.kernel.name for one in found):
        own = [(i, k) for i, one in enumerate(found) if one.kernel.name == name for k in range(len(one.residuals))]
        residuals = np.array([found[i].residuals[k, :, t] for i, k in own])
        near = near_best(residuals**2, rows.weight)
        members.append([own[j] for j in near])
        averages.append(residuals[near].mean(axis=0))
    averages = np.array(averages)
    mixture = mixed(averages, rows.weight)
    for weight, own in zip(mixture, members, strict=True):
        for i, k in own:
            shares[i][k] = weight / len(own)
    return shares, mixture @ averages


def mixed(residuals: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return non-negative shares with sum one whose mixture of residuals (kernels, n) has the least sum of squares."""
    root = np.sqrt(weight)
    scaled = (residuals * root).T
    size = np.linalg.norm(scaled) or 1.0
    sum_to_one = np.full((1, len(residuals)), 1e3 * size)
    shares, _ = nnls(np.vstack([scaled, sum_to_one]), np.append(np.zeros(len(weight)), 1e3 * size))
    shares[shares < LEAST_SHARE * shares.sum()] = 0.0
    return shares / shares.sum()


# -- The search -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class LeastSquaresSearch:
    """All candidates on a sample of the rows; those that the mixture takes on all rows.

    Attributes
    ----------
    names : tuple of str
    on_kernel : callable
        Called after every fit.
    """

    names: tuple[str, ...]
    on_kernel: object = None

    def isotropic(self, rows: Rows) -> list[Scored]:
        """Score every kernel with every width on features of equal scales."""
        made, found = {}, []
        for name in self.names:
            make = RankTransform if name.endswith(RANK_SUFFIX) else Standardizer
            if make not in made:
                made[make] = make.of(rows.X, rows.weight, rows.groups)
            found += [self._score(kernel, rows) for kernel in kernels(name, made[make], rows)]
        return found

    def with_metrics(self, found: list[Scored], rows: Rows) -> list[Scored]:
        """Score every kernel that is not linear again, on features whose scales are learned in some steps."""
        added = []
        names = [name for name in self.names if name != "linear"]
        for name in names if rows.X.shape[1] <= MOST_FEATURES else ():
            own = [one for one in found if one.kernel.name == name]
            scaling = own[0].kernel.scaling
            power = 1 if "laplacian" in name else 2
            spread = own[0].space.support.std(axis=0) ** power
            factors = np.ones(rows.X.shape[1])
            for step in range(METRIC_STEPS):
                best = min(own, key=lambda one: loss(one, rows))
                factors = factors * learned_scales(best, rows)
                if not factors @ spread > 0:  # the best model is a constant
                    own = []
                    break
                factors /= (factors**power @ spread / spread.sum()) ** (1 / power)
                widths = kernels(name, rescaled(scaling, factors), rows, METRIC_SUFFIX)
                near = best.kernel.function.gamma
                if step + 1 < METRIC_STEPS:
                    widths = [one for one in widths if 0.2 < one.function.gamma / near < 5.0]
                own = [self._score(kernel, rows) for kernel in widths]
            added += own
        return added

    def finalists(self, found: list[Scored], shares: list[np.ndarray], rows: Rows) -> list[Kernel]:
        """Return the kernels to fit to all rows: the best widths of those that have a share."""
        kept = {one.kernel.name for one, share in zip(found, shares, strict=True) if share.any()}
        best = sorted((one for one in found if one.kernel.name in kept), key=lambda one: loss(one, rows))
        names = [one.kernel.name for one in best]
        return [one.kernel for i, one in enumerate(best) if names[:i].count(names[i]) < FINALISTS]

    def refit(self, chosen: list[Kernel], rows: Rows, scored) -> list[Scored]:
        return [self._score(kernel, rows, scored) for kernel in chosen]

    def _score(self, kernel, rows, scored=slice(None)):
        found = score(kernel, rows, scored)
        if self.on_kernel:
            self.on_kernel(found)
        return found


def kernels(name: str, scaling: Scaling, rows: Rows, suffix: str = "") -> list[Kernel]:
    """Return the widths of a kernel."""
    base, mean = name.removesuffix(RANK_SUFFIX), rows.weight.mean()
    varying = varying_features(rows.X, rows.groups)
    if base == "linear":
        return [Kernel(name, KernelFunction("linear"), scaling, RIDGES * varying * mean)]
    widths = [KernelFunction(base, gamma=multiple / varying) for multiple in MULTIPLES[base]]
    return [Kernel(name + suffix, function, scaling, RIDGES * mean) for function in widths]


def loss(one: Scored, rows: Rows) -> float:
    """Return the smallest mean squared residual of a kernel over its ridges, summed over the targets."""
    return float(np.einsum("rnt,n->r", one.residuals**2, rows.weight).min())


def ensemble(found: list[Scored], shares: list[np.ndarray], rows: Rows) -> tuple[Ensemble, Certificate]:
    """Build the model of all kernels that have shares of shape (ridges, T)."""
    parts, certificate = [], Certificate()
    for one, own in zip(found, shares, strict=True):
        if own.any():
            part, bounds = one.part(rows, own)
            parts.append(part)
            certificate += bounds
    return Ensemble(tuple(parts), shared_rows(parts, rows.X)), certificate


__all__ = ["METRIC_SUFFIX", "NAMES", "Kernel", "LeastSquaresSearch", "Rows", "Scored", "choose", "ensemble"]
