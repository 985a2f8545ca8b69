"""The registry against the real files; needs RADIUSMARGIN_DATA and is skipped without."""

import numpy as np
import pytest

from radiusmargin.paper.data import available, list_datasets, load


def test_everything_is_found_unchanged(data_home):
    assert {row.dataset.name: row.status for row in available(data_home) if row.dataset.files} == {
        dataset.name: "found" for dataset in list_datasets() if dataset.files
    }


@pytest.mark.parametrize("name", [dataset.name for dataset in list_datasets() if dataset.files])
def test_a_set_loads_as_described(data_home, name):
    task = load(name, data_home=data_home)
    dataset = next(dataset for dataset in list_datasets() if dataset.name == name)
    assert task.X.shape == (dataset.n_samples, dataset.n_features) == (len(task.y), len(task.feature_names))
    assert task.n_classes == dataset.n_classes
    assert task.y.dtype.kind in "iU"
    for train, test in task.splits or ():
        assert len(np.intersect1d(train, test)) == 0
        assert len(train) + len(test) == dataset.n_samples
        assert len(np.unique(task.y[train])) == dataset.n_classes


@pytest.mark.parametrize("dataset", list_datasets("ida"), ids=lambda dataset: dataset.name)
def test_ida_labels_are_signs_and_splits_are_known(data_home, dataset):
    task = load(dataset.name, data_home=data_home)
    assert np.unique(task.y).tolist() == [-1, 1]
    assert len(task.splits) in (1, 9, 10)


def test_the_two_files_of_a9a_share_their_columns(data_home):
    # shifted by one column, the frequencies of the binary features would differ by up to 0.9
    task = load("large/a9a", data_home=data_home)
    train, test = (np.asarray(task.X[part].mean(axis=0)).ravel() for part in task.splits[0])
    np.testing.assert_allclose(train, test, atol=0.02)


def test_the_generators_label_as_the_published_samples_do(data_home):
    uci = load("uci/waveform", data_home=data_home)
    ida = load("ida/waveform", data_home=data_home)
    np.testing.assert_array_equal(np.unique(ida.y, return_counts=True)[1], [3353, 1647])
    builtin = load("builtin/waveform")
    for label in range(3):
        np.testing.assert_allclose(
            uci.X[uci.y == label + 1].mean(axis=0), builtin.X[builtin.y == label].mean(axis=0), atol=0.5
        )


def test_flare_solar_of_ida_is_labelled_by_the_spot_distribution(data_home):
    # so that no one takes it for a forecast of flares, nor compares it with uci/solar_flare
    ida = load("ida/flare-solar", data_home=data_home)
    uci = load("uci/solar_flare", data_home=data_home)
    spot_o = uci.X[:, uci.feature_names.index("spot_distribution=O")]
    assert np.sum(ida.y == -1) == spot_o.sum() == 477
    assert len(np.unique(np.column_stack([ida.X, ida.y]), axis=0)) == 144
