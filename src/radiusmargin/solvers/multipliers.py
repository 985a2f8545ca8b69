"""Multipliers of hinge problems with an intercept: ``y'alpha = 0``."""

from __future__ import annotations

import numpy as np


def balanced(signed: np.ndarray, intercept: bool = True) -> np.ndarray:
    """Shrink the heavier sign of multipliers ``y * alpha`` so that they sum to zero: they stay in any box around zero.

    Parameters
    ----------
    signed : ndarray of shape (n,) or (K, n)
        Each row is balanced by itself.
    intercept : bool, default=True
        Without one nothing has to be balanced.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import balanced
    >>> balanced(np.array([3.0, -1.0, -1.0]))
    array([ 2., -1., -1.])
    """
    if not intercept:
        return signed
    up, down = (np.maximum(sign * signed, 0.0).sum(axis=-1, keepdims=True) for sign in (1.0, -1.0))
    lighter = np.minimum(up, down)
    factors = (np.divide(lighter, total, out=np.zeros_like(total), where=total > 0.0) for total in (up, down))
    return signed * np.where(signed > 0.0, *factors)
