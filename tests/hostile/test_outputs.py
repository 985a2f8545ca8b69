"""Where output goes: pipes, devices, links, modes, full disks, names that do not fit, terminals that obey."""

import contextlib
import errno
import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from radiusmargin._writing import OutputError, check_folder, check_output, open_output, write_file
from radiusmargin.app.cli import main

pytest.importorskip("pandas")
pytest.importorskip("skops")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="modes, links, pipes and devices are those of POSIX")

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="devices and /proc are those of Linux")
FAST = ("--models", "svm", "--folds", "2", "--inner-folds", "2", "--configurations", "1")


@contextlib.contextmanager
def umask(mask):
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


def write_table(path, names=("a", "b"), labels=("no", "yes")):
    X = np.random.default_rng(0).normal(size=(40, 2))
    rows = [f"{a:.4f},{b:.4f},{labels[int(a + b > 0)]}" for a, b in X]
    path.write_text("\n".join([",".join((*names, "target")), *rows, ""]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    folder = tmp_path_factory.mktemp("model")
    table = write_table(folder / "t.csv")
    assert main(["fit", str(table), "-o", str(folder / "m.skops"), "--model", "svm", "--inner-folds", "2"]) == 0
    return folder / "m.skops", table


#: Numbers of Linux' devices.
DEVICES = {"null": 3, "full": 7}


@pytest.fixture
def device(tmp_path):
    """A function from the name of a device to its path: root, who could replace the system's own, gets a copy."""

    def make(name):
        if os.geteuid():
            return Path("/dev", name)
        os.mknod(tmp_path / name, 0o666 | stat.S_IFCHR, os.makedev(1, DEVICES[name]))
        return tmp_path / name

    return make


def predict(model, output):
    return main(["predict", *map(str, model), "-o", str(output)])


@pytest.mark.parametrize("mask", [0o077, 0o027, 0o002])
def test_a_new_file_has_the_mode_that_the_umask_gives(tmp_path, model, mask):
    with umask(mask):
        assert predict(model, tmp_path / "new.csv") == 0
    assert mode(tmp_path / "new.csv") == 0o666 & ~mask


@pytest.mark.parametrize("before", [0o600, 0o640, 0o664])
def test_an_existing_file_keeps_its_mode(tmp_path, before):
    path = write_file(tmp_path / "old", "old")
    path.chmod(before)
    with umask(0o022):
        write_file(path, "new")
    assert (path.read_text(), mode(path)) == ("new", before)


def test_links_are_followed(tmp_path, model):
    (tmp_path / "folder").mkdir()
    link, dangling = tmp_path / "link.csv", tmp_path / "dangling.csv"
    write_file(tmp_path / "folder" / "there.csv", "old")
    link.symlink_to("folder/there.csv")
    dangling.symlink_to("folder/new.csv")
    for path in (link, dangling):
        assert predict(model, path) == 0
        assert path.is_symlink()
        assert path.read_text().startswith("label,")
    os.link(tmp_path / "folder" / "there.csv", tmp_path / "twin.csv")
    assert predict(model, tmp_path / "twin.csv") == 0
    assert (tmp_path / "twin.csv").samefile(tmp_path / "folder" / "there.csv")
    assert sorted(os.listdir(tmp_path / "folder")) == ["new.csv", "there.csv"]


def test_a_pipe_is_written_to_and_stays(tmp_path, model):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()), daemon=True)
    reader.start()
    assert predict(model, pipe) == 0
    reader.join(10)
    assert read[0].startswith("label,")
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)


@LINUX
def test_a_device_is_written_to_and_stays(tmp_path, model, device):
    link, null = tmp_path / "link", device("null")
    link.symlink_to(null)
    assert predict(model, link) == predict(model, null) == 0
    assert link.is_symlink()
    assert stat.S_ISCHR(os.stat(null).st_mode)


@LINUX
@pytest.mark.parametrize(
    "call",
    [
        ["predict", "{model}", "{table}", "-o", "{full}"],
        ["fit", "{table}", "-o", "{full}", "--model", "svm", "--inner-folds", "2"],
        ["compare", "{table}", *FAST, "--jobs", "1", "--report", "{full}"],
        ["compare", "{table}", *FAST, "--jobs", "1", "--report", "", "--save", "{full}"],
    ],
)
def test_a_full_disk_is_told_with_the_name_of_the_file(model, device, capsys, call):
    full = device("full")
    assert main([part.format(model=model[0], table=model[1], full=full) for part in call]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"error: {full} cannot be written: No space left")


