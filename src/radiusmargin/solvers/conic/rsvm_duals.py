"""The duals of R-SVM+ and R-SVM_mu+ on a given set of pairs, and the points made of their solutions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..multipliers import balanced
from .margin import MarginData, Separator, best_intercept, gradient_program, scalings, weighted_norm
from .program import ConicProgram, ConicSolution
from .sifting import Sifting


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


class Model:
    """What both models share, in the coordinates Z: with ``a = 1/scale^2`` the user's problem is unchanged.

    A model knows its dual's penalty, its norm, and how to pose the dual with multipliers in some unit.
    """

    def __init__(self, data: MarginData, lam: float):
        self.data, self.Z, self.y, self.c, self.lam = data, data.Z, data.y, data.c, lam
        self.a = data.scale**-2

    def program(self, c: np.ndarray, sifting: Sifting, root: np.ndarray, m: int, **sizes: int) -> ConicProgram:
        """``g = root Z'(alpha y)``, alpha in its box, and ``eta / lam`` on the simplex."""
        program = gradient_program(self.data, root, sifting.free, sifting.held(c), eta=m, **sizes)
        program.nonnegative("box", {"alpha": -1.0}, c[sifting.free])
        program.nonnegative("eta", {"eta": 1.0})
        program.zero("r", {"eta": np.ones((1, m))}, -1.0)
        return program

    def dual(self, solution: ConicSolution, d2: np.ndarray, unit: float, c: np.ndarray, sifting: Sifting) -> Dual:
        """The solver's point, moved into the feasible set."""
        alpha = np.clip(sifting.whole(solution.values["alpha"], c), 0.0, c)
        alpha = unit * self.y * balanced(self.y * alpha, self.data.fit_intercept)
        eta = np.maximum(solution.values["eta"], 0.0)
        g, eta = self.data.gradient(alpha * self.y), eta * (self.lam / eta.sum())
        return Dual(alpha.sum() - self.penalty(g, eta @ d2) / 2, alpha, eta)

    def improved(self, dual: Dual, d2: np.ndarray) -> Dual:
        """A dual point that is no worse, for where the solver's is not good enough."""
        return dual

    def primal(self, w: np.ndarray, scaling: np.ndarray, d2: np.ndarray) -> Primal:
        """The point given by `w` and a scaling of the features, but for the radius of all pairs."""
        u = self.data.outputs(w)
        separator = self.data.user_units(w, best_intercept(u, self.y, self.c) if self.data.fit_intercept else 0.0)
        radius = (d2 @ scaling).max() / 2
        objective = self.norm(w, scaling) / 2 + self.lam * radius + self.data.loss(separator)
        return Primal(np.inf, objective, separator, scaling, radius)

    def next_norm(self, w: np.ndarray, d2: np.ndarray) -> np.ndarray | None:
        """A better norm for the rows to begin with, from the separator that one gave; None where the first is good enough."""
        return None

    def slack(self, point: Primal) -> np.ndarray:
        """How far each row is short of the margin."""
        return 1.0 - self.y * point.separator.outputs(self.data.X)


