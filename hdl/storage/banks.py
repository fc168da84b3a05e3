"""Plain storage: a row of a bank is a warp register, written with a mask per lane."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Mux, Value
from amaranth.lib import wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import Out

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import Scalar
from warpbank.hdl.layouts import Collection
from warpbank.hdl.main.arbiter import Arbiter
from warpbank.hdl.main.poison import POISON, stale
from warpbank.hdl.main.ports import BankPortInterface, FreedInterface, StoragePorts
from warpbank.hdl.probe import Events


class Banks(wiring.Component):
    """Single-ported banks with lane write masks, each a memory `bank_<number>`. A row holds anything before
    it is first written.

    Parameters
    ----------
    config : the machine: banks, rows, lanes.
    probe : generate `events`, of which plain banks have none.
    poison : registers that can be released in a cycle, if the lanes of a row that have not been written since
        its release are to read as `POISON`; 0: they read as they were.
    told : there is no metadata to be told.

    Members
    -------
    those of `warpbank.hdl.main.ports.StoragePorts`.

    Latency: a read is registered (row in one cycle, data in the next); a write is there in the next cycle.
    """

    #: An operand comes without metadata, in the cycle after its bank was read; a write is done at once.
    parts, read_delay, write_delay, zeros, waits = 0, 0, 0, 0, False
    #: Nothing is executed by one lane.
    executes: frozenset[Scalar] = frozenset()

    bank: list[BankPortInterface]
    freed: list[FreedInterface]

    def __init__(self, config: SmConfig, probe: bool = False, poison: int = 0, told: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"Banks needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config, self._probe = config, probe
        members = dict(StoragePorts(config, poison=poison).members)
        reported = self._reported() if probe else {}
        if reported:
            members.update(events=Out(Events(config, reported)))
        super().__init__(members)

    def _reported(self) -> dict[str, int]:
        """Events with `probe`, and how many instances of each: none."""
        return {}

    def arbiter(self, collection: Collection, shared: bool, probe: bool) -> Arbiter:
        """A queue of reads per bank. `shared`: a cache uses the collectors' ports, too."""
        return Arbiter(self._config, collection.entries, collection.tags, probe, shared=shared)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        for number, bank in enumerate(self.bank):
            m.d.comb += [
                bank.data.eq(self._found(m, number, self._memory(m, number))),
                bank.written.eq(bank.write),
                bank.stored.eq(bank.write),
            ]
        return m

    def _memory(self, m: Module, number: int) -> Value:
        """Build the memory of a bank. Returns what was read last."""
        bank = self.bank[number]
        memory = m.submodules[f"bank_{number}"] = Memory(
            shape=self._config.value_width, depth=self._config.sub_core.rows, init=[]
        )
        read, write = memory.read_port(), memory.write_port(granularity=32)
        m.d.comb += [
            read.addr.eq(bank.row),
            read.en.eq(bank.read),
            write.addr.eq(bank.row),
            write.data.eq(bank.value),
            write.en.eq(bank.write.replicate(len(bank.mask)) & bank.mask),
        ]
        return read.data

    def _found(self, m: Module, number: int, data: Value) -> Value:
        """Answer of bank `number`, given what its memory holds."""
        if not self.freed:
            return data
        bank, lanes = self.bank[number], self._config.lanes
        written = bank.write.replicate(lanes) & bank.mask
        old = stale(m, number, self._config.sub_core.rows, self.freed, bank.row, bank.read, written)
        return Cat(Mux(old[lane], POISON, data.word_select(lane, 32)) for lane in range(lanes))
