"""Mover: carries registers between a bank of the main register file and the register file cache."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from warpbank.golden.storage.metadata import EMPTY, Metadata
from warpbank.golden.values import Value


class Stage(Enum):
    """Stage of a mover: what it does next."""

    IDLE = auto()
    FETCH = auto()  # read its bank
    SHIP_IN = auto()
    FILL = auto()  # write the cache
    SHIP_OUT = auto()
    STORE = auto()  # write its bank


@dataclass
class Move:
    """One register on its way.

    Parameters
    ----------
    warp, register : which.
    entry, offset : its bank and row of the cache.
    row : its row of the main register file.
    value, metadata : once it has been read.
    """

    warp: int
    register: int
    entry: int
    offset: int
    row: int
    value: Value | None = None
    metadata: Metadata = EMPTY


class Mover:
    """One per bank of the main register file: takes a register through the narrow crossbar, one at a time.
    LTRF, section 4.2.

    Parameters
    ----------
    crossing : cycles that a register takes through the crossbar.

    Latency: a register read from its bank in cycle t, in an access of d cycles, can be written into the cache
    in t + d + `crossing`; one read from the cache in t can be written into its bank in t + 1 + `crossing`.
    """

    def __init__(self, crossing: int) -> None:
        self._crossing = crossing
        self.stage = Stage.IDLE
        self.move: Move | None = None
        self._left = 0

    def fetch(self, move: Move) -> None:
        """Bring a register in."""
        self.stage, self.move = Stage.FETCH, move

    def store(self, move: Move) -> None:
        """Take a register out, which has just been read."""
        self.stage, self.move, self._left = Stage.SHIP_OUT, move, self._crossing

    def fetched(self, value: Value, metadata: Metadata, cycles: int) -> None:
        """The bank begins to read the register, in an access of so many cycles."""
        assert self.move is not None
        self.move.value, self.move.metadata = value, metadata
        self.stage, self._left = Stage.SHIP_IN, self._crossing + cycles - 1

    def done(self) -> None:
        """The register has been written where it goes."""
        self.stage, self.move = Stage.IDLE, None

    def step(self) -> None:
        """A cycle of the crossbar: at the end of a cycle, for a mover that was on the way at its start."""
        self._left -= 1
        if not self._left:
            self.stage = Stage.FILL if self.stage is Stage.SHIP_IN else Stage.STORE
