"""Memory coalescing of a warp's addresses: lines of global and local memory, passes over the shared banks."""

from __future__ import annotations

from collections.abc import Iterable

#: Bytes of a line; banks of shared memory, 4 bytes wide.
LINE, BANKS = 128, 32
#: Generic addresses from a window's base on, for so many bytes, are shared or local.
WINDOW = 1 << 24
#: First line number of local memory, beyond what a 57-bit line of global memory uses, and lines of a warp.
_LOCAL, LOCAL_LINES = 1 << 56, 1 << 22


def global_lines(addresses: Iterable[int], size: int) -> list[int]:
    """Distinct lines in order of first touch."""
    return list(
        dict.fromkeys(
            line for address in addresses for line in range(address // LINE, (address + size - 1) // LINE + 1)
        )
    )


def local_lines(addresses: Iterable[int], size: int, warp: int) -> list[int]:
    """Distinct lines of local memory in order of first touch, where one word of all lanes of a warp stands in
    one line. `warp`: its number in the job."""
    words = (word for address in addresses for word in range(address // 4, (address + size - 1) // 4 + 1))
    return list(dict.fromkeys(_LOCAL + warp * LOCAL_LINES + word % LOCAL_LINES for word in words))


def shared_passes(lanes: Iterable[tuple[int, int]], size: int, atomic: bool) -> int:
    """Passes that the accesses (lane, address) take: accesses of 8 bytes go by half warps, of 16 by quarters.
    Lanes that want the same word share a pass, except in an atomic."""
    words = max(size // 4, 1)
    parts: dict[int, dict[int, list[int]]] = {}  # by part of the warp, then bank: words wanted
    for lane, address in lanes:
        banks = parts.setdefault(lane * words // 32, {})
        for word in range(address // 4, address // 4 + words):
            wanted = banks.setdefault(word % BANKS, [])
            if atomic or word not in wanted:
                wanted.append(word)
    return sum(max(map(len, banks.values())) for banks in parts.values())
