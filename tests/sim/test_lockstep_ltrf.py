"""Golden and RTL in lockstep with a register file cache, on randomly divided random programs; slow banks
without one."""

from __future__ import annotations

import pytest

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.hierarchy.ltrf import _EVICTED, Ltrf
from warpbank.golden.values import Value
from warpbank.program.random_programs.hinted import random_for
from warpbank.program.random_programs.intervals import with_prefetches
from warpbank.program.random_programs.operations import random_trace
from warpbank.sim.engines.pysim import PysimEngine
from warpbank.sim.lockstep import lockstep

CORE = "sub_core."
CASES = [
    ("ltrf", ("cache.registers=8", "active_warps=3", "bank_latency=280", "collectors=3")),
    ("ltrf-plus", ("cache.registers=8", "active_warps=3", "cache.prefetch=bit", "replacement=on_demand")),
]
#: Each is a simulation of a whole SM in Python, so these wait for
#: `pytest -m long tests/sim/test_lockstep_ltrf.py`.
MORE = [
    ("ltrf-plus+bow-wr", ("cache.registers=8", "active_warps=3")),
    ("ltrf-plus", ("cache.registers=8", "active_warps=1", "bank_latency=630")),
    ("ltrf", ("cache.registers=16",)),
    ("ltrf-plus", ("cache.registers=8", "cache.write_back=dirty", "bank_latency=280")),
    ("ltrf-plus", ("cache.registers=32", "active_warps=4", "banks=8", "rows=64", "cache.crossing=1")),
    ("ltrf", ("cache.registers=8", "active_warps=1", "cache.prefetch=bit", "bank_latency=280")),
    ("ltrf-plus+gscalar", ("cache.registers=8", "active_warps=3", "cache.prefetch=bit")),
    ("ltrf+malekeh", ("cache.registers=8", "bank_latency=125", "collector.sthld=1")),
]


@pytest.mark.long
@pytest.mark.parametrize(
    ("scheme", "overrides"), [*CASES, *(pytest.param(*case, marks=pytest.mark.long) for case in MORE)]
)
def test_every_event_of_every_cycle(scheme: str, overrides: tuple[str, ...]) -> None:
    config = with_overrides(preset("tiny"), [CORE + override for override in overrides])
    trace = with_prefetches(
        random_trace(5, ctas=2, length=20), config.sub_core.cache.registers, 5, config.takes_bits
    )
    outcome = lockstep(trace, config, parse_scheme(scheme), PysimEngine())
    assert outcome.divergence is None, f"seed 5: {outcome.divergence.reason}"
    assert outcome.result is not None
    counters = outcome.result.counters
    assert counters["cache.reads"] > 0
    assert counters["cache.fetches"] > 0
    assert counters["rf.write_backs"] > 0
    assert counters["rf.reads"] == counters["cache.fetches"], (
        "an operand was read from the main register file"
    )
    assert counters["cache.interval_reads"] == 0


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["ltrf+renaming", "ltrf-plus+renaming+gscalar"])
@pytest.mark.parametrize("replacement", ["strict", "on_demand"])
def test_the_extra_bit_with_renaming(scheme: str, replacement: str) -> None:
    """Few physical registers: a warp that lacks some gives its place away before its bit is served."""
    chosen = parse_scheme(scheme)
    config = chosen.machine(
        with_overrides(
            preset("tiny"),
            [
                *(CORE + override for override in ("cache.registers=8", "active_warps=3", "rows=16")),
                CORE + "cache.prefetch=bit",
                f"{CORE}replacement={replacement}",
            ],
        )
    )
    outcome = lockstep(random_for(chosen, config, 3, length=20), config, chosen, PysimEngine())
    assert outcome.divergence is None, f"seed 3: {outcome.divergence.reason}"
    assert outcome.result is not None
    assert outcome.result.counters["cache.prefetches"] > 0


@pytest.mark.parametrize(
    ("scheme", "seed"), [("ltrf+renaming", 2), pytest.param("ltrf-plus+renaming", 5, marks=pytest.mark.long)]
)
def test_registers_of_one_bank_that_were_chosen_together(scheme: str, seed: int) -> None:
    """Two registers set off a cycle, of different residue classes; renaming puts such into one bank, whose
    queue takes one of them."""
    chosen = parse_scheme(scheme)
    overrides = ("cache.registers=8", "cache.crossing=1", "active_warps=3")
    config = chosen.machine(with_overrides(preset("tiny"), [CORE + override for override in overrides]))
    assert config.sub_core.transfers == 2
    outcome = lockstep(random_for(chosen, config, seed, ctas=2, length=20), config, chosen, PysimEngine())
    assert outcome.divergence is None, f"seed {seed}: {outcome.divergence.reason}"


