"""The emulator: machine code on device memory, 32 lanes at a time, with a trace of all it did."""

from program.emulator.machine import Execution, run_job

__all__ = ["Execution", "run_job"]
