"""Interface of a sub-core, in signals."""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    Arrival,
    ArrivalInterface,
    Fill,
    FillInterface,
    Immediate,
    ImmediateInterface,
    Start,
    StartInterface,
    WriteBack,
    WriteBackInterface,
    lsu_stream,
    returned_stream,
)
from warpbank.hdl.probe import EventsInterface
from warpbank.hdl.typed import Interface

_SHARED = ("start", "launch", "release", "arrival", "drain", "issues", "sthld", "lsu", "returned")


class SubCorePorts(wiring.Signature):
    """Ports of a sub-core.

    Seen from the sub-core.

    Members
    -------
    start : In(Start). Warps start.
    launch : In(1). A launch begins, to which `start.registers`, `start.exempt` and `start.slots` belong, if
        the machine takes release flags.
    release : In(warps). Warps whose barrier is open; may depend on `arrival` of the same cycle.
    arrival : Out(Arrival). A uop issues that arrives at a barrier or ends its warp.
    drain : Out(warps). Warps that drain in this cycle.
    fill : Out(Fill). Question to the testbench: the next uop of a warp.
    write : Out(WriteBack) per bank. Question to the testbench: the value of a result that a bank takes.
    issues : Out(1). A uop issues in this cycle.
    sthld : In(waits), if that is not 0. Cycles to wait for a collector without near values.
    keep : Out(WriteBack) per unit of `keeps`. Question to the testbench: the value of a result that a
        collector or a cache keeps.
    immediate : Out(Immediate), if a PREFETCH may name `prefetched` registers. Question to the testbench:
        the bit-vector of a PREFETCH.
    lsu : Out(lsu_stream). Uops for the load/store unit.
    returned : In(returned_stream). Complete uops from the load/store unit.
    overflow : Out(1). A uop that the load/store unit returned is lost (`warpbank.hdl.execute.pipelines`).
    events : Out(Events), if `events` is given. Events of all units, `lsu_accept` among them.
    """

    def __init__(
        self,
        config: SmConfig,
        events: wiring.Signature | None,
        keeps: int = 0,
        waits: int = 0,
        prefetched: int = 0,
    ) -> None:
        core = config.sub_core
        super().__init__(
            {
                "start": In(Start(config)),
                "launch": In(1),
                "release": In(core.warps),
                "arrival": Out(Arrival(config)),
                "drain": Out(core.warps),
                "fill": Out(Fill(config)),
                "write": Out(WriteBack(config)).array(core.banks),
                "issues": Out(1),
                **({"sthld": In(waits)} if waits else {}),
                "keep": Out(WriteBack(config)).array(keeps),
                **({"immediate": Out(Immediate(config))} if prefetched else {}),
                "lsu": Out(lsu_stream(config)),
                "returned": In(returned_stream(config)),
                "overflow": Out(1),
                **({} if events is None else {"events": Out(events)}),
            }
        )

    @property
    def shared(self) -> wiring.Signature:
        """Ports to the units that the sub-cores share; the others are the testbench's."""
        return wiring.Signature({name: self.members[name] for name in _SHARED if name in self.members})


class SubCoreInterface(Interface, Protocol):
    """Interface object of the signature `SubCorePorts`."""

    start: StartInterface
    launch: Signal
    release: Signal
    arrival: ArrivalInterface
    drain: Signal
    fill: FillInterface
    write: list[WriteBackInterface]
    issues: Signal
    sthld: Signal
    keep: list[WriteBackInterface]
    immediate: ImmediateInterface
    lsu: stream.Interface
    returned: AlwaysInterface
    overflow: Signal
    events: EventsInterface
