"""The models: one file each, all with one interface."""

from .fsvm import FSVM

__all__ = ["FSVM"]
