"""`warpbank compile`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.command import warpbank

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


PROGRAM = """#include <cuda_runtime.h>
#include <cstdio>
#include "size.cuh"
template <typename T> __global__ void scale(const T *in, T *out, float factor, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i] * factor * MORE;
    if (i == SIZE) printf("%d", i);
}
int main() { scale<float><<<1, SIZE>>>(nullptr, nullptr, 2, SIZE); }
"""


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source in the working folder, with a header in another."""
    pytest.importorskip("ziglang")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "headers").mkdir()
    (tmp_path / "headers" / "size.cuh").write_text("#define SIZE 32\n")
    (tmp_path / "scale.cu").write_text(PROGRAM)
    return tmp_path


OPTIONS = ("-I", "headers", "-D", "MORE=3", "--std", "c++20")


def test_a_program_compiles_as_it_is(program: Path) -> None:
    done = warpbank("compile", "scale.cu", *OPTIONS, "-O", "2")
    assert done.code == 0, done.err
    assert done.err == "note: scale.cu:8: printf in device code does nothing\nwrote scale.ptx\n"
    assert ".entry _Z5scaleIfEvPKT_PS0_fi" in (program / "scale.ptx").read_text()


def test_a_template_is_completed_and_runs(program: Path) -> None:
    assert warpbank("compile", "scale.cu", *OPTIONS).code == 0
    done = warpbank("launch-template", "scale.cu", *OPTIONS)
    assert (done.code, done.err) == (0, "wrote scale.toml\n")
    text = (program / "scale.toml").read_text()
    assert 'entry = "scale"' in text
    text += "\n[expected.out]\narange = { start = 0, step = 3.0 }\n"
    (program / "scale.toml").write_text(text.replace("1024", "32"))
    done = warpbank("run", "scale.ptx", "--preset", "tiny")
    assert done.code == 0, done.err


def test_a_template_of_ptx(program: Path) -> None:
    shutil.copy(SAXPY.with_suffix(".ptx"), program)
    assert warpbank("launch-template", "saxpy.ptx", "--output", "mine.toml").code == 0
    assert 'entry = "saxpy"' in (program / "mine.toml").read_text()
    done = warpbank("launch-template", "saxpy.ptx", "--output", "mine.toml")
    assert done.code == 2
    assert "mine.toml is there already" in done.err
    assert warpbank("launch-template", "saxpy.ptx", "--output", "mine.toml", "--overwrite").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
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
        (("launch-template", "absent.cu"), "there is no CUDA source absent.cu"),
        (("launch-template", "absent.ptx"), "absent.ptx: cannot read the PTX file"),
        (("launch-template", "empty.cu"), "empty.cu has no kernel, so there is nothing to launch"),
        (("launch-template", "scale.cu", "--std", "c99"), "'c99' is no dialect of C++ known here"),
    ],
)
def test_mistakes_are_one_paragraph(program: Path, words: tuple[str, ...], message: str) -> None:
    (program / "empty.cu").write_text("int main() { return 0; }\n")
    done = warpbank(*words)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_without_the_wheel_the_extra_is_named(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpbank.program.cuda.compiler.find_spec", lambda name: None)
    for command in ("compile", "launch-template"):
        done = warpbank(command, "scale.cu")
        assert done.code == 2
        assert "pip install 'warpbank[compile]'" in done.err
