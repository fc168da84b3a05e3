"""Register renaming: registers share the banks' rows, each has one only from its first write to its last
read."""

from __future__ import annotations

from functools import reduce
from operator import or_

from amaranth.hdl import Array, Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES, MOVE, Control, Unit
from warpbank.hdl.front_end.instruction_buffer import HazardsInterface
from warpbank.hdl.interfaces import NextResultInterface
from warpbank.hdl.layouts import REGISTER_WIDTH, UNITS, Collection
from warpbank.hdl.main.ports import LocationInterface
from warpbank.hdl.mapping.availability import Availability
from warpbank.hdl.mapping.deadlock_reserve import DeadlockReserve
from warpbank.hdl.mapping.exempt import Exempt
from warpbank.hdl.mapping.operand_lookup import OperandLookup
from warpbank.hdl.mapping.ports import Mapping, MappingPorts
from warpbank.hdl.mapping.release import Release
from warpbank.hdl.mapping.table import TABLE_BANKS, RenamingTable
from warpbank.hdl.probe import Events, emit
from warpbank.hdl.round_robin import decode, pick

#: Numbers of a pbr: nine of 6 bits, or six of 8.
_NARROW, _WIDE = 6, 8


class Renaming(Mapping):
    """The mapping of a sub-core by renaming. Jeon and Annavaram, CENG-2014-05, section 6.

    A register gets a physical register when a uop that writes it issues and it has none; it loses it after it
    was declared dead (`Release`). Physical register p is row p / banks of bank p mod banks. Exempt registers
    are never renamed. A source without a physical register was never written: it reads as zeros.

    Within a cycle: results are located; a uop that issues takes registers and declares others dead; names of
    operands are looked up; registers are released. All of it works on the state of the clock edge.

    With look-up stages and an issue stage, what first uops lack is found in the cycle before their turn, and
    compared with what was free and what was kept then; the counters of both follow a cycle late. The
    registers of a warp that drains begin to die, and the exempt ones of a launch are counted, a cycle later.

    Below a register file cache operands have no names: they are in the cache. A register is looked up when it
    is moved, and is not released while it is on its way. A source counts as never written if
    it has no physical register when its uop issues.

    Parameters
    ----------
    config : the machine, with release flags.
    collection : the collectors.
    writers : registers that are located in a cycle, for writing; below a cache some more, the last ones, for
        the registers that are moved.
    operands : sources of a uop whose names are looked up: all, or 0 below a cache.
    probe : generate `events` (map, unmap, lookup, unwritten).

    Members
    -------
    those of `warpbank.hdl.mapping.ports.MappingPorts`.

    Latency: as `OperandLookup`; registers taken or given count from the next cycle on.
    """

    #: The units; tests put others here.
    table_class, availability_class, release_class, exempt_class = (
        RenamingTable,
        Availability,
        Release,
        Exempt,
    )

    def __init__(
        self,
        config: SmConfig,
        collection: Collection,
        writers: int,
        operands: int = MAX_SOURCES,
        probe: bool = False,
        moved: tuple[int, int] = (0, 0),
    ) -> None:
        self._config = config
        self._probe = probe
        self._tags, self.operands = collection.tags, operands
        self._cached = moved[0] > 0
        core = config.sub_core
        #: What first uops lack is looked up in the cycle before their turn.
        self._ahead = core.mapping.lookup_stages > 0 and core.front_end.issue_stages > 0
        #: Results are located in the cycle before they are offered. A cache has found its own place then.
        self._locates_ahead = core.mapping.lookup_stages > 0 and not self._cached
        latencies = [core.execute.unit(unit).latency for unit in Unit if unit is not Unit.LSU]
        late = self._locates_ahead and min(latencies) > 1  # the first look-up is a result's
        self.table = self.table_class(config, writers, late=late)
        self.availability = self.availability_class(
            core.warp_registers, core.mapping.policy, core.subarray_registers, late=self._ahead
        )
        self.release = self.release_class(
            config, collection.entries, moved[1] * core.banks if self._cached else 0
        )
        self.exempt = self.exempt_class(
            config, operands + writers, split=self._locates_ahead, late=self._ahead
        )
        self.reserve = DeadlockReserve(config, compares=self._ahead)
        members = dict(MappingPorts(config, collection, writers, operands, TABLE_BANKS, moved).members)
        if probe:
            lookups = max(1, bool(operands) + self._cached)
            counts = {"map": MAX_DESTINATIONS, "unmap": TABLE_BANKS, "lookup": lookups, "unwritten": 1}
            members["events"] = Out(Events(config, counts))
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for name in ("table", "availability", "release", "exempt", "reserve"):
            m.submodules[name] = getattr(self, name)
        exempt = Signal(self.table.registers)
        with m.If(self.launch):
            m.d.sync += exempt.eq(self.start.exempt)
        has = [
            Signal(self.table.registers, name=f"has_{warp}") for warp in range(self._config.sub_core.warps)
        ]
        m.d.comb += [mask.eq(mapped | exempt) for mask, mapped in zip(has, self.table.mapped, strict=True)]
        self._launch(m)
        self._shortage(m, has)
        self._allocate(m, has)
        self._declare(m)
        self._release(m)
        self._locate(m)
        if self.operands:
            self._look_up(m)
        if self._cached or not self.operands:
            self._move(m, has)
        return m

    def _launch(self, m: Module) -> None:
        """A launch begins; who takes the number of its exempt registers is told when they are counted."""
        core, start, counted = self._config.sub_core, self.start, self.exempt.counted
        registers, wanted = Signal(REGISTER_WIDTH + 1), Signal(REGISTER_WIDTH + 1 + len(start.slots))
        kept = Signal.like(start.kept, name="kept")
        with m.If(self.launch):
            m.d.sync += [
                registers.eq(start.registers),
                wanted.eq(start.registers * start.slots),
                kept.eq(start.kept),
            ]
        m.d.comb += [
            self.table.launch.eq(self.launch),
            self.release.launch.eq(self.launch),
            self.exempt.launch.eq(self.launch),
            self.exempt.mask.eq(start.exempt),
            self.exempt.slots.eq(start.slots),
            self.availability.launch.eq(counted),
            self.availability.reserved.eq(self.exempt.reserved),
            self.reserve.launch.eq(counted),
            self.reserve.needs.eq(registers - self.exempt.count),
            self.reserve.everybody.eq(wanted <= core.warp_registers),
            self.reserve.whole.eq(kept),
            self.reserve.members.eq(start.served),
            self.reserve.here.eq(self.here),
        ]

    def _shortage(self, m: Module, has: list[Signal]) -> None:
        """Masks of the warps whose first uops find too few registers, and too few that have been chosen."""
        free, short, ready = self.availability.free, Signal(len(self.lacking)), self.availability.ready
        if self._ahead:
            issues = decode(m, self.issue.payload.warp, self.issue.valid | self.slide, len(has), "issues")
            too_few = self._too_few(m)
        for warp, hazards in enumerate(self.hazards):
            missing = self.missing[warp]
            found: Value = self._missing(m, has[warp], hazards.destination, hazards.count, f"first_of_{warp}")
            if self._ahead:
                found = self._known(m, warp, found | self._loses(warp, hazards), issues[warp])
            m.d.comb += missing.eq(found)
            count = Signal(3, name=f"missing_{warp}")
            m.d.comb += count.eq(sum(missing))
            if self._ahead:
                m.d.comb += short[warp].eq(
                    Cat((count == number + 1) & few for number, few in enumerate(too_few[warp])).any()
                )
            else:
                floor = Mux(self.reserve.served[warp], 0, self.reserve.floor)
                m.d.comb += short[warp].eq((count != 0) & (count + floor > free))
            m.d.comb += self.choosing[warp].eq(
                Cat(~ready[number] & (count > number) for number in range(MAX_DESTINATIONS)).any()
            )
        m.d.comb += self.lacking.eq(short | self.release.ended)

    def _too_few(self, m: Module) -> list[Value]:
        """Mask per warp, with a bit per number of registers that its first uop may need: there are fewer.
        What is free and what is kept for whom is what it was in the cycle before, less those that were taken
        then."""
        reserve, free = self.reserve, Signal.like(self.availability.free, name="free_now")
        served, taken = Signal.like(reserve.served, name="were_served"), self._taken(m)
        m.d.sync += served.eq(reserve.served)
        m.d.comb += [free.eq(self.availability.free - self._uncounted(m)), reserve.free.eq(free)]
        fewer = []
        for name, mask in (
            ("served", Cat(free <= number for number in range(len(reserve.fewer)))),
            ("others", reserve.fewer),
        ):
            were = Signal.like(reserve.fewer, name=f"were_fewer_for_{name}")
            m.d.sync += were.eq(mask)
            fewer.append(
                pick(taken, [were[number : number + MAX_DESTINATIONS] for number in range(len(taken))])
            )
        return [Mux(first, *fewer) for first in served]

    def _uncounted(self, m: Module) -> Value:
        """Number of registers that were taken in the cycle before, and still count as free."""
        taken = Signal.like(self.availability.take, name="uncounted")
        m.d.sync += taken.eq(self.availability.take)
        return taken

    def _taken(self, m: Module) -> Value:
        """Number of registers that were taken in the cycle before, one-hot."""
        taken = Signal(MAX_DESTINATIONS + 1, name="were_taken")
        m.d.sync += taken.eq(Cat(self.availability.take == number for number in range(len(taken))))
        return taken

    def _known(self, m: Module, warp: int, found: Value, issues: Value) -> Value:
        """Mask of the destinations of a warp's first uop that were found to have no register in the cycle
        before; 0, if the warp issued then, since it has another first uop now."""
        known = Signal(MAX_DESTINATIONS, name=f"known_of_{warp}")
        m.d.sync += known.eq(Mux(issues, 0, found))
        return known

    def _loses(self, warp: int, hazards: HazardsInterface) -> Value:
        """Mask of the destinations of a warp's first uop that are released in this cycle."""
        released = self.release.released
        return Cat(
            (hazards.count > number)
            & Cat(port.valid & (port.warp == warp) & (port.register == place) for port in released).any()
            for number, place in enumerate(hazards.registers[MAX_SOURCES:])
        )

    def _missing(self, m: Module, has: Value, destination: Value, count: Value, name: str) -> Signal:
        """Mask of those of up to four destinations that have no register."""
        missing = Signal(MAX_DESTINATIONS, name=name)
        there = (has >> destination)[:MAX_DESTINATIONS]
        m.d.comb += missing.eq(~there & Cat(number < count for number in range(MAX_DESTINATIONS)))
        return missing

    def _allocate(self, m: Module, has: list[Signal]) -> None:
        """Give the uop that issues its registers, and enter them: consecutive registers are in different
        banks of the table."""
        issue = self.issue.payload
        if self._ahead:  # a move in the place of a uop writes where it reads
            moves = issue.uop.seq[MOVE.bit_length() - 1]
            missing = Signal(MAX_DESTINATIONS, name="missing")
            m.d.comb += missing.eq(Mux(moves, 0, Array(self.missing)[issue.warp]))
        else:
            mine = Array(has)[issue.warp]
            missing = self._missing(m, mine, issue.uop.destination, issue.uop.count, "missing")
        taken = Signal(3)
        m.d.comb += taken.eq(Mux(self.issue.valid, sum(missing), 0))
        told = m.d.sync if self._ahead else m.d.comb
        m.d.comb += self.availability.take.eq(taken)
        told += [self.reserve.taken.warp.eq(issue.warp), self.reserve.taken.count.eq(taken)]
        physical, registers = [], []
        for number in range(MAX_DESTINATIONS):
            before = Signal(bits(MAX_DESTINATIONS), name=f"before_{number}")
            m.d.comb += before.eq(sum(missing[:number]) if number else 0)
            chosen = Signal.like(self.availability.choice[0], name=f"physical_{number}")
            m.d.comb += chosen.eq(Array(self.availability.choice)[before])
            register = Signal(REGISTER_WIDTH, name=f"destination_{number}")
            m.d.comb += register.eq(issue.uop.destination + number)
            physical.append(chosen)
            registers.append(register)
            if self._probe:
                bank, row = self._place(chosen)
                emit(
                    m,
                    self.events.map[number],
                    self.issue.valid & missing[number],
                    warp=issue.warp,
                    register=register,
                    bank=bank,
                    row=row,
                )
        for table_bank, enter in enumerate(self.table.enter):
            # The destination that is in this bank.
            which = Signal(bits(MAX_DESTINATIONS), name=f"number_{table_bank}")
            m.d.comb += which.eq(table_bank - issue.uop.destination)
            m.d.comb += [
                enter.valid.eq(self.issue.valid & missing.bit_select(which, 1)),
                enter.warp.eq(issue.warp),
                enter.register.eq(Array(registers)[which]),
                enter.physical.eq(Array(physical)[which]),
            ]

    def _declare(self, m: Module) -> None:
        """Registers that the uop that issues declares dead: flagged sources, or the registers of a pbr."""
        issue, mark = self.issue.payload, self.release.mark
        uop = issue.uop
        sources = reduce(
            or_,
            (
                Mux(uop.source_valid[slot] & uop.dead[slot], 1 << uop.sources[slot], 0)
                for slot in range(MAX_SOURCES)
            ),
        )
        listed = reduce(
            or_,
            (1 << uop.release.word_select(place, _NARROW) for place in range(len(uop.release) // _NARROW)),
        )
        wide = reduce(
            or_, (1 << uop.release.word_select(place, _WIDE) for place in range(len(uop.release) // _WIDE))
        )
        flags = self.slide & (uop.control == Control.PBR)
        mapped = Array(self.table.mapped)[issue.warp]
        m.d.comb += [
            mark.valid.eq(self.issue.valid | flags),
            mark.warp.eq(issue.warp),
            mark.registers.eq(mapped & Mux(flags, Mux(uop.wide, wide, listed), sources)),
        ]
        taker = self.release.issue
        m.d.comb += [
            taker.valid.eq(self.issue.valid),
            taker.payload.eq(issue),
            self.release.entry.eq(self.entry),
        ]
        for source, sink in zip(
            [*self.done, *self.finished], [*self.release.read, *self.release.written], strict=True
        ):
            wiring.connect(m, wiring.flipped(source), sink)
        m.d.comb += self.release.end.eq(self._drained(m))
        m.d.comb += [
            inner.eq(mask) for inner, mask in zip(self.release.mapped, self.table.mapped, strict=True)
        ]

    def _drained(self, m: Module) -> Value:
        """Warps whose registers begin to die. With stages they have drained in the cycle before: the slot's
        next warp has its turn when its first uop has been looked up, and `ended` is known by then."""
        if not self._ahead:
            return self.end
        drained = Signal.like(self.end, name="drained")
        m.d.sync += drained.eq(self.end)
        return drained

    def _release(self, m: Module) -> None:
        released = self.release.released
        for number, (port, drop, give) in enumerate(
            zip(released, self.table.drop, self.availability.give, strict=True)
        ):
            m.d.comb += [
                drop.valid.eq(port.valid),
                drop.warp.eq(port.warp),
                drop.register.eq(port.register),
                give.valid.eq(port.valid),
                give.number.eq(drop.physical),
            ]
            bank, row = self._place(drop.physical)
            freed = self.released[number]
            m.d.comb += [freed.valid.eq(port.valid), freed.bank.eq(bank), freed.row.eq(row)]
            if self._probe:
                emit(
                    m,
                    self.events.unmap[number],
                    port.valid,
                    warp=port.warp,
                    register=port.register,
                    bank=bank,
                    row=row,
                )
        given = self.reserve.given
        if self._ahead:
            back = Signal(len(released), name="were_released")
            m.d.sync += [given.warp.eq(released[0].warp), back.eq(Cat(port.valid for port in released))]
            m.d.comb += given.count.eq(sum(back))
        else:
            m.d.comb += [
                given.warp.eq(released[0].warp),
                given.count.eq(sum(port.valid for port in released)),
            ]

    def _look_up(self, m: Module) -> None:
        """Send a uop's requests to the banks when its names are known. What was never written is read from
        anywhere."""
        m.submodules.names = names = OperandLookup(self._config, self._tags)
        named, request = names.named, self.request
        wiring.connect(m, wiring.flipped(self.read), names.read)
        for source, sink in zip(names.find, self.table.find, strict=True):
            wiring.connect(m, source, sink)
        for asked, place in zip(names.place, list(self.exempt.find)[:MAX_SOURCES], strict=True):
            wiring.connect(m, asked, place)
        domain = m.d.sync if self._config.sub_core.mapping.lookup_stages else m.d.comb
        for entered, enter in zip(names.entered, self.table.enter, strict=True):
            domain += [getattr(entered, name).eq(getattr(enter, name)) for name in enter.signature.members]
        m.d.comb += [
            request.valid.eq(named.valid),
            request.collector.eq(named.collector),
            request.slots.eq(named.slots),
            self.blank.eq(named.slots & ~named.mapped),
        ]
        if self._tags > 1:
            m.d.comb += request.tag.eq(named.tag)
        for slot in range(MAX_SOURCES):
            bank, row = self._place(
                Mux(named.mapped[slot], named.physical[slot], slot % self._config.sub_core.banks)
            )
            m.d.comb += [request.banks[slot].eq(bank), request.rows[slot].eq(row)]
        if self._probe:
            emit(m, self.events.lookup[0], names.looked_up != 0, count=names.looked_up)
            emit(m, self.events.unwritten[0], named.valid & self.blank.any(), count=sum(self.blank))

    def _move(self, m: Module, has: list[Signal]) -> None:
        """The registers that are moved, below a cache; what is wanted is not dying."""
        for outer, inner in zip(self.moving, self.release.moving, strict=True):
            wiring.connect(m, wiring.flipped(outer), inner)
        count = len(self.content)
        for number, place in enumerate(list(self.locate)[-count:]):
            dying = Array(self.release.dying)[place.warp].bit_select(place.register, 1)
            m.d.comb += self.content[number].eq(self.mapped[len(self.mapped) - count + number] & ~dying)
        if self._probe:
            renamed = Signal(count, name="renamed")
            exempt = Cat(find.exempt for find in list(self.exempt.find)[-count:])
            m.d.comb += renamed.eq(self.moves & ~exempt)
            emit(m, self.events.lookup[-1], renamed.any(), count=sum(renamed))
        if self._probe and not self.operands:
            uop, mine = self.issue.payload.uop, Array(has)[self.issue.payload.warp]
            blank = Signal(MAX_SOURCES, name="unwritten_sources")
            m.d.comb += blank.eq(
                Cat(
                    uop.source_valid[slot] & ~mine.bit_select(uop.sources[slot], 1)
                    for slot in range(MAX_SOURCES)
                )
            )
            emit(m, self.events.unwritten[0], self.issue.valid & blank.any(), count=sum(blank))

    def _locate(self, m: Module) -> None:
        places = list(self.exempt.find)[self.operands :]
        for number, (port, find, own) in enumerate(zip(self.locate, self.table.result, places, strict=True)):
            bank, row = self._place(Mux(own.exempt, own.physical, find.physical))
            asked: LocationInterface | NextResultInterface = port
            if self._locates_ahead and number < UNITS:
                # A register that is still to be written stays where it is.
                asked = self.upcoming[number]
                bank, row = self._kept_place(m, number, asked.changes, bank)
            m.d.comb += [
                find.warp.eq(asked.warp),
                find.register.eq(asked.register),
                own.warp.eq(asked.warp),
                own.register.eq(asked.register),
                port.bank.eq(bank),
                port.row.eq(row),
                self.mapped[number].eq(own.exempt | find.mapped),
            ]

    def _kept_place(self, m: Module, number: int, changes: Value, bank: Value) -> tuple[Value, Value]:
        """(bank, row) of the register that a unit's result writes next, from registers. The row of an exempt
        one is summed up behind them: it is needed later in a cycle than the bank."""
        find, own = self.table.result[number], list(self.exempt.find)[self.operands + number]
        summands = list(self.exempt.summands)[self.operands + number]
        found = {
            "bank": bank,
            "row": self._place(find.physical)[1],
            "exempt": own.exempt,
            "first": summands.first,
            "rest": summands.rest,
        }
        kept = {
            name: Signal(len(value), name=f"{name}_of_result_{number}", reset_less=True)
            for name, value in found.items()
        }
        with m.If(changes):
            m.d.sync += [kept[name].eq(value) for name, value in found.items()]
        row = self._place((kept["first"] + kept["rest"])[: len(find.physical)])[1]
        return kept["bank"], Mux(kept["exempt"], row, kept["row"])

    def _place(self, physical: Value) -> tuple[Value, Value]:
        """(bank, row) of a physical register."""
        banks = self._config.sub_core.banks
        shift = banks.bit_length() - 1
        row = physical >> shift
        return (physical[:shift] if shift else physical & 0), row