@pytest.mark.quick("ltrf-plus*")
@pytest.mark.parametrize(
    "scheme", ["ltrf-plus+bow-wb+renaming+gscalar", "ltrf-plus+gscalar-half", "ltrf+bow-wb"]
)
def test_what_is_dirty_beside_others(scheme: str) -> None:
    """Registers that are written back if they are dirty, of which collectors evict values, and banks know
    encodings."""
    chosen = parse_scheme(scheme)
    overrides = ("cache.registers=8", "active_warps=2", "cache.write_back=dirty", "warps=3", "rows=64")
    machine = with_overrides(preset("tiny"), ["lanes=2", *(CORE + override for override in overrides)])
    config = chosen.machine(machine)
    trace = random_for(chosen, config, 1, ctas=1, warps=3, divergent="half" in scheme)
    outcome = lockstep(trace, config, chosen, PysimEngine())
    assert outcome.divergence is None, f"seed 1: {outcome.divergence.reason}"
    assert outcome.result is not None
    counters = outcome.result.counters
    assert counters["cache.reads"]
    assert counters["rf.write_backs"]
    assert counters["boc.forwards"] or "bow" not in scheme


def test_a_value_whose_register_is_released_while_it_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that a collector evicts waits for its register, which has been chosen to leave the cache; the
    register dies meanwhile, and the value is dropped."""
    write_back = Ltrf.write_back
    dropped = []

    def counted(self: Ltrf, warp: int, register: int, value: Value) -> bool:
        if self._found[_EVICTED] >= 0 and self._mapping.home(warp, register) is None:
            dropped.append(self.blocks.warps[warp].moving >> register & 1)
        return write_back(self, warp, register, value)

    monkeypatch.setattr(Ltrf, "write_back", counted)
    scheme = parse_scheme("ltrf+bow-wb+renaming")
    overrides = ("cache.registers=8", "active_warps=3", "rows=64", "bank_latency=280")
    machine = with_overrides(preset("tiny"), ["lanes=2", *(CORE + override for override in overrides)])
    config = scheme.machine(machine)
    trace = random_for(scheme, config, 136, ctas=1, warps=3, length=10, divergent=True)
    outcome = lockstep(trace, config, scheme, PysimEngine())
    assert outcome.divergence is None, f"seed 136: {outcome.divergence.reason}"
    assert any(dropped), "seed 136: no value was dropped in the cycle in which its register sets off"


@pytest.mark.long
@pytest.mark.parametrize(
    ("scheme", "latency"),
    [
        ("baseline", 630),
        *(
            pytest.param(*case, marks=pytest.mark.long)
            for case in (("baseline", 125), ("bow-wb", 125), ("bow-wb", 630))
        ),
    ],
)
def test_slow_banks(scheme: str, latency: int) -> None:
    config = with_overrides(preset("tiny"), [f"sub_core.bank_latency={latency}"])
    outcome = lockstep(random_trace(6, ctas=2, length=15), config, parse_scheme(scheme), PysimEngine())
    assert outcome.divergence is None, f"seed 6: {outcome.divergence.reason}"


@pytest.mark.long
def test_a_result_that_a_collector_takes_while_its_register_waits() -> None:
    """A register that has been chosen to leave waits for room; a collector takes the result that was to come
    of it, after which it is clean and need not be carried. Golden decided that once, when it was chosen."""
    scheme = parse_scheme("ltrf+bow-wb")
    overrides = ("cache.registers=8", "warps=3", "rows=64", "active_warps=2", "bank_latency=1600")
    config = scheme.machine(
        with_overrides(
            preset("tiny"), [CORE + override for override in (*overrides, "cache.write_back=dirty")]
        )
    )
    trace = random_for(scheme, config, 190, ctas=1, warps=3, length=12)
    outcome = lockstep(trace, config, scheme, PysimEngine())
    assert outcome.divergence is None, f"seed 190: {outcome.divergence.reason}"
