"""What crosses the seams, in signals: layouts of the records and signatures of the interfaces (DESIGN,
section 4).

The machine is trace-driven. What a real SM would fetch or compute comes from the testbench, in the cycle in
which the RTL asks for it. Every question is a function of registers only, and every answer is used only for
the next state, so a testbench needs no second look: after a clock edge it reads the questions, sets the
answers, and gives the next edge.

* `Fill` (per sub-core): which warp's stream is taken in this cycle; the answer is that warp's next uop.
* `WriteBack` (per bank of a sub-core): which register of which uop is written in this cycle; the answer is
  its value.
* Lines of memory uops: see `warpbank.hdl.execute.lsu`.

Operand values are in the collectors' slot memories. At the edge that ends a cycle with a `dispatch` event
they may be overwritten (the collector is free from then on), so a checker looks at them in that cycle.

All of the RTL is one clock domain, `sync`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.events import field_width
from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES, PREDICATES, Control, Unit

#: Units, in the order of `warpbank.arch.uop.Unit`: what is per unit below is an array of this size.
UNITS = len(Unit)
#: Bits of a register number, of a lines or passes count, of a barrier number.
REGISTER_WIDTH = 8
#: Bits of the longest immediate: one per register of a warp.
IMMEDIATE_WIDTH = 256
COUNT_WIDTH = 8
BARRIER_WIDTH = 8
#: Bits of what a release flag instruction holds.
PAYLOAD_BITS = 54
#: Metadata of an operand from plain banks: none, no bit wide.
NO_METADATA = data.StructLayout({})


@dataclass(frozen=True)
class Collection:
    """The collectors of a sub-core in numbers: what the other units have to be as large as.

    Parameters
    ----------
    entries : uops that can be in collection at a time.
    tags : uops that one collector may have in collection.
    share : of `entries`, those that belong to each warp, in order; 0: any warp may have any.
    keeps : units whose results the collectors may keep: none or all. The scoreboard then hears of results by
        unit, not by bank.
    evicts : values that they evict in a cycle. They are a writer behind the units.
    """

    entries: int
    tags: int = 1
    share: int = 0
    keeps: int = 0
    evicts: int = 0

    @property
    def writers(self) -> int:
        """Who writes registers: the units, and what evicts."""
        return UNITS + self.evicts


def uop_layout(config: SmConfig) -> data.StructLayout:
    """One uop as it comes from the stream: the names of `warpbank.arch.uop.Uop`, and what the trace knows
    beyond them.

    Fields
    ------
    seq, pc : as in the events.
    unit : `warpbank.arch.uop.Unit`.
    sources, source_valid : register of each source slot, and which slots there are. Those of the instruction,
        also where its guard is false on all lanes: hazards are checked all the same.
    destination, count, predicates_read, predicates_written : likewise.
    mask : lanes that execute, of those the machine carries.
    memory, control : `warpbank.arch.uop.Memory`, `warpbank.arch.uop.Control`.
    collects : the uop goes through a collector (guard true on some lane, carried or not, and not a bare
        control uop). Where 0 the uop is complete when it issues, reads and writes nothing.
    arrive, wait, barrier, barrier_warps : arrives at a barrier; waits there; its number; warps expected, 0
        for all of the CTA.
    last : end of the warp's stream.
    lines, passes : memory lines touched, shared-memory passes (0 counts as 1).
    write_back, near, dead : the compiler's hints.
    release, wide : if the machine takes release flags: registers that a PBR releases, nine of 6 bits or,
        where `wide`, six of 8.
    write_back, near, dead, scalar, fresh : the compiler's hints.
    part : executes on other lanes than those the warp was launched with (divergent, or guarded).
    covered, first : likewise. A release flag instruction covers the uop, and others from pc `first` on.
    """
    flags = (
        {"release": PAYLOAD_BITS, "wide": 1, "covered": 1, "first": field_width("pc", config)}
        if config.takes_flags
        else {}
    )
    return data.StructLayout(
        {
            "seq": field_width("seq", config),
            "pc": field_width("pc", config),
            "unit": bits(UNITS),
            "sources": data.ArrayLayout(REGISTER_WIDTH, MAX_SOURCES),
            "source_valid": MAX_SOURCES,
            "destination": REGISTER_WIDTH,
            "count": bits(MAX_DESTINATIONS + 1),
            "predicates_read": PREDICATES,
            "predicates_written": PREDICATES,
            "mask": config.lanes,
            "memory": 4,
            "control": bits(len(Control)),
            "collects": 1,
            "arrive": 1,
            "wait": 1,
            "barrier": BARRIER_WIDTH,
            "barrier_warps": bits(config.warps + 1),
            "last": 1,
            "lines": COUNT_WIDTH,
            "passes": COUNT_WIDTH,
            "write_back": 2,
            "near": MAX_SOURCES + 1,
            "dead": MAX_SOURCES,
            **flags,
            "scalar": 1,
            "fresh": 1,
            "part": 1,
        }
    )


def issue_layout(config: SmConfig) -> data.StructLayout:
    """Seam 1: an issued uop: the warp slot and the uop."""
    return data.StructLayout({"warp": config.sub_core.warp_width, "uop": uop_layout(config)})


def result_layout(config: SmConfig) -> data.StructLayout:
    """What is needed to write a uop's results back: queued in the pipelines, carried through the load/store
    unit, returned by it.

    `fence`: the uop is a fence, whose warp may go on when it retires. `near`: the result's next reuse is
    near, by the compiler's word. Other fields as in `uop_layout`.
    """
    uop = uop_layout(config)
    names = ("seq", "destination", "count", "predicates_written", "mask", "part")
    return data.StructLayout(
        {
            "warp": config.sub_core.warp_width,
            **{name: uop[name].shape for name in names},
            "fence": 1,
            "near": 1,
        }
    )


def dispatch_layout(config: SmConfig) -> data.StructLayout:
    """Seam 3: a uop on its way from its collector to a unit. The operands are the collector's `operands`."""
    return data.StructLayout(
        {
            "collector": config.sub_core.collector_width,
            "memory": 4,
            "lines": COUNT_WIDTH,
            "passes": COUNT_WIDTH,
            "result": result_layout(config),
        }
    )


