"""Rows that do not fit in memory: where chunks of them come from, and who reads them."""

from .entry import in_chunks, map_chunks, source_of
from .sources import ArraySource, ReaderSource

__all__ = ["ArraySource", "ReaderSource", "in_chunks", "map_chunks", "source_of"]
