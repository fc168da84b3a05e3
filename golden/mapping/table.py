"""The renaming table: where each register of each warp is, if anywhere."""

from __future__ import annotations

from typing import Final

#: Banks of the table. Register r is in bank r mod 4, so that a wide result or an aligned group uses each bank
#: once.
TABLE_BANKS: Final = 4


class RenamingTable:
    """(warp, register) -> physical register, and which registers have one. Renaming, section 6.1.

    A register gets a physical register when it is written without having one, and loses it when it is
    released. All questions are answered from the clock edge; what is entered or dropped in a cycle counts
    from the next one on.

    Parameters
    ----------
    warps : warp slots.
    """

    def __init__(self, warps: int) -> None:
        self.mapped = [0] * warps  # per warp, mask of the registers that have a physical one
        self._physical: list[dict[int, int]] = [{} for _ in range(warps)]
        self._entered: list[tuple[int, int, int]] = []
        self._dropped: list[tuple[int, int]] = []

    def launch(self) -> None:
        """A launch begins: no register has a physical one."""
        self.mapped = [0] * len(self.mapped)
        self._physical = [{} for _ in self.mapped]

    def find(self, warp: int, register: int) -> int | None:
        """Physical register of a register; None: it has none."""
        return self._physical[warp].get(register)

    def enter(self, warp: int, register: int, physical: int) -> None:
        """The register is in `physical` from now on."""
        assert register not in self._physical[warp], (
            f"register {register} of warp {warp} has a physical register already"
        )
        self._entered.append((warp, register, physical))

    def drop(self, warp: int, register: int) -> int:
        """The register is nowhere from now on. Returns where it was."""
        self._dropped.append((warp, register))
        return self._physical[warp][register]

    def edge(self) -> None:
        """The clock edge."""
        for warp, register in self._dropped:
            del self._physical[warp][register]
            self.mapped[warp] &= ~(1 << register)
        for warp, register, physical in self._entered:
            self._physical[warp][register] = physical
            self.mapped[warp] |= 1 << register
        self._dropped.clear()
        self._entered.clear()

    def owners(self) -> dict[int, tuple[int, int]]:
        """Physical register -> (warp, register) that has it."""
        return {
            physical: (warp, register)
            for warp, names in enumerate(self._physical)
            for register, physical in names.items()
        }
