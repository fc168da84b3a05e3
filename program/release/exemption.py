"""Renaming exemption: registers that are not renamed, so that the renaming table keeps to its size (renaming,
section 7.1).

The longer a register holds its values, the less is gained by renaming it: such registers are exempted first,
and of those that hold theirs for equally long the one that is written more often. How long is counted in the
code: the instructions, from a write to the next release, at which the register may be allocated, summed over
its values. A value that lives around a loop is held in the whole loop.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from warpbank.arch.parameters import SmConfig
from warpbank.program.isa import Kernel
from warpbank.program.liveness import mask_of, members
from warpbank.program.release.flags import Flags, release_flags
from warpbank.program.trace.schema import Trace

#: Bytes of the renaming table.
TABLE_BYTES = 1024


@dataclass(frozen=True)
class Held:
    """Lifetime of a register in the code.

    Parameters
    ----------
    register : its number.
    lifetime : instructions of the code at which it may be allocated.
    writes : instructions of the code that write it.
    """

    register: int
    lifetime: int
    writes: int


def ranking(kernel: Kernel, flags: Flags | None = None) -> list[Held]:
    """The registers that the kernel writes, the one to exempt first in front. `flags`: those without
    exemptions, if at hand."""
    flags = flags or release_flags(kernel)
    lifetime: dict[int, int] = {}
    writes: dict[int, int] = {}
    for instr, held in zip(kernel.instructions(), flags.held, strict=True):
        for r in members(held):
            lifetime[r] = lifetime.get(r, 0) + 1
        for r in instr.registers_written():
            writes[r] = writes.get(r, 0) + 1
    found = [Held(r, lifetime.get(r, 0), n) for r, n in writes.items()]
    return sorted(found, key=lambda h: (-h.lifetime, -h.writes, h.register))


def table_bits(warps: int, registers: int, physical: int) -> int:
    """Bits of a renaming table (equation 1): an entry, the number of a physical register, per warp and
    register of the kernel."""
    return warps * registers * (physical - 1).bit_length()


def exempt_registers(
    kernel: Kernel, warps: int, physical: int, table_bytes: int = TABLE_BYTES, at_most: int = 256
) -> int:
    """The registers of a kernel that are not renamed, as a bit mask; 0 if its table fits.

    Parameters
    ----------
    warps : warps whose registers the table maps.
    physical : physical registers there are.
    table_bytes : size of the table.
    at_most : limit of registers, even if the table does not fit then.
    """
    renamed = kernel.registers
    exempt: list[int] = []
    for held in ranking(kernel)[:at_most]:
        if table_bits(warps, renamed, physical) <= 8 * table_bytes:
            break
        exempt.append(held.register)
        renamed -= 1
    return mask_of(exempt)


def exemptions(kernels: Mapping[str, Kernel], trace: Trace, config: SmConfig) -> dict[str, int]:
    """The registers that are not renamed, per kernel of a trace, for the table of a machine.

    The table is to serve as many warps as a sub-core would hold without renaming, and at least those of a
    CTA. Exempt registers are reserved for each of these warps, so that there can not be more of them than
    leave room for the others of one warp.
    """
    core = config.sub_core
    found = {}
    for number, (name, kernel) in enumerate(kernels.items()):
        largest = max(
            (int(row["warps_per_cta"]) for row in trace.launches if row["kernel"] == number), default=1
        )
        direct = core.rows // config.rows_per_warp(kernel.registers)
        warps = min(core.warps, max(direct, -(-largest // config.sub_cores)))
        room = max(0, core.warp_registers - kernel.registers) // max(1, warps - 1)
        found[name] = exempt_registers(kernel, warps, core.warp_registers, core.mapping.table_bytes, room)
    return found
