r"""Artificial tasks whose best possible error rate is known.

Twonorm, ringnorm and waveform are Breiman's; the first two carry labels -1 and +1 as in the IDA collection,
and the label conventions below are those of the published samples (IDA and DELVE/UCI).

================  ==========================================  ===============
task              classes                                     Bayes error
================  ==========================================  ===============
twonorm           :math:`N(\pm a\mathbf 1, I)`                2.28 %
ringnorm          :math:`N(0, 4I)`, :math:`N(a\mathbf 1, I)`  1.24 % (d = 20)
waveform          three noisy mixtures of triangles           13.3 %
waveform, binary  the second of them against the rest         8.3 %
ill-conditioned   twonorm behind a badly scaled map           2.28 %
================  ==========================================  ===============

References
----------
.. [1] L. Breiman, "Bias, variance, and arcing classifiers", Technical Report 460, Berkeley, 1996.
.. [2] L. Breiman, J. Friedman, R. Olshen, C. Stone, "Classification and Regression Trees", 1984 (waveform).
"""

from __future__ import annotations

from numbers import Integral

import numpy as np
from sklearn.utils import check_random_state

from ..._types import RandomState

__all__ = [
    "make_gaussian_mixture",
    "make_ill_conditioned",
    "make_ringnorm",
    "make_twonorm",
    "make_waveform",
]


def _check_size(name, value, least):
    if not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")


def _balanced_labels(labels, n_samples, rng):
    """Class sizes that differ by at most one, shuffled: a small sample never misses a class."""
    y = np.resize(np.asarray(labels), n_samples)
    rng.shuffle(y)
    return y


def make_twonorm(
    n_samples: int = 500, n_features: int = 20, *, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Breiman's twonorm: two spherical Gaussians, linearly separated as well as can be.

    Class +1 is :math:`N(a\mathbf 1, I)` and class -1 :math:`N(-a\mathbf 1, I)` with
    :math:`a = 2/\sqrt d` (Breiman 1996), so that the Bayes rule is the sign of :math:`\sum_j x_j` and its error
    :math:`\Phi(-2) = 2.28\,\%` for every d. Class sizes differ by at most one.

    Parameters
    ----------
    n_samples, n_features : int
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,), -1 or +1

    Examples
    --------
    >>> X, y = make_twonorm(1000, random_state=0)
    >>> bool(np.mean(np.sign(X.sum(axis=1)) == y) > 0.95)
    True
    """
    _check_size("n_samples", n_samples, 2)
    _check_size("n_features", n_features, 1)
    rng = check_random_state(random_state)
    y = _balanced_labels([-1, 1], n_samples, rng)
    shift = 2.0 / np.sqrt(n_features)
    return rng.standard_normal((n_samples, n_features)) + shift * y[:, None], y


def make_ringnorm(
    n_samples: int = 500, n_features: int = 20, *, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Breiman's ringnorm: a narrow Gaussian inside a wide one; no linear rule does well.

    Class +1 is :math:`N(0, 4I)` and class -1 :math:`N(a\mathbf 1, I)` with :math:`a = 2/\sqrt d`. (Some
    libraries take :math:`1/\sqrt d`; the published sample has 0.45 at d = 20, which is this one.) The Bayes
    error is 1.24 % at d = 20; Breiman gives 1.3 %. Class sizes differ by at most one.

    Parameters
    ----------
    n_samples, n_features : int
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,), -1 (inside) or +1 (around)

    Examples
    --------
    >>> X, y = make_ringnorm(1000, random_state=0)
    >>> X[y == 1].std().round(1), X[y == -1].std().round(1)
    (np.float64(2.0), np.float64(1.0))
    """
    _check_size("n_samples", n_samples, 2)
    _check_size("n_features", n_features, 1)
    rng = check_random_state(random_state)
    y = _balanced_labels([-1, 1], n_samples, rng)
    noise = rng.standard_normal((n_samples, n_features))
    wide = (y == 1)[:, None]
    return np.where(wide, 2.0 * noise, noise + 2.0 / np.sqrt(n_features)), y


def _waveform_triangles():
    """The three triangles of height 6, with peaks at positions 7, 15 and 11 of 21 [2]_."""
    position = np.arange(1, 22)
    return np.array([np.maximum(6 - np.abs(position - peak), 0) for peak in (7, 15, 11)], dtype=float)


#: Which two triangles each waveform class mixes.
_WAVEFORM_PAIRS = np.array([[0, 1], [0, 2], [1, 2]])


