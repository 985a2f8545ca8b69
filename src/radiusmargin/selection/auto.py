"""AutoSVM: the search over kinds of kernels under a name of its own."""

from __future__ import annotations

from types import FunctionType

from .cv import FSVMCV


def with_default(function, **changed):
    """The same function with other defaults of keyword-only parameters."""
    copy = FunctionType(function.__code__, function.__globals__, function.__name__, function.__defaults__)
    copy.__kwdefaults__ = function.__kwdefaults__ | changed
    return copy


class AutoSVM(FSVMCV):
    """`FSVMCV` with ``kernel="auto"``: linear, Gaussian and Laplacian SVMs, searched together and averaged.

    No scaling and no grid are needed. See `FSVMCV` for all parameters and attributes.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from radiusmargin import AutoSVM
    >>> X, y = load_wine(return_X_y=True)
    >>> model = AutoSVM(probability=True).fit(X, y)
    >>> bool(model.score(X, y) > 0.97), model.predict_proba(X).shape
    (True, (178, 3))
    """

    __init__ = with_default(FSVMCV.__init__, kernel="auto")
