"""Storage with a scalar bank beside the others, which serves one register per cycle."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from warpbank.arch.events import Cause
from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MOVE
from warpbank.golden.execute.scalar import ScalarLanes
from warpbank.golden.interfaces import Storage
from warpbank.golden.main.arbiter import Arbiter
from warpbank.golden.probe import Probe
from warpbank.golden.round_robin import first_from
from warpbank.golden.storage.arrays import WORD_LANES, groups
from warpbank.golden.storage.compressor import SCALAR, Compressor
from warpbank.golden.storage.decompress_moves import DecompressMoves
from warpbank.golden.storage.metadata import Metadata
from warpbank.golden.storage.scalar_rf import ScalarRf
from warpbank.golden.stream import TraceUop
from warpbank.golden.values import Value

#: What is known of an operand: whether the scalar bank delivered it.
_NOTES: Final = {held: Metadata(False, (SCALAR if held else 0,), held, (0,)) for held in (False, True)}


class Compared:
    """A value between its comparison and its bank.

    Parameters
    ----------
    warp, register, row : whose it is, and where it goes.
    mask, value, metadata : lanes, and whether they are one word.
    lands : it is a result, whose register is free of hazards once it is written.
    """

    __slots__ = ("lands", "mask", "metadata", "register", "row", "value", "warp")

    def __init__(
        self, warp: int, register: int, row: int, mask: int, value: Value, metadata: Metadata, lands: bool
    ) -> None:
        self.warp = warp
        self.register = register
        self.row = row
        self.mask = mask
        self.value = value
        self.metadata = metadata
        self.lands = lands


class ScalarArbiter(Arbiter):
    """An arbiter with one more bank, the last one, for registers whose lanes are all equal. An operand is
    asked for where a bit per register says that it is.

    Parameters
    ----------
    banks : number of banks without it.
    width : bits of a bank's number.
    holds : says whether a register, by bank and row, is in the scalar bank.
    probe : also receives `scalar_grant` and `scalar_conflict`.
    """

    def __init__(self, banks: int, width: int, holds: Callable[[int, int], bool], probe: Probe) -> None:
        super().__init__(banks + 1, probe)
        self._scalar_grant, self._scalar_conflict = (
            probe.ports["scalar_grant"],
            probe.ports["scalar_conflict"],
        )
        self._scalar, self._width, self._holds = banks, width, holds

    def request(self, bank: int, row: int, collector: int, slot: int, tag: int = 0) -> None:
        """Queue a read, at the scalar bank if that has the register."""
        if self._holds(bank, row):
            super().request(self._scalar, row << self._width | bank, collector, slot, tag)
        else:
            super().request(bank, row, collector, slot, tag)

    def _wait(self, bank: int, cause: Cause, count: int) -> None:
        if bank == self._scalar:
            self._scalar_conflict.emit(cause, count)
        else:
            super()._wait(bank, cause, count)

    def _serve(self, bank: int, row: int, collector: int, slot: int) -> None:
        if bank == self._scalar:
            self._scalar_grant.emit(row, collector, slot)
        else:
            super()._serve(bank, row, collector, slot)


class ScalarFile(Storage):
    """Plain banks, and a scalar bank that all operands and results with equal lanes go through. G-Scalar,
    section 4.1: "only one bank for scalar values".

    A result is compared for a cycle, in a stage that every bank has; then it is written into its bank, which
    is not read in that cycle, or into the scalar bank. Where several ask for the scalar bank, one is written,
    in rotating order, and the others wait in their stages, which take no other result until then. Writes go
    before reads there, too. An evicted value that a uop is about to write is not kept as a scalar. What a
    cache moves goes to and from the scalar bank without waiting.

    Parameters
    ----------
    config : the machine; `bank_latency` 100.
    rows : the banks.
    probe : receives `array_read`, `array_write`, `scalar_write`, `scalar_wait`, `lanes`.
    """

    def __init__(self, config: SmConfig, rows: ScalarRf, probe: Probe) -> None:
        self.busy = False
        self.read_delay, self.write_delay, self.late = 0, 1, 0
        self.landing = []
        self.moves = DecompressMoves(config.sub_core.warps, config.lanes)
        self._rows, self._probe = rows, probe
        self._banks, self._width = config.sub_core.banks, config.sub_core.bank_width
        self._every_lane = config.lane_mask
        self._words = groups(self._every_lane, WORD_LANES)
        self._compressor = Compressor(config.lanes)
        self._stages: list[Compared | None] = [None] * self._banks
        self._entering: list[tuple[int, Compared]] = []
        self._pointer = 0
        self._accessed = 0  # banks that are written by their stages in this cycle, and the scalar bank
        self._kept: list[tuple[int, int]] = []
        self._held: dict[tuple[int, int], bool] = {}  # where what was written last was before
        self._held_cycle = 0
        self._scalar = ScalarLanes(config, 1, rows.executes, probe)

    def arbiter(self, probe: Probe) -> Arbiter:
        """A queue per bank, and one for the scalar bank."""
        return ScalarArbiter(self._banks, self._width, self._holds, probe)

    def _holds(self, bank: int, row: int) -> bool:
        """Whether the scalar bank had a register before the writes of this cycle. That matters to an operand
        without a home alone: it is asked for in a row that may be anybody's."""
        if self._held and self._held_cycle == self._probe.cycle and (bank, row) in self._held:
            return self._held[bank, row]
        return self._rows.holds(bank, row)

    # --- Reads.

    def operand(self, bank: int, row: int) -> tuple[Value, Metadata]:
        """A read of a bank, or of the scalar bank, whose row is a register's row and bank."""
        scalar = bank == self._banks
        if scalar:
            bank, row = row & (1 << self._width) - 1, row >> self._width
        return self._read(bank, row, scalar)

    def fetch(self, bank: int, row: int) -> tuple[Value, Metadata]:
        """A read of the bank that has the register."""
        return self._read(bank, row, self._rows.holds(bank, row))

    def _read(self, bank: int, row: int, scalar: bool) -> tuple[Value, Metadata]:
        self._count("array_read", bank, False, scalar, self._words)
        return self._rows.read_scalar(bank, row) if scalar else self._rows.read(bank, row), _NOTES[scalar]

    def content(self, bank: int, row: int) -> tuple[Value, str]:
        """Register of a row, and whether the scalar bank has it."""
        scalar = self._rows.holds(bank, row)
        value = self._rows.read_scalar(bank, row) if scalar else self._rows.read(bank, row)
        return value, "scalar" if scalar else ""

    # --- Writes.

    def begin(self) -> int:
        """Write what was compared. Returns the banks whose stages wait."""
        asking = sum(
            1 << bank
            for bank, result in enumerate(self._stages)
            if result is not None and result.metadata.full
        )
        held = self._accessed = 0
        self._held.clear()
        self._held_cycle = self._probe.cycle
        if asking:
            first = first_from(asking, self._pointer)
            self._pointer = (first + 1) % self._banks
            self._accessed = 1 << self._banks
            held = asking & ~(1 << first)
        if held:
            self._probe.emit("scalar_wait", held.bit_count())
        for bank, result in enumerate(self._stages):
            if result is not None and not held >> bank & 1:
                self._write(bank, result)
                self._stages[bank] = None
                if result.lands:
                    self.landing.append((result.warp, 1 << result.register))
        return held

    def _write(self, bank: int, result: Compared) -> None:
        """Write a value that was compared."""
        scalar = result.metadata.full
        self._held[bank, result.row] = self._rows.holds(bank, result.row)
        if scalar:
            self._rows.write_scalar(bank, result.row, result.metadata.base[0])
            self._probe.emit("scalar_write", result.row << self._width | bank)
        else:
            self._rows.write(bank, result.row, result.mask, result.value)
            self._accessed |= 1 << bank
        self.moves.note(result.warp, result.register, scalar)
        self._count("array_write", bank, result.metadata.divergent, scalar, groups(result.mask, WORD_LANES))

    def describe(self, uop: TraceUop, value: Value) -> Metadata:
        """Whether the lanes of a result are all equal, and it is one of all threads."""
        part = uop.part and not uop.seq & MOVE
        return self._compared(value, uop.lane_mask, not uop.part and not uop.seq & MOVE, part)

    def encode(self, value: Value, compress: bool) -> Metadata:
        """Whether all lanes are equal."""
        return self._compared(value, self._every_lane, compress, False)

    def _compared(self, value: Value, mask: int, scalar: bool, divergent: bool) -> Metadata:
        code = self._compressor.compress(value, mask)
        scalar = scalar and code.full
        return Metadata(divergent, (SCALAR if scalar else 0,), scalar, code.base)

    def result(self, bank: int, row: int, uop: TraceUop, register: int, value: Value) -> None:
        """A result enters the stage of its bank."""
        metadata = self.describe(uop, value)
        self._entering.append(
            (bank, Compared(uop.warp, register, row, uop.lane_mask, value, metadata, lands=True))
        )
        self.busy = True

    def write_back(self, bank: int, row: int, warp: int, register: int, value: Value, compress: bool) -> None:
        """A value enters the stage of its bank."""
        metadata = self.encode(value, compress)
        self._entering.append(
            (bank, Compared(warp, register, row, self._every_lane, value, metadata, lands=False))
        )
        self.busy = True

    def put(self, bank: int, row: int, mask: int, value: Value, metadata: Metadata) -> None:
        """Lanes are written at once."""
        if metadata.full:
            self._rows.write_scalar(bank, row, int(value[0]))
            self._probe.emit("scalar_write", row << self._width | bank)
        else:
            self._rows.write(bank, row, mask, value)
        self._count("array_write", bank, metadata.divergent, metadata.full, groups(mask, WORD_LANES))

    def keep(self, warp: int, mask: int) -> None:
        """A result that no bank takes is a cycle late, too."""
        self._kept.append((warp, mask))
        self.busy = True

    def written(self, taken: int) -> int:
        """The banks that their stages write."""
        return self._accessed

    def _count(self, event: str, bank: int, divergent: bool, scalar: bool, plain: int) -> None:
        self._probe.emit(event, bank, divergent, SCALAR if scalar else 0, 0 if scalar else plain, plain)

    def poison(self, bank: int, row: int) -> None:
        """The row reads as `POISON`."""
        self._rows.poison(bank, row)

    def poisoned(self, value: Value) -> Value:
        """Poisoned value of a cache: it stays as it is, since metadata is about all lanes."""
        return value

    def step(self) -> None:
        """End the cycle: what was taken in it has been compared."""
        for bank, result in self._entering:
            self._stages[bank] = result
        self._entering.clear()
        self._accessed = 0
        self.landing.extend(self._kept)
        self._kept.clear()
        self.busy = bool(self.landing) or any(self._stages)

    # --- Uops.

    def before(self, uop: TraceUop, missing: int) -> TraceUop | None:
        """The move that must issue in the place of a uop that has no hazard."""
        return self.moves.before(uop, missing)

    def issue(self, uop: TraceUop, missing: int) -> None:
        """A uop issues: an evicted value that it will write is kept as it is. A move leaves all lanes."""
        self.moves.issue(uop, missing)
        if not uop.part or not uop.collects:
            return
        for stage in self._stages:
            if (
                stage is not None
                and not stage.lands
                and stage.warp == uop.warp
                and uop.destination <= stage.register < uop.destination + uop.count
            ):
                stage.metadata = self.encode(stage.value, False)

    def dispatched(self, uop: TraceUop) -> bool:
        """A uop goes to its unit. A move's result is its operand. Returns whether one lane executes it."""
        if uop.seq & MOVE:
            uop.values = [uop.operands[0]]
        return self._scalar.dispatch(uop)


def scalar_file(config: SmConfig, probe: Probe) -> ScalarFile:
    """Storage with a scalar bank, with the stages around its banks."""
    return ScalarFile(config, ScalarRf(config.sub_core, config.lanes), probe)
