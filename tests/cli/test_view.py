"""`warpbank view`: cycles, formats, and what a file is called."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import warpbank


@pytest.mark.parametrize(
    "cycles", ["5", "9:9", "9:3", "a:b", "-1:4", "5:", f"0:{10**15 + 1}", "0:" + "9" * 5000]
)
def test_cycles_that_are_none(cycles: str) -> None:
    done = warpbank("view", "vectoradd", f"--cycles={cycles}")
    assert done.code == 2
    assert "--cycles takes" in done.err


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("kanata", "vectoradd.kanata"),
        ("perfetto", "vectoradd.perfetto.json"),
        ("html", "vectoradd-banks.html"),
        ("machine", "vectoradd-machine.html"),
    ],
)
def test_the_file_is_named_after_the_kernel(
    form: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = warpbank("view", "vectoradd", "--preset", "tiny", "--cycles", "10:40", "--format", form)
    assert done.code == 0, done.err
    assert done.err.startswith(f"wrote {name}: cycles 10 to 39, ")
    assert (tmp_path / name).stat().st_size > 500


def test_a_machine_of_too_many_cycles() -> None:
    done = warpbank("view", "vectoradd", "--cycles", "0:5000", "--format", "machine")
    assert done.code == 2
    assert "at most 2000 cycles" in done.err
    assert "0:2000 would do" in done.err


def test_cycles_after_the_run() -> None:
    done = warpbank("view", "vectoradd", "--preset", "tiny", "--cycles", "90000:90100", "--format", "machine")
    assert done.code == 2
    assert "the run is over after" in done.err


@pytest.mark.parametrize(
    ("target", "reason"), [("there/is/none.html", "No such file or directory"), (".", "it is a folder")]
)
def test_a_file_that_cannot_be_written_is_told_before_the_run(
    target: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def ran(*_: object) -> None:
        raise AssertionError("the run began")

    monkeypatch.setattr("warpbank.cli.view.draw", ran)
    done = warpbank("view", "vectoradd", "--format", "machine", "--output", target)
    assert done.code == 2
    assert f"cannot write {target}: {reason}" in done.err


def test_a_format_that_is_none() -> None:
    done = warpbank("view", "vectoradd", "--format", "film")
    assert done.code == 2
    assert "film" in done.err


@pytest.mark.parametrize(
    ("form", "name", "wanted"),
    [
        ((), "v.html", ".json"),
        (("--format", "html"), "v.kanata", ".html"),
        (("--format", "kanata"), "v.json", ".kanata"),
    ],
)
def test_a_name_of_another_format_is_refused(form: tuple[str, ...], name: str, wanted: str) -> None:
    done = warpbank("view", "vectoradd", "--preset", "tiny", *form, "--output", name)
    assert done.code == 2
    assert f"is a file {wanted}, not {Path(name).suffix}; give another --format" in " ".join(done.err.split())
