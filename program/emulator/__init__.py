"""Emulator of machine code on device memory, 32 lanes at a time, with a trace of all it did."""

from warpbank.program.emulator.machine import MAX_INSTRUCTIONS, Execution, run_job

__all__ = ["MAX_INSTRUCTIONS", "Execution", "run_job"]
