"""Release flags: the five shapes of control flow of the paper's Fig. 4, and random graphs on a SIMT
machine."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.random_kernels import random_kernel
from tests.program.test_simt_liveness import Violation, Warp
from tests.thinned import examples
from warpbank.arch.uop import RZ
from warpbank.program.cfg import Cfg, always
from warpbank.program.isa import Block, DType, Imm, Instr, Kernel, Op, Pred, Reg, Source, Space, Sreg
from warpbank.program.liveness import mask_of, members
from warpbank.program.release.flags import Flags, operands, release_flags
from warpbank.program.simt_liveness import SimtLiveness


def kernel(**blocks: list[Instr]) -> Kernel:
    """Allocated code; the first block is given R0 = the thread's index and P0 = R0 < 7, which parts the
    lanes."""
    code = [Block(label, list(instrs)) for label, instrs in blocks.items()]
    code[0].instrs[:0] = [
        Instr(Op.S2R, dst=Reg(0), aux=int(Sreg.TID_X)),
        Instr(Op.ISETP, srcs=(Reg(0), Imm(7)), pdst=(0,)),
    ]
    return Kernel("k", code, {}, 1, registers=16)


def add(d: int, *sources: int | Source) -> Instr:
    """d = sum of registers or of other operands."""
    return Instr(Op.IADD, dst=Reg(d), srcs=tuple(Reg(s) if isinstance(s, int) else s for s in sources))


def store(r: int, guard: Pred | None = None) -> Instr:
    return Instr(Op.ST, srcs=(Imm(0), Reg(r)), space=Space.SHARED, guard=guard)


#: Differs between lanes, if P0 is not changed.
PARTING = Pred(0)


def branch(target: str, guard: Pred | None = PARTING) -> Instr:
    return Instr(Op.BRA, target=target, guard=guard)


def released(flags: Flags, code: Kernel) -> dict[str, list[int]]:
    """Registers released by operand flags and by pbr, per label."""
    found: dict[str, list[int]] = {}
    pc = 0
    for block, pbr in zip(code.blocks, flags.pbr, strict=True):
        reads: set[int] = set()
        for instr in block.instrs:
            reads |= {r for k, r in enumerate(instr.registers_read()) if flags.dead[pc] >> k & 1}
            pc += 1
        if reads:
            found[block.label] = sorted(reads)
        if pbr:
            found[f"start of {block.label}"] = list(members(pbr))
    return found


EXIT = Instr(Op.EXIT)


def test_fig4a_inside_a_block() -> None:
    """Every value is released at its last read, unless the same instruction writes the register."""
    code = kernel(A=[add(1, 0, Imm(1)), add(2, 0, 1), add(1, 2, 2), add(1, 1, Imm(3)), store(1), EXIT])
    flags = release_flags(code)
    assert flags.dead.tolist() == [0, 0, 0, 0b11, 0b1, 0, 0b1, 0]
    assert flags.pir.tolist() == [
        0,
        0,
        0,
        0b11,
        0b11,
        0,
        0b1,
        0,
    ]  # R2 is two operands and one source; the store's is its first
    assert flags.pbr == (0,)
    assert flags.held[4] == 0b110  # reads R2, writes R1


def sides(first: list[Instr], second: list[Instr], guard: Pred | None = PARTING) -> Kernel:
    return kernel(
        A=[add(1, 0, Imm(1)), branch("C", guard)], B=[*first, branch("D", None)], C=second, D=[store(5), EXIT]
    )


def test_fig4b_a_value_read_on_both_sides_is_released_where_they_meet() -> None:
    code = sides([add(5, 1, Imm(1))], [add(5, 1, Imm(2))])
    assert released(release_flags(code), code) == {"A": [0], "start of D": [1], "D": [5]}


def test_a_value_read_on_one_side_is_released_there_and_where_they_meet() -> None:
    """The other side's lanes do not read it; but its own start may not release it, since the first side may
    not have run yet."""
    code = sides([add(5, 1, Imm(1))], [add(5, Imm(3), Imm(2))])
    assert released(release_flags(code), code) == {"A": [0], "B": [1], "start of D": [1], "D": [5]}


def test_the_sides_of_a_uniform_branch_are_paths() -> None:
    """All lanes go one way: what only one side reads is released at the start of the other."""
    code = sides([add(5, 1, Imm(1))], [add(5, Imm(3), Imm(2))])
    code.blocks[0].instrs[0].aux = int(Sreg.CTAID_X)
    assert released(release_flags(code), code) == {"A": [0], "B": [1], "start of C": [1], "D": [5]}


def test_lanes_parked_at_a_barrier_keep_their_registers() -> None:
    """B's lanes may wait at the barrier while the others run on behind D: what is read after it, or from
    where the sides begin or meet, is released nowhere."""
    code = sides([Instr(Op.BAR), add(5, 1, Imm(1))], [add(5, Imm(3), Imm(2))])
    assert released(release_flags(code), code) == {"A": [0]}


def test_fig4c_nested_sides() -> None:
    """R1 is read inside both: released where the outer sides meet. R2 is read by the inner sides only: where
    those meet."""
    code = kernel(
        A=[add(1, 0, Imm(1)), branch("F")],
        B=[add(2, 0, Imm(1)), Instr(Op.ISETP, srcs=(Reg(0), Imm(3)), pdst=(1,)), branch("D", Pred(1))],
        C=[add(5, 1, 2), branch("E", None)],
        D=[add(5, 2, Imm(1))],
        E=[add(5, 5, 5), branch("G", None)],
        F=[add(5, 1, Imm(1))],
        G=[store(5), EXIT],
    )
    assert released(release_flags(code), code) == {
        "B": [0],
        "start of E": [2],
        "start of G": [0, 1],
        "G": [5],
    }


def loop(body: list[Instr]) -> Kernel:
    """R4 counts the rounds of each lane; the lanes leave in different rounds."""
    return kernel(
        A=[add(1, Imm(1), Imm(1)), add(4, 0, Imm(1))],
        B=[
            *body,
            add(4, 4, Imm(-1 & 0xFFFFFFFF)),
            Instr(Op.ISETP, srcs=(Reg(4), Imm(0)), pdst=(0,)),
            branch("B"),
        ],
        C=[EXIT],
        D=[EXIT],
    )


def test_fig4d_a_value_of_another_iteration_is_released_behind_the_loop() -> None:
    code = loop([add(1, 1, 4), store(1)])
    code.blocks[2].instrs.insert(0, store(0))
    assert released(release_flags(code), code) == {"start of C": [1, 4], "C": [0]}


def test_fig4e_a_value_of_one_iteration_is_released_inside_the_loop() -> None:
    code = loop([add(2, 4, 1), store(2)])
    assert released(release_flags(code), code)["B"] == [2]
    assert "start of B" not in released(release_flags(code), code)
    code = loop([add(2, 4, 1), store(2), add(1, 1, 4)])  # R1 is read again in the next iteration
    assert released(release_flags(code), code)["B"] == [2]


def test_a_result_that_nobody_reads_is_released_at_the_next_block() -> None:
    code = kernel(A=[Instr(Op.IMULW, dst=Reg(2, 2), srcs=(Reg(0), Imm(5))), store(2)], B=[store(0), EXIT])
    assert released(release_flags(code), code) == {"A": [2], "start of B": [3], "B": [0]}


def test_a_guarded_read_need_not_happen() -> None:
    code = kernel(A=[add(1, 0, Imm(1)), store(1, Pred(0))], B=[store(0), EXIT])
    assert released(release_flags(code), code) == {"A": [1], "start of B": [1], "B": [0]}


def test_an_operand_is_released_as_a_whole() -> None:
    """A pair with one word that lives on has no flag; the fourth operand never has one."""
    pair = Reg(2, 2)
    code = kernel(
        A=[
            Instr(Op.IMULW, dst=pair, srcs=(Reg(0), Imm(5))),
            Instr(Op.ST, srcs=(pair, Reg(0)), space=Space.GLOBAL),
            store(3),
        ],
        B=[add(4, Imm(1), Imm(1)), add(5, 4, Imm(1)), add(6, 5, Imm(1)), add(7, 6, Imm(1))],
        C=[Instr(Op.BFI, dst=Reg(8), srcs=(Reg(4), Reg(5), Reg(6), Reg(7)), dtype=DType.U32)],
        D=[store(8), EXIT],
    )
    flags = release_flags(code)
    assert [str(o) for o in operands(code.instructions()[-3])] == ["R4", "R5", "R6"]
    assert released(flags, code) == {
        "A": [0, 3],
        "start of B": [2],
        "C": [4, 5, 6],
        "start of D": [7],
        "D": [8],
    }
    assert operands(Instr(Op.ST, srcs=(Reg(RZ), Reg(1)))) == [Reg(1)]


def test_a_block_that_only_ends_the_warp_releases_nothing() -> None:
    code = kernel(A=[add(1, 0, Imm(1)), store(1, Pred(0))], B=[EXIT])
    assert release_flags(code).pbr == (0, 0)


def test_a_block_that_ends_the_warp_for_some_lanes_releases_for_the_others() -> None:
    code = kernel(A=[add(1, 0, Imm(1))], B=[Instr(Op.EXIT, guard=PARTING), store(0), EXIT])
    assert released(release_flags(code), code) == {"start of B": [1], "B": [0]}


def test_an_empty_block_releases_nothing() -> None:
    code = kernel(A=[add(1, 0, Imm(1))], B=[], C=[store(0), EXIT])
    assert released(release_flags(code), code) == {"start of C": [1], "C": [0]}


def test_an_operand_that_the_instruction_overwrites_is_not_released() -> None:
    """Nobody reads the result: it takes the operand's place, and goes where the next block starts."""
    code = kernel(A=[add(1, 0, Imm(1)), add(1, 1, Imm(3))], B=[store(0), EXIT])
    assert released(release_flags(code), code) == {"start of B": [1], "B": [0]}
    assert release_flags(code).pir.tolist() == [0, 0, 0, 0, 1, 0]