def make_waveform(
    n_samples: int = 1000, *, binary: bool = False, n_noise_features: int = 0, random_state: RandomState = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Breiman's waveforms: each class is a random mixture of two of three triangles, plus noise.

    With u uniform on (0, 1), a sample is :math:`u h_i + (1-u) h_j + N(0, I)` on 21 positions, where class 0
    mixes the triangles with peaks at 7 and 15, class 1 those at 7 and 11, class 2 those at 15 and 11. The
    Bayes error is 13.3 % by quadrature (commonly quoted as 14 %). ``binary=True`` is the IDA version, class 1
    (+1) against the other two (-1), with a Bayes error of 8.3 %. The sizes of the three classes differ by at
    most one.

    Parameters
    ----------
    n_samples : int
    binary : bool
        Labels -1 and +1 as in the IDA collection, instead of 0, 1, 2.
    n_noise_features : int
        Columns of pure noise to append (19 in UCI's "waveform-noise").
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 21 + n_noise_features)
    y : ndarray of shape (n_samples,)

    Examples
    --------
    >>> X, y = make_waveform(300, random_state=0)
    >>> X.shape, np.bincount(y).tolist()
    ((300, 21), [100, 100, 100])
    >>> np.unique(make_waveform(300, binary=True, random_state=0)[1]).tolist()
    [-1, 1]
    """
    _check_size("n_samples", n_samples, 3)
    _check_size("n_noise_features", n_noise_features, 0)
    rng = check_random_state(random_state)
    y = _balanced_labels([0, 1, 2], n_samples, rng)
    first, second = _waveform_triangles()[_WAVEFORM_PAIRS[y]].transpose(1, 0, 2)
    u = rng.uniform(size=(n_samples, 1))
    X = rng.standard_normal((n_samples, 21 + n_noise_features))
    X[:, :21] += u * first + (1 - u) * second
    return X, np.where(y == 1, 1, -1) if binary else y


def make_ill_conditioned(
    n_samples: int = 500,
    n_features: int = 20,
    *,
    condition: float = 1e5,
    scale_decades: float = 4.0,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    r"""Twonorm behind a map that hides it: strongly correlated features in wildly different units.

    Latent :math:`z \sim N(y\mu, I)` with :math:`\|\mu\| = 2` is shown as :math:`x = S Q \Lambda^{1/2} z`: the
    eigenvalues :math:`\Lambda` fall from 1 to 1/condition, Q is a random rotation, and S puts the features in
    units that spread over ``scale_decades`` powers of ten. The signal :math:`\mu` lives in the half of the
    latent directions with the *least* variance. The map is invertible, so the Bayes error stays
    :math:`\Phi(-2) = 2.28\,\%` and an affine-invariant method does not notice it, whereas standardising
    repairs S only and a margin in the given units sees almost nothing.

    Parameters
    ----------
    n_samples, n_features : int
    condition : float
        Condition number of the covariance before the change of units; at least 1.
    scale_decades : float
        Powers of ten between the smallest and the largest unit.
    random_state : int, RandomState or None
        Draws the map as well as the sample.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,), -1 or +1

    Examples
    --------
    >>> X, y = make_ill_conditioned(400, random_state=0)
    >>> bool(np.linalg.cond(np.cov(X.T)) > 1e9)
    True
    """
    _check_size("n_samples", n_samples, 2)
    _check_size("n_features", n_features, 2)
    if not condition >= 1:
        raise ValueError(f"condition must be at least 1, got {condition!r}")
    rng = check_random_state(random_state)
    y = _balanced_labels([-1, 1], n_samples, rng)
    quiet = np.arange(n_features) >= n_features // 2
    latent = rng.standard_normal((n_samples, n_features)) + np.outer(y, 2.0 * quiet / np.sqrt(quiet.sum()))
    spread = np.logspace(0.0, -0.5 * np.log10(condition), n_features)
    rotation = np.linalg.qr(rng.standard_normal((n_features, n_features)))[0]
    units = np.logspace(-scale_decades / 2, scale_decades / 2, n_features)
    rng.shuffle(units)
    return (latent * spread) @ rotation.T * units, y


def make_gaussian_mixture(
    n_samples: int = 1000,
    n_features: int = 20,
    *,
    n_classes: int = 2,
    n_clusters: int = 2,
    separation: float = 3.0,
    random_state: RandomState = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Gaussian clusters, several to a class: a task of any size for benchmarks.

    Each class has ``n_clusters`` centres drawn from a sphere of radius ``separation`` and unit covariance
    around each. Class sizes differ by at most one.

    Parameters
    ----------
    n_samples, n_features, n_classes, n_clusters : int
        ``n_clusters`` counts the clusters of one class.
    separation : float
        Distance of the centres from the origin.
    random_state : int, RandomState or None
        Draws the centres as well as the sample.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,), 0 to n_classes - 1

    Examples
    --------
    >>> X, y = make_gaussian_mixture(90, 5, n_classes=3, random_state=0)
    >>> X.shape, np.bincount(y).tolist()
    ((90, 5), [30, 30, 30])
    """
    _check_size("n_classes", n_classes, 2)
    _check_size("n_samples", n_samples, n_classes)
    _check_size("n_features", n_features, 1)
    _check_size("n_clusters", n_clusters, 1)
    rng = check_random_state(random_state)
    y = _balanced_labels(np.arange(n_classes), n_samples, rng)
    centres = rng.standard_normal((n_classes, n_clusters, n_features))
    centres *= separation / np.linalg.norm(centres, axis=-1, keepdims=True)
    cluster = rng.randint(n_clusters, size=n_samples)
    return centres[y, cluster] + rng.standard_normal((n_samples, n_features)), y
