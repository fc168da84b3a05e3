"""Plain storage: a row of a bank is a warp register, written with a mask per lane."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Module, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.interfaces import BankPort


class Banks(wiring.Component):
    """Single-ported banks with lane write masks, each a memory `bank_<number>`. A row holds anything before
    it is first written.

    Parameters
    ----------
    config : the machine: banks, rows, lanes.
    probe : there are no events.

    Members
    -------
    bank : In(BankPort) per bank.

    Latency: a read is registered (row in one cycle, data in the next); a write is there in the next cycle.
    """

    def __init__(self, config: SmConfig, probe: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Banks needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config = config
        super().__init__({"bank": In(BankPort(config)).array(config.sub_core.banks), **self._members()})

    def _members(self) -> dict[str, Any]:
        """What banks made from these have besides."""
        return {}

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number, bank in enumerate(self.bank):
            memory = m.submodules[f"bank_{number}"] = Memory(
                shape=self._config.value_width, depth=self._config.sub_core.rows, init=[]
            )
            read, write = memory.read_port(), memory.write_port(granularity=32)
            m.d.comb += [
                read.addr.eq(bank.row),
                read.en.eq(bank.read),
                bank.data.eq(self._found(m, number, bank, read.data)),
                write.addr.eq(bank.row),
                write.data.eq(bank.value),
                write.en.eq(bank.write.replicate(len(bank.mask)) & bank.mask),
            ]
        return m

    def _found(self, m: Module, number: int, bank: Any, data: Value) -> Value:
        """What bank `number` answers, given what its memory holds."""
        return data
