"""The LFW protocol: the pairs file, folds, attributes, SIFT and its cache, and errors that say what is missing."""

import itertools

import numpy as np
import pytest
from lfw_folder import N_FOLDS, SIZE, pairs_lines, write_attributes, write_images

from radiusmargin.datasets import DataError, MissingDependencyError
from radiusmargin.pairs import SiftFeatures, find_lfw, load_attributes, load_lfw, read_pairs, sift, sift_table
from radiusmargin.pairs.cache import cached_array, content_key


@pytest.fixture
def pairs_file(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("\n".join(pairs_lines()) + "\n")
    return path


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """A data folder with a whole small LFW."""
    pytest.importorskip("cv2", reason="SIFT needs OpenCV: pip install 'radiusmargin[faces]'")
    home = tmp_path_factory.mktemp("data")
    folder = home / "lfw_home"
    folder.mkdir()
    (folder / "pairs.txt").write_text("\n".join(pairs_lines()) + "\n")
    lfw = read_pairs(folder / "pairs.txt")
    write_images(folder / "lfw_funneled", lfw.images)
    write_attributes(folder / "lfw_attributes.txt", lfw.images, skip=lfw.images[:1])
    return home


def test_pairs_and_folds_are_those_of_the_file(pairs_file):
    lfw = read_pairs(pairs_file)
    assert len(lfw.y) == 2 * N_FOLDS * SIZE
    for line, pair, y, fold, number in zip(
        pairs_lines()[1:], lfw.pairs, lfw.y, lfw.folds, itertools.count(), strict=False
    ):
        fields = line.split("\t")
        a, b = (lfw.images[i] for i in pair)
        wanted = (fields[0], int(fields[1])), (fields[0] if y else fields[2], int(fields[-1]))
        assert (a, b) == wanted
        assert y == (len(fields) == 3)
        assert fold == number // (2 * SIZE)
    assert lfw.file_names[0] == "Person_0a/Person_0a_0001.jpg"


def test_no_image_is_in_two_folds(pairs_file):
    lfw = read_pairs(pairs_file)
    seen = [set(lfw.pairs[lfw.folds == fold].ravel()) for fold in range(N_FOLDS)]
    assert not any(a & b for a, b in itertools.combinations(seen, 2))


def test_the_official_size_is_read(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("\n".join(pairs_lines(10, 300)))
    lfw = read_pairs(path)
    assert np.bincount(lfw.folds).tolist() == [600] * 10
    assert [lfw.y[lfw.folds == fold].sum() for fold in range(10)] == [300] * 10


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda lines: lines[:-1], "announces 4 folds of 6 \\+ 6 pairs, 48 lines, and has 47; is it whole"),
        (lambda lines: ["hello", *lines[1:]], "line 1: expected the numbers of folds and of pairs"),
        (lambda lines: [lines[0], "A\t1\tB\t2", *lines[2:]], "line 2: expected 'name i j', a pair of one person"),
        (lambda lines: [*lines[:-1], "A\tone\tB\t2"], "line 49: expected 'name i name j'"),
        (lambda lines: [], "line 1"),
    ],
)
def test_a_broken_pairs_file_is_told_by_line(pairs_file, change, message):
    pairs_file.write_text("\n".join(change(pairs_lines())))
    with pytest.raises(DataError, match=message):
        read_pairs(pairs_file)


def test_missing_data_are_told_with_what_to_do(tmp_path, monkeypatch):
    monkeypatch.delenv("RADIUSMARGIN_DATA", raising=False)
    with pytest.raises(DataError, match=r"RADIUSMARGIN_DATA is not set(.|\n)*lfw_home/pairs.txt"):
        find_lfw()
    with pytest.raises(DataError, match=r"lfw_home/pairs\.txt: no such file"):
        find_lfw(tmp_path)
    (tmp_path / "pairs.txt").write_text("\n".join(pairs_lines()))
    with pytest.raises(DataError, match="lfw_funneled: no such folder"):
        find_lfw(tmp_path)
    (tmp_path / "lfw_funneled").mkdir()
    with pytest.raises(DataError, match=r"attributes of LFW were not found(.|\n)*lfw_attributes.txt(.|\n)*imagenum"):
        load_lfw(tmp_path, kinds=["attribute"])
    monkeypatch.setenv("RADIUSMARGIN_DATA", str(tmp_path))
    assert find_lfw()[1] == tmp_path / "lfw_funneled"


