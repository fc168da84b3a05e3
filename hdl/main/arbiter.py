"""The bank arbiter: which read request each bank serves in a cycle."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any, TypeAlias

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.fifo import SyncFIFO
from amaranth.lib.wiring import In, Out

from warpbank.arch.events import Cause
from warpbank.arch.parameters import SmConfig, SubCoreConfig, bits
from warpbank.hdl.headed_fifo import HeadedFifo
from warpbank.hdl.layouts import tag_fields
from warpbank.hdl.main.arbiter_ports import (
    BankRead,
    BankReadInterface,
    Grant,
    GrantInterface,
    Lookups,
    LookupsInterface,
    Requests,
    RequestsInterface,
    Shape,
)
from warpbank.hdl.probe import EventInterface, Events, EventsInterface, emit
from warpbank.hdl.round_robin import before, chosen, encode, first_from, pick, soonest
from warpbank.hdl.typed import record

#: Events of a bank: its grant, the conflict of its oldest request, that of the others; the field that names
#: the bank; and the name of the field for its row.
_EventPorts: TypeAlias = "tuple[EventInterface, EventInterface, EventInterface, dict[str, int], str]"


class Arbiter(wiring.Component):
    """One FIFO of read requests per bank; the oldest is granted if its bank and its collector's port are
    free.

    A bank that is written in a cycle is not read. Two banks may not serve one collector in a cycle: the banks
    are looked at in rotating order, starting after the first bank that was granted in the last cycle that
    granted anything. Malekeh, section II.

    All requests that a uop makes at a bank are one entry of its FIFO, a group: the collector, a mask of
    slots, their rows. They are served in slot order and the group leaves with its last one. So a FIFO has one
    write port, and one entry per group that can be waiting, instead of six and one per request.

    Parameters
    ----------
    config : the machine.
    groups : groups that can be waiting at a bank; by default one per collector.
    tags : uops that one collector may have in collection.
    probe : generate `events` (grant, conflict; of a cache: cache_grant, cache_conflict).
    cache : the banks are those of a register file cache.
    shared : the collectors' ports are shared with another arbiter, which goes first.
    late : a second uop makes requests in a cycle, which wait in FIFOs of their own and go first: groups of it
        that can be waiting at a bank; 0 if none does.
    lookups : operands of a uop that are looked up in a cycle, in which they are asked for, too; 0: there may
        be a request for each of its slots.

    Members
    -------
    request : In(Requests). With `lookups`, In(Lookups).
    late : In(Requests), if `late`. With `lookups`, In(Lookups). Requests of the second uop.
    written : In(banks). Banks that are written in this cycle.
    waiting : Out(banks). Banks with a request. From registers.
    opening : In(banks). Banks that cannot serve theirs yet, since accesses take longer than a cycle; may
        depend on the two.
    ports : In(collectors), if `shared`. Collectors whose port is taken.
    read : Out(BankRead) per bank. Combinational from registers and `written`.
    grant : Out(Grant) per collector. Likewise.

    Latency: a request made in cycle t is granted in t + 1 at the earliest.

    Raises
    ------
    TypeError : `groups` is no positive number.
    """

    request: RequestsInterface | LookupsInterface
    late: RequestsInterface | LookupsInterface
    written: Signal
    waiting: Signal
    opening: Signal
    ports: Signal
    read: list[BankReadInterface]
    grant: list[GrantInterface]
    events: EventsInterface

    def __init__(
        self,
        config: SmConfig,
        groups: int | None = None,
        tags: int = 1,
        probe: bool = False,
        cache: bool = False,
        shared: bool = False,
        late: int = 0,
        lookups: int = 0,
    ) -> None:
        if groups is not None and (type(groups) is not int or groups < 1):
            raise TypeError(f"Arbiter needs a number of groups of at least 1, not {groups!r}.")
        self._config = config
        self._probe = probe
        core = config.sub_core
        self._groups = core.collectors if groups is None else groups
        self._tags = tags
        self._cache, self._shared, self._late, self._lookups = cache, shared, late, lookups
        self._shape = self._shaped()
        shape, banks = self._shape, self._shape.banks
        asked = Lookups(config, tags, shape, lookups) if lookups else Requests(config, tags, shape)
        members: dict[str, wiring.Member] = {
            "request": In(asked),
            "written": In(banks),
            "opening": In(banks),
            "waiting": Out(banks),
            "read": Out(BankRead(shape)).array(banks),
            "grant": Out(Grant(config, tags, shape)).array(core.collectors),
        }
        if late:
            members["late"] = In(asked)
        if shared:
            members["ports"] = In(core.collectors)
        if probe:
            members["events"] = Out(Events(config, self._instances()))
        super().__init__(members)

    def _shaped(self) -> Shape:
        """Its banks."""
        return Shape.of(self._config, self._cache)

    def _instances(self) -> dict[str, int]:
        """Instances of its events."""
        banks, kind = self._shape.banks, "cache_" if self._cache else ""
        return {f"{kind}grant": banks, f"{kind}conflict": 2 * banks}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        banks = self._shape.banks
        heads = [self._oldest(m, bank) for bank in range(banks)]
        candidates = Signal(banks)
        m.d.comb += self.waiting.eq(Cat(head.waiting for head in heads))
        m.d.comb += candidates.eq(self.waiting & ~self.written & ~self.opening)

        granted = Signal(banks)
        m.d.comb += granted.eq((self._serve_soon if self._late else self._serve)(m, heads, candidates))
        for bank, (head, port) in enumerate(zip(heads, self.read, strict=True)):
            m.d.comb += [head.granted.eq(granted[bank]), port.valid.eq(granted[bank]), port.row.eq(head.row)]
            if self._probe:
                self._events(m, bank, head)
        return m

    def _serve(self, m: Module, heads: list[_Head], candidates: Signal) -> Value:
        """Banks that are served: each collector chooses its first candidate, in rotating order."""
        banks = self._shape.banks
        pointer = Signal(self._shape.bank_width)
        served: list[Value] = []
        masks: list[Value] = []
        for number, grant in enumerate(self.grant):
            mask = Signal(banks, name=f"banks_of_{number}")
            free = ~self.ports[number] if self._shared else 1
            m.d.comb += mask.eq(candidates & Cat(head.collectors[number] & free for head in heads))
            choice = first_from(m, mask, pointer, f"port_{number}")
            m.d.comb += [
                grant.valid.eq(choice.any),
                grant.bank.eq(choice.index),
                self._what(grant).eq(pick(choice.one_hot, [self._what(head) for head in heads])),
            ]
            masks.append(mask)
            served.append(choice.one_hot)
        # The first bank of all that could be served is the first of its collector's, so that it is served.
        able = Signal(banks)
        m.d.comb += able.eq(reduce(or_, masks) if self._shared else candidates)
        served_first = first_from(m, able, pointer, "first")
        with m.If(served_first.any):
            m.d.sync += pointer.eq(served_first.after)
        return reduce(or_, served)

    def _serve_soon(self, m: Module, heads: list[_Head], candidates: Signal) -> Value:
        """Banks that are served, where what is written is known late: `_serve`'s, found in fewer steps. A
        candidate is served unless one before it, in rotating order, has its collector. Which bank is before
        which, and whose they are, is known before the candidates are."""
        banks = self._shape.banks
        reached = Signal(banks, name="banks_from_pointer", init=-1)
        able, served = Signal(banks), Signal(banks, name="banks_served")
        free = [(head.collectors & ~self.ports).any() if self._shared else Const(1) for head in heads]
        m.d.comb += able.eq(candidates & Cat(free))
        alone: list[Value] = []
        for bank, head in enumerate(heads):
            rivals = Signal(banks, name=f"rivals_of_{bank}")
            m.d.comb += rivals.eq(
                Cat(
                    (other.collector == head.collector) & before(reached, number, bank)
                    if number != bank
                    else Const(0)
                    for number, other in enumerate(heads)
                )
            )
            alone.append(able[bank] & ~(able & rivals).any())
        m.d.comb += served.eq(Cat(alone))
        for number, grant in enumerate(self.grant):
            mine = Signal(banks, name=f"serves_{number}")
            m.d.comb += mine.eq(served & Cat(head.collectors[number] for head in heads))
            # Whose request it is is asked before it is known to be served.
            own = [Mux(head.collectors[number], self._what(head), 0) for head in heads]
            m.d.comb += [
                grant.valid.eq(mine.any()),
                grant.bank.eq(encode(mine)),
                self._what(grant).eq(pick(served, own)),
            ]
        first = soonest(m, able, Const(0), "first", reached)
        with m.If(able.any()):
            m.d.sync += reached.eq(
                Mux(first.one_hot[-1], -1, Cat(first.one_hot[:bank].any() for bank in range(banks)))
            )
        return served

    def _what(self, of: GrantInterface | _Head) -> Value:
        """Name of a grant's or an oldest request among its collector's: the slot, and the uop where there are
        several."""
        return Cat(of.slot, of.tag) if self._tags > 1 else of.slot

    def _oldest(self, m: Module, bank: int) -> _Head:
        """The request of a bank that goes first: a late one, where there are any."""
        early = self._queue(m, str(bank), bank, self.request, self._groups)
        if not self._late:
            return early
        late = self._queue(m, f"late_{bank}", bank, self.late, self._late)
        head = _Head(self._group(), f"either_{bank}", self._config.sub_core, self._shape.row_width)
        # Whose request it is is decoded before the choice between the two, which is known late.
        m.d.comb += [
            head.group.as_value().eq(Mux(late.waiting, late.group.as_value(), early.group.as_value())),
            head.waiting.eq(late.waiting | early.waiting),
            head.collectors.eq(Mux(late.waiting, late.collectors, early.collectors)),
            head.slot.eq(Mux(late.waiting, late.slot, early.slot)),
            head.row.eq(Mux(late.waiting, late.row, early.row)),
            late.granted.eq(head.granted & late.waiting),
            early.granted.eq(head.granted & ~late.waiting),
            head.asked.eq(late.asked + early.asked),
        ]
        return head

    def _queue(
        self, m: Module, bank_name: str, bank: int, request: RequestsInterface | LookupsInterface, groups: int
    ) -> _Head:
        """One bank's FIFO of groups."""
        core = self._config.sub_core
        layout = self._entry()
        fifo: SyncFIFO | HeadedFifo
        if self._late:  # the choice between the two queues takes the time in which a memory is read
            fifo = HeadedFifo(layout.size, groups)
            m.d.comb += fifo.w_may.eq(request.valid)
        else:
            fifo = SyncFIFO(width=layout.size, depth=groups)
        m.submodules[f"queue_{bank_name}"] = fifo
        entry, oldest = record(layout, name=f"group_{bank_name}"), record(layout, name=f"oldest_{bank_name}")
        head = _Head(self._group(), bank_name, core, self._shape.row_width)
        m.d.comb += [entry.collector.eq(request.collector), head.group.collector.eq(oldest.collector)]
        if self._tags > 1:
            m.d.comb += [entry.tag.eq(request.tag), head.group.tag.eq(oldest.tag)]
        mine: Value
        if self._lookups:
            here = Cat(request.banks[number][bank] for number in range(self._lookups))
            asks = Cat(request.slots[number].any() for number in range(self._lookups))
            some = (here & asks).any()
            mine = self._of(here, request.slots)
            m.d.comb += [
                entry.here.eq(here),
                entry.slots.eq(request.slots),
                entry.rows.eq(request.rows),
                head.group.slots.eq(self._of(oldest.here, oldest.slots)),
                head.group.rows.eq(
                    Cat(
                        pick(
                            Cat(oldest.slots[number][slot] for number in range(self._lookups)),
                            [oldest.rows[number] for number in range(self._lookups)],
                        )
                        for slot in range(core.collector.slots)
                    )
                ),
            ]
        else:
            mine = Cat(
                request.slots[slot] & (request.banks[slot] == bank) for slot in range(core.collector.slots)
            )
            some = mine.any()
            m.d.comb += [
                entry.slots.eq(mine),
                entry.rows.eq(request.rows),
                head.group.slots.eq(oldest.slots),
                head.group.rows.eq(oldest.rows),
            ]
        m.d.comb += [
            fifo.w_data.eq(entry.as_value()),
            fifo.w_en.eq(request.valid & some),
            oldest.as_value().eq(fifo.r_data),
            head.waiting.eq(fifo.r_rdy),
            head.collectors.eq(Cat(head.collector == number for number in range(core.collectors))),
        ]
        if self._probe:
            m.d.comb += head.asked.eq(Mux(request.valid, sum(mine), 0))
        done = Signal(core.collector.slots, name=f"done_{bank_name}")
        choice = chosen(m, head.group.slots & ~done, f"slot_{bank_name}")
        m.d.comb += [head.slot.eq(choice.index), head.row.eq(head.group.rows[choice.index])]
        served = Signal(core.collector.slots, name=f"served_{bank_name}")
        m.d.comb += served.eq(done | choice.one_hot)
        m.d.comb += fifo.r_en.eq(head.granted & (served == head.group.slots))
        with m.If(head.granted):
            m.d.sync += done.eq(Mux(fifo.r_en, 0, served))
        return head

    def _of(self, here: Value, slots: Any) -> Value:
        """Slots of the operands that are looked up and lie in a bank."""
        return reduce(or_, (Mux(here[number], slots[number], 0) for number in range(self._lookups)))

    def _entry(self) -> data.StructLayout:
        """Layout of a bank's FIFO: a group. Where operands are looked up, which of them lie in the bank is
        known late: it is kept beside them, and tells of slots when the group is the oldest."""
        if not self._lookups:
            return self._group()
        core = self._config.sub_core
        return data.StructLayout(
            {
                **tag_fields(self._tags),
                "collector": core.collector_width,
                "here": self._lookups,
                "slots": data.ArrayLayout(core.collector.slots, self._lookups),
                "rows": data.ArrayLayout(self._shape.row_width, self._lookups),
            }
        )

    def _group(self) -> data.StructLayout:
        """Layout of a group: collector, slots, their rows."""
        core = self._config.sub_core
        return data.StructLayout(
            {
                **tag_fields(self._tags),
                "collector": core.collector_width,
                "slots": core.collector.slots,
                "rows": data.ArrayLayout(self._shape.row_width, core.collector.slots),
            }
        )

    def _events(self, m: Module, bank: int, head: _Head) -> None:
        grant, oldest, others, own, row = self._ports(bank)
        emit(m, grant, head.granted, **own, **{row: head.row}, collector=head.collector, slot=head.slot)
        cause = Mux(self.written[bank], Cause.WRITE, Cause.PORT)
        emit(m, oldest, head.waiting & ~head.granted & ~self.opening[bank], **own, cause=cause, count=1)
        groups = self._groups + self._late
        length = Signal(bits(groups * self._config.sub_core.collector.slots + 1), name=f"length_{bank}")
        m.d.sync += length.eq(length + head.asked - head.granted)
        emit(m, others, length > 1, **own, cause=Cause.QUEUE, count=(length - 1)[: len(length)])

    def _ports(self, bank: int) -> _EventPorts:
        """A bank's events: grant, conflict of the oldest request and of the others; how they name the bank,
        and its row."""
        if self._cache:
            grants, conflicts = self.events.cache_grant, self.events.cache_conflict
        else:
            grants, conflicts = self.events.grant, self.events.conflict
        name, row = ("entry", "offset") if self._cache else ("bank", "row")
        return grants[bank], conflicts[bank], conflicts[len(grants) + bank], {name: bank}, row


