"""Scoreboard: registers and predicates of each warp that are still to be written or read."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from functools import reduce
from operator import or_
from typing import Protocol

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import DISTANT, MAX_DESTINATIONS, MAX_SOURCES, PREDICATES, Unit
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.front_end.instruction_buffer import Hazards, HazardsInterface
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    ReadDone,
    ReadDoneInterface,
    Retired,
    RetiredInterface,
    Written,
    WrittenInterface,
    issue_stream,
    optional,
)
from warpbank.hdl.layouts import REGISTER_WIDTH, UNITS
from warpbank.hdl.round_robin import decode
from warpbank.hdl.typed import Interface


class Pending(IntEnum):
    """Bits that the scoreboard keeps of a register.

    A write of it is pending; the load/store unit owes it; it comes from beyond the SM.
    """

    WRITE = 0
    MEMORY = 1
    DISTANT = 2


class Owed(wiring.Signature):
    """Query of the scoreboard whether a write of a register is pending.

    Seen from who asks. The answer is combinational from registers and the question.

    Members
    -------
    warp : Out(bits(warps)). Warp of the register.
    register : Out(8). Number of the register.
    pending : In(1). A write of it is pending.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"warp": Out(config.sub_core.warp_width), "register": Out(REGISTER_WIDTH), "pending": In(1)}
        )


class OwedInterface(Interface, Protocol):
    """Interface object of the signature `Owed`."""

    warp: Signal
    register: Signal
    pending: Signal


