"""Exported Verilog of every unit with logic in it, driven by cocotb beside the golden unit, and mutants that
must be caught."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from _pytest.mark.structures import ParameterSet

from tests.cocotb.runner import run
from tests.hdl.bench import MACHINES
from tests.hdl.collector.boc_bench import BOCS
from tests.hdl.collector.test_window import MACHINES as WINDOWS
from tests.hdl.hierarchy.ltrf_bench import LTRFS
from tests.hdl.hierarchy.rfc_bench import RFCS
from tests.hdl.mapping.test_renaming import SMALL as RENAMING
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig

#: Units whose bench takes a machine of tests/hdl/bench.py.
BY_MACHINE = (
    "arbiter",
    "ocu",
    "ccu",
    "ccu_lru",
    "lfsr",
    "scoreboard",
    "lrr",
    "gto",
    "cache_aware",
    "two_level",
    "issue_stage",
    "instruction_buffers",
    "registers",
    "banks",
    "pipelines",
    "result_arbiter",
    "renaming_table",
    "renaming_table_1k",
    "availability",
    "operand_lookup",
    "release",
    "exempt",
    "deadlock_reserve",
    "flag_cache",
    "decompress_moves",
    "scalar_lanes",
    "scalar_registers",
)
#: Units whose bench takes a machine of its own, and the ones they are tried with.
BY_OWN: dict[str, dict[str, SmConfig]] = {
    "boc": {name: BOCS[name] for name in ("half", "single")},
    "boc_arbiter": {name: BOCS[name] for name in ("half", "single")},
    "boc_write_through": {name: BOCS[name] for name in ("narrow", "single")},
    "renaming": RENAMING,
    "inserter": {name: WINDOWS[name] for name in ("3 half", "2 full")},
    **{unit: {name: LTRFS[name] for name in ("one", "fast")} for unit in ("ltrf", "ltrf_plus")},
    **{
        unit: {name: LTRFS[name] for name in ("fast", "slow")}
        for unit in ("warp_control_blocks", "address_allocation", "places", "engine")
    },
    **{unit: {name: RFCS[name] for name in ("fast", "slow")} for unit in ("rfc", "sw_rfc")},
}
#: Units whose bench takes a configuration, and the one they are tried with.
BY_CONFIG: dict[str, list[str]] = {
    "lsu": ["sub_cores=2", "l1.sectors=4", "memory.l2_sectors=4"],
    "l1_tags": ["l1.sectors=4"],
    "mshrs": ["l1.sectors=4"],
    "memory": ["memory.l2_sectors=4"],
    "barriers": ["sub_cores=2", "sub_core.warps=3"],
    "tag_row": ["sub_core.cache.registers=8", "sub_core.cache.replacement=lru"],
    "departing": [],
    "sthld": ["sub_cores=2", "sub_core.collector.sthld_interval=16"],
    "cta_dispatch": ["sub_cores=3", "sub_core.warps=3", "sub_core.rows=64", "cta.shared_bytes=1000"],
}
#: Units whose bench takes a number of lanes.
BY_LANES = (
    "compressor",
    "compressor_broadcast",
    "compressor_half",
    "decompressor",
    "decompressor_half",
    "bdi_compressor",
    "bdi_decompressor",
    "gscalar",
    "bdi_banks",
)
LANES = 8


def bench(unit: str, machine: str, seed: int, work: Path, mutate: Callable[[str], str] | None = None) -> str:
    """The first difference of the unit from golden."""
    if unit in BY_LANES:
        config = with_overrides(preset("tiny"), [f"lanes={LANES}"])
        return run(unit, config, unit, {"lanes": LANES, "seed": seed}, work, mutate=mutate)
    if unit in BY_OWN:
        machine = list(BY_OWN[unit])[machine != "tiny"]
    if unit not in BY_CONFIG:
        config = BY_OWN.get(unit, MACHINES)[machine]
        return run(unit, config, unit, {"machine": machine, "seed": seed}, work, mutate=mutate)
    overrides = BY_CONFIG[unit]
    return run(
        unit,
        with_overrides(preset("tiny"), overrides),
        unit,
        {"overrides": overrides, "seed": seed},
        work,
        mutate=mutate,
    )


#: Benches of the default suite. Each is a Verilator build of its own, so the others wait for
#: `pytest -m long tests/cocotb`.
QUICK = ("gto",)


def some(units: list[str]) -> list[ParameterSet]:
    """All units, those that are not quick marked long."""
    return [pytest.param(unit, marks=[] if unit in QUICK else [pytest.mark.long]) for unit in units]


@pytest.mark.parametrize("unit", some([*BY_MACHINE, *BY_OWN, *BY_CONFIG, *BY_LANES]))
def test_equals_golden(unit: str, tmp_path: Path) -> None:
    assert bench(unit, "tiny", 1, tmp_path) == ""


def replaced(pattern: str, text: str, count: int = 1) -> Callable[[str], str]:
    """A mutation of Verilog: the first matches of a regular expression, or all for 0, become `text`."""
    return lambda verilog: re.sub(pattern, text, verilog, count=count)


#: One per family: a register of the front end that forgets, a conflict unseen, a lane mask ignored, a wrong
#: way of a set, an overwritten value that is written back all the same, an address given back under a wrong
#: name, a register released while its result is on its way, ...
MUTANTS: dict[str, Callable[[str], str]] = {
    "lrr": replaced(r"else if \(([^)]*)\) (\w+) <= ", r"else if (0) \2 <= "),
    "arbiter": replaced(r"\(~ written\)", "(~ opening)"),
    "banks": replaced(r"if \(([^()]*)\[lane\]\)", r"if (\1[0])"),
    "l1_tags": replaced(r"assign hit = ([^;]*);", r"assign hit = ~(\1);"),
    "address_allocation": replaced(r"<= address;", "<= head;"),
    "tag_row": replaced(r"drop \? ripe : (\w+'h0+)", r"\1"),
    "departing": replaced(r"= fresh \? value : kept;", "= value;"),
    "inserter": replaced(r"assign clean = [^;]*\| taken;", "assign clean = taken;"),
    "release": replaced(r"assign waiting_(\d+) = (\w+) & \(~ writing_\1\);", r"assign waiting_\1 = \2;", 0),
    "result_arbiter": replaced(r"else if \(([^)]*)\) (\w+) <= ", r"else if (0) \2 <= "),
}


@pytest.mark.long
@pytest.mark.parametrize("unit", MUTANTS)
def test_mutants_are_caught(unit: str, tmp_path: Path) -> None:
    assert "AssertionError" in bench(unit, "tiny", 1, tmp_path, MUTANTS[unit])


@pytest.mark.long
@pytest.mark.parametrize("machine", ["tiny", "single"])
def test_instruction_buffers_with_release_flags(machine: str, tmp_path: Path) -> None:
    """Flag instructions are fetched, and skipped where the cache has them."""
    config = with_overrides(MACHINES[machine], ["sub_core.mapping.release_flags=on"])
    arguments = {"machine": machine, "seed": 1, "flags": "on"}
    assert run("instruction_buffers", config, "instruction_buffers", arguments, tmp_path) == ""


@pytest.mark.long
@pytest.mark.parametrize("machine", ["tiny", "single"])
@pytest.mark.parametrize("unit", [*BY_MACHINE, *BY_OWN, *BY_CONFIG])
def test_more_seeds(unit: str, machine: str, tmp_path: Path, drawn: random.Random) -> None:
    assert bench(unit, machine, drawn.getrandbits(32), tmp_path) == ""
