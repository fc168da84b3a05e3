"""Energy of a run from tables of picojoules per event (docs/energy.md)."""

from warpbank.synth.energy.model import Energy, energy
from warpbank.synth.energy.table import (
    COMMON,
    EnergyTable,
    EventRow,
    FreeRow,
    LeakageRow,
    own_tables,
    read_table,
    table,
    tables,
)

__all__ = [
    "COMMON",
    "Energy",
    "EnergyTable",
    "EventRow",
    "FreeRow",
    "LeakageRow",
    "energy",
    "own_tables",
    "read_table",
    "table",
    "tables",
]
