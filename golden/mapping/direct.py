"""Direct mapping: a warp's registers lie in rows of their own, spread over the banks."""

from __future__ import annotations

from warpbank.arch.parameters import SubCoreConfig


class Direct:
    """Bank (register + warp) mod banks; row: the warp's base + register / banks. Combinational.

    Adding the warp number puts the same register of neighbouring warps into different banks (GPGPU-Sim's
    swizzle).
    """

    def __init__(self, config: SubCoreConfig) -> None:
        self._bank_mask = config.banks - 1
        self._shift = config.banks.bit_length() - 1
        self._base = [0] * config.warps

    def start(self, warp: int, row: int) -> None:
        """The registers of a new warp begin at `row` of every bank."""
        self._base[warp] = row

    def locate(self, warp: int, register: int) -> tuple[int, int]:
        """(bank, row) of a register."""
        return (register + warp) & self._bank_mask, self._base[warp] + (register >> self._shift)
