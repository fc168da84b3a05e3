"""Memory coalescing of a warp's addresses: lines of global and local memory, passes over the shared banks."""

from __future__ import annotations

from collections.abc import Iterable

from warpbank.arch.uop import LINE_MASK, LINE_WIDTH, SECTOR_BYTES, SECTORS

#: Banks of shared memory, 4 bytes wide.
BANKS = 32
#: Generic addresses from a window's base on, for so many bytes, are shared or local.
WINDOW = 1 << 24
#: First line number of local memory, beyond what a 57-bit line of global memory uses, and lines of a warp.
_LOCAL, LOCAL_LINES = 1 << 56, 1 << 22


def global_lines(addresses: Iterable[int], size: int) -> list[int]:
    """Distinct lines in order of first touch, each with the mask of the sectors touched above its number."""
    found: dict[int, int] = {}
    for address in addresses:
        for sector in range(address // SECTOR_BYTES, (address + size - 1) // SECTOR_BYTES + 1):
            line = sector // SECTORS & LINE_MASK
            found[line] = found.get(line, 0) | 1 << sector % SECTORS
    return _packed(found)


def local_lines(lanes: Iterable[tuple[int, int]], size: int, warp: int) -> list[int]:
    """Distinct lines of local memory in order of first touch, where one word of all lanes of a warp stands in
    one line, each with the mask of the sectors touched above its number. `lanes`: (lane, address); `warp`:
    its number in the job."""
    found: dict[int, int] = {}
    for lane, address in lanes:
        for word in range(address // 4, (address + size - 1) // 4 + 1):
            line = _LOCAL + warp * LOCAL_LINES + word % LOCAL_LINES
            found[line] = found.get(line, 0) | 1 << lane * 4 // SECTOR_BYTES
    return _packed(found)


def _packed(found: dict[int, int]) -> list[int]:
    """Lines with their sectors, as a trace has them."""
    return [sectors << LINE_WIDTH | line for line, sectors in found.items()]


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
