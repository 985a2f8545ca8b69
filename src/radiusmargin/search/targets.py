"""The scale on which `AutoSVR` fits a target, and what its leave-one-out residuals say about new rows."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import stats
from scipy.special import boxcox, boxcox1p, inv_boxcox, inv_boxcox1p

from ..estimators.features import weighted_quantiles

POWERS = -2.0, 3.0  # range of the exponent
MARGIN = 0.2  # share of the range of the fitted targets by which predictions may leave it on a curved scale
RESIDUALS = 50  # quantiles of the residuals over which the mean is taken on a curved scale
KEPT = 1000  # quantiles of the residuals that a model keeps


@dataclass(frozen=True, eq=False)
class TargetScale:
    """A monotone map of a target to mean zero and deviation one.

    Attributes
    ----------
    power : float or None
        Exponent of the Box-Cox map of ``y / unit``, or of the Yeo-Johnson map if targets are not all positive [1]_. None keeps
        the shape.
    unit : float
        Median size of the targets.
    positive : bool
        Whether all targets are positive.
    mean, deviation : float
        Of the mapped targets.
    low, high : float
        Smallest and largest mapped target, standardised.
    residuals : ndarray or None
        Leave-one-out residuals on the mapped scale, sorted.

    References
    ----------
    .. [1] I.-K. Yeo and R. Johnson, "A new family of power transformations to improve normality or symmetry", Biometrika 87
       (2000).
    """

    power: float | None
    unit: float
    positive: bool
    mean: float
    deviation: float
    low: float
    high: float
    residuals: np.ndarray | None = None

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray, power: float | None = None) -> TargetScale:
        """Fit to targets, on the scale of a power or as they are."""
        unit, positive = float(np.median(np.abs(y))) or 1.0, bool(y.min() > 0)
        raw = cls(power, unit, positive, 0.0, 1.0, 0.0, 0.0)
        z = raw.forward(y)
        share = weight / weight.sum()
        mean = float(share @ z)
        deviation = float(np.sqrt(share @ (z - mean) ** 2))
        if not deviation > 1e-12 * np.abs(z).max():  # constant
            mean, deviation = float(z[0]), 1.0
        made = replace(raw, mean=mean, deviation=deviation)
        z = made.forward(y)
        return replace(made, low=float(z.min()), high=float(z.max()))

    @classmethod
    def curved(cls, y: np.ndarray, weight: np.ndarray) -> TargetScale | None:
        """Fit on the scale of the power that makes targets most normal; None if that is their own scale."""
        unit = float(np.median(np.abs(y))) or 1.0
        power = _most_normal(y / unit, bool(y.min() > 0))
        return None if power is None else cls.of(y, weight, power)

    def forward(self, y: np.ndarray) -> np.ndarray:
        """Map targets to the scale of the fit."""
        if self.power is not None:
            y = y / self.unit
            y = boxcox(y, self.power) if self.positive else _yeo_johnson(y, self.power)
        return (y - self.mean) / self.deviation

    def backward(self, z: np.ndarray) -> np.ndarray:
        """Map back to targets; on a curved scale values far outside of those of the fit are cut off."""
        if self.power is None:
            return z * self.deviation + self.mean
        margin = MARGIN * (self.high - self.low)
        z = np.clip(z, self.low - margin, self.high + margin) * self.deviation + self.mean
        y = inv_boxcox(_reachable(z, self.power), self.power) if self.positive else _inverse_yeo_johnson(z, self.power)
        return y * self.unit

    def mean_of(self, z: np.ndarray) -> np.ndarray:
        """Return the expected target for fits on the scale: the mean over the residuals, where the scale is curved."""
        if self.power is None:
            return self.backward(z)
        places = (np.arange(RESIDUALS) + 0.5) / RESIDUALS
        return sum(self.backward(z + r) for r in np.quantile(self.residuals, places)) / RESIDUALS

    def quantile_of(self, z: np.ndarray, quantile: float) -> np.ndarray:
        """Return a quantile of the target: that of the residuals, by which a fraction of new rows is covered on average."""
        n = len(self.residuals)
        # With n + 1 exchangeable residuals the k-th smallest covers k / (n + 1).
        place = quantile * (n + 1) - 1
        below, above = (int(np.clip(k, 0, n - 1)) for k in (np.floor(place), np.ceil(place)))
        share = min(max(place - below, 0.0), 1.0)
        return self.backward(z + (1 - share) * self.residuals[below] + share * self.residuals[above])

    def with_residuals(self, residuals: np.ndarray, weight: np.ndarray) -> TargetScale:
        """Keep the residuals, or evenly spaced quantiles of many."""
        if len(residuals) > KEPT or (weight != weight[0]).any():
            places = (np.arange(min(len(residuals), KEPT)) + 0.5) / min(len(residuals), KEPT)
            residuals = weighted_quantiles(residuals[:, None], weight, places).ravel()
        return replace(self, residuals=np.sort(residuals))


def _most_normal(y, positive):
    """Return the exponent of greatest likelihood, or None if it is of no use."""
    if len(np.unique(y)) < 3:
        return None
    likelihood = stats.boxcox_llf if positive else stats.yeojohnson_llf
    powers = np.linspace(*POWERS, 51)
    with np.errstate(all="ignore"):
        values = np.array([likelihood(power, y) for power in powers])
    values[~np.isfinite(values)] = -np.inf
    best = float(powers[np.argmax(values)])
    return None if not np.isfinite(values).any() or abs(best - 1.0) < 0.05 else best


def _yeo_johnson(y, power):
    out = boxcox1p(np.maximum(y, 0.0), power)
    return np.where(y >= 0, out, -boxcox1p(np.maximum(-y, 0.0), 2.0 - power))


def _inverse_yeo_johnson(z, power):
    above = inv_boxcox1p(_reachable(np.maximum(z, 0.0), power), power)
    return np.where(z >= 0, above, -inv_boxcox1p(_reachable(np.maximum(-z, 0.0), 2.0 - power), 2.0 - power))


def _reachable(z, power):
    """Cut values off that no finite target is mapped to."""
    edge = (1e-9 - 1.0) / power if power else 0.0
    return np.maximum(z, edge) if power > 0 else np.minimum(z, edge) if power < 0 else z
