"""From pairs of images to rows of numbers that do not change when the two images of a pair change places."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement, pairwise
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import cholesky, solve_triangular
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.model_selection import KFold
from sklearn.utils.validation import check_array, check_is_fitted

from .projection import ImageProjection

__all__ = ["PAIR_FEATURES", "FeatureTable", "PairFeatures", "as_table", "check_same"]

PAIR_FEATURES = ("difference", "product", "both", "metric", "signed")


class FeatureTable:
    """Rows of features that are shared, and not copied, when an estimator that holds them is cloned.

    Parameters
    ----------
    rows : array-like of shape (n_images, n_features) or (n_images, n_views, n_features)
        Several views of an image, such as the image itself and its mirror image, are compared each with each.
    """

    def __init__(self, rows: ArrayLike):
        self.rows = np.asarray(rows)
        if self.rows.ndim not in (2, 3):
            raise ValueError(
                f"table must have shape (n_images, n_features) or (n_images, n_views, n_features), got {self.rows.shape}."
            )
        if self.rows.ndim == 2:
            self.rows = self.rows[:, None]

    def __deepcopy__(self, memo):
        return self

    def __repr__(self):
        return f"FeatureTable({' x '.join(map(str, self.rows.shape))})"


def as_table(pairs: ArrayLike, table: ArrayLike | FeatureTable | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Images and pairs of their row numbers.

    Parameters
    ----------
    pairs : array-like of shape (n_pairs, 2, n_features), or of shape (n_pairs, 2) with integers
        The features of both images, or their rows in `table`.
    table : FeatureTable or array-like, optional

    Returns
    -------
    rows : ndarray of shape (n_images, n_views, n_features)
        Where pairs hold features, every image of every pair.
    pairs : ndarray of int of shape (n_pairs, 2)

    Examples
    --------
    >>> rows, pairs = as_table([[[1.0, 2.0], [3.0, 4.0]]])
    >>> rows.shape, pairs
    ((2, 1, 2), array([[0, 1]]))
    """
    pairs = np.asarray(pairs)
    if pairs.ndim == 3 and pairs.shape[1] == 2:
        rows = check_array(pairs.reshape(2 * len(pairs), -1), dtype=[np.float64, np.float32],
                           ensure_all_finite="allow-nan", input_name="pairs")  # fmt: skip
        return rows[:, None], np.arange(len(rows)).reshape(-1, 2)
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
    return rows, pairs


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
    """Symmetric features of pairs, block by block.

    Every block of the images' features is centred and, where `n_components` says so, projected on its principal
    components; then the two images are compared. Where images have several views, the features are the means over all
    pairs of views.

    Parameters
    ----------
    kinds : str or sequence of str, default="both"
        For all blocks, or one for each. "difference" is ``|a - b|``, "product" is ``a * b``, "both" is the two side by
        side. "metric" is two numbers: distance and cosine of a and b after whitening the differences within training
        pairs of one person, with S their mean outer product by ``(S + shrinkage tr(S)/d I)^(-1/2)``, and division by
        their lengths. "signed" is ``a - b``, for models that are symmetric themselves, as `LDML` is.
    n_components : int, None or sequence, default=None
        Of PCA, for all blocks or one for each; None does not rotate.
    blocks : sequence of int or None, default=None
        Widths of the blocks; None is one block.
    shrinkage : float, default=0.02
    cv : int, default=5
        `fit_transform` compares the training pairs in metrics learned from others: the pairs, in their order, are cut
        into so many parts, and each part's metric is learned from the rest. A metric makes the pairs that it was
        learned from look more alike than new ones, and a classifier would set its threshold by that.

    Attributes
    ----------
    projections_ : list of ImageProjection
        Fitted to the first view of the images of the training pairs, each of which counts once.
    whitenings_ : list of ndarray or None
        Of the blocks with a metric.
    n_features_in_ : int

    Notes
    -----
    As with scikit-learn's ``TargetEncoder``, ``fit(...).transform(...)`` of the training pairs is not
    ``fit_transform(...)`` where there is a metric.

    Examples
    --------
    >>> PairFeatures("difference").fit_transform([[[1.0, -2.0], [3.0, 5.0]]])
    array([[2., 7.]])
    >>> table = np.random.default_rng(0).normal(size=(8, 5))
    >>> pairs, y = [[0, 1], [2, 3], [4, 5], [6, 7], [1, 2], [3, 4]], [1, 1, 1, 1, 0, 0]
    >>> PairFeatures(("metric", "both"), blocks=(3, 2), cv=2).fit(pairs, y, table=table).transform(pairs, table=table).shape
    (6, 6)
    """

    def __init__(
        self,
        kinds: str | Sequence[str] = "both",
        *,
        n_components: int | Sequence | None = None,
        blocks: Sequence[int] | None = None,
        shrinkage: float = 0.02,
        cv: int = 5,
    ):
        self.kinds = kinds
        self.n_components = n_components
        self.blocks = blocks
        self.shrinkage = shrinkage
        self.cv = cv

    def fit(
        self, pairs: ArrayLike, y: ArrayLike | None = None, *, table: ArrayLike | FeatureTable | None = None
    ) -> Self:
        """Learn projections and metrics.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with rows of `table`
        y : array-like of shape (n_pairs,), optional
            1 for the same person, 0 or -1 for two; for "metric".
        table : FeatureTable or array-like, optional
        """
        self._learn(pairs, y, table)
        return self

    def fit_transform(
        self, pairs: ArrayLike, y: ArrayLike | None = None, *, table: ArrayLike | FeatureTable | None = None
    ) -> np.ndarray:
        """Learn, and describe the training pairs, each in metrics that have not seen it; see `cv`."""
        images, pairs, same = self._learn(pairs, y, table)
        described = [
            _compared(kind, rows, None, pairs) if kind != "metric" else self._held_out(rows, pairs, same)
            for kind, rows in zip(self.kinds_, images, strict=True)
        ]
        return np.concatenate(described, axis=1)

    def transform(self, pairs: ArrayLike, *, table: ArrayLike | FeatureTable | None = None) -> np.ndarray:
        """The features, shape (n_pairs, n_features_out)."""
        check_is_fitted(self, "projections_")
        rows, pairs = as_table(pairs, table)
        if rows.shape[2] != self.n_features_in_:
            raise ValueError(f"pairs have {rows.shape[2]} features, but {self.n_features_in_} were fitted.")
        images, pairs = self._projected(rows, pairs)
        parts = zip(self.kinds_, images, self.whitenings_, strict=True)
        return np.concatenate([_compared(kind, rows, W, pairs) for kind, rows, W in parts], axis=1)

    def parts(self, n_features: int) -> list[tuple[slice, PairFeatures]]:
        """The columns of every block, and what describes it alone: side by side they are the whole.

        >>> [columns for columns, _ in PairFeatures(("metric", "both"), blocks=(3, 2)).parts(5)]
        [slice(0, 3, None), slice(3, 5, None)]
        """
        widths = self._widths(n_features)
        settings = zip(self._columns(widths), _for_each("kinds", self.kinds, widths),
                       _for_each("n_components", self.n_components, widths), strict=True)  # fmt: skip
        own = {"shrinkage": self.shrinkage, "cv": self.cv}
        return [(columns, PairFeatures(kind, n_components=k, **own)) for columns, kind, k in settings]

    def _widths(self, n_features):
        widths = [n_features] if self.blocks is None else [int(width) for width in self.blocks]
        if sum(widths) != n_features:
            raise ValueError(f"blocks must add up to the {n_features} features, got {widths}.")
        return widths

    @staticmethod
    def _columns(widths):
        return [slice(a, b) for a, b in pairwise(np.cumsum([0, *widths]).tolist())]

    def _learn(self, pairs, y, table):
        """Fit, and return the projected images, pairs of their rows, and labels."""
        rows, pairs = as_table(pairs, table)
        widths = self._widths(rows.shape[2])
        self.n_features_in_ = rows.shape[2]
        self.kinds_ = _for_each("kinds", self.kinds, widths)
        unknown = [kind for kind in self.kinds_ if kind not in PAIR_FEATURES]
        if unknown:
            raise ValueError(f"kinds must be some of {', '.join(map(repr, PAIR_FEATURES))}, got {unknown[0]!r}.")
        same = None if y is None else check_same(y, len(pairs))
        if "metric" in self.kinds_ and (same is None or not same.any()):
            raise ValueError("kinds='metric' is learned from labelled pairs, some of the same person.")
        self.slices_ = self._columns(widths)
        sizes = _for_each("n_components", self.n_components, widths)
        seen = rows[np.unique(pairs), 0]
        self.projections_ = [ImageProjection(k).fit(seen[:, part]) for k, part in zip(sizes, self.slices_, strict=True)]
        images, pairs = self._projected(rows, pairs)
        self.whitenings_ = [
            _whitening(rows, pairs[same], self.shrinkage) if kind == "metric" else None
            for kind, rows in zip(self.kinds_, images, strict=True)
        ]
        return images, pairs, same

    def _projected(self, rows, pairs):
        """For every block the images of the pairs, shape (n_images, n_views, n_components), and pairs of their rows."""
        seen, places = np.unique(pairs, return_inverse=True)
        rows = rows[seen]
        return [
            projection.transform(rows[:, :, part].reshape(-1, part.stop - part.start)).reshape(*rows.shape[:2], -1)
            for projection, part in zip(self.projections_, self.slices_, strict=True)
        ], places.reshape(-1, 2)

    def _held_out(self, rows, pairs, same):
        """Similarities of the training pairs, part by part, in the metric of the other parts."""
        described = np.empty((len(pairs), 2), dtype=rows.dtype)
        for rest, part in KFold(min(self.cv, len(pairs))).split(pairs):
            learned = pairs[rest][same[rest]]
            if not len(learned):
                raise ValueError(
                    f"cv={self.cv} leaves no pairs of the same person to learn a metric from; shuffle them."
                )
            described[part] = _compared("metric", rows, _whitening(rows, learned, self.shrinkage), pairs[part])
        return described

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags


