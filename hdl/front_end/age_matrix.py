"""Age matrix of the warps: row w has a bit for every warp older than w."""

from __future__ import annotations

from amaranth.hdl import Cat, Module, Signal, Value


def age_matrix(m: Module, start: Value) -> list[Signal]:
    """Matrix of the warps' ages, a row per warp. Warps of the mask `start` are the youngest from the next
    cycle on; of several that start in one cycle the lower slot is the older."""
    warps = len(start)
    older = [Signal(warps, init=(1 << warp) - 1, name=f"older_{warp}") for warp in range(warps)]
    with m.If(start.any()):
        for warp, row in enumerate(older):
            before = (1 << warp) - 1
            with m.If(start[warp]):
                m.d.sync += row.eq(~start & ((1 << warps) - 1) | start & before)
            with m.Else():
                m.d.sync += row.eq(row & ~start)
    return older


def oldest_of(mask: Value, older: list[Signal]) -> Value:
    """Oldest warp of `mask`, one-hot; 0 if `mask` is 0."""
    return Cat(bit & ~(row & mask).any() for bit, row in zip(mask, older, strict=True))
