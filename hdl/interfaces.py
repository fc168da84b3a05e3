"""Interfaces between the rooms, in signals: layouts of the records and signatures.

The interfaces are named after what they carry. Issue interface: front end to collector. Operand read
interface: collector to hierarchy, and back. Dispatch interface: collector to execution units. Result
interface: execution units to collector and hierarchy. Bank interface: hierarchy to mapping to storage.
Scoreboard release interface: collector, hierarchy and result arbiter back to the scoreboard.

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
from typing import Any, Protocol

from amaranth.hdl import Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.events import field_width
from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import MAX_DESTINATIONS, MAX_SOURCES, PREDICATES, Control, Unit
from warpbank.hdl.probe import EventsInterface
from warpbank.hdl.typed import Interface, Record, starting_at

#: Units, in the order of `warpbank.arch.uop.Unit`: what is per unit below is an array of this size.
UNITS = len(Unit)
#: Bits of a register number, of a lines or passes count, of a barrier number.
REGISTER_WIDTH = 8
#: Bits of the longest immediate: one per register of a warp.
IMMEDIATE_WIDTH = 256
COUNT_WIDTH = 8
BARRIER_WIDTH = 8
#: Bits of a memory operation, `warpbank.arch.uop.Memory`.
MEMORY_WIDTH = 4
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
    hinted : requests of operands carry the uop's hints about them.
    """

    entries: int
    tags: int = 1
    share: int = 0
    keeps: int = 0
    evicts: int = 0
    hinted: bool = False

    @property
    def writers(self) -> int:
        """Number of writers of registers: the units, and what evicts."""
        return UNITS + self.evicts


def uop_layout(config: SmConfig) -> data.StructLayout:
    """Uop as it comes from the stream: fields of `warpbank.arch.uop.Uop`, and what the trace adds.

    Fields
    ------
    seq : number of the uop in its warp.
    pc : index of its instruction in the program.
    unit : execution unit, a `warpbank.arch.uop.Unit`.
    sources : register of each source slot, as the instruction has it, also where its guard is false on all
        lanes: hazards are checked all the same.
    source_valid : which source slots there are.
    destination : first register that it writes.
    count : registers that it writes, from `destination` on; hazards are checked also where its guard is
        false.
    predicates_read : mask of the predicates that it reads.
    predicates_written : mask of the predicates that it writes.
    mask : lanes that execute, of those the machine carries.
    memory : memory operation, a `warpbank.arch.uop.Memory`.
    control : control operation, a `warpbank.arch.uop.Control`.
    collects : the uop goes through a collector (guard true on some lane, carried or not, and not a bare
        control uop). Where 0 the uop is complete when it issues, reads and writes nothing.
    arrive : it arrives at a barrier.
    wait : it waits at that barrier.
    barrier : number of that barrier.
    barrier_warps : warps that the barrier expects, 0 for all of the CTA.
    last : end of the warp's stream.
    lines : memory lines that it touches.
    passes : shared-memory passes; 0 counts as 1.
    write_back : the compiler's hint whether its results are kept in the collector (bit 0) and go to the banks
        (bit 1).
    near : the compiler's hint which values are read again soon, per source; the last bit is for the
        destination.
    dead : the compiler's hint which sources are read for the last time.
    release : if the machine takes release flags: registers that a PBR releases, nine of 6 bits or, where
        `wide`, six of 8.
    wide : if the machine takes release flags: `release` has six registers.
    covered : if the machine takes release flags: a release flag instruction covers the uop.
    first : if the machine takes release flags: the first pc that this flag instruction covers.
    scalar : the compiler's hint that one lane may execute the uop for all.
    fresh : the compiler's hint that no lane of the destination's old value is read again.
    part : it executes on other lanes than those the warp was launched with (divergent, or guarded).
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
            "memory": MEMORY_WIDTH,
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
    """Uop on the issue interface: the warp slot and the uop."""
    return data.StructLayout({"warp": config.sub_core.warp_width, "uop": uop_layout(config)})


def result_layout(config: SmConfig) -> data.StructLayout:
    """Part of a uop that is needed to write its results back.

    It is queued in the pipelines, carried through the load/store unit and returned by it.

    `fence`: the uop is a fence, whose warp may go on when it retires. `near`: the result's next reuse is
    near, by the compiler's word. Other fields as in `uop_layout`.

    Fields
    ------
    warp : warp slot.
    seq : number of the uop in its warp.
    destination : first register that it writes.
    count : registers that it writes, from `destination` on.
    predicates_written : mask of the predicates that it writes.
    mask : lanes that execute.
    part : it executes on other lanes than those the warp was launched with.
    fence : it is a fence, whose warp may go on when it retires.
    near : its results are read again soon, by the compiler's word.
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
    """Uop on the dispatch interface, on its way from its collector to a unit.

    The operands are the collector's `operands`.

    Fields
    ------
    collector : collector that holds the uop and its operands.
    memory : memory operation, a `warpbank.arch.uop.Memory`.
    lines : memory lines that it touches.
    passes : shared-memory passes; 0 counts as 1.
    result : what is needed to write its results back, a `result_layout`.
    """
    return data.StructLayout(
        {
            "collector": config.sub_core.collector_width,
            "memory": MEMORY_WIDTH,
            "lines": COUNT_WIDTH,
            "passes": COUNT_WIDTH,
            "result": result_layout(config),
        }
    )


