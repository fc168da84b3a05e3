"""Occupancy: how many warps of a kernel run at a time on a register file of the usual size and on a larger
one.

Code and launches alone decide it; nothing is executed. As in LTRF's paper (Sadrosadati et al., ASPLOS 2018,
section 2.1), a kernel is register-sensitive if the larger file runs more of its warps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

from warpbank import workloads
from warpbank.arch.config import SmConfig, with_overrides
from warpbank.program.isa import Kernel
from warpbank.program.launch import Launch
from warpbank.program.runner import Options, compile_job
from warpbank.sim import experiment as exp

#: Machine of the LTRF paper, and how much larger its larger register file is.
PRESET, TIMES = "maxwell", 8


@dataclass(frozen=True)
class Occupancy:
    """Occupancy of the launch of a kernel that gains most from a larger register file.

    Parameters
    ----------
    kernel, group : the kernel and its group.
    registers : registers per thread.
    launched : warps of the launch.
    small, large : of them, warps that run at a time with the usual register file and with the larger one.
    """

    kernel: str
    group: str
    registers: int
    launched: int
    small: int
    large: int

    @property
    def sensitive(self) -> bool:
        """Whether the larger register file runs more warps at a time."""
        return self.large > self.small

    def to_dict(self) -> dict[str, Any]:
        """Occupancy as a plain dictionary for JSON."""
        return {**vars(self), "sensitive": self.sensitive}


def occupancies(names: Sequence[str], size: str, preset: str = PRESET, times: int = TIMES) -> list[Occupancy]:
    """Occupancy of shipped kernels on a machine, and on the machine with a register file `times` as large."""
    small = exp.find_config(preset, None, [])
    large = with_overrides(small, [f"sub_core.rows={times * small.sub_core.rows}"])
    return [_occupancy(name, size, small, large) for name in names]


def resident(launch: Launch, kernel: Kernel, machine: SmConfig) -> int:
    """Warps of a launch that run at a time: as many as there are, and as registers, warp slots, CTA slots and
    shared memory allow."""
    warps = -(-prod(launch.block) // 32)
    slots = machine.launch_shape(kernel.registers)[1] * machine.sub_cores
    shared = kernel.shared_bytes + launch.dynamic_shared
    ctas = [slots // warps, machine.cta.max_ctas, prod(launch.grid)]
    if shared:
        ctas.append(machine.cta.shared_bytes // shared)
    return min(ctas) * warps


def _occupancy(name: str, size: str, small: SmConfig, large: SmConfig) -> Occupancy:
    job = workloads.get(name).job(size)
    code = compile_job(job, Options(max_registers=exp.register_limit(job, small)))
    found = []
    for launch in job.launches:
        kernel = code[launch.entry]
        warps = prod(launch.grid) * -(-prod(launch.block) // 32)
        before, after = (resident(launch, kernel, machine) for machine in (small, large))
        found.append(Occupancy(name, workloads.get(name).group, kernel.registers, warps, before, after))
    return max(found, key=lambda each: (each.large / each.small if each.small else each.large, each.launched))
