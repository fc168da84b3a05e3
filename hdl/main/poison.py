"""Storage in simulation of renamed registers: what was released reads as a pattern."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Const, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.mapping.table import TABLE_BANKS
from warpbank.hdl.storage.banks import Banks
from warpbank.hdl.storage.bdi_banks import BdiBanks
from warpbank.hdl.storage.gscalar import GScalar, GScalarHalf
from warpbank.hdl.storage.metadata import CompressedBanks

#: What a released register reads as, in every lane.
POISON = 0xDEADBEEF


class Freed(wiring.Signature):
    """A physical register is released (seen from who does it)."""

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__({"valid": Out(1), "bank": Out(core.bank_width), "row": Out(core.row_width)})


class Poisoned(wiring.Component):
    """Storage whose rows read as `POISON` after their release, so that who reads a register then is found
    out, as in the golden model. Not for synthesis: the machine has it with `probe` only.

    Members (beyond those of the storage)
    -------
    freed : In(Freed) per register that can be released in a cycle.
    """

    _config: SmConfig

    def _members(self) -> dict[str, Any]:
        return {"freed": In(Freed(self._config)).array(TABLE_BANKS)}

    def _stale(self, m: Module, number: int, width: int, row: Value, reads: Value, written: Value) -> Value:
        """`width` bits per row of bank `number`: set when it is released, reset as `written` says; those of
        the row that was read last. A memory with a port for each release of a cycle."""
        stale = m.submodules[f"stale_{number}"] = Memory(
            shape=width, depth=self._config.sub_core.rows, init=[]
        )
        read, write = stale.read_port(), stale.write_port(granularity=1)
        m.d.comb += [
            read.addr.eq(row),
            read.en.eq(reads),
            write.addr.eq(row),
            write.data.eq(0),
            write.en.eq(written),
        ]
        for freed in self.freed:
            port = stale.write_port()
            m.d.comb += [
                port.addr.eq(freed.row),
                port.data.eq(~0),
                port.en.eq(freed.valid & (freed.bank == number)),
            ]
        return read.data


class PoisonedBanks(Poisoned, Banks):
    """Plain banks in simulation: the lanes of a row not written since it was released read as `POISON`.

    Parameters
    ----------
    config : as in `Banks`.
    """

    def _found(self, m: Module, number: int, bank: Any, data: Value) -> Value:
        lanes = self._config.lanes
        stale = self._stale(m, number, lanes, bank.row, bank.read, bank.write.replicate(lanes) & bank.mask)
        return Cat(Mux(stale[lane], POISON, data.word_select(lane, 32)) for lane in range(lanes))


class PoisonedMetadata(Poisoned, CompressedBanks):
    """Compressed banks in simulation: a row that has not been written since it was released reads as
    `POISON`, and later each byte that has not been written since. The note of the row stays what it was.

    Parameters
    ----------
    config, probe : as in `CompressedBanks`.
    """

    def _found(
        self, m: Module, number: int, row: Value, reads: Value, writes: Value, written: Value, content: Value
    ) -> tuple[Value, Value]:
        count = len(written)
        stale = self._stale(m, number, count + 1, row, reads, Cat(written, writes))
        pattern = Const(POISON, 32).replicate(count // 4)
        found = Cat(
            Mux(stale[byte], pattern.word_select(byte, 8), content.word_select(byte, 8))
            for byte in range(count)
        )
        return found, stale[count]


class PoisonedGScalar(PoisonedMetadata, GScalar):
    """`GScalar` whose released rows are poisoned."""


class PoisonedGScalarHalf(PoisonedMetadata, GScalarHalf):
    """`GScalarHalf` whose released rows are poisoned."""


class PoisonedBdiBanks(PoisonedMetadata, BdiBanks):
    """`BdiBanks` whose released rows are poisoned."""


#: Of each storage, the one whose released rows are poisoned.
POISONED: dict[Any, Any] = {
    Banks: PoisonedBanks,
    GScalar: PoisonedGScalar,
    GScalarHalf: PoisonedGScalarHalf,
    BdiBanks: PoisonedBdiBanks,
}
