"""FSVMCV: the family with its hyper-parameters chosen, or averaged over, in the time others fit once."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import RepeatedStratifiedKFold, StratifiedKFold, check_cv
from sklearn.utils.metaestimators import available_if

from .._checks import ConvergenceWarning, check_choice, check_count, check_number, check_positive
from .._compat import with_callbacks
from .._types import ArrayLike, ClassWeight, Data, Gamma, KernelLike, RandomState
from ..estimators import FSVM
from ..estimators.base import MarginEstimator, check_linear, estimator
from ..estimators.decision import PlattCalibration
from ..estimators.family import MetricTransformerMixin
from ..estimators.features import FeatureChoice
from ..estimators.fsvm import keep_dropped
from ..outofcore.fit import chunkwise, keep_features, keep_history, print_pass
from ..scatter import RANK_TOL
from ..solvers import Options
from .candidates import Grids, candidate_groups, check_grid, check_kinds, kernel_specs, listed, sampled
from .ensemble import EnsembleFitter, SearchInChunks
from .evaluate import evaluate
from .racing import Racing
from .scoring import FoldValues, HeldOutScores, Progress, Scores, SearchData

# Parameters that what was chosen has from the search.
SHARED = (
    "rank_tol", "multi_class", "degree", "coef0", "fit_intercept", "class_weight", "tol", "max_iter", "cache_size", "n_jobs",
    "random_state",
)  # fmt: skip
Grid = float | Sequence[float] | None  # one value or several


def _has_probabilities(search):
    if not search.probability or (hasattr(search, "_model") and not hasattr(search, "_sigmoids")):
        raise AttributeError(
            "predict_proba needs probability=True before fit: the search then keeps the scores it is made of."
        )
    return True


@estimator
class FSVMCV(MetricTransformerMixin, MarginEstimator):
    """`FSVM` that chooses C and the strength of whitening by itself.

    All folds, classes, exponents and values of C are solved in batched compiled calls. The near-best members are
    averaged (``combine="average"``) or the best one is taken (``combine="best"``). No scaling of the features is
    needed, unless there is a single kernel, which takes the rows as they are, as in `SVC`: scale them, or name it in a
    list.

    Parameters
    ----------
    Cs : int or list of float, default=10
        Values of C, or how many to choose from the data: up to 100, with a kernel 1,000, for a sparse matrix of 400 columns or
        more 1, and for text (see `whitening`) 1 over the mean square of the rows' lengths. A chosen range grows while the
        best C lies at its edge. Of several kinds of
        kernels the range is fixed, and kernels have half as many.
    whitening : float, list or None, default=None
        Exponents of the scatter: -1 is the SVM in the units of the data, 0 that on standardised features, 1 is F-SVM. None is
        (0, 0.5) for at most 32 columns and 65,536 numbers, and 0 for more, where whitening takes as long again and gained nothing
        on the mean of 62 sets; but (-1, -0.5) for a sparse matrix of 1,000 columns or more, such as text, where rare columns must
        not be blown up (unless one holds numbers a thousand times as large as others do); and 0 with a kernel, whose features
        are many. Where features are strongly correlated, (0, 0.5, 1) is worth its time.
    rank_tol : float, default=1e-4
        Directions along which the standardised rows deviate by no more than this are left out where they are whitened, in
        every fold and in the final fit; see `FSVM`.
    scatter : {"total", "within"} or a list of both, default="total"
    multi_class : {"ovo", "ovr"} or None, default=None
        More than two classes as pairs, or each against the rest; see `FSVM`.
    eta, gamma, n_components : a value or a list, default=0.0, "scale", None
        Further grids; see `FSVM`. A kernel map is computed once per fold and gamma. With several kinds of kernels the
        default gammas are multiples of one over the number of features.
    combine : {"average", "best"}, default="average"
        Average the members whose score is within `band` standard errors of the best (of a kernel the best sixteen of them),
        each divided by the root mean square of its decision values; for a linear model the average is again one linear
        model. Or pick the best; equals go to less whitening, then to smaller C.
    band : float, default=1.5
    kernel : str, list of str, callable or transformer, default="linear"
        As in `FSVM`, of the rows as they are; or a list of kinds that are searched side by side: "linear", and "rbf", "laplacian", "poly", "sigmoid",
        "cosine" on features standardised over all training rows, and "rbf-ranks", "laplacian-ranks" on features by
        their ranks. "auto" is linear, rbf, laplacian and laplacian-ranks, but linear alone for sparse rows, more than
        2,000 columns or more than 50 classes. Kinds whose best member is within `band` standard errors of the best are averaged, with equal
        shares. Of more than 20,000 rows members are chosen on a stratified sample of 5,000 and then fitted to all (with
        an integer `cv`).
    degree, coef0
        As in `FSVM`.
    criterion : {"cv", "loo", "radius-margin"}, default="cv"
        Score by cross-validation; by the span rule's approximate leave-one-out; or by the radius-margin bound. The
        latter two need one fit per member, not one per fold.
    cv : int, splitter or iterable, default=5
    n_repeats : int, default=1
        Repeats of the folds with other shuffles, for an integer `cv`.
    race : bool, default=True
        Whether values of gamma, and the largest C of one, are given up after a split if the best so far beats them on the same
        rows beyond chance; of kernels without whitening, and with accuracy as the score. On dense data of more than 260,000
        numbers also exponents and the largest C of them all. What is best is what a search without it finds, and what
        is averaged nearly always (benchmarks/kernel_search.py). False scores all members on all splits.
    scoring : str, callable or None, default=None
        None is accuracy.
    one_standard_error : bool, default=False
        With ``combine="best"``: the least whitened, then smallest C within one standard error of the best.
    refit : bool, default=True
    probability : bool, default=False
        Whether to offer `predict_proba`, from the scores of the rows that were held out: no further fits are needed.
    n_jobs : int or None, default=None
        Threads over the problems of a fold.
    fit_intercept, class_weight, max_iter, random_state
        As in `FSVM`; `random_state` also shuffles the folds. None takes the rows in their order, as scikit-learn's
        estimators with a search of their own do.
    tol : float, default=1e-6
        Relative gap of the final fit.
    cv_tol : float or None, default=None
        Relative gap of the fits that are only scored. None is 1e-7, where scores and choice are those of exact fits; 1e-4 for a
        sparse matrix of 400 columns or more, where it is on text; and 1e-3 with a kernel, where it nearly always is. With
        a kernel 1e-4 or more is relative to the loss of a separator that is zero, and is estimated.
    verbose : int, default=0
        1 shows progress on standard error.
    cache_size : float, default=500
        Megabytes of kernel values that are kept while members are fitted, as in `SVC`.
    subsample : int, default=100_000
        Random rows that members are scored on where X comes in chunks; what was chosen, the best or an average of at most the
        five best, is then fitted to all rows.

    Attributes
    ----------
    classes_, coef_, intercept_, objective_, dual_objective_, dual_gap_, max_dual_gap_, n_iter_
        As in `FSVM`; with ``combine="average"`` the objectives are sums over the members, in which one with a small C counts
        little: `max_dual_gap_` is the gap of the worst member. `coef_` exists for linear
        models.
    C_, best_params_, best_score_, best_index_
        Of the best member. `best_score_` is the largest of many cross-validated scores, and so too high: on 100 rows whose labels
        are coin tosses it is .56 in the mean, and .60 in `AutoSVM` (benchmarks/noise.py). Compare models by a
        cross-validation around the whole search.
    oof_score_ : float
        Score on held-out rows of what is returned, the average: the mean over the splits of the score of the members that
        were averaged, each fitted without the rows that it is scored on. Closer to the score on new rows than `best_score_`, but
        still too high (.54 and .56 there), since members were chosen by the same rows. Not with ``criterion`` other than "cv" or ``refit=False``; with
        ``combine="best"`` it is `best_score_`. Of many classes or very many rows it is of a part of the held-out rows.
    best_estimator_ : FSVM
        With ``combine="best"``, ``refit=True`` and a single kernel, in the units of the data.
    members_ : list of dict
        What was averaged, each with its "weight".
    components_ : ndarray of shape (rank, n_features)
        L with M = L'L, for linear models: the metric of the best member or, of an average, that of F-SVM for the averaged
        separators, the mean of ``ww' / var(w'x)``. `transform` serves kernels too.
    n_dropped_ : int
        Directions that were left out by `rank_tol` in the final fit, the most of any member.
    Cs_ : ndarray
        Values of C that were tried.
    scores_ : ndarray of shape (n_members, n_splits)
        In the order of ``cv_results_["params"]``.
    cv_results_ : dict
        In the form of `GridSearchCV`. The members are fitted together: times are equal shares. Members that were "given_up"
        (a column of its own) have NaN for the splits that they did not go through, and rank last.
    n_splits_, refit_time_
        As in `GridSearchCV`.
    n_passes_, history_
        With rows in chunks, as in `FSVM`.

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
    _learnt = ("_model", "_sigmoids", "_directions")

    Cs: int | Sequence[float] = 10
    _: KW_ONLY
    whitening: Grid = None
    rank_tol: float = RANK_TOL
    scatter: str | Sequence[str] = "total"
    multi_class: str | None = None
    eta: Grid = 0.0
    combine: str = "average"
    band: float = 1.5
    kernel: KernelLike | Sequence[str] = "linear"
    gamma: Gamma | Sequence[float] = "scale"
    degree: int = 3
    coef0: float = 0.0
    n_components: Grid = None
    criterion: str = "cv"
    cv: Any = 5
    n_repeats: int = 1
    race: bool = True
    scoring: str | Callable | None = None
    one_standard_error: bool = False
    refit: bool = True
    probability: bool = False
    n_jobs: int | None = None
    fit_intercept: bool = True
    class_weight: ClassWeight = None
    tol: float = 1e-6
    cv_tol: float | None = None
    max_iter: int = 1000
    random_state: RandomState = None
    verbose: int = 0
    subsample: int = 100_000
    cache_size: float = 500.0

    # -- fitting ------------------------------------------------------------------------------------------------------

    @with_callbacks
    def fit(
        self,
        X: Data,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Score every member, then refit what was chosen on all rows.

        Rows may come in chunks, as in `FSVM`; members are then scored on a `subsample` of them.

        On Ctrl-C during the scoring, `cv_results_` keeps what was finished, and the interrupt goes on. `groups` goes to a
        splitter that wants it; rows in chunks take neither, but a number of folds.
        """
        self._forget()
        self._check_parameters()
        chunks = SearchInChunks.of(self, X, y, sample_weight) if self._reads_chunks(X) else None
        training = self._sampled(chunks, X, groups) if chunks else self._check_training(X, y, sample_weight)
        kinds = self._kinds(training, linear_alone=chunks is not None)
        data = self._search_data(training, kinds, sample_weight, groups)
        kept = HeldOutScores(data.training.labels, data.splits) if self.probability else None
        race = Racing.of(data, self.band) if self.race else None
        values = FoldValues(data) if self.refit and self.criterion == "cv" else None
        scores = Scores(len(data.splits), Progress(self), [one for one in (kept, values, race) if one])
        with scores.progress.whole():
            self._evaluate(kinds, data, scores, race)
            if not self.refit:
                return self
            start = time.perf_counter()
            with scores.progress.task("refit"):
                refit, rows = (self._refit_chunks, chunks) if chunks else (self._refit, training)
                shares = refit(rows, kinds, scores)
                if values:
                    self.oof_score_ = values.score(shares)
                if self.probability:
                    self._sigmoids = self._calibrated(data.training, kept, shares)
            self.refit_time_ = time.perf_counter() - start
        self._warn_unless_converged()
        return self

    def _sampled(self, chunks, X, groups):
        """The rows that members of rows in chunks are scored on."""
        if groups is not None:
            raise ValueError(
                "groups are for rows in memory: FSVMCV scores members on a random subsample of rows in chunks."
            )
        training = self._check_training(*chunks.subsample(int(self.subsample)))
        keep_features(self, X, training.X.shape[1])  # those of the data, not of the subsample, which has no names
        return training

    def _evaluate(self, kinds, data, scores, race):
        try:
            evaluate(kinds, Grids.of(self), data, scores, self._options, race)
        except KeyboardInterrupt:
            self._report_interrupted(scores, kinds)
            raise
        self._report(scores, kinds)

    def _kinds(self, training, linear_alone):
        kinds = kernel_specs(FeatureChoice.of(self), Grids.of(self), training, linear_alone=linear_alone)
        return [replace(kind, tol=float(self.cv_tol)) for kind in kinds] if self.cv_tol else kinds

    @property
    def _options(self):
        """How what was chosen is fitted to all rows."""
        return Options(float(self.tol), int(self.max_iter), self.n_jobs)

    def _search_data(self, training, kinds, sample_weight, groups):
        precomputed = kinds[0].features.is_precomputed
        rows = sampled(training.codes) if len(kinds) > 1 and isinstance(self.cv, Integral) else None
        if rows is not None:
            training = replace(training, X=training.X[rows], codes=training.codes[rows], weight=training.weight[rows])
        splits = self._splits(training, sample_weight, groups)
        return SearchData(training, splits, self.classes_, self.class_weight, self.scoring, self.criterion, precomputed)

    def _report_interrupted(self, scores, kinds):
        scores.drop_unfinished()
        if scores.table and scores.finished().any():
            self._report(scores, kinds)
            warnings.warn(
                f"interrupted: cv_results_ holds {len(scores.table)} members on {int(scores.finished().sum())} of "
                f"{scores.n_splits} splits",
                stacklevel=4,
            )

    def _report(self, scores, kinds):
        searched = ["C", "whitening", "scatter", "eta"]
        if not all(kind.features.is_linear for kind in kinds):
            searched += ["gamma", "n_components"]
        if len(kinds) > 1:
            searched.insert(0, "kernel")
        self.cv_results_ = scores.results(searched)
        self.Cs_ = np.unique([m.C for m in scores.table])
        done = scores.finished()
        self.scores_ = scores.values()[:, done]
        best = scores.best(self.one_standard_error)
        self.n_splits_, self.best_index_ = int(done.sum()), scores.members().index(best)
        self.C_, self.best_params_ = best.C, best.params(searched)
        self.best_score_ = float(scores.table[best][done].mean())

    # -- refitting ----------------------------------------------------------------------------------------------------

    def _refit(self, training, kinds, scores):
        """Fit what was chosen to all rows; returns what the scores of each member are multiplied by."""
        best = scores.best(self.one_standard_error)
        if self.combine == "best" and len(kinds) == 1 and kinds[0].units is None:
            self._refit_best((training.X, self.classes_[training.codes], training.weight), best)
            return {best: 1.0}
        weights = {best: 1.0} if self.combine == "best" else scores.weights(self.band)
        groups = [group for kind in kinds for group in candidate_groups(Grids.of(self), kind)]
        return self._keep_average(EnsembleFitter(training, self._options).of(weights, groups), weights, kinds)

    def _refit_chunks(self, chunks, kinds, scores):
        """The same for rows in chunks."""
        best = scores.best(self.one_standard_error)
        if self.combine == "best":
            self._refit_best((chunks.training.source,), best)
            self.n_passes_, self.history_ = 1 + self.best_estimator_.n_passes_, self.best_estimator_.history_
            return {best: 1.0}
        weights = chunks.weights(scores, self.band)
        found, results = chunks.average(weights, self._options, print_pass(self), float(self.rank_tol))
        keep_history(self, results)
        return self._keep_average(found, weights, kinds)

    def _keep_average(self, found, weights, kinds):
        self._model, self._directions = found.model, found.directions
        self.members_ = [m.params(self.best_params_) | {"weight": weight} for m, weight in weights.items()]
        self._certify(found.certificate)
        keep_dropped(self, found.n_dropped)
        if len(kinds) == 1 and kinds[0].features.is_linear:
            (part,) = found.model.parts
            self.coef_, self.intercept_ = part.coef, part.intercept
            self.components_ = self._directions.T @ part.coef
        return found.shares

    def _refit_best(self, rows, member):
        """The chosen member as an estimator of its own, whose fitted attributes this one shows."""
        of_kernel = {} if member.gamma is None else {"gamma": member.gamma, "n_components": member.n_components}
        shared = {name: getattr(self, name) for name in SHARED}
        model = FSVM(**member.form, kernel=member.kernel, **of_kernel, **shared)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "FSVM stopped", ConvergenceWarning)  # this estimator has one of its own
            model.fit(*rows)
        if hasattr(self, "feature_names_in_"):
            model.feature_names_in_ = self.feature_names_in_
        self.best_estimator_, self.members_, self._model = model, [self.best_params_ | {"weight": 1.0}], model.learnt
        keep_dropped(self, model.n_dropped_)
        for name in (
            "coef_",
            "intercept_",
            "components_",
            "objective_",
            "dual_objective_",
            "dual_gap_",
            "max_dual_gap_",
            "n_iter_",
        ):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def _calibrated(self, training, kept, shares):
        return PlattCalibration.fit(
            kept.mean(shares), kept.label, training.weight[kept.row], kept.problem, training.reduction
        )

    # -- prediction -------------------------------------------------------------------------------------------------

    def _fitted_model(self):
        if hasattr(self, "cv_results_") and not hasattr(self, "_model"):
            raise NotFittedError(
                f"This {type(self).__name__} has scores, but no model to predict with: refit=False, or its fit was interrupted."
            )
        return super()._fitted_model()

    @available_if(_has_probabilities)
    @chunkwise
    def predict_proba(self, X: Data) -> np.ndarray:
        """Probabilities of the classes, in the order of `classes_`; needs ``probability=True``.

        A sigmoid of every problem's score, fitted to the scores of rows that the search had held out; pairs of several
        classes are coupled. The most probable class may be another than that of `predict`, where both are close.
        """
        model = self._fitted_model()
        return model.of_scores(self._sigmoids.probabilities, self._validated(X))

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Data) -> np.ndarray:
        """Logarithms of `predict_proba`."""
        return np.log(self.predict_proba(X))

    @chunkwise
    def transform(self, X: Data) -> np.ndarray:
        """The rows in the metric of the best member, or of the averaged separators."""
        X = self._validated(X)
        if not hasattr(self, "_directions"):
            return self._model.space.scores(X, self.best_estimator_.components_)
        return (self._model.scores(X) - self._model.intercept) @ self._directions

    @property
    def _n_features_out(self):
        return self._directions.shape[1] if hasattr(self, "_directions") else len(self.best_estimator_.components_)

    # -- pieces -----------------------------------------------------------------------------------------------------

    def _check_parameters(self):
        check_kinds(self.kernel)
        check_choice("combine", self.combine, ("average", "best"))
        check_choice("multi_class", self.multi_class, (None, "ovo", "ovr"))
        check_choice("criterion", self.criterion, ("cv", "loo", "radius-margin"))
        check_number("band", self.band, 0)
        check_number("rank_tol", self.rank_tol, 0, 1)
        check_positive("tol", self.tol)
        if self.cv_tol is not None:
            check_positive("cv_tol", self.cv_tol)
        check_count("max_iter", self.max_iter)
        check_count("n_repeats", self.n_repeats)
        check_count("subsample", self.subsample)
        for name in ("Cs", "whitening", "scatter", "eta", "gamma", "n_components"):
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
        for scatter in listed(self.scatter):
            check_choice("scatter", scatter, ("total", "within"))
        if self.criterion != "cv" and self.probability:
            raise ValueError(
                f"probability=True needs criterion='cv', whose scores of held-out rows it uses, got {self.criterion!r}."
            )
        if self.criterion != "cv" and any(eta > 0 for eta in listed(self.eta)):
            raise ValueError(f"criterion={self.criterion!r} needs eta=0, got {self.eta!r}.")

    def _check_chunks(self):
        if not (isinstance(self.kernel, str) and self.kernel == "auto"):  # which is then linear
            check_linear(self)
        if any(eta > 0 for eta in listed(self.eta)):
            raise ValueError(f"FSVMCV takes rows in chunks only with eta=0, got eta={self.eta!r}.")
        if not isinstance(self.cv, Integral):
            raise ValueError(
                "FSVMCV scores members on a random subsample of rows in chunks, which a splitter does not know: cv must be a "
                f"number of folds, got {self.cv!r}. Or fit to an array in memory."
            )

    def _splits(self, training, sample_weight, groups):
        """(train, test) numbers of training rows; those of weight zero take no part."""
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
        smallest = np.bincount(codes).min()
        if smallest < 2:
            raise ValueError("Every class needs at least 2 samples for cross-validation, the smallest has 1.")
        n_splits = int(min(self.cv, smallest))
        splitter = StratifiedKFold(n_splits)
        if self.random_state is not None or self.n_repeats > 1:
            seed = 0 if self.random_state is None else self.random_state  # repeatable by default
            splitter = RepeatedStratifiedKFold(n_splits=n_splits, n_repeats=int(self.n_repeats), random_state=seed)
        return splitter.split(codes, codes)

    def _given_splits(self, training, n_rows, groups):
        """Those of a splitter of the user's, which counts the rows that were passed in, those of weight zero too."""
        codes, kept, weighted = training.codes, training.kept, np.flatnonzero(training.weight)
        place, labels = np.full(n_rows, -1), np.zeros(n_rows, dtype=int)
        place[kept[weighted]], labels[kept] = weighted, codes
        for i, pair in enumerate(check_cv(self.cv, labels, classifier=True).split(labels, labels, groups)):
            train, test = (place[np.asarray(part)] for part in pair)  # masks and negative numbers too
            train, test = train[train >= 0], test[test >= 0]
            absent = np.bincount(codes[train], minlength=len(self.classes_)) == 0
            if absent.any():
                missing = self.classes_[absent].tolist()
                raise ValueError(f"cv: split {i} has no training rows of class {missing}; use a stratified splitter.")
            if not len(test):
                raise ValueError(f"cv: split {i} has no test rows of positive weight; leave it out.")
            yield train, test


# -- AutoSVM: the search over kinds of kernels under a name of its own ------------------------------------------------


@estimator
class AutoSVM(FSVMCV):
    """`FSVMCV` with ``kernel="auto"``: linear, Gaussian and Laplacian SVMs, searched together and averaged.

    No scaling and no grid are needed. These are the parameters that are asked for most; `FSVMCV` has all of them, and all
    attributes.

    Parameters
    ----------
    kernel : str or list of str, default="auto"
        The kinds that are searched: "auto" is linear, rbf, laplacian and laplacian-ranks.
    probability : bool, default=False
        Whether to offer `predict_proba`, from the scores of the rows that were held out: no further fits are needed.
    scoring : str, callable or None, default=None
        What members are chosen by; None is accuracy.
    class_weight : dict, "balanced" or None, default=None
    combine : {"average", "best"}, default="average"
        Average the near-best members of the near-best kinds, or take the best one.
    cv : int, splitter or iterable, default=5
    n_jobs : int or None, default=None
        Threads over the problems of a fold.
    random_state : int, RandomState or None, default=None
        Shuffles the folds.
    Cs, whitening, rank_tol, scatter, multi_class, eta, band, gamma, degree, coef0, n_components, criterion, n_repeats, race, \
one_standard_error, refit, fit_intercept, tol, cv_tol, max_iter, verbose, subsample, cache_size
        As in `FSVMCV`.

    Attributes
    ----------
    members_ : list of dict
        What was averaged, each with its "weight".
    best_params_, best_score_, cv_results_
        Of the search, in the form of `GridSearchCV`. `best_score_` is the largest of many scores, and so too high.
    oof_score_ : float
        Score of the average on held-out rows, which is closer to that on new rows; see `FSVMCV`.
    dual_gap_, max_dual_gap_ : float
        Proven relative distance of the members from their optima: of their sum, and of the worst.

    See Also
    --------
    FSVMCV : The same search with one kind of kernel, linear by default.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from radiusmargin import AutoSVM
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AutoSVM(probability=True).fit(X, y)
    >>> bool(model.score(X, y) > 0.97), model.predict_proba(X).shape
    (True, (178, 3))
    """

    _: KW_ONLY
    kernel: KernelLike | Sequence[str] = "auto"