def test_missing_images_are_counted(tmp_path):
    pytest.importorskip("cv2", reason="SIFT needs OpenCV")
    (tmp_path / "pairs.txt").write_text("\n".join(pairs_lines()))
    (tmp_path / "lfw").mkdir()
    with pytest.raises(DataError, match=r"\d+ of \d+ images that pairs.txt names are missing, the first is .*0001.jpg"):
        load_lfw(tmp_path, kinds=["sift"])


def test_without_opencv_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cv2", None)
    with pytest.raises(MissingDependencyError, match=r"radiusmargin\[faces\]"):
        sift_table([])


def test_attributes_in_every_format_are_the_same(pairs_file, tmp_path):
    lfw = read_pairs(pairs_file)
    write_attributes(tmp_path / "lfw_attributes.txt", lfw.images)
    table, told = load_attributes(tmp_path, lfw)
    assert table.shape == (len(lfw.images), 5)
    assert "48 of 48 pairs" in told
    persons, numbers = zip(*reversed(lfw.images), strict=True)
    np.savez(tmp_path / "a.npz", attributes=table[::-1], person=persons, imagenum=numbers)
    np.savez(tmp_path / "b.npz", attributes=table[lfw.pairs])
    order = np.random.default_rng(0).permutation(48)
    np.savez(tmp_path / "c.npz", attributes=table[lfw.pairs[order]], index=order)
    for name in ("a.npz", "b.npz", "c.npz"):
        np.testing.assert_array_equal(load_attributes(tmp_path / name, lfw)[0], table)


def test_pairs_without_attributes_are_told_and_missing(pairs_file, tmp_path):
    lfw = read_pairs(pairs_file)
    write_attributes(tmp_path / "attributes.txt", lfw.images, skip=lfw.images[:1])
    table, told = load_attributes(tmp_path, lfw)
    assert np.isnan(table[0]).all()
    assert not np.isnan(table[1:]).any()
    touched = (lfw.pairs == 0).any(axis=1).sum()
    assert f"{48 - touched} of 48 pairs" in told


def test_attributes_that_make_no_sense_are_refused(pairs_file, tmp_path):
    lfw = read_pairs(pairs_file)
    values = np.random.default_rng(0).normal(size=(48, 2, 5))
    np.savez(tmp_path / "a.npz", attributes=values)
    with pytest.raises(DataError, match="one image different attributes in different pairs"):
        load_attributes(tmp_path / "a.npz", lfw)
    np.savez(tmp_path / "a.npz", attributes=values[:40])
    with pytest.raises(DataError, match=r"holds attributes \(40, 2, 5\); expected"):
        load_attributes(tmp_path / "a.npz", lfw)
    (tmp_path / "t.txt").write_text("name,number\n")
    with pytest.raises(DataError, match="no line with 'person' and 'imagenum'"):
        load_attributes(tmp_path / "t.txt", lfw)
    (tmp_path / "t.txt").write_text("#\tperson\timagenum\tMale\nA\t1\n")
    with pytest.raises(DataError, match="the row of 'A' does not fit the head's 3"):
        load_attributes(tmp_path / "t.txt", lfw)


def test_sift_tells_people_apart_and_is_normalised(home, tmp_path):
    task = load_lfw(home, kinds=["sift", "combined"], cache=tmp_path)
    rows = task.tables["sift"]
    assert rows.shape[1] == SiftFeatures().n_features == 9 * 3 * 128
    np.testing.assert_allclose(np.linalg.norm(rows.reshape(-1, 128), axis=1), 1, rtol=1e-5)
    distance = np.linalg.norm(rows[task.pairs[:, 0]] - rows[task.pairs[:, 1]], axis=1)
    assert distance[task.y == 1].max() < distance[task.y == 0].min()
    assert task.blocks["combined"] == (rows.shape[1], 5)
    assert np.isnan(task.tables["combined"]).any(axis=1).sum() == 1


def test_power_one_is_opencvs_descriptor(home):
    cv2 = pytest.importorskip("cv2")
    image = sift.read_grey(next((home / "lfw_home/lfw_funneled").rglob("*.jpg")))
    settings = SiftFeatures(points=((125, 125),), scales=(24.0,), crop=(0, 0, 250, 250), power=1.0)
    _, wanted = cv2.SIFT_create().compute(image, [cv2.KeyPoint(125.0, 125.0, 4.0, 0.0, 0.0, 0)])
    np.testing.assert_allclose(settings.extract(image), (wanted / np.linalg.norm(wanted)).ravel(), rtol=1e-5)
    root = SiftFeatures(points=((125, 125),), scales=(24.0,), crop=(0, 0, 250, 250)).extract(image)
    np.testing.assert_allclose(root**2, (wanted / wanted.sum()).ravel(), atol=1e-6)


