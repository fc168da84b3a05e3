"""Poison: in simulation, what a released register reads as, so that who reads one is found out."""

from __future__ import annotations

from collections.abc import Iterable

from amaranth.hdl import Module, Value
from amaranth.lib.memory import Memory

from warpbank.hdl.main.ports import FreedInterface

#: What a released register reads as, in every lane.
POISON = 0xDEADBEEF


def stale(
    m: Module,
    number: int,
    rows: int,
    freed: Iterable[FreedInterface],
    row: Value,
    reads: Value,
    written: Value,
) -> Value:
    """Stale parts of a row, not written since its release: a bit for each bit of `written`. Not for
    synthesis: a memory with a port for each release of a cycle.

    Parameters
    ----------
    number, rows : which bank, and how large.
    freed : `warpbank.hdl.main.ports.Freed` per register that can be released in a cycle.
    row, reads : the row is read in this cycle; the answer stands in the next one.
    written : mask of what is written of the row in this cycle.
    """
    memory = m.submodules[f"stale_{number}"] = Memory(shape=len(written), depth=rows, init=[])
    read, write = memory.read_port(), memory.write_port(granularity=1)
    m.d.comb += [
        read.addr.eq(row),
        read.en.eq(reads),
        write.addr.eq(row),
        write.data.eq(0),
        write.en.eq(written),
    ]
    for release in freed:
        port = memory.write_port()
        m.d.comb += [
            port.addr.eq(release.row),
            port.data.eq(~0),
            port.en.eq(release.valid & (release.bank == number)),
        ]
    return read.data
