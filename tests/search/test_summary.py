"""The text that describes a fitted search."""

import pytest
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from radiusmargin import FSVMCV, AutoSVM


@pytest.mark.parametrize(
    "search",
    [
        AutoSVM(),
        AutoSVM(combine="best"),
        FSVMCV(Cs=3),
        FSVMCV(Cs=3, kernel="rbf", combine="best"),
        FSVMCV(Cs=3, kernel=["linear", "rbf"], scoring="neg_log_loss"),
    ],
)
def test_kernels_weights_and_scores_are_told(search):
    model = search.fit(*load_iris(return_X_y=True))
    text = model.summary()
    head, table = text.splitlines()[0], text.split("\n\n")[1].splitlines()[1:]
    assert head.startswith(type(model).__name__)
    assert "4 columns, 3 classes" in head
    assert f"{model.oof_score_:.4g}" in text
    assert f"{model.dual_gap_:.1e}" in text
    told = {line.split()[0]: float(line.split()[1]) for line in table}
    weights = {}
    for member in model.members_:
        kernel = member.get("kernel", model.kernel)
        weights[kernel] = weights.get(kernel, 0) + member["weight"]
    assert told == pytest.approx(weights, abs=0.006)
    assert list(told.values()) == sorted(told.values(), reverse=True)
    assert repr(text) == str(text)


def test_before_a_fit_there_is_none():
    with pytest.raises(NotFittedError):
        AutoSVM().summary()
