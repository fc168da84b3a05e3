"""Register-file schemes: the unit that stands in each room.

A register file is a collector, a hierarchy, a mapping and a storage, plus a warp scheduler. A scheme is a row
that changes some of these; `a+b` joins rows. A new scheme is one new file per room it changes and one
`register_scheme` call here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

from warpbank.arch.errors import SchemeError
from warpbank.arch.names import unknown
from warpbank.arch.parameters import SmConfig
from warpbank.arch.units import (
    ROOMS,
    UNITS,
    CollectorUnit,
    HierarchyUnit,
    MappingUnit,
    Part,
    RoomUnit,
    SchedulerUnit,
    Size,
    StorageUnit,
    register_unit,
)

#: Storages that keep registers encoded.
COMPRESSED = ("gscalar", "gscalar_half", "bdi")

AnyUnit = TypeVar("AnyUnit", bound=RoomUnit)


@dataclass(frozen=True)
class Row:
    """Named change to the baseline.

    Parameters
    ----------
    name : as written in a scheme string; words are joined by `-`, since `+` joins schemes.
    collector, hierarchy, mapping, storage, scheduler : unit for that room; "" leaves the room to the other
        rows.
    private_collectors : every warp has a collector of its own, whatever the configuration says.
    hints : what the compiler must provide (`warpbank.program.hint_passes`).
    description : one line for `warpbank schemes`.
    paper : where it was published.
    units : units that no other row has brought; each stands in its room.
    representative : comparisons take the row if nobody names any: the best of its paper.
    """

    name: str
    description: str
    paper: str = ""
    collector: str = ""
    hierarchy: str = ""
    mapping: str = ""
    storage: str = ""
    scheduler: str = ""
    private_collectors: bool = False
    hints: tuple[str, ...] = ()
    units: tuple[RoomUnit, ...] = ()
    representative: bool = False

    def __post_init__(self) -> None:
        for unit in self.units:
            object.__setattr__(self, unit.room, unit.name)

    def to_dict(self) -> dict[str, Any]:
        """Return what the row changes, as JSON takes it: without the rows of its units."""
        names = ("name", "description", "paper", *ROOMS, "private_collectors", "hints")
        return {name: getattr(self, name) for name in names}


class Units(NamedTuple):
    """Units of a scheme, one per room."""

    collector: CollectorUnit
    hierarchy: HierarchyUnit
    mapping: MappingUnit
    storage: StorageUnit
    scheduler: SchedulerUnit


@dataclass(frozen=True)
class Scheme:
    """Register-file scheme: the unit in every room, and the other demands of its rows. `name` is the
    canonical scheme string."""

    name: str
    collector: str
    hierarchy: str
    mapping: str
    storage: str
    scheduler: str
    private_collectors: bool = False
    hints: tuple[str, ...] = ()

    @property
    def units(self) -> Units:
        """Rows of the units. A unit that is not registered has the properties of a plain one."""
        return Units(
            _unit(CollectorUnit, self.collector),
            _unit(HierarchyUnit, self.hierarchy),
            _unit(MappingUnit, self.mapping),
            _unit(StorageUnit, self.storage),
            _unit(SchedulerUnit, self.scheduler),
        )

    def scheduler_beside(self, policy: str) -> str:
        """Return the scheduler that the scheme runs under where `policy` is everybody's: `policy`, or the
        scheme's own if it extends that policy or the scheme works under no other."""
        units = self.units
        own = units.hierarchy.active_only or units.scheduler.extends == policy
        return self.scheduler if own else policy

    def machine(self, config: SmConfig) -> SmConfig:
        """Return the machine as the scheme changes it: one collector per warp, or release flags, where the
        scheme needs them. A machine that has been changed stays as it is.

        Raises
        ------
        SchemeError : the machine's scheduler or bank latency does not fit the scheme.
        """
        core, units = config.sub_core, self.units
        policy = core.front_end.scheduler
        if units.hierarchy.active_only and policy not in ("scheme", "two_level"):
            raise SchemeError(
                f"Scheme {self.name} needs the two_level scheduler, not {policy!r}: leave "
                "sub_core.front_end.scheduler at 'scheme'."
            )
        if units.storage.single_cycle and core.bank_latency != 100:
            raise SchemeError(
                f"Scheme {self.name} is built for banks of one cycle: leave sub_core.bank_latency at 100."
            )
        if units.mapping.renames and not config.takes_flags:
            core = replace(core, mapping=replace(core.mapping, release_flags="on"))
            config = replace(config, sub_core=core)
        if not self.private_collectors or core.collector.allocation == "per_warp":
            return config
        collector = replace(core.collector, allocation="per_warp")
        return replace(config, sub_core=replace(core, collectors=core.warps, collector=collector))


