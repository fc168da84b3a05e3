"""Presets: the machines of the papers as named configurations."""

from __future__ import annotations

from dataclasses import replace

from warpbank.arch.errors import ConfigError
from warpbank.arch.names import unknown
from warpbank.arch.parameters import (
    CtaConfig,
    ExecuteConfig,
    FrontEndConfig,
    L1Config,
    LsuConfig,
    MemoryConfig,
    SmConfig,
    SubCoreConfig,
    UnitConfig,
)


def _turing() -> SmConfig:
    return SmConfig()


def _turing_accelsim() -> SmConfig:
    """Turing with the numbers of Accel-Sim's SM75_RTX2060, one SM beside two memory channels.

    A channel carries 2 bytes a transfer and 14 transfers a nanosecond, so that two of them bring a line of
    128 bytes in 3 cycles of 1.365 GHz. The network brings one sector of it a cycle. The L1 has 256 lines in 4
    sets of 64 ways, of which 16 are the most here."""
    execute = ExecuteConfig(
        alu=UnitConfig(2, 2),
        fma=UnitConfig(2, 2),
        sfu=UnitConfig(21, 8),
        tensor=UnitConfig(16, 16),
        fp64=UnitConfig(64, 64),
    )
    return SmConfig(
        preset="turing-accelsim",
        sub_core=SubCoreConfig(collectors=8, front_end=FrontEndConfig(scheduler="lrr"), execute=execute),
        lsu=LsuConfig(shared_latency=30),
        l1=L1Config(sets=16, ways=16, sectors=4, latency=32, mshrs=256, merges=32),
        memory=MemoryConfig(
            l2_sets=256,
            l2_ways=16,
            l2_sectors=4,
            l2_latency=194,
            l2_interval=4,
            dram_latency=96,
            dram_interval=3,
        ),
    )


def _pascal() -> SmConfig:
    execute = ExecuteConfig(
        alu=UnitConfig(6, 1),
        fma=UnitConfig(6, 1),
        sfu=UnitConfig(20, 4),
        tensor=UnitConfig(32, 16),
        fp64=UnitConfig(48, 32),
    )
    return SmConfig(
        preset="pascal",
        sub_core=SubCoreConfig(
            warps=8, banks=8, rows=64, collectors=8, front_end=FrontEndConfig(branch_hold=8), execute=execute
        ),
        cta=CtaConfig(max_ctas=16, shared_bytes=98304),
        l1=L1Config(sets=64, ways=6, latency=82),
        memory=MemoryConfig(l2_sets=128, l2_ways=8, l2_latency=200, dram_latency=300, dram_interval=10),
    )


def _maxwell() -> SmConfig:
    execute = ExecuteConfig(
        alu=UnitConfig(6, 1),
        fma=UnitConfig(6, 1),
        sfu=UnitConfig(20, 1),
        tensor=UnitConfig(32, 4),
        fp64=UnitConfig(48, 8),
    )
    return SmConfig(
        preset="maxwell",
        sub_cores=1,
        sub_core=SubCoreConfig(
            warps=64,
            banks=16,
            rows=128,
            collectors=16,
            active_warps=8,
            front_end=FrontEndConfig(branch_hold=8),
            execute=execute,
        ),
        cta=CtaConfig(max_ctas=32, shared_bytes=98304),
        l1=L1Config(sets=32, ways=4, latency=82),
        memory=MemoryConfig(l2_sets=128, l2_ways=8, l2_latency=200, dram_latency=250, dram_interval=11),
    )