def test_a_disk_that_fills_up_leaves_the_old_file_and_nothing_else(tmp_path):
    path = write_file(tmp_path / "old", "old")

    def fill():
        with open_output(path) as stream:
            stream.write(b"half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OutputError, match="old cannot be written: No space left"):
        fill()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["old"]


def test_a_name_as_long_as_the_system_takes_is_written(tmp_path, model):
    path = tmp_path / ("n" * 255)
    assert predict(model, path) == 0
    assert path.is_file()


UNWRITABLE = {
    "long": ("n" * 256, "File name too long"),
    "folder": ("folder", "it is a folder; name a file"),
    "nowhere": ("no/such/file", "there is no folder"),
    "below a file": ("file/below", "Not a directory"),
    "loop": ("loop", "Too many levels of symbolic links"),
}


@pytest.mark.parametrize("kind", UNWRITABLE)
@pytest.mark.parametrize(
    "call",
    [
        ["fit", "missing.csv", "-o"],
        ["fit", "missing.csv", "-o", "fine.skops", "--report"],
        ["predict", "missing.skops", "missing.csv", "-o"],
        ["export", "missing.skops", "--onnx"],
        *(["compare", "missing.csv", option] for option in ("--report", "--save", "--json", "--csv", "--store")),
    ],
    ids=lambda call: "-".join((call[0], call[-1].strip("-"))),
)
def test_a_target_that_cannot_be_written_is_told_before_the_work(tmp_path, monkeypatch, capsys, kind, call):
    """The inputs do not exist, so that their absence would be told if they had been read first."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").touch()
    Path("loop").symlink_to("loop")
    name, message = UNWRITABLE[kind]
    assert main([*call, name]) == 1
    error = capsys.readouterr().err
    assert error.startswith(f"error: {name} cannot be written: {message}"), error
    assert sorted(os.listdir()) == ["file", "folder", "loop"]


@pytest.mark.parametrize("name", ["n" * 256, "new/" + "n" * 256, "file/below"])
def test_a_folder_that_cannot_be_made_is_told_before_the_work(tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be written"):
        check_folder(tmp_path / name)
    check_folder(tmp_path / "new" / "folder")
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path):
    path = write_file(tmp_path / "old", "old")
    path.chmod(0o400)
    with pytest.raises(OutputError, match="Permission denied"):
        check_output(path)


def test_a_store_is_no_pipe(tmp_path, model, capsys):
    os.mkfifo(tmp_path / "pipe")
    assert main(["compare", str(model[1]), "--store", str(tmp_path / "pipe")]) == 1
    assert "a store is read again, which takes a regular file" in capsys.readouterr().err


ESCAPES = "\x1b[31mred\x1b[0m", "\x1b]0;title\x07b\x9b1m\x7f"


def test_names_in_a_file_do_not_steer_the_terminal(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    table = write_table(Path("t\x1b[2J.csv"), ESCAPES, ("\x1b[1mno", "yes"))
    assert main(["fit", str(table), "-o", "m.skops", "--model", "svm", "--inner-folds", "2"]) == 0
    assert main(["compare", str(table), *FAST, "--jobs", "1", "--drop", ESCAPES[1]]) == 0
    assert main(["describe", "m.skops"]) == 0
    assert main(["describe", "m.skops", "--json"]) == 0
    assert main(["fit", str(table), "-o", "m.skops", "--target", "none"]) == 2
    shown = "".join(capsys.readouterr())
    assert not set(shown) & {chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))}
    assert "red (number), ]0;titleb1m (number)" in shown
    assert "there is no column 'none'" in shown


def children(pid):
    """The processes below one, by /proc."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            number, _, rest = path.read_text().partition(" (")
            if int(rest.rpartition(")")[2].split()[1]) == pid:
                found += [int(number), *children(int(number))]
    return found


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@LINUX
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_workers_end_with_the_command(tmp_path, how):
    table, workers = write_table(tmp_path / "t.csv"), []
    call = [sys.executable, "-m", "radiusmargin", "compare", str(table), "--jobs", "2", "--store", "cells.jsonl"]
    process = subprocess.Popen(
        [*call, "--models", "svm,fsvm", "--runs", "2000", "--budget", "600"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait(lambda: (tmp_path / "cells.jsonl").exists() or process.poll() is not None, 100)
        workers += children(process.pid)
        assert len(workers) >= 2
        process.send_signal(how)
        assert process.wait(20) == (128 + how if how == signal.SIGTERM else -how)
        wait(lambda: not any(map(is_running, workers)), 20)
    finally:
        process.kill()
        for pid in filter(is_running, workers):
            os.kill(pid, signal.SIGKILL)


def wait(condition, seconds):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.1)
