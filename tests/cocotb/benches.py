"""What runs inside the simulator: one cocotb test, which calls the bench that the environment names.

The benches are those of tests/hdl, in which a unit runs beside its golden twin; `tests.cocotb.stand_in` takes
the place of Amaranth's simulator under them, so it must be there before they are imported.
"""

from __future__ import annotations

import json
import os
import random
from typing import Any

import amaranth.sim
import cocotb
from cocotb._bridge import bridge

from tests.cocotb import stand_in

amaranth.sim.Simulator = stand_in.Simulator  # type: ignore[misc, assignment]

from tests.cocotb import memory_bench, sm_bench
from tests.hdl import test_cta_dispatch, test_lfsr
from tests.hdl.bench import MACHINES
from tests.hdl.collector import test_boc, test_ccu, test_ocu, test_window
from tests.hdl.execute import test_l1, test_lsu, test_pipelines, test_result_arbiter, test_scalar
from tests.hdl.front_end import (
    test_barrier,
    test_instruction_buffer,
    test_issue_stage,
    test_schedulers,
    test_scoreboard,
    test_sthld,
    test_two_level,
)
from tests.hdl.hierarchy import (
    ltrf_bench,
    rfc_bench,
    test_allocation,
    test_engine,
    test_flat,
    test_places,
    test_rfc,
    test_scalar_file,
    test_wcb,
)
from tests.hdl.hierarchy.ltrf_bench import LTRFS
from tests.hdl.main import test_arbiter
from tests.hdl.mapping import (
    test_availability,
    test_deadlock_reserve,
    test_exempt,
    test_flag_cache,
    test_operand_lookup,
    test_release,
    test_renaming,
    test_table,
)
from tests.hdl.storage import test_banks, test_codec, test_decompress_moves, test_gscalar
from warpbank.arch.config import SmConfig, preset, with_overrides
from warpbank.hdl.storage.bdi_banks import BdiBanks


def _config(overrides: list[str]) -> SmConfig:
    return with_overrides(preset("tiny"), overrides)


def _same(difference: str) -> None:
    assert not difference, difference


def _scoreboard(machine: str, seed: int) -> None:
    """The bench draws the number of collectors from its seed first; go on to a seed that draws the one that
    was exported."""
    collectors = MACHINES[machine].sub_core.collectors
    while random.Random(seed).choice((1, 2, 5)) != collectors:
        seed += 1
    test_scoreboard.lockstep(machine, seed)


def _availability(machine: str, seed: int) -> None:
    core = MACHINES[machine].sub_core
    test_availability.lockstep(core.warp_registers, core.mapping.policy, core.subarray_registers, seed)


def _two_level(machine: str, seed: int) -> None:
    core = MACHINES[machine].sub_core
    test_two_level.lockstep(core.warps, core.active_warps, seed, probe=False)


def _tags(overrides: list[str], seed: int) -> None:
    l1 = _config(overrides).l1
    test_l1.test_tags.hypothesis.inner_test(l1.sets, l1.ways, l1.sectors, False, seed)


def _mshrs(overrides: list[str], seed: int) -> None:
    config = _config(overrides)
    test_l1.test_mshrs.hypothesis.inner_test(
        config.l1.mshrs, config.l1.merges, config.lsu.pending, config.l1.sectors, seed
    )


