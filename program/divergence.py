"""Divergence analysis: which registers, predicates and branches may differ between the lanes of a warp.

A value is uniform if all lanes that execute together hold the same. Special registers of the thread, memory
contents and values taken from other lanes are divergent; constants, parameters, CTA indices and votes are
uniform; a computation is what its operands are; a write under a divergent guard is divergent. Registers are
followed through the code, not judged once for all: after allocation one register serves many values.

Lanes that parted at a divergent branch may bring different values to the point where they meet, although each
side computed uniformly, and lanes that leave a loop in different rounds bring values of different rounds. So
whatever is written in the influence region of a divergent branch counts as divergent from its reconvergence
point on.
"""

from __future__ import annotations

from warpbank.program.cfg import Cfg, always
from warpbank.program.isa import PT, Const, Imm, Instr, Kernel, Op, Reg, Space, Sreg
from warpbank.program.liveness import Live, mask_of

#: Special registers that all lanes of a warp read alike.
UNIFORM_SREGS = frozenset(
    {
        Sreg.CTAID_X,
        Sreg.CTAID_Y,
        Sreg.CTAID_Z,
        Sreg.WARPID,
        Sreg.NWARPID,
        Sreg.SMID,
        Sreg.NSMID,
        Sreg.GRIDID,
        Sreg.CLOCK,
        Sreg.CLOCK_HI,
        Sreg.GLOBALTIMER,
        Sreg.GLOBALTIMER_HI,
    }
)

#: Results that differ between lanes whatever the operands are.
_DIVERGENT_OPS = frozenset({Op.ATOM, Op.SHFL, Op.MATCH, Op.MMA})
#: Results that are the same in all executing lanes whatever the operands are.
_UNIFORM_OPS = frozenset({Op.VOTE, Op.ACTIVEMASK, Op.REDUX, Op.BAR})


class Divergence:
    """Divergence at every place of a kernel.

    Attributes
    ----------
    at_start : per block, the registers and predicates that may be divergent there.
    divergent_branches : blocks whose conditional branch may part the lanes, in layout order.
    regions : for each of them, its influence region.
    """

    def __init__(self, kernel: Kernel, cfg: Cfg | None = None) -> None:
        self.kernel = kernel
        self.cfg = cfg or Cfg(kernel)
        n = len(kernel.blocks)
        # What nobody wrote may be anything in each lane.
        registers = max(
            [255, *(r + 1 for i in kernel.instructions() for r in i.registers_read() + i.registers_written())]
        )
        predicates = max(
            [
                PT,
                *(p + 1 for i in kernel.instructions() for p in i.predicates_read() + i.predicates_written()),
            ]
        )
        self._undefined = Live((1 << registers) - 1, (1 << predicates) - 1)
        self.at_start = [Live(0, 0)] * n
        if n:
            self.at_start[0] = self._undefined
        self.divergent_branches: list[int] = []
        self.regions: dict[int, set[int]] = {}
        self._branches = set(self.cfg.branches())
        self._writes = [
            Live(
                mask_of(r for i in b.instrs for r in i.registers_written()),
                mask_of(p for i in b.instrs for p in i.predicates_written()),
            )
            for b in kernel.blocks
        ]
        self._meet: dict[int, Live] = {}  # reconvergence block -> what becomes divergent there
        work = list(self.cfg.order)
        while work:
            b = work.pop(0)
            state = self._after(b)
            targets = [s for s in self.cfg.successors[b] if s != self.cfg.exit]
            changed = self._check_branch(b, state)
            for s in changed + targets:
                new = self.at_start[s] | self._meet.get(s, Live(0, 0))
                if s in targets:
                    new = new | state
                if new != self.at_start[s]:
                    self.at_start[s] = new
                    if s not in work:
                        work.append(s)
        self.divergent_branches.sort()

    def _after(self, block: int) -> Live:
        state = self.at_start[block]
        for instr in self.kernel.blocks[block].instrs:
            state = step(instr, state)
        return state

    def _check_branch(self, block: int, state: Live) -> list[int]:
        """Note a branch found divergent; the block whose start changes by it, if any."""
        if block not in self._branches or block in self.regions:
            return []
        guard = self.kernel.blocks[block].instrs[-1].guard
        assert guard is not None
        if guard.index == PT or not state.predicates >> guard.index & 1:
            return []
        self.divergent_branches.append(block)
        region = self.regions[block] = self.cfg.region(block)
        meeting = self.cfg.reconvergence_block(block)
        if meeting is None:
            return []
        brought = self._meet.get(meeting, Live(0, 0))
        for b in sorted(region):
            brought = brought | self._writes[b]
        self._meet[meeting] = brought
        return [meeting]

    def before(self, block: int) -> list[Live]:
        """Divergent registers and predicates before each instruction of a block."""
        found, state = [], self.at_start[block]
        for instr in self.kernel.blocks[block].instrs:
            found.append(state)
            state = step(instr, state)
        return found


def divergent_result(instr: Instr, state: Live) -> bool:
    """Whether an instruction's results may differ between the lanes that execute it."""
    if instr.op in _UNIFORM_OPS:
        return False
    if instr.op in _DIVERGENT_OPS:
        return True
    if instr.op is Op.S2R:
        return instr.aux not in UNIFORM_SREGS
    if instr.op is Op.LD and instr.space is not Space.CONST:
        return True
    for s in instr.srcs:
        if isinstance(s, (Imm, Const)):
            continue
        assert isinstance(s, Reg)
        if any(state.registers >> r & 1 for r in range(s.index, s.index + s.width)) and s.index != 255:
            return True
    return any(q.index != PT and state.predicates >> q.index & 1 for q in instr.psrc)


def step(instr: Instr, state: Live) -> Live:
    """Transfer function of divergence, from before an instruction to after it."""
    registers, predicates = mask_of(instr.registers_written()), mask_of(instr.predicates_written())
    if not registers and not predicates:
        return state
    guarded = not always(instr)
    guard = instr.guard
    split = guarded and guard is not None and guard.index != PT and state.predicates >> guard.index & 1
    if split or divergent_result(instr, state):
        return Live(state.registers | registers, state.predicates | predicates)
    if guarded:
        return state  # either all lanes write or none does: divergent only if it was
    return Live(state.registers & ~registers, state.predicates & ~predicates)
