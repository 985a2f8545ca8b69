"""Rows that do not fit in memory: where chunks of them come from, and who reads them."""

from .entry import in_chunks, map_chunks, source_of
from .sources import ArraySource, ChunkSource, ReaderSource

__all__ = ["ArraySource", "ChunkSource", "ReaderSource", "in_chunks", "map_chunks", "source_of"]