def _fermi() -> SmConfig:
    execute = ExecuteConfig(
        alu=UnitConfig(18, 1),
        fma=UnitConfig(18, 1),
        sfu=UnitConfig(30, 8),
        tensor=UnitConfig(36, 16),
        fp64=UnitConfig(24, 2),
        result_queue=40,
    )
    return SmConfig(
        preset="fermi",
        sub_cores=1,
        sub_core=SubCoreConfig(
            warps=48,
            banks=16,
            rows=64,
            collectors=16,
            active_warps=6,
            front_end=FrontEndConfig(branch_hold=12),
            execute=execute,
        ),
        cta=CtaConfig(max_ctas=8, shared_bytes=49152),
        lsu=LsuConfig(shared_latency=30, const_latency=30, shuffle_latency=30),
        l1=L1Config(sets=32, ways=4, latency=45),
        memory=MemoryConfig(l2_sets=64, l2_ways=8, l2_latency=260, dram_latency=300, dram_interval=15),
    )


def _fermi_gscalar() -> SmConfig:
    """Fermi with two schedulers, as two sub-cores.

    Each has one of the two arithmetic pipelines of 16 lanes, and half of warps, banks and collectors. The
    special-function unit of four lanes, one for both, is two of half the rate."""
    one = _fermi()
    execute = ExecuteConfig(
        alu=UnitConfig(18, 2),
        fma=UnitConfig(18, 2),
        sfu=UnitConfig(30, 16),
        tensor=UnitConfig(36, 32),
        fp64=UnitConfig(24, 4),
        result_queue=40,
    )
    core = replace(one.sub_core, warps=24, banks=8, collectors=8, execute=execute)
    return replace(one, preset="fermi-gscalar", sub_cores=2, sub_core=core)


def _fermi_renaming() -> SmConfig:
    """Fermi with warp registers in four banks, as one sub-core.

    Renaming table, availability flags and banks are one of each for all warps, which two sub-cores would
    halve. It issues one uop a cycle instead of two, so that six ready warps stand for two queues of six."""
    one = _fermi()
    return replace(one, preset="fermi-renaming", sub_core=replace(one.sub_core, banks=4, rows=256))


def _tiny() -> SmConfig:
    return SmConfig(
        preset="tiny",
        lanes=4,
        sub_cores=1,
        sub_core=SubCoreConfig(
            warps=8,
            banks=2,
            rows=256,
            collectors=2,
            front_end=FrontEndConfig(branch_hold=2),
            execute=ExecuteConfig(sfu=UnitConfig(6, 4), fp64=UnitConfig(8, 4), result_queue=8),
        ),
        cta=CtaConfig(max_ctas=4, shared_bytes=49152),
        lsu=LsuConfig(queue=2, pending=8, shared_latency=6, const_latency=6, shuffle_latency=6),
        l1=L1Config(sets=4, ways=2, latency=6, mshrs=4, merges=2),
        memory=MemoryConfig(l2_sets=16, l2_ways=2, l2_latency=20, dram_latency=30, dram_interval=4, queue=4),
    )


_MAKERS = {
    "turing": _turing,
    "turing-accelsim": _turing_accelsim,
    "pascal": _pascal,
    "maxwell": _maxwell,
    "fermi": _fermi,
    "fermi-gscalar": _fermi_gscalar,
    "fermi-renaming": _fermi_renaming,
    "tiny": _tiny,
}

#: Preset names, in the order of the documentation, and where each comes from.
PRESETS: dict[str, str] = {
    "turing": (
        "Malekeh, section II and Table I (RTX 2060): 4 sub-cores of 8 warps, 2 banks and 2 collectors each."
    ),
    "turing-accelsim": (
        "Accel-Sim's SM75_RTX2060 (gpgpusim.config, trace.config), one SM beside two memory channels: round "
        "robin, units and memory with that simulator's numbers."
    ),
    "pascal": (
        "BOW, section II and Table II (Titan X): 32 banks and as many collectors as warps, which any warp "
        "may take; here 4 sub-cores of 8 warps and 8 banks."
    ),
    "maxwell": "LTRF, Table 3: one scheduler over 64 warps, 16 banks, 256 KB, L1 of 16 KB.",
    "fermi": "Ours after the GTX 480: one scheduler over 48 warps, 16 banks, 128 KB.",
    "fermi-gscalar": (
        "G-Scalar, section 2.1 and Table 1 (GTX 480): two schedulers, each a sub-core with half of 48 warps, "
        "16 banks and 16 collectors."
    ),
    "fermi-renaming": (
        "Register renaming, section 8.1 and Table 1: warp registers in four banks of four sub-arrays, 48 "
        "warps, one renaming table; one sub-core, since two would halve banks and table."
    ),
    "tiny": (
        "Ours, for unit tests, proofs and FPGA: 8 warps (the largest CTA of the kernels) of 4 lanes, short "
        "latencies."
    ),
}

