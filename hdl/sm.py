"""Streaming multiprocessor: assembly of the sub-cores and the units they share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.hdl.cta_dispatch import CtaDispatch, Started, StartedInterface, launch_layout
from warpbank.hdl.execute.lsu import Lines, LinesInterface, Lsu
from warpbank.hdl.front_end.barrier import Barriers
from warpbank.hdl.front_end.sthld import Sthld
from warpbank.hdl.interfaces import (
    Fill,
    FillInterface,
    Immediate,
    ImmediateInterface,
    Start,
    StartInterface,
    WriteBack,
    WriteBackInterface,
    optional,
)
from warpbank.hdl.layouts import UNITS
from warpbank.hdl.probe import Events, EventsInterface, Reporter, gather, total
from warpbank.hdl.sub_core import SubCore
from warpbank.hdl.sub_core_ports import SubCoreInterface, SubCorePorts


class Sm(wiring.Component):
    """Streaming multiprocessor that runs a trace, with the help of a testbench.

    `warpbank.hdl.interfaces` tells what the testbench supplies.

    The testbench offers launch after launch; one is taken in the cycle in which the one before has drained,
    so that a job of several launches loses no cycle between them. The cycle after the first launch was taken
    is golden's cycle 0. Where no launch is offered while `launch.ready`, the job is over.

    Parameters
    ----------
    config : machine.
    scheme : register file of its sub-cores.
    probe : generate events.
    apart : without its sub-cores, for which it has ports. All sub-cores are one module, so that an engine
        elaborates and compiles one of `cores`, and connects as many as there are.

    Members
    -------
    launch : In(stream of launch_layout). Launches (`warpbank.hdl.cta_dispatch`); `ready` is a function of
        registers.
    started : Out(Started). CTA that starts: which warp slots hold which warps from now on.
    core : In(`SubCorePorts.shared`) per sub-core, if `apart`. The sub-cores; what the testbench has to do
        with them (`start`, `fill`, `write`, `keep`, `immediate`, `overflow`, `core_events`) is not here then.
    start : Out(Start) per sub-core. Warps that start.
    fill : Out(Fill) per sub-core. Question: the next uop of a warp.
    write : Out(WriteBack) per sub-core and bank. Question: the value of a result that a bank takes.
    keep : Out(WriteBack) per sub-core and execution unit, if collectors or a cache keep results. Question:
        the value of a result that is kept.
    immediate : Out(Immediate) per sub-core, if registers are prefetched. Question: the bit-vector of a
        PREFETCH.
    lines : Out(Lines). Question: a memory line of a uop.
    overflow : Out(1). A sub-core lost a uop that the load/store unit returned
        (`warpbank.hdl.execute.pipelines`): the run is void.
    events : Out(Events), if `probe`. Events of the units that the sub-cores share (lockstep's sub-core -1).
    core_events : Out(Events) per sub-core, if `probe`. Events of each sub-core.

    Raises
    ------
    TypeError : no SmConfig, no Scheme.
    ValueError : the scheme names a unit that has no RTL.
    """

    launch: stream.Interface
    started: StartedInterface
    core: list[SubCoreInterface]
    start: list[StartInterface]
    fill: list[FillInterface]
    write: list[list[WriteBackInterface]]
    lines: LinesInterface
    overflow: Signal
    events: EventsInterface
    core_events: list[EventsInterface]
    keep: list[list[WriteBackInterface]]
    immediate: list[ImmediateInterface]

    def __init__(self, config: SmConfig, scheme: Scheme, probe: bool = False, apart: bool = False) -> None:
        if not isinstance(config, SmConfig) or not isinstance(scheme, Scheme):
            raise TypeError(f"Sm needs an SmConfig and a Scheme, not {config!r} and {scheme!r}.")
        self._apart = apart
        self.cores = [SubCore(config, scheme, probe) for _ in range(config.sub_cores)]
        config = self.cores[0].config  # the machine as the scheme changes it
        self.lsu = Lsu(config, probe=probe)
        self.barriers = Barriers(config, probe=probe)
        self.ctas = CtaDispatch(config, probe=probe)
        shape = config.sub_core.collector
        self._waiting_time = 0 if shape.sthld == "adaptive" else int(shape.sthld)
        waits = optional(self.cores[0], "sthld")
        self.sthld = Sthld(config, probe) if waits and shape.sthld == "adaptive" else None
        shared: list[Reporter] = [
            self.lsu,
            self.barriers,
            self.ctas,
            *([] if self.sthld is None else [self.sthld]),
        ]
        self._shared = shared if probe else []
        cores = config.sub_cores
        members: dict[str, wiring.Member] = {
            "launch": In(stream.Signature(launch_layout(config))),
            "started": Out(Started(config)),
        }
        if apart:
            members["core"] = In(cast("SubCorePorts", self.cores[0].signature).shared).array(cores)
        else:
            members |= {
                "start": Out(Start(config)).array(cores),
                "fill": Out(Fill(config)).array(cores),
                "write": Out(WriteBack(config)).array(cores, config.sub_core.banks),
            }
        members["lines"] = Out(Lines(config))
        if not apart:
            members["overflow"] = Out(1)
            if self.cores[0].keep:
                members["keep"] = Out(WriteBack(config)).array(cores, UNITS)
            if optional(self.cores[0], "immediate"):
                members["immediate"] = Out(Immediate(config)).array(cores)
        if probe:
            members["events"] = Out(Events(config, total(part.events.signature for part in self._shared)))
            if not apart:
                members["core_events"] = Out(self.cores[0].events.signature).array(cores)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        cores: Sequence[SubCoreInterface | SubCore] = self.cores
        if self._apart:
            cores = [wiring.flipped(core) for core in self.core]
        ctas, barriers, lsu = self.ctas, self.barriers, self.lsu
        m.submodules.ctas, m.submodules.barriers, m.submodules.lsu = ctas, barriers, lsu
        wiring.connect(m, wiring.flipped(self.launch), ctas.launch)
        wiring.connect(m, wiring.flipped(self.lines), lsu.lines)
        m.d.comb += [
            *(
                getattr(self.started, name).eq(getattr(ctas.started, name))
                for name in ctas.started.signature.members
            ),
            lsu.launch.eq(self.launch.valid & self.launch.ready),
            barriers.start.eq(Cat(start.warps for start in ctas.start)),
        ]
        if self.sthld is not None:
            m.submodules.sthld = self.sthld
            m.d.comb += self.sthld.launch.eq(self.launch.valid & self.launch.ready)
            m.d.comb += self.sthld.issues.eq(Cat(core.issues for core in cores))
        for number, core in enumerate(cores):
            given, arrival = ctas.start[number], barriers.arrivals[number]
            m.d.comb += [
                getattr(core.start, name).eq(getattr(given, name)) for name in given.signature.members
            ]
            m.d.comb += core.launch.eq(self.launch.valid & self.launch.ready)
            m.d.comb += [
                getattr(arrival, name).eq(getattr(core.arrival, name)) for name in arrival.signature.members
            ]
            m.d.comb += [
                ctas.drain[number].eq(core.drain),
                ctas.warps[number].eq(core.arrival.warp),
                barriers.ctas[number].eq(ctas.ctas[number]),
                barriers.members[number].eq(ctas.members[number]),
                core.release.eq(barriers.release[number]),
            ]
            wiring.connect(m, core.lsu, lsu.uops[number])
            wiring.connect(m, lsu.returned[number], core.returned)
            for sthld in optional(core, "sthld"):
                m.d.comb += sthld.eq(self._waiting_time if self.sthld is None else self.sthld.value)
        if not self._apart:
            self._assemble(m)
        if self._shared:
            gather(m, self.events, [part.events for part in self._shared])
        return m

    def _assemble(self, m: Module) -> None:
        """The sub-cores are parts of the SM, and the testbench sees them through it."""
        for number, core in enumerate(self.cores):
            m.submodules[f"core_{number}"] = core
            outer = self.start[number]
            m.d.comb += [
                getattr(outer, name).eq(getattr(self.ctas.start[number], name))
                for name in outer.signature.members
            ]
            wiring.connect(m, wiring.flipped(self.fill[number]), core.fill)
            for outer_write, inner in zip(self.write[number], core.write, strict=True):
                wiring.connect(m, wiring.flipped(outer_write), inner)
            for immediate in optional(core, "immediate"):
                wiring.connect(m, wiring.flipped(self.immediate[number]), immediate)
            for unit, inner in enumerate(core.keep):
                wiring.connect(m, wiring.flipped(self.keep[number][unit]), inner)
            if self._shared:
                gather(m, self.core_events[number], [core.events])
        m.d.comb += self.overflow.eq(Cat(core.overflow for core in self.cores).any())