def lsu_layout(config: SmConfig) -> data.StructLayout:
    """A uop in a sub-core's queue to the load/store unit. `result` is what the unit gives back when the uop
    is complete."""
    return data.StructLayout(
        {"memory": 4, "lines": COUNT_WIDTH, "passes": COUNT_WIDTH, "result": result_layout(config)}
    )


def write_layout(config: SmConfig) -> data.StructLayout:
    """Seam 4: one result register on its way to the register file: whose, which, the lanes to be written,
    whether these are other ones than the warp was launched with, and whether its next reuse is near."""
    return data.StructLayout(
        {
            "warp": config.sub_core.warp_width,
            "seq": field_width("seq", config),
            "register": REGISTER_WIDTH,
            "mask": config.lanes,
            "part": 1,
            "near": 1,
        }
    )


def tag_fields(tags: int) -> dict[str, int]:
    """The field that tells the uops of one collector apart, where it can have several in collection."""
    return {"tag": bits(tags)} if tags > 1 else {}


def read_layout(config: SmConfig, tags: int = 1) -> data.StructLayout:
    """Seam 2: operands of a uop, requested at once in slot order: one group of read requests. `tags`: uops
    per collector."""
    return data.StructLayout(
        {
            **tag_fields(tags),
            "collector": config.sub_core.collector_width,
            "warp": config.sub_core.warp_width,
            "sources": data.ArrayLayout(REGISTER_WIDTH, MAX_SOURCES),
            "source_valid": MAX_SOURCES,
        }
    )


def evicted_layout(config: SmConfig) -> data.StructLayout:
    """Seam 4: a value that a collector evicts, on its way to the banks: all lanes of `register` of `warp`."""
    return data.StructLayout(
        {"warp": config.sub_core.warp_width, "register": REGISTER_WIDTH, "value": config.value_width}
    )


class Always(wiring.Signature):
    """A stream whose receiver always takes: `valid` and `payload` as in `lib.stream`, and no `ready` (a
    constant one cannot be a port of exported Verilog)."""

    def __init__(self, shape: data.StructLayout) -> None:
        super().__init__({"valid": Out(1), "payload": Out(shape)})