def _unit(kind: type[AnyUnit], name: str) -> AnyUnit:
    """Row of a unit, of the kind that its room has."""
    found = UNITS[kind.room].get(name)
    return found if isinstance(found, kind) else kind(name=name, golden="")


#: A rule sees a scheme and returns "", or a sentence that says why it cannot work.
Rule = Callable[[Scheme], str]

SCHEMES: dict[str, Row] = {}
RULES: list[Rule] = []


def register_scheme(row: Row) -> Row:
    """Enter a row and its units into the registry and return it. Raises SchemeError if a name is taken or not
    a scheme name."""
    if not row.name or "+" in row.name or row.name != row.name.strip().lower():
        raise SchemeError(f"A scheme name is lower case without '+', not {row.name!r}.")
    if row.name in SCHEMES:
        raise SchemeError(f"A scheme named {row.name!r} is registered already.")
    for unit in row.units:
        register_unit(unit)
    SCHEMES[row.name] = row
    return row


def scheme_of(unit: RoomUnit) -> str:
    """Name of the scheme that a unit is for: of the row that brings it, else of the first row that has it."""
    for row in SCHEMES.values():
        if unit in row.units:
            return row.name
    return next((row.name for row in SCHEMES.values() if getattr(row, unit.room) == unit.name), BASELINE.name)


def first_scheme(wanted: Callable[[Scheme], bool]) -> str:
    """Name of the first row that makes a scheme of that kind. Raises SchemeError if there is none."""
    for name in SCHEMES:
        if wanted(parse_scheme(name)):
            return name
    raise SchemeError("No registered scheme is of that kind.")


#: Values of the main parameters of bypassing, of caching collectors, and of register file caches.
_WINDOWS: dict[str, tuple[int | str, ...]] = {
    "sub_core.collector.window": (2, 3, 4),
    "sub_core.collector.boc_entries": ("full", "half"),
}
_TABLES: dict[str, tuple[int | str, ...]] = {
    "sub_core.collectors": (2, 4, 8),
    "sub_core.collector.cache_lines": (8, 16),
}
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

BASELINE = register_scheme(
    Row(
        name="baseline",
        description="Operand collectors over single-ported banks; every operand is read from the banks.",
        paper="Malekeh, section II",
        scheduler="gto",
        units=(
            CollectorUnit(
                name="ocu",
                golden="warpbank.golden.collector.ocu:Ocu",
                hdl="warpbank.hdl.collector.ocu:Ocu",
                exported="ocu",
                size=Size("turing"),
                tried={"sub_core.collectors": (2, 4, 8)},
            ),
            HierarchyUnit(
                name="flat",
                golden="warpbank.golden.hierarchy.flat:flat",
                hdl="warpbank.hdl.hierarchy.flat:Flat",
            ),
            MappingUnit(
                name="direct",
                golden="warpbank.golden.mapping.direct:Direct",
                hdl="warpbank.hdl.mapping.direct:Direct",
                exported="direct",
                size=Size("turing"),
            ),
            StorageUnit(
                name="plain",
                golden="warpbank.golden.storage.banks:banks",
                hdl="warpbank.hdl.storage.banks:Banks",
                exported="banks",
                size=Size("turing"),
            ),
        ),
        representative=True,
    )
)

register_scheme(
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
                size=Size("pascal", clock=0.7, quick=True),
                tried=_WINDOWS,
            ),
        ),
    )
)
register_scheme(
    Row(
        name="bow-wb",
        description=(
            "Bypassing operand collectors with write-back: a result goes to the banks when it leaves the "
            "window."
        ),
        paper="BOW, section IV-B",
        collector="boc",
        private_collectors=True,
    )
)
register_scheme(
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
    )
)

register_scheme(
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
    )
)
register_scheme(
    Row(
        name="malekeh-pr",
        description="Caching collector units, one per warp.",
        paper="Malekeh, section VI-B",
        collector="ccu",
        scheduler="cache_aware",
        private_collectors=True,
        hints=("near",),
    )
)
register_scheme(
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
    )
)
register_scheme(
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
    )
)

