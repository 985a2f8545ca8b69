"""FSVMCV: F-SVM with its hyper-parameters chosen, or averaged over, in the time others fit once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from typing import Any

from .._types import ClassWeight, Gamma, KernelLike, RandomState
from ..estimators.base import estimator
from ..scatter import RANK_TOL
from .base import SearchEstimator

Grid = float | Sequence[float] | None  # one value or several


@estimator
class FSVMCV(SearchEstimator):
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
    scatter : {"total", "within"}, default="total"
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
    race : bool, default=True
        Whether values of gamma, and the largest C of one, are given up after a split if the best so far beats them on the same
        rows beyond chance; of kernels without whitening, and with accuracy as the score. On dense data of more than 260,000
        numbers also exponents and the largest C of them all. What is best is what a search without it finds, and what
        is averaged nearly always (benchmarks/kernel_search.py). False scores all members on all splits.
    scoring : str, callable or None, default=None
        None is accuracy.
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

    Cs: int | Sequence[float] = 10
    _: KW_ONLY
    whitening: Grid = None
    rank_tol: float = RANK_TOL
    scatter: str = "total"
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
    race: bool = True
    scoring: str | Callable | None = None
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
