"""TableEncoder: frames of pandas, polars and pyarrow, arrays, gaps, new categories, and any pipeline."""

import pickle
import subprocess
import sys
from datetime import date, datetime, time, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from radiusmargin import TableEncoder
from radiusmargin.tables import DataError

N = 30
HUES = ["red", "blue", None, "green", "blue"] * 6
DAYS = [date(2020, 1, 1) + timedelta(days=7 * k) for k in range(N)]
PLAIN = {
    "hue": HUES,
    "size": [None if k % 7 == 3 else k / 4 for k in range(N)],
    "count": [None if k % 7 == 4 else k for k in range(N)],
    "flag": [k % 2 == 0 for k in range(N)],
    "day": DAYS,
    "at": [datetime(2021, 3, 1, k % 24, 30) for k in range(N)],
    "length": [timedelta(hours=k) for k in range(N)],
    "opens": [time(k % 24) for k in range(N)],
    "price": [Decimal(k) / 4 for k in range(N)],
}


def frames():
    """The same table in every library."""
    polars = pl.DataFrame(PLAIN)
    pandas = pd.DataFrame(PLAIN).astype({"size": float, "count": "Int64", "hue": "category", "day": "datetime64[s]"})
    return {
        "pandas": pandas, "objects": pd.DataFrame(PLAIN, dtype=object).astype({"flag": bool}), "polars": polars, "pyarrow": polars.to_arrow(),
        "polars types": polars.with_columns(pl.col("hue").cast(pl.Categorical), pl.col("count").cast(pl.UInt8)),
    }  # fmt: skip


@pytest.mark.parametrize("name", frames())
def test_a_table_is_encoded_alike_from_every_library(name):
    expected = TableEncoder().fit(frames()["pandas"])
    frame = frames()[name]
    encoder = TableEncoder().fit(frame)
    assert encoder.get_feature_names_out().tolist() == expected.get_feature_names_out().tolist()
    encoded = expected.transform(frames()["pandas"])
    assert np.isfinite(encoded).all()
    np.testing.assert_allclose(encoder.transform(frame), encoded)
    np.testing.assert_allclose(expected.transform(frame), encoded)  # fitted to another library's


def test_categories_are_those_of_scikit_learns_one_hot_encoder():
    frame = pd.DataFrame({"hue": [hue or "none" for hue in HUES]})
    np.testing.assert_array_equal(
        TableEncoder().fit_transform(frame), OneHotEncoder(sparse_output=False).fit_transform(frame)
    )


