"""The LFW protocol: the pairs file, folds, attributes, SIFT and its cache, and errors that say what is missing."""

import itertools

import numpy as np
import pytest
from lfw_folder import N_FOLDS, SIZE, pairs_lines, write_attributes, write_images, write_landmarks

from radiusmargin.paper.faces import (
    Face,
    LbpFeatures,
    SiftFeatures,
    detect_landmarks,
    face_table,
    find_lfw,
    images,
    lfw_tasks,
    load_attributes,
    load_landmarks,
    load_lfw,
    read_pairs,
)
from radiusmargin.paper.faces.cache import cached_array, content_key
from radiusmargin.paper.faces.landmarks import OF_68, SHAPE, similarity
from radiusmargin.paper.faces.lbp import patterns
from radiusmargin.tables import DataError, MissingDependencyError


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
    write_landmarks(folder / "landmarks.npz", lfw.file_names)
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
        load_lfw(tmp_path, tables=["attribute"])
    monkeypatch.setenv("RADIUSMARGIN_DATA", str(tmp_path))
    assert find_lfw()[1] == tmp_path / "lfw_funneled"


def test_missing_images_are_counted(tmp_path):
    pytest.importorskip("cv2", reason="SIFT needs OpenCV")
    (tmp_path / "pairs.txt").write_text("\n".join(pairs_lines()))
    (tmp_path / "lfw").mkdir()
    with pytest.raises(DataError, match=r"\d+ of \d+ images that the pairs name are missing, the first is .*0001.jpg"):
        load_lfw(tmp_path, tables=["sift"])


def test_without_opencv_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "cv2", None)
    with pytest.raises(MissingDependencyError, match=r"radiusmargin\[faces\]"):
        face_table([], SiftFeatures())


def test_without_dlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "dlib", None)
    with pytest.raises(MissingDependencyError, match=r"radiusmargin\[landmarks\]"):
        detect_landmarks([])


def test_dlib_finds_no_face_in_noise_and_says_so(home):
    pytest.importorskip("dlib", reason="needs radiusmargin[landmarks]")
    points, detected = detect_landmarks(sorted((home / "lfw_home/lfw_funneled").rglob("*.jpg"))[:2])
    assert points.shape == (2, 68, 2)
    assert not detected.any()


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
    lfw = load_lfw(home, tables=["sift"], cache=tmp_path)
    rows, pairs = lfw.tables["sift"], lfw.pairs.pairs
    assert rows.shape[1:] == (2, SiftFeatures().n_features) == (2, 9 * 3 * 128)
    np.testing.assert_allclose(np.linalg.norm(rows.reshape(-1, 128), axis=1), 1, rtol=1e-5)
    distance = np.linalg.norm(rows[pairs[:, 0], 0] - rows[pairs[:, 1], 0], axis=1)
    assert distance[lfw.pairs.y == 1].max() < distance[lfw.pairs.y == 0].min()
    assert "found in 71 of 72 images" in lfw.messages["sift"]


def a_face(home):
    return Face(images.read_grey(next((home / "lfw_home/lfw_funneled").rglob("*.jpg"))), np.array(SHAPE))


def test_power_one_is_opencvs_descriptor(home):
    cv2 = pytest.importorskip("cv2")
    face = a_face(home)
    settings = SiftFeatures(points=((125, 125),), scales=(24.0,), crop=(0, 0, 250, 250), power=1.0)
    _, wanted = cv2.SIFT_create().compute(face.image, [cv2.KeyPoint(125.0, 125.0, 4.0, 0.0, 0.0, 0)])
    np.testing.assert_allclose(settings.extract(face), (wanted / np.linalg.norm(wanted)).ravel(), rtol=1e-5)
    root = SiftFeatures(points=((125, 125),), scales=(24.0,), crop=(0, 0, 250, 250)).extract(face)
    np.testing.assert_allclose(root**2, (wanted / wanted.sum()).ravel(), atol=1e-6)


def test_descriptors_are_taken_at_the_points_of_the_face(home):
    face = a_face(home)
    moved = Face(face.image, face.points + np.array([3, 4]))
    wanted = SiftFeatures(points=tuple(map(tuple, face.points + np.array([3, 4])))).extract(face)
    np.testing.assert_array_equal(SiftFeatures().extract(moved), wanted)
    assert not np.allclose(SiftFeatures().extract(face), wanted)
    outside = Face(face.image, np.full((9, 2), 240.0))  # moved to the edge of the crop
    assert np.isfinite(SiftFeatures().extract(outside)).all()


def test_nothing_outside_the_crop_is_seen(home):
    face = a_face(home)
    image = face.image.copy()
    image[:50], image[:, :50], image[200:], image[:, 200:] = 0, 255, 0, 255
    np.testing.assert_array_equal(SiftFeatures().extract(face), SiftFeatures().extract(Face(image, face.points)))


