"""Fold strategies: fit candidates on the training part of every split, and score them on its held-out rows.

`FoldByFold` serves every group with explicit features; the others are tested against it and are quicker: `MomentFolds` (dense
linear models, all folds in one call), `SparseFolds` (sparse linear models), `KernelFolds` (kernel machines, which share kernel
rows), `SingleFit` (criteria that need no folds). A strategy is built once from the data of a search. ``score(task, recorder)``
returns the splits that it leaves to the next strategy.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from numbers import Real
from typing import Any

import numpy as np
from scipy import linalg, sparse

from .._blocks import split
from .._linalg import eigh
from ..estimators import FSVM, LeadingFeatures
from ..estimators.family import Family, hinge_losses
from ..estimators.features import Expansion, ExplicitSpace, Raw
from ..geometry import minimum_enclosing_ball
from ..scatter import RANK_TOL, sparse_moments
from ..solvers import IDENTITY, Batch, KernelSearch, Quadratics, Sparse, rows_of, solve


@dataclass(frozen=True, eq=False)
class Features:
    """Training and held-out rows of a split, in a space that was fitted to the training rows."""

    space: ExplicitSpace
    rows: Any
    unseen: Any

    def at(self, whitening) -> Features | None:
        """Return the leading features of a kernel map that another exponent needs; None if the map has too few."""
        fitted = self.space.transformer
        if whitening == fitted.whitening:
            return self
        if whitening < fitted.whitening or fitted.engine_ == "cholesky":  # which stops at fewer pivots
            return None
        kept = slice(fitted.components_at(whitening))
        return Features(self.space, self.rows[:, kept], self.unseen[:, kept])


class FoldByFold:
    """Fit every split on its own: the reference."""

    def __init__(self, data):
        self.data = data
        self.gamma, self.maps = None, {}  # of the last kernel: tasks for its other exponents follow

    def score(self, task, recorder):
        fit = self._fit_smoothed if task.group.eta > 0 else self._fit_family
        for i in task.splits:
            part = self.data.part(i)
            features = self._features(task.group, part, i, recorder)
            with recorder.work("fit", i):
                coef, intercept = fit(part, features, task)
            with recorder.work("score", i):
                on_scores, held_out = task.on_scores(recorder, i), self.data.held_out(i)
                task.record(recorder, i, held_out.score(coef, intercept, features.unseen, on_scores))
        return ()

    def _features(self, group, part, i, recorder):
        """Return features of a split: of a map fitted to it before for a smaller exponent, or newly fitted."""
        if not group.features.has_kernel:  # their number does not depend on the exponent
            return self._fitted(group, part, i, recorder)
        if self.gamma != group.features.gamma:
            self.gamma, self.maps = group.features.gamma, {}
        known = self.maps[i].at(group.exponents[0]) if i in self.maps else None
        if known is None:
            known = self.maps[i] = self._fitted(group, part, i, recorder)
        return known

    def _fitted(self, group, part, i, recorder):
        train, test = self.data.splits[i]
        with recorder.work("fit", i):
            space = group.features.explicit(group.exponents[0])
            rows = space.fit(part.X, part.costs)
        with recorder.work("score", i):
            return Features(space, rows, space.rows(self.data.rows(test, train)))

    def _fit_family(self, part, features, task):
        """Fit all exponents. Those above 0 are solved in the range of the scatter, the others on all features."""
        group, exponents, fits = task.group, np.array(task.exponents), {}
        for some in filter(np.any, (exponents <= 0, exponents > 0)):
            own = tuple(exponents[some].tolist())
            family = Family.on(features.space, features.rows, part, group.scatter, own, group.features.rank_tol)
            fit = family.fit(part.labels, part.costs, task.Cs, task.options)
            fits |= zip(own, zip(fit.coef, fit.intercept, strict=True), strict=True)
        coef, intercept = zip(*(fits[p] for p in task.exponents), strict=True)
        return np.array(coef), np.array(intercept)

    def _fit_smoothed(self, part, features, task):
        group, models = task.group, []
        for p, C in product(task.exponents, task.Cs):
            shared = features.space, features.rows, part, task.options, group.features.rank_tol
            models.append(fit_smoothed(group.candidate(p, C), *shared))
        shape = len(task.exponents), len(task.Cs), len(part.labels)
        coef, intercept = np.array([m.coef_ for m in models]), np.array([m.intercept_ for m in models])
        return coef.reshape(*shape, -1), intercept.reshape(shape)


def fit_smoothed(candidate, space, rows, training, options, rank_tol) -> FSVM:
    """Fit a candidate with eta > 0 to rows in a fitted space. Features of a map are not standardised."""
    model = FSVM(
        **candidate.form, rank_tol=rank_tol, tol=options.tol, max_iter=options.max_iter,
        multi_class="ovo" if training.reduction.pairs else "ovr",
        fit_intercept=training.intercept, kernel="linear" if isinstance(space, Raw) else LeadingFeatures(),
    )  # fmt: skip
    return model.fit(rows, training.codes, sample_weight=training.costs)


# -- Dense linear models: all folds, exponents and Cs in one compiled call ------------------------------------------------


DENSE_BATCH = 1 << 20  # numbers in a batch of folds: an interrupt loses the current batch
TRUSTED = 1e-8  # relative eigenvalues below this may be the rounding of a subtraction


class MomentFolds:
    """All folds in one call, with scatters of the training parts by subtraction: all rows minus the held-out ones.

    A fold whose scatter is singular, or inaccurate after the subtraction, is left to another strategy.
    """

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

    def score(self, task, recorder):
        if task.group.eta > 0 or min(task.exponents) < 0:
            return task.splits
        left = [i for i in task.splits if i not in self.place]
        for folds in self._batches([i for i in task.splits if i in self.place], task):
            left += self._score_batch(folds, task, recorder)
        return tuple(left)

    def _batches(self, folds, task):
        (n, d), K = self.data.training.X.shape, len(self.data.training.labels)
        numbers = n * d + len(task.exponents) * d * (d + K * len(task.Cs))
        if self.data.class_weight == "balanced":
            numbers = DENSE_BATCH  # one fold a batch: every training part has its own class weights
        size = max(1, DENSE_BATCH // numbers)
        return [folds[start : start + size] for start in range(0, len(folds), size)]

    def _score_batch(self, folds, task, recorder):
        """Score folds with the same class weights; return those whose scatter is not accurate."""
        factors = self.data.factors(self.data.splits[folds[0]][0])
        with recorder.work("fit", folds):
            B, trusted = self._regularizers_of(folds, task, factors)
            left, folds = [i for i, known in zip(folds, trusted, strict=True) if not known], np.array(folds)[trusted]
            separators = self._fit(folds, factors, B[:, trusted], task) if len(folds) else ()
        if len(folds):
            X, splits = self.data.training.X, self.data.splits
            with recorder.work("score", folds):
                fits = zip(folds, *separators, strict=True)
                values = [
                    self.data.held_out(i).score(w, b, X[splits[i][1]], task.on_scores(recorder, i)) for i, w, b in fits
                ]
                task.record(recorder, folds, np.array(values))
        return left

    def _regularizers_of(self, folds, task, factors):
        """Return B of shape (P, folds, ...) and the mask of folds to trust, cached for the next Cs."""
        scatter, places = task.group.scatter, tuple(self.place[i] for i in folds)
        key = scatter, places, task.group.exponents
        rank_tol = task.group.features.rank_tol if max(task.group.exponents) > 0 else 0.0
        if key not in self._regularizers:
            ranks = scatter == "within" or not self.data.training.intercept
            self._regularizers[key] = self._moments_of(scatter).regularizers(
                factors, scatter, task.group.exponents, list(places), ranks=ranks, rank_tol=rank_tol
            )
        B, trusted = self._regularizers[key]
        return B[[task.group.exponents.index(p) for p in task.exponents]], trusted

    def _moments_of(self, scatter):
        by_class = scatter == "within" or self.data.class_weight is not None
        if by_class not in self._moments:
            whole, tests = self.data.training, [self.data.splits[i][1] for i in self.folds]
            self._moments[by_class] = FoldMoments(whole.X, whole.codes, whole.weight, tests, by_class=by_class)
        return self._moments[by_class]

    def _fit(self, folds, factors, B, task):
        """Return separators of shape (fold, exponent, C, problem, feature), and their intercepts."""
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
    """Weights, sums and second moments of every training part (all rows but a test fold), about one common point.

    They are kept by class for the within-class scatter and for class weights only.
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
        """Append a one to centred rows, so that their second moments contain the sums and the total weight."""
        return np.column_stack([rows - self.shift, np.ones(len(rows))])

    def _moments(self, rows):
        """Return second moments of the extended rows, one matrix per class."""
        K = self.K
        return np.stack([self._second_moment(rows if K == 1 else rows[self.codes[rows] == c]) for c in range(K)])

    def _second_moment(self, rows):
        part = self._extended(self.X[rows].toarray()) if sparse.issparse(self.X) else self.X[rows]
        return (part.T * self.weights[rows]) @ part

    def scatters(self, factors, kind="total", folds=slice(None)):
        """Return (total scatter, scatter of the `kind`, weight, relative rounding), stacked over the training parts.

        `factors` are the class weights. The rounding is that of the scatter of all rows relative to the scatter of the part, in
        units of EPS / TRUSTED. It is infinite if the subtraction leaves only rounding, for example if an outlier is held out.
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

    def regularizers(self, factors, kind, exponents, folds=slice(None), *, ranks=True, rank_tol=RANK_TOL):
        """Return B = D^(1/2) R^p D^(1/2) for every exponent and training part, and the mask of parts to trust.

        A scatter that is singular up to `rank_tol` is not trusted. With ``ranks=False`` the exponent 0 alone only standardises,
        and diagonals are returned: an optimal separator then lies in the range of the scatter by itself.
        """
        S, chosen, total, rounding = self.scatters(factors, kind, folds)
        trusted = np.isfinite(rounding)
        S[~trusted] = chosen[~trusted] = np.eye(S.shape[1])  # a placeholder: another strategy serves such a part
        variance = np.einsum("fii->fi", S) / total[:, None]
        if tuple(exponents) == (0.0,) and not ranks:
            return variance[None], trusted
        scale = np.sqrt(variance)
        R = chosen / (scale[:, :, None] * scale[:, None, :] * total[:, None, None])
        values, vectors = eigh(R)
        # Rounding of the largest moments must be small compared with the smallest eigenvalue: R^p is as sensitive to it.
        least = np.maximum(rounding * values[:, -1], rank_tol**2 * np.einsum("fii->fi", R).max(axis=1))
        trusted &= values[:, 0] > least
        values = np.maximum(values, TRUSTED)
        scaled = scale[:, :, None] * vectors
        return np.stack([(scaled * values[:, None, :] ** p) @ scaled.transpose(0, 2, 1) for p in exponents]), trusted


# -- Sparse linear models with scaled columns at most: all folds on one matrix, without copies --------------------------


SPARSE_BATCH = 1 << 23  # numbers in the separators of one call
UNUSED = 1e100  # regulariser of a column that is constant in a training part: its coefficient is zero


class SparseFolds:
    """All folds of sparse rows on one matrix, for exponents up to 0."""

    def __init__(self, data):
        self.data = data

    def score(self, task, recorder):
        group = task.group
        if group.eta > 0 or group.scatter != "total" or max(group.exponents) > 0:
            return task.splits
        # With balanced classes every training part has its own weights, and is solved alone.
        apart = self.data.class_weight == "balanced"
        for splits in [(i,) for i in task.splits] if apart else [task.splits]:
            values = [self._values(splits, p, task, recorder) for p in task.exponents]
            with recorder.work("score", list(splits)):
                for place, i in enumerate(splits):
                    held_out, of_all = (
                        self.data.held_out(i),
                        np.concatenate([of_exponent[place] for of_exponent in values]),
                    )
                    found = held_out.score_values(of_all, task.on_scores(recorder, i))
                    task.record(recorder, i, found.reshape(len(task.exponents), len(task.Cs)))
        return ()

    def _values(self, splits, exponent, task, recorder):
        """Return decision values (C, K, held-out rows) of every split."""
        whole, K, Cs = self.data.training, len(self.data.training.labels), task.Cs
        costs = whole.weight * self.data.factors(self.data.splits[splits[0]][0])[whole.codes]
        with recorder.work("fit", list(splits)):
            regularizers = self._regularizers(splits, exponent, costs)
        out = [np.empty((len(Cs), K, len(self.data.splits[i][1]))) for i in splits]
        cells = np.array([[f, k, f if len(regularizers) > 1 else 0] for f in range(len(splits)) for k in range(K)])
        for block in split(len(cells), len(Cs) * whole.X.shape[1], SPARSE_BATCH):
            with recorder.work("fit", list(splits)):
                batch = Batch(
                    Sparse(whole.X), whole.labels, costs, np.asarray(Cs, dtype=float), regularizers,
                    tuple(self.data.splits[i][0] for i in splits), cells[block], whole.intercept,
                )  # fmt: skip
                found = solve(batch, task.options)
            with recorder.work("score", list(splits)):
                for f in np.unique(cells[block, 0]):
                    own = np.flatnonzero(cells[block, 0] == f)
                    out[f][:, cells[block][own, 1]] = self._scores(splits[f], found.coef[own], found.intercept[own])
        return out

    def _scores(self, i, coef, intercept):
        """Return decision values (C, problems, held-out rows) of separators (problems, C, d)."""
        unseen = self.data.training.X[self.data.splits[i][1]]
        values = unseen @ coef.reshape(-1, coef.shape[2]).T + intercept.ravel()
        return values.T.reshape(*intercept.shape, -1).swapaxes(0, 1)

    def _regularizers(self, splits, exponent, costs):
        """Return B = D^(1 + p) of every training part."""
        if exponent == -1:
            return IDENTITY
        variances = []
        for i in splits:
            weight = np.zeros(len(costs))
            np.add.at(weight, self.data.splits[i][0], costs[self.data.splits[i][0]])
            variances.append(sparse_moments(self.data.training.X, weight)[1])
        B = np.array(variances) ** (1 + exponent)
        return Quadratics(np.where(B > 0, B, UNUSED))


# -- Kernel machines without whitening: all folds share the rows of one kernel matrix ------------------------------------


class KernelFolds:
    """All folds and all gammas of a kernel machine together; the tasks are one group per gamma.

    Kernel values of one gamma serve all folds, problems and Cs. Folds are masks, so held-out scores come as a by-product.
    """

    def __init__(self, data):
        self.data = data
        self._groups, self._Cs, self._searches = [], np.array([]), []

    def rounds(self, tasks) -> list[tuple[int, ...]]:
        """Return the splits of every round of racing."""
        self._prepare(tasks)
        if len(self._searches) > 1:  # no racing if splits differ in class weights or gamma
            return [tasks[0].splits]
        ((search, folds),) = self._searches
        return [tuple(folds[i] for i in some) for some in search.rounds()]

    def score(self, tasks, recorder):
        """Score the candidates of some tasks, one for each gamma, on their splits."""
        if not self._serves(tasks):
            self._prepare(tasks)
        splits, active = set(tasks[0].splits), self._active(tasks)
        for search, folds in self._searches:
            wanted = [i for i, split in enumerate(folds) if split in splits]
            with recorder.work("fit", [folds[i] for i in wanted]):
                for found in search.scores(wanted, active):
                    self._record(found, folds[found.fold], recorder)

    def _record(self, found, split, recorder):
        group = self._groups[found.kernel]
        candidates = [group.candidate(0.0, self._Cs[c]) for c in found.Cs]
        on_scores = recorder.on_scores(candidates, split)
        recorder.record(candidates, split, self.data.held_out(split).score_values(found.values, on_scores))
        recorder.progress.draw()

    def _serves(self, tasks):
        known = {id(group) for group in self._groups}
        return all(id(task.group) in known and np.isin(task.Cs, self._Cs).all() for task in tasks)

    def _active(self, tasks):
        """Return the mask (kernels, Cs) of the candidates that are still in the tasks, since `_prepare` saw all of them."""
        left = {id(task.group): task.Cs for task in tasks}
        return np.array([np.isin(self._Cs, left.get(id(group), ())) for group in self._groups])

    def _prepare(self, tasks):
        """Set up one search for all folds with the same gammas and class weights."""
        self._groups, self._searches = [task.group for task in tasks], []
        self._Cs = np.unique(np.concatenate([task.Cs for task in tasks]))
        for functions, factors, folds in self._alike(tasks):
            held_out = [self.data.splits[i][1] for i in folds]
            batch = self._batch(tasks[0], factors, folds)
            self._searches.append((KernelSearch(batch, held_out, functions, tasks[0].options), folds))

    def _alike(self, tasks):
        """Group folds with the same gammas and class weights: [(kernel functions of the tasks, class weights, folds)]."""
        groups, choices = {}, [task.group.features for task in tasks]
        given = all(isinstance(choice.gamma, Real) for choice in choices)  # else it depends on the rows of a fold
        for i in tasks[0].splits:
            if i == tasks[0].splits[0] or not given:
                part = self.data.part(i)
                functions = [choice.function(part.X, part.costs) for choice in choices]
            factors = self.data.factors(self.data.splits[i][0])
            key = (*(function and function.gamma for function in functions), *factors)
            groups.setdefault(key, (functions, factors, []))[2].append(i)
        return list(groups.values())

    def _batch(self, task, factors, folds):
        whole, features = self.data.training, task.group.features
        rows = Expansion.on(features, whole.X, whole.costs).kernel_rows(features.cache_size)
        return Batch(
            rows, whole.labels, whole.weight * factors[whole.codes], self._Cs,
            subsets=tuple(self.data.splits[i][0] for i in folds), intercept=whole.intercept,
        )  # fmt: skip


# -- Criteria from one fit on all rows instead of one per fold: the span rule and the radius-margin bound ---------------


UNDETERMINED = 1e100  # in place of an infinite decision value, so that sums exist


def span_loo(
    X: np.ndarray,
    y: np.ndarray,
    coef: np.ndarray,
    intercept: float,
    alpha: np.ndarray,
    c: np.ndarray,
    regularizer: np.ndarray | None = None,
    fit_intercept: bool = True,
) -> np.ndarray:
    """Leave-one-out decision values ``y_i f_{-i}(x_i)`` of a hinge solution, approximately and without refitting.

    The span rule (Vapnik and Chapelle 2000): leaving row p out lowers its margin by ``alpha_p S_p^2``, where S_p is the distance
    of x_p to the span of the other rows on the margin. It is exact as long as no other row leaves or joins the margin.

    Parameters
    ----------
    X, y : arrays of shapes (n, d) and (n,), labels -1 and +1
    coef, intercept, alpha : the solution
    c : array of shape (n,)
        Upper bounds of alpha.
    regularizer : array of shape (d, d), optional
        The matrix B of the problem.
    fit_intercept : bool, default=True
        Whether the solution has one.

    Returns
    -------
    ndarray of shape (n,)
    """
    margins = y * (X @ coef + intercept)
    free = (alpha > 1e-6 * c) & (alpha < (1 - 1e-6) * c)
    support = alpha > 1e-6 * c
    B = np.eye(X.shape[1]) if regularizer is None else regularizer
    L = linalg.cholesky(B, lower=True)
    Z = linalg.solve_triangular(L, X[support].T, lower=True).T  # rows in the metric of the problem
    spans = _squared_spans(Z, free[support], fit_intercept)
    out = margins.copy()
    # With no row on the margin the intercept is not determined, and leaving a row out may move it anywhere.
    out[support] = -np.inf if fit_intercept and not free.any() else out[support] - alpha[support] * spans
    return out


def _squared_spans(Z, free, fit_intercept):
    """Return squared distances of rows to the span of the other free rows; the span is affine with an intercept."""
    F = Z[free]
    if len(F) == 0:
        return np.einsum("ij,ij->i", Z, Z)
    ridge = 1e-9 * max(np.einsum("ij,ij->i", F, F).mean(), 1e-300)
    K = F @ F.T + ridge * np.eye(len(F))
    if fit_intercept:
        K = np.block([[K, np.ones((len(F), 1))], [np.ones((1, len(F))), np.zeros((1, 1))]])
    inverse = np.linalg.pinv(K, hermitian=True)
    spans = np.empty(len(Z))
    diagonal = np.diag(inverse)[: len(F)]
    spans[free] = np.where(diagonal > 0, 1.0 / np.where(diagonal > 0, diagonal, 1.0), 0.0)
    outside = Z[~free]
    cross = outside @ F.T
    if fit_intercept:
        cross = np.column_stack([cross, np.ones(len(outside))])
    spans[~free] = np.einsum("ij,ij->i", outside, outside) - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    return spans.clip(0.0)


def radius_margin_bound(radius: float, objective_terms: tuple[float, float], C: float) -> float:
    """Compute (R^2 + 1/C) (w'Bw + 2 C sum slack), the radius-margin bound of Chung et al. (2003) for the hinge loss.

    Parameters
    ----------
    radius : float
        Radius of the enclosing ball of the data, in the metric of the problem.
    objective_terms : tuple of float
        The pair (w'Bw, C sum slack).
    C : float
    """
    squared_norm, loss = objective_terms
    return (radius**2 + 1.0 / C) * (squared_norm + 2.0 * loss)


class SingleFit:
    """Fit candidates to all rows once, and score them by the span rule or the radius-margin bound."""

    def __init__(self, data):
        self.data = data

    def score(self, task, recorder):
        whole, group = self.data.training, task.group
        with recorder.work("fit", 0):
            space = group.features.explicit(group.exponents[0])
            rows = space.fit(whole.X, whole.costs)
            rows = rows.toarray() if sparse.issparse(rows) else rows
        for p in task.exponents:
            with recorder.work("fit", 0):
                family = Family.on(space, rows, whole, group.scatter, (p,), group.features.rank_tol)
                for C, value in zip(task.Cs, self._values(family, task), strict=True):
                    recorder.record([group.candidate(p, C)], 0, np.array([value]))
        return ()

    def _values(self, family, task):
        """Return the criterion for every C; larger is better."""
        whole = self.data.training
        options = replace(task.options, tol=min(task.options.tol, 1e-5), keep_alpha=True)
        found = family.fit(whole.labels, whole.costs, task.Cs, options).results
        B = family.regularizers[0]
        B = np.diag(B) if B.ndim == 1 else B
        score = self._minus_bound if self.data.criterion == "radius-margin" else self._loo_accuracy
        return [score(family.coordinates, B, C, found.at([j])) for j, C in enumerate(task.Cs)]

    def _minus_bound(self, rows, B, C, found):
        whole, coef, intercept = self.data.training, found.coef[:, 0], found.intercept[:, 0]
        radius = minimum_enclosing_ball(np.linalg.solve(np.linalg.cholesky(B), rows.T).T).radius
        losses = C * hinge_losses(rows, (coef, intercept), whole.labels, whole.costs)
        return -sum(radius_margin_bound(radius, (w @ B @ w, loss), C) for w, loss in zip(coef, losses, strict=True))

    def _loo_accuracy(self, rows, B, C, found):
        whole = self.data.training
        decision = found.coef[:, 0] @ rows.T + found.intercept
        for k, y in enumerate(whole.labels):
            J = np.flatnonzero(y)  # leaving out a row of another class changes nothing
            solution = found.coef[k, 0], found.intercept[k, 0], found.alpha[k, 0, J]
            decision[k, J] = y[J] * span_loo(rows[J], y[J], *solution, C * whole.costs[J], B, whole.intercept)
        decision = np.clip(decision, -UNDETERMINED, UNDETERMINED)
        right = whole.reduction.predict(decision.T) == whole.codes
        return whole.weight @ right / whole.weight.sum()
