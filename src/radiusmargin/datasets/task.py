"""What every loader hands back, and the errors they all raise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["DataError", "MissingDependencyError", "TaskData", "UnknownNameError"]


class DataError(ValueError):
    """The data cannot be used; the message says which, why, and what to do."""


class UnknownNameError(DataError):
    """A name that was asked for and does not exist; the message names those that do."""


class MissingDependencyError(DataError, ImportError):
    """The data could be read if an optional package were installed; the message names it."""


@dataclass(frozen=True, eq=False)
class TaskData:
    """A classification task in memory.

    Attributes
    ----------
    name : str
        The registry's name (``"ida/heart"``) or the file's.
    X : ndarray or scipy.sparse CSR matrix of shape (n_samples, n_features)
        Numbers only: finite, categories already one-hot encoded.
    y : ndarray of shape (n_samples,)
        The labels as the source gives them: integers or strings.
    feature_names : tuple of str
        One name per column of X.
    splits : tuple of (train, test) index arrays, or None
        The official splits, where the source has any.
    messages : tuple of str
        What was done to the data, and what one should know about it, a sentence each.

    Examples
    --------
    >>> task = TaskData("toy", np.eye(2), np.array([0, 1]), ("a", "b"), messages=("made up", "tiny"))
    >>> task.note
    'made up; tiny'
    >>> task.n_samples, task.n_features, task.n_classes
    (2, 2, 2)
    """

    name: str
    X: Any
    y: np.ndarray
    feature_names: tuple[str, ...]
    splits: tuple[tuple[np.ndarray, np.ndarray], ...] | None = None
    messages: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """The messages in one line."""
        return "; ".join(self.messages)

    @property
    def n_samples(self) -> int:
        return self.X.shape[0]

    @property
    def n_features(self) -> int:
        return self.X.shape[1]

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.y))
