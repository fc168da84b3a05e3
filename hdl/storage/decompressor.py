"""Decompression: the bytes that were kept once are put back into every lane."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from warpbank.arch.parameters import SmConfig
from warpbank.hdl.storage.compressor import BYTES, checked


class Decompressor(wiring.Component):
    """Shared bytes from the base value, the others from the banks. G-Scalar, section 3.2, figure 5.

    The base is gated with its encoding bits once for all lanes, so that a bit costs one AND-OR, not a
    multiplexer.

    Parameters
    ----------
    config : the machine: lanes.
    parts : 1, or 2 if each half was encoded by itself.

    Members
    -------
    enable : In(1). Take what follows.
    data : In, 32 bits per lane. What the banks' arrays delivered; bytes whose encoding bit is set are not
        looked at.
    enc : In(4) per part. Encoding bits.
    base : In(32) per part. The shared bytes.
    value : Out, 32 bits per lane. The register.

    Latency: one cycle; `value` holds until the next one is taken.

    Raises
    ------
    TypeError : no configuration.
    ValueError : the lanes cannot be cut into so many parts.
    """

    enable: Signal
    data: Signal
    enc: list[Signal]
    base: list[Signal]
    value: Signal

    def __init__(self, config: SmConfig, parts: int = 1) -> None:
        self._config = checked(self, config, parts, "decompressed")
        self._parts = parts
        super().__init__(
            {
                "enable": In(1),
                "data": In(config.value_width),
                "enc": In(BYTES).array(parts),
                "base": In(32).array(parts),
                "value": Out(config.value_width),
            }
        )

    def elaborate(self, platform: object) -> Module:
        m = Module()
        kept = Signal.like(self.value, reset_less=True)
        size = self._config.lanes // self._parts
        gated = [Signal(32, name=f"gated_{part}") for part in range(self._parts)]
        stored = [Signal(32, name=f"stored_{part}") for part in range(self._parts)]
        for part in range(self._parts):
            chosen = Cat(self.enc[part][byte].replicate(8) for byte in range(BYTES))
            m.d.comb += [gated[part].eq(self.base[part] & chosen), stored[part].eq(~chosen)]
        with m.If(self.enable):
            for lane in range(self._config.lanes):
                part, at = lane // size, slice(32 * lane, 32 * lane + 32)
                m.d.sync += kept[at].eq(self.data[at] & stored[part] | gated[part])
        m.d.comb += self.value.eq(kept)
        return m
