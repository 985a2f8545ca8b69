"""AutoSVM: the search of FSVMCV over linear and kernel SVMs, with the eleven parameters that most users need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._types import ClassWeight, KernelLike, RandomState
from ..estimators.base import estimator
from .base import Budget, SearchEstimator
from .frames import CategoricalFeatures


@estimator
class AutoSVM(SearchEstimator):
    """Linear and kernel SVMs, tuned by cross-validation and averaged: the first model to try on a table.

    Linear, Gaussian and Laplacian kernels are searched together. The features need no scaling, and there is no grid to choose.
    `FSVMCV` runs the same search with every choice open.

    Parameters
    ----------
    probability : bool, default=True
        Offer `predict_proba`, calibrated on the held-out scores of the search. It needs no further fits and hardly any time.
    scoring : str, callable or None, default=None
        Score to choose candidates by; None is accuracy.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the loss, as in `SVC`.
    kernel : str or list of str, default="auto"
        Kernels to search; `FSVMCV` lists their names. "auto" is linear, rbf, laplacian, rbf-ranks and
        laplacian-ranks, but linear alone for sparse rows, more than 2,000 columns or more than 50 classes.
    combine : {"average", "best"}, default="average"
        Average near-best candidates of the near-best kernels, weighted by their likelihood on held-out rows, or take the best one.
    cv : int, splitter or iterable, default=5
        Number of folds, or a splitter of scikit-learn.
    cache_size : float, default=500
        Megabytes of kernel values to keep in memory, as in `SVC`.
    n_jobs : int or None, default=None
        Number of threads; -1 takes every core.
    random_state : int, RandomState or None, default=None
        Shuffles the folds; None takes the rows in their order.
    verbose : int, default=0
        1 shows a progress bar on standard error for every round, with its rows and the seconds left.
    categorical_features : "from_dtype" or list of str, int or bool
        Columns of numbers that are categories: names, positions, or a mask. "from_dtype" takes the types of a frame: texts and
        categorical columns.

    Attributes
    ----------
    encoder_ : TableEncoder
        Turns rows into numbers, if the training rows had categories, dates or gaps.
    members_ : list of dict
        Parameters of the averaged candidates, each with its "weight".
    best_params_, best_score_, cv_results_
        Results of the search, in the form of `GridSearchCV`. `best_score_` is the largest of many scores, and so too high.
    oof_score_ : float
        Score of the average on held-out rows, which is closer to the score on new rows; see `FSVMCV`.
    dual_gap_, max_dual_gap_ : float
        Certified relative duality gap of the averaged candidates: of the sum of their objectives, and the largest one.

    Notes
    -----
    **Many rows.** Candidates are scored on stratified samples of 2,000 and 5,000 rows; see `FSVMCV`. What was chosen is fitted to
    all rows within a budget: at most 100,000 over the number of rows kernel machines (one per kernel at least). Those of more than
    5,000 rows end at a relative gap of 1e-3, or after 20 n steps where C is too large for that. `dual_gap_` tells; there is no
    warning unless a gap exceeds 0.1. `FSVMCV` fits to its `tol`. Of several classes, the rows are those of the largest pair.

    **Very many rows.** Linear members are fitted to all rows, but kernel machines of more than 50,000 rows to a stratified sample
    of 50,000 (of several classes, to as many as leave 50,000 to the largest pair). The gap is that of the problems that were
    solved. Of rows in chunks, kernel machines are fitted to all, but approximated by 256 or 512 landmarks (Nystroem), after a
    search on a subsample of 100,000 rows: separators are combinations of the kernel functions of these rows alone. Landmarks
    are doubled if held-out rows, of 30,000, are classified better by that beyond chance. What the approximation loses is not in
    the gap.

    See Also
    --------
    FSVMCV : The same search with one kernel, linear by default.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from radiusmargin import AutoSVM
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AutoSVM().fit(X, y)
    >>> bool(model.score(X, y) > 0.97), model.predict_proba(X).shape
    (True, (178, 3))
    """

    probability: bool = True
    scoring: str | Callable | None = None
    class_weight: ClassWeight = None
    kernel: KernelLike | Sequence[str] = "auto"
    combine: str = "average"
    cv: Any = 5
    cache_size: float = 500.0
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0
    categorical_features: CategoricalFeatures = "from_dtype"

    _budget = Budget(rows=5_000, tol=1e-3, sweeps=20)
