"""The netlist after synthesis still passes the unit's bench: gates of a cell library under cocotb, beside the
golden unit.

    pytest -m long tests/cocotb/test_gates.py

The library is that of $WARPBANK_LIBERTY or of an installed PDK, else the small one of tests/synth. The
simulator is Icarus where it is installed, since it reads a netlist of any size within seconds, else
Verilator.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cocotb.runner import run
from tests.hdl.bench import MACHINES
from tests.hdl.collector.boc_bench import BOCS
from tests.hdl.collector.test_ccu import machine_of
from tests.hdl.hierarchy.ltrf_bench import LTRFS
from tests.hdl.mapping.test_table import Few
from tests.synth import library
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.hdl.collector.boc import Boc
from warpbank.hdl.collector.ccu import Ccu
from warpbank.hdl.hierarchy.allocation import AddressAllocation
from warpbank.hdl.storage.compressor import Compressor
from warpbank.hdl.storage.decompressor import Decompressor
from warpbank.synth import flow, mapped, netlist, pdk
from warpbank.synth.models import simulated

#: Lanes of the units that are measured by lanes, and their machine.
LANES = 4
BY_LANES = with_overrides(preset("tiny"), [f"lanes={LANES}"])
#: A caching collector for each of two warps of one lane.
CCU = ("sthld=8", "sub_core.warps=2", "sub_core.collectors=2")


@dataclass(frozen=True)
class Case:
    """A unit at a small size: its machine, how it is made, its bench's name and arguments."""

    config: SmConfig
    make: Callable[[SmConfig], Any]
    bench: str
    arguments: dict[str, object]


CASES = {
    "compressor": Case(BY_LANES, Compressor, "compressor", {"lanes": LANES, "seed": 1}),
    "decompressor": Case(BY_LANES, Decompressor, "decompressor", {"lanes": LANES, "seed": 1}),
    "address_allocation": Case(
        LTRFS["one"],
        lambda config: AddressAllocation(config.sub_core.cache.registers),
        "address_allocation",
        {"machine": "one", "seed": 1},
    ),
    "ccu": Case(
        machine_of("single", CCU),
        lambda config: Ccu(config, probe=True),
        "ccu",
        {"machine": "single", "seed": 1, "overrides": CCU},
    ),
    "boc": Case(BOCS["half"], lambda config: Boc(config, probe=True), "boc", {"machine": "half", "seed": 1}),
    "renaming_table": Case(
        MACHINES["odd"], lambda config: Few(config, 3), "renaming_table_few", {"machine": "odd", "seed": 1}
    ),
}


def gates(unit: str, case: Case) -> str:
    """The unit's netlist in Verilog, with event ports and models of its cells."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "small.lib").write_text(library.text())
        tools = pdk.load(pdk.find(None) or [folder / "small.lib"], folder)
        flow.coarse(netlist.to_rtlil(case.make(case.config), unit), unit, folder)
        flow.mapped(tools, unit, folder, picoseconds=900, boxes={})
        net = mapped.read(folder / "mapped.json", unit)
        mapped.check_mapped(net, tools.library)
        return simulated((folder / "mapped.v").read_text(), net, tools.library)


@pytest.fixture(autouse=True)
def simulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Icarus, where it is."""
    if shutil.which("iverilog") and shutil.which("vvp"):
        monkeypatch.setenv("WARPBANK_SIMULATOR", "icarus")


def bench(unit: str, work: Path, change: Callable[[str], str] = str) -> str:
    """The first difference of the gates, changed, from golden."""
    case = CASES[unit]
    return run(unit, case.config, case.bench, case.arguments, work, text=change(gates(unit, case)))


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("unit", CASES)
def test_gates_pass_the_bench(unit: str, tmp_path: Path) -> None:
    assert bench(unit, tmp_path) == ""


@pytest.mark.long
@pytest.mark.parametrize("unit", ["decompressor", "renaming_table"])
def test_wrong_gates_are_caught(unit: str, tmp_path: Path) -> None:
    """Every NAND is an AND."""

    def broken(verilog: str) -> str:
        changed = verilog.replace("4'h7", "4'h8")
        assert changed != verilog
        return changed

    assert "AssertionError" in bench(unit, tmp_path, broken)
