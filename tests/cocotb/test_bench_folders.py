"""Folders of `warpbank export --with-bench cocotb`: they run where nothing of ours can be imported, and find
what is planted in the Verilog."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.cli.command import warpbank
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.program.errors import WarpbankError
from warpbank.sim.engines import toolchain
from warpbank.synth.bench_folder import BENCHES, OWN, folder
from warpbank.synth.units import UNITS

TINY, BASELINE = preset("tiny"), parse_scheme("baseline")
#: A machine on which the waiting time changes soon.
SOON = with_overrides(TINY, ["sub_core.collector.sthld_interval=16"])
#: Units of the default suite: a few seconds each in Icarus.
QUICK = ("compressor_half", "gto", "lfsr")

needs_icarus = pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs iverilog")


def written(unit: str, where: Path, scheme: str = "baseline") -> Path:
    """The folder of a unit."""
    found = where / unit
    found.mkdir()
    config = SOON if unit == "sthld" else TINY
    for name, text in folder(unit, config, parse_scheme(scheme), bench="cocotb").items():
        (found / name).write_text(text)
    return found


def ran(where: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Run the folder's bench in a process that cannot import Warpbank."""
    block = where / "block"
    block.mkdir(exist_ok=True)
    (block / "warpbank.py").write_text("raise ImportError('nothing of Warpbank is there')\n")
    environment = {**os.environ, "PYTHONPATH": str(block)}
    environment.pop("MAKEFLAGS", None)
    return subprocess.run(
        [sys.executable, "run.py", *options], cwd=where, env=environment, capture_output=True, text=True
    )


@needs_icarus
@pytest.mark.parametrize(
    "unit", [pytest.param(unit, marks=[] if unit in QUICK else [pytest.mark.long]) for unit in BENCHES]
)
def test_icarus(unit: str, tmp_path: Path) -> None:
    done = ran(written(unit, tmp_path), "--sim", "icarus")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]
    assert re.search(r"([12]) of \1 tests pass with icarus, seed 1", done.stdout)


@pytest.mark.long
@pytest.mark.parametrize("unit", BENCHES)
def test_verilator(unit: str, tmp_path: Path) -> None:
    """cocotb's Verilator runner with its defaults, in which warnings are errors."""
    assert toolchain.verilator()
    done = ran(written(unit, tmp_path), "--sim", "verilator")
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-2000:]


@needs_icarus
@pytest.mark.long
@pytest.mark.parametrize("scheme", ["bow-wr", "malekeh", "gscalar"])
def test_sm_of_other_schemes(scheme: str, tmp_path: Path) -> None:
    done = ran(written("sm", tmp_path, scheme), "--sim", "icarus")
    assert done.returncode == 0, done.stdout[-3000:]


@needs_icarus
@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 6))
@pytest.mark.parametrize("unit", [unit for unit in OWN if not unit.startswith("boc")])
def test_seeds(unit: str, seed: int, tmp_path: Path) -> None:
    done = ran(written(unit, tmp_path), "--seed", str(seed))
    assert done.returncode == 0, done.stdout[-3000:]


#: One wrong line per bench: what is replaced by a regular expression, and by what.
MUTANTS: dict[str, tuple[str, str]] = {
    "address_allocation": (r"occupied <= \(occupied & \(~ ", "occupied <= (occupied & ("),
    "compressor_half": (r"(assign enc__0\[3\] = [^;]*?)~ ", r"\1"),
    "decompressor": (r"assign stored_0 = ~ ", "assign stored_0 = "),
    "renaming_table": (r"mapped__0 & \(~ dropped_0\)", "mapped__0"),
    "warp_control_blocks": (r"assign read_last = ", "assign read_last = 256'h0 & "),
    "boc": (r"\(\| \(step_0 & last_0\)\)", "(| step_0)"),
    "ccu": (r"assign refused = ", "assign refused = ~ "),
    "gto": (r"if \(rst\) older_3 <= 8'h07", "if (rst) older_3 <= 8'h0f"),
    "lfsr": (r" \^ ", " | "),
    "sm": (r"(assign ready = here & first & \(~ fenced\)) & \(~ blocked\)", r"\1"),
}


@pytest.mark.quick("compressor_half")
@needs_icarus
@pytest.mark.parametrize(
    "unit", [pytest.param(unit, marks=[] if unit in QUICK else [pytest.mark.long]) for unit in MUTANTS]
)
def test_mutants_are_caught(unit: str, tmp_path: Path) -> None:
    where = written(unit, tmp_path)
    pattern, wrong = MUTANTS[unit]
    text = (where / f"{unit}.v").read_text()
    changed, count = re.subn(pattern, wrong, text, count=1)
    assert count == 1
    (where / f"{unit}.v").write_text(changed)
    done = ran(where)
    assert done.returncode == 1
    assert "AssertionError" in done.stdout


