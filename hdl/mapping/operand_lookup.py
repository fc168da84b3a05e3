"""Names of operands: a uop's sources are looked up in the renaming table before they are requested at the
banks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any, Protocol

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.front_end.age_matrix import age_matrix, oldest_of
from warpbank.hdl.interfaces import AlwaysInterface, read_stream
from warpbank.hdl.layouts import read_layout, tag_fields
from warpbank.hdl.mapping.exempt import Place, PlaceInterface
from warpbank.hdl.mapping.table import TABLE_BANKS, Enter, EnterInterface, Find, FindInterface
from warpbank.hdl.round_robin import decode, lowest, pick
from warpbank.hdl.typed import Interface, Record, record

_BANK_WIDTH = bits(TABLE_BANKS)


class Named(wiring.Signature):
    """The sources of a uop with their names (seen from who looked them up).

    Members
    -------
    valid : Out(1). All names are known in this cycle.
    collector, warp : Out. For whom; whose. tag : Out, if `tags` > 1.
    slots : Out. Source slots that there are.
    mapped : Out, a bit per slot. It has a physical register.
    physical : Out, per slot.
    """

    def __init__(self, config: SmConfig, tags: int) -> None:
        core = config.sub_core
        super().__init__(
            {
                **{name: Out(width) for name, width in tag_fields(tags).items()},
                "valid": Out(1),
                "collector": Out(core.collector_width),
                "warp": Out(core.warp_width),
                "slots": Out(MAX_SOURCES),
                "mapped": Out(MAX_SOURCES),
                "physical": Out(data.ArrayLayout(bits(core.warp_registers), MAX_SOURCES)),
            }
        )


class NamedInterface(Interface, Protocol):
    """Interface object of the signature `Named`."""

    valid: Signal
    collector: Signal
    warp: Signal
    tag: Signal
    slots: Signal
    mapped: Signal
    physical: Record


@dataclass(frozen=True)
class _Bank:
    """One bank of the table in a cycle.

    `slot`: the one that is looked up, one-hot, for the uop `served`, and `answer`: what is found, in the next
    cycle with two stages. `waits`: that is for a uop that waited. `ends`: the uop whose last look-up in this
    bank that is. `owed`: uops that wait for others in this bank. `short`: the new uop will be one of them.
    """

    slot: Signal
    answer: Signal
    served: Signal
    waits: Signal
    ends: Signal
    owed: Value
    short: Value


class OperandLookup(wiring.Component):
    """Looks up the sources of all uops that wait for names. Renaming, section 6.1.

    Each bank of the table answers for one source per cycle: the oldest of that bank, over all uops that wait,
    in slot order within a uop. The look-up is fast enough for the cycle in which the operands are requested,
    so a uop whose banks are free loses no time. A uop's requests go to the banks together, when all its names
    are known; one uop goes in a cycle, the oldest that can. Exempt registers need no look-up.

    A bank has a FIFO of uops, each with a mask of its slots in that bank, and whether that is one slot; the
    first stands in a register in front of it. A uop's names wait in registers until the last of them is
    known; who goes comes late, so rows are read one-hot, without an address.

    A register before the look-up and one within it (`mapping.lookup_stages`) make it as many cycles later:
    section 6.1 has it within the two or three cycles of the operand collector stage. The second register
    stands between the choice of the sources that are looked up and the table. It is behind the look-up in the
    model, which makes no difference: what is still to be read stays where it is. A source that had no
    physical register when the uop asked has none, though the uop itself may have been given one meanwhile, as
    its destination.

    Parameters
    ----------
    config : the machine, with its stages.
    tags : uops that one collector may have in collection.

    Members
    -------
    read : In(read_stream). Operand read interface: a uop's operands are requested. One that asks for
        none has no turn.
    find : Out(Find) per bank of the table.
    place : Out(Place) per slot. Where it is if it is exempt.
    entered : In(Enter) per bank of the table. What is entered in this cycle; with a stage, what was in the
        cycle before. Without one only registers follow from it.
    looked_up : Out. Sources that are chosen to be looked up in this cycle.
    named : Out(Named). From registers with two stages, but for what the table answers; else combinational,
        and from `read`, too, if there is no stage.

    Latency: a cycle per stage for a uop that finds the banks of its sources free and none of its sources in
    one bank; else until the last of its sources was the oldest of its bank.

    Raises
    ------
    TypeError : `tags` is no positive number.
    """

    #: Queue of a bank, and the order of the uops; tests put others here.
    fifo_class: Any = SyncFIFO
    oldest = staticmethod(oldest_of)

    read: AlwaysInterface
    find: list[FindInterface]
    place: list[PlaceInterface]
    entered: list[EnterInterface]
    looked_up: Signal
    named: NamedInterface

    def __init__(self, config: SmConfig, tags: int = 1) -> None:
        if type(tags) is not int or tags < 1:
            raise TypeError(f"OperandLookup needs a number of tags of at least 1, not {tags!r}.")
        self._config = config
        self._tags = tags
        self._stages = config.sub_core.mapping.lookup_stages
        #: Uops that can wait: all that can be in collection.
        self._uops = config.sub_core.collectors * tags
        super().__init__(
            {
                "read": In(read_stream(config, tags)),
                "find": Out(Find(config)).array(TABLE_BANKS),
                "place": Out(Place(config)).array(MAX_SOURCES),
                "entered": In(Enter(config)).array(TABLE_BANKS),
                "looked_up": Out(bits(TABLE_BANKS + 1)),
                "named": Out(Named(config, tags)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = read_layout(self._config, self._tags)
        (asked, read), count = self._asked(m, layout), self._uops
        arrives, number, exempt = Signal(), Signal(bits(count)), Signal(MAX_SOURCES)
        m.d.comb += [
            arrives.eq(asked & read.source_valid.any()),
            number.eq(read.collector * self._tags + read.tag if self._tags > 1 else read.collector),
            exempt.eq(Cat(place.exempt for place in self.place)),
        ]
        for slot, place in enumerate(self.place):
            m.d.comb += [place.warp.eq(read.warp), place.register.eq(read.sources[slot])]
        new = decode(m, number, arrives, count, "new")
        uops = [record(layout, name=f"uop_{row}", reset_less=True) for row in range(count)]
        for row, kept in enumerate(uops):
            with m.If(new[row]):
                m.d.sync += kept.as_value().eq(read.as_value())
        own = [Cat(1, place.physical) for place in self.place]  # there is a physical register; which
        banks = [self._bank(m, bank, read, arrives, number, exempt, uops) for bank in range(TABLE_BANKS)]

        waits = Signal(count)  # uops that wait for names
        complete, known, leaves = Signal(count), Signal(), Signal(count)
        m.d.comb += [
            complete.eq(waits & ~reduce(or_, (bank.owed for bank in banks))),
            known.eq(arrives & ~reduce(or_, (bank.short for bank in banks))),
            leaves.eq(self.oldest(complete, age_matrix(m, new))),
        ]
        late, uop = Signal(), record(layout)  # the uop that goes has waited; the uop
        named = self._named(m)
        m.d.comb += [
            late.eq(complete.any()),
            uop.as_value().eq(Mux(late, pick(leaves, [kept.as_value() for kept in uops]), read.as_value())),
            named.valid.eq(late | known),
            named.collector.eq(uop.collector),
            named.warp.eq(uop.warp),
            named.slots.eq(uop.source_valid),
            self.looked_up.eq(sum(bank.slot.any() for bank in banks)),
        ]
        if self._tags > 1:
            m.d.comb += named.tag.eq(uop.tag)
        m.d.sync += waits.eq(waits & ~leaves | Mux(known & ~late, 0, new))
        unwritten, rows = self._unwritten(m, read, new)
        its = Mux(late, pick(leaves, rows), unwritten)
        here = [Mux(late, (leaves & bank.ends).any(), ~bank.waits) for bank in banks]
        # With two stages the table answers a cycle after it was asked: which slot of which uop that was.
        answered = [self._later(m, bank, number) for number, bank in enumerate(banks)]
        for slot in range(MAX_SOURCES):
            names = [
                Signal.like(own[slot], name=f"name_{slot}_{row}", reset_less=True) for row in range(count)
            ]
            there: list[Value] = []  # what is known of the slot of each uop that waits
            for row, known_name in enumerate(names):
                if self._stages < 2:
                    with m.If(new[row]):
                        m.d.sync += known_name.eq(own[slot])
                mine = rows[row] if self._stages > 1 else Mux(new[row], unwritten, rows[row])
                there.append(known_name)
                for bank, (served, chosen) in zip(banks, answered, strict=True):
                    with m.If(served[row] & chosen[slot]):
                        m.d.sync += known_name.eq(self._answer(bank, mine[slot]))
                    if self._stages > 1:
                        comes = self._answer(bank, mine[slot])
                        there[-1] = Mux(served[row] & chosen[slot], comes, there[-1])
                if self._stages > 1:
                    with m.If(new[row]):
                        m.d.sync += known_name.eq(own[slot])
            found = Signal.like(own[slot], name=f"name_{slot}")
            m.d.comb += found.eq(Mux(late, pick(leaves, there), own[slot]))
            for bank, ends in zip(banks, here, strict=True):
                if self._stages < 2:
                    with m.If(ends & bank.slot[slot]):
                        m.d.comb += found.eq(self._answer(bank, its[slot]))
            m.d.comb += [named.mapped[slot].eq(found[0]), named.physical[slot].eq(found[1:])]
            if self._stages > 1:
                self._complete(m, slot, banks, here, its[slot])
        return m

    def _later(self, m: Module, bank: _Bank, number: int) -> tuple[Value, Value]:
        """Uop and slot, one-hot, for which a bank answers in this cycle."""
        if self._stages < 2:
            return bank.served, bank.slot
        served = Signal.like(bank.served, name=f"answers_{number}", reset_less=True)
        slot = Signal.like(bank.slot, name=f"answers_slot_{number}")
        m.d.sync += [served.eq(bank.served), slot.eq(bank.slot)]
        return served, slot

    def _complete(
        self, m: Module, slot: int, banks: list[_Bank], here: list[Value], unwritten: Value
    ) -> None:
        """Merge the table's answer into the names of the uop that went into the stage in the cycle before,
        for a slot that the table was asked for then."""
        blank = Signal(name=f"blank_{slot}", reset_less=True)
        m.d.sync += blank.eq(unwritten)
        for number, (bank, ends) in enumerate(zip(banks, here, strict=True)):
            last = Signal(name=f"last_{slot}_in_{number}", reset_less=True)
            m.d.sync += last.eq(ends & bank.slot[slot])
            answer = self._answer(bank, blank)
            with m.If(last):
                m.d.comb += [self.named.mapped[slot].eq(answer[0]), self.named.physical[slot].eq(answer[1:])]

    def _unwritten(self, m: Module, read: Record, new: Value) -> tuple[Value, list[Value]]:
        """Slots whose register had no physical one when their uop asked, and may have one when they are
        looked up: of the uop that is there now, and of those that wait. Without a stage the former are looked
        up before the table knows."""
        unwritten = Signal(MAX_SOURCES, name="unwritten")
        m.d.comb += unwritten.eq(
            Cat(
                Cat(
                    port.valid & (port.warp == read.warp) & (port.register == read.sources[slot])
                    for port in self.entered
                ).any()
                for slot in range(MAX_SOURCES)
            )
        )
        rows: list[Value] = []
        for row, comes in enumerate(new):
            kept = Signal(MAX_SOURCES, name=f"unwritten_{row}", reset_less=True)
            with m.If(comes):
                m.d.sync += kept.eq(unwritten)
            rows.append(kept)
        return unwritten if self._stages else Const(0, MAX_SOURCES), rows

    def _answer(self, bank: _Bank, unwritten: Value) -> Value:
        """Answer of a bank of the table for a slot."""
        return Cat(bank.answer[0] & ~unwritten, bank.answer[1:])

    def _asked(self, m: Module, layout: data.StructLayout) -> tuple[Value, Record]:
        """Uop that asks for names, as its valid bit and what it reads: that of `read`, a cycle later if there
        is a stage before the look-up."""
        if self._stages < 1:
            return self.read.valid, self.read.payload
        valid, kept = Signal(name="asked"), record(layout, name="asked_for", reset_less=True)
        m.d.sync += [valid.eq(self.read.valid), kept.as_value().eq(self.read.payload.as_value())]
        return valid, kept

    def _named(self, m: Module) -> NamedInterface:
        """Signals for the uop whose names are known, or will be when the table has answered: `named`, or
        those in front of it with two stages."""
        if self._stages < 2:
            return self.named
        found = Named(self._config, self._tags).create(path=("found",))
        for name in found.signature.members:
            field = getattr(self.named, name)
            kept = Signal(len(Value.cast(field)), name=f"kept_{name}", reset_less=name != "valid")
            m.d.sync += kept.eq(getattr(found, name))
            m.d.comb += Value.cast(field).eq(kept)
        return found

    def _bank(
        self,
        m: Module,
        number: int,
        read: Record,
        arrives: Value,
        new: Value,
        exempt: Value,
        uops: list[Record],
    ) -> _Bank:
        """Queue of one bank of the table.

        Parameters
        ----------
        number : of the bank.
        read : what the new uop reads, if it `arrives`.
        new : number of the new uop.
        exempt : slots of it that need no look-up.
        uops : what those that wait read.
        """
        mine, asks = Signal(MAX_SOURCES, name=f"mine_{number}"), Signal(name=f"asks_{number}")
        asked = Signal(MAX_SOURCES, name=f"asked_{number}")
        m.d.comb += [
            mine.eq(
                Cat(
                    read.source_valid[slot] & ~exempt[slot] & (read.sources[slot][:_BANK_WIDTH] == number)
                    for slot in range(MAX_SOURCES)
                )
            ),
            asks.eq(arrives & mine.any()),
        ]
        entry = data.StructLayout({"uop": len(new), "slots": MAX_SOURCES, "single": 1})
        fifo = m.submodules[f"queue_{number}"] = self.fifo_class(width=entry.size, depth=self._uops - 1)
        waits, head = Signal(name=f"waits_{number}"), record(entry, name=f"head_{number}", reset_less=True)
        pushed, slots = record(entry, name=f"pushed_{number}"), Signal(MAX_SOURCES, name=f"slots_{number}")
        behind = record(entry, name=f"behind_{number}")
        m.d.comb += [
            behind.as_value().eq(fifo.r_data),
            pushed.uop.eq(new),
            pushed.slots.eq(mine),
            asked.eq(Mux(arrives, mine, 0)),
            slots.eq(Mux(waits, head.slots, asked)),
        ]
        # The new uop comes late: what follows from the one that waits is found without it.
        of_head, of_new = lowest(head.slots), lowest(asked)
        # `last`: there is a head, with one slot left.
        last, single = Signal(name=f"last_{number}"), Signal(name=f"single_{number}")
        slot = Signal(MAX_SOURCES, name=f"slot_{number}")
        m.d.comb += [
            slot.eq(Mux(waits, of_head, of_new)),
            single.eq(asked == of_new),
            pushed.single.eq(single),
            fifo.w_data.eq(pushed.as_value()),
            fifo.w_en.eq(asks & waits & (fifo.r_rdy | ~last)),
            fifo.r_en.eq(last),
        ]
        m.d.sync += waits.eq(Mux(waits, ~last | fifo.r_rdy | asks, asks & ~single))
        with m.If(last):
            m.d.sync += last.eq(Mux(fifo.r_rdy, behind.single, asks & single))
            m.d.sync += head.as_value().eq(Mux(fifo.r_rdy, fifo.r_data, pushed.as_value()))
        with m.Else():
            left = Signal(MAX_SOURCES, name=f"left_{number}")
            m.d.comb += left.eq(slots & ~slot)
            m.d.sync += [
                head.uop.eq(Mux(waits, head.uop, new)),
                head.slots.eq(left),
                last.eq(left.any() & (left == lowest(left))),
            ]

        waiting, find = record(read.shape(), name=f"waiting_{number}"), self.find[number]
        answer = Signal(1 + len(find.physical), name=f"answer_{number}")
        domain = m.d.comb if self._stages < 2 else m.d.sync
        m.d.comb += waiting.as_value().eq(Array(kept.as_value() for kept in uops)[head.uop])
        domain += [
            find.warp.eq(Mux(waits, waiting.warp, read.warp)),
            find.register.eq(Mux(waits, pick(of_head, waiting.sources), pick(of_new, read.sources))),
        ]
        m.d.comb += answer.eq(Cat(find.mapped, find.physical))
        owed = Signal(self._uops, name=f"owed_{number}")
        ends = decode(m, head.uop, last, self._uops, f"ends_{number}")
        short = asks & (waits | ~single)
        m.d.sync += owed.eq(owed & ~ends | decode(m, new, short, self._uops, f"short_{number}"))
        served = decode(m, Mux(waits, head.uop, new), Const(1), self._uops, f"served_{number}")
        return _Bank(slot, answer, served, waits, ends, owed & ~ends, short)
