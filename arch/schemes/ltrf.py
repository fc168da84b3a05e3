"""Rows of LTRF and of the register file caches that its paper compares it with, and what cannot stand over
a cache."""

from __future__ import annotations

from warpbank.arch.schemes.registry import Row, Scheme
from warpbank.arch.units import HierarchyUnit, Part, Size

#: Values of the main parameters of register file caches.
_CACHES: dict[str, tuple[int | str, ...]] = {
    "sub_core.cache.registers": (8, 16, 32),
    "sub_core.active_warps": (2, 4),
}

#: Parts of both of LTRF's hierarchies.
LTRF_PARTS = (
    Part("warp_control_blocks", Size("maxwell", quick=True), shown=True),
    Part("address_allocation", shown=True),
    Part("places", shown=True),
    Part("engine", Size("maxwell", quick=True), shown=True),
)

ROWS = (
    Row(
        name="ltrf",
        description=(
            "Register file cache of the active warps, into which the registers of an interval are prefetched."
        ),
        paper="LTRF, sections 3 and 4",
        scheduler="two_level",
        hints=("intervals",),
        units=(
            HierarchyUnit(
                name="ltrf",
                golden="warpbank.golden.hierarchy.ltrf:Ltrf",
                hdl="warpbank.hdl.hierarchy.ltrf:Ltrf",
                active_only=True,
                exported="ltrf",
                size=Size("maxwell", quick=True),
                parts=LTRF_PARTS,
                tried=_CACHES,
            ),
        ),
    ),
    Row(
        name="ltrf-plus",
        description="Register file cache with prefetched intervals that does not move dead registers.",
        paper="LTRF, section 3.2 (LTRF+)",
        scheduler="two_level",
        hints=("dead", "intervals"),
        units=(
            HierarchyUnit(
                name="ltrf_plus",
                golden="warpbank.golden.hierarchy.ltrf:Ltrf",
                hdl="warpbank.hdl.hierarchy.ltrf:Ltrf",
                arguments={"liveness": True},
                active_only=True,
                exported="ltrf_plus",
                size=Size("maxwell", quick=True),
                parts=LTRF_PARTS,
                tried=_CACHES,
            ),
        ),
        representative=True,
    ),
    Row(
        name="ltrf-strand",
        description="Register file cache into which the registers of a strand are prefetched.",
        paper="LTRF, section 6.6",
        hierarchy="ltrf",
        scheduler="two_level",
        hints=("strands",),
    ),
    Row(
        name="rfc",
        description=(
            "Register file cache with tags, into which the active warps' results are written; nothing is "
            "prefetched."
        ),
        paper="LTRF, section 2.3 (its reference 19)",
        scheduler="two_level",
        hints=("dead",),
        units=(
            HierarchyUnit(
                name="rfc",
                golden="warpbank.golden.hierarchy.rfc:Rfc",
                hdl="warpbank.hdl.hierarchy.rfc:Rfc",
                active_only=True,
                exported="rfc",
                size=Size("maxwell", quick=True),
                parts=(Part("tag_row"), Part("departing")),
                tried={**_CACHES, "sub_core.cache.replacement": ("fifo", "lru")},
            ),
        ),
    ),
    Row(
        name="sw-rfc",
        description=(
            "Register file cache without tags: the compiler says which results it keeps, and for how long."
        ),
        paper="LTRF, section 6.6 (SHRF, its reference 20)",
        scheduler="two_level",
        hints=("cached",),
        units=(
            HierarchyUnit(
                name="sw_rfc",
                golden="warpbank.golden.hierarchy.sw_rfc:SwRfc",
                hdl="warpbank.hdl.hierarchy.sw_rfc:SwRfc",
                active_only=True,
                compiled=True,
                exported="sw_rfc",
                size=Size("maxwell", quick=True),
                tried=_CACHES,
            ),
        ),
    ),
)


def _cache_needs_two_levels(scheme: Scheme) -> str:
    """Refuse a register file cache without two-level scheduling: it has room for the active warps only."""
    if scheme.hierarchy == "flat" or scheme.scheduler == "two_level":
        return ""
    return (
        f"a register file cache holds the registers of active warps, and the {scheme.scheduler} scheduler "
        f"of the row named first has none; name the row with the cache first."
    )


def _results_in_the_cache(scheme: Scheme) -> str:
    """Refuse collectors that keep results to themselves over a cache that results fill."""
    if scheme.hierarchy not in ("rfc", "sw_rfc") or scheme.collector != "boc":
        return ""
    if scheme.hierarchy == "sw_rfc":
        return (
            "the compiler says where a value is from one instruction to the next, and with bow-wb and bow-wr "
            "a result stays in its window until others need the room; bow writes its results through."
        )
    return (
        "results fill rfc's cache, and with bow-wb and bow-wr they stay in their windows, so that nothing "
        "would come into it; bow writes its results through."
    )


def _one_word_of_nearness(scheme: Scheme) -> str:
    """Refuse collectors that go by near bits over the cache that the compiler manages by them."""
    if not {"near", "cached"} <= set(scheme.hints):
        return ""
    return (
        "a uop has one near bit per operand: for sw-rfc it says where the operand is, for malekeh's caching "
        "collectors how soon it is read again."
    )


RULES = (_cache_needs_two_levels, _results_in_the_cache, _one_word_of_nearness)
