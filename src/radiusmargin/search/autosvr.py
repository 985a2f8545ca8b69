"""AutoSVR: kernel regression that is tuned by exact leave-one-out residuals and averaged."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import check_choice, check_number, check_weights
from .._types import ArrayLike, Data
from ..estimators.base import CertifiedRegressor, estimator
from . import least_squares
from .frames import CategoricalFeatures, TakesTables
from .least_squares import NAMES, LeastSquaresSearch, Rows, choose, ensemble
from .targets import TargetScale


@estimator
class AutoSVR(TakesTables, CertifiedRegressor):
    """Linear and kernel regression, tuned without folds and averaged: the first model to try on a table with a quantity.

    Least-squares SVMs (kernel ridge regression with an intercept) of linear, Gaussian and Laplacian kernels, on the features and
    on their ranks, are scored by exact leave-one-out residuals. The scales of the features are learned from a first fit. The
    features need no scaling, and there is no grid to choose.

    Parameters
    ----------
    kernel : str or list of str, default="auto"
        Kernels to search: "linear", "rbf", "laplacian", "rbf-ranks", "laplacian-ranks"; "auto" is all of them.
    learn_scales : bool, default=True
        Search the kernels also on features with learned scales: the root of the mean squared derivative of the best model along
        each feature. At most 500 features.
    target_transform : {"auto", None}, default="auto"
        "auto" fits a skewed target on a power scale if that has the smaller held-out loss; None keeps its scale.
    verbose : int, default=0
        1 prints a line per kernel on standard error.
    categorical_features : "from_dtype" or list of str, int or bool
        Columns of numbers that are categories: names, positions, or a mask. "from_dtype" takes the types of a frame: texts and
        categorical columns.

    Attributes
    ----------
    members_ : list of dict
        Kernel, gamma and ridge of the averaged models, each with its "output" and "weight".
    oof_prediction_ : ndarray
        Leave-one-out predictions. NaN for rows of weight zero, and with more than 20,000 rows for all but a sample of that size.
    oof_score_ : float
        R2 of these predictions; of several targets the mean. It is slightly optimistic, since the choice was made by it.
    powers_ : list of float or None
        Exponent of the power scale of every target; None if its scale was kept.
    encoder_ : TableEncoder
        Turns rows into numbers, if the training rows had categories, dates or gaps.
    objective_, dual_objective_ : float
        Sums over the members. The dual objective is a lower bound of the smallest objective.
    dual_gap_, max_dual_gap_ : float
        Certified relative duality gap: of the sums, and the largest one of a member.

    Notes
    -----
    All ridges of a kernel are solved with one eigendecomposition. With more than 400 rows all kernels are tried on a sample of
    400, and the better ones are fitted to all rows: exactly up to 2,000 rows, beyond it on the span of 1,000 of them.

    See Also
    --------
    AutoSVM : The same for classes.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from radiusmargin import AutoSVR
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = AutoSVR().fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.45)
    True
    >>> low, high = model.prediction_interval(X[300:], coverage=0.9).T
    >>> bool(0.8 < ((low <= y[300:]) & (y[300:] <= high)).mean() < 1.0)
    True
    """

    _private_fitted = ("_model", "_targets", "_means")

    kernel: str | Sequence[str] = "auto"
    learn_scales: bool = True
    target_transform: str | None = "auto"
    verbose: int = 0
    categorical_features: CategoricalFeatures = "from_dtype"

    def fit(self, X: Data, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Choose and fit the models.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the squared residuals; rows of weight zero are left out.
        """
        self._reset()
        names = self._names()
        X, y = self._validated_both(X, y)
        weight = check_weights(sample_weight, len(y), least=2)
        kept = np.flatnonzero(weight)
        targets, weight = y.reshape(len(y), -1)[kept], weight[kept]
        groups = self.encoder_.indicator_groups if hasattr(self, "encoder_") else np.empty(0)
        rows = Rows(X[kept], targets, weight, groups if (groups >= 0).any() else None)
        search = LeastSquaresSearch(names, self._print if self.verbose else None)
        scales, found, shares, index = self._searched(search, rows)
        rows = replace(rows, targets=_mapped(scales, targets))
        self._keep(found, shares, rows)
        self._keep_held_out(scales, found, shares, rows.at(index), targets[index], (y.shape, kept[index]))
        return self

    def predict(self, X: Data, quantiles: Sequence[float] | None = None) -> np.ndarray:
        """Predict the mean of the target of every row, or quantiles of it.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        quantiles : sequence of float, optional
            Numbers between 0 and 1. Quantiles are those of the leave-one-out residuals around the prediction, whose spread is taken
            to be the same everywhere (on the power scale, if there is one); they never cross.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            With quantiles of shape (n_samples, n_quantiles) or (n_samples, n_outputs, n_quantiles).
        """
        check_is_fitted(self)
        X = self._validated(X)
        fits = self._model.of_scores(lambda scores: scores, X)
        if quantiles is None:
            found = np.column_stack([scale.mean_of(z) for scale, z in zip(self._targets, fits.T, strict=True)])
            return found[:, 0] if self._one_target else found
        quantiles = np.atleast_1d(np.asarray(quantiles, dtype=float))
        for quantile in quantiles.tolist():
            check_number("quantiles", quantile, 0.0, 1.0, low_allowed=False)
        found = np.array(
            [[s.quantile_of(z, q) for q in quantiles] for s, z in zip(self._targets, fits.T, strict=True)]
        ).transpose(2, 0, 1)
        return found[:, 0] if self._one_target else found

    def prediction_interval(self, X: Data, coverage: float = 0.9) -> np.ndarray:
        """Predict an interval for the target of every row, from the leave-one-out residuals.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_features)
        coverage : float, default=0.9
            Share of new rows whose targets the intervals should contain, if they come from where the training rows came from.

        Returns
        -------
        ndarray of shape (n_samples, 2) or (n_samples, n_outputs, 2)
            Lower and upper ends.
        """
        check_number("coverage", coverage, 0.0, 1.0, low_allowed=False)
        return self.predict(X, quantiles=[(1 - coverage) / 2, (1 + coverage) / 2])

    # -- the steps of fit ---------------------------------------------------------------------------------------------

    def _names(self):
        if self.target_transform is not None:
            check_choice("target_transform", self.target_transform, ("auto",), " or None")
        if isinstance(self.kernel, str) and self.kernel == "auto":
            return NAMES
        names = (self.kernel,) if isinstance(self.kernel, str) else tuple(dict.fromkeys(self.kernel))
        if not names:
            raise ValueError("kernel must not be an empty list.")
        for name in names:
            check_choice("kernel", name, NAMES, ' or "auto"')
        return names

    @property
    def _one_target(self):
        return self.oof_prediction_.ndim == 1

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _searched(self, search, rows):
        """Return the scales of the targets, the scored kernels with the shares of their ridges, and the rows they were scored on."""
        sample = _spread_sample(rows.targets[:, 0], least_squares.SAMPLE)
        scales, some, found = self._scaled(search, rows.at(sample))
        if self.learn_scales:
            found = found + search.with_metrics(found, some)
        shares = _shares(found, some)
        if len(sample) == len(rows.X):
            return scales, found, shares, sample
        chosen = search.finalists(found, shares, some)
        scales = [TargetScale.of(y, rows.weight, power=s.power) for s, y in zip(scales, rows.targets.T, strict=True)]
        index = _spread_sample(rows.targets[:, 0], least_squares.SCORED)
        rows = replace(rows, targets=_mapped(scales, rows.targets))
        found = search.refit(chosen, rows, index)
        return scales, found, _shares(found, rows.at(index)), index

    def _scaled(self, search, rows):
        """Choose the scale of every target by the held-out loss; return scales, rows with mapped targets, and scored kernels."""
        scales = [TargetScale.of(y, rows.weight) for y in rows.targets.T]
        curved = [TargetScale.curved(y, rows.weight) if self.target_transform else None for y in rows.targets.T]
        columns = [(t, scale) for own in (scales, curved) for t, scale in enumerate(own) if scale is not None]
        mapped = replace(rows, targets=np.column_stack([scale.forward(rows.targets[:, t]) for t, scale in columns]))
        found = search.isotropic(mapped)
        best = {}
        for k, (t, scale) in enumerate(columns):
            if sum(t == other for other, _ in columns) == 1:
                best[t] = (0.0, k)
                continue
            _, residuals = choose(found, mapped, k)
            held_out = scale.with_residuals(residuals, rows.weight)
            error = rows.targets[:, t] - held_out.mean_of(mapped.targets[:, k] - residuals)
            best[t] = min(best.get(t, (np.inf, k)), (float(rows.weight @ error**2), k))
        kept = [best[t][1] for t in range(rows.targets.shape[1])]
        found = [replace(one, coef=one.coef[:, :, kept], residuals=one.residuals[:, :, kept]) for one in found]
        return [columns[k][1] for k in kept], replace(mapped, targets=mapped.targets[:, kept]), found

    def _keep(self, found, shares, rows):
        self._model, certificate = ensemble(found, shares, rows)
        self._certify(certificate)
        self.members_ = [
            one.kernel.params(ridge) | {"output": t, "weight": float(weight)}
            for one, own in zip(found, shares, strict=True)
            for ridge, weights in zip(one.kernel.ridges, own, strict=True)
            for t, weight in enumerate(weights)
            if weight
        ]

    def _keep_held_out(self, scales, found, shares, rows, y, where):
        shape, index = where
        prediction = np.full((shape[0], y.shape[1]), np.nan)
        self._targets, scores = (), []
        for t, scale in enumerate(scales):
            residuals = sum(own[:, t] @ one.residuals[:, :, t] for one, own in zip(found, shares, strict=True))
            scale = scale.with_residuals(residuals, rows.weight)
            prediction[index, t] = scale.mean_of(rows.targets[:, t] - residuals)
            centred = y[:, t] - rows.weight @ y[:, t] / rows.weight.sum()
            error, spread = rows.weight @ (y[:, t] - prediction[index, t]) ** 2, rows.weight @ centred**2
            scores.append(1 - error / spread if spread > 0 else 0.0)
            self._targets += (scale,)
        self.powers_ = [scale.power for scale in self._targets]
        self.oof_prediction_ = prediction.reshape(shape)
        self.oof_score_ = float(np.mean(scores))

    def _print(self, scored):
        kernel = scored.kernel
        print(f"[AutoSVR] {kernel.name}, gamma {kernel.function.gamma:.3g}", file=sys.stderr)


def _mapped(scales, y):
    return np.column_stack([scale.forward(own) for scale, own in zip(scales, y.T, strict=True)])


def _shares(found, rows):
    """Return the shares (ridges, T) of every scored kernel."""
    chosen = [choose(found, rows, t)[0] for t in range(rows.targets.shape[1])]
    return [np.column_stack(own) for own in zip(*chosen, strict=True)]


def _spread_sample(y, most):
    """Return the rows of a sample that is spread evenly over the sorted targets, always the same; all rows if they are few."""
    if len(y) <= most:
        return np.arange(len(y))
    rng = np.random.default_rng(0)
    order = np.lexsort((rng.random(len(y)), y))
    places = (np.arange(most) + rng.random(most)) * len(y) / most
    return np.sort(order[places.astype(int)])
