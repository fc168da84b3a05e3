"""Value statistics: by hand, and against a slow count of lanes."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

import numpy as np
import pytest

from tests.program.release.replay import drawn
from tests.program.similarity.micro import ALL, Did, kernel, trace
from warpbank import workloads
from warpbank.program.isa import PT, Imm, Instr, Kernel, Op, Pred, Reg, Space, Sreg
from warpbank.program.runner import compile_job, trace_job
from warpbank.program.similarity.instructions import ALU, MEMORY, NONE, SFU, instructions, kind_of
from warpbank.program.similarity.statistics import Eligible, Similarity, Sizes, similarity
from warpbank.program.similarity.steps import active_lanes
from warpbank.program.trace.schema import Trace

LOW, HIGH = 0x0000FFFF, 0xFFFF0000


def add(d: int, a: int, b: int) -> Instr:
    return Instr(Op.IADD, dst=Reg(d), srcs=(Reg(a), Reg(b)))


def mov(d: int) -> Instr:
    """A value that does not come from registers."""
    return Instr(Op.LD, dst=Reg(d), srcs=(Imm(0),), space=Space.SHARED)


def measure(code: Kernel, *warps: list[Did], size: int = 32, exist: tuple[int, ...] = ()) -> Similarity:
    return similarity(trace(code, *warps, exist=exist), {"k": code}, size)


EXIT = Instr(Op.EXIT)
RAMP = tuple(range(32))


def test_classes_of_accesses() -> None:
    """Equal leading bytes of five results, and of their reads."""
    code = kernel(
        [
            *(mov(r) for r in range(5)),
            Instr(Op.FFMA, dst=Reg(5), srcs=(Reg(0), Reg(1), Reg(2))),
            add(6, 3, 4),
            EXIT,
        ]
    )
    values = [7, *([0x10203040 + (i << shift) for i in RAMP] for shift in (0, 8, 16, 24))]
    done = [Did(pc, ALL, (v,)) for pc, v in enumerate(values)]
    found = measure(code, [*done, Did(5, ALL, (RAMP,)), Did(6, ALL, (7,)), Did(7)])
    assert found.writes == (1, 1, 1, 2, 2, 0)  # none, 1, 2, 3 bytes, scalar, divergent
    assert found.reads == (1, 1, 1, 1, 1, 0)
    plain = 7 * 128
    bytewise = 2 * 4 + 2 * (3 + 32) + (2 + 64) + (1 + 96) + 128
    # Deltas of 0 to 31 in steps of 1 and 256 need 1 and 2 bytes; in steps of 65536 and 2**24 more.
    bdi = 2 * 4 + 2 * (4 + 32) + (4 + 64) + 2 * 128
    assert found.sizes == Sizes(plain, bytewise, found.sizes.parts, bdi)


def test_deltas_are_signed_and_wrap() -> None:
    """A sign change is one byte of delta, and no equal byte at all."""
    code = kernel([mov(0), EXIT])
    found = measure(code, [Did(0, ALL, ([i - 16 & 0xFFFFFFFF for i in RAMP],)), Did(1)])
    assert found.writes == (1, 0, 0, 0, 0, 0)
    assert found.sizes.bytewise == 128
    assert found.sizes.bdi == 4 + 32
    assert found.sizes.parts == 2 * (3 + 16)


@pytest.mark.parametrize(
    ("delta", "size"), [(127, 1), (128, 2), (-128, 1), (-129, 2), (32767, 2), (-32768, 2), (32768, 4)]
)
def test_width_of_a_delta(delta: int, size: int) -> None:
    code = kernel([mov(0), EXIT])
    found = measure(code, [Did(0, ALL, ([5, *[5 + delta & 0xFFFFFFFF] * 31],)), Did(1)])
    assert found.sizes.bdi == (128 if size == 4 else 4 + 32 * size)


def test_a_partial_warp_is_judged_by_its_lanes() -> None:
    code = kernel([mov(0), EXIT])
    values = [9] * 5 + [1, 2] * 13 + [3]
    found = measure(code, [Did(0, 0x1F, (values,)), Did(1, 0x1F)], exist=(0x1F,))
    assert (found.divergent, found.writes) == (0, (0, 0, 0, 0, 1, 0))
    assert found.sizes == Sizes(20, 4, 4, 4)


def test_eligible_by_class() -> None:
    """Scalar operands R0, R1; R2 differs."""
    code = kernel(
        [
            mov(0),
            mov(1),
            mov(2),
            add(3, 0, 1),
            add(4, 0, 2),  # ALU: yes, no
            Instr(Op.MUFU, dst=Reg(5), srcs=(Reg(0),)),
            Instr(Op.LD, dst=Reg(6), srcs=(Reg(0),)),
            Instr(Op.ST, srcs=(Reg(0), Reg(2))),  # no: the data differ
            Instr(Op.SHFL, dst=Reg(7), srcs=(Reg(0), Imm(1), Imm(31))),  # no: looks at other lanes
            Instr(Op.MOV, dst=Reg(8), srcs=(Imm(5),)),
            EXIT,
        ]
    )
    values: list[tuple[int | tuple[int, ...], ...]] = [
        (1,),
        (2,),
        (RAMP,),
        (3,),
        (RAMP,),
        (4,),
        (5,),
        (),
        (1,),
        (5,),
        (),
    ]
    found = measure(code, [Did(pc, ALL, v) for pc, v in enumerate(values)])
    # The three loads at the start and the MOV have no register operands.
    assert found.by_values == found.by_hardware == Eligible(alu=2, sfu=1, memory=4, part=0, divergent=0)
    assert (found.instructions, found.no_operands, found.divergent, found.idle) == (11, 4, 0, 0)


def test_half_scalar() -> None:
    """R0 is scalar in the upper half, R1 in each half, R2 in none."""
    code = kernel([mov(0), mov(1), mov(2), add(3, 0, 1), add(3, 1, 1), add(3, 1, 2), EXIT])
    lower, halves = [*range(16), *[7] * 16], [*[1] * 16, *[2] * 16]
    found = measure(
        code,
        [
            Did(0, ALL, (lower,)),
            Did(1, ALL, (halves,)),
            Did(2, ALL, (RAMP,)),
            Did(3, ALL, (RAMP,)),
            Did(4, ALL, (halves,)),
            Did(5, ALL, (RAMP,)),
            Did(6),
        ],
    )
    assert found.by_hardware == found.by_values == Eligible(0, 0, 3, 2, 0)


def test_fig7b_another_mask() -> None:
    """R2 is scalar on the lanes that wrote it, read by these, by others, by fewer, and by all."""
    code = kernel([mov(2), mov(2), *(add(1, 2, 2) for _ in range(4)), EXIT])
    mixed = [5] * 16 + list(range(16))
    found = measure(
        code,
        [
            Did(0, ALL, (mixed,)),
            Did(1, LOW, (7,)),
            Did(2, LOW, (14,)),
            Did(3, HIGH, (RAMP,)),
            Did(4, 0xFF, (14,)),
            Did(5, ALL, (RAMP,)),
            Did(6),
        ],
    )
    # By the values, the read of fewer lanes is scalar too; the hardware knows of the lanes that wrote.
    assert found.by_values == Eligible(0, 0, 1, 1, 1 + 2)
    assert found.by_hardware == Eligible(0, 0, 1, 0, 1 + 1)
    assert found.divergent == 4
    assert found.reads == (0, 0, 0, 1, 0, 3)
    assert found.writes == (0, 0, 0, 2, 0, 4)


def test_moves() -> None:
    """A divergent write of a register with an equal byte needs one; not if it was written by a divergent one,
    or has none."""
    code = kernel([mov(0), mov(1), *(mov(r) for r in (0, 0, 1, 0)), EXIT])
    different = [i << 24 for i in RAMP]
    done = [
        Did(0, ALL, (RAMP,)),
        Did(1, ALL, (different,)),
        Did(2, LOW, (1,)),
        Did(3, HIGH, (1,)),
        Did(4, LOW, (1,)),
        Did(5, ALL, (1,)),
        Did(6),
    ]
    assert measure(code, done).moves == 1
    assert measure(code, [*done[:-1], Did(2, LOW, (1,)), Did(6)]).moves == 2


def test_a_scalar_register_is_scalar_for_every_mask() -> None:
    code = kernel([mov(0), add(1, 0, 0), add(1, 0, 0), EXIT])
    found = measure(code, [Did(0, ALL, (3,)), Did(1, LOW, (6,)), Did(2, 0x10, (6,)), Did(3)])
    assert found.by_values.divergent == found.by_hardware.divergent == 2


def test_values_that_become_equal_again() -> None:
    """Two halves write the same value one after the other: equal, but the hardware does not know."""
    code = kernel([mov(0), mov(0), add(1, 0, 0), EXIT])
    found = measure(code, [Did(0, LOW, (3,)), Did(1, HIGH, (3,)), Did(2, ALL, (6,)), Did(3)])
    assert (found.by_values.alu, found.by_hardware.alu) == (1, 0)
    assert found.reads == (0, 0, 0, 0, 1, 0)


def test_predicates_are_operands() -> None:
    """A SEL of scalars is scalar if its predicate comes from scalars, which hardware does not know; a guard
    is only who runs."""
    compare = [Instr(Op.ISETP, srcs=(Reg(r), Imm(3)), pdst=(p,)) for r, p in ((0, 0), (1, 1))]
    choose = [Instr(Op.SEL, dst=Reg(2), srcs=(Reg(0), Imm(1)), psrc=(Pred(p),)) for p in (0, 1, PT)]
    guarded = Instr(Op.IADD, dst=Reg(2), srcs=(Reg(0), Imm(1)), guard=Pred(1))
    code = kernel([mov(0), mov(1), *compare, *choose, guarded, EXIT])
    done = [
        Did(0, ALL, (1,)),
        Did(1, ALL, (RAMP,)),
        Did(2),
        Did(3),
        Did(4, ALL, (1,)),
        Did(5, ALL, (RAMP,)),
        Did(6, ALL, (1,)),
        Did(7, LOW, (2,)),
        Did(8),
    ]
    found = measure(code, done)
    assert found.by_values == Eligible(3, 0, 2, 0, 1)
    assert found.by_hardware == Eligible(2, 0, 2, 0, 1)


def test_kinds() -> None:
    local = Instr(Op.LD, dst=Reg(0), srcs=(Reg(1),), space=Space.LOCAL)
    assert kind_of(local) == NONE
    assert kind_of(Instr(Op.S2R, dst=Reg(0), aux=int(Sreg.TID_X))) == NONE
    assert kind_of(Instr(Op.S2R, dst=Reg(0), aux=int(Sreg.CTAID_X))) == ALU
    assert kind_of(Instr(Op.MUFU, dst=Reg(0), srcs=(Reg(1),))) == SFU
    assert kind_of(Instr(Op.LD, dst=Reg(0), srcs=(Reg(1),))) == MEMORY
    assert [kind_of(Instr(op)) for op in (Op.BRA, Op.EXIT, Op.ATOM, Op.VOTE, Op.MMA, Op.BAR)] == [NONE] * 6


def test_lanes_of_branches() -> None:
    """A branch is as divergent as its block, however many lanes take it."""
    branch = Instr(Op.BRA, guard=Pred(0), target="B2")
    code = kernel([mov(0), branch], [mov(1), branch], [branch], [EXIT])
    done = [Did(0, ALL, (1,)), Did(1, HIGH), Did(2, LOW, (1,)), Did(3, 0), Did(4, 0), Did(5)]
    made = trace(code, done)
    assert active_lanes(made, instructions({"k": code})).tolist() == [ALL, ALL, LOW, LOW, LOW, ALL]
    assert similarity(made, {"k": code}).divergent == 3
    assert similarity(made, {"k": code}).idle == 0


def test_an_instruction_that_no_lane_runs() -> None:
    code = kernel([mov(0), Instr(Op.IADD, dst=Reg(0), srcs=(Reg(0), Imm(1)), guard=Pred(0)), EXIT])
    found = measure(code, [Did(0, ALL, (1,)), Did(1, 0), Did(2)])
    assert (found.instructions, found.idle, found.divergent, sum(found.reads)) == (3, 1, 0, 0)


def test_warps_of_64_threads() -> None:
    """Each warp's R0 is scalar; together they are only so by quarters. The second warp lacks eight lanes."""
    code = kernel([mov(0), add(1, 0, 0), EXIT])
    rest = 0x00FFFFFF
    warps = (
        [Did(0, ALL, (3,)), Did(1, ALL, (6,)), Did(2)],
        [Did(0, rest, (4,)), Did(1, rest, (8,)), Did(2, rest)],
    )
    found = measure(code, *warps, size=64, exist=(ALL, rest))
    assert (found.instructions, found.divergent) == (3, 0)
    assert found.by_values == found.by_hardware == Eligible(0, 0, 1, 1, 0)
    assert found.writes == (0, 0, 0, 2, 0, 0)
    assert found.sizes == Sizes(2 * 224, 2 * (3 + 56), 2 * 16, 2 * (4 + 56))
    assert measure(code, *warps, exist=(ALL, rest)).by_values == Eligible(2, 0, 2, 0, 0)


