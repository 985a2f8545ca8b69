"""AutoSVM: the search over kinds of kernels under a name of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY

from .._types import KernelLike
from ..estimators.base import estimator
from .fsvmcv import FSVMCV


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
