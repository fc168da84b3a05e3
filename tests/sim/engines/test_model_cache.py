"""The model cache: one build for all who want it, nothing half-made, damage noticed."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path

import pytest

from warpbank.program.errors import CacheError
from warpbank.sim.engines import model_cache

PARTS: dict[str, object] = {"config": "a machine", "flags": ["-O1"]}


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WARPBANK_CACHE", str(tmp_path))


class Builder:
    """Counts its builds."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.count = 0
        self._seconds = seconds

    def __call__(self, folder: Path) -> None:
        self.count += 1
        (folder / "model.so").write_bytes(b"half")
        time.sleep(self._seconds)
        (folder / "model.so").write_bytes(b"a model")


def test_built_once() -> None:
    build = Builder()
    entry = model_cache.get(PARTS, build)
    assert (entry / "model.so").read_bytes() == b"a model"
    assert model_cache.get(PARTS, build) == entry
    assert build.count == 1
    assert json.loads((entry / "entry.json").read_text())["parts"] == PARTS


def test_other_parts_are_another_entry() -> None:
    build = Builder()
    assert model_cache.get(PARTS, build) != model_cache.get({**PARTS, "flags": ["-O3"]}, build)
    assert build.count == 2


def test_many_at_once_build_once() -> None:
    build = Builder(0.3)
    entries: list[Path] = []
    threads = [
        threading.Thread(target=lambda: entries.append(model_cache.get(PARTS, build))) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert build.count == 1
    assert len(set(entries)) == 1
    assert len(entries) == 6


def test_a_failed_build_leaves_nothing() -> None:
    def fails(folder: Path) -> None:
        (folder / "model.so").write_bytes(b"half")
        raise RuntimeError("compiler")

    with pytest.raises(RuntimeError, match="compiler"):
        model_cache.get(PARTS, fails)
    assert [path.name for path in model_cache.folder().iterdir() if path.suffix != ".lock"] == []
    assert (model_cache.get(PARTS, Builder()) / "model.so").read_bytes() == b"a model"


def test_what_a_killed_build_left_is_no_entry() -> None:
    """A killed process leaves its folder under another name; old ones are swept."""
    at = model_cache.folder()
    left = at / f"{model_cache.key_of(PARTS)}.abc.part"
    left.mkdir(parents=True)
    (left / "model.so").write_bytes(b"half")
    build = Builder()
    assert (model_cache.get(PARTS, build) / "model.so").read_bytes() == b"a model"
    assert build.count == 1
    assert left.exists()  # it might be a living process's
    import os

    os.utime(left, (0, 0))
    model_cache.get({"other": 1}, build)
    assert not left.exists()


@pytest.mark.parametrize("harm", ["truncate", "flip", "remove", "no list", "nonsense"])
def test_damage_is_noticed(harm: str) -> None:
    build = Builder()
    entry = model_cache.get(PARTS, build)
    target = entry / "model.so"
    if harm == "truncate":
        target.write_bytes(b"a mo")
    elif harm == "flip":
        target.write_bytes(b"a modeL")
    elif harm == "remove":
        target.unlink()
    elif harm == "no list":
        (entry / "entry.json").unlink()
    else:
        (entry / "entry.json").write_text("[]")
    with pytest.warns(UserWarning, match="built anew"):
        again = model_cache.get(PARTS, build)
    assert (again / "model.so").read_bytes() == b"a model"
    assert build.count == 2


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("WARPBANK_CACHE", str(blocked))
    build = Builder()
    parts = {"only": "here"}
    with pytest.warns(UserWarning, match="WARPBANK_CACHE"):
        entry = model_cache.get(parts, build)
    assert (entry / "model.so").read_bytes() == b"a model"
    assert model_cache.get(parts, build) == entry
    assert build.count == 1


def test_the_oldest_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setenv("WARPBANK_CACHE_LIMIT", "1")

    def big(folder: Path) -> None:
        (folder / "model.so").write_bytes(b"x" * 700_000)

    first = model_cache.get({"n": 1}, big)
    os.utime(first, (1, 1))
    second = model_cache.get({"n": 2}, big)
    assert not first.exists()
    assert second.exists()


@pytest.mark.parametrize("what", ["", "model.so", "entry.json"])
def test_an_entry_that_others_may_write_is_refused(what: str) -> None:
    build = Builder()
    entry = model_cache.get(PARTS, build)
    (entry / what).chmod(0o777)
    with pytest.raises(CacheError, match=r"not yours alone: .* may be written by others .*chmod -R go-w"):
        model_cache.get(PARTS, build)
    (entry / what).chmod(0o755)
    model_cache.get(PARTS, build)
    assert build.count == 1


def test_a_cache_folder_that_others_may_write_is_refused() -> None:
    build = Builder()
    model_cache.folder().mkdir(mode=0o777)
    model_cache.folder().chmod(0o777)
    with pytest.raises(CacheError, match="may be written by others"):
        model_cache.get(PARTS, build)
    assert build.count == 0


def test_what_is_built_is_nobody_elses_whatever_the_umask() -> None:
    before = os.umask(0)
    try:
        build = Builder()
        entry = model_cache.get(PARTS, build)
        assert model_cache.get(PARTS, build) == entry
        assert build.count == 1
    finally:
        os.umask(before)
