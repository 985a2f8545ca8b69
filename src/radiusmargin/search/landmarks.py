"""Kernel machines of rows that come in chunks: Nystroem's approximation.

A separator is a combination of the kernel functions of some training rows, the landmarks, and so a linear model of a row's kernel
values with them. Its norm is that of the kernel. `fit_landmarks` solves that problem to a certified gap of **this** problem;
`choose_landmarks` takes as many landmarks as help. Rows in memory are not fitted like that: a sample of 50,000 with the kernel
itself was up to 5 points more accurate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._linalg import eigh
from ..estimators.features import Expansion, Scaling
from ..outofcore import MappedSource
from ..outofcore.fit import ChunkedTraining
from ..outofcore.heuristics import Limits
from ..outofcore.solver import first_pass
from ..solvers import Batch, Dense, solve
from ..solvers.kernel import values
from ..solvers.result import Certificate
from .candidates import stratified_sample

FIRST, MOST = 256, 512  # landmarks: doubled while that helps; a Newton step costs their square in every pass
GROWN_ON = 30_000  # rows on which the number of landmarks is chosen; a third of them is held out
HELPS = 1.0  # standard deviations of chance by which more landmarks have to be better
BLOCK = 1 << 14  # rows whose kernel values are formed at once
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
    """Do what `fit_landmarks` does for rows in memory, with all their features at once."""
    X = training.X
    rows = np.empty((len(X), landmarks.basis.shape[1]))
    for start in range(0, len(X), BLOCK):
        some = slice(start, start + BLOCK)
        np.matmul(landmarks(X[some]), landmarks.basis, out=rows[some])
    batch = Batch(
        Dense(rows), training.labels, training.costs, np.asarray(Cs, dtype=float), intercept=training.intercept
    )
    found = solve(batch, options)
    coef = found.coef.swapaxes(0, 1) @ landmarks.basis.T
    certificate = Certificate.of(found.objective, found.dual_objective, found.n_iter)
    return LandmarkFit(coef, found.intercept.T, certificate, [])


def choose_landmarks(choice, training, C, options, scaling=None) -> Landmarks:
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
    """
    function = choice.function(training.X, training.costs)
    train, test = _halves(training.codes)
    order = np.random.default_rng(0).permutation(train)
    most = min(len(order), MOST)
    train = training.at(train)
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
