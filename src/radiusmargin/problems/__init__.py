"""What is minimised, in arrays: rows, labels, regularisers, and what comes back."""

from .batch import IDENTITY, Batch, Options, Quadratics, Start
from .chunk import Block, ChangedChunkError, Chunk
from .chunked import ChunkedProblem, Coordinates, Source, Summary
from .kernel import Kernel
from .labels import REST, ClassLabels
from .multipliers import balanced
from .result import Certificate, HingeResult, Result, Results, certificate, relative_gap
from .rows import Dense, Rows, Sparse, rows_of

__all__ = [
    "IDENTITY",
    "REST",
    "Batch",
    "Block",
    "Certificate",
    "ChangedChunkError",
    "Chunk",
    "ChunkedProblem",
    "ClassLabels",
    "Coordinates",
    "Dense",
    "HingeResult",
    "Kernel",
    "Options",
    "Quadratics",
    "Result",
    "Results",
    "Rows",
    "Source",
    "Sparse",
    "Start",
    "Summary",
    "balanced",
    "certificate",
    "relative_gap",
    "rows_of",
]