def test_what_an_iteration_leaves_is_held_in_the_next_one() -> None:
    code = loop([store(3), add(3, 4, 1)])
    assert [held >> 3 & 1 for held in release_flags(code).held] == [0] * 4 + [1] * 6 + [0]


def test_code_that_is_not_reached_holds_nothing() -> None:
    code = kernel(A=[EXIT], B=[add(1, 0, Imm(1)), store(1), EXIT])
    assert release_flags(code).held == (1, 1, 0, 0, 0, 0)


def test_registers_that_are_not_renamed_have_no_flags() -> None:
    code = sides([add(5, 1, Imm(1))], [add(5, 1, Imm(2))])
    flags = release_flags(code, exempt=mask_of([1, 5]))
    assert released(flags, code) == {"A": [0]}
    assert not any(held & mask_of([1, 5]) for held in flags.held)


def test_what_is_held_flows_along_every_edge() -> None:
    """What is allocated behind a block is held, or released, where each of its successors begins."""
    for seed in range(60):
        code = random_kernel(seed, blocks=8, length=3, groups=5, predicates=3)
        flags, cfg, instrs = release_flags(code), Cfg(code), code.instructions()
        for b in cfg.order:
            if cfg.starts[b] == cfg.starts[b + 1]:
                continue
            last = cfg.starts[b + 1] - 1
            instr, allocated = instrs[last], flags.held[last]
            if always(instr):
                read = instr.registers_read()
                allocated &= ~mask_of(r for k, r in enumerate(read) if flags.dead[last] >> k & 1)
            allocated |= mask_of(instr.registers_written())
            for s in cfg.successors[b]:
                if s != cfg.exit and cfg.starts[s] < cfg.starts[s + 1]:
                    begins = flags.held[cfg.starts[s]] | flags.pbr[s]
                    if instrs[cfg.starts[s]].op is not Op.EXIT:
                        assert not allocated & ~begins, (seed, b, s)


