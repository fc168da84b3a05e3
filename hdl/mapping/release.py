"""Release: registers that the compiler has declared dead give their physical registers back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Protocol

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    ReadDone,
    ReadDoneInterface,
    Written,
    WrittenInterface,
    issue_stream,
)
from warpbank.hdl.layouts import REGISTER_WIDTH, UNITS
from warpbank.hdl.mapping.ports import Moving, MovingInterface
from warpbank.hdl.mapping.table import TABLE_BANKS
from warpbank.hdl.round_robin import behind, decode, encode, pick
from warpbank.hdl.typed import Interface


class Mark(wiring.Signature):
    """A uop of `warp` that issues declares registers dead (seen from the front end): a mask."""

    def __init__(self, config: SmConfig, registers: int) -> None:
        super().__init__(
            {"valid": Out(1), "warp": Out(config.sub_core.warp_width), "registers": Out(registers)}
        )


class MarkInterface(Interface, Protocol):
    """Interface object of the signature `Mark`."""

    valid: Signal
    warp: Signal
    registers: Signal


class Released(wiring.Signature):
    """A register is released (seen from who does it)."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"valid": Out(1), "warp": Out(config.sub_core.warp_width), "register": Out(REGISTER_WIDTH)}
        )


class ReleasedInterface(Interface, Protocol):
    """Interface object of the signature `Released`."""

    valid: Signal
    warp: Signal
    register: Signal


