"""The store: appending, torn lines, several writers; and a run that is killed and taken up again."""

import json
import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

import pytest
from stubs import toy_plan

from radiusmargin.paper import Store, cells, execute
from radiusmargin.paper import store as run
from radiusmargin.paper import store as store_module
from radiusmargin.paper.store import Claims

HERE = str(Path(__file__).parent)


def record(key, status="ok", **more):
    result = {"accuracy": 0.5} if status == "ok" else {"error": "no luck"}
    whole = {"key": key, "status": status, "cell": {}, "seconds": 0.1, "warnings": [], "provenance": {}}
    return {**whole, **result, **more}


def test_records_come_back_and_new_ones_are_read_on(tmp_path):
    path = tmp_path / "deep" / "cells.jsonl"
    reader, writer = Store(path), Store(path)
    assert reader.records() == {}
    writer.append(record("a", accuracy=0.5, text="ü\n"))
    assert reader.records()["a"]["text"] == "ü\n"
    writer.append(record("b"))
    assert set(reader.records()) == {"a", "b"}


def test_a_success_outlives_a_failure_and_a_failure_is_replaced(tmp_path):
    store = Store(tmp_path / "cells.jsonl")
    for entry in (
        record("a", "error"),
        record("a"),
        record("a", "error"),
        record("b", "error", n=1),
        record("b", "error", n=2),
    ):
        store.append(entry)
    assert store.records()["a"]["status"] == "ok"
    assert store.records()["b"]["n"] == 2


GARBLED = {
    "torn": b'{"key": "b", "sta',
    "bytes": b"\xff\xfe",
    "a list": b"[1]\n",
    "another file's": b'{"no": "key"}\n',
    "deeply nested": b"[" * 100_000 + b"\n",
    "key a list": json.dumps(record(["b"])).encode(),
    "no cell": json.dumps({k: v for k, v in record("b").items() if k != "cell"}).encode(),
    "no accuracy": json.dumps({k: v for k, v in record("b").items() if k != "accuracy"}).encode(),
    "accuracy a string": json.dumps(record("b", accuracy="0.5")).encode(),
    "status a dict": json.dumps(record("b", status="ok") | {"status": {}}).encode(),
}


@pytest.mark.parametrize("garbled", GARBLED.values(), ids=GARBLED)
def test_a_torn_or_foreign_line_is_read_past_with_a_word_and_closed(tmp_path, garbled):
    store = Store(tmp_path / "cells.jsonl")
    store.append(record("a"))
    with open(store.path, "ab") as stream:
        stream.write(garbled)
    assert set(Store(store.path).records()) == {"a"}
    store.append(record("c"))
    again = Store(store.path)
    assert set(again.records()) == {"a", "c"}
    assert "1 line is torn or no record of ours" in again.note


def test_blank_lines_need_no_word(tmp_path):
    (tmp_path / "cells.jsonl").write_bytes(b"\n\n")
    store = Store(tmp_path / "cells.jsonl")
    assert (store.records(), store.note) == ({}, "")


def test_a_line_that_is_being_written_is_read_when_it_is_whole(tmp_path):
    store = Store(tmp_path / "cells.jsonl")
    line = json.dumps(record("a")).encode()
    store.path.write_bytes(line[:9])
    assert store.records() == {}
    with open(store.path, "ab") as stream:
        stream.write(line[9:] + b"\n")
    assert set(store.records()) == {"a"}


def _write_many(path, name, n):
    store = Store(path)
    for i in range(n):
        store.append(record(f"{name}{i}", padding="x" * (i % 5000)))


def test_two_processes_may_write_at_once(tmp_path):
    path = tmp_path / "cells.jsonl"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write_many, args=(path, name, 60)) for name in "ab"]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0, 0]
    lines = path.read_bytes().splitlines()
    assert len(lines) == 120
    assert len({json.loads(line)["key"] for line in lines}) == 120


