"""Plain storage in simulation of renamed registers: what was released reads as a pattern."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from arch.rooms import SmConfig

from ..mapping.table import TABLE_BANKS
from .banks import Banks

#: What a released register reads as, in every lane.
POISON = 0xDEADBEEF


class Freed(wiring.Signature):
    """A physical register is released (seen from who does it)."""

    def __init__(self, config: SmConfig) -> None:
        core = config.sub_core
        super().__init__({"valid": Out(1), "bank": Out(core.bank_width), "row": Out(core.row_width)})


class PoisonedBanks(Banks):
    """As `Banks`; the lanes of a row that have not been written since it was released read as `POISON`, so that who reads a
    register after its release is found out, as in the golden model. Not for synthesis: the machine has it with `probe` only.

    A bit per row and lane, with a port for each release of a cycle.

    Parameters
    ----------
    config : as in `Banks`.

    Members (beyond those of `Banks`)
    -------
    freed : In(Freed) per register that can be released in a cycle.
    """

    def _members(self) -> dict[str, Any]:
        return {"freed": In(Freed(self._config)).array(TABLE_BANKS)}

    def _found(self, m: Module, number: int, bank: Any, data: Value) -> Value:
        lanes = self._config.lanes
        stale = m.submodules[f"stale_{number}"] = Memory(shape=lanes, depth=self._config.sub_core.rows, init=[])
        read, written = stale.read_port(), stale.write_port(granularity=1)
        m.d.comb += [
            read.addr.eq(bank.row), read.en.eq(bank.read),
            written.addr.eq(bank.row), written.data.eq(0), written.en.eq(bank.write.replicate(lanes) & bank.mask),
        ]
        for freed in self.freed:
            port = stale.write_port()
            m.d.comb += [
                port.addr.eq(freed.row), port.data.eq(~0), port.en.eq(freed.valid & (freed.bank == number)),
            ]
        return Cat(Mux(read.data[lane], POISON, data.word_select(lane, 32)) for lane in range(lanes))