class Fill(wiring.Signature):
    """The front end asks for a uop (seen from the sub-core).

    Members
    -------
    valid : Out. In this cycle the next uop of warp slot `warp`'s stream is taken; the testbench must supply
        it and advance the stream. There is always a next one: a warp is not asked for after its `last` uop.
    warp : Out.
    uop : In, `uop_layout`. The answer, in the same cycle; used for the next state only.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"valid": Out(1), "warp": Out(config.sub_core.warp_width), "uop": In(uop_layout(config))}
        )


class WriteBack(wiring.Signature):
    """A result is written, into a bank or into a collector that keeps it (seen from the sub-core).

    Members
    -------
    valid : Out. In this cycle register `register` of uop (`warp`, `seq`) is written there, on the lanes of
        `mask`.
    warp, seq, register, mask : Out.
    value : In, 32 bits per lane, lane 0 lowest. The answer, in the same cycle; used for the next state only.
    """

    def __init__(self, config: SmConfig) -> None:
        layout = write_layout(config)
        super().__init__(
            {
                "valid": Out(1),
                **{name: Out(layout[name].shape) for name in ("warp", "seq", "register", "mask")},
                "value": In(config.value_width),
            }
        )


class Start(wiring.Signature):
    """Warps start in a sub-core (seen from the CTA dispatcher).

    Members
    -------
    warps : Out, a bit per warp slot. These slots receive a warp in this cycle; they are filled from the next
        cycle on. Of several, the lower slot is the older warp.
    rows : Out. Rows of every bank per warp: the registers of slot w lie from row w x `rows` on. Held while
        warps run.
    registers, exempt, slots : Out, if the machine takes release flags. Registers per thread of the launch
        that is taken in this cycle, the mask of those that are not renamed, and the warp slots that it may
        use.
    """

    def __init__(self, config: SmConfig) -> None:
        flags = (
            {
                "registers": Out(REGISTER_WIDTH + 1),
                "exempt": Out(1 << REGISTER_WIDTH),
                "slots": Out(bits(config.sub_core.warps + 1)),
            }
            if config.takes_flags
            else {}
        )
        super().__init__(
            {"warps": Out(config.sub_core.warps), "rows": Out(bits(config.sub_core.rows + 1)), **flags}
        )


class Arrival(wiring.Signature):
    """A uop issued that concerns the barriers or ends its warp (seen from the sub-core). A function of
    registers.

    Members
    -------
    warp : Out. The warp that issues.
    arrive : Out. It arrives at `barrier`, which expects `barrier_warps` warps (0: all of the CTA that have
        not issued their last uop).
    wait : Out. It waits there (only with `arrive`) until its bit of the sub-core's input `release` is 1, in
        the same cycle or later.
    last : Out. It issues its last uop.
    """

    def __init__(self, config: SmConfig) -> None:
        uop = uop_layout(config)
        names = ("arrive", "wait", "barrier", "barrier_warps", "last")
        super().__init__(
            {"warp": Out(config.sub_core.warp_width), **{name: Out(uop[name].shape) for name in names}}
        )


class Delivery(wiring.Signature):
    """Seam 2, back: a collector's single port (seen from the hierarchy).

    Members
    -------
    valid, slot : Out. An operand for source slot `slot` arrives.
    tag : Out, if `tags` > 1. Which of the collector's uops it is for.
    value : Out, 32 bits per lane.
    metadata : Out(metadata). What the storage knows of the value.
    """

    def __init__(self, config: SmConfig, tags: int = 1, metadata: data.StructLayout = NO_METADATA) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "slot": Out(config.sub_core.slot_width),
                "value": Out(config.value_width),
                "metadata": Out(metadata),
                **{name: Out(width) for name, width in tag_fields(tags).items()},
            }
        )


class Location(wiring.Signature):
    """Seam 5: where a register is (seen from the hierarchy). Combinational.

    Members
    -------
    warp, register : Out.
    bank, row : In.
    """

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__(
            {
                "warp": Out(core.warp_width),
                "register": Out(REGISTER_WIDTH),
                "bank": In(core.bank_width),
                "row": In(core.row_width),
            }
        )


class BankPort(wiring.Signature):
    """Seam 5: one bank of a storage (seen from the main register file). A storage leaves alone what does not
    concern it.

    Members
    -------
    row : Out. Row that is written, or else read.
    read_row : Out. Row that is read.
    read : Out. Read it; `data` and `metadata` are there `read_delay` + 1 cycles later.
    write : Out. Write the lanes of `mask` of `value`; only if not `held`.
    mask, value : Out.
    part : Out. What is written are other lanes than the warp was launched with.
    moved : Out. What is written is to be kept as it is.
    given : Out(metadata), of a storage that is `told`. Metadata of what was written in the cycle before.
    data, metadata : In. What the last read found; held until the next one.
    held : In. The bank takes no write.
    written : In. The bank's arrays are written in this cycle, and must not be read. May depend on `write`.
    stored : In. A write is done: it is there from the next cycle on.
    compressed : In, with `stored`. Some of its bytes are not in the bank.
    """

    def __init__(
        self, config: SmConfig, metadata: data.StructLayout = NO_METADATA, read_row: int | None = None
    ) -> None:
        row_width = config.sub_core.row_width
        super().__init__(
            {
                "row": Out(row_width),
                "read_row": Out(row_width if read_row is None else read_row),
                "read": Out(1),
                "write": Out(1),
                "mask": Out(config.lanes),
                "value": Out(config.value_width),
                "part": Out(1),
                "moved": Out(1),
                "given": Out(metadata),
                "data": In(config.value_width),
                "metadata": In(metadata),
                "held": In(1),
                "written": In(1),
                "stored": In(1),
                "compressed": In(1),
            }
        )


class Freed(wiring.Signature):
    """A physical register is released (seen from the mapping)."""

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__({"valid": Out(1), "bank": Out(core.bank_width), "row": Out(core.row_width)})


class Whereabouts(wiring.Signature):
    """Whether the register of a row is in the scalar bank (seen from who asks). Combinational."""

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__({"bank": Out(core.bank_width), "row": Out(core.row_width), "scalar": In(1)})


class StoragePorts(wiring.Signature):
    """Seam 5: a storage (seen from it).

    Parameters
    ----------
    config : the machine.
    metadata : what the storage knows of a register.
    poison : registers that can be released in a cycle, if what was released reads as a pattern.
    scalar : there is a bank for scalar values behind the others, which is written through them.

    Members
    -------
    bank : In(BankPort) per bank that can be read.
    where : In(Whereabouts) per source slot, if `scalar`.
    freed : In(Freed) per register that can be released.
    """

    def __init__(
        self,
        config: SmConfig,
        metadata: data.StructLayout = NO_METADATA,
        poison: int = 0,
        scalar: bool = False,
    ) -> None:
        core = config.sub_core
        port = BankPort(config, metadata, core.row_width + core.bank_width if scalar else None)
        super().__init__(
            {
                "bank": In(port).array(core.banks + scalar),
                "where": In(Whereabouts(config)).array(core.collector.slots * scalar),
                "freed": In(Freed(config)).array(poison),
            }
        )


class Immediate(wiring.Signature):
    """What stands behind an instruction in the code and is too long for its uop: the bit-vector of a PREFETCH
    (seen from the sub-core).

    Members
    -------
    valid, pc : Out. Of the instruction that issues in this cycle. Functions of registers.
    bits : In(256). The answer, in the same cycle; used for the next state only.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__({"valid": Out(1), "pc": Out(field_width("pc", config)), "bits": In(IMMEDIATE_WIDTH)})


