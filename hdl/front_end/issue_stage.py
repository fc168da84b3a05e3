"""Issue stages: registers between what is known of the warps and the issue of a uop."""

from __future__ import annotations

from amaranth.hdl import Module, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import bits
from warpbank.hdl.front_end.lrr import check_warps
from warpbank.hdl.round_robin import decode

#: Numbers of stages that there may be.
STAGES = range(1, 4)


class IssueStage(wiring.Component):
    """Issue stages: registers between what is known of the warps and the issue of a uop
    (`front_end.issue_stages`).

    The scheduler picks among all warps that are active and have no hazard, and does not ask whether a
    collector would take the uop. That is asked when the warp has its turn: its uop issues, or, if no
    collector takes it or the warp is not active any more, stays in its buffer. A warp that was picked is not
    picked again up to the cycle of its turn, after which the scoreboard knows what it issued: with n stages a
    warp issues in every (n + 1)th cycle at most. The first stage stands behind the choice, the second one
    behind the read of the uop, the third one in front of the choice.

    Parameters
    ----------
    warps : warp slots.
    stages : 1 to 3.

    Members
    -------
    ready : In(warps). Active warps whose next uop has no hazard.
    takes : In(warps). Active warps whose next uop a collector would take, or that needs none.
    candidates : Out(warps). Warps among which the scheduler picks. From registers with three stages.
    pick : In(bits(warps)). Warp that the scheduler picks, if `candidates` is not 0.
    comes : Out(1). A warp has its turn in the next cycle. From a register with two stages or more, else
        combinational.
    coming : Out(bits(warps)). That warp.
    turn : Out(1). A warp has its turn. From a register.
    warp : Out(bits(warps)). Warp that has its turn. From a register.
    issued : Out(warps). Mask of that warp if its uop issues, else 0.

    Latency: with one stage or two, picked in cycle t, a warp has its turn in t + 1 or t + 2; with three,
    without hazard in cycle t, it is picked in t + 1 at the earliest and has its turn in t + 3. It can be
    picked again in the cycle after its turn, with three stages in the one after that.

    Raises
    ------
    TypeError : `warps` is no positive number.
    ValueError : there are not 1 to 3 `stages`.
    """

    ready: Signal
    takes: Signal
    candidates: Signal
    pick: Signal
    comes: Signal
    coming: Signal
    turn: Signal
    warp: Signal
    issued: Signal

    def __init__(self, warps: int, stages: int = 1) -> None:
        check_warps("IssueStage", warps)
        if stages not in STAGES:
            raise ValueError(f"IssueStage has 1 to 3 stages, not {stages!r}.")
        self._warps, self._stages = warps, stages
        super().__init__(
            {
                "ready": In(warps),
                "takes": In(warps),
                "candidates": Out(warps),
                "pick": In(bits(warps)),
                "comes": Out(1),
                "coming": Out(bits(warps)),
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
        picked: Value = chosen  # those that were picked; those that may be
        ready: Value = self.ready
        comes: Value = self.candidates.any()
        coming: Value = self.pick
        if self._stages > 1:
            comes, coming = Signal(name="read"), Signal.like(self.pick, name="reads", reset_less=True)
            m.d.sync += [comes.eq(self.candidates.any()), coming.eq(self.pick)]
            picked = chosen | decode(m, coming, comes, self._warps, "next")
        if self._stages > 2:
            ready = Signal(self._warps, name="known")
            m.d.sync += ready.eq(self.ready & ~picked)
        m.d.sync += [turn.eq(self.comes), warp.eq(self.coming)]
        m.d.comb += [
            self.candidates.eq(ready & ~picked),
            self.comes.eq(comes),
            self.coming.eq(coming),
            self.turn.eq(turn),
            self.warp.eq(warp),
            self.issued.eq(chosen & self.takes),
        ]
        return m
