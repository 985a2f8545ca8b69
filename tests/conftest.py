"""What tests of several folders need."""

import os

import pytest


@pytest.fixture(scope="session")
def data_home():
    """The folder of the real data, which are other people's and not part of the repository."""
    home = os.environ.get("RADIUSMARGIN_DATA")
    if not home:
        pytest.skip(
            "needs real data, which are other people's and not in the repository: set RADIUSMARGIN_DATA to their folder"
        )
    return home


class Recorder:
    """A callback of scikit-learn that writes down what it is told."""

    def __init__(self):
        self.told = []

    def setup(self, estimator, context):
        self.told.append("setup")

    def on_fit_task_begin(self, estimator, context, **kwargs):
        self.told.append("begin " + context.task_name)

    def on_fit_task_end(self, estimator, context, **kwargs):
        self.told.append("end " + context.task_name)

    def teardown(self, estimator, context):
        self.told.append("teardown")


@pytest.fixture
def recorder():
    callback = pytest.importorskip("sklearn.callback", reason="scikit-learn before 1.9 has no callbacks")
    assert isinstance(Recorder(), callback.FitCallback)
    return Recorder()
