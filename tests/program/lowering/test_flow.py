"""Clean-up of control flow."""

from __future__ import annotations

from warpbank.program.isa import PT, Block, Instr, Kernel, Op, Pred
from warpbank.program.lowering.cleanup.flow import tidy


def _loop(jump_target: str = "loop", extra: Instr | None = None) -> Kernel:
    """loop: ...; @P0 BRA out; BRA loop; out: EXIT"""
    body = [Instr(Op.NOP), Instr(Op.BRA, guard=Pred(0), target="out")]
    jump = [*([extra] if extra else []), Instr(Op.BRA, target=jump_target)]
    blocks = [Block("loop", body), Block("jump", jump), Block("out", [Instr(Op.EXIT)])]
    return Kernel("k", blocks, {}, 1)


def _text(kernel: Kernel) -> list[tuple[str, list[tuple[Op, str | None, str | None]]]]:
    return [
        (b.label, [(i.op, str(i.guard) if i.guard else None, i.target) for i in b.instrs])
        for b in kernel.blocks
    ]


def test_a_loop_takes_one_branch_per_trip() -> None:
    kernel = _loop()
    assert tidy(kernel)
    assert _text(kernel) == [
        ("loop", [(Op.NOP, None, None), (Op.BRA, "!P0", "loop")]),
        ("out", [(Op.EXIT, None, None)]),
    ]


def test_a_jump_block_that_does_more_stays() -> None:
    kernel = _loop(extra=Instr(Op.MEMBAR))
    tidy(kernel)
    assert [b.label for b in kernel.blocks] == ["loop", "jump", "out"]


def test_a_jump_block_that_others_reach_stays() -> None:
    kernel = _loop()
    kernel.blocks[2].instrs[:] = [Instr(Op.BRA, guard=Pred(1), target="jump"), Instr(Op.EXIT)]
    kernel.blocks[2:] = [Block("out", [kernel.blocks[2].instrs[0]]), Block("end", [Instr(Op.EXIT)])]
    tidy(kernel)
    # `jump` only branches on, so that its other source goes to `loop` itself; then it may be inverted away.
    assert _text(kernel)[0] == ("loop", [(Op.NOP, None, None), (Op.BRA, "!P0", "loop")])
    assert _text(kernel)[1] == ("out", [(Op.BRA, "P1", "loop")])


def test_guards_that_are_always_true_go() -> None:
    kernel = _loop()
    kernel.blocks[0].instrs[0].guard = Pred(PT)
    tidy(kernel)
    assert kernel.blocks[0].instrs[0].guard is None
