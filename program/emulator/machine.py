"""Job execution: launches one after the other over one device memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from warpbank.program.emulator import layout as at
from warpbank.program.emulator.device import Device, bank_size, check_launch, shared_size
from warpbank.program.emulator.encode import Encoded, encode
from warpbank.program.emulator.faults import explain
from warpbank.program.emulator.grid import run_grid
from warpbank.program.emulator.lanes.memory import WORK_ROWS
from warpbank.program.emulator.record import Recorder, check_traceable
from warpbank.program.emulator.state import Arrays
from warpbank.program.errors import LaunchError
from warpbank.program.isa import Kernel
from warpbank.program.launch import Job, Launch
from warpbank.program.listing import disassemble
from warpbank.program.trace.schema import Trace


@dataclass
class Execution:
    """Result of a job's execution: final buffers, counts and, if asked for, the trace.

    Parameters
    ----------
    buffers : final contents of the job's buffers, in its types and shapes.
    trace : if one was asked for.
    warp_instructions : warp instructions executed.
    thread_instructions : the same, times the lanes that executed each.
    variables : final contents of the module's variables in global memory, by their names in the PTX.
    """

    buffers: dict[str, np.ndarray]
    trace: Trace | None
    warp_instructions: int
    thread_instructions: int
    variables: dict[str, bytes] = field(default_factory=dict)


def _geometry(device: Device, launch: Launch, number: int, encoded: Encoded, first_warp: int) -> np.ndarray:
    """The launch's sizes and places, as compiled code wants them."""
    kernel = encoded.kernel
    words = np.zeros(at.GEOMETRY_WORDS, np.int64)
    words[at.G_BLOCK : at.G_BLOCK + 3] = launch.block
    words[at.G_GRID : at.G_GRID + 3] = launch.grid
    words[at.G_WARPS] = -(-prod(launch.block) // 32)
    words[at.G_LAUNCH] = number
    words[at.G_THREADS] = prod(launch.block)
    words[at.G_SHARED_BYTES], words[at.G_SHARED_AT] = shared_size(kernel, launch), device.shared_at
    words[at.G_LOCAL_BYTES], words[at.G_LOCAL_AT] = kernel.local_bytes, device.local_at
    words[at.G_CONST_BYTES], words[at.G_CONST_AT] = bank_size(kernel), device.const_at
    words[at.G_BUFFERS] = len(device.regions)
    words[at.G_CODE] = len(encoded.code)
    words[at.G_FIRST_WARP] = first_warp
    words[at.G_ROWS] = encoded.first_constant
    return words


class _Run:
    """One job under way."""

    def __init__(self, job: Job, kernels: Mapping[str, Kernel], trace: bool, max_instructions: int) -> None:
        self.job, self.tracing = job, trace
        for launch in job.launches:
            if launch.entry in kernels:
                check_launch(launch, kernels[launch.entry])
        warps = sum(prod(launch.grid) * -(-prod(launch.block) // 32) for launch in job.launches)
        if warps > max_instructions:
            raise LaunchError(
                f"{job.name} launches {warps} warps, each of which executes at least one instruction, and "
                f"the limit is {max_instructions} warp instructions; use a smaller grid, or raise the "
                f"limit (--max-instructions)"
            )
        self.device = Device(job, kernels)
        entries = dict.fromkeys(launch.entry for launch in job.launches)
        self.kernels = {entry: kernels[entry] for entry in entries}
        if trace:
            for kernel in self.kernels.values():
                check_traceable(kernel)
        self.encoded: dict[str, Encoded] = {}
        pc = 0
        for entry, kernel in self.kernels.items():
            self.encoded[entry] = encode(kernel)
            self.encoded[entry].code[:, at.TRACE_PC] += pc
            pc += len(self.encoded[entry].code)
        self.recorder = Recorder(trace)
        self.state = np.zeros(at.STATE_WORDS, np.int64)
        self.state[at.LIMIT], self.state[at.TRACING] = max_instructions, trace

    def launch(self, number: int, launch: Launch, first_warp: int) -> int:
        """Run one launch; returns the number of its warps."""
        encoded, device, state = self.encoded[launch.entry], self.device, self.state
        bank = device.constant_bank(launch, encoded.kernel)
        device.bytes[device.const_at : device.const_at + len(bank)] = np.frombuffer(bank, np.uint8)
        geometry = _geometry(device, launch, number, encoded, first_warp)
        warps = int(geometry[at.G_WARPS])
        registers = np.zeros((warps, encoded.rows, 32), np.uint32)
        encoded.fill_constants(registers, bank)
        predicates = np.zeros((warps, encoded.predicates), np.int64)
        predicates[:, at.TRUE] = 0xFFFFFFFF
        state[at.CTA], state[at.LAST_CTA], state[at.STARTED] = 0, prod(launch.grid), 0
        arrays = Arrays(
            code=encoded.code,
            registers=registers,
            predicates=predicates,
            bytes=device.bytes,
            words=device.words,
            buffers=device.limits,
            geometry=geometry,
            state=state,
            warps=np.zeros((warps, at.WARP_WORDS), np.int64),
            entries=np.zeros((warps, at.ENTRIES, at.ENTRY_WORDS), np.int64),
            arrived=np.zeros((warps, at.BARRIERS), np.int64),
            complete=np.zeros((warps, at.BARRIERS), np.int64),
            barriers=np.zeros((at.BARRIERS, at.BARRIER_WORDS), np.int64),
            work=np.zeros((WORK_ROWS, 32), np.int64),
            dynamic=self.recorder.dynamic,
            values=self.recorder.values,
            lines=self.recorder.lines,
            segments=self.recorder.segments,
        )
        while True:
            run_grid(arrays)
            if state[at.STATUS] == at.DONE:
                return warps * prod(launch.grid)
            if state[at.STATUS] != at.NEEDS_ROOM:
                raise explain(device, launch, encoded.kernel, arrays)
            self.recorder.grow(state)

    def run(self) -> Execution:
        first_warp = 0
        for number, launch in enumerate(self.job.launches):
            first_warp += self.launch(number, launch, first_warp)
        trace = None
        if self.tracing:
            text = [disassemble(i) for e in self.encoded.values() for i in e.instrs]
            trace = self.recorder.assemble(self.state, self.job.launches, self.kernels, text)
        executed, threads = int(self.state[at.EXECUTED]), int(self.state[at.THREADS])
        return Execution(self.device.contents(), trace, executed, threads, self.device.variables())


#: Warp instructions after which a job counts as endless. A trace takes some 180 bytes for each, so that it
#: stays below 4 GB.
MAX_INSTRUCTIONS = 20_000_000


def run_job(
    job: Job, kernels: Mapping[str, Kernel], *, trace: bool = False, max_instructions: int = MAX_INSTRUCTIONS
) -> Execution:
    """Run every launch of a job on machine code, before or after register allocation.

    Parameters
    ----------
    kernels : machine code by entry name.
    trace : record one (allocated kernels only: ValueError otherwise).
    max_instructions : warp instructions after which the job counts as endless.

    Raises LaunchError for launches that do not fit, ExecutionError for kernels that go wrong.
    """
    return _Run(job, kernels, trace, max_instructions).run()
