"""Rows of Malekeh: caching operand collectors, and those that its paper compares them with."""

from __future__ import annotations

from warpbank.arch.schemes.registry import Row
from warpbank.arch.units import CollectorUnit, Part, Size

#: Values of the main parameters of caching collectors.
_TABLES: dict[str, tuple[int | str, ...]] = {
    "sub_core.collectors": (2, 4, 8),
    "sub_core.collector.cache_lines": (8, 16),
}

ROWS = (
    Row(
        name="malekeh",
        description=(
            "Caching collector units: operands and results of near reuse stay for the warp's next uops; "
            "warps with kept values issue first."
        ),
        paper="Malekeh, sections III and IV",
        scheduler="cache_aware",
        hints=("near",),
        units=(
            CollectorUnit(
                name="ccu",
                golden="warpbank.golden.collector.ccu:Ccu",
                hdl="warpbank.hdl.collector.ccu:Ccu",
                hits=True,
                adapts=True,
                exported="ccu",
                size=Size("turing", quick=True),
                parts=(Part("lfsr"), Part("sthld")),
                tried=_TABLES,
            ),
        ),
        representative=True,
    ),
    Row(
        name="malekeh-pr",
        description="Caching collector units, one per warp.",
        paper="Malekeh, section VI-B",
        collector="ccu",
        scheduler="cache_aware",
        private_collectors=True,
        hints=("near",),
    ),
    Row(
        name="ccu-lru-gto",
        description=(
            "Caching collector units under customary policies: GTO scheduling, LRU replacement, any free "
            "unit at random."
        ),
        paper="Malekeh, section VI-C",
        units=(
            CollectorUnit(
                name="ccu_lru",
                golden="warpbank.golden.collector.ccu:Ccu",
                hdl="warpbank.hdl.collector.ccu:Ccu",
                arguments={"far_first": False, "own_unit": False},
                hits=True,
                exported="ccu_lru",
                size=Size("turing", quick=True),
                tried=_TABLES,
            ),
        ),
    ),
    Row(
        name="ccu-lru-own",
        description=(
            "Caching collector units under GTO scheduling and LRU replacement, where a warp keeps its unit."
        ),
        paper="Malekeh, sections IV-B2 and VI-C",
        units=(
            CollectorUnit(
                name="ccu_lru_own",
                golden="warpbank.golden.collector.ccu:Ccu",
                hdl="warpbank.hdl.collector.ccu:Ccu",
                arguments={"far_first": False},
                hits=True,
                priced_as="ccu_lru",
                tried=_TABLES,
            ),
        ),
    ),
)
