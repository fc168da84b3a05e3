"""A user's mistakes: each is one paragraph that names what is wrong and where, and exit code 2, never a
traceback."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import warpbank as package
from tests.cli.command import warpbank
from warpbank.studies import verify

HEADER = ".version 7.0\n.target sm_75\n.address_size 64\n"

COPY = (
    HEADER
    + """
.visible .entry copy(.param .u64 to, .param .u64 from)
{
	.reg .b32 %r<4>;
	.reg .b64 %rd<8>;
	ld.param.u64 %rd1, [to];
	ld.param.u64 %rd2, [from];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	add.s64 %rd5, %rd2, %rd3;
	ld.global.u32 %r2, [%rd5];
	st.global.u32 [%rd4], %r2;
	ret;
}
"""
)

LAUNCH = """
[buffers.to]
type = "u32"
shape = [{to}]
[buffers.from]
type = "u32"
shape = [64]
arange = true
[[launch]]
entry = "copy"
grid = {grid}
block = {block}
args = ["to", "from"]
"""


def _files(
    folder: Path, ptx: str = COPY, *, to: int = 64, grid: str = "[1, 1, 1]", block: str = "[64, 1, 1]"
) -> str:
    (folder / "copy.ptx").write_text(ptx)
    (folder / "copy.toml").write_text(LAUNCH.format(to=to, grid=grid, block=block))
    return str(folder / "copy.ptx")


def _refused(*arguments: str) -> str:
    """Standard error of a command that must be refused."""
    done = warpbank(*arguments)
    assert done.code == 2, done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    assert len([line for line in done.err.splitlines() if line.strip()]) == 1, done.err
    return done.err


def test_the_sound_files_run(tmp_path: Path) -> None:
    done = warpbank("run", _files(tmp_path), "--json")
    assert done.code == 0, done.err


def test_unknown_instruction(tmp_path: Path) -> None:
    text = _refused("run", _files(tmp_path, COPY.replace("mul.wide.u32", "frobnicate.u32")))
    assert "copy.ptx:12" in text
    assert "frobnicate.u32" in text


def test_texture_instruction(tmp_path: Path) -> None:
    line = "tex.1d.v4.f32.s32 {%r1, %r2, %r2, %r3}, [image, {%r1}];\n\tret;"
    ptx = COPY.replace("ret;", line).replace(".visible", ".global .texref image;\n.visible")
    assert "texture" in _refused("run", _files(tmp_path, ptx))


def test_missing_symbol(tmp_path: Path) -> None:
    text = _refused("run", _files(tmp_path, COPY.replace("[from]", "[form]")))
    assert "copy.ptx:10" in text
    assert "'form'" in text


def test_truncated_file(tmp_path: Path) -> None:
    text = _refused("run", _files(tmp_path, COPY[: len(COPY) // 2]))
    assert "copy.ptx" in text
    assert "truncated" in text


def test_out_of_bounds_names_everything(tmp_path: Path) -> None:
    text = _refused("run", _files(tmp_path, to=60))
    for part in ("copy", "block (0, 0, 0)", "thread (60, 0, 0)", "'to'", "ST.GLOBAL", "copy.ptx:16"):
        assert part in text


def test_barrier_that_never_completes(tmp_path: Path) -> None:
    """Warp 0 waits for a second warp that goes to another barrier."""
    wait = "setp.lt.u32 %p, %r1, 32;\n\t@%p bar.sync 1;\n\t@!%p bar.sync 2;\n\tret;"
    ptx = COPY.replace("ret;", wait).replace(".reg .b32", ".reg .pred %p;\n\t.reg .b32")
    text = _refused("run", _files(tmp_path, ptx))
    assert "deadlock" in text
    assert "barrier" in text


ONE = "[1, 1, 1]"


@pytest.mark.parametrize(
    ("grid", "block"), [("[0, 1, 1]", "[64, 1, 1]"), (ONE, "[0, 1, 1]"), (ONE, "[2048, 1, 1]")]
)
def test_grids_that_cannot_be(tmp_path: Path, grid: str, block: str) -> None:
    text = _refused("run", _files(tmp_path, grid=grid, block=block))
    assert "grid" in text or "block" in text or "threads" in text


def test_machine_that_cannot_hold_a_cta() -> None:
    text = _refused("run", "vectoradd", "--size", "tiny", "--set", "sub_cores=1", "--set", "sub_core.warps=4")
    assert "warps" in text
    text = _refused("run", "reduction", "--size", "tiny", "--set", "cta.shared_bytes=16")
    assert "shared memory" in text
    text = _refused("run", "vectoradd", "--size", "tiny", "--set", "sub_core.rows=2")
    assert "registers" in text


def test_missing_launch_description(tmp_path: Path) -> None:
    path = _files(tmp_path)
    (tmp_path / "copy.toml").unlink()
    assert "copy.toml" in _refused("run", path)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("run", "vectoradd", "--scheme", "bowl"), "bowl"),
        (("run", "vectoraddd"), "vectoraddd"),
        (("run", "nothere.ptx"), "nothere.ptx"),
        (("run", "vectoradd", "--preset", "turning"), "turing"),
        (("run", "vectoradd", "--set", "sub_core.bank=4"), "banks"),
        (("run", "vectoradd", "--set", "sub_core.banks=three"), "sub_core.banks"),
        (("run", "vectoradd", "--set", "sub_core.banks=3"), "power of two"),
        (("run", "vectoradd", "--set", "banks"), "field=value"),
        (("run", "vectoradd", "--config", "nothere.toml"), "nothere.toml"),
        (("run", "vectoradd", "--launch", "x.toml"), "--launch"),
        (("compile", "nothere.cu"), "nothere.cu"),
        (("trace", "inspect", "nothere.npz"), "nothere.npz"),
        (("trace", "write", "vectoradd", "no/such/folder/t.npz", "--size", "tiny"), "no/such/folder"),
        (("explain", "nothere.ptx"), "nothere.ptx"),
    ],
)
def test_wrong_arguments(arguments: tuple[str, ...], named: str) -> None:
    assert named in _refused(*arguments)


def test_corrupt_trace_file(tmp_path: Path) -> None:
    path = tmp_path / "t.npz"
    assert warpbank("trace", "write", "vectoradd", str(path), "--size", "tiny").code == 0
    path.write_bytes(path.read_bytes()[:5000])
    assert "t.npz" in _refused("trace", "inspect", str(path))


def test_source_that_does_not_compile(tmp_path: Path) -> None:
    source = tmp_path / "bad.cu"
    source.write_text('#include "warpbank.cuh"\nextern "C" __global__ void k(int *a) { a[0] = b; }\n')
    done = warpbank("compile", str(source))
    assert done.code == 2
    assert "bad.cu:2" in done.err
    assert not (tmp_path / "bad.ptx").exists()


def test_endless_loop_ends_at_the_limit(tmp_path: Path) -> None:
    path = _files(tmp_path, COPY.replace("ret;", "$L: bra $L;\n\tret;"))
    text = _refused("run", path, "--max-instructions", "100000")
    assert "100000" in text
    assert "--max-instructions" in text


def test_grid_beyond_the_limit_is_refused_at_once(tmp_path: Path) -> None:
    text = _refused("run", _files(tmp_path, grid="[2147483647, 1, 1]"))
    assert "4294967294 warps" in text


def test_two_machines(tmp_path: Path) -> None:
    (tmp_path / "m.toml").write_text('preset = "pascal"\n')
    text = _refused("run", "vectoradd", "--config", str(tmp_path / "m.toml"), "--preset", "turing")
    assert "--preset" in text


def test_cuda_source_is_not_ptx() -> None:
    assert "warpbank compile" in _refused("run", "saxpy.cu")


@pytest.mark.parametrize(
    ("extra", "arguments"),
    [
        ("rtl", ("units",)),
        ("rtl", ("export", "ocu", "-o", "ocu.v")),
        ("rtl", ("verify",)),
        ("fpga", ("fpga",)),
    ],
)
def test_missing_wheel(extra: str, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a machine where only the golden model is installed."""
    for room in ("hdl", "synth"):  # what is imported in the test is forgotten after it, by its package, too
        if hasattr(package, room):
            monkeypatch.setattr(package, room, getattr(package, room))
    for name in [
        name for name in sys.modules if name.startswith(("amaranth", "warpbank.hdl", "warpbank.synth"))
    ]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "amaranth", None)
    for name in ("fpga", "verify"):
        monkeypatch.delitem(sys.modules, f"warpbank.studies.{name}", raising=False)
        if hasattr(package.studies, name):
            monkeypatch.delattr(package.studies, name)
    assert f"warpbank[{extra}]" in _refused(*arguments)


