"""The registry's table: complete, consistent, and cheap to import."""

import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import FrozenInstanceError

import pytest

from radiusmargin.paper.data import get_dataset, list_datasets
from radiusmargin.paper.data.readers import BUILTIN, SKLEARN, builtin_task
from radiusmargin.paper.data.registry import GROUPS
from radiusmargin.tables import DataError


def test_every_group_is_complete():
    names = [dataset.name for dataset in list_datasets()]
    assert len(names) == len(set(names))
    sizes = Counter(dataset.group for dataset in list_datasets())
    assert sizes == {"builtin": 6, "sklearn": 4, "ida": 13, "uci": 11, "uci_zscored": 59, "large": 3}
    assert set(sizes) == set(GROUPS)


def test_both_hearts_are_kept_apart():
    assert get_dataset("ida/heart").sha256 != get_dataset("uci/heart").sha256


@pytest.mark.parametrize("dataset", list_datasets(), ids=lambda dataset: dataset.name)
def test_an_entry_is_consistent(dataset):
    assert dataset.n_samples > dataset.n_classes >= 2
    assert dataset.n_features >= 2
    assert dataset.source
    assert dataset.licence
    assert bool(dataset.files) == (dataset.group not in ("builtin", "sklearn"))
    for file in dataset.files:
        assert file.path.startswith(dataset.group + "/")
        assert re.fullmatch("[0-9a-f]{64}", file.sha256)
    with pytest.raises(FrozenInstanceError):
        dataset.name = "other"


def test_built_in_tasks_are_as_described():
    described = [dataset for dataset in list_datasets() if not dataset.files]
    assert {dataset.name for dataset in described} == {
        *(f"builtin/{key}" for key in BUILTIN),
        *(f"sklearn/{key}" for key in SKLEARN),
    }
    for dataset in described:
        task = builtin_task(dataset.name)
        assert (task.n_samples, task.n_features, task.n_classes) == (
            dataset.n_samples,
            dataset.n_features,
            dataset.n_classes,
        )
        assert len(task.feature_names) == task.n_features


def test_a_source_of_its_own_wins_over_the_groups():
    assert "MNIST" in get_dataset("large/mnist").source
    assert get_dataset("ida/heart").source == get_dataset("ida/banana").source


def test_groups_can_be_listed():
    assert {dataset.name for dataset in list_datasets("large")} == {"large/a9a", "large/w8a", "large/mnist"}
    with pytest.raises(DataError, match="no group 'idaa'; the groups are builtin, sklearn"):
        list_datasets("idaa")


@pytest.mark.parametrize(
    ("name", "hint"),
    [("heart", "ida/heart or uci/heart"), ("ida/hart", "ida/heart"), ("?!", "list_datasets")],
)
def test_an_unknown_name_gets_a_hint(name, hint):
    with pytest.raises(DataError, match=hint):
        get_dataset(name)


def test_import_and_built_in_data_need_no_pandas():
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "from radiusmargin.paper.data import load\n"
        "print(load('builtin/twonorm').n_samples, load('sklearn/iris').n_samples)"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert ran.stdout.split() == ["500", "150"], ran.stderr