def lsu_layout(config: SmConfig) -> data.StructLayout:
    """Uop in a sub-core's queue to the load/store unit.

    `result` is what the unit gives back when the uop is complete.

    Fields
    ------
    memory : memory operation, a `warpbank.arch.uop.Memory`.
    lines : memory lines that it touches.
    passes : shared-memory passes; 0 counts as 1.
    result : what is needed to write its results back, a `result_layout`.
    """
    return data.StructLayout(
        {"memory": MEMORY_WIDTH, "lines": COUNT_WIDTH, "passes": COUNT_WIDTH, "result": result_layout(config)}
    )


def write_layout(config: SmConfig) -> data.StructLayout:
    """Result register on the result interface, on its way to the register file.

    Fields
    ------
    warp : warp slot.
    seq : number of the uop in its warp.
    register : register that is written.
    mask : lanes that are written.
    part : these are other lanes than those the warp was launched with.
    near : the register is read again soon, by the compiler's word.
    """
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
    """Field that tells the uops of one collector apart, where it can have several in collection."""
    return {"tag": bits(tags)} if tags > 1 else {}


def read_layout(config: SmConfig, tags: int = 1, hinted: bool = False) -> data.StructLayout:
    """Group of read requests on the operand read interface: the operands of a uop, in slot order.

    Parameters
    ----------
    config : machine.
    tags : uops that one collector may have in collection.
    hinted : the hints of the operands come along.

    Fields
    ------
    tag : which of the collector's uops it is, if there can be several.
    collector : collector of the uop.
    warp : warp of the uop.
    sources : register of each source slot.
    source_valid : source slots that are requested.
    dead : source slots that are read for the last time, if `hinted`.
    near : source slots whose register is in the cache, as the compiler says, if `hinted`.
    """
    return data.StructLayout(
        {
            **tag_fields(tags),
            "collector": config.sub_core.collector_width,
            "warp": config.sub_core.warp_width,
            "sources": data.ArrayLayout(REGISTER_WIDTH, MAX_SOURCES),
            "source_valid": MAX_SOURCES,
            "dead": MAX_SOURCES * hinted,
            "near": MAX_SOURCES * hinted,
        }
    )


def evicted_layout(config: SmConfig) -> data.StructLayout:
    """Value that a collector evicts, on the result interface: all lanes of `register` of `warp`."""
    return data.StructLayout(
        {"warp": config.sub_core.warp_width, "register": REGISTER_WIDTH, "value": config.value_width}
    )


class Always(wiring.Signature):
    """Stream whose receiver always takes.

    There is no `ready`: a constant one cannot be a port of exported Verilog.

    Members
    -------
    valid : Out(1). `payload` is there, and is taken.
    payload : Out(shape). What is handed over.
    """

    def __init__(self, shape: data.StructLayout) -> None:
        super().__init__({"valid": Out(1), "payload": Out(shape)})


class AlwaysInterface(Interface, Protocol):
    """Interface object of the signature `Always`."""

    valid: Signal
    payload: Record


