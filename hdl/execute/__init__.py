"""Execution units, load/store unit, memory and result arbitration."""
