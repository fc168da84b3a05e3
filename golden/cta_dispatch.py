"""CTA dispatch: launches run one after the other, their CTAs as far as registers, shared memory, warps and
CTA slots allow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from warpbank.arch.parameters import SmConfig
from warpbank.golden.round_robin import first_from
from warpbank.program.errors import LaunchError
from warpbank.program.trace.schema import Trace


@dataclass
class Cta:
    """Running CTA: its slot, its shared memory, and the places of its warps as (sub-core, warp slot)."""

    slot: int
    shared: int
    warps: list[tuple[int, int]]
    running: int


class CtaDispatch:
    """CTA dispatcher: starts CTAs in order, at most one per cycle, and frees a CTA's slots when its last warp
    has drained.

    Warps go to the sub-cores round robin: the first CTA of a launch begins with sub-core 0, others with the
    one after that of the last warp started; if a warp slot is missing there, with the next beginning that has
    them all. Slot s of a sub-core has the register rows from s x rows per warp on, so that a launch's warps
    never fragment the banks.

    One of the running CTAs has its turn until it ends, then the one in the next slot that has any: all
    sub-cores serve it first where physical registers are short.

    Parameters
    ----------
    config : limits.
    trace : launches and warps.

    Attributes
    ----------
    turn : slot of the CTA that has its turn; of the last one that had it, if none runs.
    """

    def __init__(self, config: SmConfig, trace: Trace) -> None:
        self._config = config
        self._trace = trace
        self._launch = -1
        self._next_cta = 0
        self._ctas = 0
        self._warps_per_cta = 0
        self._first_warp = 0
        self._shared_per_cta = 0
        self._shared_free = 0
        self._begin = 0
        self._free_ctas: list[int] = []
        self._free_warps: list[list[int]] = []
        self.rows_per_warp = 0
        self.slots = 0  # warp slots of a sub-core that the launch may use
        self.kept = 0  # physical registers of a sub-core that it keeps for one CTA
        self.running: dict[int, Cta] = {}
        self.turn = 0

    def next_launch(self) -> bool:
        """Make the next launch current. Returns False if there is none. Raises LaunchError if no CTA of it
        fits the machine."""
        self._launch += 1
        if self._launch == len(self._trace.launches):
            return False
        launch = self._trace.launches[self._launch]
        self._next_cta = 0
        self._ctas = int(launch["ctas"])
        self._warps_per_cta = int(launch["warps_per_cta"])
        self._first_warp = int(launch["first_warp"])
        self._shared_per_cta = int(launch["shared_bytes"])
        registers = int(launch["registers"])
        shape = registers, self.exempt.bit_count(), self._warps_per_cta
        self.rows_per_warp, self.slots = self._config.launch_shape(*shape)
        self.kept = self._config.launch_reserve(*shape)
        self._check(self._trace.kernels[int(launch["kernel"])], registers)
        self._shared_free = self._config.cta.shared_bytes
        self._begin = 0
        self._free_ctas = list(range(self._config.cta.max_ctas))
        self._free_warps = [list(range(self.slots)) for _ in range(self._config.sub_cores)]
        return True

    @property
    def registers(self) -> int:
        """Number of registers per thread of the current launch."""
        return int(self._trace.launches[self._launch]["registers"])

    @property
    def exempt(self) -> int:
        """Mask of the current launch's registers that are not renamed."""
        kernel = int(self._trace.launches[self._launch]["kernel"])
        return self._trace.exempt[kernel] if self._trace.exempt else 0

    def _check(self, kernel: str, registers: int) -> None:
        config = self._config
        slots, needed = self.slots, -(-self._warps_per_cta // config.sub_cores)
        problem = ""
        if needed > config.sub_core.warps:
            problem = f"it has {self._warps_per_cta} warps and the SM has {config.warps} warp slots"
        elif needed > slots and config.takes_flags:
            problem = (
                f"its {registers} registers per thread, with {self.exempt.bit_count()} that every warp "
                f"keeps, do not fit the {config.sub_core.warp_registers} physical registers and the "
                f"renaming table of a sub-core"
            )
        elif needed > slots:
            problem = (
                f"its {self._warps_per_cta} warps of {registers} registers per thread need "
                f"{needed * self.rows_per_warp} rows of every bank of a sub-core, and a bank has "
                f"{config.sub_core.rows}"
            )
        elif self._shared_per_cta > config.cta.shared_bytes:
            problem = (
                f"it needs {self._shared_per_cta} bytes of shared memory and the SM has "
                f"{config.cta.shared_bytes}"
            )
        if problem:
            raise LaunchError(
                f"A CTA of kernel {kernel} does not fit the machine (preset {config.preset}): {problem}."
            )

    def describe(self) -> dict[str, Any]:
        """Describe the current launch for reports: kernel, ctas, warps_per_cta, registers."""
        launch = self._trace.launches[self._launch]
        kernel = self._trace.kernels[int(launch["kernel"])]
        return {
            "kernel": kernel,
            "ctas": self._ctas,
            "warps_per_cta": self._warps_per_cta,
            "registers": int(launch["registers"]),
        }

    @property
    def exhausted(self) -> bool:
        """Whether all CTAs of the launch have been started."""
        return self._next_cta == self._ctas

    def start(self) -> tuple[Cta, list[int]] | None:
        """Start the next CTA. Returns the CTA and its warps' rows of `trace.warps`, or None if it does not
        fit."""
        if self.exhausted or not self._free_ctas or self._shared_per_cta > self._shared_free:
            return None
        count = self._config.sub_cores
        for shift in range(count):
            begin = (self._begin + shift) % count
            places = [(begin + index) % count for index in range(self._warps_per_cta)]
            if all(places.count(number) <= len(free) for number, free in enumerate(self._free_warps)):
                break
        else:
            return None
        self._begin = (begin + self._warps_per_cta) % count
        self._shared_free -= self._shared_per_cta
        warps = [(number, self._free_warps[number].pop(0)) for number in places]
        cta = Cta(self._free_ctas.pop(0), self._shared_per_cta, warps, len(warps))
        self.running[cta.slot] = cta
        self._take_turns()
        first = self._first_warp + self._next_cta * self._warps_per_cta
        self._next_cta += 1
        return cta, list(range(first, first + self._warps_per_cta))

    def end(self, cta: Cta) -> None:
        """Free the slots of `cta`, whose warps have all drained."""
        del self.running[cta.slot]
        self._take_turns()
        self._shared_free += cta.shared
        self._free_ctas = sorted([*self._free_ctas, cta.slot])
        for number, warp in cta.warps:
            self._free_warps[number] = sorted([*self._free_warps[number], warp])

    def _take_turns(self) -> None:
        running = sum(1 << slot for slot in self.running)
        self.turn = first_from(running, self.turn) if running else self.turn

    def served(self) -> list[int]:
        """Warps of the CTA that has its turn, a mask per sub-core."""
        masks = [0] * self._config.sub_cores
        if self.turn in self.running:
            for number, warp in self.running[self.turn].warps:
                masks[number] |= 1 << warp
        return masks
