"""Parameters of the machine: one frozen dataclass per room, validated on construction.

Every field is made by `item`, which keeps its unit, meaning and range beside it: the checks, the error
messages, the override parser and the table in docs/machine.md all read that one place. Scheme-independent:
what a register-file scheme adds or replaces is chosen by `warpbank.arch.schemes`.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass, field
from typing import Any

from warpbank.arch.errors import ConfigError
from warpbank.arch.units import UNITS
from warpbank.arch.uop import SECTORS, Unit


def item(
    default: Any,
    unit: str,
    doc: str,
    *,
    low: int = 1,
    high: int | None = None,
    choices: tuple[str, ...] = (),
    units: str = "",
) -> Any:
    """Make a configuration field with its default, unit, meaning and permitted values: `choices`, and the
    names of the units of the room `units`."""
    return field(
        default=default,
        metadata={"unit": unit, "doc": doc, "low": low, "high": high, "choices": choices, "units": units},
    )


def check_field(owner: str, spec: dataclasses.Field[Any], value: object) -> None:
    """Raise ConfigError with a full sentence unless `value` is what the field `spec` of `owner` takes."""
    path = f"{owner}.{spec.name}"
    meta = spec.metadata
    if "unit" not in meta:
        return
    choices = (*meta["choices"], *UNITS.get(meta["units"], ()))
    if choices:
        if value not in choices:
            raise ConfigError(f"{path} must be one of {', '.join(map(repr, choices))}, not {value!r}.")
    elif spec.type == "str":
        if not isinstance(value, str):
            raise ConfigError(f"{path} must be a text, not {value!r}.")
    else:
        limit = f"at least {meta['low']}" if meta["high"] is None else f"{meta['low']} to {meta['high']}"
        in_range = (
            type(value) is int and value >= meta["low"] and (meta["high"] is None or value <= meta["high"])
        )
        if not in_range:
            raise ConfigError(f"{path} must be a whole number ({meta['unit']}), {limit}, not {value!r}.")


class _Checked:
    """Mixin that checks every field against the field's own metadata."""

    def __post_init__(self) -> None:
        for spec in dataclasses.fields(self):  # type: ignore[arg-type]
            value = getattr(self, spec.name)
            check_field(type(self).__name__, spec, value)
            if "unit" not in spec.metadata and not isinstance(value, _Checked):
                raise ConfigError(
                    f"{type(self).__name__}.{spec.name} must be a configuration of its own, not {value!r}."
                )


@dataclass(frozen=True)
class FrontEndConfig(_Checked):
    """Parameters of the front end: instruction buffers, branch hold, scheduler."""

    buffer_entries: int = item(2, "uops", "entries of a warp's instruction buffer")
    branch_hold: int = item(
        6, "cycles", "cycles after a branch has issued in which its warp's buffer is not filled", low=0
    )
    scheduler: str = item(
        "scheme",
        "policy",
        "warp scheduler; `scheme`: the scheduler that the scheme names",
        choices=("scheme",),
        units="scheduler",
    )
    issue_stages: int = item(
        0,
        "cycles",
        "registered stages of issue: behind the choice of a warp, behind the read of its uop, in front of "
        "the choice; with n, a warp issues in every (n + 1)th cycle at most",
        low=0,
        high=3,
    )


