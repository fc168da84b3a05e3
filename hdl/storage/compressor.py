"""Byte-wise compression of a warp register: the leading bytes that all active lanes share are kept once."""

from __future__ import annotations

from functools import reduce
from itertools import pairwise
from operator import and_, or_

from amaranth.hdl import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.round_robin import lowest

#: Bytes of a lane.
BYTES = 4


def checked(unit: object, config: object, parts: int, done: str) -> SmConfig:
    """The configuration of a unit that works on `parts` equal parts of a register, which are `done`.

    Raises
    ------
    TypeError : no configuration.
    ValueError : the lanes cannot be cut into so many parts.
    """
    if not isinstance(config, SmConfig):
        raise TypeError(
            f"{type(unit).__name__} needs the machine's configuration, an SmConfig, not {config!r}."
        )
    if parts not in (1, 2) or config.lanes % parts:
        raise ValueError(
            f"{config.lanes} lanes cannot be {done} in {parts} equal parts; 1 and, for an even number, 2 "
            "work."
        )
    return config


class Compressor(wiring.Component):
    """Equality of every byte over the active lanes. G-Scalar, sections 3.1, 4.2 and 4.3, figures 3 and 7.

    The paper sends the leading active lane's value to all inactive lanes and compares neighbours. Here each
    of the 32 bit columns is looked at by itself: it is the same in all active lanes if its OR over them is 0
    or its AND is 1, and then the OR is its value. No lane is selected and nothing is broadcast; halves share
    their trees with the whole.

    Parameters
    ----------
    config : the machine: lanes.
    parts : 1: the whole register is encoded; 2: each half by itself.

    Members
    -------
    enable : In(1). Take `value` and `mask`.
    value : In, 32 bits per lane. A result.
    mask : In, a bit per lane. Active lanes.
    data : Out, 32 bits per lane. The value taken last.
    active : Out, a bit per lane. Its active lanes.
    enc : Out(4) per part. Bit i: byte i and all above it are the same in all active lanes of the part.
    base : Out(32) per part. The shared bytes; a byte that is not shared holds the OR of the active lanes.
    full : Out(1). All active lanes of all parts are equal (FS).

    Latency: one cycle; the outputs hold until the next value is taken.

    Raises
    ------
    TypeError : no configuration.
    ValueError : the lanes cannot be cut into so many parts.
    """

    enable: Signal
    value: Signal
    mask: Signal
    data: Signal
    active: Signal
    enc: list[Signal]
    base: list[Signal]
    full: Signal

    def __init__(self, config: SmConfig, parts: int = 1) -> None:
        self._config = checked(self, config, parts, "compressed")
        self._parts = parts
        super().__init__(
            {
                "enable": In(1),
                "value": In(config.value_width),
                "mask": In(config.lanes),
                "data": Out(config.value_width),
                "active": Out(config.lanes),
                "enc": Out(BYTES).array(parts),
                "base": Out(32).array(parts),
                "full": Out(1),
            }
        )

    def _taken(self, m: Module) -> tuple[Signal, Signal]:
        """Take a value and its active lanes into the pipeline register."""
        data, active = Signal.like(self.data, reset_less=True), Signal.like(self.active, reset_less=True)
        with m.If(self.enable):
            m.d.sync += [data.eq(self.value), active.eq(self.mask)]
        m.d.comb += [self.data.eq(data), self.active.eq(active)]
        return data, active

    def elaborate(self, platform: object) -> Module:
        m = Module()
        data, active = self._taken(m)
        size = self._config.lanes // self._parts
        ors, ands = [], []
        for part in range(self._parts):
            lanes = range(part * size, (part + 1) * size)
            either, every = Signal(32, name=f"either_{part}"), Signal(32, name=f"every_{part}")
            for bit in range(32):
                m.d.comb += [
                    either[bit].eq(reduce(or_, (self._counted(data, active, lane, bit) for lane in lanes))),
                    every[bit].eq(reduce(and_, (data[32 * lane + bit] | ~active[lane] for lane in lanes))),
                ]
            ors.append(either)
            ands.append(every)
            equal = _equal(either, every)
            m.d.comb += [
                self.base[part].eq(either),
                self.enc[part].eq(Cat(equal[byte:].all() for byte in range(BYTES))),
            ]
        m.d.comb += self.full.eq(self._full(ors, ands))
        return m

    def _counted(self, data: Value, active: Value, lane: int, bit: int) -> Value:
        """A bit of a lane, 0 if the lane is not active."""
        return data[32 * lane + bit] & active[lane]

    def _full(self, ors: list[Signal], ands: list[Signal]) -> Value:
        """Test whether the columns are uniform over all parts."""
        return _equal(reduce(or_, ors), reduce(and_, ands)).all()


class BroadcastCompressor(Compressor):
    """Byte-wise compressor as figure 7 draws it: the leading active lane's value goes over a bus to the
    inactive lanes, and each lane is compared with its neighbour. G-Scalar, sections 3.1 and 4.2.

    No scheme uses it: its area stands beside that of `Compressor`, which gives equal answers without a bus. A
    byte of `base` that is not shared holds the leading lane's. Whole registers only.

    Parameters
    ----------
    config : the machine: lanes.

    Latency: one cycle; the outputs hold until the next value is taken.
    """

    def __init__(self, config: SmConfig) -> None:
        super().__init__(config)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        data, active = self._taken(m)
        lanes = [data[32 * lane : 32 * lane + 32] for lane in range(self._config.lanes)]
        leading, bus = Signal.like(active), Signal(32)
        m.d.comb += [
            leading.eq(lowest(active)),
            bus.eq(reduce(or_, (Mux(first, lane, 0) for first, lane in zip(leading, lanes, strict=True)))),
        ]
        compared = [Signal(32, name=f"compared_{lane}") for lane in range(len(lanes))]
        m.d.comb += [
            seen.eq(self._seen(on, lane, bus)) for seen, on, lane in zip(compared, active, lanes, strict=True)
        ]
        equal = Signal(BYTES)
        m.d.comb += equal.eq(
            Cat(
                Cat(
                    one.word_select(byte, 8) == other.word_select(byte, 8)
                    for one, other in pairwise(compared)
                ).all()
                for byte in range(BYTES)
            )
        )
        m.d.comb += [
            self.base[0].eq(bus),
            self.enc[0].eq(Cat(equal[byte:].all() for byte in range(BYTES))),
            self.full.eq(equal.all()),
        ]
        return m

    def _seen(self, active: Value, lane: Value, bus: Value) -> Value:
        """Value of a lane as its neighbours see it: its own, or the bus's if it is not active."""
        return Mux(active, lane, bus)


def _equal(either: Value, every: Value) -> Value:
    """The bytes whose eight columns are uniform."""
    uniform = ~either | every
    return Cat(uniform[8 * byte : 8 * byte + 8].all() for byte in range(BYTES))
