"""R-SVM+ and R-SVM_mu+ (Do & Kalousis, ICML 2013), whose radius is the largest distance of two rows.

In order: both models with a given set of pairs (duals, and feasible points made of their solutions), then constraint
generation, which adds pairs until the gap of the problem with all pairs is closed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ..._checks import check_number
from ..problem import balanced
from ..result import certificate, relative_gap
from .active_set import ActiveSet, extreme_pairs, far_pairs, guess_active_set, squared_differences
from .program import (
    ConicProgram,
    ConicSolution,
    ConicSolverError,
    MarginData,
    MarginResult,
    Separator,
    best_intercept,
    gradient_program,
    prepare,
    scalings,
    weighted_norm,
)


@dataclass(frozen=True, eq=False)
class Primal:
    """A feasible point: its objective with all pairs (`objective`) and with those generated (`lower`)."""

    objective: float
    lower: float
    separator: Separator
    scaling: np.ndarray
    radius: float


@dataclass(frozen=True, eq=False)
class Dual:
    """A dual feasible point."""

    objective: float
    alpha: np.ndarray
    eta: np.ndarray


class Model(ABC):
    """Common part of both models, in the coordinates Z; with ``a = 1/scale^2`` the user's problem is unchanged."""

    def __init__(self, data: MarginData, lam: float):
        self.data, self.Z, self.y, self.c, self.lam = data, data.Z, data.y, data.c, lam
        self.a = data.scale**-2

    @abstractmethod
    def settings(self) -> Sequence[tuple[float, ...]]:
        """Settings of the dual to try in turn: (unit, cap, guard) of `scalings`, perhaps with more numbers for `solve`."""

    @abstractmethod
    def first_norm(self, d2: np.ndarray) -> np.ndarray:
        """Norm ``sum_k norm_k w_k^2`` of the first hinge problem that guesses the active set."""

    @abstractmethod
    def solve(
        self, d2: np.ndarray, c: np.ndarray, active: ActiveSet, max_iter: int, setting: tuple[float, ...]
    ) -> tuple[ConicSolution, np.ndarray, Any]:
        """Solve the dual on given pairs, with a setting without its cap; return the solution, w and the scaling (or None)."""

    @abstractmethod
    def points(self, w: np.ndarray, scaling: Any, dual: Dual, d2: np.ndarray) -> list[Primal]:
        """Feasible points: from the solver's w, and from the dual point."""

    @abstractmethod
    def norm(self, w: np.ndarray, scaling: np.ndarray) -> float:
        """Twice the norm term of the objective."""

    @abstractmethod
    def penalty(self, g: np.ndarray, q: np.ndarray) -> float:
        """Twice the term that the dual objective subtracts from ``sum(alpha)``."""

    def program(self, c: np.ndarray, active: ActiveSet, root: np.ndarray, m: int, **sizes: int) -> ConicProgram:
        """``g = root Z'(alpha y)``, alpha in its box, and ``eta / lam`` on the simplex."""
        program = gradient_program(self.data, root, active.free, active.fixed(c), eta=m, **sizes)
        program.nonnegative("box", {"alpha": -1.0}, c[active.free])
        program.nonnegative("eta", {"eta": 1.0})
        program.zero("r", {"eta": np.ones((1, m))}, -1.0)
        return program

    def dual(self, solution: ConicSolution, d2: np.ndarray, unit: float, c: np.ndarray, active: ActiveSet) -> Dual:
        """Make the solver's point feasible."""
        alpha = np.clip(active.whole(solution.values["alpha"], c), 0.0, c)
        alpha = unit * self.y * balanced(self.y * alpha, self.data.fit_intercept)
        eta = np.maximum(solution.values["eta"], 0.0)
        g, eta = self.data.gradient(alpha * self.y), eta * (self.lam / eta.sum())
        return Dual(alpha.sum() - self.penalty(g, eta @ d2) / 2, alpha, eta)

    def improved(self, dual: Dual, d2: np.ndarray) -> Dual:
        """Return a dual point that is no worse; used if the solver's is not accurate enough."""
        return dual

    def primal(self, w: np.ndarray, scaling: np.ndarray, d2: np.ndarray) -> Primal:
        """Point given by `w` and a scaling of the features, with the radius of the given pairs only."""
        u = self.data.outputs(w)
        separator = self.data.user_units(w, best_intercept(u, self.y, self.c) if self.data.fit_intercept else 0.0)
        radius = (d2 @ scaling).max() / 2
        objective = self.norm(w, scaling) / 2 + self.lam * radius + self.data.loss(separator)
        return Primal(np.inf, objective, separator, scaling, radius)

    def next_norm(self, w: np.ndarray, d2: np.ndarray) -> np.ndarray | None:
        """Return a better norm for the guess of the active set, given the last separator; None if the last is good enough."""
        return None

    def slack(self, point: Primal) -> np.ndarray:
        """Slacks ``1 - y f`` of all rows."""
        return 1.0 - self.y * point.separator.outputs(self.data.X)