#: Where a paper gives the parameters of its machine: by preset, then field. A field that is not here is ours.
SOURCES: dict[str, dict[str, str]] = {
    "turing": {
        "lanes": "section II",
        "sub_cores": "section II",
        "sub_core.warps": "Table I",
        "sub_core.banks": "section II",
        "sub_core.rows": "Table I",
        "sub_core.collectors": "section II",
        "sub_core.active_warps": "section VI-A",
        "sub_core.front_end.scheduler": "Table I",
        "sub_core.collector.slots": "section II",
        "sub_core.collector.allocation": "section II",
        "sub_core.collector.cache_lines": "section III-C",
        "sub_core.collector.near_distance": "section III-A",
        "sub_core.collector.sthld": "section IV-B3",
        "sub_core.collector.sthld_interval": "section IV-B3",
        "cta.shared_bytes": "Table I",
    },
    "pascal": {
        "lanes": "section II",
        "sub_cores": "section II",
        "sub_core.warps": "Table II",
        "sub_core.banks": "section II",
        "sub_core.rows": "section II",
        "sub_core.collectors": "Fig. 2",
        "sub_core.front_end.scheduler": "Table II",
        "sub_core.collector.allocation": "section II",
        "sub_core.collector.window": "section V-A",
        "sub_core.collector.boc_entries": "section IV-C",
        "cta.max_ctas": "Table II",
        "cta.shared_bytes": "Table II",
        "l1.sets": "Table II",
        "l1.ways": "Table II",
    },
    "maxwell": {
        "sub_core.warps": "Table 3",
        "sub_core.banks": "Table 2",
        "sub_core.rows": "Table 2",
        "sub_core.active_warps": "Table 3",
        "sub_core.front_end.scheduler": "Table 3",
        "sub_core.cache.registers": "Table 3",
        "sub_core.cache.crossing": "section 4.2",
        "l1.sets": "Table 3",
        "l1.ways": "Table 3",
        "memory.l2_ways": "Table 3",
    },
    "fermi-gscalar": {
        "lanes": "section 2.1",
        "sub_cores": "Table 1",
        "sub_core.warps": "Table 1",
        "sub_core.banks": "section 2.1",
        "sub_core.rows": "section 2.1",
        "sub_core.collectors": "section 2.1",
        "sub_core.execute.alu.interval": "section 2.1",
        "sub_core.execute.fma.interval": "section 2.1",
        "sub_core.execute.sfu.interval": "section 2.1",
        "cta.max_ctas": "Table 1",
        "l1.sets": "Table 1",
        "l1.ways": "Table 1",
    },
    "fermi-renaming": {
        "lanes": "section 2.1",
        "sub_core.warps": "section 6.1",
        "sub_core.banks": "section 2.1",
        "sub_core.rows": "section 2.1",
        "sub_core.active_warps": "section 8.1",
        "sub_core.front_end.scheduler": "Table 1",
        "sub_core.mapping.policy": "section 6.1",
        "sub_core.mapping.subarrays": "section 2.1",
        "sub_core.mapping.table_bytes": "section 7.1",
    },
}


def preset(name: str) -> SmConfig:
    """Return the machine of that name. Raises ConfigError that lists the known names."""
    if name not in _MAKERS:
        raise ConfigError(unknown("preset", name, _MAKERS))
    return _MAKERS[name]()
