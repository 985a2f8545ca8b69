"""Type aliases for parameters that several public functions share."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

Data = ArrayLike | sparse.sparray | sparse.spmatrix
# A name, a function of two matrices of rows, or a transformer.
KernelLike = str | Callable | Any
Gamma = float | Literal["scale", "auto"]
ClassWeight = dict | Literal["balanced"] | None
RandomState = int | np.random.RandomState | None
Path = str | PathLike

__all__ = ["ArrayLike", "ClassWeight", "Data", "Gamma", "KernelLike", "Path", "RandomState"]
