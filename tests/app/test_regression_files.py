"""Model files of quantities."""

import numpy as np
import pandas as pd
import pytest

from radiusmargin import AutoSVR
from radiusmargin.app.container import read_container
from radiusmargin.app.rebuild import rebuild_pipeline, require_known
from radiusmargin.tables import DataError

skops = pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=60), "hue": rng.choice(["red", "blue"], 60)})
    y = np.exp(frame["size"].to_numpy() + 0.2 * rng.normal(size=60))
    return AutoSVR(kernel=["linear", "laplacian-ranks"]).fit(frame, y), frame


def read(model, path):
    from sklearn.pipeline import Pipeline

    skops.dump(Pipeline([("model", model)]), path)
    with path.open("rb") as stream:
        document = read_container(stream)
    require_known(document)
    return rebuild_pipeline(document, 2)


def test_a_model_of_a_quantity_comes_back(fitted, tmp_path):
    model, frame = fitted
    again = read(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(again[-1].prediction_interval(frame), model.prediction_interval(frame))


@pytest.mark.parametrize("name", ["mean", "residuals", "unit"])
def test_what_is_not_finite_is_refused(fitted, tmp_path, name):
    from copy import deepcopy
    from dataclasses import replace

    model = deepcopy(fitted[0])
    (target,) = model._targets
    broken = getattr(target, name) * np.nan
    model._targets = (replace(target, **{name: broken}),)
    with pytest.raises(DataError, match="finite"):
        read(model, tmp_path / "m.skops")
