"""Measures that several papers share, from results of runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def percent(part: float, whole: float) -> float:
    """A share in percent; 0 of nothing."""
    return 100 * part / whole if whole else 0.0


def gain(result: Mapping[str, Any], base: Mapping[str, Any]) -> float:
    """Gain in IPC of one run over another, in percent."""
    return percent(result["ipc"], base["ipc"]) - 100


def hit_ratio(result: Mapping[str, Any]) -> float:
    """Source operands that a collector had already, of all that were wanted, in percent."""
    counters = result["counters"]
    return percent(counters["boc.forwards"], counters["boc.forwards"] + counters["rf.reads"])