BENCHES: dict[str, Any] = {
    "arbiter": test_arbiter.lockstep,
    "boc_arbiter": test_arbiter.boc_lockstep,
    "ocu": test_ocu.lockstep,
    "boc": test_boc.lockstep,
    "boc_write_through": lambda machine, seed: test_boc.lockstep(machine, seed, test_boc.WriteThrough),
    "inserter": test_window.lockstep,
    "scoreboard": _scoreboard,
    "ccu": lambda machine, seed, overrides=("sthld=8",): test_ccu.lockstep(
        machine, seed, overrides=tuple(overrides)
    ),
    "ccu_lru": lambda machine, seed: test_ccu.lockstep(machine, seed, test_ccu.LRU),
    "lfsr": lambda machine, seed: test_lfsr.lockstep(MACHINES[machine].sub_core.collector.seed, draw=seed),
    "sthld": lambda overrides, seed: test_sthld.lockstep(overrides, seed),
    "lrr": lambda machine, seed: test_schedulers.lockstep("lrr", MACHINES[machine].sub_core.warps, seed),
    "gto": lambda machine, seed: test_schedulers.lockstep("gto", MACHINES[machine].sub_core.warps, seed),
    "cache_aware": lambda machine, seed: test_schedulers.lockstep(
        "cache_aware", MACHINES[machine].sub_core.warps, seed
    ),
    "two_level": _two_level,
    "issue_stage": lambda machine, seed: test_issue_stage.lockstep(
        MACHINES[machine].sub_core.warps, seed, stages=1
    ),
    # Of each four seeds that one draws the buffers that were exported.
    "instruction_buffers": lambda machine, seed, flags="off": test_instruction_buffer.lockstep(
        machine, seed & ~3 | 1, flags=flags
    ),
    "registers": test_flat.lockstep,
    "ltrf": lambda machine, seed: ltrf_bench.Bench("ltrf", machine, seed).run(),
    "ltrf_plus": lambda machine, seed: ltrf_bench.Bench("ltrf-plus", machine, seed).run(),
    "rfc": lambda machine, seed: rfc_bench.lockstep("rfc", machine, seed),
    "sw_rfc": lambda machine, seed: rfc_bench.lockstep("sw-rfc", machine, seed),
    "tag_row": lambda overrides, seed: test_rfc.tag_lockstep(
        _config(overrides).sub_core.cache.replacement, seed
    ),
    "departing": lambda overrides, seed: test_rfc.buffer_lockstep(seed),
    "warp_control_blocks": test_wcb.lockstep,
    "address_allocation": lambda machine, seed: test_allocation.lockstep(
        LTRFS[machine].sub_core.cache.registers, seed
    ),
    "places": lambda machine, seed: test_places.lockstep(
        LTRFS[machine].sub_core.cache.registers, LTRFS[machine].sub_core.transfers, seed
    ),
    "engine": lambda machine, seed: test_engine.lockstep(machine, seed),
    "banks": test_banks.lockstep,
    "renaming": lambda machine, seed: test_renaming.lockstep(machine, seed, small=False),
    "renaming_table": test_table.lockstep,
    "renaming_table_1k": lambda machine, seed: test_table.lockstep(machine, seed, test_table.Few),
    "renaming_table_few": lambda machine, seed: test_table.lockstep(machine, seed, test_table.Few),
    "availability": _availability,
    "operand_lookup": test_operand_lookup.lockstep,
    "release": lambda machine, seed: test_release.lockstep(
        machine, MACHINES[machine].sub_core.collectors, seed, movers=0
    ),
    "exempt": test_exempt.lockstep,
    "deadlock_reserve": test_deadlock_reserve.lockstep,
    "flag_cache": lambda machine, seed: test_flag_cache.lockstep(MACHINES[machine].sub_core.warps, seed),
    "compressor": lambda lanes, seed: test_codec.compressor(lanes, 1, seed),
    "compressor_broadcast": test_codec.broadcast,
    "compressor_half": lambda lanes, seed: test_codec.compressor(lanes, 2, seed),
    "decompressor": lambda lanes, seed: test_codec.decompressor(lanes, 1, seed),
    "decompressor_half": lambda lanes, seed: test_codec.decompressor(lanes, 2, seed),
    "bdi_compressor": test_codec.bdi_compressor,
    "bdi_decompressor": test_codec.bdi_decompressor,
    "gscalar": test_gscalar.lockstep,
    "bdi_banks": lambda lanes, seed: test_gscalar.lockstep(lanes, seed, BdiBanks),
    "decompress_moves": test_decompress_moves.lockstep,
    "scalar_lanes": lambda machine, seed: test_scalar.lockstep(machine, seed, 1),
    "scalar_registers": test_scalar_file.lockstep,
    "pipelines": lambda machine, seed: test_pipelines.lockstep(machine, seed & ~1),  # an odd one changes it
    "result_arbiter": test_result_arbiter.lockstep,
    "lsu": lambda overrides, seed: _same(test_lsu.compare(_config(overrides), seed, 300, 12, 4, 0.3)),
    "l1_tags": _tags,
    "mshrs": _mshrs,
    "memory": lambda overrides, seed: memory_bench.lockstep(_config(overrides), seed),
    "barriers": lambda overrides, seed: _same(test_barrier.compare(_config(overrides), seed, 150)),
    "cta_dispatch": lambda overrides, seed: _same(test_cta_dispatch.compare(_config(overrides), seed)),
}
#: Benches that are cocotb's own coroutines.
COROUTINES: dict[str, Any] = {"sm": sm_bench.lockstep}


@cocotb.test()
async def bench(_: Any) -> None:
    """Run it."""
    order = json.loads(os.environ["WARPBANK_BENCH"])
    cocotb.log.info("bench %s", order)
    name, arguments = order["bench"], order["arguments"]
    if name in COROUTINES:
        await COROUTINES[name](**arguments)
    else:
        await bridge(BENCHES[name])(**arguments)
