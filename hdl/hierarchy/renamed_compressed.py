"""The flat hierarchy over renamed registers in a storage that compresses."""

from __future__ import annotations

from typing import Any

from amaranth.hdl import Const, Mux, Value

from warpbank.hdl.hierarchy.compressed import Compressed
from warpbank.hdl.hierarchy.renamed import RenamedFlat
from warpbank.hdl.storage.metadata import metadata_layout


class RenamedCompressed(RenamedFlat, Compressed):
    """Flat hierarchy over renamed registers in compressed banks. A source that was never written is known to
    be scalar: it is delivered as zeros.

    Parameters
    ----------
    config, mapping, storage, arbiter, tags, evicts, probe : as in `RenamedFlat`.
    """

    def _noted(self, number: int, delivery: Any, note: Value) -> Value:
        layout = metadata_layout(self.parts)
        blank = layout.const({"divergent": 0, "enc": [-1] * self.parts, "full": 1, "base": [0] * self.parts})
        return Mux(self._is_blank(number, delivery), Const(blank.as_value().value, layout.size), note)
