"""Configuration in one import: the dataclasses, the presets, overrides and files."""

from warpbank.arch.overrides import field_paths, from_dict, load_config, with_overrides
from warpbank.arch.parameters import (
    CollectorConfig,
    CtaConfig,
    ExecuteConfig,
    FrontEndConfig,
    L1Config,
    LsuConfig,
    MappingConfig,
    MemoryConfig,
    SmConfig,
    SubCoreConfig,
    UnitConfig,
    config_hash,
)
from warpbank.arch.presets import PRESETS, SOURCES, preset

__all__ = [
    "PRESETS",
    "SOURCES",
    "CollectorConfig",
    "CtaConfig",
    "ExecuteConfig",
    "FrontEndConfig",
    "L1Config",
    "LsuConfig",
    "MappingConfig",
    "MemoryConfig",
    "SmConfig",
    "SubCoreConfig",
    "UnitConfig",
    "config_hash",
    "field_paths",
    "from_dict",
    "load_config",
    "preset",
    "with_overrides",
]
