"""Mover: carries registers between a bank of the main register file and the register file cache."""

from __future__ import annotations

from amaranth.hdl import Module, Signal
from amaranth.lib import data, enum, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig, bits
from warpbank.hdl.interfaces import REGISTER_WIDTH
from warpbank.hdl.typed import Record, record


class Stage(enum.Enum, shape=3):
    """Stage of a mover: what it does next."""

    IDLE = 0
    FETCH = 1  # read its bank
    SHIP_IN = 2
    FILL = 3  # write the cache
    SHIP_OUT = 4
    STORE = 5  # write its bank


def move_layout(config: SmConfig) -> data.StructLayout:
    """One register on its way: which, its bank and row of the cache, its row of the main register file."""
    core = config.sub_core
    return data.StructLayout(
        {
            "warp": core.warp_width,
            "register": REGISTER_WIDTH,
            "entry": bits(core.cache.registers),
            "offset": bits(core.active_warps),
            "row": core.row_width,
        }
    )


class Mover(wiring.Component):
    """One per bank of the main register file: takes a register through the narrow crossbar, one at a time.
    LTRF, section 4.2.

    Parameters
    ----------
    config : the machine: cache, latency of the banks.
    delay : cycles by which a register comes later than its bank delivers it.
    noted : bits of the note that a register which is taken out has.

    Members
    -------
    fetch, store : In(1). Bring a register in; take one out, which the cache reads in this cycle. Only if
        `idle`.
    order : In(move_layout). Which.
    idle : Out(1). Nothing is on its way.
    move : Out(move_layout). What is, otherwise.
    reads, writes : Out(1). It asks for its bank.
    access : In(1). The bank is given to it in this cycle, for `cycles` cycles.
    cycles : In.
    arrives : Out(1). The register can be written into the cache.
    filled : In(1). It is, in this cycle.
    inbound : Out(1). The register is on its way into the cache.
    value : In(value). What the cache has read: in the cycle after `store`.
    carried : Out(value). The register that is taken out.
    note : In, if `with_metadata`. As `value`.
    known : Out, if `with_metadata`. As `carried`.

    All outputs are from registers. Latency: a register read from its bank in cycle t, in an access of d
    cycles, can be written into the cache in t + d + `crossing` + `delay`; one read from the cache in t can be
    written into its bank in t + 1 + `crossing`.
    """

    fetch: Signal
    store: Signal
    order: Record
    idle: Signal
    move: Record
    reads: Signal
    writes: Signal
    access: Signal
    cycles: Signal
    arrives: Signal
    filled: Signal
    inbound: Signal
    value: Signal
    carried: Signal
    note: Signal
    known: Signal

    def __init__(self, config: SmConfig, delay: int = 0, with_metadata: int = 0) -> None:
        self._config, self._delay, self._noted = config, delay, with_metadata
        core = config.sub_core
        self._width = bits(core.bank_latency // 100 + 2)
        super().__init__(
            {
                "fetch": In(1),
                "store": In(1),
                "order": In(move_layout(config)),
                "idle": Out(1),
                "move": Out(move_layout(config)),
                "reads": Out(1),
                "writes": Out(1),
                "access": In(1),
                "cycles": In(self._width),
                "arrives": Out(1),
                "filled": In(1),
                "inbound": Out(1),
                "value": In(config.value_width),
                "carried": Out(config.value_width),
                **({"note": In(with_metadata), "known": Out(with_metadata)} if with_metadata else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        core = self._config.sub_core
        crossing = core.cache.crossing
        stage = self._stage = Signal(Stage)
        left = self._left = Signal(range(crossing + self._delay + core.bank_latency // 100 + 2))
        fresh = self._fresh = Signal()  # the cache has read the value in the cycle before
        carried = Signal(self._config.value_width, reset_less=True)
        move = record(move_layout(self._config), reset_less=True)
        m.d.comb += [
            self.idle.eq(stage == Stage.IDLE),
            self.reads.eq(stage == Stage.FETCH),
            self.writes.eq(stage == Stage.STORE),
            self.arrives.eq(stage == Stage.FILL),
            self.move.eq(move),
            self.carried.eq(carried),
            self.inbound.eq((stage == Stage.FETCH) | (stage == Stage.SHIP_IN) | (stage == Stage.FILL)),
        ]
        m.d.sync += fresh.eq(self.store)
        with m.If(fresh):
            m.d.sync += carried.eq(self.value)
        if self._noted:
            known = Signal(self._noted, reset_less=True)
            m.d.comb += self.known.eq(known)
            with m.If(fresh):
                m.d.sync += known.eq(self.note)
        with m.If(self.fetch | self.store):
            m.d.sync += move.eq(self.order)
        with m.Switch(stage):
            with m.Case(Stage.IDLE):
                with m.If(self.fetch):
                    m.d.sync += stage.eq(Stage.FETCH)
                with m.Elif(self.store):
                    m.d.sync += [stage.eq(Stage.SHIP_OUT), left.eq(crossing)]
            with m.Case(Stage.FETCH), m.If(self.access):
                m.d.sync += [stage.eq(Stage.SHIP_IN), left.eq(crossing + self._delay + self.cycles - 1)]
            with m.Case(Stage.SHIP_IN, Stage.SHIP_OUT):
                m.d.sync += left.eq(left - 1)
                with m.If(left == 1):
                    with m.If(stage == Stage.SHIP_IN):
                        m.d.sync += stage.eq(Stage.FILL)
                    with m.Else():
                        m.d.sync += stage.eq(Stage.STORE)
            with m.Case(Stage.FILL), m.If(self.filled):
                m.d.sync += stage.eq(Stage.IDLE)
            with m.Case(Stage.STORE), m.If(self.access):
                m.d.sync += stage.eq(Stage.IDLE)
        return m