@needs_icarus
def test_waves(tmp_path: Path) -> None:
    where = written("decompressor", tmp_path)
    assert ran(where, "--waves").returncode == 0
    assert [*where.glob("build/**/*.fst"), *where.glob("build/**/*.vcd")]


@needs_icarus
def test_the_page_on_the_sm(tmp_path: Path) -> None:
    """The worked testbench of docs/external_testbench.md, and what it says of its cycles."""
    page = (Path(__file__).parent.parent.parent / "docs" / "external_testbench.md").read_text()
    where = written("sm", tmp_path)
    (where / "test_first.py").write_text(page.partition("```py\n")[2].partition("```")[0])
    done = ran(where, "--test", "test_first")
    assert done.returncode == 0, done.stdout[-3000:]
    stated = page.partition("```text\n")[2].partition("```")[0].splitlines()
    found = [
        line.partition("cocotb.sm")[2].strip() for line in done.stdout.splitlines() if "cocotb.sm" in line
    ]
    assert found == stated


def test_every_unit_has_a_bench() -> None:
    assert set(UNITS) <= set(BENCHES)
    assert set(BENCHES.values()) == {*OWN.values(), "replay"}


@pytest.mark.parametrize("unit", ["compressor", "lfsr", "sm"])
def test_imports(unit: str, tmp_path: Path) -> None:
    """cocotb, the standard library, and one another."""
    for path in written(unit, tmp_path).glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = (
                    [node.module or ""] if isinstance(node, ast.ImportFrom) else [n.name for n in node.names]
                )
                for name in names:
                    top = name.partition(".")[0]
                    assert top in (*sys.stdlib_module_names, "cocotb", "cocotb_tools", "protocol"), name


@pytest.mark.parametrize("unit", ["decompressor", "lfsr"])
def test_core_file(unit: str, tmp_path: Path) -> None:
    """FuseSoC's description names files that are there, and copies all that the bench's script needs."""
    where = written(unit, tmp_path)
    text = (where / f"{unit}.core").read_text()
    assert text.startswith("CAPI=2:\n")
    core = yaml.safe_load(text.partition("\n")[2])
    files = [name for fileset in core["filesets"].values() for entry in fileset["files"] for name in entry]
    assert all((where / name).is_file() for name in files)
    sim = core["targets"]["sim"]
    assert sim["toplevel"] == unit
    (script,) = sim["hooks"]["pre_run"]
    assert core["scripts"][script]["cmd"] == ["python3", "run.py"]
    copied = {
        name
        for fileset in sim["filesets"]
        for entry in core["filesets"][fileset]["files"]
        for name, said in entry.items()
        if said["copyto"] == name
    }
    assert copied == {path.name for path in where.iterdir()} - {f"{unit}.core", "README.md"}


def test_command(tmp_path: Path) -> None:
    done = warpbank(
        "export", "decompressor", "--preset", "tiny", "--with-bench", "cocotb", "-o", str(tmp_path / "d")
    )
    assert done.code == 0, done.err
    assert sorted(path.name for path in (tmp_path / "d").iterdir()) == [
        "README.md",
        "decompressor.core",
        "decompressor.v",
        "protocol.py",
        "run.py",
        "test_decompressor.py",
        "unit.json",
    ]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["decompressor", "--with-bench", "uvm", "-o", "d"], "Unknown kind of bench 'uvm'. Known: cocotb."),
        (["sthld", "--with-bench", "cocotb", "-o", "d"], "outputs of sthld do not change in 400 cycles"),
        (["decompresor", "--with-bench", "cocotb", "-o", "d"], "Did you mean decompressor"),
        (
            ["decompressor", "--with-bench", "cocotb", "-o", "d.v"],
            "--output names a folder, such as d, not d.v",
        ),
        (["decompressor", "--with-bench", "cocotb", "-o", "/dev/null"], "--output names a folder"),
        (["decompressor", "--with-bench", "cocotb", "-o", "/proc/x/d"], "cannot make the folder /proc/x/d"),
    ],
)
def test_errors(arguments: list[str], sentence: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = warpbank("export", *arguments, "--preset", "tiny")
    assert done.code == 2
    assert sentence in " ".join(done.err.split()).replace("│ ", "")
    assert not any(tmp_path.iterdir())


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["ltrf", pytest.param("renaming", marks=pytest.mark.long)])
def test_the_sm_of_schemes_that_need_a_compiler(scheme: str) -> None:
    with pytest.raises(WarpbankError, match=r"it needs .* which the compiler writes"):
        folder("sm", TINY, parse_scheme(scheme), bench="cocotb")
