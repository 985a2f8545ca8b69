"""The data of a fit, checked: what every model is handed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..problems import ClassLabels
from .multiclass import Reduction


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


def class_weights(class_weight, classes, codes, weight):
    """One factor per class: None, "balanced" (over the weights, so that a weight equals copies), or a dict."""
    if class_weight is None:
        return np.ones(len(classes))
    return factors_of_totals(class_weight, classes, np.bincount(codes, weight, minlength=len(classes)))


def factors_of_totals(class_weight, classes, totals):
    """The same from the weight that the rows of every class have together."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.divide(totals.sum() / len(classes), totals, out=np.ones(len(classes)), where=totals > 0)
    if isinstance(class_weight, dict):
        unknown, missing = class_weight.keys() - set(classes.tolist()), set(classes.tolist()) - class_weight.keys()
        if unknown and missing:  # as scikit-learn: a slip of the pen, most likely
            raise ValueError(
                f"class_weight names {sorted(unknown, key=str)}, of which there are no rows, and not {sorted(missing, key=str)}."
            )
        factors = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
        if not np.isfinite(factors).all() or (factors <= 0).any():
            raise ValueError(f"class_weight must hold positive numbers, got {class_weight!r}.")
        return factors
    raise ValueError(f"class_weight must be None, 'balanced' or a dict of class to weight, got {class_weight!r}.")
