"""Traces of registers that are released, or written anew, and written again on some lanes, for four lanes.

`released_trace`: before anything of the register reaches a bank it is written twice. One warp under BOW with
write-back and a window of three uops. A register gets a value that every storage compresses; it leaves its
collector, comes back for its last read, and is released. The write behind it waits for what was read; it is
on half of the lanes, and the compiler says that no lane needs what was there before. It gives the register
another physical one, and joins what the collector has. The next write is on the other half.

`lost_trace`: the register is in its bank again when a uop reads it, so that a collector has it whole, with
the lanes that nobody has written since its release. A write of the other lanes makes it dirty, and it leaves
for its bank, where it is compressed with those lanes as they are.

`renewed_trace`: nothing is released. The register's bank has it compressed when it is written on some lanes,
and the compiler says that no lane needs what was there before: the others are gone. A collector has it whole,
with those lanes, merges a result with it and hands it back; then it is written on some lanes again, by a uop
of which some lane needs what was there, for the sake of its other register.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from warpbank.arch.uop import Unit
from warpbank.program.hints import Hints
from warpbank.program.trace.builder import Op, TraceBuilder, alu
from warpbank.program.trace.schema import Trace

LOW, HIGH = 0b0011, 0b1100
REGISTER = 1
#: Uops in which a register leaves its collector and reaches its bank.
AWAY = [Op(Unit.CONTROL)] * 6


def released_trace() -> Trace:
    """Trace of a register that is written twice before anything of it reaches a bank."""
    ops = [
        *(alu(REGISTER), *AWAY, alu(2, REGISTER, unit=Unit.SFU)),
        *(alu(REGISTER, 2, mask=LOW), alu(REGISTER, mask=HIGH), alu(3, REGISTER)),
    ]
    trace = TraceBuilder().launch([ops]).build()
    hints = Hints.none(len(trace.code))
    places = trace.dynamic["pc"][len(AWAY) + 1 :]
    hints.dead[places[0]] = hints.fresh[places[1]] = 1
    return replace(trace, values=_values(trace, 7, 0, 5, 6, 1), hints=hints)


def lost_trace() -> Trace:
    """Trace of a register that a collector hands back with lanes that a release has ended."""
    ops = [
        *(alu(REGISTER), *AWAY, alu(2, REGISTER), *AWAY * 5),
        *(alu(REGISTER, mask=LOW), *AWAY, alu(3, REGISTER, mask=LOW)),
        *(alu(REGISTER, mask=LOW), alu(3, REGISTER, mask=LOW), *AWAY),
        *(alu(REGISTER, mask=1), alu(4, REGISTER, mask=LOW)),
    ]
    trace = TraceBuilder().launch([ops]).build()
    hints = Hints.none(len(trace.code))
    places = trace.dynamic["pc"]
    hints.dead[places[len(AWAY) + 1]] = hints.fresh[places[6 * len(AWAY) + 2]] = 1
    return replace(trace, values=_values(trace, 7, 0, 5, 1, 6, 1, 8, 1), hints=hints)


def renewed_trace() -> Trace:
    """Trace of a register that a collector hands back with lanes that a write has ended."""
    ops = [
        *(alu(REGISTER), *AWAY, alu(REGISTER, mask=LOW), *AWAY, alu(3, REGISTER, mask=LOW)),
        *(alu(REGISTER, mask=LOW), alu(3, REGISTER, mask=LOW), *AWAY),
        *(alu(REGISTER, mask=1, count=2), alu(4, REGISTER, mask=LOW)),
    ]
    trace = TraceBuilder().launch([ops]).build()
    hints = Hints.none(len(trace.code))
    places = trace.dynamic["pc"]
    for number in (0, len(AWAY) + 1, 2 * len(AWAY) + 3):
        hints.fresh[places[number]] = 1
    return replace(trace, values=_values(trace, 7, 5, 1, 6, 1, 8, 8, 1), hints=hints)


def _values(trace: Trace, *numbers: int) -> np.ndarray:
    """Values of a trace with a number for all lanes of each result."""
    values = trace.values.copy()
    values[:, : HIGH.bit_length()] = np.array(numbers)[:, None]
    return values
