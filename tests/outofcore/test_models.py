"""Models fitted to chunks are the models of the rows in memory."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled_points import labelled_points
from scipy import sparse

from radiusmargin import FSVM, FSVMCV, RMM, SVM, SigmaSVM
from radiusmargin.outofcore import ArraySource, ChangedChunkError
from radiusmargin.outofcore import sources as entry

da = pytest.importorskip("dask.array", reason="dask is not installed: pip install 'radiusmargin[dask]'")
dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe needs pandas and pyarrow")

SAME = {"rtol": 1e-5, "atol": 1e-6}
MODELS = {
    "svm": SVM(C=0.1),
    "fsvm": FSVM(C=0.1),
    "standardised": FSVM(C=0.1, whitening=0.0, multi_class="ovr"),
    "within": FSVM(C=0.1, whitening=0.5, scatter="within", class_weight="balanced"),
    "no intercept": FSVM(C=0.1, whitening=0.5, fit_intercept=False),
}


def assert_same(found, model, tol=SAME):
    np.testing.assert_allclose(found.coef_, model.coef_, **tol)
    np.testing.assert_allclose(found.intercept_, model.intercept_, **tol)
    assert found.objective_ == pytest.approx(model.objective_, rel=1e-6)
    assert found.dual_gap_ <= found.tol
    assert found.classes_.tolist() == model.classes_.tolist()


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("classes", [("no", "yes"), (3, 5, 9)])
def test_a_dask_array_gives_the_model_of_its_rows(name, classes):
    X, y, weight = labelled_points(classes=classes)
    model = MODELS[name].set_params(tol=1e-10)
    inside = model.fit(X, y, weight)
    expected = pickle.loads(pickle.dumps(inside))
    found = model.fit(da.from_array(X, chunks=(400, 3)), da.from_array(y, chunks=250), da.from_array(weight, chunks=-1))
    assert_same(found, expected)
    if hasattr(expected, "margin_"):
        told = expected.margin_ < 1e6  # a separator that is zero but for rounding has any radius
        np.testing.assert_array_equal(found.margin_ < 1e6, told)
        np.testing.assert_allclose(found.radius_[told], expected.radius_[told], rtol=1e-4)
        np.testing.assert_allclose(found.margin_[told], expected.margin_[told], rtol=1e-4)
    if hasattr(expected, "components_"):
        np.testing.assert_allclose(
            found.get_mahalanobis_matrix(), expected.get_mahalanobis_matrix(), rtol=1e-4, atol=1e-5
        )
    assert (pickle.loads(pickle.dumps(found)).predict(X) == expected.predict(X)).all()


@given(
    sizes=st.lists(st.integers(0, 300), min_size=1, max_size=6), dtype=st.sampled_from([np.float32, np.float64, np.int8]),
    classes=st.sampled_from([(0, 1), ("a", "b", "c"), (False, True), (-1.0, 2.0)]), weighted=st.booleans(),
)  # fmt: skip
@settings(max_examples=25, deadline=None)
def test_any_chunks_of_any_type(sizes, dtype, classes, weighted):
    sizes = [*sizes, 200]  # enough rows of every class
    X, y, weight = labelled_points(sum(sizes), 3, classes)
    X = (4 * X).astype(dtype)
    weight = weight if weighted else None
    expected = FSVM(C=0.1, tol=1e-11).fit(X, y, weight)
    edges = np.cumsum([0, *sizes])

    def read():
        for start, stop in pairwise(edges):
            part = slice(start, stop)
            yield (X[part], y[part]) if weight is None else (X[part], y[part], weight[part])

    assert_same(FSVM(C=0.1, tol=1e-11).fit(read), expected, {"rtol": 1e-4, "atol": 1e-5})


def test_data_frames_with_partitions_of_unknown_size():
    import pandas as pd

    X, y, weight = labelled_points()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(label=y, weight=weight)
    frame["b"] = frame["b"].astype("float32")
    lazy = dd.from_pandas(frame, npartitions=5)
    lazy = lazy[lazy["a"] > frame["a"].median()]  # a partition may be empty now
    inside = frame[frame["a"] > frame["a"].median()]
    columns = list("abcd")
    expected = FSVM(tol=1e-9).fit(inside[columns], inside["label"], inside["weight"])
    found = FSVM(tol=1e-9).fit(lazy[columns], lazy["label"], lazy["weight"])
    assert_same(found, expected)
    assert found.feature_names_in_.tolist() == columns
    predicted = found.predict(lazy[columns])
    assert isinstance(predicted, dd.Series)
    assert (predicted.compute().to_numpy() == expected.predict(inside[columns])).all()
    assert (predicted.compute().index == inside.index).all()
    distances = found.transform(lazy[columns]).compute()
    np.testing.assert_allclose(distances, expected.transform(inside[columns]), **SAME)


def test_unknown_sizes_of_arrays():
    X, y, _ = labelled_points()
    keep = X[:, 0] > np.median(X[:, 0])
    lazy, labels, mask = (da.from_array(values, chunks=400) for values in (X, y, keep))
    found = SVM(tol=1e-9).fit(lazy[mask], labels[mask])
    assert_same(found, SVM(tol=1e-9).fit(X[keep], y[keep]))
    scores = found.decision_function(lazy[mask])
    np.testing.assert_allclose(scores.compute(), found.decision_function(X[keep]))


def test_sparse_chunks():
    X, y, _ = labelled_points()
    X = np.where(np.abs(X - X.mean(axis=0)) < 1, 0.0, X)
    parts = [(sparse.csr_matrix(X[i : i + 400]), y[i : i + 400]) for i in range(0, len(y), 400)]
    assert_same(FSVM(tol=1e-9).fit(lambda: iter(parts)), FSVM(tol=1e-9).fit(X, y))


def test_a_memory_map(tmp_path, monkeypatch):
    X, y, weight = labelled_points()
    path = tmp_path / "rows.npy"
    np.save(path, X.astype(np.float32))
    mapped = np.load(path, mmap_mode="r")
    expected = FSVM(tol=1e-9).fit(np.array(mapped), y, weight)
    assert not entry.in_chunks(mapped)
    monkeypatch.setattr(entry, "LARGE", 0)
    found = FSVM(tol=1e-9, n_jobs=2).fit(mapped, y, weight)
    assert found.n_passes_ == 2
    assert_same(found, expected)
    assert (found.predict(mapped) == expected.predict(np.array(mapped))).all()
    whole = FSVM(eta=1.0, max_iter=20, tol=1e-2).fit(mapped, y, weight)  # what cannot be done in chunks is done as ever
    assert not hasattr(whole, "n_passes_")


def test_arrays_on_disk(tmp_path):
    X, y, _ = labelled_points()
    expected = SVM(tol=1e-9).fit(X, y)
    for array in _on_disk(X, tmp_path):
        found = SVM(tol=1e-9).fit(array, y)
        assert_same(found, expected)
        np.testing.assert_allclose(found.decision_function(array), expected.decision_function(X), rtol=1e-4, atol=1e-4)


def _on_disk(X, folder):
    zarr, h5py = pytest.importorskip("zarr"), pytest.importorskip("h5py")
    stored = zarr.create_array(store=str(folder / "rows.zarr"), shape=X.shape, chunks=(100, 2), dtype=X.dtype)
    stored[:] = X
    yield stored
    with h5py.File(folder / "rows.h5", "w") as file:
        yield file.create_dataset("rows", data=X, chunks=(100, 2))


def test_methods_of_rows_are_lazy():
    X, y, _ = labelled_points(classes=(0, 1, 2))
    model, lazy = FSVM().fit(X, y), da.from_array(X, chunks=(400, 2))
    for method in (model.predict, model.decision_function, model.transform):
        found = method(lazy)
        assert isinstance(found, da.Array)
        assert found.chunks[0] == lazy.chunks[0]
        np.testing.assert_allclose(found.compute(), method(X))
        assert found.dtype == method(X).dtype
    parts = model.predict(lambda: iter([X[:100], (X[100:], y[100:])]))
    assert (np.concatenate(list(parts)) == model.predict(X)).all()


@pytest.mark.parametrize("scatter", ["total", "within"])
def test_features_that_say_nothing_new(scatter):
    """Constant and collinear features: solved in the range of the scatter, as in memory."""
    X, y, weight = labelled_points()
    X = np.column_stack([X, np.full(len(y), 0.1), X[:, 0] - 2 * X[:, 1]])
    model = FSVM(tol=1e-9, scatter=scatter)
    expected = model.fit(X, y, weight).decision_function(X), model.objective_
    model.fit(ArraySource(X, y, weight, rows=300))
    np.testing.assert_allclose(model.decision_function(X), expected[0], rtol=1e-4, atol=1e-5)
    assert model.objective_ == pytest.approx(expected[1], rel=1e-6)


@pytest.mark.filterwarnings("ignore:FSVM stopped")  # coefficients of 1e9 cancel: the gap is the rounding of the scores
def test_thin_directions_are_not_lost():
    """A direction that the scatter has lost to rounding is there, and is what tells the classes apart."""
    X, _, _ = labelled_points()
    rng = np.random.default_rng(0)
    thin = rng.standard_normal(len(X))
    y = thin > 0
    X = np.column_stack([X, X[:, 0] + 1e-9 * thin])
    model = FSVM(C=10.0, rank_tol=0).fit(ArraySource(X, y, rows=400))
    assert model.score(X, y) > 0.95


def test_history_and_progress(capsys):
    X, y, _ = labelled_points()
    model = FSVM(verbose=1).fit(da.from_array(X, chunks=400), da.from_array(y, chunks=400))
    assert model.n_passes_ == 1 + len(model.history_)
    assert model.history_[-1]["gap"] <= model.tol
    assert "[FSVM] pass 2: gap" in capsys.readouterr().out


# -- the search ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("combine", ["average", "best"])
def test_a_search_chooses_on_a_subsample_and_fits_all_rows(combine):
    X, y, weight = labelled_points(3000, classes=(0, 1, 2))
    source = ArraySource(X, y, weight, rows=500)
    search = FSVMCV(combine=combine, whitening=[0.0, 1.0], Cs=[0.01, 1.0], subsample=800).fit(source)
    assert search.cv_results_["params"]
    assert 1 <= len(search.members_) <= 5
    assert sum(member.pop("weight") for member in search.members_) == pytest.approx(1)
    fits = [FSVM(**member, multi_class="ovo", tol=1e-9).fit(X, y, weight) for member in search.members_]
    assert search.objective_ == pytest.approx(sum(fit.objective_ for fit in fits), rel=1e-5)
    if combine == "best":
        np.testing.assert_allclose(search.coef_, fits[0].coef_, rtol=1e-2, atol=1e-3)
        return
    squares = [weight @ (X @ fit.coef_.T + fit.intercept_) ** 2 / weight.sum() for fit in fits]
    coef = np.mean([fit.coef_ / np.sqrt(s.mean()) for fit, s in zip(fits, squares, strict=True)], axis=0)
    np.testing.assert_allclose(search.coef_, coef, rtol=1e-2, atol=1e-3)
    spread = np.cov(search.transform(X).T, aweights=weight, bias=True)
    assert np.trace(np.atleast_2d(spread)) == pytest.approx(1.0, rel=1e-6)  # a mean of metrics of unit variance
    lazy = search.transform(da.from_array(X, chunks=700))
    np.testing.assert_allclose(lazy.compute(), search.transform(X))


def test_rare_classes_are_in_the_subsample():
    rng = np.random.default_rng(0)
    y = np.where(np.arange(60_000) % 2000 == 0, "rare", "common")
    X = rng.standard_normal((len(y), 2)) + 3.0 * (y == "rare")[:, None]
    search = FSVMCV(Cs=[0.1, 1.0], whitening=0.0, combine="best", subsample=2000, class_weight="balanced")
    search.set_params(scoring="balanced_accuracy").fit(ArraySource(X, y, rows=9000))
    assert search.best_score_ > 0.95
    assert search.classes_.tolist() == ["common", "rare"]


# -- what is refused ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RMM(), "RMM needs its rows in memory"),
        (SigmaSVM(), "SigmaSVM needs its rows in memory"),
        (FSVM(eta=1.0), "FSVM takes rows in chunks only with rho=None, eta=0"),
        (FSVM(coupling="shared"), "coupling='separate'"),
        (SVM(kernel="rbf"), "only with kernel='linear'"),
        (FSVMCV(kernel="rbf"), "only with kernel='linear'"),
        (FSVMCV(eta=[0.0, 1.0]), "only with eta=0"),
    ],
)
def test_models_that_need_their_rows_say_so(model, message):
    X, y, _ = labelled_points(100)
    with pytest.raises(ValueError, match=message):
        model.fit(da.from_array(X, chunks=50), y)


def test_labels_that_do_not_go_with_the_rows():
    X, y, _ = labelled_points()
    lazy = da.from_array(X, chunks=400)
    unknown = lazy[da.from_array(X[:, 0] > 0, chunks=400)]
    for rows, labels, message in (
        (lazy, y[:-1], "y must have 1500 entries to match X, got 1499"),
        (lazy, None, "y must hold the labels"),
        (unknown, y, "y must be a dask collection with the partitions of X"),
        (unknown, da.from_array(y, chunks=-1), "the 4 partitions of X, got 1"),
        (lambda: iter([(X, y)]), y, "y must be None"),
        (lambda: 3, None, "a new iterator"),
    ):
        with pytest.raises(ValueError, match=message):
            SVM().fit(rows, labels)


def test_numbers_that_are_no_classes():
    X, _, _ = labelled_points()
    with pytest.raises(ValueError, match="y must hold class labels, got continuous"):
        SVM().fit(da.from_array(X, chunks=400), X[:, 0])


def test_one_class():
    X, y, _ = labelled_points()
    with pytest.raises(ValueError, match="at least 2 classes"):
        SVM().fit(da.from_array(X, chunks=400), np.zeros(len(y)))


def test_a_dask_graph_without_a_seed_is_refused():
    """Rows that are drawn anew each time they are read have no model, and a certificate would be a lie."""
    import dask

    @dask.delayed(pure=False)
    def draw():
        return np.random.default_rng().standard_normal((300, 3))

    X = da.concatenate([da.from_delayed(draw(), (300, 3), dtype=float) for _ in range(3)])
    with pytest.raises(ChangedChunkError, match="store them first"):
        SVM().fit(X, np.arange(900) % 2)
