"""Queries about a separator that a pass evaluates on every chunk, and their answers.

`NearMarginQuery` returns the rows near the margin, and the means of all others in bins of their distance from it. Replacing
rows by their mean never increases the loss (Jensen's inequality), so the reduced problem of near rows and means is a lower
bound of the full one, for any separator. `NewtonQuery` returns gradient and curvature of the augmented Lagrangian, the method
of `solvers.reference`, for problems with too many rows near the margin to be sent. `QueryPass` evaluates several queries at
once. `SampledRows` answers the same queries from the sample that the driver holds in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from . import heuristics
from .first_pass import DataSummary, names_of
from .sources import Chunk

GROUPS = 4 * (heuristics.BINS + 1)  # sides of the margin x labels x bins; the first bin is within the width


@dataclass(frozen=True, eq=False)
class Query(ABC):
    """A separator in the user's units, and the labels and costs of its problem.

    Parameters
    ----------
    coef : ndarray of shape (d,)
    intercept : float
    signs, costs : ndarrays of shape (n_classes,)
        As in `ChunkedProblem`.
    """

    coef: np.ndarray
    intercept: float
    signs: np.ndarray
    costs: np.ndarray

    @abstractmethod
    def accumulator(self) -> Any:
        """Return an object whose ``add(rows)`` takes blocks and whose ``answer(n_rows)`` returns their answer."""


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Rows of the classes of a problem, with labels y, costs c and slacks z = 1 - y (w'x + b)."""

    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    z: np.ndarray

    @classmethod
    def of(cls, block, query, scores):
        """Select the rows of a block that take part in the problem of a query."""
        X, y, c = block.X, query.signs[block.codes], block.weight * query.costs[block.codes]
        if not y.all():
            part = np.flatnonzero(y)
            X, y, c, scores = X[part], y[part], c[part], scores[part]
        return cls(X, y, c, 1.0 - y * scores)

    @property
    def loss(self):
        return float(self.c @ np.maximum(self.z, 0.0))


@dataclass(frozen=True, eq=False)
class NearMarginQuery(Query):
    """Query for the rows within `width` of the margin, at most a fraction `share` of a chunk, and the means of the others."""

    width: float = 1.0
    share: float = 1.0

    def accumulator(self) -> _NearMarginAccumulator:
        return _NearMarginAccumulator(self)

    def groups(self, rows) -> np.ndarray:
        """Bin index of each row: bins double in width, on both sides of the margin and for both labels."""
        exponent = np.frexp(np.abs(rows.z) / self.width)[1]
        side = (rows.z > 0) + 2 * (rows.y > 0)
        return np.clip(exponent, 0, heuristics.BINS) + (heuristics.BINS + 1) * side


class _NearMarginAccumulator:
    """Accumulate the answer to a `NearMarginQuery` block by block."""

    def __init__(self, query):
        self.query, self.loss, self.near = query, 0.0, []
        self.totals, self.sums = np.zeros(GROUPS), np.zeros((GROUPS, len(query.coef)))

    def add(self, rows):
        self.loss += rows.loss
        group, distance = self.query.groups(rows), np.abs(rows.z)
        inside = np.flatnonzero(distance <= self.query.width)
        self.near.append(Near(rows.X[inside], rows.y[inside], rows.c[inside], distance[inside], group[inside]))
        far = rows.c.copy()
        far[inside] = 0.0
        self._add_up(rows.X, far, group)

    def answer(self, n_rows) -> NearMarginAnswer:
        near = Near.joined(self.near, len(self.query.coef))
        near, others = near.split(int(np.ceil(self.query.share * n_rows)) + heuristics.MIN_CHUNK_ROWS)
        self._add_up(others.X, others.c, others.group)
        return NearMarginAnswer(self.loss, self.totals, self.sums, (near,))

    def _add_up(self, X, c, group):
        # The product with a matrix of one entry per column is the quickest way to sum rows by group.
        pick = sparse.csc_array((c, group, np.arange(len(c) + 1)), shape=(GROUPS, len(c)))
        self.sums += pick @ X
        self.totals += np.bincount(group, c, minlength=GROUPS)


@dataclass(frozen=True, eq=False)
class Near:
    """Rows near the margin: labels, costs, distances from it, and the group that each would be averaged in."""

    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    distance: np.ndarray
    group: np.ndarray

    @classmethod
    def joined(cls, parts, d) -> Near:
        if not parts:
            none = np.empty(0)
            return cls(np.empty((0, d)), none, none, none, np.empty(0, dtype=int))
        names = ("X", "y", "c", "distance", "group")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def split(self, most) -> tuple[Near, Near]:
        """Split into the nearest rows, at most `most`, and the others."""
        order = np.arange(len(self.c))
        if len(order) > most:
            order = np.argsort(self.distance, kind="stable")
        return self._part(np.sort(order[:most])), self._part(np.sort(order[most:]))

    def _part(self, rows):
        return Near(self.X[rows], self.y[rows], self.c[rows], self.distance[rows], self.group[rows])


