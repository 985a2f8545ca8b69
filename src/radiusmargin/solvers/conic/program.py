"""Adapter to the conic solver Clarabel with named variables and constraints, and what the conic models share.

In order: the program and its solution, then data and results of soft-margin models: rows in good units, points that are made
exactly feasible, and the scalings that are tried.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeAlias, TypeVar

import clarabel
import numpy as np
import scipy.sparse as sp

from ..._checks import check_positive, check_weights
from ..result import Result

# A linear map of one variable: a multiple of the identity, a diagonal, or a (sparse) matrix.
Map: TypeAlias = Any
# An affine expression: a map per variable, and a constant.
Affine: TypeAlias = tuple[dict[str, Map], float | np.ndarray]

ACCEPTED = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations")

R = TypeVar("R", bound=Result)


class ConicSolverError(RuntimeError):
    """The conic solver returned no usable point, however the problem was scaled."""


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """Last point of Clarabel.

    Attributes
    ----------
    values : dict of str to ndarray
        Primal values by variable.
    multipliers : dict of str to ndarray
        Multipliers by constraint, with the Lagrangian ``cost - sum_c <multiplier_c, expression_c>``.
    status : str
        Clarabel's status. Anything but ``"Solved"`` means reduced accuracy, which the caller's gap measures.
    n_iter : int
        Interior-point iterations.
    """

    values: dict[str, np.ndarray]
    multipliers: dict[str, np.ndarray]
    status: str
    n_iter: int


@dataclass(frozen=True, eq=False)
class _Rows:
    """Rows ``M x + h``: the entries of M by row, column and value, and h."""

    row: np.ndarray
    column: np.ndarray
    value: np.ndarray
    h: np.ndarray

    def moved(self, place: int, factor: float = 1.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Entries of a multiple of the rows, as component `place` of three-dimensional cones."""
        return 3 * self.row + place, self.column, factor * self.value


