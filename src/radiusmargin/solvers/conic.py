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

from .result import Result

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
        self._linear = {name: np.zeros(size) for name, size in sizes.items()}
        self._quadratic = {name: np.zeros(size) for name, size in sizes.items()}
        self._blocks: list[tuple[str, sp.csr_array, np.ndarray, list]] = []

    def cost(self, linear: dict[str, float | np.ndarray] | None = None, quadratic: dict | None = None) -> None:
        """Set the cost: ``linear @ x + 1/2 x' diag(quadratic) x``, by variable."""
        for target, given in ((self._linear, linear), (self._quadratic, quadratic)):
            for name, coefficients in (given or {}).items():
                target[name] = np.broadcast_to(np.asarray(coefficients, float), self._sizes[name])

    def zero(self, name: str, terms: dict[str, Map], constant: float | np.ndarray = 0.0) -> None:
        """Ask ``terms + constant == 0``."""
        M, h = self._rows(terms, constant)
        self._blocks.append((name, M, h, [clarabel.ZeroConeT(h.size)]))

    def nonnegative(self, name: str, terms: dict[str, Map], constant: float | np.ndarray = 0.0) -> None:
        """Ask ``terms + constant >= 0``."""
        M, h = self._rows(terms, constant)
        self._blocks.append((name, M, h, [clarabel.NonnegativeConeT(h.size)]))

    def rotated(self, name: str, p: Affine, q: Affine, x: Affine) -> None:
        """Ask ``p_k q_k >= x_k^2, p_k >= 0, q_k >= 0`` for every k, as ``(p+q, p-q, 2x)`` in a Lorentz cone.

        The multipliers have three rows: those of p, of q and of x.
        """
        (P, p0), (Q, q0), (Z, z0) = (self._rows(*expression) for expression in (p, q, x))
        M, h = sp.vstack([P + Q, P - Q, 2.0 * Z]).tocsr(), np.concatenate([p0 + q0, p0 - q0, 2.0 * z0])
        interleaved = np.arange(h.size).reshape(3, -1).T.ravel()
        cones = [clarabel.SecondOrderConeT(3)] * z0.size
        self._blocks.append((name, M[interleaved], h[interleaved], cones))

    def solve(self, *, tol: float = 1e-10, max_iter: int = 200) -> ConicSolution:
        """Run Clarabel; raise `ConicSolverError` where it ends without a point worth looking at."""
        q = np.concatenate(list(self._linear.values()))
        P = sp.diags_array(np.concatenate(list(self._quadratic.values()))).tocsc()
        A = -sp.vstack([M for _, M, _, _ in self._blocks]).tocsc()
        h = np.concatenate([h for _, _, h, _ in self._blocks])
        cones = [cone for *_, cones in self._blocks for cone in cones]
        found = _run(clarabel.DefaultSolver(P, q, A, h, cones, _settings(tol, max_iter)))
        status, x = str(found.status), np.asarray(found.x)
        if status not in ACCEPTED or not np.isfinite(x).all():
            raise ConicSolverError(f"Clarabel stopped with status {status} after {found.iterations} iterations")
        values = dict(zip(self._sizes, np.split(x, np.cumsum(list(self._sizes.values()))[:-1]), strict=True))
        return ConicSolution(values, self._split(np.asarray(found.z)), status, found.iterations)

    def _rows(self, terms: dict[str, Map], constant: float | np.ndarray) -> tuple[sp.csr_array, np.ndarray]:
        """The rows ``M, h`` of an affine expression."""
        blocks = {name: _matrix(given, self._sizes[name]) for name, given in terms.items()}
        m = next(iter(blocks.values())).shape[0] if blocks else np.size(constant)
        empty = (sp.csr_array((m, size)) for size in self._sizes.values())
        M = sp.hstack([blocks.get(name, zero) for name, zero in zip(self._sizes, empty, strict=True)])
        return M.tocsr(), np.broadcast_to(np.asarray(constant, float), m)

    def _split(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """Multipliers by constraint; a rotated cone's are turned back into those of (p, q, x)."""
        multipliers, start = {}, 0
        for name, _, h, cones in self._blocks:
            part, start = z[start : start + h.size], start + h.size
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


def _matrix(given: Map, size: int) -> sp.csr_array:
    if sp.issparse(given):
        return given.tocsr()
    given = np.asarray(given, float)
    if given.ndim == 2:
        return sp.csr_array(given)
    return sp.diags_array(np.broadcast_to(given, size).copy()).tocsr()


def _settings(tol: float, max_iter: int) -> clarabel.DefaultSettings:
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.max_iter = max_iter
    settings.max_threads = 1
    # the simplicial LDL: as fast as the supernodal one on these problems, and reproducible
    settings.direct_solve_method = "qdldl"
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tol
    return settings