@dataclass(frozen=True)
class CollectorConfig(_Checked):
    """Parameters of the operand collectors."""

    slots: int = item(6, "registers", "source slots of one collector", low=6, high=6)
    allocation: str = item(
        "shared",
        "policy",
        "`shared`: any free collector takes a uop; `per_warp`: collector w serves warp w",
        choices=("shared", "per_warp"),
    )
    window: int = item(
        3,
        "uops",
        "BOW: instruction window (IW in the paper) of a bypassing operand collector: uops that it may "
        "have in collection; a value is found up to `window` - 1 uops after its last access",
        low=2,
        high=7,
    )
    boc_entries: str = item(
        "full",
        "registers",
        "BOW: entries of a bypassing operand collector; `full`: 4 x window, `half`: 2 x window, at least one "
        "per source slot; or a number",
    )

    cache_lines: int = item(
        8, "registers", "Malekeh: lines of a caching collector unit's table", low=8, high=64
    )
    near_distance: int = item(
        12, "uops", "Malekeh: largest distance at which a reuse is near (RTHLD in the paper)"
    )
    sthld: str = item(
        "adaptive",
        "cycles",
        "Malekeh: waiting time of a sub-core before it takes a unit with near values from its warp (STHLD "
        "in the paper); a number from 0 to 255, or `adaptive`",
    )
    sthld_interval: int = item(
        10000, "cycles", "Malekeh: interval between two adaptions of the waiting time", low=16
    )
    sthld_max: int = item(32, "cycles", "Malekeh: upper bound of the adaptive waiting time", low=0, high=255)
    seed: int = item(1, "number", "seed of the shift registers that choose at random", high=65535)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sthld != "adaptive" and not (self.sthld.isdecimal() and int(self.sthld) < 256):
            raise ConfigError(
                "CollectorConfig.sthld must be 'adaptive' or a number of cycles from 0 to 255, not "
                f"{self.sthld!r}."
            )
        if self.boc_entries in ("full", "half"):
            return
        text = self.boc_entries
        if not text.isdecimal() or not self.slots <= int(text) <= 64:
            raise ConfigError(
                f"CollectorConfig.boc_entries must be 'full', 'half' or a number from {self.slots} (a uop "
                f"may have that many sources) to 64, not {text!r}."
            )

    @property
    def window_entries(self) -> int:
        """Number of entries of a bypassing operand collector."""
        if self.boc_entries == "full":
            return max(4 * self.window, self.slots)
        return max(2 * self.window, self.slots) if self.boc_entries == "half" else int(self.boc_entries)


#: Values that a bypassing operand collector reads in a cycle: operands of one uop, or one that is evicted.
BOC_READS = 2
#: Results of a sub-core that wait until they are written into their bypassing operand collectors.
BOC_RESULTS = 2


#: Transfers that wait at a bank of the main register file for their turn (LTRF).
TRANSFER_QUEUE = 4


