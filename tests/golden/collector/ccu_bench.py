"""One sub-core's caching collectors by themselves, driven cycle by cycle, with the registers and units they
talk to."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tests.hdl.bench import make_uop
from warpbank.arch.config import preset, with_overrides
from warpbank.arch.uop import Unit
from warpbank.golden.collector.caching_unit import CachingUnit
from warpbank.golden.collector.ccu import Ccu
from warpbank.golden.probe import Probe
from warpbank.golden.storage.metadata import EMPTY
from warpbank.golden.stream import TraceUop

#: Collectors of the sub-core.
ONE, TWO = "sub_core.collectors=1", "sub_core.collectors=2"
#: Bit of a uop's `near` that speaks of its result.
RESULT = 0b100_0000
ALL = 0b1111


def value(register: int, version: int = 0) -> np.ndarray:
    """What a register holds on the four lanes of `tiny`."""
    return np.arange(4, dtype=np.uint32) + np.uint32(1000 * register + 100 * version)


#: Units under customary policies, of which a warp keeps its own; and any of which may serve any uop.
LRU = partial(Ccu, far_first=False)
ANY = partial(Ccu, far_first=False, own_unit=False)


class Bench:
    """`Ccu` with everything around it played by lists.

    Parameters
    ----------
    overrides : of `sub_core.collector`, or whole paths.
    kind : what makes the collectors, if it is not `Bench.kind`.
    """

    #: The class of the collectors; tests put broken ones here.
    kind: Callable[..., Ccu] = Ccu

    def __init__(self, *overrides: str, kind: Callable[..., Ccu] | None = None) -> None:
        paths = [each if "." in each else f"sub_core.collector.{each}" for each in overrides]
        config = with_overrides(preset("tiny"), paths)
        self.events: list[tuple[str, tuple[int, ...]]] = []
        self.requests: list[tuple[int, int, int, int]] = []  # (unit, slot, warp, register)
        self.done: list[tuple[int, int]] = []  # operands read: (warp, register)
        self.dispatched: list[tuple[int, TraceUop]] = []
        probe = Probe(0, lambda event: self.events.append(event[2:]))
        self.ccu = (kind or self.kind)(config, self, self._done, probe)
        self.cycle = self._seq = 0

    # --- What the collectors call.

    def _done(self, warp: int, register: int) -> None:
        self.done.append((warp, register))

    def read(self, collector: int, slot: int, uop: TraceUop, register: int) -> None:
        """An operand is requested."""
        self.requests.append((collector, slot, uop.warp, register))

    def accepts(self, unit: int, cycle: int) -> bool:
        """All units always do."""
        return True

    def dispatch(self, uop: TraceUop, collector: int, cycle: int) -> None:
        """A unit takes a uop."""
        self.dispatched.append((collector, uop))

    # --- What a test does.

    def uop(
        self,
        warp: int,
        *sources: int,
        near: int = 0,
        mask: int = ALL,
        destination: int = 99,
        count: int = 1,
        unit: Unit = Unit.ALU,
    ) -> TraceUop:
        """A uop. `near`: a bit per source, and `RESULT`."""
        self._seq += 1
        return make_uop(
            warp,
            self._seq,
            sources=sources,
            near=near,
            lane_mask=mask,
            destination=destination,
            count=count,
            unit=unit,
        )

    def edge(self) -> None:
        """The clock edge."""
        self.ccu.edge()
        self.cycle += 1

    def issue(self, uop: TraceUop) -> int:
        """Issue a uop, which must be allowed, and end the cycle. Returns its unit."""
        assert self.ccu.may_issue >> uop.warp & 1, f"warp {uop.warp} may not issue"
        self.ccu.allocate(uop)
        number = self.ccu._owned[uop.warp]
        self.edge()
        return number

    def deliver(self) -> None:
        """All that was requested arrives from the second cycle after the request on, one value per unit and
        cycle, each version 0."""
        if self.requests:
            self.edge()
        while self.requests:
            ports = set()
            for request in list(self.requests):
                unit, slot, _, register = request
                if unit not in ports:
                    ports.add(unit)
                    self.requests.remove(request)
                    self.ccu.deliver(unit, slot, 0, value(register), EMPTY)
            self.edge()

    def go(self) -> list[tuple[int, TraceUop]]:
        """A cycle in which all complete uops are dispatched."""
        self.dispatched.clear()
        self.ccu.dispatch(self.cycle, self)  # type: ignore[arg-type]
        self.edge()
        return list(self.dispatched)

    def run(self, uop: TraceUop) -> list[np.ndarray]:
        """Issue, collect and dispatch. Returns the operands."""
        self.issue(uop)
        self.deliver()
        self.go()
        return uop.operands

    def results(self, *results: tuple[TraceUop, int, int], edge: bool = True) -> None:
        """Results of different units in one cycle, in this order: (uop, register, version). With `edge` that
        cycle and the one in which they are written into the table end."""
        self.ccu.claim([(kind, uop, register) for kind, (uop, register, _) in enumerate(results)])
        for kind, (uop, register, version) in enumerate(results):
            self.ccu.result(kind, uop, register, value(register, version))
        if edge:
            self.edge()
            self.edge()

    def held(self, number: int) -> set[int]:
        """Registers in a unit's table."""
        return {line.register for line in self.unit(number).table.lines if line.valid}

    def near(self, number: int) -> set[int]:
        """Those of them whose reuse is near."""
        return {line.register for line in self.unit(number).table.lines if line.valid and line.near}

    def unit(self, number: int) -> CachingUnit:
        """A unit."""
        return self.ccu.units[number]

    def take(self, name: str) -> list[tuple[int, ...]]:
        """Fields of the events of that name since the last call of `take`."""
        found = [values for event, values in self.events if event == name]
        self.events.clear()
        return found


def owner(*overrides: str, kind: Callable[..., Ccu] | None = None) -> Bench:
    """The only unit is warp 0's, with registers 1 (near), 2 and 3 (far)."""
    bench = Bench(ONE, *overrides, kind=kind)
    bench.run(bench.uop(0, 1, 2, 3, near=0b001))
    bench.take("")
    return bench
