"""Dependences of a block: which of its instructions must keep their order.

- Registers and predicates: read after write, write after read, write after write; a guarded write also keeps
  what it may not
change. - Memory: loads may pass loads. Nothing passes a store or an atomic to a space that may be the same
memory; a generic address may be
  anywhere but in the constant bank. Even with one base register and different offsets the order is kept,
  since another lane's address may be equal; local memory is each lane's own, so there known places that do
  not overlap are free.
- Barriers, fences, traps, volatile accesses and clock reads keep their order with each other and with all
  memory accesses.
- Shuffles, votes and the like keep their order with each other and with these.
- What ends the block stays at its end.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from warpbank.program.isa import Imm, Instr, Op, Space, Sreg

_LOADS = (Op.LD,)
_STORES = (Op.ST, Op.ATOM)
_FENCES = (Op.BAR, Op.MEMBAR, Op.TRAP)
_LANES = (Op.SHFL, Op.VOTE, Op.MATCH, Op.ACTIVEMASK, Op.REDUX)
_CLOCKS = (Sreg.CLOCK, Sreg.CLOCK_HI, Sreg.GLOBALTIMER, Sreg.GLOBALTIMER_HI)


def is_fence(instr: Instr) -> bool:
    """Whether memory accesses stay on their side of the instruction."""
    return instr.op in _FENCES or instr.volatile or (instr.op is Op.S2R and instr.aux in _CLOCKS)


def may_alias(one: Instr, other: Instr) -> bool:
    """Whether two memory instructions, one of them a store or an atomic, may touch the same memory, in any
    two lanes."""
    if Space.CONST in (one.space, other.space):
        return False
    if one.space != other.space:
        return Space.GENERIC in (one.space, other.space)
    if one.space is Space.LOCAL:
        a, b = one.srcs[0], other.srcs[0]
        if isinstance(a, Imm) and isinstance(b, Imm):
            low, high = a.value + one.offset, b.value + other.offset
            return low < high + other.size and high < low + one.size
    return True


@dataclass
class Dependences:
    """The order within a block.

    Parameters
    ----------
    before : per instruction, earlier ones that it must follow, with the kind: True if it needs a result of
        them.
    after : the same edges from the other end.
    """

    before: list[dict[int, bool]] = field(default_factory=list)
    after: list[dict[int, bool]] = field(default_factory=list)


def dependences(instrs: list[Instr]) -> Dependences:
    """The dependences of straight-line code."""
    found = Dependences([{} for _ in instrs], [{} for _ in instrs])

    def order(first: int, second: int, value: bool = False) -> None:
        if first != second:
            found.before[second][first] = found.before[second].get(first, False) or value
            found.after[first][second] = found.after[first].get(second, False) or value

    writer: dict[tuple[str, int], int] = {}
    readers: dict[tuple[str, int], list[int]] = {}
    loads: list[int] = []
    stores: list[int] = []
    lanes = fence = -1
    since: list[int] = []  # memory and lane instructions after the last fence
    for i, instr in enumerate(instrs):
        reads = [("r", r) for r in instr.registers_read()] + [("p", p) for p in instr.predicates_read()]
        writes = [("r", r) for r in instr.registers_written()] + [
            ("p", p) for p in instr.predicates_written()
        ]
        for place in reads:
            if place in writer:
                order(writer[place], i, value=True)
            readers.setdefault(place, []).append(i)
        for place in writes:
            if place in writer:
                order(writer[place], i, value=instr.guard is not None)
            for reader in readers.pop(place, []):
                order(reader, i)
            writer[place] = i
            if instr.guard is not None:
                readers[place] = [i]
        memory = instr.op in _LOADS or instr.op in _STORES
        if is_fence(instr):
            for j in since:
                order(j, i)
            if fence >= 0:
                order(fence, i)
            fence, since, loads, stores, lanes = i, [], [], [], -1
        elif memory or instr.op in _LANES:
            if fence >= 0:
                order(fence, i)
            since.append(i)
            if instr.op in _LANES:
                if lanes >= 0:
                    order(lanes, i)
                lanes = i
        if memory and not is_fence(instr):
            others = stores if instr.op in _LOADS else loads + stores
            for j in others:
                if may_alias(instrs[j], instr):
                    order(j, i)
            (loads if instr.op in _LOADS else stores).append(i)
    if instrs and instrs[-1].op in (Op.BRA, Op.EXIT):
        for j in range(len(instrs) - 1):
            order(j, len(instrs) - 1)
    return found
