"""Interface of the schedulers, in signals."""

from __future__ import annotations

from typing import Protocol

from amaranth.hdl import Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.hdl.typed import Interface, starting_at


class SchedulerPorts(wiring.Signature):
    """Ports of a warp scheduler.

    Seen from the scheduler. A policy leaves alone what does not concern it.

    Members
    -------
    start : In(warps). Slots that receive a warp, the youngest from the next cycle on.
    eligible : In(warps). Warps among which it picks; they are active. They may issue in this cycle, or, where
        an issue stage follows, have no hazard.
    holds : In(warps). Warps that have values in a collector.
    ready : In(warps). Warps whose next uop has no hazard.
    away : In(warps), if it has `sets` of active and pending warps. Warps that have nothing to do among the
        active ones: they wait for memory or at a barrier, or are over.
    over : In(warps), if it has `sets`. Warps that have issued their last uop.
    may_activate : In(warps). Warps that could become active, were they not away.
    pick : Out(bits(warps)). The warp that is picked, if `eligible` is not 0. Combinational; the state follows
        at the clock edge.
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