class Release(wiring.Component):
    """Release unit: which registers are dying, and which of them a cycle releases. Renaming, 4.3 and 6.1.

    A register is dying from the cycle after the issue of the uop that declares it dead: a flagged read (pir)
    or a pbr. It is released when no read and no write of it is pending. One warp is served per cycle, by
    rotating priority; of it, one register per bank of the renaming table, the lowest that is dying and not
    still to be written, if no uop still has to read it and it is not on its way to or from a cache. A uop
    that issues with a dying register as its destination takes the register over: it keeps its physical
    register, and dies no more.

    A warp that is served passes five stages, one per cycle, and is in one of them at a time:

    0. choose: among the warps that had something to release in the cycle before and are in no stage;
    1. read: the registers of the warp that are dying and not to be written;
    2. find: the lowest of each bank;
    3. compare: those that a uop in collection has still to read, or that issues in this cycle to read them,
       and those that are on their way, are not released this time;
    4. release.

    What a uop that issues takes over leaves the stages 1 to 4. No other write of a register can begin behind
    stage 1, and nothing dying sets off on a new way. A warp can be chosen again in the cycle after its
    stage 4.

    All registers of a warp that has drained are dying; until they are all released no other warp may issue in
    its slot.

    Pending writes are a mask per warp; pending reads are kept per uop in collection and compared, as in the
    scoreboard.

    Parameters
    ----------
    config : the machine.
    entries : uops that can be in collection at a time.
    movers : registers that can be on their way between a cache and the main register file. They are not
        released meanwhile.

    Members
    -------
    launch : In(1). A launch begins: no register has a physical one.
    issue : In(issue_stream). A uop that collects issues.
    entry : In(bits(entries)). Number of that uop among those in collection.
    mark : In(Mark). What is declared dead in this cycle, of the registers that have a physical one.
    read : In(ReadDone) per entry. Operands were read.
    written : In(Written) per unit. A register was written.
    end : In(warps). Warps that drain in this cycle.
    mapped : In(256) per warp. Registers that have a physical one.
    moving : In(Moving) per mover. A register is on its way.
    dying : Out(256) per warp. Registers that are about to be released; from registers.
    ended : Out(warps). Slots whose last warp has drained and still has registers; from registers.
    released : Out(Released) per bank of the table; depends on `issue`.

    What is set in cycle t counts from t + 1. A register that is dying from cycle t on, with nothing pending,
    is released in t + 5 at the earliest. Its warp can be chosen again in the cycle after that.

    Raises
    ------
    TypeError : `entries` is no positive number.
    """

    #: Registers of a warp. The proofs make it smaller.
    registers = 256

    launch: Signal
    issue: AlwaysInterface
    entry: Signal
    mark: MarkInterface
    read: list[ReadDoneInterface]
    written: list[WrittenInterface]
    end: Signal
    mapped: list[Signal]
    moving: list[MovingInterface]
    dying: list[Signal]
    ended: Signal
    released: list[ReleasedInterface]

    def __init__(self, config: SmConfig, entries: int, movers: int = 0) -> None:
        if type(entries) is not int or entries < 1:
            raise TypeError(
                f"Release needs the number of uops that can be in collection, at least 1, not {entries!r}."
            )
        self._config = config
        core = config.sub_core
        super().__init__(
            {
                "launch": In(1),
                "issue": In(issue_stream(config)),
                "entry": In(range(max(2, entries))),
                "mark": In(Mark(config, self.registers)),
                "read": In(ReadDone(config)).array(entries),
                "written": In(Written(config)).array(UNITS),
                "end": In(core.warps),
                "mapped": In(self.registers).array(core.warps),
                "ended": Out(core.warps),
                "released": Out(Released(config)).array(TABLE_BANKS),
                "moving": In(Moving(config)).array(movers),
                "dying": Out(self.registers).array(core.warps),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        warps, width = self._config.sub_core.warps, self.registers
        uop, issuer = self.issue.payload.uop, self.issue.payload.warp
        ended = Signal(warps)
        dying = [Signal(width, name=f"dying_{warp}") for warp in range(warps)]
        writing = [Signal(width, name=f"writing_{warp}") for warp in range(warps)]
        waiting = [Signal(width, name=f"waiting_{warp}") for warp in range(warps)]
        m.d.comb += [
            mask.eq(marked & ~pending) for mask, marked, pending in zip(waiting, dying, writing, strict=True)
        ]
        self._dying, self._writing = dying, writing

        # The destinations of the uop that issues are kept.
        destinations = Signal(width)
        m.d.comb += destinations.eq(((1 << uop.count) - 1) << uop.destination)
        issued = decode(m, issuer, self.issue.valid, warps, "issued")
        marked = decode(m, self.mark.warp, self.mark.valid, warps, "marked")

        some, served = Signal(warps), Signal(warps)
        reads = self._read(m, served, waiting, issued, destinations)
        finds = self._find(m, reads, issued, destinations)
        releases = self._compare(m, finds, issued, destinations)
        self._release(m, releases)
        self._some, self._served = some, served
        self._stages = [reads, finds, releases]
        chosen_ = self._choose(m, some)
        with m.If(self.launch):
            m.d.sync += served.eq(0)
        with m.Else():
            m.d.sync += served.eq(chosen_)

        waits: list[Value] = []
        left: list[Value] = []
        for warp in range(warps):
            marks, kept, written, gone = (
                Signal(width, name=f"{name}_{warp}") for name in ("marks", "kept", "written", "gone")
            )
            m.d.comb += [
                marks.eq(
                    Mux(marked[warp], self.mark.registers, 0) | Mux(self.end[warp], self.mapped[warp], 0)
                ),
                kept.eq(Mux(issued[warp], destinations, 0)),
                written.eq(
                    reduce(
                        or_, ((port.valid & (port.warp == warp)) << port.register for port in self.written)
                    )
                ),
                # What is saved in this cycle is dying no more, either way.
                gone.eq(Mux(releases.warp[warp], releases.mask, 0)),
            ]
            m.d.sync += dying[warp].eq((dying[warp] | marks) & ~kept & ~gone)
            m.d.sync += writing[warp].eq(writing[warp] & ~written | kept)
            waits.append((waiting[warp] & ~gone).any())
            left.append((self.mapped[warp] & ~gone).any())
        m.d.sync += some.eq(Cat(waits) & ~self._engaged([chosen_, served, reads.warp, finds.warp]))
        m.d.sync += ended.eq((ended | self.end) & Cat(left))
        with m.If(self.launch):
            m.d.sync += [ended.eq(0), some.eq(0), *(mask.eq(0) for mask in dying)]
        m.d.comb += [
            self.ended.eq(ended),
            *(outer.eq(inner) for outer, inner in zip(self.dying, dying, strict=True)),
        ]
        return m

    def _stage(self, m: Module, name: str, warp: Value, mask: Value) -> _Stage:
        """Make the registers of a stage, which take a warp and a mask of its registers in every cycle."""
        warps, width = self._config.sub_core.warps, self.registers
        stage = _Stage(
            Signal(warps, name=f"{name}_warp"), Signal(width, name=f"{name}_mask", reset_less=True)
        )
        m.d.sync += [stage.warp.eq(Mux(self.launch, 0, warp)), stage.mask.eq(mask)]
        return stage

    def _engaged(self, stages: list[Value]) -> Value:
        """Warps that are in one of some stages."""
        return reduce(or_, stages)

    def _choose(self, m: Module, some: Value) -> Value:
        """Choose the warp that is served next (stage 0), one-hot. The next cycle looks at the warps behind it
        first."""
        warps = len(some)
        ahead, first, one_hot = Signal(warps, name="ahead"), Signal(warps, name="first"), Signal(warps)
        after = Signal(warps)
        self._ahead = ahead
        m.d.comb += first.eq(Mux((some & ahead).any(), some & ahead, some))
        m.d.comb += [after.eq(behind(m, first, "after")), one_hot.eq(first & ~after)]
        with m.If(some.any()):
            m.d.sync += ahead.eq(after)
        return one_hot

    def _read(
        self, m: Module, served: Value, waiting: list[Signal], issued: Value, destinations: Value
    ) -> _Stage:
        """Read the registers of the warp that is served (stage 1)."""
        return self._stage(m, "read", served, pick(served, waiting) & ~_of(served, issued, destinations))

    def _find(self, m: Module, reads: _Stage, issued: Value, destinations: Value) -> _Stage:
        """Find the lowest register of each bank, and its number (stage 2)."""
        banks: list[Signal] = []
        self._numbers: list[Signal] = []
        for bank in range(TABLE_BANKS):
            mine = reads.mask[bank::TABLE_BANKS]
            one_hot = Signal(len(mine), name=f"lowest_{bank}")
            m.d.comb += one_hot.eq(mine & ~behind(m, mine, f"behind_{bank}"))
            number = Signal(REGISTER_WIDTH, name=f"number_{bank}", reset_less=True)
            m.d.sync += number.eq((encode(one_hot) << bits(TABLE_BANKS)) | bank)
            banks.append(one_hot)
            self._numbers.append(number)
        self._owner = Signal.like(self.issue.payload.warp, name="owner", reset_less=True)
        m.d.sync += self._owner.eq(encode(reads.warp))
        found = Cat(banks[place % TABLE_BANKS][place // TABLE_BANKS] for place in range(self.registers))
        return self._stage(m, "found", reads.warp, found & ~_of(reads.warp, issued, destinations))

    def _compare(self, m: Module, finds: _Stage, issued: Value, destinations: Value) -> _Stage:
        """Compare the registers that were found with those in use (stage 3)."""
        readers = self._readers(m, self._owner) + self._movers(self._owner)
        used = Signal(TABLE_BANKS)
        m.d.comb += used.eq(
            Cat(
                Cat(valid & (source == number) for valid, source in readers).any() for number in self._numbers
            )
        )
        idle = finds.mask & ~Cat(used[place % TABLE_BANKS] for place in range(self.registers))
        return self._stage(m, "release", finds.warp, idle & ~_of(finds.warp, issued, destinations))

    def _release(self, m: Module, releases: _Stage) -> None:
        """Release the registers that the uop that issues does not take over (stage 4)."""
        uop = self.issue.payload.uop
        owner = Signal.like(self._owner, name="releases_of", reset_less=True)
        m.d.sync += owner.eq(self._owner)
        issues, there = Signal(name="issues"), releases.warp.any()
        m.d.comb += issues.eq(self.issue.valid & (self.issue.payload.warp == owner))
        for bank, (released, found) in enumerate(zip(self.released, self._numbers, strict=True)):
            number = Signal.like(found, name=f"released_{bank}", reset_less=True)
            m.d.sync += number.eq(found)
            saved = issues & ((number - uop.destination)[:REGISTER_WIDTH] < uop.count)
            m.d.comb += [
                released.valid.eq(there & releases.mask[bank::TABLE_BANKS].any() & ~saved),
                released.warp.eq(owner),
                released.register.eq(number),
            ]

    def _readers(self, m: Module, warp: Value) -> list[tuple[Value, Value]]:
        """Sources of `warp` that are still to be read, the uop that issues included: whether there is one,
        and which register."""
        issue = self.issue.payload
        mine = self.issue.valid & (issue.warp == warp)
        readers: list[tuple[Value, Value]] = [
            (mine & issue.uop.source_valid[slot], issue.uop.sources[slot]) for slot in range(MAX_SOURCES)
        ]
        self._collecting: list[tuple[Value, Value, Value]] = []  # uops: slots still to be read, warp, sources
        for entry, read in enumerate(self.read):
            missing = Signal(MAX_SOURCES, name=f"missing_{entry}")
            owner = Signal.like(issue.warp, name=f"warp_{entry}")
            sources = Signal.like(issue.uop.sources, name=f"sources_{entry}")
            self._collecting.append((missing, owner, sources))
            m.d.sync += missing.eq(missing & ~read.slots)
            with m.If(self.issue.valid & (self.entry == entry)):
                m.d.sync += [
                    missing.eq(issue.uop.source_valid),
                    owner.eq(issue.warp),
                    sources.eq(issue.uop.sources),
                ]
            of_warp = Signal(MAX_SOURCES, name=f"of_warp_{entry}")
            m.d.comb += of_warp.eq(Mux(owner == warp, missing, 0))
            readers += [(of_warp[slot], sources[slot]) for slot in range(MAX_SOURCES)]
        return readers

    def _movers(self, warp: Value) -> list[tuple[Value, Value]]:
        """Registers of `warp` that are on their way: whether there is one, and which."""
        return [(moving.valid & (moving.warp == warp), moving.register) for moving in self.moving]


@dataclass(frozen=True)
class _Stage:
    """Warp that is in a stage, one-hot, and those of its registers that may be released."""

    warp: Signal
    mask: Signal


def _of(warp: Value, issued: Value, destinations: Value) -> Value:
    """The registers of a warp, one-hot, that the uop that issues writes."""
    return Mux((warp & issued).any(), destinations, 0)
