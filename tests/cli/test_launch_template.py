"""`warpbank launch-template`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.command import warpbank
from tests.cli.scale import OPTIONS

SAXPY = Path(__file__).parents[2] / "examples" / "saxpy" / "saxpy.ptx"


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
    shutil.copy(SAXPY, program)
    assert warpbank("launch-template", "saxpy.ptx", "--output", "mine.toml").code == 0
    assert 'entry = "saxpy"' in (program / "mine.toml").read_text()
    done = warpbank("launch-template", "saxpy.ptx", "--output", "mine.toml")
    assert done.code == 2
    assert "mine.toml is there already" in done.err
    assert warpbank("launch-template", "saxpy.ptx", "--output", "mine.toml", "--overwrite").code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((".",), "error: . is a folder; name a file in it"),
        ((".", "-o", "x.toml"), "there is no CUDA source ."),
        (("absent.cu",), "there is no CUDA source absent.cu"),
        (("absent.ptx",), "absent.ptx: cannot read the PTX file"),
        (("absent.ptx", "-D", "SIZE=2"), "absent.ptx is PTX, which is compiled already; leave out --arch"),
        (("empty.cu",), "empty.cu has no kernel, so there is nothing to launch"),
        (("scale.cu", "--std", "c99"), "'c99' is no dialect of C++ known here"),
    ],
)
def test_mistakes_are_one_paragraph(program: Path, words: tuple[str, ...], message: str) -> None:
    (program / "empty.cu").write_text("int main() { return 0; }\n")
    done = warpbank("launch-template", *words)
    assert done.code == 2
    assert message in done.err
    assert "Traceback" not in done.err


def test_without_the_wheel_the_extra_is_named(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("warpbank.program.cuda.compiler.find_spec", lambda name: None)
    done = warpbank("launch-template", "scale.cu")
    assert done.code == 2
    assert "pip install 'warpbank[compile]'" in done.err
