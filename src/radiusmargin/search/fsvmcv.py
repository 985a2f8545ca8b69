"""FSVMCV: F-SVM with its hyper-parameters chosen by cross-validation, or averaged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY
from typing import Any

from .._types import ClassWeight, Gamma, KernelLike, RandomState
from ..estimators.base import estimator
from ..scatter import RANK_TOL
from .base import SearchEstimator
from .frames import CategoricalFeatures

Grid = float | Sequence[float] | None  # one value or several


@estimator
class FSVMCV(SearchEstimator):
    """`FSVM` that chooses C and the strength of whitening by cross-validation.

    All folds, classes, exponents and values of C are solved in batched compiled calls. The near-best candidates are
    averaged (``combine="average"``), or the best one is taken (``combine="best"``). The features need no scaling, unless
    there is a single kernel: that takes the rows as they are, as in `SVC`. Scale them then, or pass the kernel in a list.

    Parameters
    ----------
    Cs : int or list of float, default=10
        Values of C, or how many to choose from the data (see Notes).
    whitening : float, list of float or None, default=None
        Exponents of the scatter: -1 is the SVM in the units of the data, 0 the SVM on standardised features, 1 is F-SVM.
        None chooses from the data (see Notes); (0, 0.5, 1) is worth its time where features are strongly correlated.
    rank_tol : float, default=1e-4
        Directions in which the standardised rows deviate by no more than this are not whitened but left out; see `FSVM`.
    scatter : {"total", "within"}, default="total"
        Scatter about the overall mean, or pooled within the classes.
    multi_class : {"ovo", "ovr"} or None, default=None
        Several classes as pairs, or each against the rest; see `FSVM`.
    eta, gamma, n_components : a value or a list, default=0.0, "scale", None
        Further grids; see `FSVM`. With a list of kernels the default gammas are multiples of one over the number of features.
    combine : {"average", "best"}, default="average"
        Average the near-best candidates, or take the best one; ties go to less whitening, then to the smaller C.
    band : float, default=1.5
        A candidate is near-best if its score is within this many standard errors of the best.
    kernel : str, list of str, callable or transformer, default="linear"
        One kernel, as in `FSVM`, or a list of kernels that are searched together: "linear"; "rbf", "laplacian", "poly", "sigmoid"
        and "cosine" on standardised features; "rbf-ranks" and "laplacian-ranks" on the ranks of the features.
        "auto" is linear, rbf, laplacian, rbf-ranks and laplacian-ranks, but linear alone for sparse rows, more than 2,000
        columns or more than 50 classes.
    degree, coef0
        Parameters of the kernel, as in `FSVM`.
    criterion : {"cv", "loo", "radius-margin"}, default="cv"
        Score by cross-validation, by an approximation of leave-one-out (the span rule), or by the radius-margin bound. The
        latter two need one fit per candidate instead of one per fold.
    cv : int, splitter or iterable, default=5
        Number of folds, or a splitter of scikit-learn such as `RepeatedStratifiedKFold`.
    race : bool, default=True
        Drop candidates after the first splits if the best so far beats them beyond chance (see Notes).
        False scores all candidates on all splits.
    scoring : str, callable or None, default=None
        Score to choose candidates by; None is accuracy.
    refit : bool, default=True
        Fit what was chosen to all rows. False leaves the scores only.
    probability : bool, default=False
        Offer `predict_proba`, calibrated on the held-out scores of the search. No further fits are needed.
    n_jobs : int or None, default=None
        Number of threads; -1 takes every core.
    fit_intercept, class_weight, max_iter
        As in `FSVM`.
    tol : float, default=1e-6
        Relative duality gap of the final fit.
    cv_tol : float or None, default=None
        Relative duality gap of the fits that are only scored. None is 1e-7 for dense rows, 1e-4 for a sparse matrix of 400
        columns or more, and 1e-3 with a kernel.
    random_state : int, RandomState or None, default=None
        Shuffles the folds, and draws landmarks of kernel maps. None takes the rows in their order.
    verbose : int, default=0
        1 shows a progress bar on standard error for every round, with its rows and the seconds left.
    subsample : int, default=100_000
        Number of random rows on which candidates are scored if X comes in chunks. The best one, or an average of at most five, is
        then fitted to all rows.
    cache_size : float, default=500
        Megabytes of kernel values to keep in memory, as in `SVC`.
    categorical_features : "from_dtype" or list of str, int or bool
        Columns of numbers that are categories: names, positions, or a mask. "from_dtype" takes the types of a frame: texts and
        categorical columns.

    Attributes
    ----------
    encoder_ : TableEncoder
        Turns rows into numbers, if the training rows had categories, dates or gaps.
    classes_, coef_, intercept_, objective_, dual_objective_, dual_gap_, n_iter_
        As in `FSVM`; `coef_` exists for linear models. The objectives of an average are sums over its candidates.
    max_dual_gap_ : float
        Largest relative duality gap of a candidate. In the sum a candidate with a small C counts little.
    C_, best_params_, best_score_, best_index_
        The best candidate. `best_score_` is the largest of many scores, and so too high (see Notes).
    oof_score_ : float
        Mean score of the returned average on held-out rows: each candidate is fitted without the rows that it is scored on.
        Not with another ``criterion`` than "cv" or with ``refit=False``; with ``combine="best"`` it is `best_score_`. With many
        classes or very many rows it is computed on a part of the held-out rows.
    best_estimator_ : FSVM
        With ``combine="best"``, ``refit=True`` and a single kernel: the best candidate, fitted to all rows.
    members_ : list of dict
        Parameters of the averaged candidates, each with its "weight".
    components_ : ndarray of shape (rank, n_features)
        L with M = L'L, for linear models: the metric of the best candidate. For an average it is the metric of F-SVM at the
        averaged separators, the mean of ``ww' / var(w'x)``. `transform` serves kernels too.
    n_dropped_ : int
        Largest number of directions that `rank_tol` left out in a candidate of the final fit.
    Cs_ : ndarray
        Values of C that were tried.
    scores_ : ndarray of shape (n_candidates, n_splits)
        Scores in the order of ``cv_results_["params"]``.
    cv_results_ : dict
        Results in the form of `GridSearchCV`. Candidates are fitted together, so each has an equal share of the time. The column
        "given_up" marks those that were dropped: they have NaN for the splits that they did not go through, and rank last.
        "n_rows" is the number of rows that a candidate was scored on.
    n_splits_, refit_time_
        As in `GridSearchCV`.
    n_passes_, history_
        With rows in chunks, as in `FSVM`.

    Notes
    -----
    **C.** A number of Cs chooses a range that ends at 100, at 1,000 with a kernel, at 1 for a sparse matrix of 400 columns or
    more, and for text at 1 over the mean squared length of the rows. The range grows while the best C lies at its edge. With
    a list of kernels it is fixed, and every kernel but the linear one has half as many values.

    **Whitening.** None is (0, 0.5) for at most 32 columns and 65,536 numbers. It is 0 for more, where whitening doubled the time
    and gained nothing on the mean of 62 data sets, and 0 with a kernel, which has many features. Text is (-1, -0.5), so that rare
    columns are not blown up: a sparse matrix of 1,000 columns or more in which no column holds numbers a thousand times
    as large as the others.

    **Averaging.** Each candidate is divided by the root mean square of its decision values. Averaged linear candidates are one
    linear model. A kernel contributes at most its best sixteen candidates. Of several kernels those take part whose best candidate
    is within `band` standard errors of the best of all. Each contributes the four near-best candidates of the smallest log-loss on
    held-out rows, and has a weight that grows with the likelihood of these rows: its power .25. A kernel of less than a
    fifth of the largest weight is left out.

    **Many rows.** Of more than 3,000 rows, with several kernels and an integer `cv`, a stratified sample of 2,000 scores all
    candidates, one of 5,000 (or all rows) those within `band` + 1 standard errors of the best. What the second round chooses is
    fitted to all rows; its held-out rows are those of `oof_score_` and of the calibration. At most 100,000 over the number of rows
    kernel machines are averaged, but one of each kernel at least: five in all at 20,000.

    **Racing.** With accuracy as the score, values of gamma and the largest values of C are dropped in searches over kernels without
    whitening; exponents and the largest values of C are dropped on dense data of more than 260,000 numbers. The best candidate
    is that of a search without racing, and what is averaged nearly always (benchmarks/kernel_search.py).

    **Tolerances.** At the defaults of `cv_tol` the chosen model matched that of exact fits in our benchmarks (with kernels:
    nearly always). With a kernel a gap of 1e-4 or more is estimated, and relative to the loss of the zero separator.

    **Scores.** On 100 rows whose labels are coin tosses `best_score_` is .56 in the mean, and .60 in `AutoSVM`; `oof_score_` is
    .54 and .56 there, since candidates were chosen on the same rows (benchmarks/noise.py). Compare models by a cross-validation
    around the whole search.

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
    categorical_features: CategoricalFeatures = "from_dtype"
