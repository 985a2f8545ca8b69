"""Fitting a linear model to rows in chunks: the first pass, the regularisers that a model asks for, and the solver."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..multiclass import MulticlassReduction, check_several, factors_of_totals
from ..scatter import NO_SPREAD, TemperedScatter, decompose, from_factor
from ..solvers import Options
from .first_pass import DataSummary, Moments, row_factor
from .heuristics import Limits
from .solver import ChunkedProblem, ChunkedResult, Coordinates, first_pass, solve_chunked
from .sources import source_of


@dataclass(frozen=True, eq=False)
class RegularizerForm:
    """A regulariser, and the coordinates in which it is defined."""

    regularizer: np.ndarray | None
    coordinates: Coordinates


@dataclass(frozen=True, eq=False)
class ChunkedTraining:
    """The data of a fit: chunks that can be read again, and what the first pass over them found.

    Attributes
    ----------
    source : Source
    overview : DataSummary
    reduction : MulticlassReduction
    factors : ndarray of shape (n_classes,)
        Weights of the classes.
    intercept : bool
    """

    source: Any
    overview: DataSummary
    reduction: MulticlassReduction
    factors: np.ndarray
    intercept: bool = True

    @classmethod
    def of(cls, model, data, *, pairs: bool | None, full: bool, least_rows: int = 2) -> ChunkedTraining:
        """Read the (X, y, sample_weight) that a model was given once, and set its classes and features.

        `pairs` says whether more than two classes are compared in pairs; None: yes.
        """
        source = source_of(*data, model.n_jobs)
        overview = first_pass(source, Limits(least_rows=least_rows), full=full)
        keep_features(model, data[0], overview.n_features)
        model.classes_ = overview.classes
        check_several(model, model.classes_)
        totals = np.array([moments.total for moments in overview.moments()])
        factors = factors_of_totals(model.class_weight, model.classes_, totals)
        reduction = MulticlassReduction(len(model.classes_), pairs=pairs is not False)
        return cls(source, overview, reduction, factors, bool(model.fit_intercept))

    @cached_property
    def moments(self) -> Moments:
        """Of all rows, weighted by their classes."""
        return self.overview.pooled(self.factors)

    def scatter(self, kind: str, rank_tol: float) -> TemperedScatter:
        """The tempered scatter of all rows; where it is (nearly) singular, one more pass tells its rank from the rows."""
        moments = self.moments
        total, mean, S = moments.total, moments.mean, moments.scatter
        if S.ndim == 1:
            space = TemperedScatter(mean, np.sqrt(S / total), np.ones(len(mean)), None, total)
        else:
            chosen = self.overview.within(self.factors) if kind == "within" else S
            space = decompose(S, chosen, mean, total, rank_tol=rank_tol)
        if not space.regular:
            factor = row_factor(self.source, self.overview, self.factors, within=kind == "within")
            space = from_factor(factor, np.maximum(-moments.low, moments.high), space, rank_tol)
        if not space.scale.any() or not len(space.eigenvalues):
            raise ValueError(NO_SPREAD)
        return space

    def plain(self) -> RegularizerForm:
        """The norm of the separator itself."""
        return RegularizerForm(None, Coordinates(self._shift))

    def tempered(self, scatter: TemperedScatter, p: float) -> RegularizerForm:
        """w'Tw / n for an exponent of the scatter; up to 0 it is diagonal in the features that vary."""
        if p <= 0:
            varying = scatter.scale > 0
            axes, B = np.eye(len(scatter.mean))[:, varying], np.diag(scatter.scale[varying] ** (2 * p))
        elif scatter.regular:
            axes, B = np.eye(len(scatter.mean)), scatter.standardised_matrix(p) / scatter.total
        else:
            axes, B = scatter.eigenvectors, np.diag(scatter.eigenvalues**p)
        basis, inverse = scatter.inverse_scale[:, None] * axes, scatter.scale[:, None] * axes
        return RegularizerForm(B, Coordinates(self._shift, basis, inverse))

    @property
    def _shift(self):
        return self.moments.mean if self.intercept else np.zeros(self.overview.n_features)

    def solve(self, members, options: Options, report=None) -> list[list[ChunkedResult]]:
        """One list of results, a result for each labelling, for every member (C, RegularizerForm): all in the same passes."""
        signs = self.reduction.columns(np.arange(self.reduction.n_classes))
        problems = [
            ChunkedProblem(y, C * self.factors, form.regularizer, form.coordinates, self.intercept)
            for C, form in members
            for y in signs
        ]
        found = solve_chunked(self.source, problems, self.overview, options, report=report)
        return [found[i : i + len(signs)] for i in range(0, len(found), len(signs))]


def print_pass(model):
    """What is called after every pass, where `verbose` asks for it."""

    def report(number, searches):
        gap, near = max(s.best.gap for s in searches), sum(s.history[-1]["near"] for s in searches)
        print(f"[{type(model).__name__}] pass {number}: gap {gap:.2g}, {near:,} rows near the margin")

    return report if model.verbose else None


def keep_history(model, results):
    """Passes over the data, the first among them, and what each of them found, one list after the other for the problems."""
    model.n_passes_ = 1 + max(len(r.history) for r in results)
    model.history_ = [dict(entry, column=k) for k, r in enumerate(results) for entry in r.history]


def keep_features(model, X, d):
    """How many features there are, and their names where a data frame has them."""
    model.n_features_in_ = d
    names = np.asarray(getattr(X, "columns", ()), dtype=object)
    if len(names) and all(isinstance(name, str) for name in names):
        model.feature_names_in_ = names


__all__ = ["ChunkedTraining", "RegularizerForm", "keep_features", "keep_history", "print_pass"]
