"""Ports of a register mapping: the pipeline hooks, and where registers are."""

from __future__ import annotations

from typing import Protocol, cast

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_DESTINATIONS
from warpbank.hdl.front_end.instruction_buffer import Hazards, HazardsInterface
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    NextResult,
    NextResultInterface,
    ReadDone,
    ReadDoneInterface,
    Start,
    StartInterface,
    Written,
    WrittenInterface,
    issue_stream,
    read_stream,
)
from warpbank.hdl.layouts import REGISTER_WIDTH, UNITS, Collection
from warpbank.hdl.main.arbiter_ports import Requests, RequestsInterface
from warpbank.hdl.main.ports import Freed, FreedInterface, Location, LocationInterface
from warpbank.hdl.probe import EventsInterface
from warpbank.hdl.typed import Interface, starting_at


class Moving(wiring.Signature):
    """A register is on its way between cache and main register file (seen from its mover)."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"valid": Out(1), "warp": Out(config.sub_core.warp_width), "register": Out(REGISTER_WIDTH)}
        )


class MovingInterface(Interface, Protocol):
    """Interface object of the signature `Moving`."""

    valid: Signal
    warp: Signal
    register: Signal


class Hooks(wiring.Signature):
    """Pipeline hooks: what happens to uops and warps, for a mapping and whoever else follows it (seen from
    it).

    Members
    -------
    start : In(Start). Warps start.
    launch : In(1). A launch begins; `start.registers`, `start.exempt` and `start.slots` are its.
    here : In(warps). Warps that have uops to issue and do not wait at a barrier.
    hazards : In(Hazards) per warp. Its first uop.
    missing : Out(4) per warp. Destinations of that uop that are nowhere.
    lacking : Out(warps). There is no room for its result yet, or for anything of this warp.
    choosing : Out(warps). There is, but it has still to be chosen.
    issue : In(issue_stream). A uop that collects issues.
    slide : In(1). The uop of `issue.payload` issues, and needs no collector.
    entry : In(bits(entries)). Number of the uop that issues among those in collection.
    done : In(ReadDone) per entry. Operands were read.
    finished : In(Written) per unit. A result was taken, by a collector, a cache or a bank.
    end : In(warps). Warps that drain in this cycle.
    upcoming : In(NextResult) per unit, where names are looked up in cycles of their own. Register that the
        unit offers next: it is located a cycle ahead.
    """

    def __init__(self, config: SmConfig, entries: int) -> None:
        warps = config.sub_core.warps
        super().__init__(
            {
                "start": In(Start(config)),
                "launch": In(1),
                "here": In(warps),
                "hazards": In(Hazards()).array(warps),
                "missing": Out(MAX_DESTINATIONS).array(warps),
                "lacking": Out(warps),
                "choosing": Out(warps),
                "issue": In(issue_stream(config)),
                "slide": In(1),
                "entry": In(range(max(2, entries))),
                "done": In(ReadDone(config)).array(entries),
                "finished": In(Written(config)).array(UNITS),
                "end": In(warps),
                "upcoming": In(NextResult(config)).array(
                    UNITS if config.sub_core.mapping.lookup_stages > 0 else 0
                ),
            }
        )


class Hooked(wiring.Component):
    """Base of the units that follow the pipeline: the ports of `Hooks`."""

    start: StartInterface
    launch: Signal
    here: Signal
    hazards: list[HazardsInterface]
    missing: list[Signal]
    lacking: Signal
    choosing: Signal
    issue: AlwaysInterface
    slide: Signal
    entry: Signal
    done: list[ReadDoneInterface]
    finished: list[WrittenInterface]
    end: Signal
    upcoming: list[NextResultInterface]


def follow(m: Module, outer: Hooked, inner: Hooked, config: SmConfig, entries: int) -> None:
    """Pass the `Hooks` of a unit on to one inside."""
    signature = Hooks(config, entries)
    for (_, found, sink), (_, _, source) in zip(
        signature.flatten(inner), signature.flatten(outer), strict=True
    ):
        member = cast("wiring.Member", found)  # the stubs say that it is the member's direction alone
        m.d.comb += sink.eq(source) if member.flow is In else source.eq(sink)


class MappingPorts(wiring.Signature):
    """Ports of a mapping (seen from it).

    Parameters
    ----------
    config : the machine.
    collection : the collectors.
    writers : registers that are located in a cycle, for writing or moving.
    moved : the last ones of these, which are moved, and registers that may be on their way per bank.
    blanks : sources of a uop that may be nowhere.
    releases : registers that can be released in a cycle.

    Members
    -------
    those of `Hooks`, and
    read : In(read_stream). A uop's operands are requested (operand read interface).
    request : Out(Requests). They are, at the banks. blank : Out, per slot: it is nowhere, and reads as zeros.
    locate : In(Location) per writer. mapped : Out, per writer: the register is somewhere.
    content : Out, per register that is moved. It is somewhere, and what it holds is still wanted.
    moves : In, per register that is moved. It sets off.
    moving : In(Moving), as many as there may be per bank. A register on its way is not released.
    released : Out(Freed) per register that can be.
    """

    def __init__(
        self,
        config: SmConfig,
        collection: Collection,
        writers: int,
        blanks: int = 0,
        releases: int = 0,
        moved: tuple[int, int] = (0, 0),
    ) -> None:
        super().__init__(
            {
                **Hooks(config, collection.entries).members,
                "read": In(read_stream(config, collection.tags)),
                "request": Out(Requests(config, collection.tags)),
                "blank": Out(blanks),
                "locate": In(Location(config)).array(writers),
                "mapped": starting_at(Out(writers), -1),
                "content": starting_at(Out(moved[0]), -1),
                "moves": In(moved[0]),
                "moving": In(Moving(config)).array(moved[1] * config.sub_core.banks),
                "released": Out(Freed(config)).array(releases),
            }
        )


class Mapping(Hooked):
    """Base of the mappings: the ports of `MappingPorts`.

    Members
    -------
    those of `MappingPorts`, and
    events : Out(Events), if it has any and is built with a probe.
    """

    read: AlwaysInterface
    request: RequestsInterface
    blank: Signal
    locate: list[LocationInterface]
    mapped: Signal
    content: Signal
    moves: Signal
    moving: list[MovingInterface]
    released: list[FreedInterface]
    events: EventsInterface