class Scoreboard(wiring.Component):
    """Scoreboard of a sub-core: pending register writes, predicate writes and operand reads of every warp.

    Pending writes are RAW and WAW hazards, some of them owed by the load/store unit; pending reads are WAR
    hazards.

    A register has at most one pending write (a second one would be a WAW hazard): two bits per register and
    warp, pending and of the load/store unit, looked up for every register of every warp's first uop. Pending
    reads are not counted per register, as in golden, but kept per uop in collection: its source registers,
    and which of them are still to be read. A destination is compared with those of its own warp. The outcome
    is the same, at collectors x slots comparators instead of warps x 256 counters.

    Parameters
    ----------
    config : the machine.
    entries : uops that can be in collection at a time.
    writes : registers that can be written in a cycle; by default one per bank.
    per_warp : every warp has entries / warps of them to itself, in order.
    far : generate `distant`, at a third bit per register and warp.
    asked : registers that are asked for in a cycle besides.

    Members
    -------
    hazards : In(Hazards) per warp. Registers and predicates of the warp's first uop.
    blocked : Out(warps). Warps whose first uop has a hazard. Combinational from registers and `hazards`.
    memory : Out(warps). Warps whose first uop waits for a result of the load/store unit.
    quiet : Out(warps). Warps all of whose issued uops have read their operands. From registers.
    distant : Out(warps), no bit wide if not `far`. Warps whose first uop waits for a register's value from
        beyond the SM.
    issue : In(issue_stream). A uop that collects issues: what it reads and writes is pending from the next
        cycle on.
    writes : In(4). Which destinations of its warp's first uop it writes, the first one lowest.
    coming : In(bits(warps)), if the machine has two issue stages or more. Warp whose uop may issue in the
        next cycle.
    entry : In(bits(entries)). Number of that uop among those in collection.
    read : In(ReadDone) per entry. Operands were read.
    written : In(Written) per write. A register was written.
    retired : In(Retired) per unit. Predicates were written.
    owed : In(Owed) per `asked`. Query whether a write of some register is pending.

    Latency: what is set or released in cycle t counts from t + 1.

    Raises
    ------
    TypeError : `entries` is no positive number.
    """

    hazards: list[HazardsInterface]
    blocked: Signal
    memory: Signal
    quiet: Signal
    issue: AlwaysInterface
    writes: Signal
    coming: Signal
    entry: Signal
    read: list[ReadDoneInterface]
    written: list[WrittenInterface]
    retired: list[RetiredInterface]
    distant: Signal
    owed: list[OwedInterface]

    #: Registers of a warp, RZ among them. The proofs make it smaller; register numbers are then taken modulo
    #: it.
    registers = 256

    def __init__(
        self,
        config: SmConfig,
        entries: int,
        writes: int | None = None,
        per_warp: bool = False,
        far: bool = False,
        asked: int = 0,
    ) -> None:
        if type(entries) is not int or entries < 1:
            raise TypeError(
                f"Scoreboard needs the number of uops that can be in collection, at least 1, not {entries!r}."
            )
        self._config = config
        self._far = far
        self._asked = asked
        self._share = entries // config.sub_core.warps if per_warp else 0
        core = config.sub_core
        super().__init__(
            {
                "hazards": In(Hazards()).array(core.warps),
                "blocked": Out(core.warps),
                "memory": Out(core.warps),
                "quiet": Out(core.warps),
                "distant": Out(core.warps if far else 0),
                "issue": In(issue_stream(config)),
                "writes": In(MAX_DESTINATIONS),
                **({"coming": In(core.warp_width)} if core.front_end.issue_stages > 1 else {}),
                "entry": In(range(max(2, entries))),
                "read": In(ReadDone(config)).array(entries),
                "written": In(Written(config)).array(core.banks if writes is None else writes),
                "retired": In(Retired(config)).array(UNITS),
                "owed": In(Owed(config)).array(asked),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps = self._config.sub_core.warps
        self._owed: list[list[Value]] = [[] for _ in range(self._asked)]
        issued = decode(m, self.issue.payload.warp, self.issue.valid, warps, "issued")
        predicates = self._predicates(m)
        reads = self._reads(m)
        destinations = self._destinations(m)
        blocked: list[Value] = []
        memory: list[Value] = []
        distant: list[Value] = []
        for warp, hazards in enumerate(self.hazards):
            pending = self._registers(m, warp, issued[warp], destinations, hazards)
            for place, masks in enumerate(predicates):
                pending[place] = (
                    pending[place] | (masks.word_select(warp, PREDICATES + 1) & hazards.predicates).any()
                )
            blocked.append(pending[Pending.WRITE])
            memory.append(pending[Pending.MEMORY])
            distant += pending[Pending.DISTANT :]
        m.d.comb += self.blocked.eq(Cat(blocked) | reads)
        m.d.comb += self.memory.eq(Cat(memory))
        for owed, found in zip(self.owed, self._owed, strict=True):
            m.d.comb += owed.pending.eq(Array(found)[owed.warp])
        if self._far:
            m.d.comb += self.distant.eq(Cat(distant))
        return m

    def _destinations(self, m: Module) -> list[Value]:
        """Registers that a uop which issues may write: those of its warp's first uop, added up before, and
        with two issue stages looked up before."""
        of_warps = Array(hazards.registers.as_value() for hazards in self.hazards)
        first: Value = of_warps[self.issue.payload.warp]
        for coming in optional(self, "coming"):
            first = Signal(len(first), name="registers_of_coming", reset_less=True)
            m.d.sync += first.eq(of_warps[coming])
        return [first.word_select(MAX_SOURCES + number, REGISTER_WIDTH) for number in range(MAX_DESTINATIONS)]

    def _registers(
        self, m: Module, warp: int, issued: Value, destinations: list[Value], hazards: HazardsInterface
    ) -> list[Value]:
        """Keep the pending writes of a warp's registers. Returns whether one of `hazards` is pending, is owed
        by the load/store unit, and, if asked for, comes from beyond the SM."""
        width = len(Pending) if self._far else Pending.DISTANT.value
        pending = m.submodules[f"pending_{warp}"] = Memory(shape=width, depth=self.registers, init=[])
        uop = self.issue.payload.uop
        far = _any(uop.memory == operation for operation in DISTANT)
        state = Cat(Const(1, 1), uop.unit == Unit.LSU, far)[:width]
        for register, writes in zip(destinations, self.writes, strict=True):
            write_at(m, pending, register, state, issued & writes)
        for written in self.written:
            write_at(m, pending, written.register, 0, written.valid & (written.warp == warp))
        for owed, answers in zip(self.owed, self._owed, strict=True):
            answers.append(read_at(m, pending, owed.register)[Pending.WRITE])
        found = Signal(width, name=f"found_{warp}")
        looked_up = [
            read_at(m, pending, hazards.registers[place]) for place in range(MAX_SOURCES + MAX_DESTINATIONS)
        ]
        m.d.comb += found.eq(_any(looked_up))
        return list(found)

    def _predicates(self, m: Module) -> list[Signal]:
        """Keep a byte per warp of pending predicates, and of those that the load/store unit owes. Returns
        both."""
        width = (PREDICATES + 1) * self._config.sub_core.warps
        pending, of_memory = Signal(width), Signal(width)
        uop = self.issue.payload.uop
        free = Signal(width)
        m.d.comb += free.eq(
            _any(
                Mux(retired.valid, retired.predicates, 0) << Cat(Const(0, 3), retired.warp)
                for retired in self.retired
            )
        )
        taken = Signal(width)
        m.d.comb += taken.eq(
            Mux(self.issue.valid, uop.predicates_written, 0) << Cat(Const(0, 3), self.issue.payload.warp)
        )
        m.d.sync += pending.eq(pending & ~free | taken)
        m.d.sync += of_memory.eq(of_memory & ~free | Mux(uop.unit == Unit.LSU, taken, 0))
        return [pending, of_memory]

    def _reads(self, m: Module) -> Value:
        """Mask of the warps whose first uop writes a register that an older uop of theirs still has to
        read."""
        warps = self._config.sub_core.warps
        ranges = Array(Cat(hazards.destination, hazards.count) for hazards in self.hazards)
        issue = self.issue.payload
        conflicts: list[Value] = []
        reading: list[Value] = []
        for entry, read in enumerate(self.read):
            missing = Signal(MAX_SOURCES, name=f"missing_{entry}")
            warp = Signal.like(issue.warp, name=f"warp_{entry}")
            sources = Signal.like(issue.uop.sources, name=f"sources_{entry}")
            m.d.sync += missing.eq(missing & ~read.slots)
            with m.If(self.issue.valid & (self.entry == entry)):
                m.d.sync += [
                    missing.eq(issue.uop.source_valid),
                    warp.eq(issue.warp),
                    sources.eq(issue.uop.sources),
                ]
            written = Signal(len(ranges[0]), name=f"range_{entry}")
            owner = entry // self._share if self._share else None
            m.d.comb += written.eq(ranges[warp] if owner is None else ranges[owner])
            first, count = written[:REGISTER_WIDTH], written[REGISTER_WIDTH:]
            hit = Signal(name=f"hit_{entry}")
            m.d.comb += hit.eq(
                Cat(
                    missing[slot] & ((sources[slot] - first)[:REGISTER_WIDTH] < count)
                    for slot in range(MAX_SOURCES)
                ).any()
            )
            left = missing.any()
            reading.append(
                decode(m, warp, left, warps, f"reading_{entry}") if owner is None else left << owner
            )
            conflicts.append(
                decode(m, warp, hit, warps, f"conflict_{entry}") if owner is None else hit << owner
            )
        m.d.comb += self.quiet.eq(~_any(reading))
        return _any(conflicts)


def _any(masks: Iterable[Value]) -> Value:
    """OR of all."""
    return reduce(or_, masks)
