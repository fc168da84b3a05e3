"""Rows of BOW: operand collectors that forward a warp's last values."""

from __future__ import annotations

from warpbank.arch.schemes.registry import Row
from warpbank.arch.units import CollectorUnit, Part, Size

#: Values of the main parameters of bypassing.
_WINDOWS: dict[str, tuple[int | str, ...]] = {
    "sub_core.collector.window": (2, 3, 4),
    "sub_core.collector.boc_entries": ("full", "half"),
}

ROWS = (
    Row(
        name="bow",
        description=(
            "Bypassing operand collectors, one per warp: sources of the last uops are not read again; "
            "results also go to the banks."
        ),
        paper="BOW, section IV-A",
        private_collectors=True,
        units=(
            CollectorUnit(
                name="boc_write_through",
                golden="warpbank.golden.collector.boc:Boc",
                hdl="warpbank.hdl.collector.boc:Boc",
                arguments={"write_through": True},
                exported="boc_write_through",
                size=Size("pascal", quick=True),
                tried=_WINDOWS,
            ),
        ),
    ),
    Row(
        name="bow-wb",
        description=(
            "Bypassing operand collectors with write-back: a result goes to the banks when it leaves the "
            "window."
        ),
        paper="BOW, section IV-B",
        collector="boc",
        private_collectors=True,
    ),
    Row(
        name="bow-wr",
        description=(
            "Bypassing operand collectors with write-back, for which the compiler says where each result is "
            "wanted."
        ),
        paper="BOW, section IV-B",
        private_collectors=True,
        hints=("write_back",),
        units=(
            CollectorUnit(
                name="boc",
                golden="warpbank.golden.collector.boc:Boc",
                hdl="warpbank.hdl.collector.boc:Boc",
                exported="boc",
                size=Size("pascal", quick=True),
                parts=(Part("inserter"), Part("boc_arbiter")),
                tried=_WINDOWS,
            ),
        ),
        representative=True,
    ),
)
