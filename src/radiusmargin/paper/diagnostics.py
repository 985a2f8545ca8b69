"""What a fitted model did: radius and margin before and after, the learned spectrum, and what a search tried."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from ..geometry import radius_margin
from ..search.base import SearchEstimator
from .tuning import final_estimator

__all__ = ["portrait", "search_portrait"]

#: A ball around more points than this, in more dimensions, or for more separators, says little more and takes long.
MAX_ROWS, MAX_FEATURES, MAX_SEPARATORS = 2000, 200, 50


def portrait(fitted, X) -> dict | None:
    """Radius, margin and spectrum in the units of the standardised features, so that models can be compared.

    Parameters
    ----------
    fitted : estimator or Pipeline of a standardisation and an estimator
    X : array of shape (n_samples, n_features)
        The training rows.

    Returns
    -------
    dict or None
        ``before`` and ``after`` (radius, margin and squared ratio; the median over the separators where there
        are several), ``spectrum`` (eigenvalues of the learned metric, summing to one) and ``data_spectrum``
        (those of the correlation matrix). None where the model has no ``coef_`` or the data are too large or
        sparse.
    """
    model = final_estimator(fitted)
    coef = np.atleast_2d(getattr(model, "coef_", np.empty((0, 0))))
    if sparse.issparse(X) or coef.shape[1] != X.shape[1] or X.shape[1] > MAX_FEATURES:
        return None
    mean, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    Z = (X - mean)[:MAX_ROWS] / scale
    standardised = isinstance(fitted, Pipeline) and fitted.named_steps["scale"] != "passthrough"
    units = np.ones_like(scale) if standardised else scale
    L = _transformation(model, units)
    reports = [radius_margin(Z, w * units, components=L) for w in coef[:MAX_SEPARATORS] if np.any(w)]
    if not reports:
        return None
    result = {"before": _medians([r.before for r in reports])}
    if L is not None:
        result["after"] = _medians([r.after for r in reports])
        result["spectrum"] = _spectrum(L.T @ L)
    result["data_spectrum"] = _spectrum(Z.T @ Z)
    return result


def _transformation(model, units):
    """What the model learned; None for the SVM, which is F-SVM whose metric may only shrink as a whole."""
    components = getattr(model, "components_", None)
    if components is None or (getattr(model, "whitening", None) == 0 and model.eta == 0):
        return None
    return components * units


def _medians(measures) -> dict:
    return {
        name: float(np.median([getattr(measure, name) for measure in measures]))
        for name in ("radius", "margin", "ratio")
    }


def _spectrum(M) -> list[float]:
    values = np.linalg.eigvalsh(M)[::-1].clip(min=0.0)
    total = values.sum()
    return (values / total if total > 0 else values).tolist()


def search_portrait(fitted) -> dict | None:
    """What a search of ours tried, averaged and found best, as plain data; None where the model is no such search.

    Returns
    -------
    dict or None
        ``params`` with their ``scores``, ``members`` (params and their weights) and ``best``, as
        `radiusmargin.plots.kernels.KindsDisplay` draws them.
    """
    model = final_estimator(fitted)
    if not isinstance(model, SearchEstimator):
        return None
    kernel = model.kernel if isinstance(model.kernel, str) else "kernel"

    def plain(params):
        shown = {name: params[name] for name in ("C", "whitening", "gamma", "weight") if params.get(name) is not None}
        kept = {name: value if isinstance(value, str) else float(value) for name, value in shown.items()}
        return {"kernel": params.get("kernel", kernel)} | kept

    results = model.cv_results_
    return {
        "params": [plain(params) for params in results["params"]],
        "scores": [None if np.isnan(score) else float(score) for score in results["mean_test_score"]],
        "members": [plain(member) for member in model.members_],
        "best": plain(model.best_params_),
    }
