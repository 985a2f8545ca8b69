"""Searches on data frames as they are: columns of every type, gaps, new categories."""

import pickle
from datetime import time
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

from radiusmargin import FSVM, FSVMCV, AutoSVM, TableEncoder
from radiusmargin.app import Bundle, load_bundle, save_bundle
from radiusmargin.estimators.features import RankTransform, Standardizer

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


NOISE = np.random.default_rng(0).normal(size=N)
MIXED = pd.DataFrame({"hue": np.where(SIGNAL, "red", "blue"), "size": np.where(GAPS, np.nan, NOISE)})


def test_frames_of_polars_and_pyarrow_give_the_same_model():
    expected = AutoSVM(cv=3).fit(MIXED, Y)
    polars = pl.from_pandas(MIXED)
    for frame in (polars, polars.to_arrow()):
        model = AutoSVM(cv=3).fit(frame, Y)
        np.testing.assert_array_equal(model.decision_function(frame), expected.decision_function(MIXED))
        np.testing.assert_array_equal(expected.decision_function(frame), expected.decision_function(MIXED))


def test_a_frame_is_a_pipeline_with_its_encoder_for_the_linear_model():
    model = FSVMCV(Cs=3, cv=3).fit(MIXED, Y)
    same = make_pipeline(TableEncoder(), FSVMCV(Cs=3, cv=3)).fit(MIXED, Y)
    np.testing.assert_array_equal(model.decision_function(MIXED), same.decision_function(MIXED))
    assert model.coef_.shape == (1, len(model.encoder_.get_feature_names_out()))


def test_numbers_without_gaps_need_no_encoder_and_no_copy_of_their_own():
    X = MIXED[["size"]].fillna(0.0)
    model = AutoSVM(cv=3).fit(X, Y)
    assert not hasattr(model, "encoder_")
    np.testing.assert_array_equal(
        model.decision_function(X), AutoSVM(cv=3).fit(X.to_numpy(), Y).decision_function(X.to_numpy())
    )


@pytest.mark.parametrize("container", [np.asarray, pd.DataFrame, lambda X: pl.DataFrame(X), np.ndarray.tolist])
def test_gaps_that_the_training_rows_did_not_have_become_the_mean(container):
    X = np.column_stack([NOISE, SIGNAL])
    model = FSVMCV(Cs=3, cv=3).fit(container(X), Y)
    gaps, means = X.copy(), X.copy()
    gaps[::2, 0], means[::2, 0] = np.nan, NOISE.mean()
    np.testing.assert_allclose(model.decision_function(container(gaps)), model.decision_function(container(means)))


def test_labels_do_not_reach_the_encoder():
    """Labels that are coin tosses stay so: 60 towns in 200 rows would separate any labels that an encoder looked at."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"town": rng.choice([f"t{k}" for k in range(60)], 200), "size": rng.normal(size=200)})
    encoders, scores = [], []
    for seed in range(3):
        y = np.random.default_rng(seed).permutation(200) % 2
        model = AutoSVM(cv=3).fit(frame, y)
        scores += [model.oof_score_, cross_val_score(AutoSVM(cv=3), frame, y, cv=3).mean()]
        encoders.append(pickle.dumps(model.encoder_))
    assert len(set(encoders)) == 1
    assert np.mean(scores) < 0.56


def test_new_categories_and_gaps_are_scored_and_wrong_columns_named():
    model = AutoSVM(cv=3).fit(MIXED, Y)
    decisions = model.decision_function(pd.DataFrame({"hue": ["mauve", None], "size": [0.0, None]}))
    assert np.isfinite(decisions).all()
    with pytest.raises(ValueError, match=r"yet now missing:\s*- size"):
        model.predict(MIXED[["hue"]])
    with pytest.raises(ValueError, match="must be in the same order"):
        model.predict(MIXED[["size", "hue"]])
    with pytest.raises(ValueError, match="column 'size' must hold numbers, got 'big'"):
        model.predict(MIXED.assign(size="big"))
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        np.testing.assert_array_equal(model.predict(MIXED.to_numpy()), model.predict(MIXED))


def test_any_two_categories_are_equally_far_apart_under_the_kernels_of_distances():
    levels = np.repeat(["a", "b", "c"], [30, 20, 10])
    frame = pd.DataFrame({"level": levels, "size": NOISE})
    encoder = TableEncoder().fit(frame)
    X, weight = encoder.transform(frame), np.ones(N)
    for kind in (Standardizer, RankTransform):
        rows = kind.of(X, weight, encoder.indicator_groups).rows(X)
        a, b, c = (rows[np.flatnonzero(levels == level)[0], 1:] for level in "abc")
        np.testing.assert_allclose(
            [np.sum((a - b) ** 2), np.sum(abs(a - c))], [np.sum((a - c) ** 2), np.sum(abs(b - c))]
        )
        centred = rows[:, 1:] - rows[:, 1:].mean(axis=0)
        np.testing.assert_allclose(np.sum(centred**2) / N, 1)  # the mean squared distance of a standardised number


def test_numbers_that_are_codes_are_categories_by_name():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 6, size=(200, 3))
    y = np.isin(codes[:, 0], [1, 4]) ^ np.isin(codes[:, 1], [0, 3])
    frame = pd.DataFrame(codes, columns=list("abc"))
    named = FSVMCV(kernel=["linear"], categorical_features=["a", "b", "c"]).fit(frame, y)
    by_type = FSVMCV(kernel=["linear"]).fit(frame.astype("category"), y)
    np.testing.assert_array_equal(named.decision_function(frame), by_type.decision_function(frame.astype("category")))
    assert named.oof_score_ > FSVMCV(kernel=["linear"]).fit(frame, y).oof_score_ + 0.05
    with pytest.raises(ValueError, match=r"categorical_features must name columns.*got 'd'; the columns are a, b, c"):
        AutoSVM(categorical_features=["d"]).fit(frame, y)


def test_frames_in_chunks_with_categories_are_refused_with_a_remedy():
    dask = pytest.importorskip("dask.dataframe")
    rows, labels = dask.from_pandas(MIXED, npartitions=2), dask.from_pandas(pd.Series(Y), npartitions=2)
    with pytest.raises(ValueError, match=r"columns must be numbers without gaps .* fit a TableEncoder to a sample"):
        FSVMCV().fit(rows, labels)


@pytest.mark.parametrize(
    "bad", [MIXED, MIXED[["size"]], pd.DataFrame({"day": pd.to_datetime(["2020-01-01"] * N), "size": NOISE})]
)
def test_models_of_numbers_say_who_encodes_tables(bad):
    with pytest.raises(
        ValueError, match=r"FSVM takes numbers without gaps: put a TableEncoder before it in a pipeline"
    ):
        FSVM().fit(bad, Y)
    fitted = FSVM().fit(NOISE[:, None], Y)
    with pytest.raises(ValueError, match=r"X contains NaN. FSVM takes numbers without gaps"):
        fitted.predict(np.full((2, 1), np.nan))


def test_the_best_estimator_takes_encoded_rows():
    model = FSVMCV(Cs=3, cv=3, combine="best").fit(MIXED, Y)
    encoded = model.encoder_.set_output(transform="pandas").transform(MIXED)
    np.testing.assert_array_equal(model.best_estimator_.decision_function(encoded), model.decision_function(MIXED))


def test_a_column_instead_of_a_table_is_refused_with_a_remedy():
    with pytest.raises(ValueError, match=r"pass frame\[\[name\]\] instead of frame\[name\]"):
        AutoSVM().fit(MIXED["hue"], Y)
