"""The compiled core (src/core), as far as a type checker needs to know it."""

from typing import Any

def __getattr__(name: str) -> Any: ...
