"""The netlist after synthesis still passes the unit's bench: gates of a cell library, under Verilator, beside the golden unit.

    pytest -m long tests/cocotb/test_gates.py

The library is that of $WARPBANK_LIBERTY or of an installed PDK, else the small one of tests/synth.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from arch.config import preset, with_overrides
from arch.rooms import SmConfig
from arch.schemes import parse_scheme
from synth import flow, mapped, netlist, pdk
from synth.models import simulated
from synth.units import make
from tests.cocotb.runner import run
from tests.cocotb.test_units import BY_LANES, BY_OWN
from tests.hdl.bench import MACHINES
from tests.synth import library

#: Lanes of the units that are measured by lanes.
LANES = 4


def gates(unit: str, config: SmConfig) -> str:
    """The unit's netlist in Verilog, with event ports and models of its cells."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "small.lib").write_text(library.text())
        tools = pdk.load(pdk.find(None) or [folder / "small.lib"], folder)
        flow.coarse(netlist.to_rtlil(make(unit, config, parse_scheme("baseline"), probe=True), unit), unit, folder)
        flow.mapped(tools, unit, folder, picoseconds=900, boxes={})
        net = mapped.read(folder / "mapped.json", unit)
        mapped.check_mapped(net, tools.library)
        return simulated((folder / "mapped.v").read_text(), net, tools.library)


def bench(unit: str, work: Path) -> str:
    """The first difference of the gates from golden."""
    if unit in BY_LANES:
        config, arguments = with_overrides(preset("tiny"), [f"lanes={LANES}"]), {"lanes": LANES, "seed": 1}
    else:
        machines = BY_OWN.get(unit, MACHINES)
        machine = "tiny" if unit not in BY_OWN else next(iter(machines))
        config, arguments = machines[machine], {"machine": machine, "seed": 1}
    return run(unit, config, unit, arguments, work, mutate=lambda _: gates(unit, config))


@pytest.mark.long
@pytest.mark.parametrize("unit", ["compressor", "decompressor", "address_allocation", "ccu", "boc", "renaming_table"])
def test_gates_pass_the_bench(unit: str, tmp_path: Path) -> None:
    assert bench(unit, tmp_path) == ""
