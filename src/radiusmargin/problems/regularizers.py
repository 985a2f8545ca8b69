"""Regularisers of the separator."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Quadratics:
    """R functions ``1/2 w'B_r w - q_r'w + constant_r``.

    Parameters
    ----------
    matrices : ndarray of shape (R, d) or (R, d, d), optional
        Diagonals, or symmetric positive definite matrices; None is the identity.
    linear : ndarray of shape (R, d), optional
        The linear terms q, of a caller whose regulariser has a quadratic model that is not centred at zero.
    constants : ndarray of shape (R,), optional
        Only with `linear`.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.problems import Quadratics
    >>> len(Quadratics()), len(Quadratics(np.ones((3, 5))))
    (1, 3)
    """

    matrices: np.ndarray | None = None
    linear: np.ndarray | None = None
    constants: np.ndarray | None = None

    def __len__(self) -> int:
        first = self.matrices if self.matrices is not None else self.linear
        return 1 if first is None else len(first)

    def check(self, d: int) -> None:
        """Whether all arrays are for d coefficients: a ValueError where not."""
        shapes = {"linear": (len(self), d), "constants": (len(self),)}
        if (self.linear is None) != (self.constants is None):
            raise ValueError("linear terms and constants of regularizers come together: give both, or neither.")
        if self.matrices is not None and self.matrices.shape[1:] not in ((d,), (d, d)):
            raise ValueError(
                f"regularizers must have shape (R, {d}) or (R, {d}, {d}) to match the rows, got {self.matrices.shape}."
            )
        for name, shape in shapes.items():
            found = getattr(self, name)
            if found is not None and found.shape != shape:
                raise ValueError(f"{name} of the regularizers must have shape {shape}, got {found.shape}.")


IDENTITY = Quadratics()
