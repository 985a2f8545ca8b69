"""Few numbers at a time."""

from __future__ import annotations

BLOCK = 1 << 18  # that are formed at a time: 2 MB


def split(count, numbers, most=BLOCK):
    """Slices of `count` things, each of few enough that `numbers` for every one of them are no more than `most`."""
    step = max(1, most // max(numbers, 1))
    return [slice(start, start + step) for start in range(0, count, step)]