def test_alignment_undoes_a_similarity(home):
    cv2 = pytest.importorskip("cv2")
    face = a_face(home)
    turn = np.array([[0.9, -0.3, 30.0], [0.3, 0.9, -20.0]])
    image = cv2.warpAffine(face.image, turn, (250, 250), borderMode=cv2.BORDER_REPLICATE)
    back = Face(image, face.points @ turn[:, :2].T + turn[:, 2]).aligned()
    np.testing.assert_allclose(back.points, SHAPE, atol=1e-9)
    assert np.abs(back.image.astype(float) - face.image)[90:170, 90:160].mean() < 6  # interpolated twice
    np.testing.assert_array_equal(face.aligned().image, face.image)


def test_the_similarity_is_that_of_least_squares():
    generator = np.random.default_rng(0)
    points, wanted = generator.normal(size=(9, 2)), generator.normal(size=(9, 2))
    turn = similarity(points, wanted)
    rows = np.vstack([[[x, -y, 1, 0], [y, x, 0, 1]] for x, y in points])
    a, b, u, v = np.linalg.lstsq(rows, wanted.ravel(), rcond=None)[0]
    np.testing.assert_allclose(turn, [[a, -b, u], [b, a, v]], atol=1e-12)


def test_a_mirror_image_twice_is_the_image_and_left_is_right(home):
    face = Face(a_face(home).image, np.array(SHAPE) + np.arange(18).reshape(9, 2))
    twice = face.mirrored().mirrored()
    np.testing.assert_array_equal(twice.image, face.image)
    np.testing.assert_allclose(twice.points, face.points)
    np.testing.assert_allclose(Face(face.image, np.array(SHAPE)).mirrored().points, SHAPE)  # which is symmetric
    x, y = face.points[0].astype(int)
    mirrored = face.mirrored()
    u, v = mirrored.points[3].astype(int)
    assert face.image[y, x] == mirrored.image[v, u]


def test_landmarks_are_found_by_name_and_reduced_to_nine(tmp_path):
    points = np.random.default_rng(0).integers(0, 250, (3, 68, 2))
    np.savez(tmp_path / "a.npz", files=["a.jpg", "b.jpg", "c.jpg"], points=points, detected=[True, False, True])
    nine, told = load_landmarks(tmp_path / "a.npz", ["c.jpg", "b.jpg"])
    np.testing.assert_array_equal(nine, points[[2, 1]][:, list(OF_68)])
    assert "found in 1 of 2 images" in told
    np.savez(tmp_path / "b.npz", files=["b.jpg", "c.jpg"], points=nine[::-1])
    np.testing.assert_array_equal(load_landmarks(tmp_path / "b.npz", ["c.jpg", "b.jpg"])[0], nine)
    with pytest.raises(DataError, match=r"lacks 1 of 1 images, the first is d\.jpg"):
        load_landmarks(tmp_path / "a.npz", ["d.jpg"])
    np.savez(tmp_path / "c.npz", points=points)
    with pytest.raises(DataError, match=r"holds points \(3, 68, 2\); expected files"):
        load_landmarks(tmp_path / "c.npz", [])
    with pytest.raises(DataError, match="no such file"):
        load_landmarks(tmp_path / "d.npz", [])


def test_binary_patterns_are_what_the_definition_says():
    image = np.random.default_rng(0).integers(0, 256, (30, 30)).astype(np.uint8)
    codes = patterns(image, (5, 5, 25, 25), 1.0)
    for bit, (dx, dy) in {0: (1, 0), 2: (0, -1), 4: (-1, 0), 6: (0, 1)}.items():  # those that lie on pixels
        wanted = image[5 + dy : 25 + dy, 5 + dx : 25 + dx] >= image[5:25, 5:25]
        np.testing.assert_array_equal((codes >> bit) & 1, wanted)
    corner = image[4:24, 6:26].astype(float)  # up and to the right
    r = np.sqrt(0.5)
    value = r * (r * corner + (1 - r) * image[4:24, 5:25]) + (1 - r) * (
        r * image[5:25, 6:26] + (1 - r) * image[5:25, 5:25]
    )
    clear = np.abs(value - image[5:25, 5:25]) > 0.01
    np.testing.assert_array_equal(((codes >> 1) & 1)[clear], (value >= image[5:25, 5:25])[clear])


def test_histograms_of_patterns_are_shares_of_their_cells():
    face = Face(np.random.default_rng(0).integers(0, 256, (250, 250)).astype(np.uint8), np.array(SHAPE))
    rows = LbpFeatures().extract(face).reshape(100, 59)
    np.testing.assert_allclose((rows**2).sum(axis=1), 1, rtol=1e-5)
    flat = LbpFeatures().extract(Face(np.full((250, 250), 7, np.uint8), face.points)).reshape(100, 59)
    assert (flat.max(axis=1) == 1).all()  # all neighbours are as bright: one uniform pattern
    np.testing.assert_array_equal(flat.argmax(axis=1), flat.argmax(axis=1)[0])
    with pytest.raises(ValueError, match="whole cells of 10 pixels"):
        LbpFeatures(crop=(0, 0, 15, 20))


