"""Allocation: the symbolic check on random machine code and on the shipped kernels, and what a broken
allocator looks like."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.random_kernels import random_kernel, same_behaviour
from warpbank import workloads
from warpbank.program.allocation import (
    allocate,
    allocate_with_report,
    allocator,
    colouring,
    interference,
    spilling,
)
from warpbank.program.allocation.check import AllocationError, check_allocation
from warpbank.program.allocation.work import Work, joined_groups, recipes
from warpbank.program.errors import WarpbankError
from warpbank.program.isa import (
    PT,
    RZ,
    Block,
    Cmp,
    Const,
    DType,
    Imm,
    Instr,
    Kernel,
    Op,
    Pred,
    Reg,
    Space,
    Sreg,
)
from warpbank.program.liveness import Backward
from warpbank.program.lowering import lower
from warpbank.program.ptx.parser import parse
from warpbank.program.verify import verify

LIMITS = (16, 24, 32, 255)


def straight(kernel: Kernel, *instrs: Instr) -> Kernel:
    kernel.blocks = [Block("B0", [*instrs, Instr(Op.EXIT)])]
    return kernel


def fresh() -> Kernel:
    return Kernel("k", [], {}, 0)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10**9),
    st.sampled_from(LIMITS),
    st.sampled_from([6, 12, 24, 40]),
    st.sampled_from([6, 20]),
    st.sampled_from([3, 14]),
)
def test_random_code_means_the_same(seed, limit, groups, length, predicates):
    kernel = random_kernel(seed, groups=groups, length=length, predicates=predicates)
    before = [i.copy() for i in kernel.instructions()]
    result, report = allocate_with_report(kernel, limit)
    assert kernel.instructions() == before  # the source is left alone
    assert result.allocated
    assert result.registers <= limit
    assert result.predicates <= 7
    check_allocation(kernel, result, report)
    same_behaviour(kernel, result)
    again, _ = allocate_with_report(kernel, limit)
    assert again.instructions() == result.instructions()


def test_a_packed_pair_takes_its_words_in_and_every_move_goes():
    k = fresh()
    a, b, pair, low = k.new_register(), k.new_register(), k.new_register(2), k.new_register()
    straight(
        k,
        Instr(Op.S2R, dst=a),
        Instr(Op.IADD, dst=b, srcs=(a, Imm(1))),
        Instr(Op.MOV, dst=pair.word(0), srcs=(a,)),
        Instr(Op.MOV, dst=pair.word(1), srcs=(b,)),
        Instr(Op.ST, srcs=(Imm(0), pair), size=8),
        Instr(Op.MOV, dst=low, srcs=(pair.word(1),)),
        Instr(Op.ST, srcs=(Imm(0), low)),
    )
    result, report = allocate_with_report(k)
    assert (result.registers, report.moves_coalesced) == (2, 3)
    assert [i.op for i in result.instructions()] == [Op.S2R, Op.IADD, Op.ST, Op.ST, Op.EXIT]


@pytest.mark.parametrize(
    ("move", "whether"),
    [
        (Instr(Op.MOV, dst=Reg(1), srcs=(Reg(2),)), True),
        (Instr(Op.MOV, dst=Reg(1), srcs=(Reg(2),), guard=Pred(PT)), True),
        (Instr(Op.MOV, dst=Reg(1), srcs=(Reg(2),), guard=Pred(0)), False),
        (Instr(Op.MOV, dst=Reg(2, 2), srcs=(Reg(4, 2),)), True),
        (Instr(Op.MOV, dst=Reg(2, 2), srcs=(Reg(4),)), False),
        (Instr(Op.MOV, dst=Reg(RZ), srcs=(Reg(2),)), False),
        (Instr(Op.MOV, dst=Reg(1), srcs=(Reg(RZ),)), False),
        (Instr(Op.MOV, dst=Reg(1), srcs=(Imm(2),)), False),
        (Instr(Op.IADD, dst=Reg(1), srcs=(Reg(2), Reg(3))), False),
    ],
)
def test_a_move_copies_one_register_into_another_in_all_lanes(move, whether):
    assert interference.is_move(move) is whether


def test_mma_accumulators_stay_in_place():
    k = fresh()
    a, b = k.new_register(), k.new_register()
    c = [k.new_register(2) for _ in range(4)]
    words = [k.new_register() for _ in range(8)]
    code = [Instr(Op.S2R, dst=a), Instr(Op.S2R, dst=b), Instr(Op.LD, dst=c[0], srcs=(Imm(0),), size=8)]
    for i in range(3):  # d = a * b + c, unpacked and packed again, as PTX has it
        code.append(Instr(Op.MMA, DType.F16, dst=c[i + 1], srcs=(a, b, c[i]), aux=8))
        for w in (0, 1):
            code.append(Instr(Op.MOV, dst=words[2 * i + w], srcs=(c[i + 1].word(w),)))
            code.append(Instr(Op.MOV, dst=c[i + 1].word(w), srcs=(words[2 * i + w],)))
    code.append(Instr(Op.ST, srcs=(Imm(0), c[3]), size=8))
    result, report = allocate_with_report(straight(k, *code))
    assert report.moves_coalesced == 12
    assert result.registers == 4


def test_undefined_reads_are_allowed_and_cost_nothing():
    k = fresh()
    a, b = k.new_register(), k.new_register(4)
    result, _ = allocate_with_report(
        straight(k, Instr(Op.ST, srcs=(Imm(0), b), size=16), Instr(Op.ST, srcs=(Imm(0), a)))
    )
    assert result.registers == 4


def test_guarded_definition_of_a_spilled_register_stores_under_its_guard():
    k = fresh()
    p = k.new_predicate()
    kept = k.new_register()
    many = [k.new_register() for _ in range(16)]
    result, report = allocate_with_report(
        straight(
            k,
            Instr(Op.LD, dst=kept, srcs=(Imm(0),)),
            Instr(Op.ISETP, srcs=(kept, Imm(5)), pdst=(p,), cmp=Cmp.LT),
            Instr(Op.IADD, dst=kept, srcs=(kept, Imm(1)), guard=Pred(p, True)),
            *(Instr(Op.LD, dst=r, srcs=(Imm(0),), offset=4 * i) for i, r in enumerate(many)),
            *(Instr(Op.ST, srcs=(Imm(0), r)) for _ in range(5) for r in many),
            Instr(Op.ST, srcs=(Imm(0), kept)),
        ),
        16,
    )
    check_allocation(k, result, report)
    stores = [i for i in result.instructions() if i.op is Op.ST and i.space is Space.LOCAL]
    assert [str(i.guard) for i in stores if i.guard] == ["!P0"]
    assert result.local_bytes == 4 == report.spill_bytes


def test_constants_and_special_registers_are_computed_again_instead_of_spilled():
    k = fresh()
    many = [k.new_register() for _ in range(24)]
    result, report = allocate_with_report(
        straight(
            k,
            *(Instr(Op.MOV, dst=r, srcs=(Imm(i),)) for i, r in enumerate(many[:-1])),
            Instr(Op.S2R, dst=many[-1]),
            *(Instr(Op.ST, srcs=(Imm(0), r)) for r in many),
        ),
        16,
    )
    check_allocation(k, result, report)
    assert report.rematerialized > 0
    assert (report.spill_loads, report.spill_stores, result.local_bytes) == (0, 0, 0)


def test_a_copy_of_a_spilled_wide_constant_is_computed_in_its_place():
    k = fresh()
    constant, copy = k.new_register(2), k.new_register(2)
    many = [k.new_register() for _ in range(16)]
    result, report = allocate_with_report(
        straight(
            k,
            Instr(Op.MOV, dst=constant, srcs=(Imm(7 << 32 | 5, 2),)),
            *(Instr(Op.LD, dst=r, srcs=(Imm(0),), offset=4 * i) for i, r in enumerate(many)),
            *(Instr(Op.ST, srcs=(Imm(0), r)) for _ in range(5) for r in many),
            Instr(Op.MOV, dst=copy, srcs=(constant,)),
            Instr(Op.IADD, dst=copy.word(0), srcs=(copy.word(0), Imm(1))),
            *(Instr(Op.ST, srcs=(Imm(0), copy), size=8) for _ in range(20)),
            Instr(Op.ST, srcs=(Imm(0), constant), size=8),
        ),
        16,
    )
    check_allocation(k, result, report)
    assert report.rematerialized == 1
    words = [(i.dst.index % 2, i.srcs[0].value) for i in result.instructions() if i.op is Op.MOV]
    assert words == [(0, 5), (1, 7)] * 2


def test_a_wide_constant_is_computed_again_word_by_word():
    k = fresh()
    pair = k.new_register(2)
    assert recipes(Instr(Op.MOV, dst=pair, srcs=(Imm(7 << 32 | 5, 2),))) == [Imm(5), Imm(7)]
    assert recipes(Instr(Op.MOV, dst=pair, srcs=(Const(16, 2),))) == [Const(16), Const(20)]
    assert recipes(Instr(Op.MOV, dst=pair, srcs=(Imm(5, 2),), guard=Pred(0))) is None


@pytest.mark.parametrize(
    "instr",
    [
        Instr(Op.S2R, dst=Reg(0), aux=Sreg.CLOCK),
        Instr(Op.S2R, dst=Reg(0), aux=Sreg.TID_X, volatile=True),
        Instr(Op.MOV, dst=Reg(0), srcs=(Imm(1),), pdst=(0,)),
        Instr(Op.S2R, aux=Sreg.TID_X),
        Instr(Op.IADD, dst=Reg(0), srcs=(Imm(1), Imm(2))),
        Instr(Op.MOV, dst=Reg(0), srcs=(Reg(1),)),
    ],
)
def test_what_changes_or_is_no_constant_is_not_computed_again(instr):
    assert recipes(instr) is None


def test_more_than_seven_predicates_go_through_registers():
    k = fresh()
    tests = [k.new_predicate() for _ in range(12)]
    x = k.new_register()
    result, report = allocate_with_report(
        straight(
            k,
            Instr(Op.LD, dst=x, srcs=(Imm(0),)),
            *(Instr(Op.ISETP, srcs=(x, Imm(i)), pdst=(p,), cmp=Cmp.LT) for i, p in enumerate(tests)),
            *(Instr(Op.ST, srcs=(Imm(0), Imm(i)), guard=Pred(p)) for i, p in enumerate(tests)),
        )
    )
    check_allocation(k, result, report)
    same_behaviour(k, result)
    assert result.predicates == 7
    assert report.spilled_predicates >= 5


def test_a_kernel_without_registers_and_predicates_needs_none():
    result = allocate(straight(fresh()))
    assert (result.registers, result.predicates) == (0, 0)


def test_the_search_for_the_fewest_registers_leaves_no_number_out():
    assert allocate(random_kernel(8, groups=24, length=6)).registers == 24


def test_a_group_that_only_unspillable_ones_are_in_the_way_of_is_spilled():
    _, report = allocate_with_report(random_kernel(66, groups=40, length=20), 16)
    assert (report.rounds, report.spill_loads, report.spill_stores) == (4, 15, 14)


class StuckAtFirst(colouring.Colourer):
    """Colouring in which an unspillable group finds no place unless it is served first."""

    def run(self):
        result = super().run()
        if not self.first:
            result.stuck.append(result.places.popitem()[0])
        return result


def test_a_stuck_group_is_served_first_in_the_next_attempt(monkeypatch):
    """The search for fewer registers, which serves none first, finds nothing then."""
    kernel = random_kernel(8, groups=24, length=6)
    monkeypatch.setattr(allocator, "Colourer", StuckAtFirst)
    result, report = allocate_with_report(kernel)
    check_allocation(kernel, result, report)
    assert report.rounds == 1


def test_inserted_instructions_have_the_origin_that_the_report_promises():
    kernel = random_kernel(5, groups=40, length=20, predicates=14)
    _, report = allocate_with_report(kernel, 16)
    assert report.spilled_predicates
    assert report.spill_loads
    assert report.spill_stores
    assert {o for origins in report.origins for o in origins if o < 0} == {-1}


def test_what_cannot_be_is_refused():
    with pytest.raises(WarpbankError, match="max_registers is 15"):
        allocate(straight(fresh()), 15)
    k = fresh()
    sources = tuple(k.new_register(4) for _ in range(5))
    loads = [Instr(Op.LD, dst=s, srcs=(Imm(0),), size=16) for s in sources]
    monster = Instr(Op.IADD, dst=k.new_register(), srcs=sources, line=7)
    with pytest.raises(WarpbankError, match="IADD at line 7 needs 20 registers at once"):
        allocate(straight(k, *loads, monster), 16)
    assert allocate(k, 24).registers == 20


def test_what_is_refused_is_the_first_instruction_with_most_registers_that_uses_the_group():
    k = fresh()
    written, read, other = k.new_register(4), k.new_register(4), k.new_register(4)
    code = straight(
        k,
        Instr(Op.LD, dst=written, srcs=(Imm(0),), size=16, line=3),
        Instr(Op.ST, srcs=(other, other.word(0), read.word(0)), line=4),
        Instr(Op.ST, srcs=(read, other.word(0)), line=5),
        Instr(Op.ST, srcs=(read, other.word(1)), line=6),
        Instr(Op.ST, srcs=(other, written.word(0)), line=7),
        Instr(Op.ST, srcs=(other, Reg(written.index + 4)), line=8),
    )
    work = Work(code, 16)
    assert "ST at line 4 needs 5 registers" in allocator._too_many(work, read.index)
    assert "ST at line 7 needs 5 registers" in allocator._too_many(work, written.index)
    code.blocks[0].instrs = code.blocks[0].instrs[:3]
    assert "LD at line 3 needs 4 registers" in allocator._too_many(Work(code, 16), written.index)


# ---- tests of the tests


def caught(limit: int = 16, seeds: int = 40) -> bool:
    """Whether the check finds fault with some allocation of random code."""
    for seed in range(seeds):
        kernel = random_kernel(seed, groups=24, length=12, predicates=6)
        try:
            check_allocation(kernel, *allocate_with_report(kernel, limit))
        except AllocationError:
            return True
    return False


def test_the_allocator_as_it_is_passes():
    assert not caught()


def test_mutant_guarded_writes_kill(monkeypatch):
    step = Backward.step

    def broken(self, instr):
        self.registers &= ~sum(1 << r for r in instr.registers_written())
        step(self, instr)

    monkeypatch.setattr(Backward, "step", broken)
    assert caught(32)


def test_mutant_partial_write_kills_the_whole_group(monkeypatch):
    step = Backward.step

    def broken(self, instr):
        if instr.dst is not None:
            self.registers &= ~(3 << (instr.dst.index & ~1))
        step(self, instr)

    monkeypatch.setattr(Backward, "step", broken)
    assert caught(32)


def test_mutant_guarded_copies_do_not_interfere(monkeypatch):
    def broken(instr):  # a guarded copy is none: the other lanes keep the old value
        s = instr.srcs[0] if instr.op is Op.MOV else None
        return isinstance(s, Reg) and s.width == instr.dst.width

    monkeypatch.setattr(interference, "is_move", broken)
    assert caught(32, 400)


def test_mutant_stores_ignore_the_guard(monkeypatch):
    local = spilling._Rewriter._rewrite

    def broken(self, instr, origin, clusters):
        start = len(self.instrs)
        local(self, instr, origin, clusters)
        for made, o in zip(self.instrs[start:], self.origins[start:], strict=True):
            if o < 0 and made.op is Op.ST:
                made.guard = None

    monkeypatch.setattr(spilling._Rewriter, "_rewrite", broken)
    assert caught()


def test_mutant_own_guard_is_forgotten(monkeypatch):
    monkeypatch.setattr(spilling, "own_guard_lost", lambda instr: False)
    assert caught(16, 200)


def test_mutant_neighbour_shifted_the_wrong_way(monkeypatch):
    def broken(self, base):
        forbidden = 0
        for i in range(self.graph.widths[base]):
            for other in interference.members(self.graph.words[base + i]):
                place = self.result.places.get(self.graph.base[other])
                if place is not None:
                    forbidden |= 1 << (place + other - self.graph.base[other])
        return forbidden

    monkeypatch.setattr(colouring.Colourer, "_forbidden", broken)
    assert caught(32)


def test_neighbours_that_one_operand_spans_become_a_group():
    k = fresh()
    pair = k.new_register(2)
    k.groups = {pair.index: 1, pair.index + 1: 1}
    load = Instr(Op.LD, dst=pair, srcs=(Imm(0),), size=8)
    result = allocate(straight(k, load, Instr(Op.ST, srcs=(Imm(0), pair), size=8)))
    assert result.registers == 2


def test_neighbours_that_an_operand_spans_in_part_are_left_alone():
    k = fresh()
    first = k.new_register()
    k.new_register(2)
    k.groups = {first.index: 1, first.index + 1: 2}
    operand = Reg(first.index, 2)
    assert joined_groups(straight(k, Instr(Op.ST, srcs=(Imm(0), operand), size=8))) == k.groups


@pytest.mark.quick("[a-k]*")
@pytest.mark.parametrize("name", workloads.names())
def test_shipped_kernels_at_every_limit(name):
    text, path = workloads.ptx_text(name)
    module = parse(text, path)
    for entry in [f.name for f in module.functions.values() if f.entry]:
        kernel = lower(module, entry)
        for limit in LIMITS:
            result, report = allocate_with_report(kernel, limit)
            verify(result)
            check_allocation(kernel, result, report)
