"""Transformer that encodes a table of mixed columns as numbers."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from .checks import import_pandas, listed
from .columns import column_kinds, parse_dates
from .task import DataError

__all__ = ["DateParts", "TableEncoder"]

#: Categories of a column beyond this many most frequent ones share one feature.
MOST_CATEGORIES = 50

#: Number of features to which the words of a text column are hashed.
TEXT_FEATURES = 256

SECONDS_OF_A_DAY = 86_400


class DateParts(TransformerMixin, BaseEstimator):
    """Encode dates as year, month, weekday (Monday is 0), and days since 1970 with their fraction."""

    def fit(self, X, y=None):
        """Remember the column names."""
        self.feature_names_in_ = np.asarray(X.columns, dtype=object)
        return self

    def transform(self, X):
        """Return four columns per date column; gaps are NaN."""
        return np.column_stack([part for name in X.columns for part in self._parts(X[name])])

    def _parts(self, dates):
        days = (dates - import_pandas().Timestamp(0, tz="UTC")).dt.total_seconds() / SECONDS_OF_A_DAY
        parts = (dates.dt.year, dates.dt.month, dates.dt.day_of_week, days)
        return [part.to_numpy(dtype=float, na_value=np.nan) for part in parts]

    def get_feature_names_out(self, input_features=None):
        """Return names such as ``day_year``: the column, then the part."""
        check_is_fitted(self)
        parts = ("year", "month", "weekday", "days")
        return np.array([f"{name}_{part}" for name in self.feature_names_in_ for part in parts], dtype=object)


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table as numbers: gaps filled, categories one-hot, dates in parts, text hashed.

    Gaps in numbers and dates become the median of the training rows, gaps in categories a category of their own.
    Categories that do not occur in the training rows are ignored. Columns are found by name; others are ignored.

    Parameters
    ----------
    kinds : dict of str to str, optional
        Type of each column, as :func:`~radiusmargin.tables.columns.column_kinds` returns it. By default `fit` infers it.

    Attributes
    ----------
    kinds_ : dict of str to str
    encoder_ : ColumnTransformer
        Takes the columns as `cast` returns them.
    feature_names_in_ : ndarray of str

    Examples
    --------
    >>> import pandas as pd
    >>> train = pd.DataFrame({"size": [1.0, None, 3.0], "hue": ["red", "blue", None]})
    >>> encoder = TableEncoder().fit(train)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'hue_', 'hue_blue', 'hue_red']
    >>> encoder.transform(pd.DataFrame({"hue": ["green"], "size": [None], "note": ["?"]})).tolist()
    [[2.0, 0.0, 0.0, 0.0]]
    """

    def __init__(self, kinds=None):
        self.kinds = kinds

    def fit(self, X, y=None):
        """Learn medians and categories."""
        self.kinds_ = dict(column_kinds(X).kinds if self.kinds is None else self.kinds)
        if not self.kinds_:
            raise DataError("the table has no column to learn from")
        self.feature_names_in_ = np.asarray(list(self.kinds_), dtype=object)
        self.encoder_ = _column_transformer(self.kinds_).fit(self.cast(X))
        return self

    def transform(self, X):
        """Encode rows as a dense array."""
        check_is_fitted(self)
        return np.asarray(self.encoder_.transform(self.cast(X)), dtype=float)

    def get_feature_names_out(self, input_features=None):
        """Return the names of the columns that `transform` returns."""
        check_is_fitted(self)
        names = []
        for part, step, columns in self.encoder_.transformers_:
            if part.startswith("text "):  # the hashing vectorizer has no feature names
                names += [f"{columns}_{k}" for k in range(TEXT_FEATURES)]
            elif step != "drop":
                names += list(step.get_feature_names_out(columns))
        return np.array(names, dtype=object)

    def cast(self, X):
        """Convert the columns to their types; a DataError names columns that are missing or cannot be converted."""
        pd = import_pandas()
        missing = [name for name in self.kinds_ if name not in X.columns]
        if missing:
            raise DataError(
                f"the table has no column{'s' * (len(missing) > 1)} {listed(missing)}; its columns are {listed(X.columns)}"
            )
        numbers = [name for name, kind in self.kinds_.items() if kind == "number"]
        parts = [_numbers(pd, X[numbers])] if numbers else []
        others = {
            name: _CASTS[kind.partition(" ")[0]](X[name], kind)
            for name, kind in self.kinds_.items()
            if kind != "number"
        }
        return pd.concat([*parts, pd.DataFrame(others, index=X.index)], axis=1)


def _column_transformer(kinds) -> ColumnTransformer:
    names = {kind: [name for name in kinds if kinds[name].startswith(kind)] for kind in ("number", "category", "date")}
    gaps = SimpleImputer(strategy="median", keep_empty_features=True)
    one_hot = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MOST_CATEGORIES, sparse_output=False, dtype=float
    )
    steps = [
        ("numbers", gaps, names["number"]),
        ("categories", one_hot, names["category"]),
        ("dates", make_pipeline(DateParts(), gaps), names["date"]),
    ]
    steps = [step for step in steps if step[2]]
    for name in (name for name, kind in kinds.items() if kind == "text"):
        steps.append((f"text {name}", HashingVectorizer(n_features=TEXT_FEATURES), name))
    return ColumnTransformer(steps, sparse_threshold=0.0, verbose_feature_names_out=False)


def _numbers(pd, frame):
    """Convert columns to floats; a DataError names what is neither a number nor a gap."""
    if all(pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes):
        numbers = frame.astype(float)
    else:
        numbers = frame.apply(lambda series: _parsed_numbers(pd, series))
    infinite = np.isinf(numbers.to_numpy()).any(axis=0)
    if infinite.any():
        raise DataError(f"infinite values in {listed(numbers.columns[infinite])}; replace them first")
    return numbers


def _parsed_numbers(pd, series):
    numbers = pd.to_numeric(series, errors="coerce").astype(float)
    words = series[numbers.isna() & series.notna()]
    if len(words):
        found = listed([repr(word) for word in words.unique()], 5)
        raise DataError(
            f"column {series.name!r} must hold numbers, got {found}; if these are missing values, name them (command line:"
            " --missing)"
        )
    return numbers


def _categories(series, kind):
    """Convert to text, gaps to the empty text; integers are written alike whether or not the column has gaps."""
    pd = import_pandas()
    if pd.api.types.is_float_dtype(series.dtype) and (series.dropna() % 1 == 0).all():
        series = series.astype("Int64")
    return series.astype(str).str.strip().mask(series.isna(), "").astype(object)


_CASTS = {
    "category": _categories,
    "text": _categories,
    "date": lambda series, kind: parse_dates(series, kind.partition(" ")[2]),
}