@pytest.mark.long
def test_verify_without_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where only the RTL's wheels are installed."""
    found = verify.find_spec
    monkeypatch.setattr(verify, "find_spec", lambda name: None if name == "pytest" else found(name))
    said = _refused("verify", "ocu", "--rung", "golden")
    assert "pytest" in said
    assert "pip install --editable '.[test]'" in said


@pytest.mark.parametrize(
    ("words", "kept"),
    [
        (("compile", "copy.ptx"), "copy.ptx"),
        (("compile", "copy.cu", "-o", "copy.cu"), "copy.cu"),
        (("launch-template", "copy.cu", "-o", "copy.cu", "--overwrite"), "copy.cu"),
        (("sweep", "sweep.toml", "-o", "sweep.toml"), "sweep.toml"),
        (("sweep", "sweep.toml", "-o", "copy.ptx"), "copy.ptx"),
        (("view", "copy.ptx", "-o", "copy.ptx"), "copy.ptx"),
        (("view", "copy.ptx", "-o", "copy.toml"), "copy.toml"),
        (("view", "--example", "bow", "--preset", "m.toml", "-o", "m.toml"), "m.toml"),
        (("waiting", "copy.ptx", "-o", "copy.ptx"), "copy.ptx"),
        (("gating", "copy.ptx", "--config", "m.toml", "-o", "m.toml"), "m.toml"),
        (("explain", "copy.ptx", "--intervals", "-o", "copy.ptx"), "copy.ptx"),
        (("trace", "write", "copy.ptx", "copy.ptx"), "copy.ptx"),
        (("run", "copy.ptx", "--launch", "copy.json", "--over-time", "copy.json"), "copy.json"),
    ],
)
def test_no_command_writes_over_what_it_reads(
    words: tuple[str, ...], kept: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _files(tmp_path)
    Path("copy.cu").write_text("")
    Path("copy.json").write_text(Path("copy.toml").read_text())
    Path("m.toml").write_text('preset = "turing"\n')
    Path("sweep.toml").write_text('kernels = ["copy.ptx"]\n')
    before = Path(kept).read_text()
    done = warpbank(*words)
    assert done.code == 2
    assert f"cannot write {kept}: it is what the command reads; name another file" in done.err
    assert Path(kept).read_text() == before


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("gating", "nn"), "nn-gating.svg"),
        (("waiting", "nn"), "nn-waiting.svg"),
        (("explain", "nn", "--intervals"), "nn.svg"),
    ],
)
def test_a_drawing_without_a_name_of_its_own_is_checked_before_the_run(
    words: tuple[str, ...], name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).mkdir()
    done = warpbank(*words, "--size", "tiny")
    assert done.code == 2
    assert done.out == ""
    assert f"cannot write {name}: it is a folder" in done.err
