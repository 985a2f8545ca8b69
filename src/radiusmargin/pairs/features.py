"""From pairs of images to rows of numbers that do not change when the two images of a pair change places."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.utils.validation import check_array, check_is_fitted

__all__ = ["PAIR_FEATURES", "FeatureTable", "PairFeatures", "as_pairs", "check_same"]

PAIR_FEATURES = ("difference", "product", "metric")
ALIASES = {"both": ("difference", "product")}


class FeatureTable:
    """Rows of features that are shared, and not copied, when an estimator that holds them is cloned.

    Parameters
    ----------
    rows : array-like of shape (n_images, n_features)
    """

    def __init__(self, rows):
        self.rows = np.asarray(rows)
        if self.rows.ndim != 2:
            raise ValueError(f"table must have shape (n_images, n_features), got {self.rows.shape}.")

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return f"FeatureTable({self.rows.shape[0]} x {self.rows.shape[1]})"


def as_pairs(pairs, table=None) -> np.ndarray:
    """Pairs as an array of shape (n_pairs, 2, n_features).

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2, n_features), or of shape (n_pairs, 2) with integers
        The features of both images, or their rows in `table`.
    table : FeatureTable or array-like of shape (n_images, n_features), optional

    Examples
    --------
    >>> as_pairs([[0, 2]], [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    array([[[1., 2.],
            [5., 6.]]])
    """
    pairs = np.asarray(pairs)
    if pairs.ndim == 3 and pairs.shape[1] == 2:
        rows = check_array(pairs.reshape(len(pairs), -1), dtype=[np.float64, np.float32], ensure_all_finite="allow-nan",
                           input_name="pairs")  # fmt: skip
        return rows.reshape(pairs.shape)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iu":
        raise ValueError(
            "pairs must have shape (n_pairs, 2, n_features), or (n_pairs, 2) and hold integers, rows of `table`;"
            f" got shape {pairs.shape} of {pairs.dtype}."
        )
    if table is None:
        raise ValueError("pairs are row numbers, so that `table` must hold the features of the images; got None.")
    rows = (table if isinstance(table, FeatureTable) else FeatureTable(table)).rows
    if len(pairs) and (pairs.min() < 0 or pairs.max() >= len(rows)):
        raise ValueError(f"pairs must be rows of the table, 0 to {len(rows) - 1}, got {pairs.min()} to {pairs.max()}.")
    return rows[pairs]


def check_same(y, n_pairs=None) -> np.ndarray:
    """Labels as booleans, True for a pair of the same person.

    Nothing but two values is taken: that a pair is the same or not is all the restricted protocol tells.

    >>> check_same([1, -1, 1])
    array([ True, False,  True])
    """
    y = np.asarray(y)
    if y.ndim != 1 or (n_pairs is not None and len(y) != n_pairs):
        raise ValueError(f"y must hold one label per pair, shape ({n_pairs},), got {y.shape}.")
    values = set(np.unique(y).tolist())
    if not (values <= {0, 1} or values <= {-1, 1}):
        raise ValueError(
            "y must say for every pair whether it is the same person (1) or not (0, -1 or False); identities are not"
            f" taken. Got {len(values)} values, such as {sorted(values, key=str)[:4]}."
        )
    return y == 1


class PairFeatures(TransformerMixin, BaseEstimator):
    """Symmetric features of pairs.

    Parameters
    ----------
    kinds : str or sequence of str, default="both"
        "difference" is ``|a - b|``, "product" is ``a * b`` (which wants centred features), "both" is the two side by
        side, and "metric" is the distance of a and b in a metric that is learned from the training pairs.
    metric : estimator or None, default=None
        None whitens the differences within pairs of the same person: ``M = (S + shrinkage tr(S)/d I)^{-1}`` with S
        their mean outer product. An estimator is fitted to ``|a - b|`` and the labels, and its `components_` L (as of
        `FSVM` with ``eta > 0``) gives the distance ``|L |a - b||``.
    shrinkage : float, default=0.1

    Attributes
    ----------
    components_ : ndarray of shape (rank, n_features)
        L of the metric, with "metric" only.
    n_features_in_ : int

    Examples
    --------
    >>> PairFeatures("both").fit_transform([[[1.0, -2.0], [3.0, 5.0]]], [1])
    array([[  2.,   7.,   3., -10.]])
    """

    def __init__(self, kinds="both", *, metric=None, shrinkage=0.1):
        self.kinds = kinds
        self.metric = metric
        self.shrinkage = shrinkage

    def fit(self, pairs, y=None):
        """Learn the metric, where there is one; else only the number of features."""
        kinds = _listed(self.kinds)
        pairs = as_pairs(pairs)
        self.n_features_in_ = pairs.shape[2]
        self.__dict__.pop("components_", None)
        if "metric" in kinds:
            if y is None:
                raise ValueError("kinds='metric' is learned from labelled pairs, got y=None.")
            self.components_ = self._learn(pairs, check_same(y, len(pairs)))
        return self

    def transform(self, pairs):
        """The features, shape (n_pairs, n_features_out)."""
        check_is_fitted(self, "n_features_in_")
        pairs = as_pairs(pairs)
        if pairs.shape[2] != self.n_features_in_:
            raise ValueError(f"pairs have {pairs.shape[2]} features, but {self.n_features_in_} were fitted.")
        a, b = pairs[:, 0], pairs[:, 1]
        return np.concatenate([getattr(self, f"_{kind}")(a, b) for kind in _listed(self.kinds)], axis=1)

    def _difference(self, a, b):
        return np.abs(a - b)

    def _product(self, a, b):
        return a * b

    def _metric(self, a, b):
        delta = a - b if self.metric is None else np.abs(a - b)
        return np.linalg.norm(delta @ self.components_.T, axis=1, keepdims=True)

    def _learn(self, pairs, same):
        delta = pairs[:, 0] - pairs[:, 1]
        if self.metric is not None:
            return clone(self.metric).fit(np.abs(delta), same.astype(int)).components_
        if not same.any():
            raise ValueError("kinds='metric' needs pairs of the same person, and there is none.")
        S = delta[same].T @ delta[same] / same.sum()
        ridge = self.shrinkage * np.trace(S) / len(S)
        root = cholesky(S + max(ridge, np.finfo(S.dtype).tiny) * np.eye(len(S)), lower=True)
        return solve_triangular(root, np.eye(len(S)), lower=True)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def _listed(kinds):
    """The parts of a choice of features."""
    names = [kinds] if isinstance(kinds, str) else list(kinds)
    parts = [part for name in names for part in ALIASES.get(name, (name,))]
    if not parts or not set(parts) <= set(PAIR_FEATURES):
        known = ", ".join(map(repr, (*PAIR_FEATURES, *ALIASES)))
        raise ValueError(f"kinds must be one or several of {known}, got {kinds!r}.")
    return list(dict.fromkeys(parts))