register_scheme(
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
    )
)
register_scheme(
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
    )
)
register_scheme(
    Row(
        name="ltrf-strand",
        description="Register file cache into which the registers of a strand are prefetched.",
        paper="LTRF, section 6.6",
        hierarchy="ltrf",
        scheduler="two_level",
        hints=("strands",),
    )
)
register_scheme(
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
    )
)
register_scheme(
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
    )
)
register_scheme(
    Row(
        name="gscalar",
        description=("Registers compressed byte by byte; one lane executes a uop whose operands are scalar."),
        paper="G-Scalar, sections 3 and 4",
        hints=("scalar", "fresh"),
        units=(
            StorageUnit(
                name="gscalar",
                golden="warpbank.golden.storage.gscalar:gscalar",
                hdl="warpbank.hdl.storage.gscalar:GScalar",
                encodes=True,
                late=True,
                arrays=(4, 16),  # bytes of a position
                exported="gscalar",
                size=Size("fermi", quick=True),
                parts=(  # the paper clocks them at 1.4 GHz, 0.71 ns, in 40 nm
                    Part("compressor", Size("fermi", clock=0.6, kernel="hotspot"), shown=True),
                    Part("decompressor", Size("fermi", clock=0.6, kernel="hotspot"), shown=True),
                    Part("scalar_lanes"),
                    Part("decompress_moves"),
                ),
            ),
        ),
        representative=True,
    )
)
register_scheme(
    Row(
        name="gscalar-half",
        description=(
            "Registers whose halves are compressed byte by byte, each by itself; one lane may execute a half."
        ),
        paper="G-Scalar, section 4.3",
        hints=("scalar", "fresh"),
        units=(
            StorageUnit(
                name="gscalar_half",
                golden="warpbank.golden.storage.gscalar:gscalar",
                hdl="warpbank.hdl.storage.gscalar:GScalar",
                arguments={"parts": 2},
                encodes=True,
                late=True,
                arrays=(8, 32),  # bytes of a position of a half
                exported="gscalar",
                parts=(
                    Part("compressor_half", Size("fermi", clock=0.6), shown=True),
                    Part("decompressor_half", Size("fermi", clock=0.6), shown=True),
                ),
            ),
        ),
    )
)
register_scheme(
    Row(
        name="scalar-rf",
        description=(
            "Scalar bank for registers whose lanes are all equal; one lane executes arithmetic on them."
        ),
        paper="G-Scalar, sections 4.1 and 5.3 (scalar register file: Gilani et al., HPCA 2013)",
        hints=("scalar", "fresh"),
        units=(
            StorageUnit(
                name="scalar_rf",
                golden="warpbank.golden.storage.scalar_file:scalar_file",
                hdl="warpbank.hdl.storage.scalar_rf:ScalarRf",
                encodes=True,
                late=True,
                single_cycle=True,
                exported="scalar_rf",
                size=Size("fermi", quick=True),
                whole="scalar_registers",
            ),
        ),
    )
)
register_scheme(
    Row(
        name="bdi",
        description="Registers compressed as a base and the differences from it (BDI); all lanes execute.",
        paper="G-Scalar, sections 2.2 and 5.3 (W-C: Lee et al., ISCA 2015)",
        hints=("scalar", "fresh"),
        units=(
            StorageUnit(
                name="bdi",
                golden="warpbank.golden.storage.bdi_banks:bdi",
                hdl="warpbank.hdl.storage.bdi_banks:BdiBanks",
                encodes=True,
                late=True,
                exported="bdi_banks",
                size=Size("fermi", quick=True),
                parts=(Part("bdi_compressor", shown=True), Part("bdi_decompressor", shown=True)),
            ),
        ),
    )
)


def _cache_needs_two_levels(scheme: Scheme) -> str:
    """Refuse a register file cache without two-level scheduling: it has room for the active warps only."""
    if scheme.hierarchy == "flat" or scheme.scheduler == "two_level":
        return ""
    return (
        f"a register file cache holds the registers of active warps, and the {scheme.scheduler} scheduler "
        f"of the row named first has none; name the row with the cache first."
    )


RULES.append(_cache_needs_two_levels)


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


RULES.append(_results_in_the_cache)


