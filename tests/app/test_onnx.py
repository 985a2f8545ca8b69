"""ONNX: the exported graph decides as `predict` does, to the last digits."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from radiusmargin import FSVMCV, SVM
from radiusmargin.app import save_bundle
from radiusmargin.app.cli import main
from radiusmargin.app.final import fit_final
from radiusmargin.paper import Spec
from radiusmargin.paper.data import load
from radiusmargin.tables import DataError, read_table
from radiusmargin.tables.read import read_rows

to_onnx = pytest.importorskip("skl2onnx").to_onnx
pytest.importorskip("skops")
runtime = pytest.importorskip("onnxruntime")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of skl2onnx's own


def session(content):
    return runtime.InferenceSession(content, providers=["CPUExecutionProvider"])


def onnx_of(bundle):
    from radiusmargin.app.onnx import to_onnx as graph_of

    return session(graph_of(bundle))


# A conic model once: on 30 features it takes seconds, and its converter is the same.
MODELS = [
    (name, model)
    for name in ("sklearn/iris", "sklearn/breast_cancer")
    for model in ("fsvm-cv", "fsvm", "svm", "svm-raw")
]


@pytest.mark.parametrize(("name", "model"), [*MODELS, ("sklearn/iris", "rmm")])
def test_numbers(name, model):
    task = load(name)
    bundle = fit_final(task, model, spec=Spec("fit", budget=3, inner_folds=3))
    label, scores = onnx_of(bundle).run(["label", "scores"], {"X": task.X.astype(float)})
    np.testing.assert_array_equal(label, bundle.pipeline.predict(task.X))
    expected = bundle.pipeline.decision_function(task.X)
    np.testing.assert_allclose(scores, expected if expected.ndim == 2 else expected[:, None], rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("scaler", [None, StandardScaler()])
def test_skl2onnx_knows_linear_models_by_itself(scaler):
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(scaler or "passthrough", FSVMCV()).fit(X, y)
    steps = Pipeline([step for step in model.steps if step[1] != "passthrough"])
    label, _ = session(to_onnx(steps, X[:1]).SerializeToString()).run(None, {"X": X})
    np.testing.assert_array_equal(label, model.predict(X))


def test_a_kernel_machine_is_refused_by_name():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match="SVM is not linear in its inputs"):
        to_onnx(SVM(kernel="rbf").fit(X, y), X[:1])


def mixed(folder, n_towns=3):
    rng = np.random.default_rng(0)
    towns = [f"town {i}" for i in range(n_towns)]
    rows = [
        f"{'' if i % 9 == 0 else round(rng.normal() + i % 2, 3)},{'' if i % 11 == 0 else towns[rng.integers(n_towns)]},2020-01-0{1 + i % 9},"
        f"{'u' if i % 2 else 'v'}"
        for i in range(300)
    ]
    (folder / "t.csv").write_text("a,town,day,y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return folder / "t.csv"


@pytest.mark.parametrize("n_towns", [3, 80])  # of eighty, the rarer share a column
def test_tables_with_gaps_and_categories_that_are_rare_or_new(tmp_path, n_towns):
    path = mixed(tmp_path, n_towns)
    bundle = fit_final(read_table(path, drop=["day"]), "fsvm-cv")
    rows = read_rows(path)
    rows.loc[:5, "town"] = "elsewhere"
    cast = bundle.encoder.cast(rows)
    inputs = {"a": cast[["a"]].to_numpy(dtype=float), "town": cast[["town"]].to_numpy(dtype=object)}
    label, scores = onnx_of(bundle).run(["label", "scores"], inputs)
    np.testing.assert_array_equal(label, bundle.pipeline.predict(rows))
    np.testing.assert_allclose(scores.ravel(), bundle.pipeline.decision_function(rows), rtol=1e-6, atol=1e-8)


def test_the_command_writes_the_graph_and_says_what_cannot_be_exported(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = mixed(tmp_path)
    save_bundle(fit_final(read_table(path, drop=["day"]), "svm"), "m.skops")
    assert main(["export", "m.skops", "--onnx", "m.onnx"]) == 0
    assert {x.name for x in session((tmp_path / "m.onnx").read_bytes()).get_inputs()} == {"a", "town"}
    save_bundle(fit_final(read_table(path), "svm"), "dates.skops")
    assert main(["export", "dates.skops", "--onnx", "d.onnx"]) == 1
    assert "fit without day (--drop)" in capsys.readouterr().err
    assert not (tmp_path / "d.onnx").exists()


def test_kernels_and_forests_are_refused(tmp_path):
    for model, kernel in (("svm", "rbf"), ("random-forest", "linear")):
        bundle = fit_final(load("sklearn/iris"), model, spec=Spec("fit", kernel=kernel, budget=2, inner_folds=2))
        with pytest.raises(DataError, match="no linear model of radiusmargin"):
            onnx_of(bundle)