def test_a_row_depends_on_its_image_alone(home, tmp_path):
    """So that alignment and features of training images cannot know of others."""
    files = sorted((home / "lfw_home/lfw_funneled").rglob("*.jpg"))[:4]
    points = np.array(SHAPE) + np.random.default_rng(0).normal(size=(4, 9, 2))
    for features in (SiftFeatures(), LbpFeatures()):
        whole = face_table(files, features, points, cache=tmp_path)
        np.testing.assert_array_equal(face_table(files[:1], features, points[:1], cache=tmp_path), whole[:1])
        np.testing.assert_array_equal(face_table(files[::-1], features, points[::-1], cache=tmp_path), whole[::-1])


def test_features_are_computed_once_and_anew_when_an_image_a_point_or_a_setting_changes(home, tmp_path):
    files = sorted((home / "lfw_home/lfw_funneled").rglob("*.jpg"))[:3]
    computed = []

    def progress(total):
        computed.append(total)
        return lambda path: computed.append(path)

    def table(files, features=None, points=None):
        return face_table(files, features or SiftFeatures(), points, cache=tmp_path, progress=progress)

    first = table(files)
    assert computed == [3, *files]
    np.testing.assert_array_equal(table(files), first)
    assert len(computed) == 4
    table(files, SiftFeatures(power=1.0))
    table(files[::-1])
    table(files, points=np.array(SHAPE) + 1)
    assert computed.count(3) == 4
    copies = [tmp_path / f"{i}.jpg" for i in range(3)]
    for path, copy in zip(files, copies, strict=True):
        copy.write_bytes(path.read_bytes())
    np.testing.assert_array_equal(table(copies), first)  # names do not count
    assert computed.count(3) == 4
    copies[0].write_bytes(files[1].read_bytes())
    assert not np.array_equal(table(copies), first)
    assert computed.count(3) == 5


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


def test_recipes_put_tables_side_by_side(home, tmp_path):
    tasks = lfw_tasks(["combined", "mirrored-metric"], home, cache=tmp_path)
    plain, mirrored = tasks["lfw/combined"], tasks["lfw/mirrored-metric"]
    assert plain.table.shape == (72, 1, 3456 + 5)
    assert mirrored.table.shape == (72, 2, 3456 + 5900 + 5)
    np.testing.assert_array_equal(mirrored.table[:, 0, :3456], plain.table[:, 0, :3456])
    np.testing.assert_array_equal(mirrored.table[:, 0, -5:], mirrored.table[:, 1, -5:])  # attributes know no mirror
    assert np.isnan(plain.table).any(axis=(1, 2)).sum() == 1
    assert plain.features.blocks == (3456, 5)
    assert plain.fingerprint != mirrored.fingerprint


def test_view_1_trains_on_one_file_and_tests_on_the_other(home, tmp_path):
    folder = tmp_path / "lfw_home"
    folder.mkdir()
    for name, size in (("pairsDevTrain.txt", 6), ("pairsDevTest.txt", 3)):
        (folder / name).write_text("\n".join(pairs_lines(1, size)).replace("1\t", "", 1))
    (folder / "pairs.txt").write_text("\n".join(pairs_lines()))
    (folder / "lfw").mkdir()
    write_attributes(folder / "attributes.txt", read_pairs(folder / "pairs.txt").images)
    task = lfw_tasks(["attribute"], tmp_path, view=1)["view1/attribute"]
    assert np.bincount(task.folds).tolist() == [4, 4, 4, 6]
    ((train, test),) = task.splits
    assert (len(train), len(test)) == (12, 6)
    assert [task.y[task.folds == fold].sum() for fold in range(4)] == [2, 2, 2, 3]


def test_table6_and_figure3_run_on_a_folder_of_lfw(home, tmp_path, monkeypatch):
    for name in ("click", "rich", "matplotlib"):
        pytest.importorskip(name, reason="the command line needs radiusmargin[experiments]")
    from radiusmargin.app.cli import main

    monkeypatch.setenv("RADIUSMARGIN_DATA", str(home))
    monkeypatch.setenv("RADIUSMARGIN_CACHE", str(tmp_path / "cache"))
    options = ["--quick", "--models", "svm", "--jobs", "1", "--out", str(tmp_path)]
    assert main(["reproduce", "table6", *options]) == 0
    text = (tmp_path / "table6.md").read_text()
    assert "(80.12;" in text
    assert "nine points from landmarks.npz" in text
    assert main(["reproduce", "figure3", *options]) == 0
    assert (tmp_path / "figure3.png").stat().st_size > 1000
    assert "| same person, surest | Person_" in (tmp_path / "figure3.md").read_text()


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
        images.read_grey(tmp_path / "a.jpg")
    (tmp_path / "b.jpg").write_bytes(b"no image")
    with pytest.raises(DataError, match=r"b\.jpg is not an image"):
        images.read_grey(tmp_path / "b.jpg")
    (tmp_path / "c.jpg").write_bytes(cv2.imencode(".jpg", np.zeros((10, 20), np.uint8))[1].tobytes())
    with pytest.raises(DataError, match=r"c\.jpg has 20 x 10 pixels"):
        images.read_grey(tmp_path / "c.jpg")