class MuPlus(Model):
    """R-SVM_mu+: the scaling is ``p_k = mu_k / a_k``, so that ``sum_k a_k p_k = 1``."""

    def settings(self) -> Sequence[tuple[float, ...]]:
        """Settings with the objective in units of the radius term, then in units of the multipliers."""
        common = scalings(self.c, self.a.min())
        radius = self.lam / self.a.mean()
        return [(*setting, max(setting[0], radius)) for setting in common] + [
            (*setting, setting[0]) for setting in common
        ]

    def first_norm(self, d2: np.ndarray) -> np.ndarray:
        """Norm of equal weights."""
        return self.a * len(self.a)

    def next_norm(self, w: np.ndarray, d2: np.ndarray) -> np.ndarray | None:
        """``1 / p`` for the best p with this w, equal multipliers of the pairs, and the tau of a problem without pairs."""
        if not w.any():
            return None
        size = np.abs(w) + 1e-4 * np.abs(w).max()  # no feature is excluded
        p = size / np.sqrt(self.lam * d2.mean(axis=0) + self.a * (np.sqrt(self.a) @ size) ** 2)
        return (self.a @ p) / p

    def solve(
        self, d2: np.ndarray, c: np.ndarray, active: ActiveSet, max_iter: int, setting: tuple[float, ...]
    ) -> tuple[ConicSolution, np.ndarray, np.ndarray]:
        """``min -unit/whole sum(alpha) + tau/2``, ``unit^2/whole g_k^2 <= a_k tau + lam/whole q_k(eta)``.

        The objective is measured in `whole` (that of the radius term if it dominates), and each k in its own `size`.
        """
        unit, guard, whole = setting
        d, size = self.Z.shape[1], self.a + self.lam / whole
        root = unit / np.sqrt(whole * size)
        program = self.program(c, active, root, len(d2), tau=1)
        program.cost(linear={"alpha": -(1.0 + guard) * unit / whole, "tau": 0.5})
        p = {"tau": (self.a / size)[:, None], "eta": d2.T * (self.lam / whole / size)[:, None]}
        program.rotated("p", (p, 0.0), ({}, np.ones(d)), ({"g": 1.0}, 0.0))
        solution = program.solve(max_iter=max_iter)
        p = np.maximum(solution.multipliers["p"][0], 0.0) / size
        return solution, -root * whole / unit * solution.multipliers["w"], p / (self.a @ p)

    def points(self, w: np.ndarray, p: np.ndarray, dual: Dual, d2: np.ndarray) -> list[Primal]:
        """Points of the solver's w, and of the w that follows from alpha: ``w_k = p_k g_k``."""
        candidates = (w, p * self.data.gradient(dual.alpha * self.y))
        return [self.primal(np.where(p > 0.0, w, 0.0), p, d2) for w in candidates]

    def norm(self, w: np.ndarray, p: np.ndarray) -> float:
        return weighted_norm(w, p)

    def penalty(self, g: np.ndarray, q: np.ndarray) -> float:
        return ((g**2 - q) / self.a).max()

    def improved(self, dual: Dual, d2: np.ndarray) -> Dual:
        """Reduce the largest ``(g_k^2 - q_k(eta)) / a_k``, which is what the dual objective counts.

        A large feature has a small a_k, which amplifies rounding errors. A little more weight on the pair that is widest in
        that feature corrects them and hardly changes the others. The value of each feature is tried as the common level.
        """
        g, eta = self.data.gradient(dual.alpha * self.y), dual.eta
        widest, reach = d2.argmax(axis=0), np.maximum(d2.max(axis=0), 1e-300)
        for _ in range(50):
            excess, candidates = g**2 - eta @ d2, [eta]
            for level in excess / self.a:
                added = np.bincount(widest, np.maximum(0.0, excess - self.a * level) / reach, len(eta))
                if added.sum() < self.lam:
                    candidates.append(eta * (1.0 - added.sum() / self.lam) + added)
            eta = min(candidates, key=lambda eta: self.penalty(g, eta @ d2))
            if eta is candidates[0]:
                break
        return Dual(dual.alpha.sum() - self.penalty(g, eta @ d2) / 2, dual.alpha, eta)


