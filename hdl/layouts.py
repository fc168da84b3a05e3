"""Layouts of the records that go between the rooms, in bits."""

from __future__ import annotations

from dataclasses import dataclass

from amaranth.lib import data

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
    whole : a uop requests all its sources, which are its first slots, and not some of them.
    """

    entries: int
    tags: int = 1
    share: int = 0
    keeps: int = 0
    evicts: int = 0
    hinted: bool = False
    whole: bool = False

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
    source_valid : which source slots there are: the first ones.
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
    enters : if the machine takes extra bits: the warp prefetches before it.
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
            **({"enters": 1} if config.takes_bits else {}),
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
