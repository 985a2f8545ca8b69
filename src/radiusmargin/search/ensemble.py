"""Fit the chosen candidates to all rows, kernel machines to a sample of very many, and average them.

Each candidate's scores are divided by their root mean square, so that none outweighs the others. `EnsembleFitter` is for rows in
memory, `SearchInChunks` for rows in chunks.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from scipy import sparse

from .._blocks import split
from .._linalg import eigh, qr
from ..estimators.base import TrainingData
from ..estimators.decision import Ensemble, LinearModel
from ..estimators.expansion import certificate_of, fit_expansion
from ..estimators.family import RANK, Family
from ..estimators.features import Raw
from ..estimators.shared_rows import shared_rows
from ..outofcore.fit import ChunkedTraining
from ..scatter import with_positive_pivots
from ..solvers import Options
from ..solvers.result import Certificate
from .candidates import Candidate
from .fold_strategies import fit_smoothed
from .landmarks import choose_landmarks, fit_landmarks
from .scoring import BLOCK, FITTED_ROWS, ensemble_weights

LEAST_ROWS = 64  # per block of scores


@dataclass(frozen=True, eq=False)
class FittedEnsemble:
    """The averaged model, with the certificate summed over its candidates.

    `directions` (K, rank) map the scores of the problems to coordinates of the learned metric. `shares` are the factors of the
    candidates' scores: weight over root mean square. `n_dropped` is the most directions that a candidate left out.
    """

    model: Ensemble
    directions: np.ndarray
    shares: dict[Candidate, float]
    certificate: Certificate
    n_dropped: int


class EnsembleFitter:
    """Fit candidates to the training rows and average their scores; averaged linear candidates become one linear model.

    Parameters
    ----------
    training : TrainingData
    options : Options
    of_kernels : Options, optional
        For kernel machines, where they differ.
    rows : ndarray, optional
        Numbers of the rows that kernel machines are fitted to; default: all.
    """

    def __init__(self, training, options, of_kernels=None, rows=None):
        self.training, self.options, self.of_kernels = training, options, of_kernels or options
        self.sample = training if rows is None else training.at(rows)
        self.rows = slice(None) if rows is None else rows
        self.n_dropped = 0
        self.supports = np.zeros(len(training.codes), dtype=bool)  # rows that are support vectors

    def fit(self, weights, groups) -> FittedEnsemble:
        """Fit the candidates that have weights, and average them."""
        parts, shares, certificate, scores = [], {}, Certificate(), 0.0
        for group in groups:
            own = {c: weights[c] for c in sorted(weights, key=lambda c: (c.whitening, c.C)) if group.holds(c)}
            if own:
                fit, training = self._explicit, self.training
                if group.is_expansion:
                    fit, training = self._expansion, self.sample
                part, own_scores, own_shares, own_certificate = fit(group.spec.training(training), group, own)
                parts.append(replace(part, space=group.spec.space(part.space)))
                scores, certificate = scores + own_scores, certificate + own_certificate
                shares |= zip(own, own_shares, strict=True)
        model = Ensemble(_joined(parts), shared_rows(parts, self.training.X, self.supports))
        directions = _directions(self._spread(model.parts, scores))
        return FittedEnsemble(model, directions, shares, certificate, self.n_dropped)

    def _explicit(self, training, group, weights):
        """Fit candidates that share explicit features; return (model, its scores on the sample, shares, certificate)."""
        candidates, costs = list(weights), training.costs
        space = group.features.explicit(group.exponents[0])
        rows = space.fit(training.X, costs)
        fit = self._smoothed if group.eta > 0 else self._family
        coef, intercept, certificate = fit(space, rows, group, candidates)
        shares = over_sizes(weights, self._sizes(rows, coef, intercept))
        coef, intercept = np.einsum("mkd,m->kd", coef, shares), np.einsum("mk,m->k", intercept, shares)
        model = LinearModel(space, coef, intercept, training.reduction)
        # Scores of linear models of the data are formed once for all groups, if at all.
        return model, 0.0 if isinstance(space, Raw) else rows[self.rows] @ coef.T, shares, certificate

    def _spread(self, parts, scores):
        """Return rows (., K) whose second moment is the covariance of the scores, which come from kernels and linear models."""
        X, weight = self.sample.X, self.sample.costs
        linear = [part.coef for part in parts if isinstance(part.space, Raw)]
        if linear and len(parts) == 1 and not sparse.issparse(X) and len(X) > X.shape[1]:
            return qr(_centred(X, weight), mode="r") @ linear[0].T
        return _centred(scores + sum(np.asarray(X @ coef.T) for coef in linear), weight)

    def _family(self, space, rows, group, candidates):
        training, found = self.training, []
        for exponent, own in groupby(candidates, key=lambda c: c.whitening):
            family = Family.on(space, rows, training, group.scatter, (exponent,), group.features.rank_tol)
            self.n_dropped = max(self.n_dropped, family.scatter.n_dropped)
            found.append(family.fit(training.labels, training.costs, [c.C for c in own], self.options))
        certificates = [Certificate.of(f.objective, f.dual_objective, f.results.n_iter) for f in found]
        coef, intercept = (np.concatenate([getattr(f, name)[0] for f in found]) for name in ("coef", "intercept"))
        return coef, intercept, sum(certificates, Certificate())

    def _smoothed(self, space, rows, group, candidates):
        rank_tol = group.features.rank_tol
        models = [fit_smoothed(c, space, rows, self.training, self.options, rank_tol) for c in candidates]
        self.n_dropped = max(self.n_dropped, *(m.n_dropped_ for m in models))
        certificates = [Certificate(m.objective_, m.dual_objective_, m.n_iter_, m.max_dual_gap_) for m in models]
        coef, intercept = (np.array([getattr(m, name) for m in models]) for name in ("coef_", "intercept_"))
        return coef, intercept, sum(certificates, Certificate())

    def _expansion(self, training, group, weights):
        """Fit kernel machines of one gamma; return the same as `_explicit`."""
        Cs, costs = [c.C for c in weights], training.costs
        binary = (
            len(training.labels) == 1
        )  # else each problem evaluates the kernel on its own rows only, which is quicker
        space, found = fit_expansion(group.features, training, Cs, self.of_kernels, keep_scores=binary)
        scores = found.scores if binary else _scores(space, training.X, found)
        sizes = np.sqrt((scores**2 @ costs / costs.sum()).mean(axis=0))
        shares = over_sizes(weights, sizes)
        coef, intercept = np.einsum("kcn,c->kn", np.asarray(found.coef), shares), found.intercept @ shares
        support = np.flatnonzero(coef.any(axis=0))
        coef = np.ascontiguousarray(coef[:, support])
        self.supports[support] = True
        model = LinearModel(space.part(support), coef, intercept, training.reduction)
        return model, np.einsum("kcn,c->nk", scores, shares) - intercept, shares, certificate_of(found)

    def _sizes(self, rows, coef, intercept):
        """Return root mean squares of the scores of candidates with separators (M, K, d)."""
        (M, K, d), costs = coef.shape, self.training.costs
        squares = np.zeros((M, K))
        for some in split(M, LEAST_ROWS * K, BLOCK):
            separators, constants = coef[some].reshape(-1, d).T, intercept[some].ravel()
            for block in split(rows.shape[0], len(constants), BLOCK):
                decision = np.asarray(rows[block] @ separators) + constants
                squares[some] += (costs[block] @ decision**2).reshape(-1, K)
        return np.sqrt(squares.mean(axis=1) / costs.sum())


def landmark_scores(space, X, found, weights, costs):
    """Return the weighted sum (n, K) of the scores of candidates on training rows, without intercepts, and their shares."""
    C, K, m = found.coef.shape
    scores = space.scores(X, found.coef.reshape(C * K, m)).reshape(-1, C, K)
    shares = over_sizes(
        weights,
        np.sqrt((costs @ (scores + found.intercept).reshape(len(X), -1) ** 2 / costs.sum()).reshape(C, K).mean(axis=1)),
    )
    return np.einsum("nck,c->nk", scores, shares), shares


def _scores(space, X, found):
    """Return decision values (K, C, n) of kernel machines on the training rows."""
    K, C, n = found.coef.shape
    support = np.unique(found.coef.matrix.indices)
    values = space.part(support).scores(X, found.coef.matrix[:, support].toarray())
    return values.T.reshape(K, C, n) + found.intercept[..., None]


def over_sizes(weights, sizes):
    """Divide the weights of candidates by the sizes of their scores; zero for a candidate whose scores are all zero."""
    return np.divide(list(weights.values()), sizes, out=np.zeros(len(sizes)), where=sizes > 0)


def _joined(parts):
    """Merge the linear models of the data into one; keep the others."""
    raw = [part for part in parts if isinstance(part.space, Raw)]
    if len(raw) < 2:
        return tuple(parts)
    whole = replace(raw[0], coef=sum(part.coef for part in raw), intercept=sum(part.intercept for part in raw))
    return (whole, *(part for part in parts if not isinstance(part.space, Raw)))


def _centred(rows, weight):
    """Centre rows at their weighted mean, and multiply them by the roots of their shares of the weight."""
    p = weight / weight.sum()
    return np.sqrt(p)[:, None] * (rows - p @ rows)


def _directions(Z):
    """Return `directions_of` the covariance Z'Z; if Z has fewer rows than columns, from ZZ'."""
    if len(Z) >= Z.shape[1]:
        return directions_of(Z.T @ Z)
    unit = _over_deviations(np.linalg.norm(Z, axis=0))
    Z = Z * unit
    values, axes = eigh(Z @ Z.T)
    kept = values > RANK * max(values[-1], 0.0)
    return _positive(unit, Z.T @ (axes[:, kept] / np.sqrt(values[kept])))


def directions_of(covariance):
    """Return the map from scores to coordinates of their mean metric: scores of unit variance, largest direction first."""
    unit = _over_deviations(np.sqrt(np.diag(covariance)))
    values, axes = eigh(unit[:, None] * covariance * unit)
    return _positive(unit, axes[:, values > RANK * max(values[-1], 0.0)])


def _over_deviations(deviation):
    return np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0) / np.sqrt(len(deviation))


def _positive(unit, axes):
    """Order directions from the largest, in the units of the scores, with positive pivots."""
    return unit[:, None] * with_positive_pivots(axes[:, ::-1].T).T


# -- Rows in chunks: candidates are scored on a subsample, and the chosen ones are fitted to all rows ----------------------


MOST_CANDIDATES_IN_CHUNKS = (
    5  # in an average: each costs work in every pass, and with many rows nearly all are near-best
)
RARE = 0.1  # share of a subsample that is divided equally among the classes, however rare they are


@dataclass(frozen=True, eq=False)
class ByLandmarks:
    """Inputs of kernel machines on rows in chunks: candidate groups, a sample in memory, solver options."""

    groups: list
    sample: TrainingData
    options: Options


@dataclass(frozen=True, eq=False)
class SearchInChunks:
    """The data of a search whose rows come in chunks, after the first pass over them.

    Attributes
    ----------
    training : ChunkedTraining
    """

    training: ChunkedTraining

    @classmethod
    def of(cls, search, data, pairs) -> SearchInChunks:
        """Read (X, y, sample_weight) of a search once."""
        rows = 2 * int(search.subsample)
        return cls(ChunkedTraining.of(search, data, pairs=pairs, full=True, least_rows=rows))

    def subsample(self, rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (X, y, weight) of random rows; rare classes are oversampled, with smaller weights."""
        overview = self.training.summary
        classes, samples = overview.classes, overview.samples()
        counts = np.array([moments.rows for moments in overview.moments()])
        rate = min(1.0, rows / counts.sum(), *(sample.threshold for sample in samples))
        rates = np.maximum(rate, np.minimum(1.0, RARE * rows / len(classes) / counts))
        parts = [sample.below(r) for sample, r in zip(samples, rates, strict=True)]
        weights = [part.weight * (rate / part.threshold) for part in parts]
        y = np.repeat(classes, [len(part) for part in parts])
        # In the order of their keys, so that folds without a shuffle are random.
        order = np.argsort(np.concatenate([part.keys for part in parts]), kind="stable")
        return np.concatenate([part.X for part in parts])[order], y[order], np.concatenate(weights)[order]

    @staticmethod
    def weights(table, band) -> dict:
        """Choose the near-best candidates: of linear ones at most the best five, of every other kernel the best."""
        chosen = ensemble_weights(table, band, FITTED_ROWS)
        linear = [c for c in chosen if c.kernel == "linear"]
        best = sorted(linear, key=lambda c: (-table.scores[c].mean(), c.preference))[:MOST_CANDIDATES_IN_CHUNKS]
        share = sum(chosen[c] for c in linear) / max(1, len(best))
        return dict.fromkeys(best, share) | {c: weight for c, weight in chosen.items() if c.kernel != "linear"}

    def fit_ensemble(self, weights, options, on_pass, rank_tol, by_landmarks=None) -> tuple[FittedEnsemble, list]:
        """Fit candidates to all rows, average them, and return the results of all problems for every run of passes.

        Linear candidates are fitted in the same passes, kernel machines of one gamma in passes of their own. `on_pass` is
        called after every pass, unless it is None; `by_landmarks` is needed for kernel machines only.
        """
        linear = {c: weight for c, weight in weights.items() if c.kernel == "linear"}
        found, runs = FittedEnsemble(Ensemble(()), None, {}, Certificate(), 0), []
        if linear:
            found, results = self._fit_linear(linear, options, on_pass, rank_tol)
            runs.append(results)
        if len(linear) == len(weights):
            return found, runs
        sample = by_landmarks.sample
        parts, shares, certificate = list(found.model.parts), dict(found.shares), found.certificate
        scores = sum(part.space.scores(sample.X, part.coef) for part in parts)
        for group in by_landmarks.groups:
            own = {c: weight for c, weight in weights.items() if c.kernel != "linear" and group.holds(c)}
            if own:
                part, own_scores, own_shares, fit = self._fit_landmarks(group, own, by_landmarks, on_pass)
                parts.append(part)
                scores, certificate = scores + own_scores, certificate + fit.certificate
                shares |= zip(own, own_shares, strict=True)
                runs.append(fit.results)
        directions = _directions(_centred(scores, sample.costs))
        return FittedEnsemble(Ensemble(tuple(parts)), directions, shares, certificate, found.n_dropped), runs

    def _fit_landmarks(self, group, weights, by_landmarks, on_pass):
        """Fit kernel machines of one gamma; return the model, its scores on the sample, shares and the fit."""
        training, sample, options = self.training, group.spec.training(by_landmarks.sample), by_landmarks.options
        Cs = [c.C for c in weights]
        landmarks = choose_landmarks(group.features, sample, Cs[0], options, group.spec.scaling)
        fit = fit_landmarks(training.source, training, landmarks, Cs, options, on_pass)
        scores, shares = landmark_scores(landmarks.space, sample.X, fit, weights, sample.costs)
        coef, intercept = np.einsum("ckm,c->km", fit.coef, shares), shares @ fit.intercept
        model = LinearModel(group.spec.space(landmarks.space), coef, intercept, training.reduction)
        return model, scores, shares, fit

    def _fit_linear(self, weights, options, on_pass, rank_tol):
        training, candidates = self.training, list(weights)
        scatters = {kind: training.scatter(kind, rank_tol) for kind in {c.scatter for c in candidates}}
        forms = [training.tempered(scatters[c.scatter], float(c.whitening)) for c in candidates]
        Cs = [float(c.C) for c in candidates]
        found = training.solve(list(zip(Cs, forms, strict=True)), options, on_pass)
        results = [result for own in found for result in own]
        coef = np.array([[r.coef for r in own] for own in found])
        intercept = np.array([[r.intercept for r in own] for own in found])
        shares = over_sizes(weights, self._sizes(coef, intercept))
        coef, intercept = np.einsum("mkd,m->kd", coef, shares), np.einsum("mk,m->k", intercept, shares)
        moments = training.moments
        directions = directions_of(coef @ moments.scatter @ coef.T / moments.total)
        model = LinearModel(Raw(), coef, intercept, training.reduction)
        certificate = Certificate.of(*np.array([(r.objective, r.dual_objective, r.n_iter) for r in results]).T)
        shares = dict(zip(candidates, shares, strict=True))
        n_dropped = max(scatters[c.scatter].n_dropped if c.whitening > 0 else 0 for c in candidates)
        return FittedEnsemble(Ensemble((model,)), directions, shares, certificate, n_dropped), results

    def _sizes(self, coef, intercept):
        """Compute root mean squares of the candidates' scores on all rows from the moments of the rows."""
        moments = self.training.moments
        variance = np.einsum("mkd,de,mke->mk", coef, moments.scatter, coef) / moments.total
        squares = variance + (coef @ moments.mean + intercept) ** 2
        return np.sqrt(squares.mean(axis=1))


__all__ = ["SearchInChunks"]
