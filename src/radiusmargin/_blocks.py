"""Split work into blocks of bounded memory."""

from __future__ import annotations

BLOCK = 1 << 18  # numbers that are formed at a time: 2 MB stay in the cache of one core


def split(count: int, numbers: int, most: int = BLOCK) -> list[slice]:
    """Slices of `count` items of `numbers` numbers each, such that a slice has at most `most` numbers (at least one item)."""
    step = max(1, most // max(numbers, 1))
    return [slice(start, start + step) for start in range(0, count, step)]
