"""The warp control block: where a warp's registers are, which it needs, and which are alive (LTRF, figure
7)."""

from __future__ import annotations

from warpbank.golden.hierarchy.allocation import AddressAllocation


class WarpControlBlock:
    """One warp's part. LTRF, sections 4.1 and 4.2.

    Parameters
    ----------
    liveness : track which registers are alive (LTRF+); else all of them always are, until the warp ends.

    Attributes
    ----------
    offset : warp-offset address, the warp's row in all banks of the cache; None while the warp is not in the
        cache.
    table : register cache address table: the bank of each register that has a place.
    placed : mask of the registers that have a place in the cache: those in it, and those on their way in.
    moving : mask of the registers on their way between cache and main register file.
    working : working-set bit-vector of the interval that the warp is in.
    live : liveness bit-vector.
    new : the warp in this slot has not been active yet; the vectors are those of the one before.
    leaving : the warp has been deactivated and its registers leave.
    unused : the address allocation unit of its row. While the warp is not in the cache it has no bank, so a
        unit per row does for a unit per warp.
    """

    __slots__ = (
        "_liveness",
        "leaving",
        "live",
        "moving",
        "new",
        "offset",
        "placed",
        "table",
        "unused",
        "working",
    )

    def __init__(self, liveness: bool) -> None:
        self._liveness = liveness
        self.offset: int | None = None
        self.table: dict[int, int] = {}
        self.placed = self.moving = self.working = 0
        self.leaving = False
        self.live = 0
        self.new = True

    def activate(self, offset: int, unused: AddressAllocation) -> None:
        """The warp gets a row. A new one is in no interval, and nothing of it is alive."""
        self.offset, self.unused = offset, unused
        if self.new:
            self.working, self.live = 0, 0 if self._liveness else -1
            self.new = False

    def end(self) -> None:
        """The warp has issued its last uop: nothing of it is wanted any more."""
        self.live = 0

    def access(self, read_last: int, written: int) -> None:
        """A uop issues: registers whose last read it is, and registers it writes."""
        if self._liveness:
            self.live = self.live & ~read_last | written

    @property
    def target(self) -> int:
        """Target set: the registers of the warp that the cache shall hold."""
        return 0 if self.leaving else self.working

    @property
    def valid(self) -> int:
        """Registers that the cache holds."""
        return self.placed & ~self.moving

    @property
    def out(self) -> int:
        """Registers that have to lose their place."""
        return self.placed & ~self.target

    @property
    def into(self) -> int:
        """Registers that have to be given a place."""
        return self.target & ~self.placed

    @property
    def complete(self) -> bool:
        """The cache holds what the warp's interval needs, and nothing else of it."""
        return self.offset is not None and not self.leaving and self.valid == self.working

    @property
    def empty(self) -> bool:
        """The warp leaves, and nothing of it is in the cache or on its way."""
        return self.leaving and not self.placed and not self.moving
