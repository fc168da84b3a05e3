"""Base-delta-immediate compression of a warp register, what G-Scalar is compared with."""

from __future__ import annotations

from amaranth.hdl import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import enum, wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig


class Delta(enum.Enum, shape=2):
    """Packing of a register: as it is, or a base and a difference of 0, 1 or 2 bytes per lane."""

    RAW = 0
    NONE = 1
    BYTE = 2
    HALF = 3


#: Bits of a lane's difference, narrowest first.
_WIDTHS = {Delta.BYTE: 8, Delta.HALF: 16}


#: Bits of an array of a bank.
_ARRAY_BITS = 128


def arrays(kind: Delta, lanes: int) -> int:
    """Arrays of a bank that hold a register packed so."""
    size = 32 * lanes if kind is Delta.RAW else 32 + _WIDTHS.get(kind, 0) * lanes
    return -(-size // _ARRAY_BITS)


class BdiCompressor(wiring.Component):
    """Base: lane 0. Differences of the other lanes in 0, 1 or 2 bytes, signed; the narrowest that holds all
    active lanes.

    What G-Scalar's section 2.2 describes and its Fig. 12 calls W-C. A subtractor of 16 bits per lane.

    Parameters
    ----------
    config : the machine: lanes.
    told : `given` says how a value is packed.

    Members
    -------
    enable : In(1). Take `value` and `mask`.
    value : In, 32 bits per lane. A result.
    mask : In, a bit per lane. Active lanes. With lane 0 inactive the register stays as it is.
    raw : In(1). It stays as it is in any case.
    given : In(Delta), if `told`. How to pack the value taken last, whatever fits.
    active : Out, a bit per lane. Active lanes of the value taken last.
    packs : Out(1). The value taken last is packed.
    kind : Out(Delta). How it is packed.
    packed : Out, 32 bits per lane. The base lowest, then lane 0's difference, lane 1's, ..., zeros; or the
        value.

    Latency: one cycle; the outputs hold until the next value is taken.

    Raises
    ------
    TypeError : no configuration.
    """

    enable: Signal
    value: Signal
    mask: Signal
    raw: Signal
    given: enum.EnumView[Delta]
    active: Signal
    packs: Signal
    kind: enum.EnumView[Delta]
    packed: Signal

    def __init__(self, config: SmConfig, told: bool = False) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(f"BdiCompressor needs the machine's configuration, an SmConfig, not {config!r}.")
        self._config, self._told = config, told
        super().__init__(
            {
                "enable": In(1),
                "value": In(config.value_width),
                "mask": In(config.lanes),
                "raw": In(1),
                "active": Out(config.lanes),
                "packs": Out(1),
                "kind": Out(Delta),
                "packed": Out(config.value_width),
                **({"given": In(Delta)} if told else {}),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value, mask = Signal.like(self.value, reset_less=True), Signal.like(self.mask, reset_less=True)
        may = Signal()
        with m.If(self.enable):
            m.d.sync += [value.eq(self.value), mask.eq(self.mask), may.eq(self.mask[0] & ~self.raw)]
        m.d.comb += self.active.eq(mask)
        base = value[:32]
        differences = [Signal(16, name=f"difference_{lane}") for lane in range(self._config.lanes)]
        zero, byte, half = (Signal(self._config.lanes, name=name) for name in ("zero", "byte", "half"))
        # Only lower halves are subtracted. Where the difference fits, the upper half of a lane is that of the
        # base, or one more, or one less, which is found out beside the subtraction.
        above, below = _neighbours(m, base[16:])
        for lane, difference in enumerate(differences):
            word = value[32 * lane : 32 * lane + 32]
            low = Signal(17, name=f"low_{lane}")
            borrows, upper = low[16], word[16:]
            m.d.comb += [low.eq(word[:16] - base[:16]), difference.eq(low[:16])]
            fits = self._near(borrows, difference[15], upper == base[16:], upper == above, upper == below)
            m.d.comb += [
                zero[lane].eq((word == base) | ~mask[lane]),
                byte[lane].eq(fits & _fits(difference, 8) | ~mask[lane]),
                half[lane].eq(fits | ~mask[lane]),
            ]
        m.d.comb += [self.kind.eq(Delta.RAW), self.packed.eq(value)]
        # Differences of a byte or none fit two bytes, so that this is known before the width.
        m.d.comb += self.packs.eq(self.given != Delta.RAW if self._told else may & half.all())
        with m.If(self.given == Delta.NONE if self._told else may & zero.all()):
            m.d.comb += [self.kind.eq(Delta.NONE), self.packed.eq(base)]
        for fits, kind in ((half, Delta.HALF), (byte, Delta.BYTE)):  # the last one that holds counts
            fields = (difference[: _WIDTHS[kind]] for difference in differences)
            with m.If(self.given == kind if self._told else may & fits.all() & ~zero.all()):
                m.d.comb += [self.kind.eq(kind), self.packed.eq(Cat(base, *fields))]
        return m

    def _near(self, borrows: Value, negative: Value, same: Value, more: Value, less: Value) -> Value:
        """Test whether a difference is its lower half, a signed number: whether the upper half of the lane is
        that of the base, `same`, or one `more` or `less`, as the lower half `borrows` and is `negative`."""
        return Mux(negative, Mux(borrows, same, less), Mux(borrows, more, same))


def _neighbours(m: Module, half: Value) -> tuple[Signal, Signal]:
    """Upper half of a base plus one and minus one, for all lanes."""
    above, below = Signal(16, name="above"), Signal(16, name="below")
    m.d.comb += [above.eq(half + 1), below.eq(half - 1)]
    return above, below


def _fits(difference: Value, width: int) -> Value:
    """Test whether it is a signed number of `width` bits."""
    above = difference[width - 1 :]
    return above.all() | ~above.any()


class BdiDecompressor(wiring.Component):
    """Base plus difference in every lane. An adder of 16 bits per lane.

    Parameters
    ----------
    config : the machine: lanes.

    Members
    -------
    enable : In(1). Take what follows.
    kind : In(Delta). How `packed` is packed.
    packed : In, 32 bits per lane.
    value : Out, 32 bits per lane. The register.

    Latency: one cycle; `value` holds until the next one is taken.

    Raises
    ------
    TypeError : no configuration.
    """

    enable: Signal
    kind: enum.EnumView[Delta]
    packed: Signal
    value: Signal

    def __init__(self, config: SmConfig) -> None:
        if not isinstance(config, SmConfig):
            raise TypeError(
                f"BdiDecompressor needs the machine's configuration, an SmConfig, not {config!r}."
            )
        self._config = config
        super().__init__(
            {
                "enable": In(1),
                "kind": In(Delta),
                "packed": In(config.value_width),
                "value": Out(config.value_width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        value = Signal.like(self.value, reset_less=True)
        base = self.packed[:32]
        packed = Cat(
            self.packed, Const(0, 32)
        )  # a register of one lane has no room for a difference, and needs none
        # A lane adds the lower halves; its upper half is that of the base, or one of its neighbours.
        above, below = _neighbours(m, base[16:])
        lanes = []
        for lane in range(self._config.lanes):
            difference = Signal(16, name=f"difference_{lane}")
            for kind, width in _WIDTHS.items():
                with m.If(self.kind == kind):
                    m.d.comb += difference.eq(
                        packed[32 + width * lane : 32 + width * lane + width].as_signed()
                    )
            low = Signal(17, name=f"low_{lane}")
            m.d.comb += low.eq(base[:16] + difference)
            upper = self._upper(low[16], difference[15], base[16:], above, below)
            lanes.append(
                Mux(self.kind == Delta.RAW, packed[32 * lane : 32 * lane + 32], Cat(low[:16], upper))
            )
        with m.If(self.enable):
            m.d.sync += value.eq(Cat(lanes))
        m.d.comb += self.value.eq(value)
        return m

    def _upper(self, carries: Value, negative: Value, same: Value, above: Value, below: Value) -> Value:
        """Upper half of a lane: that of the base or one of its neighbours, as the sum of the lower halves
        `carries` and the difference is `negative`."""
        return Mux(carries == negative, same, Mux(carries, above, below))