def _one_word_of_nearness(scheme: Scheme) -> str:
    """Refuse collectors that go by near bits over the cache that the compiler manages by them."""
    if not {"near", "cached"} <= set(scheme.hints):
        return ""
    return (
        "a uop has one near bit per operand: for sw-rfc it says where the operand is, for malekeh's caching "
        "collectors how soon it is read again."
    )


RULES.append(_one_word_of_nearness)

register_scheme(
    Row(
        name="renaming",
        description=(
            "Register renaming: a register has a physical one only from its first write to its last read."
        ),
        paper="Jeon and Annavaram, CENG-2014-05",
        scheduler="two_level",
        hints=("release",),
        units=(
            MappingUnit(
                name="renaming",
                golden="warpbank.golden.mapping.renaming:Renaming",
                hdl="warpbank.hdl.mapping.renaming:Renaming",
                renames=True,
                exported="renaming",
                size=Size("fermi", quick=True),
                parts=(
                    Part("renaming_table", shown=True),
                    Part("availability", Size("fermi", quick=True), shown=True),
                    Part("release", Size("fermi", quick=True), shown=True),
                    Part("flag_cache", Size("fermi", quick=True), shown=True),
                    Part("exempt"),
                    Part("deadlock_reserve"),
                    Part("renaming_table_1k"),
                    Part("operand_lookup", Size("fermi", clock=0.9, quick=True)),
                ),
                tried={"sub_core.mapping.table_bytes": (512, 1024, 2048)},
            ),
        ),
        representative=True,
    )
)


def _one_scalar_bank(scheme: Scheme) -> str:
    """Refuse units that a scalar bank with one port cannot serve."""
    if scheme.storage != "scalar_rf":
        return ""
    if scheme.hierarchy != "flat":
        return (
            "registers between a register file cache and its banks move several a cycle, and the one port of "
            "scalar-rf's scalar bank takes one; gscalar does what it does, bank by bank."
        )
    if scheme.collector == "boc":
        return (
            "an evicted value may wait for scalar-rf's one scalar bank, and a uop that writes lanes of it "
            "may issue meanwhile, too late for the move that must go first; bow writes its results through."
        )
    return ""


RULES.append(_one_scalar_bank)


def _hints(rows: Sequence[Row], collector: str) -> tuple[str, ...]:
    """Hints that these rows ask of the compiler. Collectors that keep values keep them beyond the strand in
    which the compiler keeps them in the cache, so that it must know which results leave no lane behind."""
    hints = dict.fromkeys(hint for row in rows for hint in row.hints)
    if "cached" in hints and collector != BASELINE.collector:
        hints["fresh"] = None
    return tuple(hints)


def parse_scheme(text: str) -> Scheme:
    """Parse a scheme string: row names joined by `+`, each of which changes the baseline in its own rooms.

    Raises
    ------
    SchemeError : an unknown row (the known ones are listed), a row named twice, two rows that want different
        units in one room (schedulers excepted: the first row's is taken), or a combination that a rule
        refuses.
    """
    names = [part.strip() for part in text.split("+")]
    if not all(names):
        raise SchemeError(
            f"A scheme is one or more names joined by '+', not {text!r}. Known: {', '.join(SCHEMES)}."
        )
    for name in names:
        if name not in SCHEMES:
            raise SchemeError(unknown("scheme", name, SCHEMES))
    if len(set(names)) != len(names):
        raise SchemeError(f"Scheme {text!r} names a row twice.")
    rows = [SCHEMES[name] for name in names if name != BASELINE.name]
    chosen = {room: getattr(BASELINE, room) for room in ROOMS}
    chooser: dict[str, str] = {}
    for row in rows:
        for room in ROOMS:
            unit = getattr(row, room)
            if not unit or (room == "scheduler" and room in chooser):
                continue
            if room in chooser and chosen[room] != unit:
                raise SchemeError(
                    f"Scheme {text!r} cannot work: {chooser[room]} puts {chosen[room]!r} in the {room} "
                    f"room and {row.name} puts {unit!r} there, and a register file has one {room}."
                )
            chosen[room] = unit
            chooser[room] = row.name
    scheme = Scheme(
        name="+".join(row.name for row in rows) or BASELINE.name,
        private_collectors=any(row.private_collectors for row in rows),
        hints=_hints(rows, chosen["collector"]),
        **chosen,
    )
    for rule in RULES:
        reason = rule(scheme)
        if reason:
            raise SchemeError(f"Scheme {text!r} cannot work: {reason}")
    return scheme