class ScalarArbiter(Arbiter):
    """Bank arbiter with a scalar bank, the last one, for registers whose lanes are all equal.

    Parameters
    ----------
    as of `Arbiter`, without `cache`.

    Members
    -------
    as of `Arbiter`; with `probe`, `events` have scalar_grant and scalar_conflict, too.
    """

    def _shaped(self) -> Shape:
        return Shape.with_scalar(self._config)

    def _instances(self) -> dict[str, int]:
        banks = self._config.sub_core.banks
        return {"grant": banks, "conflict": 2 * banks, "scalar_grant": 1, "scalar_conflict": 2}

    def _ports(self, bank: int) -> _EventPorts:
        if bank < self._config.sub_core.banks:
            return super()._ports(bank)
        conflicts = self.events.scalar_conflict
        return self.events.scalar_grant[0], conflicts[0], conflicts[1], {}, "row"


class _Head:
    """The oldest request of a bank, in signals; `collectors`: whose it is, one-hot. `granted` is driven
    by the arbiter."""

    def __init__(self, layout: data.StructLayout, bank: str, core: SubCoreConfig, row_width: int) -> None:
        self.group = record(layout, name=f"head_{bank}")
        self.collectors = Signal(core.collectors, name=f"collector_of_{bank}")
        self.waiting = Signal(name=f"waiting_{bank}")
        self.granted = Signal(name=f"granted_{bank}")
        self.asked = Signal(range(2 * core.collector.slots + 1), name=f"asked_{bank}")
        self.slot = Signal(core.slot_width, name=f"slot_of_{bank}")
        self.row = Signal(row_width, name=f"row_of_{bank}")

    @property
    def collector(self) -> Value:
        return self.group.collector

    @property
    def tag(self) -> Value:
        """Number of the uop among the collector's."""
        return self.group.tag if "tag" in dict(self.group.shape()) else Const(0)
