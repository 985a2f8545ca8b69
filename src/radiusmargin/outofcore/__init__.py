"""Rows that do not fit in memory: sources of chunks, the first pass over them, and exact fits in few passes."""

from .chunk import ChangedChunkError, Chunk
from .entry import in_chunks, map_chunks, source_of
from .sources import ArraySource, ChunkSource, ReaderSource

__all__ = [
    "ArraySource",
    "ChangedChunkError",
    "Chunk",
    "ChunkSource",
    "ReaderSource",
    "in_chunks",
    "map_chunks",
    "source_of",
]