def test_nothing_outside_the_crop_is_seen(home):
    image = sift.read_grey(next((home / "lfw_home/lfw_funneled").rglob("*.jpg")))
    other = image.copy()
    other[:50], other[:, :50], other[200:], other[:, 200:] = 0, 255, 0, 255
    np.testing.assert_array_equal(SiftFeatures().extract(image), SiftFeatures().extract(other))


def test_features_are_computed_once_and_anew_when_an_image_or_a_setting_changes(home, tmp_path):
    files = sorted((home / "lfw_home/lfw_funneled").rglob("*.jpg"))[:3]
    computed = []

    def progress(total):
        computed.append(total)
        return lambda path: computed.append(path)

    first = sift_table(files, cache=tmp_path, progress=progress)
    assert computed == [3, *files]
    np.testing.assert_array_equal(sift_table(files, cache=tmp_path, progress=progress), first)
    assert len(computed) == 4
    sift_table(files, SiftFeatures(power=1.0), cache=tmp_path, progress=progress)
    sift_table(files[::-1], cache=tmp_path, progress=progress)
    assert computed.count(3) == 3
    copies = [tmp_path / f"{i}.jpg" for i in range(3)]
    for path, copy in zip(files, copies, strict=True):
        copy.write_bytes(path.read_bytes())
    np.testing.assert_array_equal(sift_table(copies, cache=tmp_path, progress=progress), first)  # names do not count
    assert computed.count(3) == 3
    copies[0].write_bytes(files[1].read_bytes())
    assert not np.array_equal(sift_table(copies, cache=tmp_path, progress=progress), first)
    assert computed.count(3) == 4


def test_a_cache_file_is_whole_or_not_there(tmp_path):
    key = content_key({"a": 1})

    def fail():
        raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        cached_array("x", key, fail, tmp_path)
    assert not list(tmp_path.iterdir())
    cached_array("x", key, lambda: np.arange(3), tmp_path)
    (file,) = tmp_path.iterdir()
    np.testing.assert_array_equal(cached_array("x", key, fail, tmp_path), np.arange(3))
    file.write_bytes(file.read_bytes()[:-8])
    with pytest.warns(UserWarning, match="cannot be read"):
        np.testing.assert_array_equal(cached_array("x", key, lambda: np.arange(3), tmp_path), np.arange(3))
    np.testing.assert_array_equal(np.load(file), np.arange(3))


def test_table6_runs_on_a_folder_of_lfw(home, tmp_path):
    pytest.importorskip("matplotlib", reason="figures need Matplotlib")
    from radiusmargin.experiments import faces
    from radiusmargin.experiments.face_tables import face_table

    task = faces.load_faces(home, cache=tmp_path)
    sizes = {"attribute": (5,), "combined": (4, 8)}  # fewer than the 36 training images
    spec = faces.FACES["table6"].with_options(models=("svm", "fsvm"), dimensions=sizes, budget=4)
    table = face_table(faces.run_faces(spec, task, jobs=1))
    assert [row[0].text for row in table.rows[:2]] == ["SVM-attribute", "F-SVM-attribute"]
    assert [row[2].text for row in table.rows[:4]] == ["80.12", "82.58", "81.90", "83.25"]
    assert all(row["accuracy"] > 60 for row in table.data if not row["quoted"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"points": ((10, 10),)}, "1 points lie outside the crop"),
        ({"points": "eyes"}, "points must be 'landmarks', 'grid'"),
        ({"crop": (0, 0, 300, 300)}, "crop must be"),
        ({"power": 0.0}, "power must be in"),
        ({"scales": ()}, "scales must hold"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        SiftFeatures(**settings)


def test_bad_images_are_named(tmp_path):
    cv2 = pytest.importorskip("cv2", reason="SIFT needs OpenCV")
    with pytest.raises(DataError, match=r"a\.jpg: No such file"):
        sift.read_grey(tmp_path / "a.jpg")
    (tmp_path / "b.jpg").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"b\.jpg is not an image"):
        sift.read_grey(tmp_path / "b.jpg")
    (tmp_path / "c.jpg").write_bytes(cv2.imencode(".jpg", np.zeros((10, 20), np.uint8))[1].tobytes())
    with pytest.raises(DataError, match=r"c\.jpg has 20 x 10 pixels"):
        sift.read_grey(tmp_path / "c.jpg")