class SchedulerPorts(wiring.Signature):
    """Seam 1: a warp scheduler (seen from it). A policy leaves alone what does not concern it.

    Members
    -------
    start : In(warps). Slots that receive a warp, the youngest from the next cycle on.
    eligible : In(warps). Warps that may issue in this cycle; they are active.
    holds : In(warps). Warps that have values in a collector.
    ready : In(warps). Warps whose next uop has no hazard.
    away : In(warps), if it has `sets` of active and pending warps. Warps that have nothing to do among the
        active ones: they wait for memory or at a barrier, or are over.
    may_activate : In(warps). Warps that could become active, were they not away.
    pick : Out(bits(warps)). The warp that issues, if `eligible` is not 0. Combinational; the state follows at
        the clock edge.
    active : Out(warps). Warps that may issue as far as the scheduler is concerned. From registers.
    activated, deactivated : Out(warps). Those that become active, at most one, and pending at this cycle's
        end. Combinational from registers, `away` and `may_activate`.
    """

    def __init__(self, warps: int, sets: bool = False) -> None:
        super().__init__(
            {
                "start": In(warps),
                "eligible": In(warps),
                "holds": In(warps),
                "ready": In(warps),
                "away": In(warps if sets else 0),
                "may_activate": In(warps),
                "pick": Out(bits(warps)),
                "active": Out(warps, init=-1),
                "activated": Out(warps),
                "deactivated": Out(warps),
            }
        )


