"""Transfer engine: carries registers between the banks of the main register file and those of the register
file cache, over a narrow crossbar."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Protocol

from amaranth.hdl import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.hierarchy.link import Link, transfer_layout
from warpbank.hdl.hierarchy.port import Port
from warpbank.hdl.round_robin import behind, pick, soonest
from warpbank.hdl.typed import Interface, Record


class Order(wiring.Signature):
    """Transfer that is queued at a bank of the main register file (seen from who queues it).

    Members
    -------
    room : In(1). The queue takes it. From registers.
    push : Out(1). It is queued; only if there is `room`.
    transfer : Out(transfer_layout).
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__({"room": In(1), "push": Out(1), "transfer": Out(transfer_layout(config))})


class OrderInterface(Interface, Protocol):
    """Interface object of the signature `Order`."""

    room: Signal
    push: Signal
    transfer: Record


class CacheAccess(wiring.Signature):
    """Access of the engine to a bank of the cache (seen from the engine). It goes before all others.

    Members
    -------
    next : Out(1). There is one in the next cycle.
    reads, fills : Out(1). The bank reads the register of `transfer`; or is given a value for it.
    transfer : Out(transfer_layout). From registers, as `reads`, `fills` and `word`.
    word : Out. Value and note of what it is given: in the cycle behind `fills`.
    data : In. What was read in the cycle before: value and note.
    """

    def __init__(self, config: SmConfig, noted: int) -> None:
        width = config.value_width + noted
        super().__init__(
            {
                "next": Out(1),
                "reads": Out(1),
                "fills": Out(1),
                "transfer": Out(transfer_layout(config)),
                "word": Out(width),
                "data": In(width),
            }
        )


class CacheAccessInterface(Interface, Protocol):
    """Interface object of the signature `CacheAccess`."""

    next: Signal
    reads: Signal
    fills: Signal
    transfer: Record
    word: Signal
    data: Signal


