"""Register-file schemes: the unit that stands in each room.

A register file is a collector, a hierarchy, a mapping and a storage, plus a warp scheduler. A scheme is a row
that changes some of these; `a+b` joins rows. A new scheme is one new file per room it changes and one
`register_scheme` call here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from warpbank.arch.errors import SchemeError
from warpbank.arch.names import unknown
from warpbank.arch.parameters import SmConfig

#: The rooms a scheme chooses, in the order of the documentation.
ROOMS = ("collector", "hierarchy", "mapping", "storage", "scheduler")

#: Storages that keep registers encoded.
COMPRESSED = ("gscalar", "gscalar_half", "bdi")


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

    def machine(self, config: SmConfig) -> SmConfig:
        """Return the machine as the scheme changes it: one collector per warp, or release flags, where the
        scheme needs them. A machine that has been changed stays as it is.

        Raises
        ------
        SchemeError : the machine's scheduler or bank latency does not fit the scheme.
        """
        core = config.sub_core
        policy = core.front_end.scheduler
        if self.hierarchy != "flat" and policy not in ("scheme", "two_level"):
            raise SchemeError(
                f"Scheme {self.name} needs the two_level scheduler, not {policy!r}: leave "
                "sub_core.front_end.scheduler at 'scheme'."
            )
        if self.storage == "scalar_rf" and core.bank_latency != 100:
            raise SchemeError(
                f"Scheme {self.name} is built for banks of one cycle: leave sub_core.bank_latency at 100."
            )
        if self.mapping == "renaming" and not config.takes_flags:
            core = replace(core, mapping=replace(core.mapping, release_flags="on"))
            config = replace(config, sub_core=core)
        if not self.private_collectors or core.collector.allocation == "per_warp":
            return config
        collector = replace(core.collector, allocation="per_warp")
        return replace(config, sub_core=replace(core, collectors=core.warps, collector=collector))


#: A rule sees a scheme and returns "", or a sentence that says why it cannot work.
Rule = Callable[[Scheme], str]

SCHEMES: dict[str, Row] = {}
RULES: list[Rule] = []


def register_scheme(row: Row) -> Row:
    """Enter a row into the registry and return it. Raises SchemeError if the name is taken or not a scheme
    name."""
    if not row.name or "+" in row.name or row.name != row.name.strip().lower():
        raise SchemeError(f"A scheme name is lower case without '+', not {row.name!r}.")
    if row.name in SCHEMES:
        raise SchemeError(f"A scheme named {row.name!r} is registered already.")
    SCHEMES[row.name] = row
    return row


BASELINE = register_scheme(
    Row(
        name="baseline",
        description="Operand collectors over single-ported banks; every operand is read from the banks.",
        paper="Malekeh, section II",
        collector="ocu",
        hierarchy="flat",
        mapping="direct",
        storage="plain",
        scheduler="gto",
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
        collector="boc_write_through",
        private_collectors=True,
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
        collector="boc",
        private_collectors=True,
        hints=("write_back",),
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
        collector="ccu",
        scheduler="cache_aware",
        hints=("near",),
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
        description="Caching collector units under customary policies: GTO scheduling, LRU replacement.",
        paper="Malekeh, section VI-C",
        collector="ccu_lru",
    )
)

register_scheme(
    Row(
        name="ltrf",
        description=(
            "Register file cache of the active warps, into which the registers of an interval are prefetched."
        ),
        paper="LTRF, sections 3 and 4",
        hierarchy="ltrf",
        scheduler="two_level",
        hints=("intervals",),
    )
)
register_scheme(
    Row(
        name="gscalar",
        description=("Registers compressed byte by byte; one lane executes a uop whose operands are scalar."),
        paper="G-Scalar, sections 3 and 4",
        storage="gscalar",
        hints=("scalar", "fresh"),
    )
)
register_scheme(
    Row(
        name="ltrf-plus",
        description="Register file cache with prefetched intervals that does not move dead registers.",
        paper="LTRF, section 3.2 (LTRF+)",
        hierarchy="ltrf_plus",
        scheduler="two_level",
        hints=("dead", "intervals"),
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
        hierarchy="rfc",
        scheduler="two_level",
        hints=("dead",),
    )
)
register_scheme(
    Row(
        name="sw-rfc",
        description=(
            "Register file cache without tags: the compiler says which results it keeps, and for how long."
        ),
        paper="LTRF, section 6.6 (SHRF, its reference 20)",
        hierarchy="sw_rfc",
        scheduler="two_level",
        hints=("cached",),
    )
)
register_scheme(
    Row(
        name="gscalar-half",
        description=(
            "Registers whose halves are compressed byte by byte, each by itself; one lane may execute a half."
        ),
        paper="G-Scalar, section 4.3",
        storage="gscalar_half",
        hints=("scalar", "fresh"),
    )
)
register_scheme(
    Row(
        name="scalar-rf",
        description=(
            "Scalar bank for registers whose lanes are all equal; one lane executes arithmetic on them."
        ),
        paper="G-Scalar, sections 4.1 and 5.3 (scalar register file: Gilani et al., HPCA 2013)",
        storage="scalar_rf",
        hints=("scalar", "fresh"),
    )
)
register_scheme(
    Row(
        name="bdi",
        description="Registers compressed as a base and the differences from it (BDI); all lanes execute.",
        paper="G-Scalar, sections 2.2 and 5.3 (W-C: Lee et al., ISCA 2015)",
        storage="bdi",
        hints=("scalar", "fresh"),
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


def _words_at_issue(scheme: Scheme) -> str:
    """Refuse bypassing collectors over a cache that goes by the word that a uop brings at issue."""
    if scheme.hierarchy not in ("rfc", "sw_rfc") or not scheme.collector.startswith("boc"):
        return ""
    return (
        "a bypassing collector asks for a uop's operands when its window takes the uop, after the issue, and "
        "the cache of rfc and sw-rfc goes by what the uop says of its operands when it issues."
    )


RULES.append(_words_at_issue)


def _one_word_of_nearness(scheme: Scheme) -> str:
    """Refuse caching collectors over the cache that the compiler manages."""
    if scheme.hierarchy != "sw_rfc" or not scheme.collector.startswith("ccu"):
        return ""
    return (
        "a uop has one near bit per operand: for sw-rfc it says where the operand is, for caching collectors "
        "how soon it is read again."
    )


RULES.append(_one_word_of_nearness)

register_scheme(
    Row(
        name="renaming",
        description=(
            "Register renaming: a register has a physical one only from its first write to its last read."
        ),
        paper="Jeon and Annavaram, CENG-2014-05",
        mapping="renaming",
        scheduler="two_level",
        hints=("release",),
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
        hints=tuple(dict.fromkeys(hint for row in rows for hint in row.hints)),
        **chosen,
    )
    for rule in RULES:
        reason = rule(scheme)
        if reason:
            raise SchemeError(f"Scheme {text!r} cannot work: {reason}")
    return scheme
