"""Export of traces as `.traceg` files of tracer version 5, so that other simulators run what ours run.

What the format asks for and our traces do not have is made up. Opcodes are chosen by unit, memory operation
and register widths, so that `warpbank.program.accelsim.read_accelsim` reads back what was there. Addresses
follow from memory lines: the lanes of an access share its lines evenly, in lane order; shared memory has
addresses that need as many passes; local memory has the words of its lines. Which sectors of a line an access
touches is not kept. Predicates and values are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from warpbank.arch.uop import LINE_BYTES, LINE_MASK, Control, Memory, Unit
from warpbank.program.accelsim.addresses import BANKS, LOCAL_LINES, global_lines, shared_passes
from warpbank.program.accelsim.sass import group, meaning
from warpbank.program.errors import TraceError
from warpbank.program.trace.schema import FLAG_ARRIVE, FLAG_WAIT, Trace

_VERSION = 5
#: Opcodes to try, by control operation, by memory operation and by unit.
_CONTROLS = {Control.NONE: "NOP", Control.BRANCH: "BRA", Control.BARRIER: "BAR.SYNC", Control.EXIT: "EXIT"}
_ACCESSES = {
    Memory.LOAD_GLOBAL: "LDG",
    Memory.STORE_GLOBAL: "STG",
    Memory.ATOMIC_GLOBAL: "ATOMG",
    Memory.REDUCE_GLOBAL: "RED",
    Memory.LOAD_SHARED: "LDS",
    Memory.STORE_SHARED: "STS",
    Memory.ATOMIC_SHARED: "ATOMS",
    Memory.LOAD_LOCAL: "LDL",
    Memory.STORE_LOCAL: "STL",
    Memory.LOAD_CONST: "LDC",
    Memory.SHUFFLE: "SHFL",
    Memory.FENCE: "MEMBAR",
}
_UNITS = {
    Unit.ALU: ("IADD3",),
    Unit.FMA: ("FFMA",),
    Unit.SFU: ("MUFU",),
    Unit.TENSOR: ("HMMA.16816.F32", "HMMA.1688.F32", "HMMA.16816.F16", "HMMA.1688.F16", "IMMA.8816", "HMMA"),
    Unit.FP64: ("DFMA", "F2F.F64.F32", "F2F.F32.F64"),
}
#: Endings of memory opcodes by bytes per lane.
_SIZES = {1: ".U8", 2: ".U16", 4: "", 8: ".64", 16: ".128"}
_SHARED = (Memory.LOAD_SHARED, Memory.STORE_SHARED, Memory.ATOMIC_SHARED)
_LOCAL = (Memory.LOAD_LOCAL, Memory.STORE_LOCAL)
_GLOBAL = (Memory.LOAD_GLOBAL, Memory.STORE_GLOBAL, Memory.ATOMIC_GLOBAL, Memory.REDUCE_GLOBAL)


@dataclass
class Exported:
    """Files that were written, and how faithful they are.

    Parameters
    ----------
    kernels : the list of kernels, `kernelslist.g`; the traces lie beside it.
    instructions : warp instructions.
    differs : what could not be said -> executed instructions that it concerns.
    """

    kernels: Path
    instructions: int = 0
    differs: Counter[str] = field(default_factory=Counter)


def write_accelsim(trace: Trace, folder: Path) -> Exported:
    """Write a trace as `kernel-N.traceg`, one for each launch, and `kernelslist.g`.

    Parameters
    ----------
    trace : without the instructions that hint passes insert.
    folder : of the files; it is made if it is not there.

    Raises
    ------
    TraceError : a file cannot be written, or the trace has instructions of a hint pass.
    """
    exporter = _Exporter(trace)
    made = Exported(folder / "kernelslist.g", trace.warp_instructions, exporter.differs)
    names = [f"kernel-{number + 1}.traceg" for number in range(len(trace.launches))]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for number, name in enumerate(names):
            with (folder / name).open("w", encoding="utf-8") as file:
                file.writelines(f"{line}\n" for line in exporter.launch(number))
        made.kernels.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    except OSError as error:
        raise TraceError(f"the traces cannot be written to {folder}: {error.strerror}") from None
    return made


class _Exporter:
    """Writer of the lines of launches."""

    def __init__(self, trace: Trace) -> None:
        self._trace = trace
        self.differs: Counter[str] = Counter()
        self._choose: Callable[[int, int, bool], tuple[str, str, bool]] = cache(self._opcode)
        if any(row["control"] > Control.EXIT for row in trace.code):
            raise TraceError(
                "a trace with the instructions of a hint pass (PREFETCH, pir, pbr) is not exported: no other "
                "simulator knows them; export the trace before the pass"
            )

    def launch(self, number: int) -> Iterator[str]:
        """Lines of a launch."""
        trace, launch = self._trace, self._trace.launches[number]
        columns, rows, _ = grid = tuple(int(each) for each in launch["grid"])
        yield f"-kernel name = {trace.kernels[int(launch['kernel'])]}"
        yield f"-kernel id = {number + 1}"
        yield f"-grid dim = ({','.join(map(str, grid))})"
        yield f"-block dim = ({','.join(str(int(each)) for each in launch['block'])})"
        yield f"-shmem = {int(launch['shared_bytes'])}"
        yield f"-nregs = {int(launch['registers'])}"
        yield from ("-binary version = 75", "-cuda stream id = 0")
        yield from ("-shmem base_addr = 0x00007f0000000000", "-local mem base_addr = 0x00007f0002000000")
        yield from (
            "-nvbit version = 1.5.5",
            f"-accelsim tracer version = {_VERSION}",
            "-enable lineinfo = 0",
        )
        yield from ("", "#traces format = PC mask dest_num [reg_dests] opcode src_num ...")
        first, each = int(launch["first_warp"]), int(launch["warps_per_cta"])
        for block in range(int(launch["ctas"])):
            begin = first + block * each
            cta = int(trace.warps[begin]["cta"])
            place = f"{cta % columns},{cta // columns % rows},{cta // columns // rows}"
            yield from ("", "#BEGIN_TB", "", f"thread block = {place}")
            for row in range(begin, begin + each):
                yield from ("", f"warp = {int(trace.warps[row]['index'])}")
                yield f"insts = {int(trace.warps[row]['length'])}"
                yield from self._warp(row)
            yield from ("", "#END_TB")

    def _warp(self, row: int) -> Iterator[str]:
        """Lines of a warp."""
        trace = self._trace
        start, length = int(trace.warps[row]["first"]), int(trace.warps[row]["length"])
        names = ("pc", "mask", "memory", "flags", "line", "line_count", "passes", "barrier", "barrier_warps")
        dynamic = trace.dynamic[start : start + length]
        for pc, mask, memory, flags, line, lines, passes, barrier, warps in zip(
            *(dynamic[name].tolist() for name in names), strict=True
        ):
            code = trace.code[pc]
            kind = memory if mask else int(code["memory"])
            arrives = bool(flags & FLAG_ARRIVE and not flags & FLAG_WAIT)
            head, tail, exact = self._choose(pc, kind, arrives)
            if not exact:
                self.differs["registers, unit or width that no opcode has"] += 1
            at_barrier = int(code["control"]) == Control.BARRIER and mask != 0
            if at_barrier != bool(flags & FLAG_ARRIVE):
                self.differs["arrival of a part of a warp at a barrier"] += 1
            if warps:
                self.differs["barrier of some warps of a block"] += 1
            touched = [each & LINE_MASK for each in trace.lines[line : line + lines].tolist()]
            access = self._access(kind, mask, int(code["size"]), touched, passes)
            yield f"{16 * pc:04x} {mask:08x} {head} {tail} {access} {barrier if at_barrier else 0} "

    def _opcode(self, pc: int, kind: int, arrives: bool) -> tuple[str, str, bool]:
        """Destinations, opcode and sources of an instruction, and whether they say all of it."""
        code = self._trace.code[pc]
        sources = [int(each) for each in code["sources"][: int(code["source_count"])]]
        written = [int(code["destination"]) + place for place in range(int(code["count"]))]
        tried = [(opcode, *_fits(opcode, code, kind, sources, written)) for opcode in _candidates(code, kind)]
        opcode, listed, exact = next((each for each in tried if each[2]), tried[-1])
        if arrives:
            opcode = opcode.replace("BAR.SYNC", "BAR.ARV")
        head = " ".join([str(len(written)), *(f"R{each}" for each in written)])
        return f"{head} {opcode}", " ".join([str(len(listed)), *(f"R{each}" for each in listed)]), exact

    def _access(self, kind: int, mask: int, size: int, lines: list[int], passes: int) -> str:
        """Width, mode and addresses of an access; 0 of anything else."""
        active = mask.bit_count()
        memory = Memory(kind)
        if memory in _SHARED:
            found = _shared(mask, size, passes, memory is Memory.ATOMIC_SHARED) if mask else []
            if found is None:
                self.differs["passes of shared memory"] += 1
                found = [0] * active
        elif memory in _LOCAL:
            words = [line % LOCAL_LINES for line in lines][:: max(size // 4, 1)]
            found = (
                [4 * words[lane * len(words) // active] for lane in range(active)] if words else [0] * active
            )
        elif memory in _GLOBAL:
            found = _global(lines, active, size)
            if active and [each & LINE_MASK for each in global_lines(found, size)] != lines:
                self.differs["lines of global memory"] += 1
        elif memory is Memory.LOAD_CONST:
            return f"{size} 1 0x0 0"
        else:
            return "0"
        return " ".join([str(size), "0", *(f"0x{address:016x}" for address in found)])


def _candidates(code: Any, kind: int) -> Sequence[str]:
    """Opcodes to try for an instruction whose memory operation is `kind`."""
    unit = Unit(int(code["unit"]))
    if unit is Unit.CONTROL:
        return (_CONTROLS[Control(int(code["control"]))],)
    if unit is Unit.LSU:
        base, ending = _ACCESSES[Memory(kind)], _SIZES.get(int(code["size"]), "")
        return (
            (f"{base}.E{ending}", f"{base}{ending}") if Memory(kind) in _GLOBAL else (f"{base}{ending}", base)
        )
    return _UNITS[unit]


def _fits(
    opcode: str, code: Any, kind: int, sources: list[int], written: list[int]
) -> tuple[list[int], bool]:
    """First registers of the sources as a line with this opcode lists them, and whether the line would be
    read as the instruction."""
    known = meaning(opcode, len(sources))
    listed: list[int] = []
    at = 0
    while at < len(sources):
        width = known.sources[len(listed)] if len(listed) < len(known.sources) else 1
        listed.append(sources[at])
        at += len(group(sources[at], width))
    read: list[int] = []
    for place, first in enumerate(listed):
        read += group(first, known.sources[place] if place < len(known.sources) else 1)
    results = list(group(written[0], max(known.destination, 1))) if written else []
    memory = known.memory
    if memory is Memory.ATOMIC_GLOBAL and not written:
        memory = Memory.REDUCE_GLOBAL
    sized = (
        memory is Memory.NONE or memory in (Memory.SHUFFLE, Memory.FENCE) or known.size == int(code["size"])
    )
    exact = (
        list(dict.fromkeys(read)) == sources
        and len(results) <= len(written)
        and (known.unit, memory) == (Unit(int(code["unit"])), Memory(kind))
        and sized
    )
    return listed, exact


def _global(lines: list[int], active: int, size: int) -> list[int]:
    """Addresses of the active lanes that touch these lines, in this order."""
    if not lines:
        return [0] * active
    found, within = [], Counter[int]()
    for lane in range(active):
        line = lines[lane * len(lines) // active]
        found.append(line * LINE_BYTES + within[line] * size % LINE_BYTES)
        within[line] += 1
    return found


@cache
def _shared(mask: int, size: int, passes: int, atomic: bool) -> list[int] | None:
    """Addresses in shared memory that take so many passes; None: no pattern tried does. Some lanes want words
    of their own in one bank; the others share a word with the first, or have banks of their own."""
    lanes = [lane for lane in range(32) if mask >> lane & 1]
    width = max(size, 4)
    for others in (0, width):
        for alone in range(len(lanes) + 1):
            found = [
                4 * BANKS * place if place < alone else others * (place - alone) % (4 * BANKS)
                for place in range(len(lanes))
            ]
            if max(1, shared_passes(zip(lanes, found, strict=True), size, atomic)) == passes:
                return found
    return None
