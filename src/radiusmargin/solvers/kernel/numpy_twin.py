"""The NumPy form of the kernel machine: second-order pairs, without shrinking, in double precision throughout.

The readable form of ``src/core/methods/pairs.hpp``, an oracle for it, and what serves where the core was not built.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

_FLAT = 1e-12  # relative curvature of a pair below which it is rounding


class KernelRows:
    """Rows of a kernel, the last ones that were asked for kept within a budget of bytes."""

    def __init__(self, rows, cache):
        n = rows.shape[0]
        everything = np.arange(n)
        self.diagonal = rows.diagonal()
        self.row = lru_cache(max(2, int(cache / (8 * n))))(lambda i: rows.block(np.array([i]), everything)[0])

    def solve(self, y, weights, Cs, start, options, alpha, f, numbers):
        """As `_core.KernelRows.solve`: fills the last three arrays, and returns whether the kernel was seen to be indefinite."""
        state = _State(self, y, np.zeros_like(y) if start is None else start, options.intercept)
        for k, C in enumerate(Cs):
            state.rescale(C * weights * (y != 0))
            pairs, often = 0, max(16, len(y) // 4)
            while (found := state.certificate())[3] > options.tol and pairs < options.max_sweeps * len(y):
                options.callback(pairs, found[3])
                moved = sum(state.move() for _ in range(often))
                pairs += moved
                if moved == 0:
                    break
            state.recompute()
            alpha[k], f[k] = state.alpha, state.f
            numbers[k] = *state.certificate()[:3], pairs
        return state.negative


class _State:
    """Multipliers, and f = y - K (y alpha)."""

    def __init__(self, rows, y, alpha, intercept):
        self.rows, self.y, self.alpha, self.intercept = rows, y, alpha.copy(), intercept
        self.c, self.negative = np.zeros_like(y), False
        self.recompute()

    def recompute(self):
        self.f = self.y.copy()
        for i in np.flatnonzero(self.alpha):
            self.f -= self.y[i] * self.alpha[i] * self.rows.row(i)

    def rescale(self, c):
        """To the best multiple of the multipliers within the new box."""
        self.c, some = c, self.alpha > 0
        if not some.any():
            return
        square = self.alpha @ (1.0 - self.y * self.f)
        best = self.alpha.sum() / square if square > 0 else np.inf
        scale = min(best, np.min(c[some] / self.alpha[some]))
        self.alpha = np.minimum(scale * self.alpha, c)
        self.f = self.y + scale * (self.f - self.y)

    def certificate(self):
        """Intercept, objective, dual objective, relative gap."""
        y, f, c, alpha = self.y, self.f, self.c, self.alpha
        b = self._best_intercept() if self.intercept else 0.0
        square = alpha @ (1.0 - y * f)
        primal = 0.5 * square + c @ np.maximum(y * (f - b), 0.0)
        dual = alpha.sum() - 0.5 * square
        self.negative |= bool(square < -1e-8 * alpha.sum())
        return b, primal, dual, (primal - dual) / max(abs(primal), 1e-300)

    def _sides(self):
        more, less = self.alpha < self.c, self.alpha > 0
        return np.where(self.y > 0, more, less) & (self.y != 0), np.where(self.y > 0, less, more) & (self.y != 0)

    def _best_intercept(self):
        up, down = self._sides()
        high, low = np.max(self.f[up], initial=-np.inf), np.min(self.f[down], initial=np.inf)
        if not np.isfinite([high, low]).all():
            return high if np.isfinite(high) else low if np.isfinite(low) else 0.0
        if high <= low:
            return 0.5 * (high + low)
        kinks = np.unique(self.f[(self.f >= low) & (self.f <= high) & (self.c > 0)])
        left = self.f <= kinks[:, None]
        slopes = ((self.y < 0) & left) @ self.c - ((self.y > 0) & ~left) @ self.c
        return kinks[min(np.searchsorted(slopes, 0.0), len(kinks) - 1)]

    def move(self):
        """One pair, or one multiplier where there is no intercept; False where nothing violates optimality."""
        (up, down), f, diagonal = self._sides(), self.f, self.rows.diagonal
        if not self.intercept:
            slope = np.where(f > 0, up * f, down * f)
            i = int(np.argmax(slope**2 / np.maximum(diagonal, 1e-300)))
            return slope[i] != 0 and self._shift({i: 1.0}, f[i], diagonal[i], abs(diagonal[i]))
        if not up.any() or not down.any():
            return False
        i = int(np.argmax(np.where(up, f, -np.inf)))
        slope = np.where(down, np.maximum(f[i] - f, 0.0), 0.0)
        curvature = diagonal[i] + diagonal - 2.0 * self.rows.row(i)
        j = int(np.argmax(slope**2 / np.maximum(curvature, _FLAT * np.abs(diagonal[i] + diagonal) + 1e-300)))
        return slope[j] > 0 and self._shift({i: 1.0, j: -1.0}, slope[j], curvature[j], abs(diagonal[i] + diagonal[j]))

    def _shift(self, directions, slope, curvature, scale):
        self.negative |= bool(curvature < -1e-4 * scale)
        t = slope / max(curvature, _FLAT * scale + 1e-300)
        for i, sign in directions.items():
            room = self.c[i] - self.alpha[i] if self.y[i] * sign * t > 0 else self.alpha[i]
            t = np.sign(t) * min(abs(t), room)
        for i, sign in directions.items():
            self.alpha[i] = np.clip(self.alpha[i] + self.y[i] * sign * t, 0.0, self.c[i])
            self.f -= sign * t * self.rows.row(i)
        return True
