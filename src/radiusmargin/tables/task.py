"""The result of every loader, and the errors that loaders raise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone

__all__ = ["DataError", "MissingDependencyError", "TaskData", "UnknownNameError"]


class DataError(ValueError):
    """Data that cannot be used; the message says which, why, and what to do."""


class UnknownNameError(DataError):
    """An unknown name; the message lists the known ones."""


class MissingDependencyError(DataError, ImportError):
    """A missing optional package; the message names it."""


@dataclass(frozen=True, eq=False)
class TaskData:
    """A task in memory: rows with classes, or with a quantity.

    Parameters
    ----------
    name : str
        The registry's name (``"ida/heart"``) or the file's.
    X : ndarray or scipy.sparse CSR matrix of shape (n_samples, n_features), or pandas.DataFrame
        Finite numbers; with an ``encoder``, any columns that it encodes.
    y : ndarray of shape (n_samples,)
        The labels as in the source: integers or strings.
    feature_names : tuple of str
        One name per column of X.
    splits : tuple of (train, test) index arrays, or None
        The official splits, where the source has any.
    messages : tuple of str
        Changes to the data and remarks on it, a sentence each.
    encoder : transformer or None
        Unfitted; encodes X as numbers, and is to be fitted on training rows (see `encoded`).
    facts : dict
        Plain data about how the table was read, which new rows are read with.
    groups : ndarray of shape (n_samples,) or None
        Rows of the same group are on the same side of every split.
    in_time : bool
        Whether rows are in the order of time, so that models are tested on later rows than they learn from.
    quantity : bool
        Whether y is a quantity instead of classes.

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
    encoder: Any = None
    facts: dict = field(default_factory=dict)
    groups: np.ndarray | None = None
    in_time: bool = False
    quantity: bool = False

    def rows(self, part: np.ndarray) -> Any:
        """Select rows of X by position."""
        return self.X.iloc[part] if hasattr(self.X, "iloc") else self.X[part]

    def encoded(self, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any]:
        """Encode training and test rows as numbers, with an encoder fitted on the training rows.

        >>> from sklearn.impute import SimpleImputer
        >>> X = np.array([[1.0], [3.0], [np.nan], [99.0]])
        >>> task = TaskData("gaps", X, np.array([0, 1, 0, 1]), ("a",), encoder=SimpleImputer())
        >>> task.encoded([0, 1], [2, 3])[1].tolist()
        [[2.0], [99.0]]
        """
        if self.encoder is None:
            return self.rows(train), self.rows(test)
        encoder = clone(self.encoder).fit(self.rows(train))
        return encoder.transform(self.rows(train)), encoder.transform(self.rows(test))

    @property
    def note(self) -> str:
        """The messages, joined to one line."""
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
