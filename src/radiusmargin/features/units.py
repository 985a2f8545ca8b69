"""Units of the features: kinds of models that are averaged see the same, standardised ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..geometry.tempered import standardised


@dataclass(frozen=True, eq=False)
class Units:
    """Features minus `mean`, over `scale`. Sparse rows are not shifted: no kernel but the linear one would need it."""

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X, weight) -> Units:
        """Mean zero and deviation one over weighted rows; what is constant becomes zero."""
        found = standardised(X, weight)
        return cls(found.mean, np.where(found.scale > 0, found.scale, 1.0))

    def rows(self, X):
        if sparse.issparse(X):
            return sparse.csr_array(X.multiply(1 / self.scale))
        return (X - self.mean) / self.scale