def slowly(trace: Trace, kernels: dict[str, Kernel]) -> tuple[Eligible, Eligible, list[int], list[int], int]:
    """by_values, by_hardware, reads, writes and divergent of a trace, lane by lane in plain Python."""
    code = [i for k in kernels.values() for i in k.instructions()]
    lanes_at = active_lanes(trace, instructions(kernels))
    counts, reads, writes, divergent = (Counter[str](), Counter[str]()), [0] * 6, [0] * 6, 0
    for warp in trace.warps:
        value = np.zeros((256, 32), np.uint32)
        with_metadata: dict[
            int, tuple[int, list[bool]]
        ] = {}  # who wrote last, and whether each half and the whole is scalar
        exact: dict[int, tuple[int, list[bool]]] = {}
        exist = int(warp["mask"])
        for at in range(int(warp["first"]), int(warp["first"] + warp["length"])):
            row, instr = trace.dynamic[at], code[trace.dynamic["pc"][at]]
            mask = int(row["mask"])
            apart = int(lanes_at[at]) != exist
            divergent += apart and lanes_at[at] != 0
            if not mask:
                continue
            groups = [mask & 0xFFFF, mask & 0xFFFF0000, mask]
            by_values = [exist & g != 0 for g in (0xFFFF, 0xFFFF0000, ALL)]
            known = list(by_values)

            def equal(r: int, lanes: int, value: np.ndarray = value) -> bool:
                return lanes != 0 and len({int(value[r, n]) for n in range(32) if lanes >> n & 1}) == 1

            def bytes_of(r: int, lanes: int, value: np.ndarray = value) -> int:
                same = [
                    len({int(value[r, n]) >> shift for n in range(32) if lanes >> n & 1}) == 1
                    for shift in (24, 16, 8, 0)
                ]
                return sum(same)

            for r in instr.registers_read():
                by_values = [b and equal(r, g) for b, g in zip(by_values, groups, strict=True)]
                writer, how = with_metadata.get(r, (0, [False] * 3))
                usable = (
                    how if writer == mask == exist else [False, False, how[2] and writer in (mask, exist)]
                )
                known = [a and b for a, b in zip(known, usable, strict=True)]
                reads[5 if apart else bytes_of(r, mask)] += 1
            for p in [q.index for q in instr.psrc if q.index != PT]:
                writer, how = exact.get(p, (0, [False] * 3))
                by_values = [a and b and not mask & ~writer for a, b in zip(by_values, how, strict=True)]
                known = [False] * 3
            kind = ("none", "alu", "sfu", "memory")[kind_of(instr)]
            for count, how in zip(counts, (by_values, known), strict=True):
                if kind != "none" and how[2]:
                    count["divergent" if apart else kind] += 1
                elif kind != "none" and not apart and any(how[:2]):
                    count["part"] += 1
            for k, r in enumerate(instr.registers_written()):
                for n in range(32):
                    if mask >> n & 1:
                        value[r, n] = trace.values[int(row["value"]) + k, n]
                with_metadata[r] = mask, [equal(r, g) for g in groups]
                writes[5 if apart else bytes_of(r, mask)] += 1
            for p in instr.predicates_written():
                exact[p] = mask, [b and kind != "none" for b in by_values]
    names = list(asdict(Eligible(0, 0, 0, 0, 0)))
    first, second = (Eligible(*(count[name] for name in names)) for count in counts)
    return first, second, reads, writes, divergent


def agree(made: Trace, kernels: dict[str, Kernel]) -> Similarity:
    found = similarity(made, kernels)
    expected = slowly(made, kernels)
    assert (
        found.by_values,
        found.by_hardware,
        list(found.reads),
        list(found.writes),
        found.divergent,
    ) == expected
    return found


@pytest.mark.parametrize("seed", range(6))
def test_random_programs_against_a_slow_count(seed: int) -> None:
    kernels, made = drawn(seed)
    agree(made, kernels)


@pytest.mark.parametrize("name", ["backprop", "lud", "btree", "mri_q"])
def test_kernels_against_a_slow_count(name: str) -> None:
    job = workloads.get(name).job("tiny")
    found = agree(trace_job(job), compile_job(job))
    assert found.by_values.total >= found.by_hardware.total > 0


def test_another_warp_size_is_refused() -> None:
    code = kernel([EXIT])
    with pytest.raises(ValueError, match="choose 32 or 64"):
        measure(code, [Did(0)], size=16)