class BankAccess(wiring.Signature):
    """Access of the engine to a bank of the main register file (seen from the engine).

    Members
    -------
    reads, writes : Out(1). The engine asks for the bank.
    transfer : Out(transfer_layout). What for.
    word : Out. What is written: value and note; it stays for the cycle behind that.
    granted : In(1). The bank is the engine's in this cycle, for `cycles` cycles.
    cycles : In.
    data : In. What was read, value and note: two cycles behind `granted`, until the next read is granted.
    """

    def __init__(self, config: SmConfig, noted: int) -> None:
        width = config.value_width + noted
        super().__init__(
            {
                "reads": Out(1),
                "writes": Out(1),
                "transfer": Out(transfer_layout(config)),
                "word": Out(width),
                "granted": In(1),
                "cycles": In(bits(config.sub_core.bank_latency // 100 + 2)),
                "data": In(width),
            }
        )


class BankAccessInterface(Interface, Protocol):
    """Interface object of the signature `BankAccess`."""

    reads: Signal
    writes: Signal
    transfer: Record
    word: Signal
    granted: Signal
    cycles: Signal
    data: Signal


class Engine(wiring.Component):
    """Transfer engine: one link per bank of the main register file, one port per bank of the cache, and a
    crossbar of `cache.crossing` beats between them. LTRF, section 4.2.

    See `warpbank.golden.hierarchy.engine.Engine` for what happens in a cycle.

    Parameters
    ----------
    config : banks, cache.
    delay : cycles by which a register comes later than its bank delivers it.
    noted : bits of the note that goes with a register.

    Members
    -------
    order : In(Order) per bank of the main register file.
    forget : In(1). Nobody wants any more what leaves the cache now.
    bank : Out(BankAccess) per bank of the main register file.
    cache : Out(CacheAccess) per bank of the cache.
    inbound, outbound : Out(rows). Rows of the cache of which a register is on its way in; is to leave and has
        not been read. From registers.
    """

    order: list[OrderInterface]
    forget: Signal
    bank: list[BankAccessInterface]
    cache: list[CacheAccessInterface]
    inbound: Signal
    outbound: Signal

    #: The units; tests put others here.
    link_class, port_class = Link, Port

    def __init__(self, config: SmConfig, delay: int, noted: int) -> None:
        self._config = config
        core = config.sub_core
        self.links = [self.link_class(config, delay, noted) for _ in range(core.banks)]
        self.ports = [self.port_class(config, noted) for _ in range(core.cache.registers)]
        super().__init__(
            {
                "order": In(Order(config)).array(core.banks),
                "forget": In(1),
                "bank": Out(BankAccess(config, noted)).array(core.banks),
                "cache": Out(CacheAccess(config, noted)).array(core.cache.registers),
                "inbound": Out(core.active_warps),
                "outbound": Out(core.active_warps),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number, link in enumerate(self.links):
            m.submodules[f"link_{number}"] = link
        for number, port in enumerate(self.ports):
            m.submodules[f"port_{number}"] = port
        self._connect(m)
        self._choose(m)
        self._cross(m)
        self._follow(m)
        return m

    def _connect(self, m: Module) -> None:
        """The links' banks and the ports' banks."""
        for link, order, bank in zip(self.links, self.order, self.bank, strict=True):
            m.d.comb += [
                link.push.eq(order.push),
                link.order.eq(order.transfer),
                order.room.eq(link.room),
                link.forget.eq(self.forget),
                bank.reads.eq(link.reads),
                bank.writes.eq(link.writes),
                bank.transfer.eq(link.bank_transfer),
                bank.word.eq(link.carried),
                link.access.eq(bank.granted),
                link.cycles.eq(bank.cycles),
                link.data.eq(bank.data),
            ]
        for port, cache in zip(self.ports, self.cache, strict=True):
            m.d.comb += [
                cache.next.eq(port.next),
                cache.reads.eq(port.reads),
                cache.fills.eq(port.fills),
                cache.transfer.eq(port.used),
                cache.word.eq(port.word),
                port.data.eq(cache.data),
            ]

    def _choose(self, m: Module) -> None:
        """Every port takes the first transfer, in rotating order of the links, that wants it."""
        banks = len(self.links)
        #: The links whose turn comes before that of the others: those from the one on that goes first.
        reached = self._reached = Signal(banks, name="reached", init=-1)
        transfers = [link.offered.as_value() for link in self.links]
        served: list[Value] = []
        for number, port in enumerate(self.ports):
            wanted = Signal(banks, name=f"wanted_{number}")
            m.d.comb += wanted.eq(
                Cat(
                    link.comes[number] & port.comes | link.leaves[number] & port.leaves for link in self.links
                )
            )
            choice = soonest(m, wanted, Const(0), f"port_{number}_link", reached)
            m.d.comb += [
                port.starts.eq(choice.any),
                port.order.as_value().eq(pick(choice.one_hot, transfers)),
                port.link.eq(choice.index),
            ]
            served.append(choice.one_hot)
        starting = Signal(banks, name="starting")
        m.d.comb += starting.eq(reduce(or_, served))
        m.d.comb += [link.starts.eq(starting[number]) for number, link in enumerate(self.links)]
        first = soonest(m, starting, Const(0), "first_link", reached)
        passed = behind(m, first.one_hot, "behind_first")
        with m.If(first.any):
            m.d.sync += reached.eq(Mux(first.one_hot[-1], -1, passed))

    def _cross(self, m: Module) -> None:
        """The crossbar: a beat from each link to its port, or back."""
        from_links, from_ports = (Array(unit.sent for unit in units) for units in (self.links, self.ports))
        m.d.comb += [port.got.eq(from_links[port.source]) for port in self.ports]
        m.d.comb += [link.got.eq(from_ports[link.crossing.entry]) for link in self.links]

    def _follow(self, m: Module) -> None:
        """Rows of the cache that are concerned."""
        rows = len(self.inbound)
        for name, mask in (("coming", self.inbound), ("unread", self.outbound)):
            found: list[Value] = []
            for number, link in enumerate(self.links):
                of_link = Signal(rows, name=f"{name}_of_{number}")
                m.d.comb += of_link.eq(
                    reduce(
                        or_,
                        (
                            Mux(there, 1 << transfer.offset, 0)[:rows]
                            for there, transfer in zip(getattr(link, name), link.transfers, strict=True)
                        ),
                    )
                )
                found.append(of_link)
            m.d.comb += mask.eq(reduce(or_, found))