class Renamed(Warp):
    """A warp that loses what the flags release, in every lane that has not exited; any side of a branch may
    run first."""

    def __init__(self, kernel: Kernel, flags: Flags, seed: int) -> None:
        super().__init__(kernel, SimtLiveness(kernel), seed)
        self.flags = flags

    def lose(self, registers: int) -> None:
        for n in range(len(self.lanes)):
            if n not in self.exited:
                self.poison_r[n] |= registers

    def enter(self, block: int) -> None:
        self.lose(self.flags.pbr[block])

    def declare_dead(self, block: int, i: int) -> None:
        pc = self.cfg.starts[block] + i
        read = self.kernel.blocks[block].instrs[i].registers_read()
        self.lose(mask_of(r for k, r in enumerate(read) if self.flags.dead[pc] >> k & 1))


def try_out(seed: int, runs: int = 4) -> int:
    rng = Random(seed)
    code = random_kernel(seed, blocks=8, length=5, groups=5, predicates=3, barriers=rng.choice((0.0, 0.1)))
    flags = release_flags(code)
    for n in range(runs):
        Renamed(code, flags, seed + n).run()
    return int(flags.dead.any()) + sum(map(bool, flags.pbr))


@settings(max_examples=examples(60, 20), deadline=None)
@given(st.integers(0, 10**9))
def test_no_lane_reads_what_was_released(seed: int) -> None:
    try_out(seed)


def test_the_random_kernels_have_flags() -> None:
    assert sum(try_out(seed, runs=1) for seed in range(30)) > 30


def caught(seeds: int = 300) -> bool:
    for seed in range(seeds):
        try:
            try_out(seed)
        except Violation:
            return True
    return False


def test_mutant_thread_liveness(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimtLiveness, "_wait_at", lambda self, branch, at_barriers: None)
    assert caught()
