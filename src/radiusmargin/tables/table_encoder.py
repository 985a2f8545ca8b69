"""Transformer that encodes a table of mixed columns as numbers.

First `TableEncoder`; then the columns of whatever was passed, as a pandas frame of plain types; then the values of one column.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import time, timedelta
from decimal import Decimal
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .checks import import_pandas, listed
from .columns import column_kinds, parse_dates
from .task import DataError

__all__ = ["TableEncoder", "is_numeric", "numbers_with_gaps"]

#: Categories of a column beyond this many most frequent ones share one feature.
MOST_CATEGORIES = 50

#: Number of features to which the words of a text column are hashed.
TEXT_FEATURES = 256

DATE_PARTS = ("year", "month", "weekday", "days")
TIME_PARTS = ("hour", "hour_sin", "hour_cos")  # of dates with times: 23 h is next to 0 h on the circle
SECONDS_OF_A_DAY = 86_400


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encode a table as numbers: gaps filled, categories as indicators, dates in parts, text hashed.

    Takes frames of pandas, polars and pyarrow, and arrays. `AutoSVM` and `FSVMCV` encode frames by themselves; this transformer
    does the same for any other estimator, in a pipeline.

    Columns of a frame are found by name; others are ignored. Nothing is learned from `y`.

    - Numbers and dates: gaps become the median of the training rows. Add an indicator of gaps yourself where they
      mean something: it costs more accuracy where gaps are random than it gains where they are not.
    - Ordered categories of pandas: their positions, as numbers.
    - Categories (texts, categorical types, booleans with gaps): one indicator per category, gaps being a category of their own.
      Of more than 50 categories the rarest share one indicator. New categories go there, and have no indicator otherwise.
    - Dates: year, month, weekday (Monday is 0), and days since 1970 with their fraction; if there are times, the hour,
      as a number and on a circle. Durations: days.
    - Free text: counts of hashed words.

    Parameters
    ----------
    kinds : dict of str to str, optional
        Type of each column to use: "number", "ordered", "category", "text" or "date FORMAT", with a format of `strptime` or
        ISO8601. By default `fit` infers it.
    categorical_features : "from_dtype" or list of str, int or bool
        Columns of numbers that are categories: names, positions, or a mask. "from_dtype" takes the types of the frame.

    Attributes
    ----------
    kinds_ : dict of str to str
        Type of each column that is used.
    medians_ : dict of str to ndarray
        Medians of the columns of numbers, and of the parts of dates.
    categories_ : dict of str to ndarray
        Categories that have an indicator; of ordered ones, all in their order.
    infrequent_ : list of str
        Columns with an indicator that rare and new categories share.
    messages_ : list of str
        What was decided about the columns, a sentence each.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the training rows were a frame.

    Examples
    --------
    >>> import pandas as pd
    >>> from radiusmargin import TableEncoder
    >>> train = pd.DataFrame({"size": [1.0, None, 3.0], "hue": ["red", "blue", None]})
    >>> encoder = TableEncoder().fit(train)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'hue_', 'hue_blue', 'hue_red']
    >>> encoder.transform(pd.DataFrame({"hue": ["green"], "size": [None], "note": ["?"]})).tolist()
    [[2.0, 0.0, 0.0, 0.0]]
    """

    def __init__(
        self,
        kinds: Mapping[str, str] | None = None,
        categorical_features: str | Sequence = "from_dtype",
    ):
        self.kinds = kinds
        self.categorical_features = categorical_features

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn medians and categories.

        Parameters
        ----------
        X : frame or array of shape (n_samples, n_columns)
        y : ignored
        """
        X = _readable(X)
        self.n_features_in_ = X.shape[1]
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if not isinstance(X, np.ndarray):
            self.feature_names_in_: np.ndarray = np.asarray(list(X.columns), dtype=object)
        self._choose_kinds(X)
        numbers, others = self._columns(X)
        gaps = np.isnan(numbers)
        medians = _medians(numbers, gaps)
        names = self._named("number", "ordered")
        self.medians_ = {name: medians[k : k + 1] for k, name in enumerate(names)}
        self.infrequent_: list[str] = []
        for name in self._named("category"):
            self.categories_[name] = self._categories(name, others[name])
        for name in self._named("date"):
            parts = others[name]
            if not (parts[:, len(DATE_PARTS)] > 0).any():  # all at midnight, or gaps
                parts = parts[:, : len(DATE_PARTS)]
            self.medians_[name] = _medians(parts, np.isnan(parts))
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Encode rows as a dense array.

        Parameters
        ----------
        X : frame or array
        """
        check_is_fitted(self)
        X = _readable(X, getattr(self, "feature_names_in_", None))
        if isinstance(X, np.ndarray):
            validate_data(self, X, reset=False, skip_check_array=True)  # the number of columns
        numbers, others = self._columns(X)
        names = self._named("number", "ordered")
        gaps = np.isnan(numbers)
        if gaps.any():
            medians = np.concatenate([self.medians_[name] for name in names])
            numbers = np.where(gaps, medians, numbers)
        parts = [numbers]
        parts += [self._indicators(name, others[name]) for name in self._named("category")]
        for name in self._named("date"):
            medians = self.medians_[name]
            dates = others[name][:, : len(medians)]
            parts.append(np.where(np.isnan(dates), medians, dates))
        parts += [_hashed_words(others[name]) for name in self._named("text")]
        return np.hstack(parts) if len(parts) > 1 else np.ascontiguousarray(numbers)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : ignored
        """
        check_is_fitted(self)
        prefix = "" if hasattr(self, "feature_names_in_") else "x"
        names = [f"{prefix}{name}" for name in self._named("number", "ordered")]
        for name in self._named("category"):
            names += [f"{prefix}{name}_{category}" for category in self.categories_[name]]
            names += [f"{prefix}{name}_infrequent"] * (name in self.infrequent_)
        for name in self._named("date"):
            names += [f"{name}_{part}" for part in (*DATE_PARTS, *TIME_PARTS)[: len(self.medians_[name])]]
        names += [f"{name}_{k}" for name in self._named("text") for k in range(TEXT_FEATURES)]
        return np.array(names, dtype=object)

    @property
    def indicator_groups(self) -> np.ndarray:
        """For each encoded column the number of the category column that it indicates; -1 for all others."""
        check_is_fitted(self)
        widths = [len(self.categories_[name]) + (name in self.infrequent_) for name in self._named("category")]
        before = len(self._named("number", "ordered"))
        after = sum(len(self.medians_[name]) for name in self._named("date")) + TEXT_FEATURES * len(self._named("text"))
        return np.concatenate([np.full(before, -1), np.repeat(np.arange(len(widths)), widths), np.full(after, -1)])

    def cast(self, X: Any) -> Any:
        """Convert the columns of a frame to their types; a DataError names columns that are missing or cannot be converted.

        Parameters
        ----------
        X : pandas.DataFrame
        """
        pd = import_pandas()
        missing = [name for name in self.kinds_ if name not in X.columns]
        if missing:
            raise DataError(
                f"the table has no column{'s' * (len(missing) > 1)} {listed(missing)}; its columns are {listed(X.columns)}"
            )
        numbers = self._named("number")
        parts = [_numbers(pd, X[numbers])] if numbers else []
        others = {name: self._cast_column(X[name], kind) for name, kind in self.kinds_.items() if kind != "number"}
        return pd.concat([*parts, pd.DataFrame(others, index=X.index)], axis=1)

    # -- one fit ------------------------------------------------------------------------------------------------------

    def _choose_kinds(self, X):
        chosen = _chosen_names(self.categorical_features, X)
        self.categories_, self.messages_ = {}, []
        if self.kinds is not None:
            self.kinds_ = dict(self.kinds) | dict.fromkeys(chosen, "category")
        elif isinstance(X, np.ndarray):
            empty = np.isnan(X).all(axis=0)
            self.kinds_ = {k: "category" if k in chosen else "number" for k in np.flatnonzero(~empty).tolist()}
        else:
            pd = import_pandas()
            types = {name: X[name].dtype for name in X.columns if isinstance(X[name].dtype, pd.CategoricalDtype)}
            found = column_kinds(X, categories=list(dict.fromkeys([*types, *chosen])))
            self.kinds_, self.messages_ = dict(found.kinds), list(found.messages)
            for name, dtype in types.items():
                if dtype.ordered and name in self.kinds_ and name not in chosen:
                    self.kinds_[name] = "ordered"
                    self.categories_[name] = np.array([_text(value) for value in dtype.categories], dtype=object)
        if not self.kinds_:
            raise DataError("; ".join(["the table has no column to learn from", *self.messages_]))

    def _categories(self, name, texts):
        """Return the categories that have an indicator, sorted; note whether the others share one."""
        counts = Counter(texts)
        if len(counts) <= MOST_CATEGORIES:
            return np.array(sorted(counts), dtype=object)
        self.infrequent_.append(name)
        frequent = sorted(counts, key=lambda text: (-counts[text], text))[: MOST_CATEGORIES - 1]
        return np.array(sorted(frequent), dtype=object)

    # -- columns of given rows ------------------------------------------------------------------------------------------

    def _named(self, *kinds):
        return [name for name, kind in self.kinds_.items() if kind.partition(" ")[0] in kinds]

    def _columns(self, X):
        """Return the numbers as a matrix, and the other columns by name: texts, or the parts of dates."""
        numbers, texts, dates = self._named("number", "ordered"), self._named("category", "text"), self._named("date")
        if isinstance(X, np.ndarray):
            matrix = X[:, numbers]
            _check_finite(matrix, [f"x{k}" for k in numbers])
            return matrix, {k: [_text(value) for value in X[:, k].tolist()] for k in texts}
        frame = self.cast(X)
        others = {name: frame[name].tolist() for name in texts} | {name: _date_parts(frame[name]) for name in dates}
        return frame[numbers].to_numpy(dtype=float).reshape(len(frame), len(numbers)), others

    def _cast_column(self, series, kind):
        if kind.startswith("date"):
            return parse_dates(series, kind.partition(" ")[2])
        texts = _texts(series)
        if kind != "ordered":
            return texts
        place = {text: float(k) for k, text in enumerate(self.categories_[series.name])}
        return texts.map(place).astype(float)

    def _indicators(self, name, texts):
        categories, rest = self.categories_[name], name in self.infrequent_
        place = {text: k for k, text in enumerate(categories)}
        codes = np.array([place.get(text, len(categories)) for text in texts], dtype=int)
        return np.eye(len(categories) + 1)[codes, : len(categories) + rest]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


# -- Any table as a pandas frame of plain types, or as an array ------------------------------------------------------------


def is_frame(X: Any) -> bool:
    """Tell whether X is a frame of pandas, polars or pyarrow in memory."""
    if hasattr(X, "collect") and type(X).__module__.partition(".")[0] == "polars":
        raise DataError("X is a lazy frame of polars: pass X.collect()")
    return hasattr(X, "__dataframe__") or type(X).__module__.partition(".")[0] in ("polars", "pyarrow")


def is_numeric(X: Any) -> bool:
    """Tell whether X holds numbers without gaps, or is nothing that could be encoded."""
    if is_frame(X):
        if not hasattr(X, "dtypes"):  # pyarrow
            return False
        if hasattr(X, "iloc"):
            return all(dtype.kind in "iufbc" for dtype in X.dtypes) and not X.isna().to_numpy().any()
        return all(dtype.is_numeric() or str(dtype) == "Boolean" for dtype in X.dtypes) and is_numeric(X.to_numpy())
    X = np.asarray(X)
    if X.ndim == 1 and X.dtype.kind in "OU":
        raise ValueError("X is a single column, and must be a table: pass frame[[name]] instead of frame[name].")
    if X.ndim != 2 or X.dtype.kind in "iubc":
        return True
    try:
        return not np.isnan(X.astype(float, copy=False)).any()
    except ValueError:  # texts
        return False
    except TypeError:  # gaps, or objects
        return not any(value is None for value in X.ravel().tolist())


def numbers_with_gaps(X: Any) -> np.ndarray:
    """Return the numbers of an array or a frame, gaps as NaN; a ValueError if there is anything else."""
    if is_frame(X):
        return _numbers(import_pandas(), _readable(X)).to_numpy()
    return np.asarray(X, dtype=float)


def _readable(X, names=None):
    """Return an array of doubles, or a pandas frame with unique names; an array takes the names of the training rows."""
    if not is_frame(X):
        X = _as_array(X)
        if names is None or len(names) != X.shape[1]:
            return X if X.dtype.kind == "f" else _plain_frame(import_pandas().DataFrame(X))
        X = import_pandas().DataFrame(X, columns=names)
    elif not hasattr(X, "iloc"):
        X = _pandas_of(X)
    names = list(X.columns)
    if len(set(names)) < len(names):
        again = [name for name, count in Counter(names).items() if count > 1]
        raise DataError(f"column names must be unique, got {listed(again)} twice")
    return _plain_frame(X)


def _as_array(X):
    X = check_array(X, dtype=None, ensure_all_finite=False, input_name="X", estimator="TableEncoder")
    try:
        return X.astype(float)
    except (TypeError, ValueError):  # texts, or gaps of pandas
        return X.astype(object)


def _pandas_of(X):
    """Convert a frame of polars or a table of pyarrow."""
    pd = import_pandas()
    if hasattr(X, "to_dict"):  # polars, whose own conversion needs pyarrow
        numeric = [dtype.is_numeric() and not dtype.is_decimal() for dtype in X.dtypes]
        columns = zip(X.columns, numeric, strict=True)
        return pd.DataFrame({name: X[name].to_numpy() if plain else X[name].to_list() for name, plain in columns})
    return X.to_pandas()


def _plain_frame(frame):
    """Replace durations, times of day, periods and decimals by numbers and dates."""
    pd = import_pandas()
    usual = [pd.api.types.is_numeric_dtype(dtype) or isinstance(dtype, pd.StringDtype) for dtype in frame.dtypes]
    others = {name: _plain(pd, frame[name]) for name, plain in zip(frame.columns, usual, strict=True) if not plain}
    if not others:
        return frame
    frame = frame.copy(deep=False)
    for name, series in others.items():
        frame[name] = series
    return frame


def _plain(pd, series):
    dtype = series.dtype
    if isinstance(dtype, pd.PeriodDtype):
        return series.dt.to_timestamp()
    if pd.api.types.is_timedelta64_dtype(dtype):
        return series.dt.total_seconds() / SECONDS_OF_A_DAY
    if dtype.kind != "O" or isinstance(dtype, pd.CategoricalDtype):
        return series
    types = set(series.dropna().map(type))
    if types == {Decimal}:
        return series.astype(float)
    if types == {time}:
        return pd.to_timedelta(series.astype(str).mask(series.isna())).dt.total_seconds()
    if types and all(issubclass(one, timedelta) for one in types):
        return pd.to_timedelta(series).dt.total_seconds() / SECONDS_OF_A_DAY
    return series


# -- The values of one column -----------------------------------------------------------------------------------------------


def _numbers(pd, frame):
    """Convert columns to floats; a DataError names what is neither a number nor a gap."""
    if all(pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes):
        numbers = frame.astype(float)
    else:
        numbers = frame.apply(lambda series: _parsed_numbers(pd, series))
    _check_finite(numbers.to_numpy(), numbers.columns)
    return numbers


def _check_finite(numbers, names):
    infinite = np.isinf(numbers).any(axis=0)
    if infinite.any():
        raise DataError(f"infinite values in {listed(np.asarray(names)[infinite])}; replace them first")


def _parsed_numbers(pd, series):
    numbers = pd.to_numeric(series, errors="coerce").astype(float)
    words = series[numbers.isna() & series.notna()]
    if len(words):
        found = listed([repr(word) for word in words.unique()], 5)
        raise DataError(
            f"column {series.name!r} must hold numbers, got {found}; if these are missing values, replace them by NaN (command"
            " line: --missing)"
        )
    return numbers


def _medians(numbers, gaps):
    """Return the median of every column, without its gaps; zero for a column without numbers."""
    some = gaps.any(axis=0)
    medians = np.empty(numbers.shape[1])
    medians[~some] = np.median(numbers[:, ~some], axis=0)
    for k in np.flatnonzero(some):
        known = numbers[~gaps[:, k], k]
        medians[k] = np.median(known) if len(known) else 0.0
    return medians


def _texts(series):
    """Convert to text, gaps to the empty text."""
    if hasattr(series, "cat"):
        categories = [*map(_text, series.cat.categories), ""]
        texts = [categories[code] for code in series.cat.codes]  # -1 is a gap
    else:
        gaps = series.isna().to_numpy()
        texts = ["" if gap else _text(value) for value, gap in zip(series.tolist(), gaps, strict=True)]
    return import_pandas().Series(texts, index=series.index, name=series.name, dtype=object)


def _text(value):
    """Write a category; whole numbers are written alike whether or not their column has gaps or fractions."""
    if isinstance(value, float):
        if value != value:
            return ""
        value = int(value) if value.is_integer() else value
    return str(value).strip()


def _date_parts(dates):
    days = (dates - import_pandas().Timestamp(0, tz="UTC")).dt.total_seconds() / SECONDS_OF_A_DAY
    parts = (dates.dt.year, dates.dt.month, dates.dt.day_of_week, days)
    parts = [part.to_numpy(dtype=float, na_value=np.nan) for part in parts]
    angle = 2 * np.pi * (parts[-1] % 1)
    return np.column_stack([*parts, 24 * (parts[-1] % 1), np.sin(angle), np.cos(angle)])


def _hashed_words(texts):
    return HashingVectorizer(n_features=TEXT_FEATURES).transform(texts).toarray()


def _chosen_names(chosen, X) -> list:
    """Return the columns that `categorical_features` names, by name, position or mask."""
    if chosen is None or (isinstance(chosen, str) and chosen == "from_dtype"):
        return []
    names = list(range(X.shape[1])) if isinstance(X, np.ndarray) else list(X.columns)
    chosen = np.atleast_1d(np.asarray(chosen, dtype=None if len(chosen) else int)).tolist()
    if len(chosen) == len(names) and all(isinstance(one, bool) for one in chosen):
        return [name for name, is_chosen in zip(names, chosen, strict=True) if is_chosen]
    found = [one if one in names else names[one] if _is_position(one, names) else None for one in chosen]
    unknown = [one for one, name in zip(chosen, found, strict=True) if name is None or isinstance(one, bool)]
    if unknown:
        raise ValueError(
            f"categorical_features must name columns, give their positions or a mask of {len(names)}, got"
            f" {listed(map(repr, unknown))}; the columns are {listed(names, 30)}"
        )
    return found


def _is_position(one, names):
    return isinstance(one, int) and -len(names) <= one < len(names)
