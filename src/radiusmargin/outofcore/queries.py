"""What a pass asks of the chunks about a separator, and what they answer.

There are two questions. `NearMarginQuery` asks for the rows near the margin, and for the means of all others in bins of their distance from
it. Replacing rows by their mean never makes the loss larger (Jensen), so that the problem of the near rows and the means bounds
the one of all rows from below, whatever separator was asked about. `NewtonQuery` asks for gradient and curvature of the augmented
Lagrangian of the NumPy twin, where the rows near the margin are too many to be sent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from . import heuristics as strategy
from .first_pass import DataSummary, names_of
from .sources import Chunk

GROUPS = 4 * (strategy.BINS + 1)  # sides of the margin, labels, and bins; the first bin is within the width


@dataclass(frozen=True, eq=False)
class Query:
    """A separator in the user's units, and the rows it is about.

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


@dataclass(frozen=True, eq=False)
class Rows:
    """The rows of a block that take part, with their labels, costs, and what they slacks of the margin, z = 1 - y (w'x + b)."""

    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    z: np.ndarray

    @classmethod
    def of(cls, block, probe, scores):
        X, y, c = block.X, probe.signs[block.codes], block.weight * probe.costs[block.codes]
        if not y.all():
            part = np.flatnonzero(y)
            X, y, c, scores = X[part], y[part], c[part], scores[part]
        return cls(X, y, c, 1.0 - y * scores)

    @property
    def loss(self):
        return float(self.c @ np.maximum(self.z, 0.0))


@dataclass(frozen=True, eq=False)
class NearMarginQuery(Query):
    """Asks for the rows within a width of the margin, at most `share` times the rows of a chunk, and for means of the others."""

    width: float = 1.0
    share: float = 1.0

    def tally(self) -> _Sifting:
        return _Sifting(self)

    def groups(self, rows) -> np.ndarray:
        """Bins (each twice as wide as the one before) on both sides of the margin, for both labels."""
        exponent = np.frexp(np.abs(rows.z) / self.width)[1]
        side = (rows.z > 0) + 2 * (rows.y > 0)
        return np.clip(exponent, 0, strategy.BINS) + (strategy.BINS + 1) * side


class _Sifting:
    """The answer to `NearMarginQuery`, while it grows block by block."""

    def __init__(self, probe):
        self.probe, self.loss, self.near = probe, 0.0, []
        self.totals, self.sums = np.zeros(GROUPS), np.zeros((GROUPS, len(probe.coef)))

    def add(self, rows):
        self.loss += rows.loss
        group, distance = self.probe.groups(rows), np.abs(rows.z)
        inside = np.flatnonzero(distance <= self.probe.width)
        self.near.append(Near(rows.X[inside], rows.y[inside], rows.c[inside], distance[inside], group[inside]))
        far = rows.c.copy()
        far[inside] = 0.0
        self._add_up(rows.X, far, group)

    def answer(self, n_rows) -> Sifted:
        near = Near.joined(self.near, len(self.probe.coef))
        near, others = near.split(int(np.ceil(self.probe.share * n_rows)) + strategy.BALANCE)
        self._add_up(others.X, others.c, others.group)
        return Sifted(self.loss, self.totals, self.sums, (near,))

    def _add_up(self, X, c, group):
        # A matrix of one entry in every column is the quickest way to add rows up by group.
        pick = sparse.csc_array((c, group, np.arange(len(c) + 1)), shape=(GROUPS, len(c)))
        self.sums += pick @ X
        self.totals += np.bincount(group, c, minlength=GROUPS)


@dataclass(frozen=True, eq=False)
class Near:
    """Rows near the margin: labels, costs, distances from it, and the group each would be averaged in."""

    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    distance: np.ndarray
    group: np.ndarray

    @classmethod
    def joined(cls, parts, d) -> Near:
        if not parts:
            return cls(np.empty((0, d)), *np.empty((3, 0)), np.empty(0, dtype=int))
        names = ("X", "y", "c", "distance", "group")
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))

    def split(self, most) -> tuple[Near, Near]:
        """The nearest, at most so many, and the others."""
        order = np.arange(len(self.c))
        if len(order) > most:
            order = np.argsort(self.distance, kind="stable")
        return self._part(np.sort(order[:most])), self._part(np.sort(order[most:]))

    def _part(self, rows):
        return Near(self.X[rows], self.y[rows], self.c[rows], self.distance[rows], self.group[rows])


