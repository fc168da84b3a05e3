"""Warp-level liveness analysis, safe for a whole warp: what hardware may be told to drop.

A register of a warp is dead at a place only if no lane, on any path that is still to run, reads it before
writing it. The lanes that are not executing must be counted in. While the warp runs at some place p, they
wait

- at the start of the other side of a divergent branch whose influence region holds p (which side runs first
  is not assumed),
- at a CTA barrier on that other side: a side may be left at a barrier and taken up again,
- at that branch's reconvergence point.

So what is alive at p is what is alive there for a thread, and what is alive for a thread at each of these
places. Hence inside a divergent region no write of one side frees what the other side or the common
continuation needs. Lanes that have exited need nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from warpbank.program.cfg import Cfg, always
from warpbank.program.divergence import Divergence
from warpbank.program.isa import Instr, Kernel, Op
from warpbank.program.liveness import NOTHING, Live, Liveness


class SimtLiveness:
    """Warp-level liveness at every place of a kernel; the same questions as `Liveness` answers for a thread.

    Attributes
    ----------
    thread : liveness of a single lane.
    divergence : which branches part the lanes.
    waiting : per block, what lanes that are elsewhere may still read while the block runs.
    apart : lanes of a warp may be apart at a CTA barrier.
    parked : what lanes may still read that are parked anywhere while others run out of turn. If lanes of a
        warp may be apart at a CTA barrier, others may run while they wait, inside the divergent region or,
        having gone on from where they should have met, behind it. Nothing in kernels without such a barrier.
    """

    def __init__(self, kernel: Kernel, cfg: Cfg | None = None) -> None:
        self.kernel = kernel
        self.cfg = cfg or Cfg(kernel)
        self.thread = Liveness(kernel, self.cfg)
        self.divergence = Divergence(kernel, self.cfg)
        self.waiting = [NOTHING] * len(kernel.blocks)
        at_barriers = self._at_barriers()
        for branch in self.divergence.divergent_branches:
            self._wait_at(branch, at_barriers)
        self.at_start = [live | w for live, w in zip(self.thread.at_start, self.waiting, strict=False)]
        self.at_end = [live | w for live, w in zip(self.thread.at_end, self.waiting, strict=True)]
        self.apart = self._may_part(at_barriers)
        self.parked = self._parked(at_barriers)

    def _at_barriers(self) -> dict[int, Live]:
        """Per block with a CTA barrier, what is alive after some barrier of it."""
        found = {}
        for b, block in enumerate(self.kernel.blocks):
            if any(i.op is Op.BAR for i in block.instrs):
                held = NOTHING
                for instr, live in zip(block.instrs, self.thread.after(b), strict=True):
                    if instr.op is Op.BAR:
                        held = held | live
                found[b] = held
        return found

    def _may_part(self, at_barriers: dict[int, Live]) -> bool:
        """Test whether lanes of a warp may be apart at a CTA barrier: since they have parted at a branch, or
        because some of them alone arrive at it. In an executed kernel, whose blocks name those that follow,
        the path of each warp is known."""
        inside: set[int] = set().union(*self.divergence.regions.values())
        return not inside.isdisjoint(at_barriers) or any(
            instr.op is Op.BAR and not always(instr)
            for block in self.kernel.blocks
            if block.successors is None
            for instr in block.instrs
        )

    def _parked(self, at_barriers: dict[int, Live]) -> Live:
        if not self.apart:
            return NOTHING
        held = NOTHING
        for live in at_barriers.values():
            held = held | live
        for branch in self.divergence.divergent_branches:
            for b in (*self.cfg.successors[branch], self.cfg.reconvergence_block(branch)):
                if b is not None:
                    held = held | self.thread.at_start[b]
        for _, instr, live in self.thread:  # the last lane to leave may open a barrier for others
            if instr.op is Op.EXIT and not always(instr):
                held = held | live
        return held

    def _wait_at(self, branch: int, at_barriers: dict[int, Live]) -> None:
        meeting = self.cfg.reconvergence_block(branch)
        sides = self.cfg.successors[branch]
        reach = [self.cfg.reach(s, meeting) for s in sides]
        for mine, blocks in enumerate(reach):
            held = NOTHING if meeting is None else self.thread.at_start[meeting]
            for other, start in enumerate(sides):
                if other != mine and start != self.cfg.exit:
                    held = held | self.thread.at_start[start]
                    for b in sorted(reach[other]):
                        held = held | at_barriers.get(b, NOTHING)
            for b in blocks:
                self.waiting[b] = self.waiting[b] | held

    def after(self, block: int) -> list[Live]:
        """Live registers and predicates of the warp after each instruction of a block.

        After a branch it is what the lanes that took it or did not will read; the regions of its sides begin
        after it.
        """
        waiting = self.waiting[block]
        return [live | waiting for live in self.thread.after(block)]

    def __iter__(self) -> Iterator[tuple[int, Instr, Live]]:
        """Every instruction in layout order as (pc, instruction, what is alive after it)."""
        pc = 0
        for b, block in enumerate(self.kernel.blocks):
            for instr, live in zip(block.instrs, self.after(b), strict=True):
                yield pc, instr, live
                pc += 1


def simt_liveness(kernel: Kernel, cfg: Cfg | None = None) -> SimtLiveness:
    """Liveness of the whole warp at every place of `kernel`."""
    return SimtLiveness(kernel, cfg)
