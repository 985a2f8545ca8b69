"""Exact line search for piecewise smooth convex functions, through their slope."""

from __future__ import annotations

SLOPE_REDUCTION = 0.1


def minimise_along(slope, at_zero):
    """A step t > 0 at which a monotone slope has shrunk to a tenth of `at_zero` < 0: unit step, bracket, Illinois."""
    enough = SLOPE_REDUCTION * abs(at_zero)
    low, at_low, high, at_high = 0.0, at_zero, 1.0, slope(1.0)
    # A slope that is small but positive may belong to a minimum long passed, unless the first half went down enough.
    if abs(at_high) <= enough and (at_high <= 0.0 or slope(0.5) <= -at_high):
        return high
    while at_high < 0.0 and high < 1e12:
        low, at_low, high = high, at_high, 2.0 * high
        at_high = slope(high)
    t, side = high, 0
    for _ in range(40):
        t = (low * at_high - high * at_low) / (at_high - at_low)
        at = slope(t)
        if abs(at) <= enough:
            break
        if at > 0.0:
            high, at_high = t, at
            at_low *= 0.5 if side == 1 else 1.0
            side = 1
        else:
            low, at_low = t, at
            at_high *= 0.5 if side == -1 else 1.0
            side = -1
    return t
