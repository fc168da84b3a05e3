"""Instruction buffers: a short FIFO of uops per warp, filled from the warps' streams.

One uop per sub-core and cycle is filled.
"""

from __future__ import annotations

from typing import Any, Protocol, cast

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.events import field_width
from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES, PREDICATES, RZ, Control
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.interfaces import Fill, FillInterface
from warpbank.hdl.layouts import REGISTER_WIDTH, uop_layout
from warpbank.hdl.mapping.flag_cache import FlagCache
from warpbank.hdl.probe import Events, EventsInterface, emit
from warpbank.hdl.round_robin import decode, first_from, first_reached, pick_at_once
from warpbank.hdl.typed import Interface, Record, record


class Hazards(wiring.Signature):
    """Registers and predicates of a warp's first uop, which must not be pending when it issues.

    Seen from the buffers.

    Members
    -------
    registers : Out(8 per register). Its sources, then its destinations; RZ, which is never pending, where it
        has none.
    predicates : Out(8). Predicates that it reads or writes.
    destination : Out(8). First register that it writes.
    count : Out(bits(5)). How many registers it writes, from `destination` on.
    """

    def __init__(self) -> None:
        super().__init__(
            {
                "registers": Out(data.ArrayLayout(REGISTER_WIDTH, MAX_SOURCES + MAX_DESTINATIONS)),
                "predicates": Out(PREDICATES),
                "destination": Out(REGISTER_WIDTH),
                "count": Out(bits(MAX_DESTINATIONS + 1)),
            }
        )


class HazardsInterface(Interface, Protocol):
    """Interface object of the signature `Hazards`."""

    registers: Record
    predicates: Signal
    destination: Signal
    count: Signal


class Entry(wiring.Signature):
    """Extra bits of the warps' first uops, which announce the bit-vectors of the intervals that are entered.

    Seen from the buffers.

    Members
    -------
    waits : Out(warps). Warps that have still to prefetch before their first uop. From registers.
    may : In(warps). Those whose bit may be served in this cycle; meaningful where `waits`.
    valid : Out(1). The bit of `warp` is served in this cycle. Combinational from registers and `may`.
    warp : Out(bits(warps)). Warp that prefetches.
    pc : Out(pc). Its first uop, with which the interval's bit-vector is found.
    """

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__(
            {
                "waits": Out(core.warps),
                "may": In(core.warps),
                "valid": Out(1),
                "warp": Out(core.warp_width),
                "pc": Out(field_width("pc", config)),
            }
        )


class EntryInterface(Interface, Protocol):
    """Interface object of the signature `Entry`."""

    waits: Signal
    may: Signal
    valid: Signal
    warp: Signal
    pc: Signal


class FlagCacheInterface(Interface, Protocol):
    """Ports of the release flag cache, `warpbank.hdl.mapping.flag_cache.FlagCache`."""

    start: Signal
    fill: Signal
    warp: Signal
    pc: Signal
    covered: Signal
    first: Signal
    asks: Signal
    hit: Signal