class ConicProgram:
    """A quadratic cost over a product of cones, ``min 1/2 x'Px + q'x  s.t.  M x + h in K``.

    Parameters
    ----------
    **sizes : int
        Names of the variables and their lengths.

    Examples
    --------
    The point of the half plane ``u + v >= 2`` that is nearest to the origin:

    >>> program = ConicProgram(u=1, v=1)
    >>> program.cost(quadratic={"u": 1.0, "v": 1.0})
    >>> program.nonnegative("half plane", {"u": 1.0, "v": 1.0}, -2.0)
    >>> solution = program.solve()
    >>> solution.values["u"].round(6), solution.multipliers["half plane"].round(6)
    (array([1.]), array([1.]))
    """

    def __init__(self, **sizes: int):
        self._sizes = sizes
        self._first = dict(zip(sizes, np.cumsum([0, *sizes.values()]).tolist(), strict=False))  # their columns
        self._linear = {name: np.zeros(size) for name, size in sizes.items()}
        self._quadratic = {name: np.zeros(size) for name, size in sizes.items()}
        self._blocks: list[tuple[str, _Rows, list]] = []

    def cost(self, linear: dict[str, Any] | None = None, quadratic: dict[str, Any] | None = None) -> None:
        """Set the cost: ``linear @ x + 1/2 x' diag(quadratic) x``, by variable."""
        for target, given in ((self._linear, linear), (self._quadratic, quadratic)):
            for name, coefficients in (given or {}).items():
                target[name] = np.broadcast_to(np.asarray(coefficients, float), self._sizes[name])

    def zero(self, name: str, terms: dict[str, Map], constant: float | np.ndarray = 0.0) -> None:
        """Add the constraint ``terms + constant == 0``."""
        rows = self._rows(terms, constant)
        self._blocks.append((name, rows, [clarabel.ZeroConeT(rows.h.size)]))

    def nonnegative(self, name: str, terms: dict[str, Map], constant: float | np.ndarray = 0.0) -> None:
        """Add the constraint ``terms + constant >= 0``."""
        rows = self._rows(terms, constant)
        self._blocks.append((name, rows, [clarabel.NonnegativeConeT(rows.h.size)]))

    def rotated(self, name: str, p: Affine, q: Affine, x: Affine) -> None:
        """Add ``p_k q_k >= x_k^2, p_k >= 0, q_k >= 0`` for every k, as ``(p+q, p-q, 2x)`` in a second-order cone.

        The multipliers have three rows: those of p, of q and of x.
        """
        P, Q, X = (self._rows(*expression) for expression in (p, q, x))
        parts = [P.moved(0), Q.moved(0), P.moved(1), Q.moved(1, -1.0), X.moved(2, 2.0)]
        h = np.column_stack([P.h + Q.h, P.h - Q.h, 2.0 * X.h]).ravel()
        self._blocks.append((name, _stacked(parts, h), [clarabel.SecondOrderConeT(3)] * X.h.size))

    def solve(self, *, tol: float = 1e-10, max_iter: int = 200) -> ConicSolution:
        """Run Clarabel; raise a `ConicSolverError` if it ends without a usable point."""
        q = np.concatenate(list(self._linear.values()))
        P = sp.diags_array(np.concatenate(list(self._quadratic.values()))).tocsc()
        h = np.concatenate([rows.h for _, rows, _ in self._blocks])
        A = -self._matrix(h.size, q.size)
        cones = [cone for *_, cones in self._blocks for cone in cones]
        # Iterative refinement takes up to half of the time, and is only needed where the residuals are too large without it.
        for refined in (False, True):
            last = _run(clarabel.DefaultSolver(P, q, A, h, cones, _settings(tol, max_iter, refined)))
            if (status := str(last.status)) == "Solved":
                break
        x = np.asarray(last.x)
        if status not in ACCEPTED or not np.isfinite(x).all():
            raise ConicSolverError(f"Clarabel stopped with status {status} after {last.iterations} iterations")
        values = dict(zip(self._sizes, np.split(x, np.cumsum(list(self._sizes.values()))[:-1]), strict=True))
        return ConicSolution(values, self._split(np.asarray(last.z)), status, last.iterations)

    def _rows(self, terms: dict[str, Map], constant: float | np.ndarray) -> _Rows:
        """Rows ``M, h`` of an affine expression."""
        parts = [(np.zeros(0, int), np.zeros(0, int), np.zeros(0))]
        m = np.size(constant)
        for name, given in terms.items():
            m, row, column, value = _entries(given, self._sizes[name])
            parts.append((row, column + self._first[name], value))
        return _stacked(parts, np.broadcast_to(np.asarray(constant, float), m))

    def _matrix(self, n_rows: int, n_columns: int) -> sp.csc_array:
        """Stack all rows. Assembled from entries, since stacking blocks took longer than solving small problems."""
        starts = np.cumsum([0, *(rows.h.size for _, rows, _ in self._blocks)])
        row = np.concatenate([rows.row + start for (_, rows, _), start in zip(self._blocks, starts, strict=False)])
        column = np.concatenate([rows.column for _, rows, _ in self._blocks])
        value = np.concatenate([rows.value for _, rows, _ in self._blocks])
        return sp.csc_array((value, (row, column)), shape=(n_rows, n_columns))

    def _split(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Multipliers by constraint; those of a rotated cone are converted to those of (p, q, x)."""
        multipliers: dict[str, np.ndarray] = {}
        start = 0
        for name, rows, cones in self._blocks:
            part, start = z[start : start + rows.h.size], start + rows.h.size
            if isinstance(cones[0], clarabel.SecondOrderConeT):
                u, v, x = part.reshape(-1, 3).T
                part = np.array([u + v, u - v, 2.0 * x])
            multipliers[name] = part
        return multipliers


def _stacked(parts: list, h: np.ndarray) -> _Rows:
    """Join (row, column, value) entries."""
    row, column, value = (np.concatenate(entries) for entries in zip(*parts, strict=True))
    return _Rows(row, column, value, h)


def _run(solver: clarabel.DefaultSolver) -> clarabel.DefaultSolution:
    """Solve; Ctrl-C ends it after the current iteration.

    Clarabel drops exceptions that are raised in its callback, so that the signal is kept until it has returned.
    """
    handler = signal.getsignal(signal.SIGINT)
    # Signals reach the main thread only.
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        return solver.solve()
    caught: list[tuple] = []
    signal.signal(signal.SIGINT, lambda *event: caught.append(event))
    try:
        solver.set_termination_callback(lambda info: bool(caught))
        solution = solver.solve()
    finally:
        signal.signal(signal.SIGINT, handler)
    if caught:
        handler(*caught[0])
    return solution


def best_of(attempts: Iterable[Callable[[], R]]) -> R:
    """Run differently scaled attempts until one converges; otherwise return the result of the smallest gap.

    Raises
    ------
    ConicSolverError
        If every attempt failed.
    """
    best, failures = None, []
    for attempt in attempts:
        try:
            result = attempt()
        except ConicSolverError as failure:
            failures.append(str(failure))
            continue
        if best is None or result.gap < best.gap:
            best = result
        if best.converged:
            return best
    if best is None:
        raise ConicSolverError(f"no scaling of the problem was solved: {'; '.join(failures)}")
    return best


def _entries(given: Map, size: int) -> tuple[int, np.ndarray, np.ndarray, np.ndarray]:
    """Number of rows of a map, and its non-zero entries: row, column and value."""
    if sp.issparse(given):
        given = given.tocoo()
        return given.shape[0], given.row, given.col, given.data
    given = np.asarray(given, float)
    if given.ndim == 2:
        row, column = np.nonzero(given)
        return len(given), row, column, given[row, column]
    kept = np.flatnonzero(given) if given.ndim else np.arange(size)
    return size, kept, kept, np.broadcast_to(given, size)[kept]


def _settings(tol: float, max_iter: int, refined: bool) -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = max_iter
    settings.max_threads = 1
    # the simplicial LDL: as fast as the supernodal one on these problems, and reproducible
    settings.direct_solve_method = "qdldl"
    settings.iterative_refinement_enable = refined
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    return settings


# -- Soft-margin models: rows in good units, and feasible points ------------------------------------------------------


SMALLEST = 1e-100  # smallest size of a feature: squares of a smaller one, and of products with it, underflow


@dataclass(frozen=True, eq=False, kw_only=True)
class MarginResult(Result):
    """Solution of a soft-margin problem.

    Attributes
    ----------
    coef : ndarray of shape (d,)
        The separator ``w``, in the user's units.
    intercept : float
        The offset ``b``.
    alpha : ndarray of shape (n,)
        Multipliers of the margin constraints, dual feasible; zero for rows of weight zero.
    """

    coef: np.ndarray
    intercept: float
    alpha: np.ndarray = field(repr=False)


@dataclass(frozen=True, eq=False)
class Copies:
    """Map between the user's n rows and the m distinct ones.

    Attributes
    ----------
    first : ndarray of shape (m,)
        First row of the user that equals each distinct row.
    group, share : ndarrays of shape (n,)
        Distinct row that each row of the user equals, and its share of the cost.
    """

    first: np.ndarray
    group: np.ndarray
    share: np.ndarray

    def spread(self, values: np.ndarray) -> np.ndarray:
        """Multipliers of the user's rows: that of a distinct row is shared among its copies."""
        return values[self.group] * self.share

    def where(self, chosen: np.ndarray) -> np.ndarray:
        """Indices of the user's rows, for a mask of the distinct ones."""
        return np.flatnonzero(chosen[self.group] & (self.share > 0.0))


@dataclass(frozen=True, eq=False)
class MarginData:
    """Distinct rows of positive weight, each feature mapped to [-1, 1]: ``X = (Z + offset) * scale + centre``.

    Attributes
    ----------
    X : ndarray of shape (m, d)
        Rows in the user's units.
    Z : ndarray of shape (m, d)
        Scaled rows, in an order that does not depend on the user's.
    y : ndarray of shape (m,)
        Their labels, -1 or +1.
    c : ndarray of shape (m,)
        Their costs ``C * sample_weight``, summed over the copies of a row.
    scale : ndarray of shape (d,)
        Half range of each feature, or the modulus of a constant one.
    middle : ndarray of shape (d,)
        The midrange. An intercept absorbs it (`centre`); without one it is part of the rows (`offset`).
    copies : Copies
        Map to the user's rows.
    fit_intercept : bool
        True if ``b`` is free, so that the dual is balanced (``y @ alpha == 0``).
    """

    X: np.ndarray
    Z: np.ndarray
    y: np.ndarray
    c: np.ndarray
    scale: np.ndarray
    middle: np.ndarray
    copies: Copies
    fit_intercept: bool

    @cached_property
    def centre(self) -> np.ndarray:
        return self.middle if self.fit_intercept else np.zeros_like(self.middle)

    @cached_property
    def offset(self) -> np.ndarray:
        return np.zeros_like(self.middle) if self.fit_intercept else self.middle / self.scale

    def outputs(self, w: np.ndarray) -> np.ndarray:
        """``(Z + offset) w``, the outputs without b."""
        return self.Z @ w + self.offset @ w

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """``(Z + offset)' theta``."""
        return self.Z.T @ theta + self.offset * theta.sum()

    def user_units(self, w: np.ndarray, b: float) -> Separator:
        """Map a separator of ``Z + offset`` to the user's units."""
        coef = w / self.scale
        return Separator(coef, float(b - coef @ self.centre))

    def loss(self, separator: Separator, power: int = 1) -> float:
        """Weighted hinge loss of the separator as it is returned, with the rounding of the user's units."""
        return float(self.c @ np.maximum(0.0, 1.0 - self.y * separator.outputs(self.X)) ** power)


@dataclass(frozen=True, eq=False)
class Separator:
    """``coef`` and ``intercept``, in the user's units."""

    coef: np.ndarray
    intercept: float

    def outputs(self, X: np.ndarray) -> np.ndarray:
        return X @ self.coef + self.intercept


def prepare(
    X: np.ndarray, y: np.ndarray, C: float, sample_weight: np.ndarray | None, fit_intercept: bool
) -> MarginData:
    """Drop the rows of weight zero, merge equal ones, and scale the features to [-1, 1].

    Merging makes a weight and that many copies the same problem to the last bit, in any order of the rows.

    >>> data = prepare([[0.0], [9.0], [4.0], [0.0]], [-1, 1, 1, -1], 2.0, [1.0, 0.0, 3.0, 4.0], True)
    >>> data.Z.ravel(), data.c, data.scale, data.centre
    (array([ 1., -1.]), array([ 6., 10.]), array([2.]), array([2.]))
    >>> data.copies.spread(np.array([1.0, 5.0]))
    array([1., 0., 1., 4.])
    """
    X, y = np.asarray(X, float), np.asarray(y, float)
    check_positive("C", C)
    weight = check_weights(sample_weight, len(y))
    kept = np.flatnonzero(weight > 0.0)
    first, member = _distinct(X[kept], y[kept])
    rows, group, total = kept[first], np.zeros(len(weight), dtype=int), np.bincount(member, weight[kept])
    group[kept] = member
    share = weight / total[group]
    X, y, c = X[rows], y[rows], C * total
    half, middle = np.ptp(X, axis=0) / 2, X.min(axis=0) + np.ptp(X, axis=0) / 2
    scale = np.where(half > 0.0, half, np.where(middle != 0.0, np.abs(middle), 1.0))
    if scale.max() > 1 / SMALLEST or scale.min() < SMALLEST:
        raise ValueError(
            f"X must have features between {SMALLEST:g} and {1 / SMALLEST:g} in size, got {scale.min():g} to "
            f"{scale.max():g}; rescale its columns"
        )
    return MarginData(X, (X - middle) / scale, y, c, scale, middle, Copies(rows, group, share), fit_intercept)


def _distinct(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """First index of each distinct labelled row, and the distinct row of each row, in order of bytes."""
    table = np.column_stack([y, X]) + 0.0  # turns negative zeros, which have other bytes, into positive ones
    _, first, member = np.unique(table.view(f"V{table[0].nbytes}").ravel(), return_index=True, return_inverse=True)
    return first, member


def gradient_program(
    data: MarginData,
    root: np.ndarray,
    free: slice | np.ndarray = slice(None),
    fixed: float | np.ndarray = 0.0,
    **sizes: int,
) -> ConicProgram:
    """Program with the constraints common to the duals: ``alpha >= 0``, balanced, ``g = root * sum_i alpha_i y_i (Z_i + offset)``.

    Only the multipliers of the `free` rows are variables; those of the others are `fixed`. The multiplier of "w" is
    ``-w / root``. Without an intercept, rows far from the origin would make the matrix ill-conditioned. Their common offset
    therefore enters by one more variable, ``y'alpha``.
    """
    y, Z, length = data.y[free], data.Z[free], max(1.0, np.abs(data.offset).max())
    theta = fixed * data.y
    common = {} if data.fit_intercept else {"common": 1}
    program = ConicProgram(alpha=len(y), g=len(root), **common, **sizes)
    shift = {name: (root * data.offset / length)[:, None] for name in common}
    program.zero("w", {"g": -1.0, "alpha": (Z * root * y[:, None]).T} | shift, root * (data.Z.T @ theta))
    program.zero("b", {"alpha": length * y[None, :]} | dict.fromkeys(common, -1.0), length * theta.sum())
    program.nonnegative("alpha", {"alpha": 1.0})
    return program


def weighted_norm(w: np.ndarray, mu: np.ndarray) -> float:
    """``sum_k w_k^2 / mu_k``, where ``0 / 0 = 0``; infinite if a feature of weight zero is used."""
    if np.any(w[mu == 0.0]):
        return np.inf
    return float(np.divide(w**2, mu, out=np.zeros_like(w), where=mu > 0.0).sum())


def best_intercept(u: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """Minimise ``sum_i c_i hinge(y_i (u_i + b))`` over b; the middle if the minimisers are an interval.

    The slope in b starts at ``-sum_{y=+1} c_i`` and grows by ``c_i`` at each kink ``b = y_i - u_i``.

    >>> best_intercept(np.array([-1.0, 2.0, 3.0]), np.array([-1.0, 1.0, 1.0]), np.ones(3))
    -0.5
    """
    kinks = y - u
    order = np.argsort(kinks)
    kinks, slope = kinks[order], np.cumsum(c[order])
    level, slack = c[y > 0].sum(), 1e-12 * slope[-1]
    left = min(np.searchsorted(slope, level - slack), kinks.size - 1)
    right = min(np.searchsorted(slope, level + slack, side="right"), kinks.size - 1)
    if level <= slack:  # no positive row: everything left of the first kink is optimal
        return float(kinks[0])
    return float(kinks[left] + kinks[right]) / 2


def scalings(c: np.ndarray, stiffness: float) -> list[tuple[float, float, float]]:
    """Settings of a dual, to be tried in turn: (unit of the multipliers, cap of the costs, guard of the margins).

    Multipliers are of the size of the costs if the classes overlap, and of the `stiffness` of the norm if they do not
    (``1/sigma^2`` for ``1/2 |w|^2`` and rows of size sigma). The last setting is for separable data with costs so large that
    rounding errors of a zero loss would exceed the norm. There the costs are capped (points in a smaller box are still dual
    feasible), and margins of ``1 + guard`` are required, so that the loss of the solution is exactly zero.
    """
    units = sorted([c.mean(), stiffness])
    return [(unit, np.inf, 0.0) for unit in units] + [(stiffness, 1e3, 1e-8)]
