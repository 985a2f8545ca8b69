"""Searches on data frames as they are: columns of every type, gaps, new categories."""

import pickle
from datetime import time
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from radiusmargin import FSVMCV, AutoSVM
from radiusmargin.app import Bundle, load_bundle, save_bundle

N = 60
Y = np.where(np.arange(N) % 3 == 0, "left", "stayed")
SIGNAL = (np.arange(N) % 3 == 0).astype(int)
GAPS = np.arange(N) % 10 == 7


def column(values, **how):
    """A pandas column with a gap in every tenth row."""
    return pd.Series(pd.array(np.where(GAPS, None, np.asarray(values, dtype=object)), **how))


COLUMNS = {
    "numbers with gaps": pd.Series(np.where(GAPS, np.nan, SIGNAL + 0.25)),
    "nullable integers": column(SIGNAL * 3 + 1, dtype="Int64"),
    "nullable booleans": column(SIGNAL == 1, dtype="boolean"),
    "booleans with gaps": pd.Series(np.where(GAPS, None, SIGNAL == 1), dtype=object),
    "texts": column(np.where(SIGNAL, "red", "blue"), dtype="str"),
    "objects": pd.Series(np.where(GAPS, None, np.where(SIGNAL, "red", "blue")), dtype=object),
    "categories": pd.Series(pd.Categorical.from_codes(np.where(GAPS, -1, SIGNAL), [10, 20])),
    "ordered": pd.Series(pd.Categorical.from_codes(np.where(GAPS, -1, 2 * SIGNAL), ["low", "mid", "high"], ordered=True)),
    "dates": column(pd.Timestamp(2020, 1, 1) + pd.to_timedelta(400 * SIGNAL + np.arange(N) % 5, unit="D"), dtype="datetime64[s]"),
    "zoned times": pd.Series(pd.Timestamp(2020, 1, 1, tz="Asia/Tokyo") + pd.to_timedelta(400 * SIGNAL, unit="D")).mask(GAPS),
    "periods": pd.Series(pd.period_range("2000-01", periods=2, freq="12M")[SIGNAL]).mask(GAPS),
    "durations": pd.Series(pd.to_timedelta(SIGNAL, unit="h")).mask(GAPS),
    "decimals": pd.Series(np.where(GAPS, None, [Decimal(int(one)) / 10 for one in SIGNAL]), dtype=object),
    "times of day": pd.Series(np.where(GAPS, None, [time(8 + one) for one in SIGNAL]), dtype=object),
    "intervals": pd.cut(pd.Series(SIGNAL + 0.5), [0, 1, 2]).mask(GAPS),
}  # fmt: skip


@pytest.fixture(params=COLUMNS)
def frame(request):
    noise = np.random.default_rng(0).normal(size=N)
    return pd.DataFrame({"noise": noise, request.param: COLUMNS[request.param]})


@pytest.mark.parametrize("model", [AutoSVM(cv=3), FSVMCV(Cs=3, cv=3, kernel=["linear", "laplacian-ranks"])])
def test_a_column_of_any_type_is_learned(frame, model, tmp_path):
    model = clone(model).fit(frame, Y)
    known = ~GAPS
    assert model.score(frame[known], Y[known]) == 1
    np.testing.assert_array_equal(model.feature_names_in_, frame.columns)
    assert model.n_features_in_ == 2
    decisions = model.decision_function(frame)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(frame), decisions)
    assert model.transform(frame[:3]).shape == (3, 1)


def test_a_model_file_keeps_the_encoding(frame, tmp_path):
    model = AutoSVM(cv=3, probability=True).fit(frame, Y)
    save_bundle(Bundle(make_pipeline(model), None, {"columns": list(frame)}), tmp_path / "m.skops")
    loaded = load_bundle(tmp_path / "m.skops").pipeline
    np.testing.assert_array_equal(loaded.decision_function(frame), model.decision_function(frame))
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))


def test_columns_in_folds(frame):
    assert cross_val_score(FSVMCV(Cs=3, cv=3), frame, Y, cv=3).mean() > 0.85
    search = GridSearchCV(FSVMCV(Cs=3, cv=3), {"whitening": [0.0, 0.5]}, cv=3).fit(frame, Y)
    assert search.best_score_ > 0.85