class Fill(wiring.Signature):
    """Question of the front end to the testbench: the next uop of a warp.

    Seen from the sub-core.

    Members
    -------
    valid : Out(1). In this cycle the next uop of the stream of `warp` is taken; the testbench must supply it
        and advance the stream. There is always a next one: a warp is not asked for after its `last` uop.
    warp : Out(bits(warps)). Warp slot that is asked for.
    uop : In(uop_layout). The answer, in the same cycle; used for the next state only.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"valid": Out(1), "warp": Out(config.sub_core.warp_width), "uop": In(uop_layout(config))}
        )


class FillInterface(Interface, Protocol):
    """Interface object of the signature `Fill`."""

    valid: Signal
    warp: Signal
    uop: Record


class WriteBack(wiring.Signature):
    """Question to the testbench: the value of a result that is written into a bank or a collector.

    Seen from the sub-core.

    Members
    -------
    valid : Out(1). In this cycle `register` of uop (`warp`, `seq`) is written, on the lanes of `mask`.
    warp : Out(bits(warps)). Warp of the uop.
    seq : Out(seq). Number of the uop in its warp.
    register : Out(8). Register that is written.
    mask : Out(lanes). Lanes that are written.
    value : In(32 per lane). The answer, lane 0 lowest, in the same cycle; used for the next state only.
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


class WriteBackInterface(Interface, Protocol):
    """Interface object of the signature `WriteBack`."""

    valid: Signal
    warp: Signal
    seq: Signal
    register: Signal
    mask: Signal
    value: Signal


class Start(wiring.Signature):
    """Start of warps in a sub-core.

    Seen from the CTA dispatcher.

    Members
    -------
    warps : Out(warps). Slots that receive a warp in this cycle; they are filled from the next cycle on. Of
        several, the lower slot is the older warp.
    rows : Out(bits(rows + 1)). Rows of every bank per warp: the registers of slot w lie from row w x `rows`
        on. Held while warps run.
    registers : Out(9), if the machine takes release flags. Registers per thread of the launch that is taken
        in this cycle.
    exempt : Out(256), if the machine takes release flags. Mask of that launch's registers that are not
        renamed.
    slots : Out(bits(warps + 1)), if the machine takes release flags. Warp slots that the launch may use.
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


class StartInterface(Interface, Protocol):
    """Interface object of the signature `Start`."""

    warps: Signal
    rows: Signal
    registers: Signal
    exempt: Signal
    slots: Signal


class Arrival(wiring.Signature):
    """Notice that a uop issues which arrives at a barrier or ends its warp.

    Seen from the sub-core. A function of registers.

    Members
    -------
    warp : Out(bits(warps)). Warp that issues.
    arrive : Out(1). It arrives at `barrier`.
    wait : Out(1). It waits there (only with `arrive`) until its bit of the sub-core's input `release` is 1,
        in the same cycle or later.
    barrier : Out(8). Number of the barrier.
    barrier_warps : Out(bits(warps + 1)). Warps that the barrier expects; 0 for all of the CTA that have not
        issued their last uop.
    last : Out(1). It issues its last uop.
    """

    def __init__(self, config: SmConfig) -> None:
        uop = uop_layout(config)
        names = ("arrive", "wait", "barrier", "barrier_warps", "last")
        super().__init__(
            {"warp": Out(config.sub_core.warp_width), **{name: Out(uop[name].shape) for name in names}}
        )


class ArrivalInterface(Interface, Protocol):
    """Interface object of the signature `Arrival`."""

    warp: Signal
    arrive: Signal
    wait: Signal
    barrier: Signal
    barrier_warps: Signal
    last: Signal


class Delivery(wiring.Signature):
    """Operand read interface, back: the single port of a collector.

    Seen from the hierarchy.

    Members
    -------
    valid : Out(1). An operand arrives.
    slot : Out(bits(slots)). Source slot that it is for.
    tag : Out(bits(tags)), if `tags` > 1. Which of the collector's uops it is for.
    value : Out(32 per lane). Value of the operand.
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


class DeliveryInterface(Interface, Protocol):
    """Interface object of the signature `Delivery`."""

    valid: Signal
    slot: Signal
    value: Signal
    metadata: Record
    tag: Signal


