"""FSVMCV: the family with its hyper-parameters chosen, or averaged over, in the time others fit once."""

from __future__ import annotations

import time
import warnings
from itertools import product
from numbers import Integral, Real

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import RepeatedStratifiedKFold, check_cv
from sklearn.utils.validation import check_is_fitted

from .._compat import with_callbacks
from ..kernels import KernelMap, LeadingFeatures
from ..models.base import MarginClassifier, check_choice, check_number, linear_scores
from ..models.fsvm import FSVM
from ..solvers._validation import check_count
from ..solvers.result import relative_gap
from .evaluation import Evaluation
from .family import blocks
from .features import check_grid, feature_sets, listed

FITTED = (
    "_parts", "coef_", "intercept_", "best_estimator_", "members_", "objective_", "dual_objective_", "dual_gap_", "n_iter_",
    "cv_results_", "scores_", "refit_time_", "C_", "Cs_", "best_index_", "best_params_", "best_score_", "n_splits_",
)  # fmt: skip


class FSVMCV(MarginClassifier):
    """`FSVM` that chooses C and the strength of whitening by itself.

    All folds, classes, exponents and values of C are solved in batched compiled calls. The near-best members are
    averaged (``combine="average"``) or the best one is taken (``combine="best"``). No scaling of the features is
    needed.

    Parameters
    ----------
    Cs : int or list of float, default=10
        Values of C, or how many to choose from the data; a chosen range grows when the best C lies at its edge.
    whitening : float, list or None, default=None
        Exponents of the scatter: 0 is the SVM on standardised features, 1 is F-SVM. None is (0, 0.25, 0.5, 0.75, 1), but
        0 alone with a kernel, whose features are many: there whitening costs time and gains nothing.
    scatter : {"total", "within"} or a list of both, default="total"
    multi_class : {"ovo", "ovr"}, default="ovo"
        More than two classes as pairs, or each against the rest; see `FSVM`.
    eta, gamma, n_components : a value or a list, default=0.0, "scale", None
        Further grids; see `FSVM`. A kernel map is computed once per fold and gamma.
    combine : {"average", "best"}, default="average"
        Average the members whose score is within `band` standard errors of the best, each divided by the root mean
        square of its decision values; for a linear model the average is again one linear model. Or pick the best;
        equals go to less whitening, then to smaller C.
    band : float, default=1.0
    kernel, degree, coef0
        As in `FSVM`.
    criterion : {"cv", "loo", "radius-margin"}, default="cv"
        Score by cross-validation; by the span rule's approximate leave-one-out; or by the radius-margin bound. The
        latter two need one fit per member, not one per fold.
    cv : int, splitter or iterable, default=5
    n_repeats : int, default=1
        Repeats of the folds with other shuffles, for an integer `cv`.
    scoring : str, callable or None, default=None
        None is accuracy.
    one_standard_error : bool, default=False
        With ``combine="best"``: the least whitened, then smallest C within one standard error of the best.
    refit : bool, default=True
    n_jobs : int or None, default=None
        Threads over the problems of a fold.
    fit_intercept, class_weight, max_iter, random_state
        As in `FSVM`; `random_state` also shuffles the folds.
    tol : float, default=1e-6
        Relative gap of the final fit.
    cv_tol : float, default=1e-3
        Relative gap of the fits that are only scored.
    verbose : int, default=0
        1 shows progress on standard error.

    Attributes
    ----------
    classes_, coef_, intercept_, objective_, dual_objective_, dual_gap_, n_iter_
        As in `FSVM`; with ``combine="average"`` the objectives are sums over the members. `coef_` exists for linear
        models.
    C_, best_params_, best_score_, best_index_
        Of the best member.
    best_estimator_ : FSVM
        With ``combine="best"`` and ``refit=True``.
    members_ : list of dict
        What was averaged.
    Cs_ : ndarray
        Values of C that were tried.
    scores_ : ndarray of shape (n_members, n_splits)
        In the order of ``cv_results_["params"]``.
    cv_results_ : dict
        In the form of `GridSearchCV`. The members are fitted together: times are equal shares.
    n_splits_, refit_time_
        As in `GridSearchCV`.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from radiusmargin import FSVMCV
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FSVMCV(random_state=0).fit(X, y)
    >>> bool(model.score(X, y) > 0.97)
    True
    """

    _accepts_sparse = True

    def __init__(
        self, Cs=10, *, whitening=None, scatter="total", multi_class="ovo", eta=0.0, combine="average", band=1.0,
        kernel="linear", gamma="scale", degree=3, coef0=0.0, n_components=None, criterion="cv", cv=5, n_repeats=1,
        scoring=None, one_standard_error=False, refit=True, n_jobs=None, fit_intercept=True, class_weight=None,
        tol=1e-6, cv_tol=1e-3, max_iter=1000, random_state=None, verbose=0,
    ):  # fmt: skip
        self.Cs = Cs
        self.whitening = whitening
        self.scatter = scatter
        self.multi_class = multi_class
        self.eta = eta
        self.combine = combine
        self.band = band
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.n_components = n_components
        self.criterion = criterion
        self.cv = cv
        self.n_repeats = n_repeats
        self.scoring = scoring
        self.one_standard_error = one_standard_error
        self.refit = refit
        self.n_jobs = n_jobs
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.cv_tol = cv_tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting ------------------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(self, X, y, sample_weight=None, groups=None):
        """Score every member, then refit what was chosen on all rows.

        On Ctrl-C during the scoring, `cv_results_` keeps what was finished, and the interrupt goes on. `groups` goes to a
        splitter that wants it.
        """
        for name in FITTED:
            self.__dict__.pop(name, None)
        self._check_parameters()
        X, codes, weight = self._check_training_data(X, y, sample_weight)
        splits = self._splits(codes, self.__dict__.pop("_kept_rows"), sample_weight, groups)
        evaluation = Evaluation(self, X, codes, weight, splits)
        scores = evaluation.scores
        with scores.progress.whole():
            try:
                evaluation.run()
            except KeyboardInterrupt:
                self._report_interrupted(scores)
                raise
            best = self._report(scores)
            if self.refit:
                start = time.perf_counter()
                with scores.progress.task("refit"):
                    self._refit(X, codes, weight, scores, best)
                self.refit_time_ = time.perf_counter() - start
        if self.refit:
            self._warn_unless_converged()
        return self

    def _report_interrupted(self, scores):
        scores.drop_unfinished()
        if scores.table and scores.finished().any():
            self._report(scores)
            warnings.warn(
                f"interrupted: cv_results_ holds {len(scores.table)} members on {int(scores.finished().sum())} of "
                f"{scores.n_splits} splits",
                stacklevel=3,
            )

    def _report(self, scores):
        searched = ("C", "whitening", "scatter", "eta", *(() if self._is_linear else ("gamma", "n_components")))
        self.cv_results_ = scores.results(searched)
        self.Cs_ = np.unique([m.C for m in scores.table])
        done = scores.finished()
        self.scores_ = scores.values()[:, done]
        best = scores.best(self.one_standard_error)
        self.n_splits_, self.best_index_ = int(done.sum()), scores.members().index(best)
        self.C_, self.best_params_ = best.C, best.params(searched)
        self.best_score_ = float(scores.table[best][done].mean())
        return best

    # -- refitting ----------------------------------------------------------------------------------------------------

    def _refit(self, X, codes, weight, scores, best):
        if self.combine == "best":
            self._refit_best(X, codes, weight, best)
        else:
            weight = weight * self._class_factors(codes, weight)[codes]
            self._refit_average(X, codes, weight, scores.near_best(self.band))

    def _refit_best(self, X, codes, weight, member):
        model = self._member_estimator(member)
        for name in ("classes_", "_pairwise", "n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(model, name, getattr(self, name))
        model._fit_checked(X, codes, weight)
        self.best_estimator_, self.members_ = model, [self.best_params_]
        self._parts = [(getattr(model, "kernel_map_", None), model.coef_, model.intercept_)]
        for name in ("objective_", "dual_objective_", "dual_gap_", "n_iter_"):
            setattr(self, name, getattr(model, name))
        self._expose()

    def _refit_average(self, X, codes, weight, members):
        columns = self._reduction.columns(codes)
        self._parts, totals = [], np.zeros(3)
        for shared in feature_sets(self):
            fitted = None
            for (n_components, powers), scatter, eta in product(shared.parts, listed(self.scatter), listed(self.eta)):
                key = (scatter, shared.gamma, n_components, eta)
                group = [m for m in members if (m.scatter, m.gamma, m.n_components, m.eta) == key]
                group = [m for m in group if m.whitening in powers and shared.serves(scatter, eta)]
                if not group:
                    continue
                fitted = fitted or shared.fit(self, X, weight, powers[0])
                part = fitted.part(n_components, powers)
                refit = self._refit_smoothed if eta > 0 else self._refit_group
                for features, coef, intercept, values in refit(part, columns, codes, group, shared):
                    self._add_part(features, coef, intercept, len(members))
                    totals += values
        self.members_ = [m.params(self.best_params_) for m in members]
        self.objective_, self.n_iter_ = float(totals[0]), max(1, int(totals[2]))
        self.dual_objective_ = min(float(totals[1]), self.objective_)
        self.dual_gap_ = relative_gap(self.objective_, self.dual_objective_)
        self._expose()

    def _add_part(self, features, coef, intercept, n_members):
        """Separators of some members, each divided by the size of its scores, as one of the sum."""
        (M, K, d), sizes = coef.shape, np.empty(len(coef))
        for block in blocks(M, K * len(features.weight)):
            decision = np.asarray(features.rows @ coef[block].reshape(-1, d).T) + intercept[block].ravel()
            squares = features.weight @ decision**2 / features.weight.sum()
            sizes[block] = np.sqrt(squares.reshape(-1, K).mean(axis=1)).clip(1e-300) * n_members
        coef, intercept = np.einsum("mkd,m->kd", coef, 1 / sizes), np.einsum("mk,m->k", intercept, 1 / sizes)
        if isinstance(features.mapping, KernelMap):
            # It makes all its columns, also for members that use the leading ones.
            coef = np.pad(coef, ((0, 0), (0, features.mapping.n_components_ - coef.shape[1])))
        self._parts.append((features.mapping, coef, intercept))

    def _refit_group(self, features, columns, codes, group, shared):
        """Members that share features and scatter, one compiled call per exponent."""
        space = features.scatter(codes, group[0].scatter)
        for p in sorted({m.whitening for m in group}):
            parts = features.fit_family(
                columns, space, [p], np.array([m.C for m in group if m.whitening == p]), euclidean=shared.euclidean,
                tol=self.tol, fit_intercept=self.fit_intercept, max_iter=int(self.max_iter), n_jobs=self.n_jobs,
            )  # fmt: skip
            for found, _, fit in parts:
                batch = fit.batch
                totals = np.array([batch.objective.sum(), batch.dual_objective.sum(), batch.n_iter.sum()])
                yield found, fit.coef[0], fit.intercept[0], totals

    def _refit_smoothed(self, features, columns, codes, group, shared):
        models = [self._plain_estimator(m).fit(features.rows, codes, sample_weight=features.weight) for m in group]
        totals = np.array([[m.objective_, m.dual_objective_, m.n_iter_] for m in models]).sum(axis=0)
        yield features, np.stack([m.coef_ for m in models]), np.stack([m.intercept_ for m in models]), totals

    def _expose(self):
        if self._is_linear:
            self.coef_ = sum(part[1] for part in self._parts)
            self.intercept_ = sum(part[2] for part in self._parts)

    # -- prediction -------------------------------------------------------------------------------------------------

    def decision_function(self, X):
        """Scores of the chosen member or of the average."""
        if hasattr(self, "cv_results_") and not hasattr(self, "_parts"):
            raise NotFittedError(
                "This FSVMCV has scores, but no model to predict with: refit=False, or its fit was interrupted."
            )
        check_is_fitted(self, "_parts")
        X = super()._features(X)
        scores = sum(linear_scores(kernel_map, X, coef) + b for kernel_map, coef, b in self._parts)
        return self._class_scores(scores)

    # -- pieces -----------------------------------------------------------------------------------------------------

    @property
    def _in_pairs(self):
        return self.multi_class == "ovo"

    def _check_parameters(self):
        check_choice("combine", self.combine, ("average", "best"))
        check_choice("multi_class", self.multi_class, ("ovo", "ovr"))
        check_choice("criterion", self.criterion, ("cv", "loo", "radius-margin"))
        check_number("band", self.band, 0)
        check_number("tol", self.tol, 0, low_allowed=False)
        check_number("cv_tol", self.cv_tol, 0, low_allowed=False)
        check_count("max_iter", self.max_iter)
        check_count("n_repeats", self.n_repeats)
        for name in ("Cs", "whitening", "scatter", "eta", "gamma", "n_components"):
            check_grid(name, getattr(self, name))
        if isinstance(self.Cs, Integral):
            check_number("Cs", self.Cs, 1)
        else:
            for C in listed(self.Cs):
                check_number("Cs", C, 0, low_allowed=False)
        for p in listed(self.whitening) if self.whitening is not None else ():
            check_number("whitening", p, 0, 1, high_allowed=True)
        for eta in listed(self.eta):
            check_number("eta", eta, 0)
        for scatter in listed(self.scatter):
            check_choice("scatter", scatter, ("total", "within"))
        if self.criterion != "cv" and any(eta > 0 for eta in listed(self.eta)):
            raise ValueError(f"criterion={self.criterion!r} needs eta=0, got {self.eta!r}.")

    def _splits(self, codes, kept, sample_weight, groups):
        """(train, test) numbers among the `kept` rows, those of positive weight."""
        if self.criterion != "cv":
            return [(np.arange(len(codes)), np.arange(len(codes)))]
        if isinstance(self.cv, Integral):
            smallest = np.bincount(codes).min()
            if smallest < 2:
                raise ValueError("Every class needs at least 2 samples for cross-validation, the smallest has 1.")
            splitter = RepeatedStratifiedKFold(
                n_splits=int(min(self.cv, smallest)), n_repeats=int(self.n_repeats), random_state=self.random_state
            )
            return list(splitter.split(codes, codes))
        # A splitter of the user's counts the rows that were passed in, those of weight zero too.
        n_rows = (
            len(kept) if sample_weight is None or isinstance(sample_weight, Real) else len(np.asarray(sample_weight))
        )
        place, labels = np.full(n_rows, -1), np.zeros(n_rows, dtype=int)
        place[kept], labels[kept] = np.arange(len(kept)), codes
        splits = []
        for i, pair in enumerate(check_cv(self.cv, labels, classifier=True).split(labels, labels, groups)):
            pair = [np.arange(n_rows)[np.asarray(part)] for part in pair]  # masks and negative numbers too
            train, test = pair if len(kept) == n_rows else (place[part][place[part] >= 0] for part in pair)
            absent = np.bincount(codes[train], minlength=len(self.classes_)) == 0
            if absent.any():
                missing = self.classes_[absent].tolist()
                raise ValueError(f"cv: split {i} has no training rows of class {missing}; use a stratified splitter.")
            if not len(test):
                raise ValueError(f"cv: split {i} has no test rows of positive weight; leave it out.")
            splits.append((train, test))
        if not splits:
            raise ValueError("cv must give at least one split, got none.")
        return splits

    def _member_estimator(self, m):
        return self._estimator(
            m, kernel=self.kernel, gamma="scale" if m.gamma is None else m.gamma, degree=self.degree, coef0=self.coef0,
            n_components=m.n_components, class_weight=self.class_weight, tol=self.tol, random_state=self.random_state,
        )  # fmt: skip

    def _plain_estimator(self, m, tol=None):
        """The member on features that are there already; those of a kernel map keep their units."""
        return self._estimator(m, kernel="linear" if self._is_linear else LeadingFeatures(), tol=tol or self.tol)

    def _estimator(self, m, **options):
        return FSVM(
            C=m.C, whitening=m.whitening, eta=m.eta, scatter=m.scatter, multi_class=self.multi_class,
            fit_intercept=self.fit_intercept, max_iter=int(self.max_iter), **options,
        )  # fmt: skip
