"""Presets: the machines of the papers as named configurations."""

from __future__ import annotations

from warpbank.arch.errors import ConfigError
from warpbank.arch.names import unknown
from warpbank.arch.parameters import (
    CollectorConfig,
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
            warps=8,
            banks=8,
            rows=64,
            collectors=8,
            front_end=FrontEndConfig(branch_hold=8),
            collector=CollectorConfig(allocation="per_warp"),
            execute=execute,
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


_MAKERS = {"turing": _turing, "pascal": _pascal, "maxwell": _maxwell, "fermi": _fermi, "tiny": _tiny}

#: Preset names, in the order of the documentation, and where each comes from.
PRESETS: dict[str, str] = {
    "turing": (
        "Malekeh, section II and Table I (RTX 2060): 4 sub-cores of 8 warps, 2 banks and 2 collectors each."
    ),
    "pascal": (
        "BOW, Table II (Titan X): 32 banks and one collector per warp, here as 4 sub-cores of 8 warps and 8 "
        "banks."
    ),
    "maxwell": "LTRF, Table 3: one scheduler over 64 warps, 16 banks, 256 KB, L1 of 16 KB.",
    "fermi": "G-Scalar and register virtualization (GTX 480): one scheduler over 48 warps, 16 banks, 128 KB.",
    "tiny": (
        "Ours, for unit tests, proofs and FPGA: 8 warps (the largest CTA of the kernels) of 4 lanes, short "
        "latencies."
    ),
}


def preset(name: str) -> SmConfig:
    """Return the machine of that name. Raises ConfigError that lists the known names."""
    if name not in _MAKERS:
        raise ConfigError(unknown("preset", name, _MAKERS))
    return _MAKERS[name]()
