"""Radius, margin and their ratio, before and after a learned transformation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from .._checks import check_points, check_vector
from .._types import ArrayLike
from .enclosing_ball import minimum_enclosing_ball


@dataclass(frozen=True, kw_only=True)
class RadiusMargin:
    """Radius of the enclosing ball and margin of a linear classifier in one space.

    Parameters
    ----------
    radius : float
        Radius of the minimum enclosing ball.
    margin : float
        ``1 / ||w||``, infinite for ``w = 0``.
    """

    radius: float
    margin: float

    @property
    def ratio(self) -> float:
        """``radius^2 / margin^2``, the quantity that the radius-margin bound of the error grows with."""
        return (self.radius / self.margin) ** 2


@dataclass(frozen=True, kw_only=True)
class RadiusMarginComparison:
    """The same classifier seen in the space of the data and in the transformed one.

    Parameters
    ----------
    before, after : RadiusMargin
        In the metric of the data (the identity), and in that of the transformation.
    residual : float
        ``||L'v - w|| / ||w||``. Zero up to rounding where the classifier is a function of the transformed
        features; else `after` describes its nearest neighbour ``L'v`` and not itself.
    """

    before: RadiusMargin
    after: RadiusMargin
    residual: float


def radius_margin(X: ArrayLike, coef: ArrayLike, *, components: ArrayLike | None = None) -> RadiusMarginComparison:
    """Radius, margin and squared ratio before and after the transformation ``z = L x``.

    After the transformation the classifier ``w'x`` is ``v'z`` with ``L'v = w``; among the solutions the one
    of smallest norm is meant, so that ``||v||^2 = w'M^+w`` with ``M = L'L`` (`mathematics.md` sections 1
    and 6).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    coef : array of shape (n_features,) or (1, n_features)
        Weight vector ``w`` of a binary classifier.
    components : array of shape (n_components, n_features), optional
        The transformation ``L``; the identity if not given.

    Returns
    -------
    RadiusMarginComparison

    Examples
    --------
    Shrinking a direction that the classifier does not use reduces the radius and keeps the margin:

    >>> import numpy as np
    >>> from radiusmargin.geometry.ratio import radius_margin
    >>> X = np.array([[-1.0, -3.0], [-1.0, 3.0], [1.0, -3.0], [1.0, 3.0]])
    >>> report = radius_margin(X, [1.0, 0.0], components=np.diag([1.0, 1e-3]))
    >>> round(report.before.ratio, 3), round(report.after.ratio, 3)
    (10.0, 1.0)
    """
    X = check_points(X)
    w = np.asarray(coef)
    if w.ndim == 2 and w.shape[0] == 1:
        w = w[0]
    w = check_vector("coef", w, X.shape[1])
    before = _measure(X, w)
    if components is None:
        return RadiusMarginComparison(before=before, after=before, residual=0.0)
    L = check_points(components, "components")
    if L.shape[1] != X.shape[1]:
        raise ValueError(f"components must have {X.shape[1]} columns, as X has, got shape {L.shape}")
    v = linalg.lstsq(L.T, w, check_finite=False)[0]
    norm = np.linalg.norm(w)
    residual = np.linalg.norm(L.T @ v - w) / norm if norm > 0.0 else 0.0
    return RadiusMarginComparison(before=before, after=_measure(X @ L.T, v), residual=float(residual))


def _measure(Z, v) -> RadiusMargin:
    norm = float(np.linalg.norm(v))
    return RadiusMargin(radius=minimum_enclosing_ball(Z).radius, margin=1.0 / norm if norm > 0.0 else np.inf)