class InstructionBuffers(wiring.Component):
    """Instruction buffers of a sub-core: a short FIFO of uops per warp, filled from the warps' streams.

    The warp to fill is chosen by rotating priority among those that have room at the clock edge. The stream
    stops behind a branch; it goes on `branch_hold` cycles after the cycle in which the branch issued.

    If the machine takes extra bits, that of a warp's first uop is served once: one in a cycle, chosen by
    rotating priority of its own. The uop issues in the next cycle at the earliest.

    Parameters
    ----------
    config : the machine: entries, branch hold, warps.
    shown : collectors look at every warp's first uop.
    standing : what others see of the first uops, their `hazards` above all, stands in registers.
    probe : generate `events` (fill, and prefetch where the machine takes extra bits).

    Members
    -------
    start : In(warps). Slots whose stream starts; filled from the next cycle on.
    fill : Out(Fill). Question to the testbench: the next uop of a warp.
    first : Out(warps). Warps whose buffer has a first uop.
    collects : Out(warps). Warps whose first uop goes through a collector; meaningful where `first`.
    prefetches : Out(warps). Warps whose first uop is a PREFETCH; meaningful where `first`.
    partial : Out(warps). Warps whose first uop writes some lanes of registers whose others are still needed;
        meaningful where `first`.
    hazards : Out(Hazards) per warp. Registers and predicates of the first uop; meaningful where `first`.
    pop : In(1). The first uop of `warp` issues in this cycle.
    warp : In(bits(warps)). Warp that has its turn.
    coming : In(bits(warps)), if the machine has two issue stages or more. Warp that has its turn in the next
        cycle; its first uop has been there since the cycle before, in which the scheduler picked it.
    uop : Out(uop_layout). The first uop of `warp`; combinational, or, where there is `coming`, from a
        register.
    heads : Out(uop_layout) per warp, if they are `shown`. Its first uop.
    entry : Out(Entry), if the machine takes extra bits. Warps that enter an interval.
    events : Out(Events), if `probe`. Uops that are filled, and extra bits that are served.

    Latency: a uop filled in cycle t can issue in t + 1.
    """

    start: Signal
    fill: FillInterface
    first: Signal
    collects: Signal
    prefetches: Signal
    partial: Signal
    hazards: list[HazardsInterface]
    pop: Signal
    warp: Signal
    coming: Signal
    uop: Record
    heads: list[Record]
    entry: EntryInterface
    events: EventsInterface

    def __init__(
        self, config: SmConfig, probe: bool = False, shown: bool = False, standing: bool = False
    ) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(
                f"InstructionBuffers needs the machine's configuration, an SmConfig, not {config!r}."
            )
        self._config = config
        core = config.sub_core
        members = {
            "start": In(core.warps),
            "fill": Out(Fill(config)),
            "first": Out(core.warps),
            "collects": Out(core.warps),
            "prefetches": Out(core.warps),
            "partial": Out(core.warps),
            "hazards": Out(Hazards()).array(core.warps),
            "pop": In(1),
            "warp": In(core.warp_width),
            **({"coming": In(core.warp_width)} if core.front_end.issue_stages > 1 else {}),
            "uop": Out(uop_layout(config)),
            "heads": Out(uop_layout(config)).array(core.warps if shown else 0),
            **({"entry": Out(Entry(config))} if config.takes_bits else {}),
        }
        if probe:
            flags = {"flag_hit": 1, "flag_fetch": 1} if config.takes_flags else {}
            bit = {"prefetch": 1} if config.takes_bits else {}
            members["events"] = Out(Events(config, {"fill": 1, **flags, **bit}))
        self._probe, self._standing = probe, standing
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = self._config.sub_core
        warps, depth = core.warps, core.front_end.buffer_entries
        fill, uop = self.fill, self.fill.uop

        # Warps whose stream goes on: not behind a branch that has not issued, not at its end.
        going_on = Signal(warps)
        # more_than[n]: mask of the warps that hold more than n uops.
        more_than = [Signal(warps, name=f"more_than_{n}") for n in range(depth)]
        fillable = Signal(warps)
        m.d.comb += fillable.eq(going_on & ~more_than[-1])
        reached = Signal(warps, init=(1 << warps) - 1)  # from the warp behind the one that was filled last
        choice = first_reached(m, fillable, reached)
        fetches = self._flags(m) if self._config.takes_flags else Const(0, 1)
        filled = Signal(warps)
        m.d.comb += [
            fill.valid.eq(choice.any & ~fetches),
            fill.warp.eq(choice.index),
            filled.eq(choice.one_hot & ~fetches.replicate(warps)),
        ]
        with m.If(fill.valid):
            m.d.sync += reached.eq(choice.after)
        popped = decode(m, self.warp, self.pop, warps, "popped")

        # Entries of all warps, a power of two each, so that an address is warp and place. The registers stand
        # in memories of their own: the scoreboard looks at those of every warp in every cycle, at the rest
        # only when the uop issues.
        place_width = bits(depth)
        heads = [Signal(place_width, name=f"head_{warp}") for warp in range(warps)]
        tails = [Signal(place_width, name=f"tail_{warp}") for warp in range(warps)]
        for warp in range(warps):
            m.d.sync += [
                tails[warp].eq(tails[warp] + filled[warp]),
                heads[warp].eq(heads[warp] + popped[warp]),
            ]
        tail = Signal(place_width)
        m.d.comb += tail.eq(pick_at_once(choice.one_hot, tails))
        into = Cat(tail, fill.warp)
        firsts = [Cat(heads[warp], Const(warp, core.warp_width)) for warp in range(warps)]
        staged = core.front_end.issue_stages > 1
        rows: Array[Value] = Array()
        if staged and not self.heads and not self._config.takes_bits:
            coming = self._by_place(m, tail, heads)
        else:
            entries = m.submodules.entries = Memory(
                shape=uop_layout(self._config), depth=warps << place_width, init=[]
            )
            write_at(m, entries, into, uop, fill.valid)
            # Every warp's first uop is there before it is known which of them is asked for. Where collectors
            # look at them the place in a memory would be read by hundreds of gates.
            seen = self.heads or [read_at(m, entries, first) for first in firsts]
            rows = Array(Value.cast(row) for row in seen)
            coming = rows[self.coming] if staged else rows[self.warp]
        if staged:  # nothing of a warp issues up to its turn: its first uop stays
            read = record(uop_layout(self._config), name="read", reset_less=True)
            m.d.sync += read.as_value().eq(coming)
            m.d.comb += Value.cast(self.uop).eq(read.as_value())
        else:
            m.d.comb += Value.cast(self.uop).eq(coming)
        looked: list[tuple[str, Memory, Value, list[Value]]] = []
        for name, value, targets in self._looked_at():
            memory = m.submodules[name] = Memory(shape=len(value), depth=warps << place_width, init=[])
            write_at(m, memory, into, value, fill.valid)
            if self._standing:
                looked.append((name, memory, value, targets))
                continue
            for first, target in zip(firsts, targets, strict=True):
                m.d.comb += target.eq(read_at(m, memory, first))

        # A fill enters before a pop leaves.
        grown = [
            more | filled & below for more, below in zip(more_than, [filled, *more_than[:-1]], strict=True)
        ]
        for n, more in enumerate(more_than):
            shrunk = grown[n + 1] if n + 1 < depth else 0
            m.d.sync += more.eq(popped & shrunk | ~popped & grown[n])
        m.d.comb += self.first.eq(more_than[0])
        if self.heads or looked:
            seconds = [
                Cat((head + 1)[:place_width], Const(warp, core.warp_width)) for warp, head in enumerate(heads)
            ]
        if self.heads:
            behind = [Value.cast(read_at(m, entries, second)) for second in seconds]
            targets = [Value.cast(head) for head in self.heads]
            self._stand(m, "first", popped, more_than, behind, Value.cast(uop), targets)
        for name, memory, value, targets in looked:
            behind = [Value.cast(read_at(m, memory, second)) for second in seconds]
            self._stand(m, name, popped, more_than, behind, value, targets)

        branch = Signal()
        m.d.comb += branch.eq((uop.control == Control.BRANCH) | uop.last)
        held = self._hold(m, popped)
        m.d.sync += going_on.eq((going_on & ~Mux(branch, filled, 0)) | held | self.start)
        if self._config.takes_bits:
            self._enter(m, rows, popped)
        if self._probe:
            emit(m, self.events.fill[0], fill.valid, warp=fill.warp, seq=uop.seq)
        return m

    def _by_place(self, m: Module, tail: Value, heads: list[Signal]) -> Value:
        """Entries by place: all warps' uops at place 0 in one memory, those at place 1 in another one, and so
        on. Returns the first uop of the warp that comes.

        Its warp was picked in the cycle before, so that a uop has a cycle to enter. The place of a first uop
        is found while the rows of all places are read.

        Parameters
        ----------
        tail : place of the uop that is filled.
        heads : place of each warp's first uop.
        """
        fill = self.fill
        uop = Signal(len(Value.cast(fill.uop)), name="entering", reset_less=True)
        warp, place = (
            Signal.like(value, name=f"{name}_entered", reset_less=True)
            for name, value in (("warp", fill.warp), ("place", tail))
        )
        enters = Signal()
        m.d.sync += [uop.eq(Value.cast(fill.uop)), warp.eq(fill.warp), place.eq(tail), enters.eq(fill.valid)]
        rows = []
        for number in range(1 << len(tail)):
            memory: Memory[Any, Value] = Memory(shape=len(uop), depth=len(heads), init=[])
            m.submodules[f"entries_{number}"] = memory
            write_at(m, memory, warp, uop, enters & (place == number))
            rows.append(read_at(m, memory, self.coming))
        first = Signal.like(tail, name="coming_place")
        m.d.comb += first.eq(Array(heads)[self.coming])
        return Array(rows)[first]

    def _stand(
        self,
        m: Module,
        name: str,
        popped: Value,
        more_than: list[Signal],
        seconds: list[Value],
        filled: Value,
        targets: list[Value],
    ) -> None:
        """Let every warp's first uop, or a field of it, stand in registers.

        Parameters
        ----------
        name : names the registers.
        popped : mask of the warp whose first uop issues.
        more_than : masks of the warps that hold more than 0, 1, ... uops.
        seconds : that of the uop behind the first one of each warp.
        filled : that of the uop that is filled.
        targets : what shows it, per warp.
        """
        for warp, (target, second) in enumerate(zip(targets, seconds, strict=True)):
            row = Signal(len(target), name=f"{name}_{warp}", reset_less=True)
            more = Cat(mask[warp] for mask in more_than[1:2])  # with a single place there is never one behind
            with m.If(popped[warp] | ~more_than[0][warp]):
                m.d.sync += row.eq(Mux(more.any(), second, filled))
            m.d.comb += target.eq(row)

    def _enter(self, m: Module, firsts: Array[Value], popped: Value) -> None:
        """Serve the extra bit of a first uop. `firsts`: each warp's; `popped`: mask of the warp whose first
        uop issues."""
        entry = self.entry
        served = Signal(len(popped), name="served")  # warps that have prefetched before their first uop
        m.d.comb += entry.waits.eq(self.first & self._enters & ~served)
        pointer = Signal.like(entry.warp, name="entry_pointer")
        choice = first_from(m, entry.waits & entry.may, pointer, "entering")
        uop = record(uop_layout(self._config), name="entering_uop")
        m.d.comb += [
            entry.valid.eq(choice.any),
            entry.warp.eq(choice.index),
            Value.cast(uop).eq(firsts[choice.index]),
            entry.pc.eq(uop.pc),
        ]
        m.d.sync += served.eq((served | choice.one_hot) & ~popped)
        with m.If(choice.any):
            m.d.sync += pointer.eq(choice.after)
        if self._probe:
            emit(m, self.events.prefetch[0], choice.any, warp=choice.index, seq=uop.seq)

    def _flags(self, m: Module) -> Value:
        """Look for the release flags of the uop that is filled. Returns whether a flag instruction is fetched
        in this cycle because those of the uop before were not there."""
        unit = m.submodules.flags = FlagCache(self._config.sub_core.warps)
        cache = cast("FlagCacheInterface", unit)
        fill, uop = self.fill, self.fill.uop
        fetches, hit = Signal(), Signal()
        warp, first = Signal.like(fill.warp, reset_less=True), Signal.like(uop.first, reset_less=True)
        m.d.comb += [
            cache.start.eq(self.start),
            cache.fill.eq(fill.valid),
            cache.warp.eq(fill.warp),
            cache.pc.eq(uop.pc),
            cache.covered.eq(uop.covered),
            cache.first.eq(uop.first),
        ]
        # A testbench's answer is for the next state only, so what it found is reported a cycle later.
        m.d.sync += [
            fetches.eq(cache.asks & ~cache.hit),
            hit.eq(cache.asks & cache.hit),
            warp.eq(fill.warp),
            first.eq(uop.first),
        ]
        if self._probe:
            emit(m, self.events.flag_hit[0], hit, warp=warp)
            emit(m, self.events.flag_fetch[0], fetches, warp=warp, pc=first)
        return fetches

    def _looked_at(self) -> list[tuple[str, Value, list[Value]]]:
        """Fields of every warp's first uop that others see: name, value in the uop that is filled, signal per
        warp."""
        uop = self.fill.uop
        ports = self.hazards
        columns: list[tuple[str, Value, list[Value]]] = []
        for slot in range(MAX_SOURCES):
            value = Mux(uop.source_valid[slot], uop.sources[slot], RZ)
            columns.append((f"source_{slot}", value, [port.registers[slot] for port in ports]))
        for number in range(MAX_DESTINATIONS):
            value = Mux(number < uop.count, (uop.destination + number)[:REGISTER_WIDTH], RZ)
            columns.append(
                (f"destination_{number}", value, [port.registers[MAX_SOURCES + number] for port in ports])
            )
        columns.append(
            ("predicates", uop.predicates_read | uop.predicates_written, [port.predicates for port in ports])
        )
        columns.append(
            (
                "range",
                Cat(uop.destination, Mux(uop.collects, uop.count, 0)),
                [Cat(port.destination, port.count) for port in ports],
            )
        )
        columns.append(("collects_of", uop.collects, list(self.collects)))
        columns.append(("partial_of", uop.part & ~uop.fresh, list(self.partial)))
        columns.append(("prefetches_of", uop.control == Control.PREFETCH, list(self.prefetches)))
        if self._config.takes_bits:
            self._enters = Signal(len(self.first), name="enters")
            columns.append(("enters_of", uop.enters, list(self._enters)))
        return columns

    def _hold(self, m: Module, popped: Value) -> Value:
        """Mask of the warps whose stream goes on from the next cycle: a branch of theirs issued `branch_hold`
        cycles ago."""
        issued = Signal()
        m.d.comb += issued.eq(self.pop & (self.uop.control == Control.BRANCH) & ~self.uop.last)
        hold = self._config.sub_core.front_end.branch_hold
        if not hold:
            return Mux(issued, popped, 0)
        # At most one branch issues in a cycle, so a delay line of warp numbers holds them all.
        line = record(data.ArrayLayout(1 + len(self.warp), hold))
        m.d.sync += line.as_value().eq(Cat(issued, self.warp, line.as_value()))
        out = line[hold - 1]
        return decode(m, out[1:], out[0], len(popped), "held")