class Plus(Model):
    """R-SVM+: the scaling is ``w^2``."""

    def settings(self) -> Sequence[tuple[float, ...]]:
        return scalings(self.c, self.a.min() + self.lam)

    def first_norm(self, d2: np.ndarray) -> np.ndarray:
        """Norm of pairs with equal multipliers."""
        return self.a + self.lam * d2.mean(axis=0)

    def solve(
        self, d2: np.ndarray, c: np.ndarray, active: ActiveSet, max_iter: int, setting: tuple[float, ...]
    ) -> tuple[ConicSolution, np.ndarray, None]:
        """``min -sum(alpha) + sum(t)/2``, ``t_k (a_k + lam q_k(eta)) >= unit g_k^2``, each k in its size."""
        (unit, guard), size, d = setting, self.a + self.lam, self.Z.shape[1]
        root = np.sqrt(unit / size)
        program = self.program(c, active, root, len(d2), t=d)
        program.cost(linear={"alpha": -1.0 - guard, "t": 0.5})
        metric = ({"eta": d2.T * (self.lam / size)[:, None]}, self.a / size)
        program.rotated("metric", ({"t": 1.0}, 0.0), metric, ({"g": 1.0}, 0.0))
        solution = program.solve(max_iter=max_iter)
        return solution, -root * solution.multipliers["w"], None

    def points(self, w: np.ndarray, _: None, dual: Dual, d2: np.ndarray) -> list[Primal]:
        """Points of the solver's w, and of the w that follows from alpha and eta: ``w_k = g_k / (a_k + q_k)``."""
        candidates = (w, self.data.gradient(dual.alpha * self.y) / (self.a + dual.eta @ d2))
        return [self.primal(w, w**2, d2) for w in candidates]

    def norm(self, w: np.ndarray, scaling: np.ndarray) -> float:
        return (self.a * w) @ w

    def penalty(self, g: np.ndarray, q: np.ndarray) -> float:
        return (g**2 / (self.a + q)).sum()


# -- Constraint generation --------------------------------------------------------------------------------------------


MOST_ROUNDS = 200
PAIRS_PER_ROUND = 20  # 20 more pairs cost nothing extra in a round, and halve the number of rounds


@dataclass(frozen=True, eq=False, kw_only=True)
class PairwiseResult(MarginResult):
    """Solution of a model with constraints on pairs of rows.

    Attributes
    ----------
    radius : float
        The radius term ``r``: half the largest squared distance of two rows, in the learned scaling.
    pairs : ndarray of shape (m, 2)
        Generated pairs, as row numbers of X.
    eta : ndarray of shape (m,)
        Their multipliers, which sum to ``lam``; with `alpha` they are the dual point.
    n_rounds : int
        Rounds of constraint generation; `n_iter` counts the interior-point steps of all of them.
    """

    radius: float
    pairs: np.ndarray = field(repr=False)
    eta: np.ndarray = field(repr=False)
    n_rounds: int

    @property
    def active_pairs(self) -> np.ndarray:
        """Pairs with a positive multiplier, which attain the radius."""
        return self.pairs[self.eta > 1e-6 * self.eta.max(initial=0.0)]


@dataclass(frozen=True, eq=False, kw_only=True)
class RSVMMuPlusResult(PairwiseResult):
    """Solution of R-SVM_mu+.

    Attributes
    ----------
    mu : ndarray of shape (d,)
        Weights of the features, on the simplex: the model is the SVM on ``X * sqrt(mu)``.
    """

    mu: np.ndarray