class MuPlus(Model):
    """R-SVM_mu+: the scaling is ``p_k = mu_k / a_k``, so that ``sum_k a_k p_k = 1``."""

    def ways(self) -> list[tuple[float, ...]]:
        """The common ways, with the cost in units of the radius term; then in units of the multipliers."""
        common = scalings(self.c, self.a.min())
        radius = self.lam / self.a.mean()
        return [(*way, max(way[0], radius)) for way in common] + [(*way, way[0]) for way in common]

    def first_norm(self, d2: np.ndarray) -> np.ndarray:
        """That of equal weights: of ``sum_k norm_k w_k^2``."""
        return self.a * len(self.a)

    def next_norm(self, w: np.ndarray, d2: np.ndarray) -> np.ndarray | None:
        """``1 / p`` for the best p with this w, pairs with equal multipliers, and the tau of no pairs at all."""
        if not w.any():
            return None
        size = np.abs(w) + 1e-4 * np.abs(w).max()  # none is given up
        p = size / np.sqrt(self.lam * d2.mean(axis=0) + self.a * (np.sqrt(self.a) @ size) ** 2)
        return (self.a @ p) / p

    def solve(
        self, d2: np.ndarray, c: np.ndarray, sifting: Sifting, max_iter: int, unit: float, guard: float, whole: float
    ) -> tuple[ConicSolution, np.ndarray, np.ndarray]:
        """``min -unit/whole sum(alpha) + tau/2``, ``unit^2/whole g_k^2 <= a_k tau + lam/whole q_k(eta)``.

        The costs are measured in `whole`, that of the radius term where it is all that counts, and each k in
        its own `size`.
        """
        d, size = self.Z.shape[1], self.a + self.lam / whole
        root = unit / np.sqrt(whole * size)
        program = self.program(c, sifting, root, len(d2), tau=1)
        program.cost(linear={"alpha": -(1.0 + guard) * unit / whole, "tau": 0.5})
        p = {"tau": (self.a / size)[:, None], "eta": d2.T * (self.lam / whole / size)[:, None]}
        program.rotated("p", (p, 0.0), ({}, np.ones(d)), ({"g": 1.0}, 0.0))
        solution = program.solve(max_iter=max_iter)
        p = np.maximum(solution.multipliers["p"][0], 0.0) / size
        return solution, -root * whole / unit * solution.multipliers["w"], p / (self.a @ p)

    def points(self, w: np.ndarray, p: np.ndarray, dual: Dual, d2: np.ndarray) -> list[Primal]:
        """The solver's w, and the one that belongs to alpha: ``w_k = p_k g_k``."""
        candidates = (w, p * self.data.gradient(dual.alpha * self.y))
        return [self.primal(np.where(p > 0.0, w, 0.0), p, d2) for w in candidates]

    def norm(self, w: np.ndarray, p: np.ndarray) -> float:
        return weighted_norm(w, p)

    def penalty(self, g: np.ndarray, q: np.ndarray) -> float:
        return ((g**2 - q) / self.a).max()

    def improved(self, dual: Dual, d2: np.ndarray) -> Dual:
        """Level the ``(g_k^2 - q_k(eta)) / a_k``, of which the dual counts the largest.

        A large feature has a small a_k, which makes much of a rounding error. A little more weight on the
        pair that is widest in that feature mends it and hardly moves the others; the level of each is tried.
        """
        g, eta = self.data.gradient(dual.alpha * self.y), dual.eta
        widest, reach = d2.argmax(axis=0), np.maximum(d2.max(axis=0), 1e-300)
        for _ in range(50):
            excess, found = g**2 - eta @ d2, [eta]
            for level in excess / self.a:
                added = np.bincount(widest, np.maximum(0.0, excess - self.a * level) / reach, len(eta))
                if added.sum() < self.lam:
                    found.append(eta * (1.0 - added.sum() / self.lam) + added)
            eta = min(found, key=lambda eta: self.penalty(g, eta @ d2))
            if eta is found[0]:
                break
        return Dual(dual.alpha.sum() - self.penalty(g, eta @ d2) / 2, dual.alpha, eta)


class Plus(Model):
    """R-SVM+: the scaling is ``w^2``."""

    def ways(self) -> list[tuple[float, float, float]]:
        return scalings(self.c, self.a.min() + self.lam)

    def first_norm(self, d2: np.ndarray) -> np.ndarray:
        """That of pairs with equal multipliers."""
        return self.a + self.lam * d2.mean(axis=0)

    def solve(
        self, d2: np.ndarray, c: np.ndarray, sifting: Sifting, max_iter: int, unit: float, guard: float
    ) -> tuple[ConicSolution, np.ndarray, None]:
        """``min -sum(alpha) + sum(t)/2``, ``t_k (a_k + lam q_k(eta)) >= unit g_k^2``, each k in its size."""
        size, d = self.a + self.lam, self.Z.shape[1]
        root = np.sqrt(unit / size)
        program = self.program(c, sifting, root, len(d2), t=d)
        program.cost(linear={"alpha": -1.0 - guard, "t": 0.5})
        metric = ({"eta": d2.T * (self.lam / size)[:, None]}, self.a / size)
        program.rotated("metric", ({"t": 1.0}, 0.0), metric, ({"g": 1.0}, 0.0))
        solution = program.solve(max_iter=max_iter)
        return solution, -root * solution.multipliers["w"], None

    def points(self, w: np.ndarray, _: None, dual: Dual, d2: np.ndarray) -> list[Primal]:
        """The solver's w, and the one that belongs to alpha and eta: ``w_k = g_k / (a_k + q_k)``."""
        candidates = (w, self.data.gradient(dual.alpha * self.y) / (self.a + dual.eta @ d2))
        return [self.primal(w, w**2, d2) for w in candidates]

    def norm(self, w: np.ndarray, scaling: np.ndarray) -> float:
        return (self.a * w) @ w

    def penalty(self, g: np.ndarray, q: np.ndarray) -> float:
        return (g**2 / (self.a + q)).sum()
