"""Address allocation: which places of the register file cache are free (LTRF, figure 8)."""

from __future__ import annotations


class AddressAllocation:
    """A queue of unused addresses and the set of those that are occupied. LTRF, section 4.2.

    The head of the unused queue is allocated; an address that is released goes to its end. One such unit
    gives the cache's banks to the registers of a warp, another gives warps their row in all banks (the
    warp-offset address).

    Parameters
    ----------
    count : addresses; all of them are unused at first, in ascending order.

    Latency: an address released in cycle t can be allocated in t + 1.
    """

    def __init__(self, count: int) -> None:
        self.unused = list(range(count))
        self.occupied = 0

    def allocate(self) -> int:
        """Take the head of the unused queue. It must not be empty."""
        address = self.unused.pop(0)
        self.occupied |= 1 << address
        return address

    def release(self, address: int) -> None:
        """Give an occupied address back."""
        assert self.occupied >> address & 1, f"address {address} is released although it is free"
        self.occupied &= ~(1 << address)
        self.unused.append(address)
