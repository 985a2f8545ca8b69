"""What every loader hands back, and the errors they all raise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

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

    Parameters
    ----------
    name : str
        The registry's name (``"ida/heart"``) or the file's.
    X : ndarray or scipy.sparse CSR matrix of shape (n_samples, n_features), or pandas.DataFrame
        Numbers only, finite; with an ``encoder``, whatever that makes numbers of.
    y : ndarray of shape (n_samples,)
        The labels as the source gives them: integers or strings.
    feature_names : tuple of str
        One name per column of X.
    splits : tuple of (train, test) index arrays, or None
        The official splits, where the source has any.
    messages : tuple of str
        What was done to the data, and what one should know about it, a sentence each.
    encoder : transformer or None
        Unfitted; makes numbers of X, and is to be fitted on training rows (see `encoded`).

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

    def rows(self, part: np.ndarray) -> Any:
        """Some rows of X."""
        return self.X.iloc[part] if hasattr(self.X, "iloc") else self.X[part]

    def encoded(self, train: np.ndarray, test: np.ndarray) -> tuple[Any, Any]:
        """Training and test rows as numbers; what has to be learnt for it is learnt from the training rows.

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
