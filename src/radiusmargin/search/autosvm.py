"""AutoSVM: linear and kernel SVMs searched together and averaged, the first model to try on a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._types import ClassWeight, KernelLike, RandomState
from ..estimators.base import estimator
from .base import SearchEstimator


@estimator
class AutoSVM(SearchEstimator):
    """Linear, Gaussian and Laplacian SVMs, searched together and averaged. No scaling and no grid are needed.

    `FSVMCV` is the same search with every choice open.

    Parameters
    ----------
    probability : bool, default=False
        Whether to offer `predict_proba`, from the scores of the rows that were held out: no further fits are needed.
    scoring : str, callable or None, default=None
        What candidates are chosen by; None is accuracy.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes in the loss, as in `SVC`.
    kernel : str or list of str, default="auto"
        The kernels to search: "auto" is linear, rbf, laplacian and laplacian-ranks (on the ranks of the features); linear alone
        for sparse rows, more than 2,000 columns or more than 50 classes. `FSVMCV` lists the names.
    combine : {"average", "best"}, default="average"
        Average the near-best candidates of the near-best kernels, or take the best one.
    cv : int, splitter or iterable, default=5
        Folds, or a splitter of scikit-learn.
    cache_size : float, default=500
        Megabytes of kernel values that are kept while candidates are fitted, as in `SVC`.
    n_jobs : int or None, default=None
        Threads; -1 takes every core.
    random_state : int, RandomState or None, default=None
        Shuffles the folds; None takes the rows in their order.
    verbose : int, default=0
        1 shows a progress bar on standard error.

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

    probability: bool = False
    scoring: str | Callable | None = None
    class_weight: ClassWeight = None
    kernel: KernelLike | Sequence[str] = "auto"
    combine: str = "average"
    cv: Any = 5
    cache_size: float = 500.0
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0
