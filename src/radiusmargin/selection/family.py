"""The members of the family on one training set: every C, whitening and problem in one compiled call."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from ..geometry.tempered import NO_SPREAD, TemperedScatter
from ..solvers.hinge import HingeBatch, _solve

BLOCK = 1 << 20  # numbers that are formed at a time


@dataclass(frozen=True, eq=False)
class FamilyFit:
    """Separators for all members, in the user's units: `coef` (P, C, K, d), `intercept` (P, C, K).

    `batch` is what they were made of, where all come from one.
    """

    coef: np.ndarray
    intercept: np.ndarray
    batch: HingeBatch | None = None

    def at(self, chosen):
        """The same for some of the Cs, by a mask."""
        arrays = {f.name: getattr(self.batch, f.name) for f in fields(self.batch)}
        batch = {name: a if a is None else a[chosen] if name == "Cs" else a[:, chosen] for name, a in arrays.items()}
        return FamilyFit(self.coef[:, chosen], self.intercept[:, chosen], HingeBatch(**batch))


def blocks(n_members, numbers):
    """Slices of the members, few enough that `numbers` for each of them fit in the cache."""
    step = max(1, BLOCK // numbers)
    return [slice(start, start + step) for start in range(0, n_members, step)]


def fit_family(
    X, columns, weights, space: TemperedScatter, whitening, Cs, *, tol, fit_intercept=True, max_iter=1000, n_jobs=1,
    keep_alpha=False, gram=None,
):  # fmt: skip
    """Solve for every whitening exponent, column of labels and C on the rows X, in the range of the scatter."""
    if len(space.eigenvalues) == 0:
        raise ValueError(NO_SPREAD)
    rows = coordinates(space, X, fit_intercept)
    B = _regularizers(space, whitening)
    K = len(columns)
    problems = np.array([[0, k, p] for p in range(len(whitening)) for k in range(K)])
    batch = _solve(
        rows, np.ascontiguousarray(columns), weights, np.asarray(Cs, dtype=float), B=B, problems=problems,
        subsets=[np.arange(X.shape[0])], keep_alpha=keep_alpha, fit_intercept=fit_intercept, tol=tol,
        max_iter=max_iter, n_jobs=n_jobs, gram=gram,
    )  # fmt: skip
    coef, intercept = batch.coef, batch.intercept
    if not space.regular:
        flat, shift = space.lift(coef.reshape(-1, coef.shape[-1]), intercept.ravel(), centred=fit_intercept)
        coef, intercept = flat.reshape(*coef.shape[:2], -1), shift.reshape(intercept.shape)
    P, C = len(whitening), len(Cs)
    coef = coef.reshape(P, K, C, -1).transpose(0, 2, 1, 3)
    return FamilyFit(
        np.ascontiguousarray(coef), np.ascontiguousarray(intercept.reshape(P, K, C).transpose(0, 2, 1)), batch
    )


def coordinates(space, X, fit_intercept=True):
    """The rows that `regularizer` belongs to: X itself, or its coordinates in the range of a singular scatter."""
    return X if space.regular else space.project(X, centred=fit_intercept)


def _regularizers(space, powers):
    """`regularizer` for every power, as diagonals where all of them are."""
    found = [regularizer(space, p) for p in powers]
    if all(B.ndim == 1 for B in found):
        return np.stack(found)
    return np.stack([np.diag(B) if B.ndim == 1 else B for B in found])


def regularizer(space, p):
    """B = T / n in the units of `coordinates`; a vector where it is diagonal, which the solver is quicker with."""
    return space.matrix(p) / space.total if space.regular else space.eigenvalues**p
