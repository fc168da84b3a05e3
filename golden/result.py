"""Result of a simulation."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass
class Result:
    """Result of one run.

    Parameters
    ----------
    cycles : clock cycles from the first CTA's dispatch to the last retirement, all launches.
    warp_instructions : uops retired (each exactly once).
    stalls : scheduler-cycles by reason (`warpbank.arch.events.Stall`), all schedulers; sums to cycles x
        schedulers.
    stalls_per_scheduler : cycles by reason, for each scheduler; each sums to `cycles`.
    counters : every counter of `warpbank.arch.counters.COUNTERS`.
    launches : per launch: kernel, ctas, warps_per_cta, registers, cycles.
    operands_checked, operand_mismatches : operands compared at dispatch. A mismatch ends the run with an
        exception, so that a result always has none.
    """

    cycles: int
    warp_instructions: int
    stalls: dict[str, int]
    stalls_per_scheduler: list[dict[str, int]]
    counters: dict[str, int]
    operands_checked: int = 0
    operand_mismatches: int = 0
    launches: list[dict[str, Any]] = field(default_factory=list)

    @property
    def ipc(self) -> float:
        """Warp instructions per cycle of the SM."""
        return self.warp_instructions / self.cycles if self.cycles else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain dictionaries for JSON."""
        return {**asdict(self), "ipc": self.ipc}
