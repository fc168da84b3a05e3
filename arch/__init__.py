"""The machine in words: configuration, presets, uop record, events, scheme names. Imports nothing else of ours."""

from .config import SmConfig, config_hash
from .overrides import field_paths, from_dict, load_config, with_overrides
from .presets import PRESETS, preset
from .schemes import SCHEMES, Scheme, parse_scheme

__all__ = [
    "PRESETS",
    "SCHEMES",
    "Scheme",
    "SmConfig",
    "config_hash",
    "field_paths",
    "from_dict",
    "load_config",
    "parse_scheme",
    "preset",
    "with_overrides",
]
