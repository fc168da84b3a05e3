"""A trace in which a compressed register is released, and written on some lanes twice before anything of it
reaches a bank.

One warp under BOW with write-back and a window of three uops. A register gets a value that every storage
compresses; it leaves its collector, comes back for its last read, and is released. The write behind it waits
for what was read; it is on half of the lanes, and the compiler says that no lane needs what was there before.
It gives the register another physical one, and joins what the collector has. The next write is on the other
half.
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
    """The trace, for machines of four lanes."""
    ops = [
        *(alu(REGISTER), *AWAY, alu(2, REGISTER, unit=Unit.SFU)),
        *(alu(REGISTER, 2, mask=LOW), alu(REGISTER, mask=HIGH), alu(3, REGISTER)),
    ]
    trace = TraceBuilder().launch([ops]).build()
    hints = Hints.none(len(trace.code))
    places = trace.dynamic["pc"][len(AWAY) + 1 :]
    hints.dead[places[0]] = hints.fresh[places[1]] = 1
    values = trace.values.copy()
    values[:, : HIGH.bit_length()] = np.array([7, 0, 5, 6, 1])[:, None]
    return replace(trace, values=values, hints=hints)
