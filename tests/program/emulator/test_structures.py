"""Random structured control flow against one thread at a time."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.program.emulator.assembly import EXIT, OUT, STORE, TID, add, bra, execute, setp
from tests.program.emulator.harness import kernel
from warpbank.program.isa import Block, Cmp, Imm, Instr, Op, Pred, Reg


def _statements(draw: st.DrawFn, depth: int) -> list[object]:
    kinds = ["add", "add", "if", "loop", "exit"] if depth else ["add"]
    made: list[object] = []
    for _ in range(draw(st.integers(1, 3))):
        kind = draw(st.sampled_from(kinds))
        if kind == "add":
            made.append(("add", draw(st.integers(1, 99))))
        elif kind == "if":
            other = _statements(draw, depth - 1) if draw(st.booleans()) else []
            made.append(
                (
                    "if",
                    draw(st.integers(0, 31)),
                    draw(st.integers(0, 63)),
                    _statements(draw, depth - 1),
                    other,
                )
            )
        elif kind == "loop":
            made.append(
                ("loop", draw(st.integers(1, 3)), draw(st.integers(0, 31)), _statements(draw, depth - 1))
            )
        else:
            made.append(("exit", draw(st.integers(0, 31)), draw(st.integers(0, 63))))
    return made


@st.composite
def structures(draw: st.DrawFn) -> list[object]:
    return _statements(draw, 3)


class Builder:
    """Machine code of a structure. R1 accumulates; a condition is (x & mask) == value & mask with x the
    thread or the sum."""

    def __init__(self) -> None:
        self.blocks = [Block("b0", [TID, OUT, add(1, 255, 0)])]
        self.depth = 0

    def emit(self, *instrs: Instr) -> None:
        self.blocks[-1].instrs += instrs

    def block(self, label: str) -> None:
        self.blocks.append(Block(label))

    def label(self) -> str:
        self.count = getattr(self, "count", 0) + 1
        return f"l{self.count}"

    def condition(self, mask: int, value: int) -> None:
        self.emit(
            Instr(Op.XOR, dst=Reg(2), srcs=(Reg(0), Reg(1))),
            Instr(Op.AND, dst=Reg(2), srcs=(Reg(2), Imm(mask))),
            setp(Cmp.EQ, 2, value & mask),
        )

    def build(self, statements: list[object]) -> None:
        for statement in statements:
            match statement:
                case ("add", n):
                    self.emit(add(1, 1, n))
                case ("exit", mask, value):
                    self.condition(mask, value)
                    self.emit(
                        Instr(Op.ST, srcs=(Reg(4, 2), Reg(1)), guard=Pred(0)), Instr(Op.EXIT, guard=Pred(0))
                    )
                    self.block(self.label())
                case ("if", mask, value, then, other):
                    then_label, end = self.label(), self.label()
                    self.condition(mask, value)
                    self.emit(bra(then_label, 0))
                    self.block(self.label())
                    self.build(other)
                    self.emit(bra(end))
                    self.block(then_label)
                    self.build(then)
                    self.block(end)
                case ("loop", times, mask, body):
                    head, counter = self.label(), 10 + self.depth
                    self.depth += 1
                    # times + (thread & mask) % 4 rounds
                    self.emit(
                        Instr(Op.AND, dst=Reg(counter), srcs=(Reg(0), Imm(mask & 3))),
                        add(counter, counter, times),
                    )
                    self.block(head)
                    self.build(body)
                    self.emit(add(counter, counter, -1 & 0xFFFFFFFF), setp(Cmp.GT, counter, 0), bra(head, 0))
                    self.block(self.label())
                    self.depth -= 1


def thread_result(statements: list[object], thread: int) -> int:
    total = 0

    def go(body: list[object]) -> bool:
        nonlocal total
        for statement in body:
            match statement:
                case ("add", n):
                    total += n
                case ("exit", mask, value):
                    if (total ^ thread) & mask == value & mask:
                        return False
                case ("if", mask, value, then, other):
                    if not go(then if (total ^ thread) & mask == value & mask else other):
                        return False
                case ("loop", times, mask, inner):
                    for _ in range(times + (thread & mask & 3)):
                        if not go(inner):
                            return False
        return True

    go(statements)
    return total


@settings(max_examples=120, deadline=None)
@given(structures(), st.sampled_from([32, 45, 64]))
def test_random_structures(statements: list[object], threads: int) -> None:
    builder = Builder()
    builder.build(statements)
    builder.emit(STORE, EXIT)
    out, _ = execute(kernel(builder.blocks), threads=threads, max_instructions=1_000_000)
    assert out == [thread_result(statements, t) & 0xFFFFFFFF for t in range(threads)]
