"""`warpbank compile`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.command import warpbank
from tests.cli.scale import OPTIONS

SAXPY = Path(__file__).parents[2] / "examples" / "saxpy" / "saxpy.cu"


@pytest.mark.parametrize("options", [(), ("--output", "other.ptx", "--arch", "sm_80")])
def test_ptx_of_a_source(options: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ziglang")
    monkeypatch.chdir(tmp_path)
    shutil.copy(SAXPY, tmp_path)
    done = warpbank("compile", "saxpy.cu", *options)
    assert done.code == 0, done.err
    file, target = ("other.ptx", "sm_80") if options else ("saxpy.ptx", "sm_75")
    assert done.err == f"wrote {file}\n"
    assert f".target {target}" in (tmp_path / file).read_text()


def test_a_program_compiles_as_it_is(program: Path) -> None:
    done = warpbank("compile", "scale.cu", *OPTIONS, "-O", "2")
    assert done.code == 0, done.err
    assert done.err == "note: scale.cu:8: printf in device code does nothing\nwrote scale.ptx\n"
    assert ".entry _Z5scaleIfEvPKT_PS0_fi" in (program / "scale.ptx").read_text()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compile", "."), "error: . is a folder; name a file in it"),
        (("compile", ".", "-o", "x.ptx"), "there is no CUDA source ."),
        (("compile", "absent.cu"), "error: there is no CUDA source absent.cu"),
        (("compile", "scale.cu", "-I", "nowhere"), "there is no folder nowhere to look for headers in"),
        (("compile", "scale.cu", "-D", "3=x"), "-D 3=x: a macro is written NAME or NAME=VALUE"),
        (("compile", "scale.cu", "--std", "c99"), "'c99' is no dialect of C++ known here; they are c++14"),
        (("compile", "scale.cu", "-O", "9"), "'9' is no level of optimization; they are 0, 1, 2, 3, s"),
        (("compile", "scale.cu", "--arch", "gfx90a"), "'gfx90a' is no GPU architecture"),
        (("compile", "scale.cu"), "scale.cu:3:10: fatal error: 'size.cuh' file not found"),
        (
            ("compile", "scale.cu", "-I", "headers"),
            "scale.cu:7:42: error: use of undeclared identifier 'MORE'",
        ),
        (("compile", "scale.cu", *OPTIONS, "--arch", "sm_1"), "scale.cu does not compile for sm_1"),
    ],
)
def test_mistakes_are_one_paragraph(program: Path, words: tuple[str, ...], message: str) -> None:
    done = warpbank(*words)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_without_the_wheel_the_extra_is_named(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpbank.program.cuda.compiler.find_spec", lambda name: None)
    done = warpbank("compile", "scale.cu")
    assert done.code == 2
    assert "pip install 'warpbank[compile]'" in done.err
