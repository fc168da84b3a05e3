"""Exported Verilog: the same every time, says what it is, and is taken by Verilator's lint, Yosys and, if
there, Icarus."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from warpbank.arch.config import config_hash, preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.sim.engines import toolchain
from warpbank.synth import yosys
from warpbank.synth.export import exported
from warpbank.synth.units import UNITS, make

BASELINE = parse_scheme("baseline")
TINY = preset("tiny")
ROOT = Path(__file__).parent.parent.parent


#: One warp, one bank, lanes and queues of one: where widths become zero or one.
ODD = with_overrides(
    TINY,
    [
        "lanes=1",
        "sub_cores=3",
        "sub_core.warps=1",
        "sub_core.banks=1",
        "sub_core.collectors=1",
        "l1.sets=1",
        "l1.ways=1",
        "l1.mshrs=1",
        "l1.merges=1",
        "lsu.pending=1",
        "lsu.queue=1",
        "memory.queue=1",
    ],
)

#: Units that take seconds of elaboration and passes, or the longer one of two that share their classes.
LARGE = (
    *("boc", "boc_write_through", "ccu_lru", "decompress_moves", "engine", "exempt", "inserter", "ltrf"),
    *("ltrf_plus", "release", "rfc", "renaming", "renaming_table", "scalar_registers", "sub_core", "sw_rfc"),
    "warp_control_blocks",
)


@pytest.mark.parametrize(
    "unit", [pytest.param(unit, marks=[pytest.mark.long] * (unit in LARGE)) for unit in UNITS]
)
def test_tools_take_it(unit: str, tmp_path: Path) -> None:
    """Verilator's lint, Yosys, and Icarus, if there."""
    (tmp_path / f"{unit}.v").write_text(exported(unit, TINY, BASELINE, kind=".v"))
    _lint(unit, tmp_path)
    _read(unit, tmp_path)
    if shutil.which("iverilog") is not None:
        subprocess.run(
            ["iverilog", "-g2005-sv", "-s", unit, "-o", os.devnull, str(tmp_path / f"{unit}.v")], check=True
        )


def _lint(unit: str, folder: Path) -> None:
    tool = toolchain.verilator()
    command = [
        str(tool.binary),
        "--lint-only",
        "-Wall",
        "--no-timing",
        "--top-module",
        unit,
        str(ROOT / "synth" / "lint.vlt"),
        str(folder / f"{unit}.v"),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "VERILATOR_ROOT": str(tool.root)}
    )
    assert done.returncode == 0, done.stderr


def _read(unit: str, folder: Path) -> None:
    yosys.run([f"read_verilog {unit}.v", f"hierarchy -check -top {unit}", "proc", "check -assert"], folder)


@pytest.mark.parametrize(
    "unit", ["arbiter", *(pytest.param(unit, marks=pytest.mark.long) for unit in ("ltrf", "rfc"))]
)
def test_event_ports_are_no_loops(unit: str, tmp_path: Path) -> None:
    """Where every net is public, as in cocotb's builds, Verilator looks at buses as a whole: no bit may copy
    another one."""
    (tmp_path / f"{unit}.v").write_text(exported(unit, TINY, BASELINE, kind=".v", probe=True))
    tool = toolchain.verilator()
    command = [
        str(tool.binary),
        "--lint-only",
        "-Wall",
        "--no-timing",
        "--public-flat-rw",
        "--top-module",
        unit,
        str(ROOT / "synth" / "lint.vlt"),
        str(tmp_path / f"{unit}.v"),
    ]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, "VERILATOR_ROOT": str(tool.root)}
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "unit", [pytest.param(unit, marks=[pytest.mark.long] * (unit in LARGE)) for unit in UNITS]
)
def test_odd_sizes(unit: str, tmp_path: Path) -> None:
    (tmp_path / f"{unit}.v").write_text(exported(unit, ODD, BASELINE, kind=".v"))
    _lint(unit, tmp_path)
    _read(unit, tmp_path)


@pytest.mark.parametrize("unit", ["arbiter", "ocu", "banks", "cta_dispatch"])
def test_turing(unit: str, tmp_path: Path) -> None:
    (tmp_path / f"{unit}.v").write_text(exported(unit, preset("turing"), BASELINE, kind=".v"))
    _lint(unit, tmp_path)


def test_the_sm_keeps_its_operands() -> None:
    text = exported("sm", TINY, BASELINE, kind=".v")
    assert "reg [127:0] slots_0 [" in text


def test_records_are_taken_apart() -> None:
    head = exported("ocu", TINY, BASELINE, kind=".v").partition("module ")[0]
    assert "//          uop.seq [" in head


@pytest.mark.parametrize("unit", ["ocu", "lsu", "gto"])
@pytest.mark.parametrize("kind", [".v", ".il"])
def test_the_same_every_time(unit: str, kind: str) -> None:
    text = exported(unit, TINY, BASELINE, kind=kind)
    assert text == exported(unit, TINY, BASELINE, kind=kind)
    assert str(ROOT) not in text


def test_the_head_says_what_it_is() -> None:
    config = with_overrides(TINY, ["sub_core.banks=4"])
    text = exported("banks", config, BASELINE, kind=".v")
    head = text.partition("`timescale ")[0]
    assert f"Configuration {config_hash(config)}, preset tiny, scheme baseline." in head
    assert "--set sub_core.banks=4" in head
    assert "hdl/storage/banks.py, class Banks" in head
    assert "those of `warpbank.hdl.main.ports.StoragePorts`." in head
    assert all(line.startswith("//") or not line for line in head.splitlines())
    assert "input  bank__3__row" in head


def test_masked_writes_are_loops() -> None:
    text = exported("banks", TINY, BASELINE, kind=".v")
    assert "for (lane = 0; lane <= 3; lane = lane + 1)" in text
    assert f"for (row = 0; row <= {TINY.sub_core.rows - 1}; row = row + 1)" in text


def test_collectors_are_those_of_the_scheme_that_is_asked_for() -> None:
    """Not those of the machine: a scheme may have one per warp, or let any collector take a warp."""
    config = preset("tiny")
    own = make("ccu", config, parse_scheme("malekeh-pr"))
    assert len(own.deliver) == config.sub_core.warps
    assert len(make("ccu", config, parse_scheme("malekeh")).deliver) == config.sub_core.collectors
    assert [make("ccu_lru", config, parse_scheme(f"ccu-lru-{name}")).own_unit for name in ("gto", "own")] == [
        False,
        True,
    ]
