"""Ports of a register hierarchy, as a sub-core sees them, whichever it is."""

from __future__ import annotations

from collections.abc import Mapping

from amaranth.hdl import Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.arch.uop import Scalar
from warpbank.hdl.front_end.scoreboard import Owed, OwedInterface
from warpbank.hdl.interfaces import (
    AlwaysInterface,
    Delivery,
    DeliveryInterface,
    LookAhead,
    LookAheadInterface,
    WriteBack,
    WriteBackInterface,
    Written,
    WrittenInterface,
    evicted_stream,
    read_stream,
    result_stream,
)
from warpbank.hdl.layouts import UNITS, Collection
from warpbank.hdl.mapping.ports import Hooked, Hooks
from warpbank.hdl.probe import EventsInterface
from warpbank.hdl.storage.decompress_moves import Stored, StoredInterface
from warpbank.hdl.typed import starting_at


class HierarchyPorts(wiring.Signature):
    """Ports of the registers of a sub-core (seen from them). A hierarchy leaves alone what does not
    concern it; of what it never needs there is none.

    Parameters
    ----------
    config : the machine.
    collection : the collectors.
    metadata : what is known of an operand.
    writes, keeps : banks that ask for the values of results; or units.
    landed : results that can be there from one cycle to the next.
    stored : banks whose writes may need decompress moves.
    owed : registers that the scoreboard is asked about.
    ahead : units whose results are looked for in the cycle before they are offered: none or all.
    prefetched : registers of a warp that a PREFETCH may name.

    Members
    -------
    those of `warpbank.hdl.mapping.ports.Hooks`, and
    read : In(read_stream). Operands are requested (operand read interface).
    deliver : Out(Delivery) per collector. They arrive, with their metadata; from registers.
    result : In(result_stream) per unit. A result register is offered (result interface); `ready`: it is
        written in this cycle.
    ahead : In(LookAhead) per unit of `ahead`. Register that `result` may offer in the next cycle.
    evicted : In(evicted_stream) per value that collectors evict. `ready`: it is written, or dropped.
    first : In. Writer whose offer goes first, then the next ones in order, wrapping around.
    write, keep : Out(WriteBack) per bank; per unit. What is written; its value comes in.
    landed : Out(Written). A result is there from the next cycle on (scoreboard release interface).
    stored : Out(Stored) per bank. So is a value in a bank, compressed or not.
    owed : Out(Owed). Asks whether a result of a register is to come.
    activate : In(1). Warp `activated` becomes active; only if `may_activate` has it.
    activated : In.
    deactivate, ended : In(warps). These warps are not active any more; those of the second mask have issued
        their last uop.
    quiet : In(warps). All operands of the warp's issued uops have been read.
    prefetch : In(1). Warp `prefetching` enters an interval with the working set `working`.
    prefetching, working : In.
    may_issue, may_activate : Out(warps). As far as their registers are concerned; from registers.
    """

    def __init__(
        self,
        config: SmConfig,
        collection: Collection,
        metadata: data.StructLayout,
        *,
        writes: int = 0,
        keeps: int = 0,
        landed: int = UNITS,
        stored: int = 0,
        owed: int = 0,
        ahead: int = 0,
        prefetched: int = 0,
    ) -> None:
        core, tags = config.sub_core, collection.tags
        warps = core.warps
        super().__init__(
            {
                **Hooks(config, collection.entries).members,
                "read": In(read_stream(config, tags, collection.hinted)),
                "deliver": Out(Delivery(config, tags, metadata)).array(core.collectors),
                "result": In(result_stream(config)).array(UNITS),
                "ahead": In(LookAhead(config)).array(ahead),
                "evicted": In(evicted_stream(config)).array(collection.evicts),
                "first": In(bits(collection.writers)),
                "write": Out(WriteBack(config)).array(writes),
                "keep": Out(WriteBack(config)).array(keeps),
                "landed": Out(Written(config)).array(landed),
                "stored": Out(Stored(config)).array(stored),
                "owed": Out(Owed(config)).array(owed),
                "activate": In(1),
                "activated": In(core.warp_width),
                "deactivate": In(warps),
                "ended": In(warps),
                "quiet": In(warps),
                "prefetch": In(1),
                "prefetching": In(core.warp_width),
                "working": In(prefetched),
                "may_issue": starting_at(Out(warps), -1),
                "may_activate": starting_at(Out(warps), -1),
            }
        )


class Hierarchy(Hooked):
    """Base of the register hierarchies: the ports of `HierarchyPorts`, and what the units beside them are
    told.

    Members
    -------
    those of `HierarchyPorts`, and
    events : Out(Events), if it is built with a probe.
    """

    #: The collectors it serves.
    collection: Collection
    #: Parts of a register, each compressed by itself; 0 if nothing is compressed.
    parts: int
    #: Kinds of scalar execution that the storage's metadata allow.
    executes: frozenset[Scalar]
    #: Requests of operands carry their hints.
    hinted: bool = False
    #: Which ports of the main register file it uses: collectors read that (`operands`), a cache does
    #: (`cached`).
    main_needs: Mapping[str, bool]

    read: AlwaysInterface
    deliver: list[DeliveryInterface]
    result: list[stream.Interface]
    ahead: list[LookAheadInterface]
    evicted: list[stream.Interface]
    first: Signal
    write: list[WriteBackInterface]
    keep: list[WriteBackInterface]
    landed: list[WrittenInterface]
    stored: list[StoredInterface]
    owed: list[OwedInterface]
    activate: Signal
    activated: Signal
    deactivate: Signal
    ended: Signal
    quiet: Signal
    prefetch: Signal
    prefetching: Signal
    working: Signal
    may_issue: Signal
    may_activate: Signal
    events: EventsInterface
