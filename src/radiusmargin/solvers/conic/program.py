"""One thin adapter to the conic solver Clarabel: named variables in, named values and multipliers out."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeVar

import clarabel
import numpy as np
import scipy.sparse as sp

from ..result import Result

# A linear map of one variable: a multiple of the identity, a diagonal, or a matrix.
Map = float | np.ndarray | sp.sparray
# An affine expression: a map per variable, and a constant.
Affine = tuple[dict[str, Map], float | np.ndarray]

ACCEPTED = ("Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations")

R = TypeVar("R", bound=Result)


class ConicSolverError(RuntimeError):
    """The conic solver returned no usable point, however the problem was scaled."""


@dataclass(frozen=True, eq=False)
class ConicSolution:
    """Where Clarabel stopped.

    Attributes
    ----------
    values : dict of str to ndarray
        Primal values by variable.
    multipliers : dict of str to ndarray
        Multipliers by constraint, with the Lagrangian ``cost - sum_c <multiplier_c, expression_c>``.
    status : str
        Clarabel's own word; other than ``"Solved"`` is reduced accuracy, for the caller's gap to judge.
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
        """Entries of a multiple of the rows, in the places of three-dimensional cones."""
        return 3 * self.row + place, self.column, factor * self.value


class ConicProgram:
    """A quadratic cost over a product of cones, ``min 1/2 x'Px + q'x  s.t.  M x + h in K``.

    Parameters
    ----------
    **sizes : int
        The variables and their lengths.

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

    def cost(self, linear: dict[str, float | np.ndarray] | None = None, quadratic: dict | None = None) -> None:
        """Set the cost: ``linear @ x + 1/2 x' diag(quadratic) x``, by variable."""
        for target, given in ((self._linear, linear), (self._quadratic, quadratic)):
            for name, coefficients in (given or {}).items():
                target[name] = np.broadcast_to(np.asarray(coefficients, float), self._sizes[name])

    def zero(self, name: str, terms: dict[str, Map], constant: float | np.ndarray = 0.0) -> None:
        """Ask ``terms + constant == 0``."""
        rows = self._rows(terms, constant)
        self._blocks.append((name, rows, [clarabel.ZeroConeT(rows.h.size)]))

    def nonnegative(self, name: str, terms: dict[str, Map], constant: float | np.ndarray = 0.0) -> None:
        """Ask ``terms + constant >= 0``."""
        rows = self._rows(terms, constant)
        self._blocks.append((name, rows, [clarabel.NonnegativeConeT(rows.h.size)]))

    def rotated(self, name: str, p: Affine, q: Affine, x: Affine) -> None:
        """Ask ``p_k q_k >= x_k^2, p_k >= 0, q_k >= 0`` for every k, as ``(p+q, p-q, 2x)`` in a Lorentz cone.

        The multipliers have three rows: those of p, of q and of x.
        """
        p, q, x = (self._rows(*expression) for expression in (p, q, x))
        parts = [p.moved(0), q.moved(0), p.moved(1), q.moved(1, -1.0), x.moved(2, 2.0)]
        h = np.column_stack([p.h + q.h, p.h - q.h, 2.0 * x.h]).ravel()
        cones = [clarabel.SecondOrderConeT(3)] * x.h.size
        self._blocks.append((name, _Rows(*map(np.concatenate, zip(*parts, strict=True)), h), cones))

    def solve(self, *, tol: float = 1e-10, max_iter: int = 200) -> ConicSolution:
        """Run Clarabel; raise `ConicSolverError` where it ends without a point worth looking at."""
        q = np.concatenate(list(self._linear.values()))
        P = sp.diags_array(np.concatenate(list(self._quadratic.values()))).tocsc()
        h = np.concatenate([rows.h for _, rows, _ in self._blocks])
        A = -self._matrix(h.size, q.size)
        cones = [cone for *_, cones in self._blocks for cone in cones]
        # Refining every linear solve takes up to half of the time, and where the residuals come out right it was for nothing.
        for refined in (False, True):
            found = _run(clarabel.DefaultSolver(P, q, A, h, cones, _settings(tol, max_iter, refined)))
            if (status := str(found.status)) == "Solved":
                break
        x = np.asarray(found.x)
        if status not in ACCEPTED or not np.isfinite(x).all():
            raise ConicSolverError(f"Clarabel stopped with status {status} after {found.iterations} iterations")
        values = dict(zip(self._sizes, np.split(x, np.cumsum(list(self._sizes.values()))[:-1]), strict=True))
        return ConicSolution(values, self._split(np.asarray(found.z)), status, found.iterations)

    def _rows(self, terms: dict[str, Map], constant: float | np.ndarray) -> _Rows:
        """The rows ``M, h`` of an affine expression."""
        parts = [(np.zeros(0, int), np.zeros(0, int), np.zeros(0))]
        m = np.size(constant)
        for name, given in terms.items():
            m, row, column, value = _entries(given, self._sizes[name])
            parts.append((row, column + self._first[name], value))
        h = np.broadcast_to(np.asarray(constant, float), m)
        return _Rows(*map(np.concatenate, zip(*parts, strict=True)), h)

    def _matrix(self, n_rows: int, n_columns: int) -> sp.csc_array:
        """All rows below one another. Assembled from entries: stacking blocks took longer than solving small problems."""
        starts = np.cumsum([0, *(rows.h.size for _, rows, _ in self._blocks)])
        row = np.concatenate([rows.row + start for (_, rows, _), start in zip(self._blocks, starts, strict=False)])
        column = np.concatenate([rows.column for _, rows, _ in self._blocks])
        value = np.concatenate([rows.value for _, rows, _ in self._blocks])
        return sp.csc_array((value, (row, column)), shape=(n_rows, n_columns))

    def _split(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Multipliers by constraint; a rotated cone's are turned back into those of (p, q, x)."""
        multipliers, start = {}, 0
        for name, rows, cones in self._blocks:
            part, start = z[start : start + rows.h.size], start + rows.h.size
            if isinstance(cones[0], clarabel.SecondOrderConeT):
                u, v, x = part.reshape(-1, 3).T
                part = np.array([u + v, u - v, 2.0 * x])
            multipliers[name] = part
        return multipliers


def _run(solver: clarabel.DefaultSolver) -> clarabel.DefaultSolution:
    """Solve; Ctrl-C ends it after the iteration that it comes into.

    Python would hear of the signal only after the last one: Clarabel swallows what is raised in its callback, so that the
    signal has to be kept until it has returned.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(
        handler
    ):  # signals reach that one only
        return solver.solve()
    caught: list[tuple] = []
    signal.signal(signal.SIGINT, lambda *event: caught.append(event))
    try:
        solver.set_termination_callback(lambda info: bool(caught))
        found = solver.solve()
    finally:
        signal.signal(signal.SIGINT, handler)
    if caught:
        handler(*caught[0])
    return found


def best_of(attempts: Iterable[Callable[[], R]]) -> R:
    """Run differently scaled attempts until one reaches its gap; else return the one with the smallest gap.

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
    """The number of rows of a map, and its entries other than zero: row, column and value."""
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
