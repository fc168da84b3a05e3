"""The reserve: physical registers that are kept for those that are served first, so that they can always go
on."""

from __future__ import annotations

from warpbank.golden.round_robin import first_from


class DeadlockReserve:
    """Deadlock reserve: keeps the last free registers for the warps of one CTA, where there are fewer than
    all warps might need.

    One CTA of the SM is served first, in every sub-core, until it ends (`CtaDispatch.turn`). The other warps
    leave as many registers free as its warps here can still need. So these never wait for registers, not at a
    barrier either, where they wait for each other alone; and when the CTA ends, there are enough for the next
    one. A CTA whose turn has come counts as one that has nothing; the registers that its warps have are
    counted one warp a cycle, each in a cycle in which it neither gets nor gives any back.

    Where the registers of one CTA do not fit, one warp is served first: the same until it has issued its last
    uop or waits at a barrier, then the next one in rotating order that does not. The others leave as many
    registers free as it can still need. So it never waits for registers, and when it ends there are enough
    for any other warp. (Warps that wait at a barrier may hold what the others need: then nobody can proceed,
    and the run stops with an error.)

    Parameters
    ----------
    warps : warp slots.

    Attributes
    ----------
    members : mask of the warps of the CTA that is served first.
    """

    def __init__(self, warps: int) -> None:
        self._warps = warps
        self._needs = self._whole = 0
        self.first = 0  # the warp that was served first in the cycle before
        self.held = [0] * warps  # registers that each warp has
        self.members = 0
        self._counted = 0  # mask of the warps whose registers have been counted
        self._left = 0  # registers that the CTA can still need, beside those that have been counted
        self._changed = 0  # mask of the warps that got or gave back registers in this cycle

    @property
    def by_cta(self) -> bool:
        """Test of the launch: a CTA is served first, and not one warp."""
        return self._whole > 0

    @property
    def stale(self) -> bool:
        """Test of the count: it is another CTA's."""
        return bool(self._counted & ~self.members)

    @property
    def busy(self) -> bool:
        """Test of the next cycle: it has something to count."""
        return self.by_cta and self._counted != self.members

    def launch(self, needs: int, everybody: bool, whole: int) -> None:
        """A launch begins: a warp can have `needs` renamed registers. `everybody`: there are enough for all
        warps. `whole`: the warps of a CTA can have so many together; 0: they do not fit."""
        self._whole = whole
        self._needs = 0 if everybody or whole else needs
        self.held = [0] * self._warps
        self._counted, self._left = 0, whole

    def served(self, here: int) -> int:
        """The warp that is served first where a CTA's registers do not fit. `here`: mask of the warps that
        have uops to issue and do not wait at a barrier."""
        return first_from(here, self.first) if here and not here >> self.first & 1 else self.first

    def look(self, here: int) -> tuple[int, int]:
        """Mask of the warps that are served first, and how many registers the others leave free."""
        if self.by_cta:
            return self.members, self._whole if self.stale else max(0, self._left)
        first = self.served(here)
        return 1 << first, max(0, self._needs - self.held[first])

    def take(self, warp: int, count: int) -> None:
        """A warp gets registers, or gives some back (a negative count)."""
        self.held[warp] += count
        if count:
            self._changed |= 1 << warp
            if self._counted >> warp & 1:
                self._left -= count

    def edge(self) -> None:
        """End the cycle: count one more warp, or begin with another CTA."""
        if self.stale:
            self._counted, self._left = 0, self._whole
        elif self.by_cta:
            missing = self.members & ~self._counted
            lowest = missing & -missing
            if lowest and not self._changed & lowest:
                self._left -= self.held[lowest.bit_length() - 1]
                self._counted |= lowest
        self._changed = 0
