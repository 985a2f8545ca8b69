"""The paper's experiments: a specification becomes a plan of cells, cells become records, and records tables."""

from .plan import Cell, make_plan
from .spec import Spec, SpecError, builtin_specs, load_spec
from .store import Store, execute
from .summary import Summary

__all__ = [
    "Cell",
    "Spec",
    "SpecError",
    "Store",
    "Summary",
    "builtin_specs",
    "execute",
    "load_spec",
    "make_plan",
]
