"""The data of a fit, checked: what every model is handed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..multiclass import Reduction
from ..solvers import ClassLabels


@dataclass(frozen=True, eq=False)
class Training:
    """Rows of positive weight, and which of the classes each belongs to.

    Attributes
    ----------
    X : ndarray or csr matrix of shape (n, d)
    codes : ndarray of shape (n,)
        Numbers of classes.
    weight : ndarray of shape (n,)
        Weights of the rows, without those of the classes.
    kept : ndarray of shape (n,)
        Which rows of the X that was given to `fit` they are.
    reduction : Reduction
        How the classes become problems of two.
    factors : ndarray of shape (n_classes,)
        Weights of the classes.
    intercept : bool, default=True
        Whether separators have one.
    """

    X: Any
    codes: np.ndarray
    weight: np.ndarray
    kept: np.ndarray
    reduction: Reduction
    factors: np.ndarray
    intercept: bool = True

    @cached_property
    def labels(self) -> ClassLabels:
        """One labelling by -1, 0 and +1 per problem of two classes."""
        return self.reduction.columns(self.codes)

    @cached_property
    def costs(self) -> np.ndarray:
        """Weights of the losses: of the rows times those of the classes."""
        return self.weight * self.factors[self.codes]
