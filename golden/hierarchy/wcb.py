"""The warp control block: where a warp's registers are, which it needs, and which are alive (LTRF, figure
7)."""

from __future__ import annotations

from warpbank.golden.hierarchy.places import Places


class WarpControlBlock:
    """One warp's part. LTRF, sections 4.1 and 4.2.

    Parameters
    ----------
    warp : its number.
    liveness : track which registers are alive (LTRF+); else all of them always are, until the warp ends.

    Attributes
    ----------
    offset : warp-offset address, the warp's row in all banks of the cache; None while the warp is not in the
        cache.
    table : register cache address table: the bank of each register that has a place.
    placed : mask of the registers that the cache holds or that have been chosen to come.
    coming : mask of the registers that have been chosen to come and are not there yet.
    departing : mask of the registers that have been chosen to leave and still have their place.
    storing : mask of the registers that have been chosen to leave and are not in the main register file yet.
    working : working-set bit-vector of the interval that the warp is in.
    live : liveness bit-vector.
    new : the warp in this slot has not been active yet; the vectors are those of the one before.
    loading : the warp has been given its row in the cycle before, and its vectors come from their memory.
    leaving : the warp has been deactivated and its registers leave.
    places : the places of its row. While the warp is not in the cache it has none, so a unit per row does for
        a unit per warp.
    """

    __slots__ = (
        "_liveness",
        "coming",
        "departing",
        "leaving",
        "live",
        "loading",
        "new",
        "offset",
        "placed",
        "places",
        "storing",
        "table",
        "warp",
        "working",
    )

    def __init__(self, warp: int, liveness: bool) -> None:
        self.warp, self._liveness = warp, liveness
        self.offset: int | None = None
        self.table: dict[int, int] = {}
        self.placed = self.coming = self.departing = self.storing = self.working = 0
        self.leaving = self.loading = False
        self.live = 0
        self.new = True

    def activate(self, offset: int, places: Places) -> None:
        """The warp gets a row; its vectors are there a cycle later. A new one is in no interval, and nothing
        of it is alive."""
        self.offset, self.places, self.loading = offset, places, True
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
        return self.placed & ~self.coming

    @property
    def moving(self) -> int:
        """Registers on their way between cache and main register file."""
        return self.coming | self.storing

    @property
    def out(self) -> int:
        """Registers that may be chosen to leave: none while others come."""
        return 0 if self.coming else self.placed & ~self.target

    @property
    def into(self) -> int:
        """Registers that may be chosen to come: none before those that leave have been read out, so that
        there is a place for each."""
        return 0 if self.departing or self.placed & ~self.target else self.target & ~self.placed

    @property
    def complete(self) -> bool:
        """The cache holds what the warp's interval needs, and nothing else of it."""
        return (
            self.offset is not None
            and not (self.leaving or self.loading or self.coming)
            and self.placed == self.working
        )

    @property
    def empty(self) -> bool:
        """The warp leaves, and the last of its registers has been read out of the cache."""
        return self.leaving and not self.placed and not self.departing
