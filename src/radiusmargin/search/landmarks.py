"""Kernel machines of more rows than a kernel's own solver can take: Nystroem's approximation.

A separator is a combination of the kernel functions of some training rows, the landmarks, and so a linear model of a row's kernel
values with them. Its norm is that of the kernel. `fit_landmarks` solves that problem for rows in memory or in chunks, to a
certified gap of **this** problem; `choose_landmarks` takes as many landmarks as help.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._linalg import eigh
from ..estimators.features import Expansion, Scaling
from ..outofcore import ArraySource, MappedSource
from ..outofcore.fit import ChunkedTraining
from ..outofcore.heuristics import Limits
from ..outofcore.solver import first_pass
from ..solvers import Batch, Dense, solve
from ..solvers.kernel import values
from ..solvers.result import Certificate
from .candidates import stratified_sample

FIRST, MOST = 256, 2048  # landmarks: doubled while that helps
# Features of all rows together up to which they are formed at once, a gigabyte. More rows are gone through pass by pass, where
# a Newton step costs the square of the landmarks: then there are `MOST_IN_PASSES` at most.
IN_MEMORY = 1 << 27
MOST_IN_PASSES = 512
GROWN_ON = 30_000  # rows on which the number of landmarks is chosen; a third of them is held out
HELPS = 1.0  # standard deviations of chance by which more landmarks have to be better
CHUNK_ROWS = 1 << 14
KEPT = 1e-10  # relative eigenvalues of the landmarks' kernel matrix that are kept


@dataclass(frozen=True, eq=False)
class Landmarks:
    """Kernel values of rows with landmarks, and the norm of their combinations.

    Attributes
    ----------
    space : Expansion
        The kernel, with the (scaled) landmarks as support.
    basis : ndarray of shape (m, r)
        Inner products of ``values @ basis`` are those of the projections on the landmarks.
    inverse : ndarray of shape (m, r)
    scaling : Scaling or None
        What rows need first.
    """

    space: Expansion
    basis: np.ndarray
    inverse: np.ndarray
    scaling: Scaling | None = None

    @classmethod
    def of(cls, space, scaling=None) -> Landmarks:
        found, axes = eigh(values(space.function, space.support, space.support))
        kept = found > KEPT * found[-1]
        roots = np.sqrt(found[kept])
        return cls(space, axes[:, kept] / roots, axes[:, kept] * roots, scaling)

    def __call__(self, X):
        """Return the kernel values of rows."""
        X = X if self.scaling is None else self.scaling.rows(X)
        return values(self.space.function, np.ascontiguousarray(X), self.space.support)

    def __len__(self):
        return len(self.basis)


@dataclass(frozen=True, eq=False)
class LandmarkFit:
    """Separators of shape (Cs, problems, landmarks), their intercepts, and the results of all problems."""

    coef: np.ndarray
    intercept: np.ndarray
    certificate: Certificate
    results: list[Any]


def fit_landmarks(source, training, landmarks, Cs, options, report=None) -> LandmarkFit:
    """Solve every problem for every C on the rows of a source; `training` has the classes and their weights."""
    mapped = MappedSource(source, landmarks, len(landmarks))
    summary = first_pass(mapped, Limits(), full=False)
    chunked = ChunkedTraining(mapped, summary, training.reduction, training.factors, training.intercept)
    form = chunked.projected(landmarks.basis, landmarks.inverse)
    found = chunked.solve([(float(C), form) for C in Cs], options, report)
    coef = np.array([[r.coef for r in own] for own in found])
    intercept = np.array([[r.intercept for r in own] for own in found])
    results = [r for own in found for r in own]
    numbers = np.array([(r.objective, r.dual_objective, r.n_iter) for r in results]).T
    return LandmarkFit(coef, intercept, Certificate.of(*numbers), results)


def fit_landmarks_in_memory(training, landmarks, Cs, options) -> LandmarkFit:
    """Do what `fit_landmarks` does for rows in memory, at once if their features are few."""
    X = training.X
    if len(X) * landmarks.basis.shape[1] > IN_MEMORY:
        source = ArraySource(X, training.codes, training.weight, options.n_threads, rows=CHUNK_ROWS)
        return fit_landmarks(source, training, landmarks, Cs, options)
    rows = np.empty((len(X), landmarks.basis.shape[1]))
    for start in range(0, len(X), CHUNK_ROWS):
        some = slice(start, start + CHUNK_ROWS)
        np.matmul(landmarks(X[some]), landmarks.basis, out=rows[some])
    batch = Batch(
        Dense(rows), training.labels, training.costs, np.asarray(Cs, dtype=float), intercept=training.intercept
    )
    found = solve(batch, options)
    coef = found.coef.swapaxes(0, 1) @ landmarks.basis.T
    certificate = Certificate.of(found.objective, found.dual_objective, found.n_iter)
    return LandmarkFit(coef, found.intercept.T, certificate, [])


def choose_landmarks(choice, training, C, options, scaling=None, n_rows=None) -> Landmarks:
    """Return landmarks: twice as many as long as held-out rows are classified better by them.

    Parameters
    ----------
    choice : FeatureChoice
    training : TrainingData
        Scaled rows.
    C : float
    options : Options
    scaling : Scaling, optional
        What rows in chunks need first.
    n_rows : int, optional
        Number of rows that will be fitted; default: that of `training`.
    """
    function = choice.function(training.X, training.costs)
    train, test = _halves(training.codes)
    order = np.random.default_rng(0).permutation(train)
    most = min(len(order), int(np.clip(IN_MEMORY // (n_rows or len(training.codes)), MOST_IN_PASSES, MOST)))
    train = replace(training, X=training.X[train], codes=training.codes[train], weight=training.weight[train])
    unseen, codes, weight = training.X[test], training.codes[test], training.weight[test]
    chosen, before, count = None, None, min(FIRST, most)
    while count <= most:
        space = Expansion(function, training.X[np.sort(order[:count])], options.threads)
        landmarks = Landmarks.of(space, scaling)
        fit = fit_landmarks_in_memory(train, landmarks, [C], options)
        correct = training.reduction.predict(space.scores(unseen, fit.coef[0]) + fit.intercept[0]) == codes
        if chosen and _gain(correct, before, weight) <= HELPS:
            break
        chosen, before, count = landmarks, correct, 2 * count
    return chosen


def _halves(codes):
    """Return the rows to fit and those to hold out, which have every class only if the former have."""
    rows = stratified_sample(codes, GROWN_ON) if len(codes) > GROWN_ON else np.arange(len(codes))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    held_out = np.arange(len(rows)) % 3 == 2
    first = np.append(True, np.diff(codes[rows]) > 0)  # of its class
    return rows[~held_out | first], rows[held_out & ~first]


def _gain(correct, before, weight):
    """Return the gain of weighted correct rows over the deviation that chance gives it."""
    differ = correct != before
    return weight @ (correct.astype(float) - before) / max(np.sqrt(differ @ weight**2), np.finfo(float).tiny)


__all__ = ["LandmarkFit", "Landmarks", "choose_landmarks", "fit_landmarks", "fit_landmarks_in_memory"]