def test_whole_numbers_are_one_category_whether_or_not_there_are_gaps():
    frame = pd.DataFrame({"code": [1, 2, 3, 2]})
    encoder = TableEncoder(categorical_features=["code"]).fit(frame)
    assert encoder.get_feature_names_out().tolist() == ["code_1", "code_2", "code_3"]
    gaps = pd.DataFrame({"code": [1.0, np.nan, 2.5, 3.0]})
    assert encoder.transform(gaps).tolist() == [[1, 0, 0], [0, 0, 0], [0, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize("chosen", [[0], [True, False], np.array([True, False]), np.array([0]), [-2]])
def test_columns_of_an_array_are_chosen_by_position_or_mask(chosen):
    X = np.array([[3.0, 1.0], [5.0, np.nan], [3.0, 3.0]])
    encoder = TableEncoder(categorical_features=chosen).fit(X)
    assert encoder.get_feature_names_out().tolist() == ["x1", "x0_3", "x0_5"]
    assert encoder.transform(X).tolist() == [[1, 1, 0], [2, 0, 1], [3, 1, 0]]
    assert encoder.indicator_groups.tolist() == [-1, 0, 0]


@pytest.mark.parametrize("chosen", [["hu"], [2], [True], [True, False, True], "from_dtypes"])
def test_unknown_columns_are_refused_by_name(chosen):
    with pytest.raises(ValueError, match=r"categorical_features must name columns.* the columns are hue, size"):
        TableEncoder(categorical_features=chosen).fit(pd.DataFrame({"hue": ["a", "b"], "size": [1, 2]}))


def test_rare_categories_share_an_indicator_with_new_ones():
    names = [f"town {k:02}" for k in range(60)]
    encoder = TableEncoder().fit(pd.DataFrame({"town": names * 2 + names[:49]}))
    assert encoder.get_feature_names_out()[-2:].tolist() == ["town_town 48", "town_infrequent"]
    codes = encoder.transform(pd.DataFrame({"town": ["town 03", "town 55", "elsewhere", None]})).argmax(axis=1)
    assert codes.tolist() == [3, 49, 49, 49]


def test_ordered_categories_are_numbers_in_their_order():
    grades = pd.Categorical(["low", "high", "mid", None], categories=["low", "mid", "high"], ordered=True)
    encoder = TableEncoder().fit(pd.DataFrame({"grade": grades}))
    assert encoder.transform(pd.DataFrame({"grade": grades})).ravel().tolist() == [0, 2, 1, 1]
    assert encoder.transform(pd.DataFrame({"grade": ["high", "unheard"]})).ravel().tolist() == [2, 1]


def test_hours_are_encoded_where_there_are_any():
    at = pd.Timestamp(2020, 1, 1) + pd.to_timedelta([0, 6, 23], unit="h")
    frame = pd.DataFrame({"day": at.floor("D"), "at": at})
    encoder = TableEncoder().fit(frame)
    *_, hour, sine, cosine = encoder.get_feature_names_out()
    assert (hour, sine, cosine) == ("at_hour", "at_hour_sin", "at_hour_cos")
    encoded = dict(zip(encoder.get_feature_names_out(), encoder.transform(frame).T, strict=True))
    assert len(encoded) == 4 + 7
    np.testing.assert_allclose(encoded["at_hour"], [0, 6, 23], atol=1e-6)
    circle = np.column_stack([encoded["at_hour_sin"], encoded["at_hour_cos"]])
    np.testing.assert_allclose(circle[:2], [[0, 1], [1, 0]], atol=1e-6)
    assert np.linalg.norm(circle[2] - circle[0]) < 0.3  # an hour before midnight


def test_mistakes_are_named():
    frame = frames()["pandas"]
    encoder = TableEncoder().fit(frame)
    with pytest.raises(DataError, match="the table has no column hue; its columns are size"):
        encoder.transform(frame.drop(columns="hue"))
    with pytest.raises(DataError, match="column 'size' must hold numbers, got 'big'"):
        encoder.transform(frame.assign(size="big"))
    with pytest.raises(DataError, match="infinite values in size"):
        encoder.transform(frame.assign(size=np.inf))
    with pytest.raises(DataError, match="column names must be unique, got hue twice"):
        TableEncoder().fit(pd.concat([frame, frame[["hue"]]], axis=1))
    with pytest.raises(DataError, match="no column to learn from; columns left out: id"):
        TableEncoder().fit(pd.DataFrame({"id": [f"k{k}" for k in range(40)]}))
    with pytest.raises(DataError, match=r"lazy frame of polars: pass X.collect\(\)"):
        TableEncoder().fit(pl.LazyFrame(PLAIN))
    with pytest.raises(ValueError, match="X has 3 features, but TableEncoder is expecting 2"):
        TableEncoder().fit(np.eye(2)).transform(np.eye(3))


@pytest.mark.parametrize("name", ["pandas", "polars"])
def test_it_works_in_any_pipeline(name):
    frame, y = frames()[name], [hue == "blue" for hue in HUES]
    model = make_pipeline(TableEncoder(), StandardScaler(), LogisticRegression(C=100))
    assert cross_val_score(model, frame, y, cv=3).mean() == 1
    encoder = TableEncoder().set_output(transform=name)
    encoded = encoder.fit_transform(frame)
    assert type(encoded) is type(frame)
    assert list(encoded.columns) == encoder.get_feature_names_out().tolist()
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(encoder)).transform(frame), encoded)
    assert clone(encoder).get_params() == encoder.get_params()


@parametrize_with_checks([TableEncoder()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_arrays_need_no_pandas_and_frames_say_so():
    script = """
import sys
sys.modules["pandas"] = None
import numpy as np, polars as pl
from radiusmargin import AutoSVM
X = np.random.default_rng(0).normal(size=(40, 3)).round()
y = np.arange(40) % 2
AutoSVM(cv=2).fit(pl.DataFrame(X), y).predict(pl.DataFrame(X))
X[0] = np.nan
AutoSVM(cv=2, categorical_features=[2]).fit(X, y).predict(X)
try:
    AutoSVM(cv=2).fit(pl.DataFrame({"a": ["x", "y"] * 20}), y)
except ImportError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "needs pandas, which is not installed" in done.stdout
