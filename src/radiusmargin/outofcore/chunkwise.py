"""Methods of rows that take rows in chunks too."""

from __future__ import annotations

from functools import partial, wraps

from sklearn.utils.validation import check_is_fitted

from .entry import in_chunks, map_chunks


def chunkwise(method):
    """Apply a method of rows to chunks of them: lazily for a dask collection, one after the other for others."""

    @wraps(method)
    def of_rows(self, X):
        if not in_chunks(X):
            return method(self, X)
        check_is_fitted(self)
        return map_chunks(partial(method, self), X)

    return of_rows


__all__ = ["chunkwise"]
