"""Random traces of the baseline's whole vocabulary: units, widths, masks, memory, branches, barriers."""

from __future__ import annotations

import random

from warpbank.arch.uop import Memory, Unit
from warpbank.program.trace.builder import ALL, BRANCH, Op, TraceBuilder, alu, barrier, load, store
from warpbank.program.trace.schema import Trace

_MASKS = (ALL, ALL, ALL, 0x0000FFFF, 0xF0F0F0F5, 1, 0)


def random_op(rng: random.Random, registers: int, spread: int) -> Op:
    """One random uop; `spread`: how many memory lines there are."""

    def some(count: int) -> tuple[int, ...]:
        return tuple(rng.sample(range(registers), count))

    kind = rng.random()
    mask = rng.choice(_MASKS)
    if kind < 0.45:
        unit = rng.choice((Unit.ALU, Unit.FMA, Unit.FMA, Unit.SFU))
        return alu(rng.randrange(registers), *some(rng.randrange(4)), mask=mask, unit=unit)
    if kind < 0.53:
        return alu(
            2 * rng.randrange(registers // 2),
            *some(6),
            mask=mask,
            unit=rng.choice((Unit.FP64, Unit.TENSOR)),
            count=2,
        )
    if kind < 0.60:
        return Op(Unit.ALU, some(2), writes=1 << rng.randrange(7), mask=mask)
    if kind < 0.66:
        return Op(Unit.ALU, some(1), rng.randrange(registers), 1, reads=1 << rng.randrange(7), mask=mask)
    if kind < 0.76:
        count = rng.choice((1, 1, 2, 4))
        lines = tuple(rng.sample(range(spread), rng.choice((1, 1, 2, 5))))
        return load(
            rng.randrange(registers - count), rng.randrange(registers), *lines, count=count, mask=mask
        )
    if kind < 0.82:
        return store(*some(2), *rng.sample(range(spread), rng.choice((1, 3))))
    if kind < 0.85:
        memory = rng.choice((Memory.ATOMIC_GLOBAL, Memory.REDUCE_GLOBAL))
        return Op(
            Unit.LSU,
            some(2),
            rng.randrange(registers),
            int(memory == Memory.ATOMIC_GLOBAL),
            memory=memory,
            mask=mask,
            lines=(rng.randrange(spread),),
        )
    if kind < 0.93:
        memory = rng.choice(
            (Memory.LOAD_SHARED, Memory.STORE_SHARED, Memory.ATOMIC_SHARED, Memory.LOAD_CONST, Memory.SHUFFLE)
        )
        return Op(
            Unit.LSU,
            some(1),
            rng.randrange(registers),
            int(memory != Memory.STORE_SHARED),
            memory=memory,
            mask=mask,
            passes=rng.choice((1, 1, 2, 8)),
        )
    if kind < 0.94:
        return Op(Unit.LSU, memory=Memory.FENCE)
    return BRANCH


def random_trace(
    seed: int,
    *,
    ctas: int = 3,
    warps: int = 3,
    length: int = 30,
    registers: int = 12,
    spread: int = 40,
    launches: int = 1,
    barriers: int = 2,
) -> Trace:
    """A trace of `launches` launches; every warp of a CTA meets the same number of barriers."""
    rng = random.Random(seed)
    builder = TraceBuilder(seed)
    for _ in range(launches):
        blocks: list[list[list[Op]]] = []
        for _ in range(ctas):
            block: list[list[Op]] = []
            for _ in range(warps):
                ops: list[Op] = []
                for part in range(barriers + 1):
                    ops += [random_op(rng, registers, spread) for _ in range(rng.randrange(length + 1))]
                    if part < barriers:
                        ops.append(barrier(part % 2))
                block.append(ops)
            blocks.append(block)
        builder.launch(*blocks, registers=registers)
    return builder.build()
