"""Fault messages of the emulator, each one paragraph for the user."""

from __future__ import annotations

import numpy as np

from warpbank.program.emulator import layout as at
from warpbank.program.emulator.device import Device, Region
from warpbank.program.emulator.state import Arrays
from warpbank.program.errors import ExecutionError
from warpbank.program.isa import GLOBAL_BASE, Kernel, Op, Space
from warpbank.program.launch import Launch
from warpbank.program.listing import disassemble

_ACTS = {Op.LD: "reads", Op.ST: "writes", Op.ATOM: "updates"}


def split(index: int, dims: tuple[int, int, int]) -> tuple[int, int, int]:
    """Coordinates (x, y, z) of a linear index."""
    return index % dims[0], index // dims[0] % dims[1], index // (dims[0] * dims[1])


class Explainer:
    """Fault explainer, with words for the state in which a launch stopped."""

    def __init__(self, device: Device, launch: Launch, kernel: Kernel, arrays: Arrays) -> None:
        self.device, self.launch, self.kernel, self.arrays = device, launch, kernel, arrays
        self.state = [int(x) for x in arrays.state]
        self.instrs = kernel.instructions()

    def error(self) -> ExecutionError:
        """Error for the current STATUS."""
        status = self.state[at.STATUS]
        if status == at.DEADLOCK:
            return ExecutionError(self._deadlock())
        if status == at.ENDLESS:
            return ExecutionError(self._endless())
        return ExecutionError(self._fault())

    # ---- where

    def _block(self) -> str:
        return f"kernel {self.kernel.name}, block {split(self.state[at.CTA], self.launch.grid)}"

    def _thread(self, warp: int, lane: int) -> str:
        return f"thread {split(32 * warp + lane, self.launch.block)}"

    def _instruction(self, pc: int) -> str:
        if pc >= len(self.instrs):
            return f"pc {pc}, past the last instruction"
        instr = self.instrs[pc]
        place = f" ({self.kernel.ptx_path or self.device.job.ptx_path}:{instr.line})" if instr.line else ""
        return f"pc {pc}{place}: {disassemble(instr)}"

    def _nearest(self, address: int, size: int) -> str:
        """Where an address lies with respect to the buffer closest to it."""
        if not self.device.regions:
            return "the job has no buffers"
        if address < GLOBAL_BASE // 2:
            return "no buffer is near; buffers start at " + hex(GLOBAL_BASE)

        def distance(r: Region) -> int:
            return max(r.start - address, address + size - r.end, 0)

        region = min(self.device.regions, key=distance)
        if address >= region.end:
            return f"{address - region.end} bytes past the end of {region}"
        if address < region.start:
            return f"{region.start - address} bytes before the start of {region}"
        return f"it starts {region.end - address} bytes before the end of {region}"

    # ---- faults

    def _fault(self) -> str:
        s = self.state
        kind, warp, lane, pc = s[at.FAULT], s[at.FAULT_WARP], s[at.FAULT_LANE], s[at.FAULT_PC]
        where = f"{self._block()}, {self._thread(warp, lane)}"
        if kind == at.TRAPPED:
            return f"{where}: the kernel trapped at {self._instruction(pc)}."
        if kind == at.BAD_BARRIER:
            b, threads = s[at.FAULT_ADDRESS] & 0xFFFFFFFF, s[at.FAULT_ADDRESS] >> 32
            return (
                f"{where}: barrier {b} with {threads} threads at {self._instruction(pc)}. Barriers are 0 to "
                f"{at.BARRIERS - 1} and their thread counts multiples of 32 up to 1024."
            )
        if kind == at.UNEVEN_BARRIER:
            return (
                f"{where}: the number or the thread count of a barrier is not that of the warp's lower lanes "
                f"at {self._instruction(pc)}. A warp arrives at one barrier at a time: let the lanes of each "
                "barrier arrive behind a branch of their own."
            )
        if kind == at.RAN_OFF:
            return (
                f"{self._block()}, warp {warp}: execution ran past the last instruction; the code must end "
                "in ret or exit."
            )
        if kind == at.TWO_BARRIERS:
            return (
                f"{self._block()}, warp {warp}: with {self._instruction(pc)} the lanes that are left have "
                "arrived at two barriers at once, and a row of a trace names one. Let the lanes that exit "
                "do so before the others arrive."
            )
        if kind == at.TREE_FULL:
            return (
                f"{where}: more than {at.ENTRIES} divergent groups of lanes in one warp at "
                f"{self._instruction(pc)}."
            )
        instr, address, space = self.instrs[pc], s[at.FAULT_ADDRESS], Space(s[at.FAULT_SPACE])
        act = (
            f"{where} {_ACTS[instr.op]} {instr.size} bytes of {space.name.lower()} memory at "
            f"0x{address % 2**64:x}"
        )
        by = f"The instruction is {self._instruction(pc)}."
        if kind == at.MISALIGNED:
            return f"{act}, which is misaligned: the address must be a multiple of {instr.size}. {by}"
        if kind == at.BAD_SPACE:
            return f"{act}, where that cannot be done. {by}"
        if space is Space.GLOBAL:
            return f"{act}, which is out of bounds: {self._nearest(address, instr.size)}. {by}"
        words = {
            Space.SHARED: at.G_SHARED_BYTES,
            Space.LOCAL: at.G_LOCAL_BYTES,
            Space.CONST: at.G_CONST_BYTES,
        }
        size = int(self.arrays.geometry[words[space]])
        owner = {Space.SHARED: "the block has", Space.LOCAL: "the thread has", Space.CONST: "the kernel has"}[
            space
        ]
        return f"{act}, which is out of bounds: {owner} {size} bytes of {space.name.lower()} memory. {by}"

    def _endless(self) -> str:
        s = self.state
        warp, pc = s[at.FAULT_WARP], s[at.FAULT_PC]
        loop = int(self.arrays.warps[warp, at.LOOP])
        text = (
            f"{self._block()}, warp {warp} still runs after {s[at.LIMIT]} warp instructions, at "
            f"{self._instruction(pc)}."
        )
        if loop:
            text += f" Its last backward branch was {self._instruction(loop)}."
        return text + " If the loop does end, raise the limit (--max-instructions)."

    def _deadlock(self) -> str:
        a = self.arrays
        lines = []
        for w in range(len(a.warps)):
            if a.warps[w, at.PHASE] == at.EXITED:
                continue
            live = int(a.warps[w, at.LIVE])
            here = []
            for b in range(at.BARRIERS):
                lanes = int(a.arrived[w, b])
                if lanes:
                    blocked = a.entries[w][
                        (a.entries[w, :, at.E_USED] == 1) & (a.entries[w, :, at.E_BARRIER] == b)
                    ]
                    pcs = sorted({int(pc) for pc in blocked[:, at.E_BARRIER_PC]})
                    share = "all lanes" if live & ~lanes == 0 else f"lanes 0x{lanes:08x} of 0x{live:08x}"
                    here.append(
                        f"{share} at barrier {b}" + (f" (pc {', '.join(map(str, pcs))})" if pcs else "")
                    )
            lines.append(f"warp {w} has {' and '.join(here) or 'lanes that wait for others'}")
        exited = [w for w in range(len(a.warps)) if a.warps[w, at.PHASE] == at.EXITED]
        needs = []
        for b in range(at.BARRIERS):
            arrived = int(a.complete[:, b].sum())
            if a.arrived[:, b].any():
                threads = int(a.barriers[b, at.B_THREADS])
                wanted = (
                    f"{threads // 32} warps"
                    if threads
                    else f"all {len(a.warps) - len(exited)} warps that have not exited"
                )
                waits = {
                    int(e[at.E_BARRIER_PC])
                    for w in a.entries
                    for e in w
                    if e[at.E_USED] and e[at.E_BARRIER] == b
                }
                at_pc = f"; {self._instruction(min(waits))}" if waits else ""
                needs.append(f"barrier {b} needs {wanted} and has {arrived}{at_pc}")
        if len(lines) > 8:
            lines[8:] = [f"{len(lines) - 8} more warps wait"]
        gone = f" Warps {', '.join(map(str, exited))} have exited." if exited else ""
        return (
            f"{self._block()}: deadlock at a barrier. {'; '.join(lines)}.{gone} {'. '.join(needs)}.".replace(
                "..", "."
            )
        )


def explain(device: Device, launch: Launch, kernel: Kernel, arrays: Arrays) -> ExecutionError:
    """Error that says why a launch stopped."""
    with np.errstate(all="ignore"):
        return Explainer(device, launch, kernel, arrays).error()