def _for_each(name, value, widths):
    """A value for every block."""
    if value is None or isinstance(value, str) or np.isscalar(value):
        return [value] * len(widths)
    if len(value) != len(widths):
        raise ValueError(f"{name} must be one value, or one for each of {len(widths)} blocks, got {len(value)}.")
    return list(value)


def _views(rows):
    """Pairs (u, v) of views with u <= v."""
    return combinations_with_replacement(range(rows.shape[1]), 2)


def _whitening(rows, pairs, shrinkage):
    """W with ``W'(S + shrinkage tr(S)/d I)W = I``, S the mean outer product of the differences of these pairs."""
    a, b = rows[pairs[:, 0]], rows[pairs[:, 1]]
    deltas = (a[:, u] - b[:, v] for w in _views(rows) for u, v in {w, w[::-1]})
    S = sum((delta.T @ delta).astype(float) for delta in deltas) / (len(pairs) * rows.shape[1] ** 2)
    ridge = max(shrinkage * np.trace(S) / len(S), np.finfo(float).tiny)
    root = cholesky(S + ridge * np.eye(len(S)), lower=True)
    return solve_triangular(root, np.eye(len(S)), lower=True).T.astype(rows.dtype)


def _compared(kind, rows, whitening, pairs):
    """Features of a kind: means over all pairs of views. (u, v) and (v, u) are added first, hence exact symmetry."""
    if kind == "metric":
        rows = rows @ whitening
        rows /= np.maximum(np.linalg.norm(rows, axis=2, keepdims=True), np.finfo(rows.dtype).tiny)
    a, b, compare = rows[pairs[:, 0]], rows[pairs[:, 1]], COMPARISONS[kind]
    total = 0.0
    for u, v in _views(rows):
        once = compare(a[:, u], b[:, v])
        total = total + (once if u == v else once + compare(a[:, v], b[:, u]))
    return total / rows.shape[1] ** 2


def _difference(a, b):
    return np.abs(a - b)


def _both(a, b):
    return np.concatenate([np.abs(a - b), a * b], axis=1)


def _similarities(a, b):
    """Distance and cosine of rows of unit length."""
    cosine = np.einsum("ij,ij->i", a, b)
    return np.column_stack([np.sqrt(np.maximum(2 - 2 * cosine, 0)), cosine])


COMPARISONS = {
    "difference": _difference, "product": np.multiply, "both": _both, "metric": _similarities, "signed": np.subtract,
}  # fmt: skip