@dataclass(frozen=True, eq=False)
class NearMarginAnswer:
    """Answer to a `NearMarginQuery`: loss of all rows, total costs and weighted sums of each group, and the near rows."""

    loss: float
    totals: np.ndarray
    sums: np.ndarray
    near: tuple[Near, ...]

    def merged(self, other: NearMarginAnswer) -> NearMarginAnswer:
        """Combine with the answer of later chunks."""
        return NearMarginAnswer(
            self.loss + other.loss, self.totals + other.totals, self.sums + other.sums, self.near + other.near
        )

    def reduced(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(rows, labels, costs) of the reduced problem: near rows, and the means of the groups."""
        filled = self.totals > 0
        means = self.sums[filled] / self.totals[filled, None]
        y = np.repeat([-1.0, -1.0, 1.0, 1.0], heuristics.BINS + 1)[filled]
        return (
            np.concatenate([*(part.X for part in self.near), means]),
            np.concatenate([*(part.y for part in self.near), y]),
            np.concatenate([*(part.c for part in self.near), self.totals[filled]]),
        )

    @property
    def near_rows(self) -> int:
        """Number of rows near the margin."""
        return sum(len(part.c) for part in self.near)


@dataclass(frozen=True)
class Reference:
    """Separator and penalty at which the multipliers were updated from a to ``clip(a + penalty z, 0, 1)``.

    Replaying all references gives the multiplier of any row, so that none has to be stored.
    """

    coef: np.ndarray
    intercept: float
    penalty: float


@dataclass(frozen=True, eq=False)
class NewtonQuery(Query):
    """Query for gradient and curvature of the augmented Lagrangian, whose multipliers are ``c clip(a + penalty z, 0, 1)``.

    The a follow from the references. The curvature is that of rows minus `shift` (0 or an array), which avoids cancellation.
    `step` holds the last changes of coef and intercept. The answer then also has the slopes of the loss along that step, by
    which it can be shortened.
    """

    penalty: float = 1.0
    references: tuple[Reference, ...] = ()
    shift: np.ndarray | float = 0.0
    step: tuple[np.ndarray, float] | None = None

    def accumulator(self) -> _NewtonAccumulator:
        return _NewtonAccumulator(self)

    def reference(self, rows) -> np.ndarray:
        """Current multipliers of rows, as fractions of their costs."""
        a = np.full(len(rows.y), 0.5)
        for at in self.references:
            a = np.clip(a + at.penalty * (1.0 - rows.y * (rows.X @ at.coef + at.intercept)), 0.0, 1.0)
        return a

    def slopes(self, rows, reference) -> np.ndarray:
        """Slopes of the loss along the step, at `STEP_FRACTIONS` of it."""
        if self.step is None:
            return np.zeros(len(heuristics.STEP_FRACTIONS))
        dz = -rows.y * (rows.X @ self.step[0] + self.step[1])
        trials = (
            np.clip(reference + self.penalty * (rows.z - (1.0 - t) * dz), 0.0, 1.0) for t in heuristics.STEP_FRACTIONS
        )
        return np.array([rows.c @ (a * dz) for a in trials])


class _NewtonAccumulator:
    """Accumulate the answer to a `NewtonQuery` block by block."""

    def __init__(self, query):
        d = len(query.coef)
        self.query, self.loss, self.slack, self.near_rows = query, 0.0, 0.0, 0
        self.totals, self.sums, self.gram = np.zeros(2), np.zeros((2, d)), np.zeros((d + 1, d + 1))
        self.slopes = np.zeros(len(heuristics.STEP_FRACTIONS))

    def add(self, rows):
        self.loss += rows.loss
        reference = self.query.reference(rows)
        a = np.clip(reference + self.query.penalty * rows.z, 0.0, 1.0)
        self.slopes += self.query.slopes(rows, reference)
        self.slack += float(rows.c @ (np.maximum(rows.z, 0.0) - a * rows.z))
        sides = rows.c * a * np.stack([rows.y > 0, rows.y < 0])
        self.totals += sides.sum(axis=1)
        self.sums += sides @ rows.X
        band = np.flatnonzero((a > 0.0) & (a < 1.0))
        self.near_rows += len(band)
        A = np.column_stack([rows.X[band] - self.query.shift, np.ones(len(band))])
        self.gram += (A.T * (self.query.penalty * rows.c[band])) @ A

    def answer(self, n_rows) -> NewtonAnswer:
        return NewtonAnswer(self.loss, self.slack, self.totals, self.sums, self.gram, self.slopes, self.near_rows)


@dataclass(frozen=True, eq=False)
class NewtonAnswer:
    """Answer to a `NewtonQuery`: loss, sums of the multipliers and of the rows weighted by them, and curvature.

    The sums are those of the labels +1 and -1, in this order. `loss` is the hinge loss. `slack` is ``sum c max(0, z) - alpha z``,
    the gap at the optimum of the augmented Lagrangian. `gram` is the curvature in (w, b) for rows minus the query's shift,
    `slopes` are those of the loss along its step.
    """

    loss: float
    slack: float
    totals: np.ndarray
    sums: np.ndarray
    gram: np.ndarray
    slopes: np.ndarray
    near_rows: int

    def merged(self, other: NewtonAnswer) -> NewtonAnswer:
        """Combine with the answer of later chunks."""
        return NewtonAnswer(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))


@dataclass(frozen=True, eq=False)
class QueryPass:
    """Task of a pass: answer every query from a chunk.

    Parameters
    ----------
    queries : tuple of NearMarginQuery and NewtonQuery
    classes : ndarray
    """

    queries: tuple[Query, ...]
    classes: np.ndarray

    def __call__(self, chunk: Chunk) -> Answers:
        names, fingerprint = names_of(self.classes), 0
        coef = np.array([query.coef for query in self.queries])
        intercept = np.array([query.intercept for query in self.queries])
        accumulators = [query.accumulator() for query in self.queries]
        low, high = np.full(len(coef), np.inf), np.full(len(coef), -np.inf)
        for block in chunk.blocks(self.classes):
            fingerprint = (fingerprint + block.fingerprint(names)) % 2**64
            scores = block.X @ coef.T + intercept
            low, high = np.minimum(low, scores.min(axis=0)), np.maximum(high, scores.max(axis=0))
            for accumulator, column in zip(accumulators, scores.T, strict=True):
                accumulator.add(LabelledRows.of(block, accumulator.query, column))
        return Answers(tuple(a.answer(len(chunk.y)) for a in accumulators), {chunk.index: fingerprint}, low, high)


@dataclass(frozen=True, eq=False)
class Answers:
    """One answer per query, the fingerprints of the chunks, and the smallest and largest score per query over all rows."""

    answers: tuple
    fingerprints: dict
    low: np.ndarray
    high: np.ndarray

    def merged(self, other: Answers) -> Answers:
        """Combine with the answers of later chunks."""
        return replace(
            self,
            answers=tuple(a.merged(b) for a, b in zip(self.answers, other.answers, strict=True)),
            fingerprints=self.fingerprints | other.fingerprints,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
        )


# -- The sample in the driver's memory --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Sampled rows of a problem.

    Attributes
    ----------
    X : ndarray of shape (m, d)
        In the user's units.
    y, c : ndarrays of shape (m,)
        Labels, and costs scaled up to those of all rows.
    counts : ndarray of shape (m,)
        Number of rows that each represents.
    codes : ndarray of shape (m,)
        Class index of each row.
    complete : bool
        True if the sample holds all rows.
    """

    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    counts: np.ndarray
    codes: np.ndarray
    complete: bool

    @classmethod
    def of(cls, signs: np.ndarray, summary: DataSummary) -> SampledRows:
        """Collect the sample of the classes whose sign is not 0; costs are the weights of the rows."""
        parts, complete = [], True
        for code, (moments, sample) in enumerate(zip(summary.moments(), summary.samples(), strict=True)):
            if signs[code] == 0:
                continue
            # Scaled by weight, not by count: each class then has its exact weight in the sample's problem.
            weight = sample.weight * (moments.total / sample.weight.sum())
            counts = np.full(len(sample), moments.rows / len(sample))
            order = np.argsort(sample.keys, kind="stable")
            label, codes = np.full(len(sample), signs[code]), np.full(len(sample), code, dtype=np.int32)
            parts.append((sample.X[order], label, weight[order], counts, codes))
            complete &= len(sample) == moments.rows
        X, y, c, counts, codes = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return cls(X, y, c, counts, codes, complete)

    def priced(self, costs: np.ndarray) -> SampledRows:
        """Multiply the costs by those of the classes."""
        return replace(self, c=self.c * costs[self.codes])

    def half(self, i) -> SampledRows:
        """Every other row: a random half, since the rows of a class are sorted by random keys."""
        rows = slice(i, None, 2)
        parts = self.X[rows], self.y[rows], 2 * self.c[rows], 2 * self.counts[rows], self.codes[rows]
        return SampledRows(*parts, complete=False)

    def answer(self, query: Query):
        """Answer a query from these rows."""
        accumulator = query.accumulator()
        accumulator.add(LabelledRows(self.X, self.y, self.c, self.slacks(query.coef, query.intercept)))
        return accumulator.answer(len(self.y))

    def slacks(self, coef, intercept) -> np.ndarray:
        """Slacks z = 1 - y (w'x + b)."""
        return 1.0 - self.y * (self.X @ coef + intercept)

    def moved(self, old, new) -> float:
        """Root mean square change of the scores between two separators (coef, intercept)."""
        return self.size(self.X @ (new[0] - old[0]) + new[1] - old[1])

    def size(self, values) -> float:
        """Root mean square over the rows that the sample represents."""
        return float(np.sqrt(self.counts @ values**2 / self.counts.sum()))


__all__ = [
    "Answers",
    "LabelledRows",
    "NearMarginAnswer",
    "NearMarginQuery",
    "NewtonAnswer",
    "NewtonQuery",
    "Query",
    "QueryPass",
    "Reference",
    "SampledRows",
]
