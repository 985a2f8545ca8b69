"""Hinge problems on rows beyond memory: exact, in few passes over chunks.

`look` is the first pass, `search` the way of one problem through the others, `probe` what a pass asks of a chunk and what comes
back, `strategy` every number that decides between them. Who reads the chunks, where and in which order, is the source's part.
"""

from .driver import look, solve_chunked
from .factor import row_factor
from .moments import Moments
from .overview import Overview
from .search import ChunkedResult
from .strategy import Limits

__all__ = ["ChunkedResult", "Limits", "Moments", "Overview", "look", "row_factor", "solve_chunked"]
