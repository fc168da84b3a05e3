"""The release flag cache: pir words that warps have fetched, shared by all of them."""

from __future__ import annotations

from warpbank.golden.round_robin import first_from


class FlagCache:
    """Release flag cache: as many words as warps, found by the pc of the first instruction that they cover.
    Renaming, section 6.2.

    A warp that comes among the instructions of a word, from elsewhere or at its first one, looks for it. If
    it is there, it need not be fetched; if not, it replaces the first word, in rotating order behind the one
    replaced last, that no other warp is among the instructions of. (The paper compares distances with the
    instruction buffers; both find the words that nobody needs.) There is always one.

    Parameters
    ----------
    warps : warp slots.
    """

    def __init__(self, warps: int) -> None:
        self._warps = warps
        self._tags: list[int | None] = [None] * warps
        self._used: list[int | None] = [None] * warps
        self._pointer = 0

    def start(self, warp: int) -> None:
        """A new warp starts: it is nowhere yet."""
        self._used[warp] = None

    def fill(self, warp: int, pc: int, first: int | None) -> bool | None:
        """A warp takes the instruction at `pc`, covered by the word for `first`; None: by no word. Returns
        whether the word is there (it is from now on); None: it does not look for it, since it is among its
        instructions already."""
        if first is None:
            self._used[warp] = None
            return None
        own = self._used[warp]
        if own is not None and self._tags[own] == first and pc != first:
            return None
        hit = first in self._tags
        if hit:
            entry = self._tags.index(first)
        else:
            used = sum(
                1 << number for number in {e for w, e in enumerate(self._used) if e is not None and w != warp}
            )
            entry = first_from(~used & ((1 << self._warps) - 1), self._pointer)
            self._pointer = (entry + 1) % self._warps
            self._tags[entry] = first
        self._used[warp] = entry
        return hit
