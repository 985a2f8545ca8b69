"""Exact line search for piecewise smooth convex functions, through their slope."""

from __future__ import annotations

SLOPE_REDUCTION = 0.1


def minimise_along(slope, at_zero):
    """Find a step t > 0 at which the increasing `slope` is at most a tenth of `at_zero` < 0 in modulus.

    Tries the unit step, then brackets the root, then runs the Illinois method.
    """
    enough = SLOPE_REDUCTION * abs(at_zero)
    low, at_low, high, at_high = 0.0, at_zero, 1.0, slope(1.0)
    # A small positive slope may lie far beyond the minimum, unless the first half of the step descended enough.
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
