"""Energy of a run from tables of picojoules per event (docs/energy.md)."""

from synth.energy.model import Energy, energy
from synth.energy.table import EnergyTable, EventRow, LeakageRow, read_table, table, tables

__all__ = ["Energy", "EnergyTable", "EventRow", "LeakageRow", "energy", "read_table", "table", "tables"]