class Location(wiring.Signature):
    """Bank interface to the mapping: look-up of the place of a register.

    Seen from the hierarchy. Combinational.

    Members
    -------
    warp : Out(bits(warps)). Warp of the register.
    register : Out(8). Register that is looked up.
    bank : In(bits(banks)). Bank in which it lies.
    row : In(bits(rows)). Row of that bank.
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


class LocationInterface(Interface, Protocol):
    """Interface object of the signature `Location`."""

    warp: Signal
    register: Signal
    bank: Signal
    row: Signal


class BankPort(wiring.Signature):
    """Bank interface to one bank of a storage.

    Seen from the main register file. A storage leaves alone what does not concern it.

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


class BankPortInterface(Interface, Protocol):
    """Interface object of the signature `BankPort`."""

    row: Signal
    read_row: Signal
    read: Signal
    write: Signal
    mask: Signal
    value: Signal
    part: Signal
    moved: Signal
    given: Record
    data: Signal
    metadata: Record
    held: Signal
    written: Signal
    stored: Signal
    compressed: Signal


class Freed(wiring.Signature):
    """A physical register is released (seen from the mapping)."""

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__({"valid": Out(1), "bank": Out(core.bank_width), "row": Out(core.row_width)})


class FreedInterface(Interface, Protocol):
    """Interface object of the signature `Freed`."""

    valid: Signal
    bank: Signal
    row: Signal


class Whereabouts(wiring.Signature):
    """Whether the register of a row is in the scalar bank (seen from who asks). Combinational."""

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__({"bank": Out(core.bank_width), "row": Out(core.row_width), "scalar": In(1)})


class WhereaboutsInterface(Interface, Protocol):
    """Interface object of the signature `Whereabouts`."""

    bank: Signal
    row: Signal
    scalar: Signal


class StoragePorts(wiring.Signature):
    """Ports of a storage (seen from it).

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


class StorageInterface(Interface, Protocol):
    """Interface object of the signature `StoragePorts`."""

    bank: list[BankPortInterface]
    where: list[WhereaboutsInterface]
    freed: list[FreedInterface]


class Immediate(wiring.Signature):
    """Question to the testbench: the bit-vector of a PREFETCH.

    It stands behind the instruction in the code and is too long for its uop. Seen from the sub-core.

    Members
    -------
    valid : Out(1). A PREFETCH issues in this cycle. From registers.
    pc : Out(pc). Its instruction. From registers.
    bits : In(256). The answer, in the same cycle; used for the next state only.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__({"valid": Out(1), "pc": Out(field_width("pc", config)), "bits": In(IMMEDIATE_WIDTH)})


class ImmediateInterface(Interface, Protocol):
    """Interface object of the signature `Immediate`."""

    valid: Signal
    pc: Signal
    bits: Signal


class SchedulerPorts(wiring.Signature):
    """Ports of a warp scheduler.

    Seen from the scheduler. A policy leaves alone what does not concern it.

    Members
    -------
    start : In(warps). Slots that receive a warp, the youngest from the next cycle on.
    eligible : In(warps). Warps that may issue in this cycle; they are active.
    holds : In(warps). Warps that have values in a collector.
    ready : In(warps). Warps whose next uop has no hazard.
    away : In(warps), if it has `sets` of active and pending warps. Warps that have nothing to do among the
        active ones: they wait for memory or at a barrier, or are over.
    over : In(warps), if it has `sets`. Warps that have issued their last uop.
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
                "over": In(warps if sets else 0),
                "may_activate": In(warps),
                "pick": Out(bits(warps)),
                "active": starting_at(Out(warps), -1),
                "activated": Out(warps),
                "deactivated": Out(warps),
            }
        )


class SchedulerInterface(Interface, Protocol):
    """Interface object of the signature `SchedulerPorts`."""

    start: Signal
    eligible: Signal
    holds: Signal
    ready: Signal
    away: Signal
    over: Signal
    may_activate: Signal
    pick: Signal
    active: Signal
    activated: Signal
    deactivated: Signal


class ReadDone(wiring.Signature):
    """Scoreboard release interface: operands of a uop were read, which ends its WAR hazards.

    Seen from the collectors. There is one per uop that can be in collection at a time; the scoreboard knows
    the uop's registers.

    There is one per uop that can be in collection at a time; the scoreboard knows the uop's registers.

    Members
    -------
    slots : Out(slots). Source slots of the uop that were read.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__({"slots": Out(config.sub_core.collector.slots)})


