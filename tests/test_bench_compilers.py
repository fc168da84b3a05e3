"""`python -m bench.compilers`: on a stand-in for nvcc that gives the committed PTX, other PTX, or none."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer import Typer
from typer.testing import CliRunner, Result

from bench import compilers

PTX = Path(__file__).parents[1] / "workloads" / "ptx"
STAND_IN = f"""#!{sys.executable}
import sys
from pathlib import Path
mode = "right"
arguments = sys.argv[1:]
assert "load4" in Path("warpbank.cuh").read_text()
(source,) = (Path(each) for each in arguments if each.endswith(".cu"))
assert "__global__" in source.read_text()
assert "-arch=sm_75" in arguments
if mode == "refuse" and "-O0" in arguments:
    sys.exit(f"{{source.name}}(1): error: no such thing")
ptx = (Path({str(PTX)!r}) / source.with_suffix(".ptx").name).read_text()
if mode == "wrong":
    ptx = ptx.replace("add.f32", "sub.f32")
Path(arguments[arguments.index("-o") + 1]).write_text(ptx)
"""


def _asked(tmp_path: Path, mode: str, *more: str) -> Result:
    nvcc = tmp_path / "nvcc"
    nvcc.write_text(STAND_IN.replace('"right"', repr(mode)))
    nvcc.chmod(0o755)
    app = Typer()
    app.command()(compilers.main)
    return CliRunner().invoke(app, ["--nvcc", str(nvcc), "--kernel", "vectoradd", *more])


def test_right_ptx(tmp_path: Path) -> None:
    done = _asked(tmp_path, "right", "--schemes", "baseline,bow-wr", "--preset", "tiny")
    assert done.exit_code == 0, done.output
    assert done.stdout.splitlines() == [
        "| kernel | GPU | level | emulator | baseline | bow-wr |",
        "|---|---|---|---|---|---|",
        "| `vectoradd` | sm_75 | -O3 | right | right | right |",
        "| `vectoradd` | sm_75 | -O0 | right | right | right |",
        "",
        "Nothing is wrong.",
    ]


def test_wrong_ptx(tmp_path: Path) -> None:
    done = _asked(tmp_path, "wrong", "--schemes", "baseline")
    assert done.exit_code == 1, done.output
    assert "| `vectoradd` | sm_75 | -O3 | wrong |  |" in done.stdout
    assert "vectoradd -O3, emulator: kernel vectoradd (tiny) left memory that differs" in done.stdout


def test_refused_source(tmp_path: Path) -> None:
    done = _asked(tmp_path, "refuse")
    assert done.exit_code == 1, done.output
    assert "| `vectoradd` | sm_75 | -O3 | right |" in done.stdout
    assert "| `vectoradd` | sm_75 | -O0 | refused |" in done.stdout
    assert "vectoradd -O0, refused by nvcc:\nvectoradd.cu(1): error: no such thing" in done.stdout


def test_what_fails_on_golden(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(experiment: object) -> None:
        raise RuntimeError("operand of cycle 3")

    monkeypatch.setattr(compilers, "run", run)
    done = _asked(tmp_path, "right", "--schemes", "baseline")
    assert done.exit_code == 1, done.output
    assert "| `vectoradd` | sm_75 | -O3 | right | wrong |" in done.stdout
    assert "vectoradd -O3, baseline: RuntimeError: operand of cycle 3" in done.stdout
