"""Folds of the data themselves that leave out their test rows: all of them, all exponents and Cs, in one compiled call.

It exists because forming a scatter and calling a solver for every fold costs more than the fits: the folds share the rows of
one matrix, and their scatters come from one sum by leaving moments out of it.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .._linalg import eigh
from ..geometry.tempered import RANK_TOL
from ..solvers import Batch, Quadratics, rows_of, solve

BATCH = 1 << 20  # numbers that the folds of a batch take: an interrupt loses the batch that it comes into
TRUSTED = 1e-8  # relative size of eigenvalues below which what subtraction leaves may be rounding


class LinearFolds:
    """A fold whose scatter cannot be had by subtraction, or is singular, is left to another way."""

    def __init__(self, data):
        self.data = data
        self.folds = [i for i, split in enumerate(data.splits) if self._is_complement(*split)]
        self.place = {i: place for place, i in enumerate(self.folds)}
        self._moments, self._regularizers = {}, {}

    def _is_complement(self, train, test):
        n, d = self.data.training.X.shape
        if len(train) + len(test) != n or len(train) <= d:
            return False
        return bool((np.bincount(np.concatenate([train, test]), minlength=n) == 1).all())

    def score(self, task, scores):
        if task.group.eta > 0 or min(task.powers) < 0:
            return task.splits
        left = [i for i in task.splits if i not in self.place]
        for folds in self._batches([i for i in task.splits if i in self.place], task):
            left += self._score_batch(folds, task, scores)
        return tuple(left)

    def _batches(self, folds, task):
        (n, d), K = self.data.training.X.shape, len(self.data.training.labels)
        numbers = n * d + len(task.powers) * d * (d + K * len(task.Cs))
        if self.data.class_weight == "balanced":
            numbers = BATCH  # every training part has class weights of its own
        size = max(1, BATCH // numbers)
        return [folds[start : start + size] for start in range(0, len(folds), size)]

    def _score_batch(self, folds, task, scores):
        """Score folds that weigh their classes alike; returns those that are not to be trusted."""
        factors = self.data.factors(self.data.splits[folds[0]][0])
        with scores.work("fit", folds):
            B, trusted = self._regularizers_of(folds, task, factors)
            left, folds = [i for i, known in zip(folds, trusted, strict=True) if not known], np.array(folds)[trusted]
            separators = self._fit(folds, factors, B[:, trusted], task) if len(folds) else ()
        if len(folds):
            X, splits = self.data.training.X, self.data.splits
            with scores.work("score", folds):
                fits = zip(folds, *separators, strict=True)
                values = [
                    self.data.held_out(i).score(w, b, X[splits[i][1]], task.keeper(scores, i)) for i, w, b in fits
                ]
                task.record(scores, folds, np.array(values))
        return left

    def _regularizers_of(self, folds, task, factors):
        """(B (P, folds, ...), which folds to trust), kept for the next Cs."""
        scatter, places = task.group.scatter, tuple(self.place[i] for i in folds)
        key = scatter, places, task.group.powers
        rank_tol = task.group.features.rank_tol if max(task.group.powers) > 0 else 0.0
        if key not in self._regularizers:
            ranks = scatter == "within" or not self.data.training.intercept
            self._regularizers[key] = self._moments_of(scatter).regularizers(
                factors, scatter, task.group.powers, list(places), ranks=ranks, rank_tol=rank_tol
            )
        B, trusted = self._regularizers[key]
        return B[[task.group.powers.index(p) for p in task.powers]], trusted

    def _moments_of(self, scatter):
        by_class = scatter == "within" or self.data.class_weight is not None
        if by_class not in self._moments:
            whole, tests = self.data.training, [self.data.splits[i][1] for i in self.folds]
            self._moments[by_class] = FoldMoments(whole.X, whole.codes, whole.weight, tests, by_class=by_class)
        return self._moments[by_class]

    def _fit(self, folds, factors, B, task):
        """Separators of shape (fold, power, C, problem, feature), and their intercepts."""
        whole, (P, F), K = self.data.training, B.shape[:2], len(self.data.training.labels)
        cells = np.array([[f, k, p * F + f] for f in range(F) for p in range(P) for k in range(K)])
        batch = Batch(
            rows_of(whole.X), whole.labels, whole.weight * factors[whole.codes], np.asarray(task.Cs, dtype=float),
            Quadratics(np.ascontiguousarray(B.reshape(P * F, *B.shape[2:]))),
            tuple(self.data.splits[i][0] for i in folds), cells, whole.intercept,
        )  # fmt: skip
        found = solve(batch, task.options)
        coef = found.coef.reshape(F, P, K, len(task.Cs), -1).swapaxes(2, 3)
        return np.ascontiguousarray(coef), found.intercept.reshape(F, P, K, len(task.Cs)).swapaxes(2, 3)


class FoldMoments:
    """Weights, sums and second moments of every training part, about one common point: all rows but a test fold.

    Kept per class only where they are needed apart: for the within-class scatter, or for class weights.
    """

    def __init__(self, X, codes, weights, folds, *, by_class):
        self.X, self.codes, self.weights = X, codes, weights
        self.K = int(codes.max()) + 1 if by_class else 1
        self.shift = np.asarray(weights @ X).ravel() / weights.sum()
        if not sparse.issparse(X):
            self.X = self._extended(X)
        everything = self._moments(np.arange(X.shape[0]))
        self.raw = np.einsum("kii->ki", everything)[:, :-1]
        self.parts = everything - np.array([self._moments(test) for test in folds])

    def _extended(self, rows):
        """Centred rows with a last entry of one: their second moments are those, the sums and the total weight."""
        return np.column_stack([rows - self.shift, np.ones(len(rows))])

    def _moments(self, rows):
        """Second moments of the extended rows, one matrix per class."""
        K = self.K
        return np.stack([self._second_moment(rows if K == 1 else rows[self.codes[rows] == c]) for c in range(K)])

    def _second_moment(self, rows):
        part = self._extended(self.X[rows].toarray()) if sparse.issparse(self.X) else self.X[rows]
        return (part.T * self.weights[rows]) @ part

    def scatters(self, factors, kind="total", folds=slice(None)):
        """(total scatter, scatter of the `kind`, weight, relative rounding), stacked over the training parts.

        `factors` weigh the classes. The rounding is that of the scatter of all rows beside that of the part, in units of
        EPS / TRUSTED; infinite where subtraction leaves nothing but rounding, as where an outlier is held out.
        """
        parts = self.parts[folds] if self.K == 1 else factors[:, None, None] * self.parts[folds]
        squares, sums, totals = parts[..., :-1, :-1], parts[..., -1, :-1], parts[..., -1, -1]
        total, second, sums_of_all = totals.sum(axis=1), squares.sum(axis=1), sums.sum(axis=1)
        S = chosen = second - sums_of_all[:, :, None] * (sums_of_all / total[:, None])[:, None, :]
        if kind == "within":
            roots = sums / np.sqrt(np.where(totals > 0, totals, 1.0))[..., None]  # the sum of no rows is zero
            chosen = second - roots.transpose(0, 2, 1) @ roots
        spread, left = np.einsum("fii->fi", S), np.einsum("fii->fi", chosen)
        whole = self.raw[0] if self.K == 1 else factors @ self.raw
        with np.errstate(divide="ignore", invalid="ignore"):  # a constant column, or squares that overflow
            rounding = TRUSTED * (whole / spread.clip(0.0)).max(axis=1)
        accurate = (rounding < 1.0) & (left.sum(axis=1) > TRUSTED * spread.sum(axis=1))
        return S, chosen, total, np.where(accurate, rounding, np.inf)

    def regularizers(self, factors, kind, powers, folds=slice(None), *, ranks=True, rank_tol=RANK_TOL):
        """(B = D^(1/2) R^p D^(1/2) for every power and training part, which parts to trust).

        Scatters that are singular, up to `rank_tol`, are not to be trusted. Without `ranks` a power of 0 alone asks for standardising only, and the
        diagonals are given: an optimal separator then lies in the range of the scatter by itself.
        """
        S, chosen, total, rounding = self.scatters(factors, kind, folds)
        trusted = np.isfinite(rounding)
        S[~trusted] = chosen[~trusted] = np.eye(S.shape[1])  # a placeholder: the rows of such a part are summed anew
        variance = np.einsum("fii->fi", S) / total[:, None]
        if tuple(powers) == (0.0,) and not ranks:
            return variance[None], trusted
        scale = np.sqrt(variance)
        R = chosen / (scale[:, :, None] * scale[:, None, :] * total[:, None, None])
        values, vectors = eigh(R)
        # Rounding of the largest moments must be small beside the smallest eigenvalue, to which a power is as sensitive.
        least = np.maximum(rounding * values[:, -1], rank_tol**2 * np.einsum("fii->fi", R).max(axis=1))
        trusted &= values[:, 0] > least
        values = np.maximum(values, TRUSTED)
        scaled = scale[:, :, None] * vectors
        return np.stack([(scaled * values[:, None, :] ** p) @ scaled.transpose(0, 2, 1) for p in powers]), trusted
