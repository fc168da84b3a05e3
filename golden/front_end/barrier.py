"""CTA barriers, shared by the sub-cores."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.golden.probe import Probe
from warpbank.golden.stream import TraceUop
from warpbank.program.errors import ExecutionError


class Barriers:
    """Named barriers of every CTA: they count arrivals, and release the waiting warps when all expected ones
    have arrived.

    A barrier expects the number of warps its arrivals name, or all warps of the CTA that have not yet issued
    their last uop. One of a number of warps is complete with the arrival that makes it that many: who arrives
    behind that, be it in the same cycle, is counted for its next use. Arrivals count within their CTA: with
    its last uop they are forgotten.

    Parameters
    ----------
    count : barriers of a CTA.
    probe : receives `barrier_open`.
    release : called with (sub-core, warp) for every warp that may go on.

    Latency: a barrier completed in cycle t releases its warps for t + 1.
    """

    def __init__(self, count: int, probe: Probe, release: Callable[[int, int], None]) -> None:
        self._count = count
        self._probe = probe
        self._release = release
        self._live: dict[int, int] = {}
        self._arrived: dict[tuple[int, int], int] = {}
        self._expected: dict[tuple[int, int], int] = {}
        self._waiting: dict[tuple[int, int], list[tuple[int, int]]] = {}
        self._changed: set[int] = set()
        #: Barriers of a number of warps that are complete in this cycle, and who waits at each.
        self._complete: list[tuple[tuple[int, int], list[tuple[int, int]]]] = []

    def start(self, cta: int, warps: int) -> None:
        """Expect the warps of a CTA that starts in this slot."""
        self._live[cta] = warps

    def arrive(self, cta: int, uop: TraceUop) -> None:
        """Count the arrival of a warp, which waits if the uop says so."""
        if uop.barrier >= self._count:
            raise ExecutionError(
                f"pc {uop.pc} uses barrier {uop.barrier}, and the machine has {self._count} per CTA "
                "(cta.barriers)."
            )
        key = (cta, uop.barrier)
        self._arrived[key] = self._arrived.get(key, 0) + 1
        self._expected[key] = uop.barrier_warps
        if uop.wait:
            self._waiting.setdefault(key, []).append((uop.sub_core, uop.warp))
        if 0 < uop.barrier_warps <= self._arrived[key]:
            self._complete.append((key, self._waiting.pop(key, [])))
            del self._arrived[key], self._expected[key]
        self._changed.add(cta)

    def exit(self, cta: int) -> None:
        """Expect one warp less: it has issued its last uop."""
        self._live[cta] -= 1
        self._changed.add(cta)

    @property
    def busy(self) -> bool:
        """Whether a warp arrived or left in this cycle."""
        return bool(self._changed)

    def waiting_at(self, sub_core: int, warp: int) -> str:
        """Describe the barrier at which a warp waits."""
        for (cta, barrier), warps in self._waiting.items():
            if (sub_core, warp) in warps:
                expected = self._expected[cta, barrier] or self._live[cta]
                return (
                    f"at barrier {barrier} of CTA slot {cta}, where {self._arrived[cta, barrier]} of "
                    f"{expected} warps arrived"
                )
        return "at a barrier"

    def step(self) -> None:
        """Open the complete barriers at the end of the cycle."""
        for key, warps in self._complete:
            self._probe.emit("barrier_open", *key)
            for sub_core, warp in warps:
                self._release(sub_core, warp)
        self._complete.clear()
        for key in sorted(key for key in self._arrived if key[0] in self._changed):
            cta, barrier = key
            expected = self._expected[key] or self._live[cta]
            if self._arrived[key] < expected:
                continue
            del self._arrived[key], self._expected[key]
            self._probe.emit("barrier_open", cta, barrier)
            for sub_core, warp in self._waiting.pop(key, ()):
                self._release(sub_core, warp)
        for cta in self._changed:
            if not self._live[cta]:
                self._forget(cta)
        self._changed.clear()

    def _forget(self, cta: int) -> None:
        """Forget the arrivals that no barrier has opened for: the CTA has ended, and its slot is another
        one's."""
        for key in [key for key in self._arrived if key[0] == cta]:
            del self._arrived[key], self._expected[key]