class ReadDoneInterface(Interface, Protocol):
    """Interface object of the signature `ReadDone`."""

    slots: Signal


class Written(wiring.Signature):
    """Scoreboard release interface: a register was written, which ends its RAW and WAW hazards.

    Seen from the hierarchy.

    Members
    -------
    valid : Out(1). A register was written.
    warp : Out(bits(warps)). Warp of the register.
    register : Out(8). Register that was written.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"valid": Out(1), "warp": Out(config.sub_core.warp_width), "register": Out(REGISTER_WIDTH)}
        )


class WrittenInterface(Interface, Protocol):
    """Interface object of the signature `Written`."""

    valid: Signal
    warp: Signal
    register: Signal


class Retired(wiring.Signature):
    """Scoreboard release interface: the last write of a uop is done, so that its predicates are written.

    Seen from the result arbiter.

    Members
    -------
    valid : Out(1). The last write of a uop is done.
    warp : Out(bits(warps)). Warp of the uop.
    seq : Out(seq). Number of the uop in its warp.
    predicates : Out(predicates). Predicates that it wrote.
    fence : Out(1). It is a fence.
    """

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


class RetiredInterface(Interface, Protocol):
    """Interface object of the signature `Retired`."""

    valid: Signal
    warp: Signal
    seq: Signal
    predicates: Signal
    fence: Signal


def dispatch_stream(config: SmConfig) -> stream.Signature:
    """Dispatch interface of one unit.

    `valid`: a complete collector has a uop for it. `ready`: the unit takes one in this cycle.
    """
    return stream.Signature(dispatch_layout(config))


def lsu_stream(config: SmConfig) -> stream.Signature:
    """Queue from a sub-core to the load/store unit: `payload` is the oldest uop, taken where `ready`."""
    return stream.Signature(lsu_layout(config))


def returned_stream(config: SmConfig) -> Always:
    """Return path of the load/store unit: a complete uop, offered to the banks from the next cycle on.

    It is always taken.
    """
    return Always(result_layout(config))


def result_stream(config: SmConfig) -> stream.Signature:
    """Result interface of one unit to the hierarchy: a register that is offered.

    `ready`: it is written in this cycle.
    """
    return stream.Signature(write_layout(config))


class ResultOffer(wiring.Signature):
    """Result interface of one unit to collectors that keep results.

    Seen from the result arbiter.

    Members
    -------
    valid : Out(1). A register is offered.
    payload : Out(write_layout). Register that is offered.
    taken : Out(1). It is written in this cycle; may depend on `held` and `absorbed`.
    held : In(1). It has to wait for its collector's port.
    absorbed : In(1). It goes into its collector and needs no bank.
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


class ResultOfferInterface(Interface, Protocol):
    """Interface object of the signature `ResultOffer`."""

    valid: Signal
    payload: Record
    taken: Signal
    held: Signal
    absorbed: Signal


def evicted_stream(config: SmConfig) -> stream.Signature:
    """Result interface of the collectors to the hierarchy: values that they evict, one at a time.

    `valid` and `payload` are from registers.
    """
    return stream.Signature(evicted_layout(config))


def read_stream(config: SmConfig, tags: int = 1, hinted: bool = False) -> Always:
    """Operand read interface to the hierarchy: a uop's operands, requested when it is allocated or inserted.

    They are always taken.
    """
    return Always(read_layout(config, tags, hinted))


def issue_stream(config: SmConfig) -> Always:
    """Issue interface: the uop that issues, offered only if `may_issue` said that a collector takes it."""
    return Always(issue_layout(config))


def optional(unit: Any, name: str) -> list[Any]:
    """Return the member of that name, if the component has one."""
    return [getattr(unit, name)] if name in unit.signature.members else []


class SubCorePorts(wiring.Signature):
    """Ports of a sub-core.

    Seen from the sub-core.

    Members
    -------
    start : In(Start). Warps start.
    launch : In(1), if the machine takes release flags. A launch begins, to which `start.registers`,
        `start.exempt` and `start.slots` belong.
    release : In(warps). Warps whose barrier is open; may depend on `arrival` of the same cycle.
    arrival : Out(Arrival). A uop issues that arrives at a barrier or ends its warp.
    drain : Out(warps). Warps whose last uop retires in this cycle.
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
    events: EventsInterface
