"""Names of operands: a uop's sources are looked up in the renaming table before they are requested at the
banks."""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_SOURCES
from warpbank.hdl.interfaces import AlwaysInterface, read_layout, read_stream, tag_fields
from warpbank.hdl.mapping.exempt import Place, PlaceInterface
from warpbank.hdl.mapping.table import TABLE_BANKS, Find, FindInterface
from warpbank.hdl.round_robin import chosen
from warpbank.hdl.typed import Interface, Record, record


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

    def __init__(self, config: SmConfig, tags: int = 1) -> None:
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


class OperandLookup(wiring.Component):
    """Looks up the sources of uops, one uop after the other. Renaming, section 6.1.

    A bank of the table answers for one source per cycle; sources in one bank are looked up one after the
    other, in slot order. The look-up is fast enough for the cycle in which the operands are requested, so
    without such a conflict it costs no time. A uop's requests go to the banks together, when all its names
    are known; uops behind it wait in a FIFO. Exempt registers need no look-up.

    Parameters
    ----------
    config : the machine.
    groups : uops that can be waiting: all that can be in collection.
    tags : uops that one collector may have in collection.

    Members
    -------
    read : In(read_stream). Operand read interface: a uop's operands are requested. One that asks for
        none has no turn.
    find : Out(Find) per bank of the table.
    place : Out(Place) per slot. Where it is if it is exempt.
    looked_up : Out. Sources that are looked up in this cycle.
    named : Out(Named). Combinational from registers and `read`.

    Latency: none for a uop that finds nobody waiting and whose sources are in different banks; a cycle for
    each further source in a bank.

    Raises
    ------
    TypeError : `groups` is no positive number.
    """

    read: AlwaysInterface
    find: list[FindInterface]
    place: list[PlaceInterface]
    looked_up: Signal
    named: NamedInterface

    def __init__(self, config: SmConfig, groups: int, tags: int = 1) -> None:
        if type(groups) is not int or groups < 1:
            raise TypeError(f"Names needs a number of groups of at least 1, not {groups!r}.")
        self._config = config
        self._groups = groups
        self._tags = tags
        super().__init__(
            {
                "read": In(read_stream(config, tags)),
                "find": Out(Find(config)).array(TABLE_BANKS),
                "place": Out(Place(config)).array(MAX_SOURCES),
                "looked_up": Out(bits(TABLE_BANKS + 1)),
                "named": Out(Named(config, tags)),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        layout = read_layout(self._config, self._tags)
        fifo = m.submodules.waiting = SyncFIFO(width=layout.size, depth=self._groups - 1)
        group, head = (
            record(layout),
            record(layout, reset_less=True),
        )  # the first that waits stands in front of the FIFO
        some, asks, waits = Signal(), Signal(), Signal()
        m.d.comb += [
            asks.eq(self.read.valid & self.read.payload.source_valid.any()),
            some.eq(waits | asks),
            group.as_value().eq(Mux(waits, head.as_value(), self.read.payload.as_value())),
        ]

        done, before = (
            Signal(MAX_SOURCES),
            Signal(MAX_SOURCES),
        )  # slots looked up in earlier cycles; those of them with a name
        places = record(self.named.physical.shape(), reset_less=True)
        now, found, asked = Signal(MAX_SOURCES), Signal(MAX_SOURCES), Signal(MAX_SOURCES)
        exempt = Signal(MAX_SOURCES)
        m.d.comb += exempt.eq(Cat(place.exempt for place in self.place) & group.source_valid)
        answers = []
        for bank, find in enumerate(self.find):
            mine = Signal(MAX_SOURCES, name=f"mine_{bank}")
            m.d.comb += mine.eq(
                Cat(
                    some
                    & group.source_valid[slot]
                    & ~exempt[slot]
                    & ~done[slot]
                    & (group.sources[slot][: bits(TABLE_BANKS)] == bank)
                    for slot in range(MAX_SOURCES)
                )
            )
            choice = chosen(m, mine, f"slot_{bank}")
            m.d.comb += [find.warp.eq(group.warp), find.register.eq(group.sources[choice.index])]
            answers.append((choice.one_hot, find))
        for slot in range(MAX_SOURCES):
            place = Signal(len(self.find[0].physical), name=f"place_{slot}")
            m.d.comb += place.eq(places[slot])
            for one_hot, find in answers:
                with m.If(one_hot[slot]):
                    m.d.comb += [asked[slot].eq(1), found[slot].eq(find.mapped), place.eq(find.physical)]
            own = self.place[slot]
            m.d.comb += [own.warp.eq(group.warp), own.register.eq(group.sources[slot])]
            with m.If(exempt[slot]):
                m.d.comb += [found[slot].eq(1), place.eq(own.physical)]
            m.d.comb += self.named.physical[slot].eq(place)
            m.d.sync += places[slot].eq(place)

        complete = Signal()
        m.d.comb += [
            now.eq(Mux(some, asked | exempt, 0)),
            complete.eq(some & ((done | now) == group.source_valid)),
            self.looked_up.eq(sum(asked)),
            self.named.valid.eq(complete),
            self.named.collector.eq(group.collector),
            self.named.warp.eq(group.warp),
            self.named.slots.eq(group.source_valid),
            self.named.mapped.eq(before | found),
            fifo.w_data.eq(self.read.payload.as_value()),
            fifo.w_en.eq(asks & waits & (fifo.r_rdy | ~complete)),
            fifo.r_en.eq(waits & complete),
        ]
        with m.If(complete | ~waits):
            m.d.sync += head.as_value().eq(Mux(fifo.r_rdy, fifo.r_data, self.read.payload.as_value()))
        m.d.sync += waits.eq(Mux(waits, ~complete | fifo.r_rdy | asks, asks & ~complete))
        if self._tags > 1:
            m.d.comb += self.named.tag.eq(group.tag)
        m.d.sync += [
            done.eq(Mux(complete, 0, done | now)),
            before.eq(Mux(complete | ~some, 0, before | found)),
        ]
        return m