@dataclass(frozen=True)
class CacheConfig(_Checked):
    """Parameters of the register file cache."""

    registers: int = item(
        16,
        "registers",
        "LTRF: registers of an interval, one in each bank of the register file cache; RFC, "
        "SW-RFC: an active warp's registers in it; a power of two",
        low=8,
        high=64,
    )
    crossing: int = item(
        4,
        "cycles",
        "LTRF: time of a register through the crossbar between main register file and cache",
        high=64,
    )
    replacement: str = item(
        "fifo",
        "policy",
        "RFC: register that leaves a full row of the cache; `fifo`: allocated first, `lru`: least recently "
        "used",
        choices=("fifo", "lru"),
    )
    write_back: str = item(
        "all",
        "policy",
        "LTRF: live registers that are written back when they leave the cache; `all`: each, `dirty`: those "
        "written since they came, an extension of ours",
        choices=("all", "dirty"),
    )
    prefetch: str = item(
        "instruction",
        "policy",
        "LTRF: how the code prefetches; `instruction`: by an instruction before an interval, which takes an "
        "issue slot, `bit`: by an extra bit of the interval's first instruction, which takes none",
        choices=("instruction", "bit"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.registers & (self.registers - 1):
            raise ConfigError(f"CacheConfig.registers must be a power of two, not {self.registers}.")


@dataclass(frozen=True)
class UnitConfig(_Checked):
    """Parameters of one execution unit of a sub-core."""

    latency: int = item(
        4, "cycles", "latency from dispatch to the first cycle in which the result may be written", high=1024
    )
    interval: int = item(1, "cycles", "initiation interval between two dispatches to the unit", high=1024)


@dataclass(frozen=True)
class ExecuteConfig(_Checked):
    """Parameters of a sub-core's execution units and result queues. The load/store unit has `LsuConfig`."""

    alu: UnitConfig = field(
        default_factory=lambda: UnitConfig(4, 2), metadata={"doc": "integer, logic, compare, move"}
    )
    fma: UnitConfig = field(
        default_factory=lambda: UnitConfig(4, 2), metadata={"doc": "FP32 and integer multiply-add"}
    )
    sfu: UnitConfig = field(
        default_factory=lambda: UnitConfig(18, 8), metadata={"doc": "special functions, conversions"}
    )
    tensor: UnitConfig = field(
        default_factory=lambda: UnitConfig(16, 4), metadata={"doc": "matrix multiply-accumulate"}
    )
    fp64: UnitConfig = field(default_factory=lambda: UnitConfig(40, 32), metadata={"doc": "FP64 arithmetic"})
    control: UnitConfig = field(
        default_factory=lambda: UnitConfig(2, 1), metadata={"doc": "control uops with register operands"}
    )
    scalar_sfu: str = item(
        "full",
        "policy",
        "G-Scalar: time that a uop executed by one lane occupies the special-function unit; `full`: the "
        "unit's interval, `one`: a cycle",
        choices=("full", "one"),
    )
    result_queue: int = item(
        24, "uops", "uops of a unit, but the load/store unit, between dispatch and last write (credits)"
    )

    def unit(self, unit: Unit) -> UnitConfig:
        """Return latency and interval of `unit`. The LSU takes one uop a cycle into its queue; its latency is
        made elsewhere."""
        return UnitConfig(1, 1) if unit is Unit.LSU else getattr(self, unit.name.lower())


@dataclass(frozen=True)
class MappingConfig(_Checked):
    """Parameters of the register mapping, for schemes that do not place registers directly."""

    policy: str = item(
        "consolidate",
        "policy",
        "renaming: physical register that is taken; `consolidate`: the lowest free one, `wear_level`: one "
        "that lies a sub-array further each time",
        choices=("consolidate", "wear_level"),
    )
    subarrays: int = item(
        4, "sub-arrays", "sub-arrays of a bank, each with a power switch of its own", high=64
    )
    table_bytes: int = item(
        1024,
        "bytes",
        "renaming: size of a sub-core's renaming table; registers of a kernel that it has no room for are "
        "not renamed",
    )
    lookup_stages: int = item(
        0,
        "cycles",
        "renaming: registered stages of the look-up of operands' names: the first one between the issue of a "
        "uop and the look-up, the second one before the requests at the banks; with an issue stage what a "
        "first uop lacks is looked up in the cycle before its warp's turn, too",
        low=0,
        high=2,
    )
    release_flags: str = item(
        "off",
        "policy",
        "`on`: the machine takes release flags; set by the schemes that rename",
        choices=("off", "on"),
    )


@dataclass(frozen=True)
class SubCoreConfig(_Checked):
    """Parameters of one sub-core: a scheduler, its warps, register banks, collectors and units."""

    warps: int = item(8, "warps", "warp slots of a sub-core", high=64)
    banks: int = item(2, "banks", "single-ported register banks, a power of two", high=128)
    rows: int = item(256, "warp registers", "rows of a bank, one warp register each", high=4096)
    collectors: int = item(2, "collectors", "operand collectors of a sub-core", high=64)
    bank_latency: int = item(
        100,
        "percent",
        "time of an access to a bank of the main register file, which does nothing else meanwhile; 100: a "
        "cycle; a fraction is met on average",
        low=100,
        high=3200,
    )
    active_warps: int = item(2, "warps", "active warps under two-level scheduling", high=64)
    replacement: str = item(
        "strict",
        "policy",
        "two-level scheduling: when an active warp that waits becomes pending; `strict`: at once, "
        "`on_demand`: when another warp needs its place",
        choices=("strict", "on_demand"),
    )
    front_end: FrontEndConfig = field(default_factory=FrontEndConfig, metadata={"doc": "front end"})
    collector: CollectorConfig = field(default_factory=CollectorConfig, metadata={"doc": "collectors"})
    cache: CacheConfig = field(default_factory=CacheConfig, metadata={"doc": "register file cache"})
    mapping: MappingConfig = field(default_factory=MappingConfig, metadata={"doc": "mapping of registers"})
    execute: ExecuteConfig = field(default_factory=ExecuteConfig, metadata={"doc": "execution units"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.banks & (self.banks - 1):
            raise ConfigError(
                "SubCoreConfig.banks must be a power of two, since the bank of a register is the low bits "
                f"of register + warp, not {self.banks}."
            )
        if self.collector.allocation == "per_warp" and self.collectors != self.warps:
            raise ConfigError(
                f"SubCoreConfig.collectors must equal warps ({self.warps}) where each warp has a collector "
                f"of its own (collector.allocation = 'per_warp'), not {self.collectors}."
            )

    @property
    def warp_registers(self) -> int:
        """Number of warp registers that the banks hold."""
        return self.banks * self.rows

    @property
    def subarray_registers(self) -> int:
        """Number of warp registers of a sub-array, over all banks."""
        return -(-self.rows // self.mapping.subarrays) * self.banks

    @property
    def table_entries(self) -> int:
        """Number of registers that a sub-core's renaming table has room for."""
        return 8 * self.mapping.table_bytes // bits(self.warp_registers)

    @property
    def bank_width(self) -> int:
        """Width of a bank number in bits."""
        return bits(self.banks)

    @property
    def row_width(self) -> int:
        """Width of a row number in bits."""
        return bits(self.rows)

    @property
    def warp_width(self) -> int:
        """Width of a warp slot number in bits."""
        return bits(self.warps)

    @property
    def collector_width(self) -> int:
        """Width of a collector number in bits."""
        return bits(self.collectors)

    @property
    def slot_width(self) -> int:
        """Width of a source slot number in bits."""
        return bits(self.collector.slots)

    @property
    def queue_depth(self) -> int:
        """Number of entries of a bank's request queue, per uop that a collector may have in collection. Every
        slot of every collector may ask one bank, so the queue never overflows."""
        return self.collectors * self.collector.slots

    @property
    def transfers(self) -> int:
        """Number of registers that may set off between banks and register file cache in a cycle: as many as
        the crossbar carries on average, rounded down to a power of two (LTRF)."""
        return 1 << (max(1, min(self.banks, self.cache.registers) // self.cache.crossing).bit_length() - 1)


def _check_sectors(name: str, value: int) -> None:
    """Raise ConfigError unless a line has as many sectors as a cache may have."""
    if value not in (1, SECTORS):
        raise ConfigError(f"{name} must be 1 (whole lines) or {SECTORS} (of 32 bytes), not {value}.")


@dataclass(frozen=True)
class LsuConfig(_Checked):
    """Parameters of the load/store unit that the sub-cores share."""

    queue: int = item(4, "uops", "entries of each sub-core's input queue")
    pending: int = item(64, "uops", "uops that the load/store unit has taken and not returned, of the SM")
    shared_latency: int = item(22, "cycles", "latency of shared memory, from the last pass to the result")
    const_latency: int = item(24, "cycles", "latency of constant memory, which always hits")
    shuffle_latency: int = item(22, "cycles", "latency of a lane exchange")

    @property
    def unwritten(self) -> int:
        """Number of a sub-core's uops that the load/store unit may have taken and whose last write is not
        done: each has a place in the sub-core's queue of what the unit returned."""
        return 4 * self.pending


@dataclass(frozen=True)
class L1Config(_Checked):
    """Parameters of the L1 data cache: write-through, no write allocation, true LRU."""

    sets: int = item(64, "sets", "sets of the L1, a power of two", high=4096)
    ways: int = item(4, "lines", "lines of a set", high=16)
    sectors: int = item(
        1, "sectors", "sectors of a line, each fetched by itself: 1 (whole lines) or 4 (of 32 bytes)", high=4
    )
    latency: int = item(32, "cycles", "latency of a hit, from the tag look-up to the result")
    mshrs: int = item(32, "requests", "miss-status holding registers: requests on their way at a time")
    merges: int = item(8, "uops", "uops that may wait for one of them")

    def __post_init__(self) -> None:
        super().__post_init__()
        power_of_two("L1Config.sets", self.sets)
        _check_sectors("L1Config.sectors", self.sectors)


@dataclass(frozen=True)
class MemoryConfig(_Checked):
    """Parameters of the memory behind the L1, one SM's share of it: L2 tags and DRAM, latency and
    bandwidth."""

    l2_sets: int = item(128, "sets", "sets of the L2, a power of two", high=65536)
    l2_ways: int = item(8, "lines", "lines of a set", high=16)
    l2_sectors: int = item(
        1, "sectors", "sectors of a line, each fetched by itself: 1 (whole lines) or 4 (of 32 bytes)", high=4
    )
    l2_latency: int = item(
        180, "cycles", "latency of a hit in the L2, from the request's service to its answer at the L1"
    )
    l2_interval: int = item(2, "cycles", "interval between two lines that the L2 serves")
    atomic_interval: int = item(4, "cycles", "service time of one line of an atomic")
    dram_latency: int = item(260, "cycles", "latency that a miss in the L2 adds")
    dram_interval: int = item(19, "cycles", "interval between two lines of the DRAM")
    queue: int = item(16, "lines", "requests that may wait for the L2 before the load/store unit stops")

    def __post_init__(self) -> None:
        super().__post_init__()
        power_of_two("MemoryConfig.l2_sets", self.l2_sets)
        _check_sectors("MemoryConfig.l2_sectors", self.l2_sectors)

    def l2_busy(self, sectors: int) -> int:
        """Number of cycles for which the L2 serves so many sectors of a line."""
        return -(-self.l2_interval * sectors // self.l2_sectors)


@dataclass(frozen=True)
class CtaConfig(_Checked):
    """Parameters that limit the CTAs that run at a time, besides warp slots and registers."""

    max_ctas: int = item(16, "CTAs", "CTA slots", high=64)
    shared_bytes: int = item(65536, "bytes", "shared memory of the SM", low=0)
    barriers: int = item(16, "barriers", "named barriers of a CTA", high=256)
    register_granularity: int = item(
        8, "registers", "granularity: a warp's registers are rounded up to a multiple of it", high=256
    )


@dataclass(frozen=True)
class SmConfig(_Checked):
    """Parameters of a streaming multiprocessor."""

    preset: str = item("turing", "name", "the preset that this configuration started from")
    lanes: int = item(
        32,
        "lanes",
        "32-bit lanes of a warp register that the machine carries; a trace's further lanes are not simulated",
        high=32,
    )
    sub_cores: int = item(4, "sub-cores", "sub-cores, one scheduler each", high=16)
    sub_core: SubCoreConfig = field(default_factory=SubCoreConfig, metadata={"doc": "each sub-core"})
    cta: CtaConfig = field(default_factory=CtaConfig, metadata={"doc": "CTA limits"})
    lsu: LsuConfig = field(default_factory=LsuConfig, metadata={"doc": "load/store unit"})
    l1: L1Config = field(default_factory=L1Config, metadata={"doc": "L1 data cache"})
    memory: MemoryConfig = field(default_factory=MemoryConfig, metadata={"doc": "L2 and DRAM"})

    @property
    def warps(self) -> int:
        """Number of warp slots of the SM."""
        return self.sub_cores * self.sub_core.warps

    @property
    def schedulers(self) -> int:
        """Number of warp schedulers of the SM: one per sub-core."""
        return self.sub_cores

    @property
    def takes_flags(self) -> bool:
        """Whether the machine takes the release flags of register renaming."""
        return self.sub_core.mapping.release_flags == "on"

    @property
    def takes_bits(self) -> bool:
        """Whether uops carry the extra bit by which their warp prefetches (LTRF)."""
        return self.sub_core.cache.prefetch == "bit"

    @property
    def lane_mask(self) -> int:
        """Lane mask with every carried lane set."""
        return (1 << self.lanes) - 1

    @property
    def value_width(self) -> int:
        """Width of a warp register in bits."""
        return 32 * self.lanes

    @property
    def register_file_bytes(self) -> int:
        """Size of the SM's register banks in bytes."""
        return self.sub_cores * self.sub_core.warp_registers * self.lanes * 4

    def registers_per_warp(self, registers: int) -> int:
        """Return the warp registers that one warp of a kernel with `registers` per thread occupies."""
        step = self.cta.register_granularity
        return max(step, -(-registers // step) * step)

    def rows_per_warp(self, registers: int) -> int:
        """Return the rows of every bank that one warp of a kernel with `registers` per thread occupies."""
        return -(-self.registers_per_warp(registers) // self.sub_core.banks)

    def launch_shape(self, registers: int, exempt: int = 0, warps_per_cta: int = 1) -> tuple[int, int]:
        """Return a launch's shape: rows of every bank per warp, and usable warp slots of a sub-core. The
        kernel has `registers` per thread, `exempt` of which are never renamed.

        A machine that renames gives no warp rows of its own. It runs as many warps as the renaming table has
        room for, and leaves the registers of a CTA's warps beside the exempt registers of all; where the
        registers of a CTA do not fit by themselves, those of one warp."""
        core = self.sub_core
        if self.takes_flags:
            renamed = registers - exempt
            if registers > core.warp_registers:
                return 0, 0
            others = renamed * (self._share(warps_per_cta) if self._fits(registers, warps_per_cta) else 1)
            room = (core.warp_registers - others) // exempt if exempt else core.warps
            return 0, min(core.warps, core.table_entries // renamed if renamed else core.warps, room)
        rows = self.rows_per_warp(registers)
        return rows, min(core.warps, core.rows // rows)

    def launch_reserve(self, registers: int, exempt: int, warps_per_cta: int) -> int:
        """Return the physical registers of a sub-core that a launch keeps for the CTA that is served first:
        all that its warps can have there at a time. 0 where there are enough for every warp, where those of
        one CTA do not fit, and on a machine that does not rename."""
        _, slots = self.launch_shape(registers, exempt, warps_per_cta)
        enough = slots * registers <= self.sub_core.warp_registers
        if not self.takes_flags or enough or not self._fits(registers, warps_per_cta):
            return 0
        return (registers - exempt) * self._share(warps_per_cta)

    def _share(self, warps_per_cta: int) -> int:
        """Return the most warps of a CTA that a sub-core has."""
        return -(-warps_per_cta // self.sub_cores)

    def _fits(self, registers: int, warps_per_cta: int) -> bool:
        """Return whether the physical registers of a sub-core are as many as its warps of a CTA can have."""
        return self._share(warps_per_cta) * registers <= self.sub_core.warp_registers

    def to_dict(self) -> dict[str, Any]:
        """Return plain nested dictionaries, as JSON and TOML take them."""
        return dataclasses.asdict(self)


def bits(count: int) -> int:
    """Return the bits that number `count` things, at least one."""
    return max(1, (count - 1).bit_length())


def power_of_two(name: str, value: int) -> None:
    """Raise ConfigError unless `value` is a power of two."""
    if value & (value - 1):
        raise ConfigError(
            f"{name} must be a power of two, since low address bits select the set, not {value}."
        )


def config_hash(config: SmConfig) -> str:
    """Return twelve hexadecimal digits that name the machine. Equal configurations have equal digits,
    whatever preset they started from."""
    content = config.to_dict()
    del content["preset"]
    return hashlib.sha256(json.dumps(content, sort_keys=True, separators=(",", ":")).encode()).hexdigest()[
        :12
    ]
