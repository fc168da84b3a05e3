"""Issue stage: a register between the choice of a warp and the issue of its uop."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.hdl.front_end.lrr import check_warps
from warpbank.hdl.round_robin import decode


class IssueStage(wiring.Component):
    """Issue stage: a register between the choice of a warp and the issue of its uop
    (`front_end.issue_stages`).

    The scheduler picks among all warps that are active and have no hazard, and does not ask whether a
    collector would take the uop. That is asked in the next cycle, in which the warp has its turn: its uop
    issues, or, if no collector takes it or the warp is not active any more, stays in its buffer. What the
    scoreboard knows of a warp that has its turn is a cycle old, so it is not picked in that cycle: a warp
    issues in every second cycle at most.

    Parameters
    ----------
    warps : warp slots.

    Members
    -------
    ready : In(warps). Active warps whose next uop has no hazard.
    takes : In(warps). Active warps whose next uop a collector would take, or that needs none.
    candidates : Out(warps). Warps among which the scheduler picks.
    pick : In(bits(warps)). Warp that the scheduler picks, if `candidates` is not 0.
    turn : Out(1). A warp has its turn. From a register.
    warp : Out(bits(warps)). Warp that has its turn. From a register.
    issued : Out(warps). Mask of that warp if its uop issues, else 0.

    Latency: picked in cycle t, a warp has its turn in t + 1, and can be picked again in t + 2.

    Raises
    ------
    TypeError : `warps` is no positive number.
    """

    ready: Signal
    takes: Signal
    candidates: Signal
    pick: Signal
    turn: Signal
    warp: Signal
    issued: Signal

    def __init__(self, warps: int) -> None:
        check_warps("IssueStage", warps)
        self._warps = warps
        super().__init__(
            {
                "ready": In(warps),
                "takes": In(warps),
                "candidates": Out(warps),
                "pick": In(bits(warps)),
                "turn": Out(1),
                "warp": Out(bits(warps)),
                "issued": Out(warps),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        turn = Signal()
        warp = Signal.like(self.warp, reset_less=True)
        chosen = decode(m, warp, turn, self._warps, "chosen")
        m.d.sync += [turn.eq(self.candidates.any()), warp.eq(self.pick)]
        m.d.comb += [
            self.candidates.eq(self.ready & ~chosen),
            self.turn.eq(turn),
            self.warp.eq(warp),
            self.issued.eq(chosen & self.takes),
        ]
        return m