@dataclass(frozen=True, eq=False, kw_only=True)
class RSVMPlusResult(PairwiseResult):
    """Solution of R-SVM+.

    Attributes
    ----------
    metric : ndarray of shape (d,)
        ``1 / (1 + q_k(eta))``: the model is the SVM on ``X * sqrt(metric)``. (Its radius is that of ``X * coef``.)
    """

    metric: np.ndarray


def rsvm_mu_plus(
    X: np.ndarray,
    y: np.ndarray,
    C: float = 1.0,
    lam: float = 1.0,
    *,
    sample_weight: np.ndarray | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> RSVMMuPlusResult:
    """Solve R-SVM_mu+, which learns weights of the features, with the largest distance as a penalty.

    ``min 1/2 sum_k w_k^2 / mu_k + lam r + sum_i c_i hinge_i`` over the simplex of `mu`, where
    ``r = 1/2 max_ij sum_k mu_k d2_ijk`` and ``c_i = C sample_weight_i``; by the dual
    ``max sum(alpha) - 1/2 max_k [g_k^2 - q_k(eta)]``, ``sum(eta) = lam``, where
    ``q_k(eta) = sum_ij eta_ij d2_ijk``. Violated pairs are added round by round.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    y : ndarray of shape (n,)
        Labels, -1 or +1.
    C : float
        Cost of the hinge loss, positive.
    lam : float
        Cost of the radius, non-negative.
    sample_weight : ndarray of shape (n,), optional
        Weights of the losses; a row of weight zero is left out, of the pairs too.
    fit_intercept : bool
        If False, ``b`` is zero.
    tol : float
        Relative duality gap to reach, of the problem with all pairs.
    max_iter : int
        Interior-point iterations per round.

    Returns
    -------
    RSVMMuPlusResult

    Examples
    --------
    >>> X = np.array([[-1.0, 9.0], [-1.0, -9.0], [1.0, 9.0], [1.0, -9.0]])
    >>> result = rsvm_mu_plus(X, np.array([-1, -1, 1, 1]), C=10.0, lam=0.1)
    >>> result.mu.round(6), round(result.radius, 6)
    (array([1., 0.]), 2.0)
    """
    check_number("lam", lam, 0)
    model = MuPlus(prepare(X, y, C, sample_weight, fit_intercept), lam)
    found, scaling = _generate(model, tol, max_iter)
    return RSVMMuPlusResult(**found, mu=scaling * model.a)


def rsvm_plus(
    X: np.ndarray,
    y: np.ndarray,
    C: float = 1.0,
    lam: float = 1.0,
    *,
    sample_weight: np.ndarray | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> RSVMPlusResult:
    """Solve R-SVM+, in which the separator itself scales the features, with the largest distance as a penalty.

    ``min 1/2 |w|^2 + lam r + sum_i c_i hinge_i``, ``r = 1/2 max_ij sum_k w_k^2 d2_ijk``;
    by the dual ``max sum(alpha) - 1/2 sum_k g_k^2 / (1 + q_k(eta))``, ``sum(eta) = lam``. The
    parameters are those of `rsvm_mu_plus`.

    Returns
    -------
    RSVMPlusResult

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0]])
    >>> result = rsvm_plus(X, np.array([-1, 1]), C=10.0, lam=0.25)
    >>> result.coef.round(6), result.metric.round(6), result.active_pairs
    (array([1.]), array([0.5]), array([[0, 1]]))
    """
    check_number("lam", lam, 0)
    model = Plus(prepare(X, y, C, sample_weight, fit_intercept), lam)
    found, _ = _generate(model, tol, max_iter)
    d2 = squared_differences(np.asarray(X, float), found["pairs"])
    return RSVMPlusResult(**found, metric=1.0 / (1.0 + found["eta"] @ d2))


def _generate(model: Model, tol: float, max_iter: int) -> tuple[dict, np.ndarray]:
    """Solve with the pairs so far and add those that the solution violates, until the gap is closed."""
    pairs = _first_pairs(model)
    d2 = squared_differences(model.Z, pairs)
    active = guess_active_set(model.data, model.first_norm(d2), lambda w: model.next_norm(w, d2))
    tries = iter(
        [(setting, all_rows) for all_rows in sorted({False, active.is_partial}) for setting in model.settings()]
    )
    setting: tuple[float, ...] | None = next(tries)[0]
    primal, dual, failures, n_iter, n_rounds = None, None, [], 0, 0
    while setting is not None and n_rounds < MOST_ROUNDS:
        n_rounds += 1
        try:
            solution, point, bound = _round(model, pairs, active, setting, tol, max_iter)
        except ConicSolverError as failure:
            failures.append(str(failure))
            setting, active = _next(tries, active)
            continue
        n_iter += solution.n_iter
        point, violated = _complete(model, point)
        primal = point if primal is None or point.objective < primal.objective else primal
        dual = bound if dual is None or bound.objective > dual.objective else dual
        if relative_gap(primal.objective, dual.objective) <= tol:
            break
        if relative_gap(point.lower, bound.objective) > tol or not len(violated):
            slack = model.slack(point)
            if active.misplaces(slack):
                active = active.widened(slack, model.Z.shape[1])
            else:
                setting, active = _next(tries, active)
        pairs = np.concatenate([pairs, violated])
    if primal is None or dual is None:
        raise ConicSolverError(f"no scaling of the problem was solved: {'; '.join(failures)}")
    certified = certificate(float(primal.objective), float(dual.objective), n_iter, tol)
    return _report(model, primal, dual, pairs) | certified | {"n_rounds": n_rounds}, primal.scaling


def _next(tries: Iterator[tuple], active: ActiveSet) -> tuple[tuple[float, ...] | None, ActiveSet]:
    """Next setting if the solver is not accurate enough: other units, then the same settings with all rows active."""
    setting, all_rows = next(tries, (None, False))
    return setting, ActiveSet.all_rows(len(active.free)) if all_rows else active


def _first_pairs(model: Model) -> np.ndarray:
    """Extreme rows of the largest features, and the farthest pairs under equal weights."""
    Z, largest = model.Z, np.argsort(-model.data.scale, kind="stable")[: 2 * PAIRS_PER_ROUND]
    pairs = extreme_pairs(Z[:, largest])
    far, _ = far_pairs(Z, squared_differences(Z, pairs).sum(axis=1).max(), PAIRS_PER_ROUND)
    return np.concatenate([pairs, far])


def _round(
    model: Model, pairs: np.ndarray, active: ActiveSet, setting: tuple[float, ...], tol: float, max_iter: int
) -> tuple[ConicSolution, Primal, Dual]:
    """Solve on the given pairs and rows; return the solution, the best primal point for these pairs, and the dual point."""
    unit, cap, *others = setting
    d2, c = squared_differences(model.Z, pairs), np.minimum(model.c / unit, cap)
    solution, w, scaling = model.solve(d2, c, active, max_iter, (unit, *others))
    dual = model.dual(solution, d2, unit, c, active)
    point = min(model.points(w, scaling, dual, d2), key=lambda point: point.lower)
    exact = relative_gap(point.lower, dual.objective) <= tol
    return solution, point, dual if exact or active.is_partial else model.improved(dual, d2)


def _complete(model: Model, point: Primal) -> tuple[Primal, np.ndarray]:
    """The point with the radius of all pairs, and the pairs that violate its radius so far."""
    violated, distances = far_pairs(model.Z * np.sqrt(point.scaling), 2 * point.radius, PAIRS_PER_ROUND)
    radius = max(point.radius, distances.max(initial=0.0) / 2)
    objective = point.lower + model.lam * (radius - point.radius)
    return replace(point, objective=objective, radius=radius), violated


def _report(model: Model, primal: Primal, dual: Dual, pairs: np.ndarray) -> dict:
    """Fields of a result without its certificate, in the user's units."""
    data = model.data
    return dict(
        **vars(primal.separator),
        alpha=data.copies.spread(dual.alpha),
        radius=float(primal.radius),
        pairs=np.sort(data.copies.first[pairs], axis=1),
        eta=np.pad(dual.eta, (0, len(pairs) - len(dual.eta))),
    )
