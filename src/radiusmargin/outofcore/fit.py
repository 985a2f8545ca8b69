"""Fit a linear model to rows in chunks: connects the estimators to the first pass and the solver."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..multiclass import MulticlassReduction, check_several, factors_of_totals
from ..scatter import NO_SPREAD, TemperedScatter, decompose, from_factor
from ..solvers import Options
from .first_pass import DataSummary, Moments, row_factor
from .heuristics import Limits
from .solver import ChunkedProblem, ChunkedResult, Coordinates, first_pass, solve_chunked
from .sources import ChunkSource, source_of


@dataclass(frozen=True, eq=False)
class RegularizerForm:
    """A regulariser, and the coordinates in which it is defined."""

    regularizer: np.ndarray | None
    coordinates: Coordinates


@dataclass(frozen=True, eq=False)
class ChunkedTraining:
    """The data of a fit: a source of chunks, and the summary of the first pass over them.

    Attributes
    ----------
    source : ChunkSource
    summary : DataSummary
    reduction : MulticlassReduction
    factors : ndarray of shape (n_classes,)
        Weights of the classes.
    intercept : bool
    """

    source: ChunkSource
    summary: DataSummary
    reduction: MulticlassReduction
    factors: np.ndarray
    intercept: bool = True

    @classmethod
    def of(cls, model, data, *, pairs: bool | None, full: bool, least_rows: int = 2) -> ChunkedTraining:
        """Run the first pass over a model's data (X, y, sample_weight), and set its classes and features.

        Three or more classes are compared in pairs unless `pairs` is False.
        """
        X, y, weight = data
        source = source_of(X, y, weight, model.n_jobs)
        summary = first_pass(source, Limits(least_rows=least_rows), full=full)
        keep_features(model, X, summary.n_features)
        model.classes_ = summary.classes
        check_several(model, model.classes_)
        totals = np.array([moments.total for moments in summary.moments()])
        factors = factors_of_totals(model.class_weight, model.classes_, totals)
        reduction = MulticlassReduction(len(model.classes_), pairs=pairs is not False)
        return cls(source, summary, reduction, factors, bool(model.fit_intercept))

    @cached_property
    def moments(self) -> Moments:
        """Moments of all rows, with the weights of their classes."""
        return self.summary.pooled(self.factors)

    def scatter(self, kind: str, rank_tol: float) -> TemperedScatter:
        """Tempered scatter of all rows. If it is (nearly) singular, one more pass determines its rank from the rows."""
        moments = self.moments
        total, mean, S = moments.total, moments.mean, moments.scatter
        if S.ndim == 1:
            space = TemperedScatter(mean, np.sqrt(S / total), np.ones(len(mean)), None, total)
        else:
            chosen = self.summary.within(self.factors) if kind == "within" else S
            space = decompose(S, chosen, mean, total, rank_tol=rank_tol)
        if not space.regular:
            factor = row_factor(self.source, self.summary, self.factors, within=kind == "within")
            space = from_factor(factor, np.maximum(-moments.low, moments.high), space, rank_tol)
        if not space.scale.any() or not len(space.eigenvalues):
            raise ValueError(NO_SPREAD)
        return space

    def plain(self) -> RegularizerForm:
        """Squared norm of the coefficients."""
        return RegularizerForm(None, Coordinates(self._shift))

    def projected(self, basis: np.ndarray, inverse: np.ndarray) -> RegularizerForm:
        """Squared norm of the coefficients of the rows times `basis`; `inverse` maps coefficients of rows to those."""
        return RegularizerForm(None, Coordinates(self._shift, basis, inverse))

    def tempered(self, scatter: TemperedScatter, p: float) -> RegularizerForm:
        """w'Tw / n for an exponent p of the scatter. For p <= 0 it is diagonal, over the features that vary."""
        if p <= 0:
            varying = scatter.scale > 0
            axes, B = np.eye(len(scatter.mean))[:, varying], np.diag(scatter.scale[varying] ** (2 * p))
        elif scatter.regular:
            axes, B = np.eye(len(scatter.mean)), scatter.standardised_matrix(p) / scatter.total
        else:
            axes, B = scatter.axes, np.diag(scatter.eigenvalues**p)
        basis, inverse = scatter.inverse_scale[:, None] * axes, scatter.scale[:, None] * axes
        return RegularizerForm(B, Coordinates(self._shift, basis, inverse))

    @property
    def _shift(self):
        return self.moments.mean if self.intercept else np.zeros(self.summary.n_features)

    def solve(self, candidates, options: Options, report=None) -> list[list[ChunkedResult]]:
        """Solve for every candidate (C, RegularizerForm) and labelling in the same passes; one list per candidate."""
        signs = self.reduction.columns(np.arange(self.reduction.n_classes))
        problems = [
            ChunkedProblem(y, C * self.factors, form.regularizer, form.coordinates, self.intercept)
            for C, form in candidates
            for y in signs
        ]
        results = solve_chunked(self.source, problems, self.summary, options, report=report)
        return [results[i : i + len(signs)] for i in range(0, len(results), len(signs))]


def print_pass(model):
    """Return the callback that prints a line after every pass, or None unless the model is `verbose`."""

    def report(number, solvers):
        gap, near = max(s.best.gap for s in solvers), sum(s.history[-1]["near"] for s in solvers)
        print(f"[{type(model).__name__}] pass {number}: gap {gap:.2g}, {near:,} rows near the margin")

    return report if model.verbose else None


def keep_history(model, results):
    """Set `n_passes_`, the first pass included, and `history_`, an entry per problem and pass."""
    model.n_passes_ = 1 + max(len(r.history) for r in results)
    model.history_ = [dict(entry, column=k) for k, r in enumerate(results) for entry in r.history]


def keep_features(model, X, d):
    """Set the number of features, and their names if X is a data frame."""
    model.n_features_in_ = d
    names = np.asarray(getattr(X, "columns", ()), dtype=object)
    if len(names) and all(isinstance(name, str) for name in names):
        model.feature_names_in_ = names


__all__ = ["ChunkedTraining", "RegularizerForm", "keep_features", "keep_history", "print_pass"]
