"""Base class of `FSVMCV` and `AutoSVM`: score candidates, choose or average, refit on all rows, predict."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass, replace
from functools import update_wrapper
from numbers import Integral, Real
from types import MethodType
from typing import Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold, check_cv

from .._checks import ConvergenceWarning, check_choice, check_count, check_number, check_positive, check_scoring_name
from .._compat import with_callbacks
from .._types import ArrayLike, Data
from ..estimators import FSVM
from ..estimators.base import MarginEstimator, by_rows, check_linear
from ..estimators.decision import PlattCalibration
from ..estimators.family import MetricTransformerMixin
from ..estimators.features import FeatureChoice
from ..estimators.fsvm import keep_dropped
from ..outofcore.fit import keep_features, keep_history, print_pass
from ..scatter import RANK_TOL
from ..solvers import Options
from .candidates import (
    NAMES,
    Grids,
    candidate_groups,
    check_grid,
    check_kernel_names,
    kernel_specs,
    listed,
    row_rounds,
    stratified_sample,
)
from .ensemble import ByLandmarks, EnsembleFitter, SearchInChunks
from .evaluate import Racing, evaluate
from .frames import TakesTables
from .scoring import (
    HeldOutValues,
    Progress,
    Recorder,
    ScoreTable,
    SearchData,
    best_candidate,
    ensemble_weights,
    largest_problem,
    survivors,
)
from .summary import summary_of

# Parameters that the search passes on to the chosen candidate.
SHARED = (
    "rank_tol", "multi_class", "degree", "coef0", "fit_intercept", "class_weight", "tol", "max_iter", "cache_size", "n_jobs",
    "random_state",
)  # fmt: skip
# Fitted attributes that the search copies from the refitted candidate.
SHOWN = (
    "coef_", "intercept_", "components_", "objective_", "dual_objective_", "dual_gap_", "max_dual_gap_", "n_iter_",
)  # fmt: skip


@dataclass(frozen=True)
class Budget:
    """Limits of the final fit of kernel machines to many rows. A gap that they leave is no reason for a warning.

    Attributes
    ----------
    rows : int
        Up to so many there is no budget.
    tol : float
        Relative gap.
    sweeps : int
        Most steps of SMO, over the rows.
    kernel_rows : int
        Kernel machines of more rows are fitted to a stratified sample of so many.
    """

    rows: int
    tol: float
    sweeps: int
    # Instead of 256 to 2,048 landmarks of all rows: 89.35 % for 86.36 of 75,000 rows of make_classification (20 columns), 90.07 for
    # 85.12 of 200,000, but 81.63 for 81.81 of 75,000 waves (benchmarks/scale.py), in 1.1 to 1.3 times the time.
    kernel_rows: int = 50_000


WORTH_A_WARNING = 0.1  # relative gap of a fit within a budget


class NeedsProbabilities:
    """Decorator of a method that exists only with ``probability=True``; unlike `available_if` it keeps the reason as the error."""

    def __init__(self, func):
        self.func = func
        update_wrapper(self, func)

    def __get__(self, search, owner=None):
        if search is None:
            return self.func
        if not search.probability or (hasattr(search, "_model") and not hasattr(search, "_sigmoids")):
            raise AttributeError(
                f"{type(search).__name__}.{self.func.__name__} needs probability=True before fit: the search then keeps the scores "
                "it is made of."
            )
        return MethodType(self.func, search)


class SearchEstimator(TakesTables, MetricTransformerMixin, MarginEstimator):
    """Classifier that searches over candidates, and averages the near-best ones or takes the best.

    The class attributes are the parameters of the search with their defaults. A subclass declares as fields those that its
    users may set; `FSVMCV` describes them.
    """

    _accepts_sparse = True
    _private_fitted = ("_model", "_sigmoids", "_directions", "_means")

    Cs = 10
    whitening = None
    rank_tol = RANK_TOL
    scatter = "total"
    multi_class = None
    eta = 0.0
    combine = "average"
    band = 1.5
    kernel = "linear"
    gamma = "scale"
    degree = 3
    coef0 = 0.0
    n_components = None
    criterion = "cv"
    cv = 5
    race = True
    scoring = None
    refit = True
    probability = False
    n_jobs = None
    fit_intercept = True
    class_weight = None
    tol = 1e-6
    cv_tol = None
    max_iter = 1000
    random_state = None
    verbose = 0
    subsample = 100_000
    cache_size = 500.0

    _budget: Budget | None = None

    def __new__(cls, *args, **kwargs):
        if "C" in kwargs:
            raise TypeError(
                f"{cls.__name__} searches for C: FSVMCV(Cs=[...]) takes the values to try, and FSVM(C=...) a single one."
            )
        return super().__new__(cls)

    # -- fitting ------------------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self,
        X: Data,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Score every candidate, then fit the chosen ones to all rows.

        Rows may come in chunks, as in `FSVM`; candidates are then scored on a subsample, and `cv` must be a number of folds.
        `groups` is passed to the splitter. On Ctrl-C `cv_results_` keeps the finished scores, and the interrupt is raised again.
        """
        self._reset()
        self._check_parameters()
        chunks = SearchInChunks.of(self, (X, y, sample_weight), self._in_pairs) if self._reads_chunks(X) else None
        training = self._sampled(chunks, X, groups) if chunks else self._check_training(X, y, sample_weight)
        specs = self._kernel_specs(training, linear_alone=chunks is not None and self._budget is None)
        progress, table = Progress(self), None
        with progress.whole():
            for rows in self._row_rounds(training, specs):
                data = self._search_data(training, rows, specs, sample_weight, groups)
                table, held_out = self._search_round(specs, data, progress, table)
            if not self.refit:
                return self
            start = time.perf_counter()
            progress.begin_refit(len(training.codes))
            with progress.task("refit"):
                task = training, specs, table
                shares = self._refit_chunks(chunks, *task) if chunks else self._refit(*task, held_out)
                if held_out:
                    self.oof_score_ = held_out.score(shares)
                if held_out and self.probability:
                    self._sigmoids = self._calibrated(data.training, held_out, shares)
            self.refit_time_ = time.perf_counter() - start
        rows = np.inf if chunks else largest_problem(training)
        kernels = any(member.get("kernel", self.kernel) != "linear" for member in self.members_)
        kept_to = kernels and self._options_of_kernels(rows) != self._options
        self._warn_unless_converged(WORTH_A_WARNING if kept_to else float(self.tol))
        return self

    def _sampled(self, chunks, X, groups):
        """Return the subsample on which candidates are scored if rows come in chunks."""
        if groups is not None:
            raise ValueError(
                f"groups need rows in memory: of rows in chunks, {type(self).__name__} scores candidates on a random subsample."
            )
        training = self._check_training(*chunks.subsample(int(self.subsample)))
        keep_features(self, X, training.X.shape[1])  # the subsample has no feature names
        return training

    def _search_round(self, specs, data, progress, earlier):
        """Score candidates on the rows of a round: all, or those that the table of an `earlier` round leaves."""
        progress.begin_round(len(data.splits), len(data.training.codes))
        table = ScoreTable(len(data.splits), len(data.training.codes))
        among = survivors(earlier, self.band) if earlier else None
        if earlier:
            table.keep_eliminated(earlier, set(among))
        held_out = HeldOutValues(data) if self.refit and self.criterion == "cv" else None
        racing = Racing.of(data, self.band) if self.race else None
        recorder = Recorder(table, progress, [one for one in (held_out, racing) if one])
        self._evaluate(specs, data, recorder, racing, among)
        return table, held_out

    def _evaluate(self, specs, data, recorder, racing, among):
        try:
            evaluate(specs, Grids.of(self), data, recorder, self._options, racing, among)
        except KeyboardInterrupt:
            self._report_interrupted(recorder, specs)
            raise
        self._report(recorder, specs)

    def _kernel_specs(self, training, linear_alone):
        specs = kernel_specs(FeatureChoice.of(self), Grids.of(self), training, linear_alone=linear_alone)
        return [replace(spec, tol=float(self.cv_tol)) for spec in specs] if self.cv_tol else specs

    @property
    def _options(self):
        """Solver options of the final fit."""
        return Options(float(self.tol), int(self.max_iter), self.n_jobs)

    def _options_of_kernels(self, rows):
        """Solver options of the final fit of kernel machines, whose largest binary problem has so many rows."""
        if self._budget is None or rows <= self._budget.rows:
            return self._options
        return replace(self._options, tol=self._budget.tol, max_iter=self._budget.sweeps)

    def _rows_for_kernels(self, training, rows):
        """Return the rows that kernel machines are fitted to in the end; None is all of them."""
        if self._budget is None or rows <= self._budget.kernel_rows or self.kernel == "precomputed":
            return None
        return stratified_sample(training.codes, len(training.codes) * self._budget.kernel_rows // rows)

    def _row_rounds(self, training, specs):
        """Return the rows of every round; all rows for one kernel, a splitter, or a criterion without folds."""
        if len(specs) == 1 or not isinstance(self.cv, Integral) or self.criterion != "cv":
            return [None]
        return row_rounds(training.codes)

    def _search_data(self, training, rows, specs, sample_weight, groups):
        precomputed = specs[0].features.is_precomputed
        if rows is not None:
            training = training.at(rows)
        splits = self._splits(training, sample_weight, groups)
        return SearchData(training, splits, self.classes_, self.class_weight, self.scoring, self.criterion, precomputed)

    def _report_interrupted(self, recorder, specs):
        table = recorder.table
        table.remove_unfinished()
        if table.standing() and table.finished().any():
            self._report(recorder, specs)
            warnings.warn(
                f"interrupted: cv_results_ holds {len(table.scores)} candidates on {int(table.finished().sum())} of "
                f"{table.n_splits} splits",
                stacklevel=4,
            )

    def _report(self, recorder, specs):
        searched = ["C", "whitening", "scatter", "eta"]
        if not all(spec.features.is_linear for spec in specs):
            searched += ["gamma", "n_components"]
        if len(specs) > 1:
            searched.insert(0, "kernel")
        table = recorder.table
        self.cv_results_ = table.cv_results(searched, recorder.progress.seconds)
        self.Cs_ = np.unique([c.C for c in table.scores])
        done = table.finished()
        self.scores_ = table.values()[:, done]
        best = best_candidate(table)
        self.n_splits_, self.best_index_ = int(done.sum()), table.candidates().index(best)
        self.C_, self.best_params_ = best.C, best.params(searched)
        self.best_score_ = float(table.scores[best][done].mean())

    # -- refitting ----------------------------------------------------------------------------------------------------

    def _refit(self, training, specs, table, held_out):
        """Fit the chosen candidates to all rows; return the factor of each candidate's scores."""
        best = best_candidate(table)
        if self.combine == "best" and len(specs) == 1 and specs[0].scaling is None:
            self._refit_best((training.X, self.classes_[training.codes], training.weight), best)
            return {best: 1.0}
        rows = largest_problem(training)
        weights = {best: 1.0} if self.combine == "best" else ensemble_weights(table, self.band, rows, held_out)
        groups = [group for spec in specs for group in candidate_groups(Grids.of(self), spec)]
        sample = self._rows_for_kernels(training, rows) if any(c.kernel != "linear" for c in weights) else None
        fitter = EnsembleFitter(training, self._options, self._options_of_kernels(rows), sample)
        found = fitter.fit(weights, groups)
        return self._keep_ensemble(found, weights, specs)

    def _refit_chunks(self, chunks, sample, specs, table):
        """Fit the chosen candidates to rows in chunks; return the factor of each candidate's scores."""
        best = best_candidate(table)
        if self.combine == "best" and best.kernel == "linear":
            self._refit_best((chunks.training.source,), best)
            self.n_passes_, self.history_ = 1 + self.best_estimator_.n_passes_, self.best_estimator_.history_
            return {best: 1.0}
        weights = {best: 1.0} if self.combine == "best" else chunks.weights(table, self.band)
        groups = [group for spec in specs for group in candidate_groups(Grids.of(self), spec)]
        by_landmarks = ByLandmarks(groups, sample, self._options_of_kernels(np.inf))
        found, runs = chunks.fit_ensemble(weights, self._options, print_pass(self), float(self.rank_tol), by_landmarks)
        keep_history(self, [result for results in runs for result in results])
        self.n_passes_ = sum(1 + max(len(result.history) for result in results) for results in runs)
        return self._keep_ensemble(found, weights, specs)

    def _keep_ensemble(self, found, weights, specs):
        self._model, self._directions = found.model, found.directions
        self.members_ = [c.params(self.best_params_) | {"weight": weight} for c, weight in weights.items()]
        self._certify(found.certificate)
        keep_dropped(self, found.n_dropped)
        if len(specs) == 1 and specs[0].features.is_linear:
            (part,) = found.model.parts
            self.coef_, self.intercept_ = part.coef, part.intercept
            self.components_ = self._directions.T @ part.coef
        return found.shares

    def _refit_best(self, rows, candidate):
        """Fit the chosen candidate as an `FSVM`, and copy its fitted attributes."""
        of_kernel = () if candidate.gamma is None else ("gamma", "n_components")
        shared = {name: getattr(self, name) for name in SHARED}
        model = FSVM(**candidate.form, kernel=candidate.kernel, **candidate.params(of_kernel), **shared)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "FSVM stopped", ConvergenceWarning)  # the search warns itself
            model.fit(*rows)
        if hasattr(self, "encoder_"):
            model.feature_names_in_ = self.encoder_.get_feature_names_out()
        elif hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        self.best_estimator_, self._model = model, model.decision_model
        self.members_ = [self.best_params_ | {"weight": 1.0}]
        keep_dropped(self, model.n_dropped_)
        for name in SHOWN:
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def _calibrated(self, training, held_out, shares):
        rows = held_out.rows
        return PlattCalibration.fit(
            held_out.mean(shares), training.codes[rows], training.weight[rows], training.reduction
        )

    # -- prediction -------------------------------------------------------------------------------------------------

    def _fitted_model(self):
        if hasattr(self, "cv_results_") and not hasattr(self, "_model"):
            raise NotFittedError(
                f"This {type(self).__name__} has scores but no model to predict with: refit=False, or its fit was interrupted."
            )
        return super()._fitted_model()

    @NeedsProbabilities
    @by_rows
    def predict_proba(self, X: Data) -> np.ndarray:
        """Return probabilities of the classes, in the order of `classes_`; needs ``probability=True``.

        Platt calibration of every binary problem on the held-out scores of the search. Pairs of several classes are coupled, and
        one temperature, fitted to the same rows, corrects how certain they are.
        No class is more probable than the one that `predict` gives.
        """
        model = self._fitted_model()
        return model.of_scores(self._sigmoids.agreeing, self._validated(X))

    @NeedsProbabilities
    def predict_log_proba(self, X: Data) -> np.ndarray:
        """Return the logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    def summary(self) -> str:
        """Describe the fitted model: kernels with their weights, candidates and held-out scores, and the certified gap.

        Returns
        -------
        str
            Lines of text, which an interactive session shows as they are.
        """
        self._fitted_model()
        return summary_of(self)

    @by_rows
    def transform(self, X: Data) -> np.ndarray:
        """Map rows to coordinates of the learned metric: that of the best candidate, or of the averaged separators."""
        X = self._validated(X)
        if not hasattr(self, "_directions"):
            return self._model.space.scores(X, self.best_estimator_.components_)
        return (self._model.scores(X) - self._model.intercept) @ self._directions

    @property
    def _n_features_out(self):
        return self._directions.shape[1] if hasattr(self, "_directions") else len(self.best_estimator_.components_)

    # -- checks and splits -----------------------------------------------------------------------------------------------------

    def _check_parameters(self):
        check_kernel_names(self.kernel)
        check_scoring_name(self.scoring)
        check_choice("combine", self.combine, ("average", "best"))
        check_choice("multi_class", self.multi_class, (None, "ovo", "ovr"))
        check_choice("criterion", self.criterion, ("cv", "loo", "radius-margin"))
        check_number("band", self.band, 0)
        check_number("rank_tol", self.rank_tol, 0, 1)
        check_positive("tol", self.tol)
        if self.cv_tol is not None:
            check_positive("cv_tol", self.cv_tol)
        check_count("max_iter", self.max_iter)
        check_count("subsample", self.subsample)
        for name in ("Cs", "whitening", "eta", "gamma", "n_components"):
            check_grid(name, getattr(self, name))
        if isinstance(self.Cs, Integral):
            check_number("Cs", self.Cs, 1)
        else:
            for C in listed(self.Cs):
                check_positive("Cs", C)
        for p in listed(self.whitening) if self.whitening is not None else ():
            check_number("whitening", p, -1, 1, high_allowed=True)
        for eta in listed(self.eta):
            check_number("eta", eta, 0)
        check_choice("scatter", self.scatter, ("total", "within"))
        if self.criterion != "cv" and self.probability:
            raise ValueError(
                f"probability=True needs criterion='cv' for its held-out scores, got criterion={self.criterion!r}."
            )
        if self.criterion != "cv" and any(eta > 0 for eta in listed(self.eta)):
            raise ValueError(f"criterion={self.criterion!r} needs eta=0, got {self.eta!r}.")

    def _check_chunks(self):
        named = isinstance(self.kernel, (list, tuple)) or self.kernel in NAMES
        if not (isinstance(self.kernel, str) and self.kernel == "auto") and not (self._budget and named):
            check_linear(self)
        if any(eta > 0 for eta in listed(self.eta)):
            raise ValueError(f"{type(self).__name__} takes rows in chunks only with eta=0, got eta={self.eta!r}.")
        if not isinstance(self.cv, Integral):
            raise ValueError(
                f"cv must be a number of folds for rows in chunks, got {self.cv!r}: {type(self).__name__} scores candidates on a random "
                "subsample there, whose rows a splitter does not know. Or fit to an array in memory."
            )

    def _splits(self, training, sample_weight, groups):
        """Return (train, test) row indices of every split, without rows of weight zero."""
        weighted = np.flatnonzero(training.weight)
        if self.criterion != "cv":
            return [(weighted, weighted)]
        if isinstance(self.cv, Integral):
            return [(weighted[train], weighted[test]) for train, test in self._folds(training.codes[weighted])]
        given = sample_weight is None or isinstance(sample_weight, Real)
        splits = list(
            self._given_splits(training, len(training.kept) if given else len(np.asarray(sample_weight)), groups)
        )
        if not splits:
            raise ValueError("cv must give at least one split, got none.")
        return splits

    def _folds(self, codes):
        """Yield stratified folds. The row of a class that has no other is in all training parts, and never held out."""
        counts = np.bincount(codes)
        several, alone = counts >= 2, np.flatnonzero(counts[codes] == 1)
        if several.sum() < 2 or (len(alone) and self.scoring not in (None, "accuracy")):
            shown = ", ".join(map(repr, self.classes_[~several].tolist()[:5]))
            needs = (
                "rows of two classes" if several.sum() < 2 else f"rows of every class, with scoring={self.scoring!r}"
            )
            raise ValueError(
                f"cross-validation needs {needs} to learn from and to test on, and there is a single row of {shown}: leave it out, "
                "join classes, or fit FSVM, which chooses nothing."
            )
        rows = np.flatnonzero(several[codes])
        n_splits = int(min(self.cv, counts[several].min()))
        shuffle = self.random_state is not None
        folds = StratifiedKFold(n_splits, shuffle=shuffle, random_state=self.random_state)
        for train, test in folds.split(rows, codes[rows]):
            yield np.sort(np.concatenate([rows[train], alone])) if len(alone) else rows[train], rows[test]

    def _given_splits(self, training, n_rows, groups):
        """Yield the splits of a given splitter, whose indices count all rows passed to `fit`, those of weight zero too."""
        codes, kept, weighted = training.codes, training.kept, np.flatnonzero(training.weight)
        place, labels = np.full(n_rows, -1), np.zeros(n_rows, dtype=int)
        place[kept[weighted]], labels[kept] = weighted, codes
        for i, pair in enumerate(check_cv(self.cv, labels, classifier=True).split(labels, labels, groups)):
            train, test = (place[np.asarray(part)] for part in pair)  # masks and negative indices too
            train, test = train[train >= 0], test[test >= 0]
            absent = np.bincount(codes[train], minlength=len(self.classes_)) == 0
            if absent.any():
                missing = self.classes_[absent].tolist()
                raise ValueError(f"cv: split {i} has no training rows of class {missing}; use a stratified splitter.")
            if not len(test):
                raise ValueError(f"cv: split {i} has no test rows of positive weight; leave it out.")
            yield train, test