class ReadDone(wiring.Signature):
    """Seam 6: operands were read, for the WAR hazards (seen from the collectors): a mask of source slots of a
    uop in collection.

    There is one per uop that can be in collection at a time; the scoreboard knows the uop's registers.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__({"slots": Out(config.sub_core.collector.slots)})


class Written(wiring.Signature):
    """Seam 6: a register of a warp has been written, for the RAW and WAW hazards (seen from the
    hierarchy)."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"valid": Out(1), "warp": Out(config.sub_core.warp_width), "register": Out(REGISTER_WIDTH)}
        )


class Retired(wiring.Signature):
    """Seam 6: the last write of a uop is done (seen from the result arbiter): its predicates are written."""

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "warp": Out(config.sub_core.warp_width),
                "seq": Out(field_width("seq", config)),
                "predicates": Out(PREDICATES),
                "fence": Out(1),
            }
        )


def dispatch_stream(config: SmConfig) -> stream.Signature:
    """Seam 3, per unit. `valid`: a complete collector has a uop for it; `ready`: the unit takes one in this
    cycle."""
    return stream.Signature(dispatch_layout(config))


def lsu_stream(config: SmConfig) -> stream.Signature:
    """From a sub-core's queue to the load/store unit: `payload` is the oldest uop, taken where `ready`."""
    return stream.Signature(lsu_layout(config))


def returned_stream(config: SmConfig) -> Always:
    """From the load/store unit back: a complete uop, offered to the banks from the next cycle on. Always
    taken."""
    return Always(result_layout(config))


def result_stream(config: SmConfig) -> stream.Signature:
    """Seam 4, per unit: a result register offered to the register file; `ready`: it is written in this
    cycle."""
    return stream.Signature(write_layout(config))


class ResultOffer(wiring.Signature):
    """Seam 4: a result register that a unit offers, as collectors that keep results see it (seen from the
    result arbiter).

    Members
    -------
    valid, payload : Out. It is offered.
    taken : Out. It is written in this cycle; may depend on `held` and `absorbed`.
    held : In. It has to wait for its collector's port.
    absorbed : In. It goes into its collector and needs no bank.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "payload": Out(write_layout(config)),
                "taken": Out(1),
                "held": In(1),
                "absorbed": In(1),
            }
        )


def evicted_stream(config: SmConfig) -> stream.Signature:
    """Seam 4: what the collectors of a sub-core evict, one value at a time. `valid` and `payload` are from
    registers."""
    return stream.Signature(evicted_layout(config))


def read_stream(config: SmConfig, tags: int = 1) -> Always:
    """Seam 2: a uop's operands, requested in the cycle it is allocated or inserted. Always taken."""
    return Always(read_layout(config, tags))


def issue_stream(config: SmConfig) -> Always:
    """Seam 1: the uop that issues; it is offered only if `may_issue` said that a collector takes it."""
    return Always(issue_layout(config))


def optional(unit: wiring.Component, name: str) -> list[Any]:
    """The member of that name, if the unit has one."""
    return [getattr(unit, name)] if name in unit.signature.members else []


class SubCorePorts(wiring.Signature):
    """All of a sub-core (seen from it).

    Members
    -------
    start : In, `Start`. Warps start.
    launch : In(1), if the machine takes release flags. A launch begins; `start.registers` and `start.exempt`
        are its.
    release : In, a bit per warp slot. The barrier at which the warp waits is open; may depend on `arrival` of
        the same cycle.
    arrival : Out, `Arrival`.
    drain : Out, a bit per warp slot. The last uop of the warp retires in this cycle.
    fill : Out, `Fill`. Question to the testbench.
    write : Out, `WriteBack` per bank. Question to the testbench.
    issues : Out(1). A uop issues in this cycle.
    sthld : In(waits), if that is not 0. Cycles to wait for a collector without near values.
    keep : Out, `WriteBack` per unit of `keeps`. Question to the testbench: a result that a collector or a
        cache keeps.
    immediate : Out, `Immediate`, if a PREFETCH may name `prefetched` registers. Question to the testbench.
    lsu : Out, `lsu_stream`. To the load/store unit.
    returned : In, `returned_stream`. From the load/store unit.
    events : Out, `Events`, if `events` is given (`warpbank.hdl.probe`). `lsu_accept` is among them.
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
                **({"launch": In(1)} if config.takes_flags else {}),
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
                **({} if events is None else {"events": Out(events)}),
            }
        )
