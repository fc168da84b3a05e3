"""Decompress moves: what must run before some lanes of a compressed register are written."""

from __future__ import annotations

from warpbank.arch.uop import MOVE, Control, Unit
from warpbank.golden.stream import Template, TraceUop


class DecompressMoves:
    """Decompress moves: which registers of every warp are compressed, and what moves follow. G-Scalar, 3.3.

    A compressed register has lanes in the base value, so that writing some of its lanes into the banks would
    lose the others. A uop that is about to do so lets a move go first, which reads all lanes and writes them
    back as they are; the scoreboard makes the uop wait. A uop whose destinations hold nothing that any lane
    still needs goes at once.

    Parameters
    ----------
    warps, lanes : warp slots; lanes of a warp register.
    """

    def __init__(self, warps: int, lanes: int) -> None:
        self._compressed = [0] * warps
        self._lanes = (1 << lanes) - 1

    def note(self, warp: int, register: int, compressed: bool) -> None:
        """A register was written."""
        if compressed:
            self._compressed[warp] |= 1 << register
        else:
            self._compressed[warp] &= ~(1 << register)

    def issue(self, uop: TraceUop, missing: int) -> None:
        """A uop issues, or a move. What is moved is no longer compressed, nor is what the uop writes first of
        all: it had no physical register (`missing`), and what is known of it is of a value that was released.
        A collector or a cache may keep the new value, so that no write tells."""
        if uop.seq & MOVE:
            missing = 1
        if missing:
            self._compressed[uop.warp] &= ~(missing << uop.destination)

    def before(self, uop: TraceUop, missing: int = 0) -> TraceUop | None:
        """The move that must issue in the place of a uop that has no hazard: of the first such destination.
        `missing`: mask of its destinations that are nowhere, so that nothing of them can be lost."""
        if not uop.part or uop.fresh or not uop.collects:
            return None
        packed = self._compressed[uop.warp] >> uop.destination & ((1 << uop.count) - 1) & ~missing
        if not packed:
            return None
        return self.make(uop, uop.destination + (packed & -packed).bit_length() - 1)

    def make(self, uop: TraceUop, register: int) -> TraceUop:
        """The move of a register that goes before `uop`. Its value is what it reads."""
        template = Template(Unit.ALU, Control.NONE, (register,), register, 1)
        return TraceUop(
            template,
            uop.sub_core,
            uop.warp,
            uop.seq | MOVE,
            uop.pc,
            self._lanes,
            self._lanes,
            values=[],
            lines=[],
        )
