"""The streaming multiprocessor: assembly of the sub-cores and the units they share."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, ClockSignal, Instance, Module, ResetSignal
from amaranth.lib import stream, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.hdl.cta_dispatch import CtaDispatch, Started, launch_layout
from warpbank.hdl.execute.lsu import Lines, Lsu
from warpbank.hdl.front_end.barrier import Barriers
from warpbank.hdl.front_end.sthld import Sthld
from warpbank.hdl.interfaces import UNITS, Fill, Immediate, Start, WriteBack, optional
from warpbank.hdl.probe import Events, gather, total
from warpbank.hdl.sub_core import SubCore


class Sm(wiring.Component):
    """A whole SM that runs a trace, with the help of a testbench (`warpbank.hdl.interfaces`).

    The testbench offers launch after launch; one is taken in the cycle in which the one before has drained,
    so that a job of several launches loses no cycle between them. The cycle after the first launch was taken
    is golden's cycle 0. Where no launch is offered while `launch.ready`, the job is over.

    Parameters
    ----------
    config, scheme : the machine and its register file.
    probe : generate events.
    apart : sub-cores are instances of a module `sub_core` that is elaborated by itself, once for all of them.

    Members
    -------
    launch : In, a stream of `warpbank.hdl.cta_dispatch.launch_layout`. `ready` is a function of registers.
    started, start : Out, `warpbank.hdl.cta_dispatch.Started`; `Start` per sub-core. Which warp slots hold
        which warps from now on.
    fill : Out, `Fill` per sub-core. Question: the next uop of a warp.
    write : Out, `WriteBack` per sub-core and bank. Question: the value of a result.
    keep : Out, `WriteBack` per sub-core and execution unit, if collectors or a cache keep results. The same
        question.
    immediate : Out, `Immediate` per sub-core, if registers are prefetched. Question: the bit-vector of a
        PREFETCH.
    lines : Out, `warpbank.hdl.execute.lsu.Lines`. Question: a memory line of a uop.
    overflow : Out(1). A sub-core lost a uop that the load/store unit returned
        (`warpbank.hdl.execute.pipelines`): the run is void.
    events : Out, if `probe`: of the units the sub-cores share (lockstep's sub-core -1).
    core_events : Out, if `probe`: per sub-core.

    Raises
    ------
    TypeError : no SmConfig, no Scheme.
    ValueError : the scheme names a unit that has no RTL.
    """

    def __init__(self, config: SmConfig, scheme: Scheme, probe: bool = False, apart: bool = False) -> None:
        if not isinstance(config, SmConfig) or not isinstance(scheme, Scheme):
            raise TypeError(f"Sm needs an SmConfig and a Scheme, not {config!r} and {scheme!r}.")
        config = scheme.machine(config)
        self._apart = apart
        self.cores = [SubCore(config, scheme, probe) for _ in range(config.sub_cores)]
        self.lsu = Lsu(config, probe=probe)
        self.barriers = Barriers(config, probe=probe)
        self.ctas = CtaDispatch(config, probe=probe)
        shape = config.sub_core.collector
        self._waiting_time = 0 if shape.sthld == "adaptive" else int(shape.sthld)
        waits = optional(self.cores[0], "sthld")
        self.sthld = Sthld(config, probe) if waits and shape.sthld == "adaptive" else None
        shared = [self.lsu, self.barriers, self.ctas, *([] if self.sthld is None else [self.sthld])]
        self._shared = shared if probe else []
        cores = config.sub_cores
        members: dict[str, Any] = {
            "launch": In(stream.Signature(launch_layout(config))),
            "started": Out(Started(config)),
            "start": Out(Start(config)).array(cores),
            "fill": Out(Fill(config)).array(cores),
            "write": Out(WriteBack(config)).array(cores, config.sub_core.banks),
            "lines": Out(Lines(config)),
            "overflow": Out(1),
        }
        if self.cores[0].keep:
            members["keep"] = Out(WriteBack(config)).array(cores, UNITS)
        if optional(self.cores[0], "immediate"):
            members["immediate"] = Out(Immediate(config)).array(cores)
        if probe:
            members["events"] = Out(Events(config, total(part.events.signature for part in self._shared)))
            members["core_events"] = Out(self.cores[0].events.signature).array(cores)
        super().__init__(members)

    def elaborate(self, platform: object) -> Module:
        m = Module()
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
            m.d.comb += self.sthld.issues.eq(Cat(core.issues for core in self.cores))
        overflow: Any = 0
        for number, core in enumerate(self.cores):
            m.submodules[f"core_{number}"] = _instance(core) if self._apart else core
            for start in (core.start, self.start[number]):
                given = ctas.start[number]
                m.d.comb += [
                    getattr(start, name).eq(getattr(given, name)) for name in start.signature.members
                ]
            for launch in optional(core, "launch"):
                m.d.comb += launch.eq(self.launch.valid & self.launch.ready)
            arrival = barriers.arrivals[number]
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
            wiring.connect(m, wiring.flipped(self.fill[number]), core.fill)
            for outer, inner in zip(self.write[number], core.write, strict=True):
                wiring.connect(m, wiring.flipped(outer), inner)
            for sthld in optional(core, "sthld"):
                m.d.comb += sthld.eq(self._waiting_time if self.sthld is None else self.sthld.value)
            for immediate in optional(core, "immediate"):
                wiring.connect(m, wiring.flipped(self.immediate[number]), immediate)
            for unit, inner in enumerate(core.keep):
                wiring.connect(m, wiring.flipped(self.keep[number][unit]), inner)
            overflow = overflow | core.pipelines.overflow
            if self._shared:
                gather(m, self.core_events[number], [core.events])
        m.d.comb += self.overflow.eq(overflow)
        if self._shared:
            gather(m, self.events, [part.events for part in self._shared])
        return m


def _instance(core: SubCore) -> Instance:
    """A sub-core as an instance of the module `sub_core`."""
    ports: dict[str, Any] = {"i_clk": ClockSignal(), "i_rst": ResetSignal()}
    for path, member, value in core.signature.flatten(core):
        direction = "o" if member.flow is wiring.Out else "i"
        ports[f"{direction}_{'__'.join(str(part) for part in path)}"] = value
    return Instance("sub_core", **ports)
