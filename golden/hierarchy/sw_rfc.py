"""SW-RFC: a register file cache without tags, whose content the compiler decides (the comparator SHRF of
LTRF)."""

from __future__ import annotations

from collections.abc import Callable

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES, TO_BANKS
from warpbank.golden.hierarchy.result_cache import ResultCache
from warpbank.golden.main.register_file import MainRegisterFile
from warpbank.golden.probe import Probe
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value


class SwRfc(ResultCache):
    """Every source says whether it is in the cache, every result whether it goes there, or to the banks, or
    both. LTRF, section 6.6 and its reference 20.

    A register's bank of the cache is its number modulo that of the banks: `warpbank.program.strand_cache`
    sees to it that no two values meet there, and that nothing is in the cache where the warp may be
    deactivated. So there is nothing to find, to evict or to write back. A result waits while operands are
    still to be read from its entry: those of the value before, for which the scoreboard does not speak, since
    it was another register.
    """

    strands = True

    def __init__(
        self, config: SmConfig, main: MainRegisterFile, quiet: Callable[[int], bool], probe: Probe
    ) -> None:
        super().__init__(config, main, quiet, probe)
        self._both = [0] * self._rows  # mask of the entries whose result goes to the banks, too
        self._keeps = False  # physical registers are kept for one CTA, and so are rows

    def launch(self, registers: int, exempt: int, slots: int, kept: int) -> None:
        """A launch begins."""
        super().launch(registers, exempt, slots, kept)
        self._keeps = kept > 0

    @property
    def may_activate(self) -> int:
        """Mask of the warps that could be activated: none if no row of the cache is free. Where physical
        registers are kept for one CTA the others leave a row to each of its warps: they may lack registers,
        and keep their rows until they have them."""
        may, served = super().may_activate, self._mapping.served
        if may and self._keeps and len(self.offsets.unused) <= (may & served).bit_count():
            return may & served
        return may

    def before(self, uop: TraceUop) -> TraceUop | None:
        """The move that must issue in the place of a uop: before one that writes some lanes, wherever its
        results go."""
        return self._main.before(uop) if uop.part else None

    def issue(self, uop: TraceUop) -> None:
        """A uop issues: it says where its results go."""
        super().issue(uop)
        offset = self._row_of[uop.warp]
        assert offset is not None
        if uop.near >> MAX_SOURCES & 1:
            for register in range(uop.destination, uop.destination + uop.count):
                bit = 1 << register % self._entries
                self._both[offset] = self._both[offset] & ~bit | (bit if uop.write_back & TO_BANKS else 0)

    def read(self, collector: int, slot: int, uop: TraceUop, register: int, tag: int = 0) -> None:
        """Request an operand (operand read interface). The uop says where it is."""
        entry = register % self._entries if uop.near >> slot & 1 else None
        if entry is not None:
            offset = self._row_of[uop.warp]
            assert offset is not None
            self._locks[offset][entry] += 1
        self._request(collector, slot, uop.warp, register, tag, entry)

    def _place(self, uop: TraceUop, register: int) -> tuple[int | None, bool] | None:
        offset = self._row_of[uop.warp]
        if not uop.near >> MAX_SOURCES & 1 or offset is None:
            return None, True
        entry = register % self._entries
        if self._locks[offset][entry]:
            return None
        return entry, bool(self._both[offset] >> entry & 1)

    def write_back(self, warp: int, register: int, value: Value) -> bool:
        """The compiler's word on where a value is holds only if nobody moves it: no collector that evicts
        values goes with it (`warpbank.arch.schemes`)."""
        raise AssertionError("a collector evicts a value beside a cache that the compiler manages")

    def _empty(self, offset: int) -> bool:
        warp = self._owner[offset]
        assert warp is not None
        return self._quiet(warp)
