"""Caching collector unit (CCU): one uop in collection, and the values of the warp that the unit serves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data
from amaranth.lib.memory import Memory

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.async_memory import read_at, write_at
from warpbank.hdl.collector.cache_table import Lines, found, renewed, touched, victim
from warpbank.hdl.collector.metadata import keep_metadata
from warpbank.hdl.interfaces import DeliveryInterface, ResultOfferInterface, WriteBack, WriteBackInterface
from warpbank.hdl.layouts import REGISTER_WIDTH, UNITS
from warpbank.hdl.lfsr import Lfsr
from warpbank.hdl.round_robin import encode, pick, soonest
from warpbank.hdl.typed import Record, record


@dataclass(frozen=True)
class Taken:
    """Uop that issues, as the unit sees it that takes it.

    Parameters
    ----------
    issue : payload of the issue interface.
    fresh_owner : the unit changes hands.
    lines : per source slot, the line with the slot's value, a mask; 0: none.
    missed : slots whose operands are requested.
    """

    issue: Record
    fresh_owner: Value
    lines: Sequence[Signal]
    missed: Value


@dataclass(frozen=True)
class Results:
    """Results of a cycle, as they are offered to all units.

    Parameters
    ----------
    offers : per execution unit.
    first : execution unit whose offer goes first, then the next ones in order.
    keep : per execution unit, where a testbench answers with the value of a result.
    """

    offers: Sequence[ResultOfferInterface]
    first: Value
    keep: Sequence[WriteBackInterface]


class CachingUnit:
    """Caching collector unit: its cache table, its uop in collection, and the line of each source slot.
    Malekeh, sections III-C and IV-A.

    A part of `warpbank.hdl.collector.ccu.Ccu`, which chooses the unit that a uop gets and the uop that is
    dispatched; the unit keeps its warp's values. All of it stands in the module of `Ccu`.

    Parameters
    ----------
    config : the machine: lines, allocation, seed.
    number : number of the unit.
    far_first : lines whose reuse is far are replaced first, and results whose reuse is far are not kept.

    Attributes
    ----------
    table : its cache table.
    view : the table as a result leaves it that takes a line in this cycle: registers, valid lines.
    owner, owned : warp whose values the unit keeps, and whether there is one.
    left : the owner goes to another unit in this cycle, set by `Ccu`.
    awaits : mask of the slots whose operands are to come.
    new : a uop came in the last cycle.
    sources, near : registers of the uop's slots; slots whose reuse is near.
    uses : per slot, the line that the uop of the last cycle found, a mask.
    victim : line that is replaced in this cycle if one is, a mask.
    arrived : result that came through port D: warp, seq, register, mask, value.
    joins : line that `arrived` is written into in this cycle, a mask.
    seeks, takes : `arrived` has no line yet; it takes one in this cycle.
    kept, line : a result is written into the table in this cycle, and into which line.
    asks : mask of the execution unit whose result port D takes.
    lost : per execution unit, the lines that its result makes invalid.
    operands : value of each source slot's line.
    notes : metadata of each source slot's line; none on plain banks.
    random : shift register of the replacement.
    """

    def __init__(self, config: SmConfig, number: int, far_first: bool) -> None:
        core = config.sub_core
        lines, private = core.collector.cache_lines, core.collector.allocation == "per_warp"
        self._config, self._number = config, number
        self._far_first, self._private = far_first, private
        self.table = Lines(lines, str(number))
        self.view = Lines(lines, f"after_result_{number}")
        self.owner = Signal(core.warp_width, name=f"owner_{number}", init=number if private else 0)
        self.owned = Signal(name=f"owned_{number}", init=private)
        self.left = Signal(name=f"left_{number}")
        self.awaits = Signal(MAX_SOURCES, name=f"awaits_{number}")
        self.new = Signal(name=f"new_{number}")
        self.sources = Signal(REGISTER_WIDTH * MAX_SOURCES, name=f"sources_{number}", reset_less=True)
        self.near = Signal(MAX_SOURCES, name=f"near_slots_{number}", reset_less=True)
        self.uses: list[Value] = []
        self.victim = Signal(lines, name=f"victim_{number}", init=1)
        fields = {name: port.shape for name, port in WriteBack(config).members.items() if name != "valid"}
        self.arrived = record(data.StructLayout(fields), name=f"arrived_{number}", reset_less=True)
        self.joins = Signal(lines, name=f"joins_{number}")
        self.seeks, self.takes = (
            Signal(name=f"arrived_seeks_{number}"),
            Signal(name=f"arrived_takes_{number}"),
        )
        self.kept, self.line = Signal(name=f"keeps_{number}"), Signal(lines, name=f"line_{number}")
        self.asks: Value = Const(0, UNITS)
        self.lost: list[Signal] = []
        self.operands: list[Value] = []
        self.notes: list[Value] = []
        self.random = Lfsr(number_seed(core.collector.seed, number), lines)
        self._opens = Signal(name=f"opens_{number}")  # a result may take a line in the next cycle
        self._fresh = Signal(lines, name=f"taken_by_result_{number}")

    def after_result(self, m: Module) -> None:
        """Make `view`."""
        table, view = self.table, self.view
        m.d.comb += view.valid.eq(table.valid | self._fresh)
        m.d.comb += [
            after.eq(Mux(self._fresh[line], self.arrived.register, before))
            for line, (after, before) in enumerate(zip(view.registers, table.registers, strict=True))
        ]

    def end(
        self,
        m: Module,
        allocated: Value,
        taken: Taken,
        gone: Value,
        start: Value,
        delivery: DeliveryInterface,
        results: Results,
        parts: int,
    ) -> None:
        """End the cycle: an earlier result, the last cycle's uop and an operand change the table, and this
        cycle's results come.

        Parameters
        ----------
        allocated : the unit takes the uop of `taken`.
        gone : its uop is dispatched.
        start : warps that start.
        delivery : operand that arrives at port S.
        results : of this cycle.
        parts : parts of a register that are compressed by themselves; metadata is kept with values if not 0.
        """
        number, table, owner = self._number, self.table, self.owner
        starts, forgets = Signal(name=f"starts_{number}"), Signal(name=f"forgets_{number}")
        m.d.comb += [
            starts.eq(self.owned & (start & (1 << owner)).any()),
            forgets.eq((allocated & taken.fresh_owner) | self.left),
        ]
        with m.If(allocated & taken.fresh_owner):
            m.d.sync += [owner.eq(taken.issue.warp), self.owned.eq(1)]
        with m.Elif(starts | self.left):
            m.d.sync += self.owned.eq(int(self._private))
        self._next_victim(m, delivery)
        fresh = Mux(delivery.valid, self.victim, 0)
        slots = self._take(m, allocated, taken, delivery)
        dropped = self._arrive(m, results, forgets, starts, fresh)
        self._keep(m, delivery)
        written = Mux(self.kept, self.line, 0)
        valid, locked, used, near = (
            Signal(table.size, name=f"{name}_{number}") for name in ("kept", "locks", "uses", "near_of")
        )
        m.d.comb += [
            valid.eq(((table.valid | written) & ~dropped) | Mux(self.owned, fresh, 0)),
            locked.eq(Mux(allocated, reduce(or_, taken.lines), 0) | fresh),
            used.eq(reduce(or_, self.uses)),
            near.eq(reduce(or_, (Mux(self.near[slot], use, 0) for slot, use in enumerate(self.uses)))),
        ]
        nears = self.near.bit_select(delivery.slot, 1)
        rows = renewed(touched(touched(table.newer, written), fresh), self.uses)
        m.d.sync += [
            table.valid.eq(Mux(forgets | starts, 0, valid)),
            table.locked.eq(Mux(gone, 0, table.locked) | locked),
            table.near.eq(table.near & ~used & ~fresh | near | Mux(nears, fresh, 0) | written),
            *(row.eq(after) for row, after in zip(table.newer, rows, strict=True)),
        ]
        source = self.sources.word_select(delivery.slot, REGISTER_WIDTH)
        for position, register in enumerate(table.registers):
            with m.If(fresh[position]):
                m.d.sync += register.eq(source)
            with m.Elif(written[position]):
                m.d.sync += register.eq(self.arrived.register)
        self._values(m, slots, delivery, written, parts)

    def _next_victim(self, m: Module, delivery: DeliveryInterface) -> None:
        """Choose the line that the next cycle replaces if it has to: none that the unit's uop reads, nor one
        that is written in this cycle, or may be."""
        table, ranks = self.table, self.random.ranks
        closed = table.locked | self.joins | Mux(delivery.valid | self.seeks, self.victim, 0)
        m.d.sync += self.victim.eq(victim(m, table, closed, ranks, self._far_first, str(self._number)))

    def _take(self, m: Module, allocated: Value, taken: Taken, delivery: DeliveryInterface) -> list[Value]:
        """Follow the sources of the unit's uop: their registers, their lines, and which are still to come.
        Returns the number of each slot's line."""
        number, width, uop = self._number, bits(self.table.size), taken.issue.uop
        arrives = Signal(MAX_SOURCES, name=f"arrives_{number}")
        uses = [
            Signal(len(mask), name=f"found_{number}_{slot}", reset_less=True)
            for slot, mask in enumerate(taken.lines)
        ]
        left = self.awaits & ~arrives
        m.d.comb += arrives.eq(delivery.valid << delivery.slot)
        m.d.sync += self.new.eq(allocated)
        with m.If(allocated):
            m.d.sync += [
                self.sources.eq(uop.sources.as_value()),
                self.near.eq(uop.near),
                self.awaits.eq(taken.missed),
                *(kept.eq(mask) for kept, mask in zip(uses, taken.lines, strict=True)),
            ]
        with m.Else():
            m.d.sync += self.awaits.eq(left)
            m.d.comb += self._opens.eq(~left.any())
        self.uses = [Mux(self.new, mask, 0) for mask in uses]
        # The lines stand in a memory, where a testbench looks them up, too.
        memory = m.submodules[f"places_{number}"] = Memory(shape=width * MAX_SOURCES, depth=2, init=[])
        port = memory.write_port(granularity=width)
        lines = Cat(encode(mask) for mask in taken.lines)
        m.d.comb += [
            port.data.eq(Mux(allocated, lines, encode(self.victim).replicate(MAX_SOURCES))),
            port.en.eq(Mux(allocated, -1, arrives)),
        ]
        row = Signal(width * MAX_SOURCES, name=f"places_of_{number}")
        m.d.comb += row.eq(read_at(m, memory, Const(0, 1)))
        return [row.word_select(slot, width) for slot in range(MAX_SOURCES)]

    def _values(
        self, m: Module, slots: list[Value], delivery: DeliveryInterface, changed: Value, parts: int
    ) -> None:
        """Values of the lines, with port S and port D."""
        number, place = self._number, encode(self.victim)
        values = m.submodules[f"slots_{number}"] = Memory(
            shape=self._config.value_width, depth=self.table.size, init=[]
        )
        write_at(m, values, place, delivery.value, delivery.valid)
        port = values.write_port(granularity=32)
        m.d.comb += [
            port.addr.eq(Mux(self.takes, place, encode(self.joins))),
            port.data.eq(self.arrived.value),
            port.en.eq(self.kept.replicate(self._config.lanes) & self.arrived.mask),
        ]
        self.operands = [read_at(m, values, slot) for slot in slots]
        if parts:
            self.notes = keep_metadata(
                m, parts, str(number), self.table.size, delivery, place, changed, slots
            )

    def _arrive(self, m: Module, results: Results, forgets: Value, starts: Value, fresh: Value) -> Value:
        """Choose among the owner's results of this cycle the one that port D takes, to be written later; its
        line may be `fresh`, which is an operand's from now on. Returns the lines that the others make
        invalid."""
        number, offers, arrived, size = self._number, results.offers, self.arrived, self.table.size
        mine, near = Signal(UNITS, name=f"mine_{number}"), Signal(UNITS, name=f"near_{number}")
        m.d.comb += mine.eq(
            Cat(offer.valid & self.owned & (offer.payload.warp == self.owner) for offer in offers)
        )
        m.d.comb += near.eq(mine & Cat(offer.payload.near for offer in offers) if self._far_first else mine)
        port = soonest(m, near, results.first, f"port_{number}")
        here = [
            found(m, self.view, offer.payload.register, f"{number}_{unit}")
            for unit, offer in enumerate(offers)
        ]
        written = port.one_hot & Cat(offer.taken for offer in offers)
        whole = port.one_hot & Cat(offer.payload.mask.all() for offer in offers)
        hit, takes = Signal(size, name=f"hit_of_{number}"), Signal(name=f"port_takes_{number}")
        more = (mine & Cat(offer.taken for offer in offers)).any()
        seeks, stays = Signal(name=f"seeks_{number}"), ~(forgets | starts)
        m.d.comb += [
            hit.eq(pick(port.one_hot, here)),
            takes.eq(written.any() & (hit.any() | whole.any())),
            seeks.eq((takes & ~hit.any() | self.seeks & ~self.takes & ~more) & stays),
        ]
        self.asks = Mux(takes & ~forgets, port.one_hot, 0)
        with m.If(takes):
            m.d.sync += [
                arrived.value.eq(pick(port.one_hot, [asked.value for asked in results.keep])),
                *(
                    getattr(arrived, name).eq(
                        pick(port.one_hot, [getattr(offer.payload, name) for offer in offers])
                    )
                    for name in ("warp", "seq", "register", "mask")
                ),
            ]
        m.d.sync += [
            self.joins.eq(Mux(takes & stays, hit & ~fresh, 0)),
            self.seeks.eq(seeks),
            self.takes.eq(seeks & self._opens),
        ]
        self.lost = [Signal(size, name=f"lost_{number}_{unit}") for unit in range(len(offers))]
        for unit, (offer, mask, lost) in enumerate(zip(offers, here, self.lost, strict=True)):
            drops = offer.taken & mine[unit] & ~port.one_hot[unit] & ~forgets
            m.d.comb += lost.eq(Mux(drops, mask, 0))
        return reduce(or_, self.lost)

    def _keep(self, m: Module, delivery: DeliveryInterface) -> None:
        """Write a result of an earlier cycle into the table."""
        delivers, place = delivery.valid, self.victim
        taken = Signal(name=f"line_taken_{self._number}")  # by an operand, if one comes
        m.d.comb += [
            self._fresh.eq(Mux(self.takes, place, 0)),
            self.line.eq(Mux(self.takes, place, self.joins)),
            taken.eq((self.joins & place).any()),
            self.kept.eq(self.takes | self.joins.any() & ~(delivers & taken)),
            self.random.advance.eq(delivers | self.takes),
        ]


def number_seed(seed: int, number: int) -> int:
    """Seed of the unit `number`, different for every unit."""
    return (seed + 0x1D3 * (number + 1)) % 0xFFFF + 1
