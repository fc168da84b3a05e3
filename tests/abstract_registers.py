"""Abstract register file: what an instruction set says that registers hold, with no cycles, no banks and no
hints.

A dictionary gives every register's lanes, by number of the lane. It is written from the schema of a trace
alone, and shares no code with the golden model, whose operand checker, streams and merges it checks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from warpbank.program.trace.schema import Trace

#: Lane -> word.
Lanes = dict[int, int]


@dataclass(frozen=True)
class Executed:
    """Executed instruction of a warp.

    Parameters
    ----------
    pc : row of `Trace.code`.
    active : numbers of the lanes that execute it.
    reads : registers read.
    writes : register -> the words that the active lanes write.
    """

    pc: int
    active: tuple[int, ...]
    reads: tuple[int, ...]
    writes: dict[int, Lanes]


@dataclass
class AbstractRegisters:
    """Registers of a warp.

    Parameters
    ----------
    words : register -> lane -> word; a lane that no instruction wrote is missing.
    """

    words: dict[int, Lanes] = field(default_factory=dict)

    def read(self, register: int, lanes: Iterable[int]) -> Lanes:
        """Words of those of the lanes that have been written."""
        held = self.words.get(register, {})
        return {lane: held[lane] for lane in lanes if lane in held}

    def execute(self, executed: Executed) -> None:
        """Apply the writes of an instruction."""
        for register, lanes in executed.writes.items():
            self.words.setdefault(register, {}).update(lanes)


def executed(trace: Trace, row: int, lanes: int) -> Iterator[Executed]:
    """Instructions of a warp (row of `Trace.warps`) in program order, cut to the first `lanes` lanes."""
    warp = trace.warps[row]
    first = int(warp["first"])
    for done in trace.dynamic[first : first + int(warp["length"])]:
        pc, mask = int(done["pc"]), int(done["mask"])
        code = trace.code[pc]
        active = tuple(lane for lane in range(lanes) if mask >> lane & 1)
        if not mask:
            yield Executed(pc, (), (), {})
            continue
        reads = tuple(int(register) for register in code["sources"][: int(code["source_count"])])
        writes = {
            int(code["destination"]) + number: {
                lane: int(trace.values[int(done["value"]) + number][lane]) for lane in active
            }
            for number in range(int(code["count"]))
        }
        yield Executed(pc, active, reads, writes)


def mismatches(
    trace: Trace,
    lanes: int,
    found: Mapping[tuple[int, int], list[np.ndarray]],
    promised: Mapping[tuple[int, int], list[set[int]]],
) -> list[str]:
    """Sentences about operands that a machine read wrong, or never: none if all are right.

    Parameters
    ----------
    found : (row of `Trace.warps`, number of the instruction in its warp) -> what the machine read.
    promised : per instruction, lanes of each operand that must be right; of others, those that execute it.
    """
    wrong: list[str] = []
    for row in range(len(trace.warps)):
        registers = AbstractRegisters()
        for number, instruction in enumerate(executed(trace, row, lanes)):
            reads, operands = instruction.reads, found.get((row, number), [])
            where = f"instruction {number} of warp {row} (pc {instruction.pc})"
            if len(operands) != len(reads):
                wrong.append(f"{where} reads {len(reads)} registers, and was given {len(operands)}")
            wanted = promised.get((row, number), [set(instruction.active)] * len(reads))
            for register, operand, these in zip(reads, operands, wanted, strict=False):
                for lane, word in registers.read(register, sorted(these)).items():
                    if int(operand[lane]) != word:
                        wrong.append(
                            f"{where}: lane {lane} of R{register} is {int(operand[lane]):#x}, not {word:#x}"
                        )
            registers.execute(instruction)
    return wrong
