"""The trace cache: hits, damaged entries, two processes at once, killed writers, the size limit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.program.trace.test_file import same, small_trace
from warpbank.program.trace import cache
from warpbank.program.trace.schema import Trace

ROOT = Path(__file__).resolve().parents[3]

CHILD = """
import sys, time
from pathlib import Path
from warpbank.program.trace import cache, file
trace = file.read_trace(sys.argv[1])
started, slow = Path(sys.argv[2]), float(sys.argv[3])
def build():
    with started.open("a") as log:
        log.write("x")
    time.sleep(slow)
    return trace
found = cache.get("key", build)
assert (found.values == trace.values).all()
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("WARPBANK_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("WARPBANK_CACHE_LIMIT", raising=False)
    return tmp_path / "cache"


def refuse() -> Trace:
    raise AssertionError("built although it is there")


def test_built_once(folder: Path) -> None:
    trace = small_trace()
    assert cache.get("a", lambda: trace) is trace
    assert same(cache.get("a", refuse), trace)
    assert {p.suffix for p in folder.iterdir()} <= {".npz", ".lock"}


def test_damaged_entries_are_built_again(folder: Path) -> None:
    trace = small_trace()
    cache.get("a", lambda: trace)
    entry = folder / "a.npz"
    entry.write_bytes(entry.read_bytes()[:200])
    assert cache.get("a", lambda: trace) is trace
    assert same(cache.get("a", refuse), trace)


def test_what_build_raises_leaves_nothing(folder: Path) -> None:
    with pytest.raises(AssertionError, match="built"):
        cache.get("a", refuse)
    assert not list(folder.glob("*.npz"))
    trace = small_trace()
    assert cache.get("a", lambda: trace) is trace


def child(tmp_path: Path, slow: float) -> subprocess.Popen[bytes]:
    environment = dict(os.environ, PYTHONPATH=str(ROOT))
    source = tmp_path / "source.npz"
    if not source.exists():
        from warpbank.program.trace.file import write_trace

        write_trace(small_trace(), source)
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(source), str(tmp_path / "log"), str(slow)], env=environment
    )


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_two_processes_build_once(tmp_path: Path) -> None:
    children = [child(tmp_path, 1.0) for _ in range(2)]
    assert [c.wait(60) for c in children] == [0, 0]
    assert (tmp_path / "log").read_text() == "x"


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_process_blocks_nobody(tmp_path: Path, folder: Path) -> None:
    victim = child(tmp_path, 60)
    wait_for(tmp_path / "log")
    waiting = child(tmp_path, 0)
    time.sleep(0.3)
    assert waiting.poll() is None, "it waits for the other"
    victim.send_signal(signal.SIGKILL)
    victim.wait(60)
    assert waiting.wait(60) == 0
    assert (tmp_path / "log").read_text() == "xx"
    assert cache.get("key", refuse).warp_instructions == 8


def test_leftovers_of_killed_writers_are_swept(folder: Path) -> None:
    folder.mkdir()
    old, new = folder / "a.npz.1-x.part", folder / "b.npz.1-x.part"
    old.write_bytes(b"half")
    new.write_bytes(b"half")
    os.utime(old, (1, 1))
    trace = small_trace()
    cache.get("c", lambda: trace)
    assert not old.exists()
    assert new.exists(), "perhaps somebody is still writing it"


def test_the_limit_evicts_what_was_read_longest_ago(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    trace = small_trace()
    for i, key in enumerate("abc"):
        cache.get(key, lambda: trace)
        os.utime(folder / f"{key}.npz", (i + 1, i + 1))
    cache.get("a", refuse)  # now the newest
    (folder / "b.npz").write_bytes(bytes(1 << 20))
    os.utime(folder / "b.npz", (2, 2))
    monkeypatch.setenv("WARPBANK_CACHE_LIMIT", "1")
    cache.get("d", lambda: trace)
    assert {p.stem for p in folder.glob("*.npz")} == {"a", "c", "d"}


def test_without_a_folder_it_warns_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("WARPBANK_CACHE", str(blocked / "cache"))
    trace = small_trace()
    with pytest.warns(UserWarning, match="WARPBANK_CACHE"):
        assert cache.get("a", lambda: trace) is trace


def test_a_folder_that_cannot_be_searched_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its name is too long: who runs the tests may search all others."""
    monkeypatch.setenv("WARPBANK_CACHE", str(tmp_path / ("x" * 300)))
    trace = small_trace()
    with pytest.warns(UserWarning, match="WARPBANK_CACHE"):
        assert cache.get("a", lambda: trace) is trace
