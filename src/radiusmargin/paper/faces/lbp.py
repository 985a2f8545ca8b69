"""Local binary patterns of aligned faces: T. Ahonen, A. Hadid, M. Pietikäinen, IEEE PAMI 28, 2006."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .landmarks import Face

__all__ = ["LbpFeatures"]

N_NEIGHBOURS = 8
N_BINS = 59  # 58 patterns that change at most twice around the circle, and all others


@dataclass(frozen=True)
class LbpFeatures:
    """Histograms of uniform patterns in cells.

    Parameters
    ----------
    radius : float, default=2
        Of the circle of eight neighbours, in pixels.
    cell : int, default=10
        Width and height of a cell.
    crop : tuple (left, top, right, bottom), default=(75, 85, 175, 185)
        Divided into cells; the pixels around it are seen by the circle only.

    Examples
    --------
    >>> LbpFeatures().n_features
    5900
    """

    radius: float = 2.0
    cell: int = 10
    crop: tuple = (75, 85, 175, 185)

    def __post_init__(self):
        left, top, right, bottom = self.crop
        if (right - left) % self.cell or (bottom - top) % self.cell:
            raise ValueError(f"crop must be whole cells of {self.cell} pixels, got {self.crop!r}.")

    @property
    def n_features(self) -> int:
        left, top, right, bottom = self.crop
        return (right - left) * (bottom - top) // self.cell**2 * N_BINS

    def extract(self, face: Face) -> np.ndarray:
        """The square roots of the shares of every pattern, cell by cell."""
        bins = _uniform()[patterns(face.image, self.crop, self.radius)]
        rows, columns = np.indices(bins.shape) // self.cell
        cells = rows * (bins.shape[1] // self.cell) + columns
        counts = np.bincount((cells * N_BINS + bins).ravel(), minlength=self.n_features)
        return np.sqrt(counts / self.cell**2).astype(np.float32)


def patterns(image, crop, radius) -> np.ndarray:
    """For every pixel of the crop the bits "the neighbour is at least as bright", interpolated between pixels."""
    left, top, right, bottom = crop
    image = image.astype(np.float32)
    centre, codes = image[top:bottom, left:right], np.zeros((bottom - top, right - left), dtype=np.uint8)
    for bit in range(N_NEIGHBOURS):
        angle = 2 * np.pi * bit / N_NEIGHBOURS
        dx, dy = np.round(radius * np.cos(angle), 9), np.round(-radius * np.sin(angle), 9)
        x, y = int(np.floor(dx)), int(np.floor(dy))
        u, v = np.float32(dx - x), np.float32(dy - y)
        part = image[top + y : bottom + y + 1, left + x : right + x + 1]
        rows = part[:-1] * (1 - v) + part[1:] * v
        value = rows[:, :-1] * (1 - u) + rows[:, 1:] * u
        codes |= (value >= centre - 1e-4).astype(np.uint8) << bit
    return codes


@cache
def _uniform():
    """The bin of each of the 256 codes."""
    bits = (np.arange(256)[:, None] >> np.arange(N_NEIGHBOURS)) & 1
    uniform = np.abs(bits - np.roll(bits, 1, axis=1)).sum(axis=1) <= 2
    bins = np.full(256, N_BINS - 1)
    bins[uniform] = np.arange(uniform.sum())
    return bins
