"""A trace in which a collector evicts a register in the cycle in which a write of some of its lanes issues.

A launch has one warp and one case, with a register of its own. Under BOW with write-back and a window of
three uops the register is written, read, and left alone for four uops that need no collector. The third of
them moves the window past it; its value is chosen and read, and leaves in the cycle in which the uop behind
the fourth issues.
"""

from __future__ import annotations

from dataclasses import replace
from enum import IntEnum

from warpbank.arch.uop import Unit
from warpbank.program.hints import Hints
from warpbank.program.trace.builder import Op, TraceBuilder, alu
from warpbank.program.trace.schema import Trace

LOW = 0b0011
#: A value that every storage compresses, and one that none does, for four lanes.
PACKED, PLAIN = (7, 7, 7, 7), (0x01020304, 0x85060708, 0x42990A0B, 0xC7330D0E)


class Case(IntEnum):
    """What the banks hold of a register, what leaves to them, and when some of its lanes are written."""

    #: Nothing; a value that can be compressed; the write issues in the cycle in which it leaves.
    BECOMES_COMPRESSED = 0
    #: A compressed value; one that cannot be; in that cycle.
    BECOMES_PLAIN = 1
    #: A compressed value; another one; in that cycle.
    STAYS_COMPRESSED = 2
    #: Nothing; a value that can be compressed; one cycle later.
    CYCLE_LATER = 3
    #: A compressed value; one that cannot be; one cycle later.
    PLAIN_CYCLE_LATER = 4

    @property
    def register(self) -> int:
        """The register that is evicted."""
        return 1 + self


def _use(register: int, fillers: int) -> list[Op]:
    """Write a register, read it, and leave it alone for so many uops."""
    return [alu(register), alu(8, register), *[Op(Unit.CONTROL)] * fillers]


def _case(case: Case, before: tuple[int, ...] | None, value: tuple[int, ...]) -> list[tuple[Op, object]]:
    """The uops of a case with their results."""
    later = case in (Case.CYCLE_LATER, Case.PLAIN_CYCLE_LATER)
    written = [alu(case.register, mask=LOW), alu(8, case.register)]
    made: list[tuple[Op, object]] = []
    if before is not None:
        made += [(op, 1 if number else before) for number, op in enumerate(_use(case.register, 6))]
    made += [(op, 1 if number else value) for number, op in enumerate(_use(case.register, 5 if later else 4))]
    return [*made, *zip(written, (9, 1), strict=True)]


def eviction_trace() -> Trace:
    """All cases, in the order of `Case`."""
    cases = [
        _case(Case.BECOMES_COMPRESSED, None, PACKED),
        _case(Case.BECOMES_PLAIN, PACKED, PLAIN),
        _case(Case.STAYS_COMPRESSED, PACKED, PACKED),
        _case(Case.CYCLE_LATER, None, PACKED),
        _case(Case.PLAIN_CYCLE_LATER, PACKED, PLAIN),
    ]
    builder = TraceBuilder()
    for case in cases:
        builder.launch([[op for op, _ in case]])
    trace = builder.build()
    values = trace.values.copy()
    for row, value in zip(values, [value for case in cases for op, value in case if op.count], strict=True):
        row[:4] = value
    return replace(trace, values=values, hints=Hints.none(len(trace.code)))
