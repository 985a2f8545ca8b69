"""Rows that do not fit in memory: sources of chunks, the first pass over them, and exact fits in few passes."""

from .sources import (
    ArraySource,
    ChangedChunkError,
    Chunk,
    ChunkSource,
    MappedSource,
    ReaderSource,
    in_chunks,
    map_chunks,
    source_of,
)

__all__ = [
    "ArraySource",
    "ChangedChunkError",
    "Chunk",
    "ChunkSource",
    "MappedSource",
    "ReaderSource",
    "in_chunks",
    "map_chunks",
    "source_of",
]