def test_a_run_is_resumed_and_not_repeated(tmp_path, monkeypatch):
    _, tasks, plan = toy_plan()
    store = Store(tmp_path / "cells.jsonl")
    seen = []
    first = execute(plan[:2], tasks, store, jobs=1)
    records = execute(plan, tasks, store, jobs=1, progress=seen.append)
    assert [r["key"] for r in records] == [cell.key for cell in plan]
    assert records[:2] == first
    assert len(seen) == len(plan)
    assert len(store.path.read_bytes().splitlines()) == len(plan)
    monkeypatch.setattr(run, "run_cell", None)  # nothing is left to run
    assert execute(plan, tasks, store, jobs=1) == records


def test_a_failing_cell_is_recorded_and_the_rest_goes_on(tmp_path, monkeypatch):
    _, tasks, plan = toy_plan()
    real = cells._PROTOCOLS["nested"]

    def breaks_once(cell, task):
        if cell.model == "fsvm" and cell.run == 1:
            raise RuntimeError("no luck")
        return real(cell, task)

    monkeypatch.setitem(cells._PROTOCOLS, "nested", breaks_once)
    store = Store(tmp_path / "cells.jsonl")
    records = execute(plan, tasks, store, jobs=1)
    failed = [r for r in records if r["status"] == "error"]
    assert [r["error"] for r in failed] == ["RuntimeError: no luck"]
    assert "breaks_once" in failed[0]["traceback"]
    monkeypatch.setitem(cells._PROTOCOLS, "nested", real)
    assert all(r["status"] == "ok" for r in execute(plan, tasks, store, jobs=1))  # a failure gets another chance


SLOW = """
import sys, time
sys.path.insert(0, {here!r})
from stubs import toy_plan
from radiusmargin.paper import Store, execute
from radiusmargin.paper import store as run
real = run.run_cell
def slow(cell, task, seconds):
    time.sleep({pause})
    return real(cell, task, seconds)
run.run_cell = slow
_, tasks, plan = toy_plan(runs={runs})
execute(plan, tasks, Store(sys.argv[1]), jobs=1)
print("finished")
"""


#: Without them, on Windows, processes that share a store may do a cell twice, which is harmless.
needs_claims = pytest.mark.skipif(
    store_module.fcntl is None, reason="claims are POSIX locks, which this system lacks: a cell may be done twice"
)


def _start(path, pause, runs=2):
    code = SLOW.format(here=HERE, pause=pause, runs=runs)
    return subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)


def test_a_killed_run_loses_only_what_it_was_working_on(tmp_path):
    path = tmp_path / "cells.jsonl"
    process = _start(path, pause=0.15)
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline and len(Store(path).records()) < 3:
        time.sleep(0.02)
    process.kill()
    process.communicate()
    before = dict(Store(path).records())
    assert 3 <= len(before) < 12
    _, tasks, plan = toy_plan(runs=2)
    records = execute(plan, tasks, Store(path), jobs=1)
    assert all(r["status"] == "ok" for r in records)
    assert all(before[r["key"]] == r for r in records if r["key"] in before)  # the finished ones were kept as they were
    assert len(path.read_bytes().splitlines()) == len(plan)


@needs_claims
def test_two_processes_share_the_work(tmp_path):
    path = tmp_path / "cells.jsonl"
    processes = [_start(path, pause=0.1) for _ in range(2)]
    assert [process.communicate(timeout=60)[0].strip() for process in processes] == ["finished"] * 2
    keys = [json.loads(line)["key"] for line in path.read_bytes().splitlines()]
    assert len(keys) == len(set(keys)) == 12  # each cell was done, and done once


@needs_claims
def test_a_claim_holds_against_others_and_dies_with_its_process(tmp_path):
    path, key = tmp_path / "cells.lock", "ab" * 32
    code = "import sys, time\nfrom radiusmargin.paper.store import Claims\n"
    code += "claims = Claims(sys.argv[1]).__enter__()\n"
    code += "print(claims.take(sys.argv[2]), flush=True)\ntime.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", code, str(path), key], stdout=subprocess.PIPE, text=True)
    assert holder.stdout.readline().strip() == "True"
    with Claims(path) as claims:
        assert not claims.take(key)
        assert claims.take("cd" * 32)
        holder.kill()
        holder.communicate()
        assert claims.take(key)
        claims.release(key)
