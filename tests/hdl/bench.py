"""Running a component in the Amaranth simulator, and the settings of the property tests."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from amaranth.sim import Simulator
from hypothesis import HealthCheck, settings, strategies

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.golden.probe import Probe
from warpbank.golden.stream import PREDICATE_BIT, TraceUop
from warpbank.hdl.probe import event_ports

#: Every example elaborates and simulates, so there are few; the seed in a failure's report is all that made
#: it.
FEW = settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
SEEDS = strategies.integers(0, 2**32 - 1)

#: Machines the units are tried on: the tiny one, odd ones, and the wide ones where a unit's size matters.
ODD = (
    "sub_core.warps=3",
    "sub_core.banks=1",
    "sub_core.collectors=3",
    "sub_core.front_end.buffer_entries=3",
    "sub_core.front_end.branch_hold=0",
    "lanes=2",
    "sub_core.execute.result_queue=3",
)
MACHINES: dict[str, SmConfig] = {
    "tiny": preset("tiny"),
    "odd": with_overrides(preset("tiny"), list(ODD)),
    "single": with_overrides(
        preset("tiny"),
        [
            "sub_core.warps=1",
            "sub_core.collectors=1",
            "sub_core.front_end.buffer_entries=1",
            "lanes=1",
            "sub_core.execute.result_queue=1",
        ],
    ),
    "per_warp": with_overrides(
        preset("tiny"),
        [
            "sub_core.warps=5",
            "sub_core.collectors=5",
            "sub_core.banks=8",
            "sub_core.collector.allocation=per_warp",
            "sub_core.front_end.branch_hold=7",
        ],
    ),
}
machines = strategies.sampled_from(list(MACHINES))


def simulate(component: Any, bench: Callable[[Any], Awaitable[None]]) -> None:
    """Run `bench` on a clocked component. It starts with everything in its initial state."""
    simulator = Simulator(component)
    simulator.add_clock(1e-6)
    simulator.add_testbench(bench)
    simulator.run()


def fails(lockstep: Callable[[int], None], seeds: int = 3) -> bool:
    """Whether a mutant's lockstep breaks for one of the first seeds."""
    for seed in range(seeds):
        try:
            lockstep(seed)
        except AssertionError:
            return True
    return False


def seen(ctx: Any, events: Any) -> list[tuple[str, tuple[int, ...]]]:
    """The events of this cycle, sorted."""
    return sorted(
        (port.name, tuple(ctx.get(signal) for signal in port.fields))
        for port in event_ports(events)
        if ctx.get(port.valid)
    )


class Log:
    """A golden probe and what it reported since it was last asked."""

    def __init__(self) -> None:
        self._events: list[tuple[str, tuple[int, ...]]] = []
        self.probe = Probe(0, lambda event: self._events.append((event[2], event[3])))

    def take(self) -> list[tuple[str, tuple[int, ...]]]:
        """The events since the last call, sorted."""
        events, self._events = sorted(self._events), []
        return events


def make_uop(warp: int, seq: int, **fields: Any) -> TraceUop:
    """A golden uop with the given fields; hazards and writes follow from them."""
    uop = TraceUop.__new__(TraceUop)
    defaults: dict[str, Any] = {
        "sub_core": 0,
        "pc": seq,
        "unit": 0,
        "sources": (),
        "destination": 0,
        "count": 0,
        "predicates_read": 0,
        "predicates_written": 0,
        "mask": 1,
        "lane_mask": 1,
        "memory": 0,
        "control": 0,
        "collects": True,
        "arrive": False,
        "wait": False,
        "last": False,
        "barrier": 0,
        "barrier_warps": 0,
        "lines": [],
        "passes": 0,
        "written": 0,
        "values": [],
        "operands": [],
        "metadata": [],
        "retired": False,
        "write_back": 3,
        "near": 0,
        "dead": 0,
        "releases": 0,
        "covered": None,
        "scalar": 0,
        "fresh": 0,
        "part": False,
        "enters": False,
    }
    for name, value in {**defaults, **fields, "warp": warp, "seq": seq}.items():
        setattr(uop, name, value)
    writes = ((1 << uop.count) - 1) << uop.destination | uop.predicates_written << PREDICATE_BIT
    uop.writes = writes if uop.collects else 0
    uop.hazard = (
        writes | uop.predicates_read << PREDICATE_BIT | sum(1 << register for register in uop.sources)
    )
    return uop


def uop_record(uop: TraceUop) -> dict[str, Any]:
    """The `uop_layout` record of a golden uop."""
    names = (
        "seq",
        "pc",
        "unit",
        "destination",
        "count",
        "predicates_read",
        "predicates_written",
        "memory",
        "control",
        "collects",
        "arrive",
        "wait",
        "barrier",
        "barrier_warps",
        "last",
        "passes",
        "write_back",
        "near",
        "dead",
    )
    return {
        **{name: int(getattr(uop, name)) for name in names},
        "sources": [*uop.sources, *(0 for _ in range(6 - len(uop.sources)))],
        "source_valid": (1 << len(uop.sources)) - 1,
        "mask": uop.lane_mask,
        "lines": len(uop.lines),
    }
