"""Instruction buffers: a short FIFO of uops per warp, filled from the warps' streams, one uop per sub-core
and cycle."""

from __future__ import annotations

from collections import deque
from typing import Final

from warpbank.arch.parameters import SubCoreConfig
from warpbank.arch.uop import Control
from warpbank.golden.mapping.flag_cache import FlagCache
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.stream import TraceUop, WarpStream
from warpbank.golden.values import NEVER

_BRANCH: Final = Control.BRANCH


class InstructionBuffers:
    """Instruction buffers of a sub-core's warps.

    The warp to fill is chosen by rotating priority among those that have room at the clock edge. The stream
    stops behind a branch; it goes on `branch_hold` cycles after the cycle in which the branch issued.

    On a machine that takes extra bits, the bit of a warp's first uop is served once per uop: one in a cycle,
    chosen by rotating priority of its own. The uop issues in the next cycle at the earliest.

    On a machine that takes release flags, a uop whose flags are not in the release flag cache makes the next
    cycle one in which their instruction is fetched and no buffer is filled.

    Parameters
    ----------
    config : entries, branch hold, warps.
    probe : receives `fill`, `flag_hit`, `flag_fetch`.

    Latency: a uop filled in cycle t can issue in t + 1.
    """

    def __init__(self, config: SubCoreConfig, probe: Probe) -> None:
        self._depth = config.front_end.buffer_entries
        self._hold = config.front_end.branch_hold
        self._warps = config.warps
        self._probe = probe
        self._filled = probe.ports["fill"]
        self.entries: list[list[TraceUop]] = [[] for _ in range(config.warps)]
        self._streams: list[WarpStream | None] = [None] * config.warps
        self._fillable = 0  # warps with room and something to fetch
        self._held: deque[tuple[int, int]] = deque()  # (first cycle that may fill, warp), in that order
        self._pointer = 0
        self._entering = 0  # warp whose extra bit is served first
        self._flags = FlagCache(config.warps) if config.mapping.release_flags == "on" else None
        #: Warp, and first pc of the pir word that is fetched in this cycle.
        self._fetch: tuple[int, int] | None = None
        self._hit: int | None = None  # warp whose word was found in the cycle before

    def start(self, warp: int, stream: WarpStream) -> None:
        """Connect a new warp's stream."""
        self._streams[warp] = stream
        if self._flags is not None:
            self._flags.start(warp)
        if stream.length:
            self._fillable |= 1 << warp

    def next_cycle(self, cycle: int) -> int:
        """Return the next cycle after `cycle` in which a buffer can be filled."""
        if self._fillable or self._fetch is not None or self._hit is not None:
            return cycle + 1
        return self._held[0][0] if self._held else NEVER

    def step(self, cycle: int) -> int:
        """Fill one buffer. Returns the mask of the warp whose buffer was empty before and has a first uop
        from now on, or 0."""
        held = self._held
        while held and held[0][0] <= cycle:
            self._fillable |= 1 << held.popleft()[1]
        if self._hit is not None:
            self._probe.emit("flag_hit", self._hit)
            self._hit = None
        if self._fetch is not None:
            self._probe.emit("flag_fetch", *self._fetch)
            self._fetch = None
            return 0
        if not self._fillable:
            return 0
        warp = first_from(self._fillable, self._pointer)
        self._pointer = (warp + 1) % self._warps
        stream = self._streams[warp]
        assert stream is not None
        uop = stream.take()
        entries = self.entries[warp]
        entries.append(uop)
        if self._flags is not None:
            self._meet(uop)
        if uop.control is _BRANCH or stream.position == stream.length or len(entries) == self._depth:
            self._fillable &= ~(1 << warp)
        self._filled.emit(warp, uop.seq)
        return 1 << warp if len(entries) == 1 else 0

    def _meet(self, uop: TraceUop) -> None:
        """Look for the release flags of a uop. A hit is reported, and a miss fetched, in the next cycle."""
        assert self._flags is not None
        hit = self._flags.fill(uop.warp, uop.pc, uop.covered)
        if hit:
            self._hit = uop.warp
        elif hit is False:
            assert uop.covered is not None
            self._fetch = uop.warp, uop.covered

    def enter(self, warps: int) -> TraceUop:
        """Serve the extra bit of the first uop of one of these warps. Returns that uop."""
        warp = first_from(warps, self._entering)
        self._entering = (warp + 1) % self._warps
        uop = self.entries[warp][0]
        uop.enters = False
        return uop

    def pop(self, warp: int, cycle: int) -> None:
        """Remove the first uop of `warp`, which issues."""
        entries = self.entries[warp]
        uop = entries.pop(0)
        stream = self._streams[warp]
        assert stream is not None
        if stream.position == stream.length:
            return
        if uop.control is _BRANCH:
            self._held.append((cycle + 1 + self._hold, warp))
        elif not entries or entries[-1].control is not _BRANCH:
            self._fillable |= 1 << warp
