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

from typing import Any, Protocol

from amaranth.hdl import Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.events import field_width
from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import PREDICATES
from warpbank.hdl.layouts import (
    IMMEDIATE_WIDTH,
    NO_METADATA,
    REGISTER_WIDTH,
    dispatch_layout,
    evicted_layout,
    issue_layout,
    lsu_layout,
    read_layout,
    result_layout,
    tag_fields,
    uop_layout,
    write_layout,
)
from warpbank.hdl.typed import Interface, Record


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
    kept : Out(bits(physical registers + 1)), if the machine takes release flags. Physical registers that the
        launch keeps for the CTA that has its turn.
    served : Out(warps), if the machine takes release flags. Warps of that CTA.
    """

    def __init__(self, config: SmConfig) -> None:
        flags = (
            {
                "registers": Out(REGISTER_WIDTH + 1),
                "exempt": Out(1 << REGISTER_WIDTH),
                "slots": Out(bits(config.sub_core.warps + 1)),
                "kept": Out(bits(config.sub_core.warp_registers + 1)),
                "served": Out(config.sub_core.warps),
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
    kept: Signal
    served: Signal


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


class Immediate(wiring.Signature):
    """Question to the testbench: the bit-vector of a PREFETCH.

    It stands beside an instruction in the code and is too long for its uop. Seen from the sub-core.

    Members
    -------
    valid : Out(1). A PREFETCH issues in this cycle, or an extra bit is served. From registers.
    pc : Out(pc). The PREFETCH, or the uop with the extra bit. From registers.
    bits : In(256). The answer, in the same cycle; used for the next state only.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__({"valid": Out(1), "pc": Out(field_width("pc", config)), "bits": In(IMMEDIATE_WIDTH)})


class ImmediateInterface(Interface, Protocol):
    """Interface object of the signature `Immediate`."""

    valid: Signal
    pc: Signal
    bits: Signal


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


class LookAhead(wiring.Signature):
    """Result interface of one unit to a hierarchy that has to find where a result goes.

    Seen from the result arbiter. Functions of registers. `result_stream` offers a register only if this has
    named it in the cycle before.

    Members
    -------
    warp : Out(bits(warps)). Warp of the register that may be offered in the next cycle.
    register : Out(8). Its number.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__({"warp": Out(config.sub_core.warp_width), "register": Out(REGISTER_WIDTH)})


class LookAheadInterface(Interface, Protocol):
    """Interface object of the signature `LookAhead`."""

    warp: Signal
    register: Signal


class NextResult(wiring.Signature):
    """Result interface of one unit to those that look a result up a cycle before it is offered: collectors
    find its entry, a mapping its place.

    Seen from the unit. `warp` and `register` are there early: whether they count is known late.

    Members
    -------
    changes : Out(1). From the next cycle on the unit offers this register, of the uop that it offers now or
        of another; else it offers what it offers now.
    warp : Out(bits(warps)). Warp of the register.
    register : Out(8). Its number.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {"changes": Out(1), "warp": Out(config.sub_core.warp_width), "register": Out(REGISTER_WIDTH)}
        )


class NextResultInterface(Interface, Protocol):
    """Interface object of the signature `NextResult`."""

    changes: Signal
    warp: Signal
    register: Signal


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
    barred : In(1). It takes no bank in this cycle: it is `held` or `absorbed`, which of them is known later.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(
            {
                "valid": Out(1),
                "payload": Out(write_layout(config)),
                "taken": Out(1),
                "held": In(1),
                "absorbed": In(1),
                "barred": In(1),
            }
        )


class ResultOfferInterface(Interface, Protocol):
    """Interface object of the signature `ResultOffer`."""

    valid: Signal
    payload: Record
    taken: Signal
    held: Signal
    absorbed: Signal
    barred: Signal


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