@dataclass(frozen=True, eq=False)
class Sifted:
    """Answer to `NearMarginQuery`: loss of all rows, costs and sums of the rows of every group, and the near rows in parts."""

    loss: float
    totals: np.ndarray
    sums: np.ndarray
    near: tuple[Near, ...]

    def merged(self, other: Sifted) -> Sifted:
        return Sifted(
            self.loss + other.loss, self.totals + other.totals, self.sums + other.sums, self.near + other.near
        )

    def reduced(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(rows, labels, costs) of the reduced problem: near rows, and the means of the groups."""
        there = self.totals > 0
        means = self.sums[there] / self.totals[there, None]
        y = np.repeat([-1.0, -1.0, 1.0, 1.0], strategy.BINS + 1)[there]
        return (
            np.concatenate([*(part.X for part in self.near), means]),
            np.concatenate([*(part.y for part in self.near), y]),
            np.concatenate([*(part.c for part in self.near), self.totals[there]]),
        )

    @property
    def near_rows(self) -> int:
        return sum(len(part.c) for part in self.near)


@dataclass(frozen=True)
class Reference:
    """A separator of an earlier round and its penalty: multipliers went from a to ``clip(a + penalty z, 0, 1)`` there.

    A row's multiplier is found again by going through all of them, so that nothing has to be kept for a row.
    """

    coef: np.ndarray
    intercept: float
    penalty: float


@dataclass(frozen=True, eq=False)
class NewtonQuery(Query):
    """Asks for gradient and curvature of the augmented Lagrangian, whose multipliers are ``c clip(a + penalty z, 0, 1)``.

    The a are those of the references. The curvature is that of rows moved by `shift`, with which it keeps its digits. `step`
    are the changes of coef and intercept that led here: slopes of the loss on the way are asked for too, should it have been
    too long.
    """

    penalty: float = 1.0
    references: tuple[Reference, ...] = ()
    shift: np.ndarray | None = None
    step: tuple[np.ndarray, float] | None = None

    def tally(self) -> _Smoothing:
        return _Smoothing(self)

    def reference(self, rows) -> np.ndarray:
        """Multipliers of rows in the last round, as shares of their costs."""
        a = np.full(len(rows.y), 0.5)
        for past in self.references:
            a = np.clip(a + past.penalty * (1.0 - rows.y * (rows.X @ past.coef + past.intercept)), 0.0, 1.0)
        return a

    def slopes(self, rows, reference) -> np.ndarray:
        """Of the loss along the step, at shares of it."""
        if self.step is None:
            return np.zeros(len(strategy.TRIALS))
        dz = -rows.y * (rows.X @ self.step[0] + self.step[1])
        trials = (np.clip(reference + self.penalty * (rows.z - (1.0 - t) * dz), 0.0, 1.0) for t in strategy.TRIALS)
        return np.array([rows.c @ (a * dz) for a in trials])


class _Smoothing:
    """The answer to `NewtonQuery`, while it grows block by block."""

    def __init__(self, probe):
        d = len(probe.coef)
        self.probe, self.loss, self.slack, self.near_rows = probe, 0.0, 0.0, 0
        self.totals, self.sums, self.gram = np.zeros(2), np.zeros((2, d)), np.zeros((d + 1, d + 1))
        self.slopes = np.zeros(len(strategy.TRIALS))

    def add(self, rows):
        self.loss += rows.loss
        reference = self.probe.reference(rows)
        a = np.clip(reference + self.probe.penalty * rows.z, 0.0, 1.0)
        self.slopes += self.probe.slopes(rows, reference)
        self.slack += float(rows.c @ (np.maximum(rows.z, 0.0) - a * rows.z))
        sides = rows.c * a * np.stack([rows.y > 0, rows.y < 0])
        self.totals += sides.sum(axis=1)
        self.sums += sides @ rows.X
        band = np.flatnonzero((a > 0.0) & (a < 1.0))
        self.near_rows += len(band)
        A = np.column_stack([rows.X[band] - self.probe.shift, np.ones(len(band))])
        self.gram += (A.T * (self.probe.penalty * rows.c[band])) @ A

    def answer(self, n_rows) -> Smoothed:
        return Smoothed(self.loss, self.slack, self.totals, self.sums, self.gram, self.slopes, self.near_rows)


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Answer to `NewtonQuery`: loss of all rows, multipliers and rows they weigh on both sides (+1 first), and the curvature.

    The loss is that of the hinge itself, and the slack what the multipliers leave of it: ``sum c max(0, z) - alpha z``, the gap
    at the optimum of the augmented Lagrangian. The curvature is that of (w, b) for rows moved by the probe's shift, the slopes
    are those of the loss along its step.
    """

    loss: float
    slack: float
    totals: np.ndarray
    sums: np.ndarray
    gram: np.ndarray
    slopes: np.ndarray
    near_rows: int

    def merged(self, other: Smoothed) -> Smoothed:
        return Smoothed(
            self.loss + other.loss,
            self.slack + other.slack,
            self.totals + other.totals,
            self.sums + other.sums,
            self.gram + other.gram,
            self.slopes + other.slopes,
            self.near_rows + other.near_rows,
        )


@dataclass(frozen=True, eq=False)
class QueryPass:
    """What a pass does with a chunk: it puts every probe to it.

    Parameters
    ----------
    probes : tuple of NearMarginQuery and Smooth
    classes : ndarray
    """

    probes: tuple[Query, ...]
    classes: np.ndarray

    def __call__(self, chunk: Chunk) -> Answers:
        names, number = names_of(self.classes), 0
        coef = np.array([probe.coef for probe in self.probes])
        intercept = np.array([probe.intercept for probe in self.probes])
        tallies = [probe.tally() for probe in self.probes]
        low, high = np.full(len(coef), np.inf), np.full(len(coef), -np.inf)
        for block in chunk.blocks(self.classes):
            number = (number + block.fingerprint(names)) % 2**64
            scores = block.X @ coef.T + intercept
            low, high = np.minimum(low, scores.min(axis=0)), np.maximum(high, scores.max(axis=0))
            for tally, own in zip(tallies, scores.T, strict=True):
                tally.add(Rows.of(block, tally.probe, own))
        return Answers(tuple(t.answer(len(chunk.y)) for t in tallies), {chunk.index: number}, low, high)


@dataclass(frozen=True, eq=False)
class Answers:
    """One answer per probe, the fingerprints of the chunks, and the smallest and largest scores of all their rows."""

    answers: tuple
    fingerprints: dict
    low: np.ndarray
    high: np.ndarray

    def merged(self, other: Answers) -> Answers:
        return replace(
            self,
            answers=tuple(a.merged(b) for a, b in zip(self.answers, other.answers, strict=True)),
            fingerprints=self.fingerprints | other.fingerprints,
            low=np.minimum(self.low, other.low),
            high=np.maximum(self.high, other.high),
        )


# -- Rows that the driver has in memory: a sample of those in the chunks ----------------------------------------------


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Sampled rows of a problem.

    Attributes
    ----------
    X : ndarray of shape (m, d)
        In the user's units.
    y, c : ndarrays of shape (m,)
        Labels, and costs that make up for the rows that are not here.
    counts : ndarray of shape (m,)
        How many rows each stands for.
    codes : ndarray of shape (m,)
        Numbers of their classes.
    complete : bool
        Whether these are all.
    """

    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    counts: np.ndarray
    codes: np.ndarray
    complete: bool

    @classmethod
    def of(cls, signs: np.ndarray, overview: DataSummary) -> SampledRows:
        """With the weights of the rows as their costs."""
        parts, complete = [], True
        for code, (moments, sample) in enumerate(zip(overview.moments(), overview.samples(), strict=True)):
            if signs[code] == 0:
                continue
            # By weight, not by rows: the problem of the sample has the right weight for each class.
            weight = sample.weight * (moments.total / sample.weight.sum())
            counts = np.full(len(sample), moments.rows / len(sample))
            order = np.argsort(sample.keys, kind="stable")
            label, codes = np.full(len(sample), signs[code]), np.full(len(sample), code, dtype=np.int32)
            parts.append((sample.X[order], label, weight[order], counts, codes))
            complete &= len(sample) == moments.rows
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)), complete)

    def priced(self, costs: np.ndarray) -> SampledRows:
        """The same rows with the costs of their classes, as a problem has them."""
        return replace(self, c=self.c * costs[self.codes])

    def half(self, i) -> SampledRows:
        """Every other row; the keys, by which those of a class are sorted, are random."""
        rows = slice(i, None, 2)
        parts = self.X[rows], self.y[rows], 2 * self.c[rows], 2 * self.counts[rows], self.codes[rows]
        return SampledRows(*parts, complete=False)

    def ask(self, probe: Query):
        """What these rows answer to a probe."""
        tally = probe.tally()
        tally.add(Rows(self.X, self.y, self.c, self.slacks(probe.coef, probe.intercept)))
        return tally.answer(len(self.y))

    def slacks(self, coef, intercept) -> np.ndarray:
        """What the rows slacks of the margin: z = 1 - y (w'x + b)."""
        return 1.0 - self.y * (self.X @ coef + intercept)

    def moved(self, here, there) -> float:
        """How much the scores change (root mean square) from one separator (coef, intercept) to another."""
        return self.size(self.X @ (there[0] - here[0]) + there[1] - here[1])

    def size(self, values) -> float:
        """Root mean square over the rows that these stand for."""
        return float(np.sqrt(self.counts @ values**2 / self.counts.sum()))


__all__ = [
    "Answers",
    "NearMarginQuery",
    "NewtonQuery",
    "Query",
    "QueryPass",
    "Reference",
    "Rows",
    "SampledRows",
    "Sifted",
    "Smoothed",
]
