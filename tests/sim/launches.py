"""Programs of two launches, of which the first leaves something on its way: values in windows and in buffers,
whose rows are somebody else's in the second."""

from __future__ import annotations

from dataclasses import replace

from warpbank.arch.config import preset, with_overrides
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Unit
from warpbank.program.hints import Hints
from warpbank.program.trace.builder import BRANCH, Op, TraceBuilder, alu, barrier
from warpbank.program.trace.schema import Trace


def _unhinted(trace: Trace) -> Trace:
    return replace(trace, hints=Hints.none(len(trace.code)))


def windows(registers: int, exempt: int = 0) -> Trace:
    """Four warps end with values in their windows; then one warp reads what it wrote long before.

    Parameters
    ----------
    registers : per thread of the second launch, so many that it has fewer warp slots.
    exempt : the first ones of them, which are not renamed.
    """
    builder = TraceBuilder()
    first = [alu(register, unit=Unit.ALU if register & 1 else Unit.FMA) for register in range(6)]
    builder.launch([[*first, *[Op(Unit.CONTROL)] * 3] for _ in range(4)], registers=8)
    own = range(exempt, exempt + 12)
    written = [alu(register) for register in own]
    read = [alu(exempt + 20, register) for register in own]
    builder.launch([[*written, *[Op(Unit.CONTROL)] * 3, *[BRANCH] * 20, *read]], registers=registers)
    trace = builder.build()
    launches = trace.launches.copy()
    launches[1]["kernel"] = 1
    return _unhinted(
        replace(
            trace,
            kernels=["first", "second"],
            first_pc=[0, 0],
            launches=launches,
            exempt=(0, (1 << exempt) - 1) if exempt else (),
        )
    )


def buffers() -> Trace:
    """A warp ends while a register of it waits for its slow bank; the next warp in its slot, with other rows,
    writes a register of that name, all lanes and then some of them, and reads it."""
    builder, count, target = TraceBuilder(), 11, 0
    builder.launch([[BRANCH], [alu(register) for register in range(count)]], registers=16)
    other = [*[BRANCH] * 20, barrier(), BRANCH]
    again = [alu(target), barrier(), *[BRANCH] * 20, alu(target, mask=0b0011, unit=Unit.FMA), alu(5, target)]
    builder.launch([other, again], registers=32)
    trace = builder.build()
    values = trace.values.copy()
    values[count] = 7  # all lanes: it is compressed
    return _unhinted(replace(trace, values=values))


def machine(*overrides: str) -> SmConfig:
    """Four warps with 64 rows of every bank."""
    return with_overrides(
        preset("tiny"),
        [f"sub_core.{override}" for override in ("warps=4", "rows=64", "active_warps=4", *overrides)],
    )


#: Name -> scheme, machine, program.
CASES: dict[str, tuple[str, SmConfig, Trace]] = {
    "windows": ("bow-wb", machine("bank_latency=630"), windows(128)),
    "windows over renaming": ("bow-wb+renaming", machine("bank_latency=630"), windows(60, 30)),
    "buffers": (
        "rfc+gscalar",
        machine("active_warps=2", "bank_latency=3200", "cache.registers=8"),
        buffers(),
    ),
}
