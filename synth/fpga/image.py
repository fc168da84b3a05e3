"""ROM image of the demonstrator: one launch of a kernel, as the machine's front end and its execution unit
need it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from amaranth.lib import data

from warpbank.arch.parameters import SmConfig
from warpbank.arch.uop import MAX_SOURCES


class Do(IntEnum):
    """Operation of the integer unit on a, b, c and the predicates q0, q1, q2. `warpbank.program.isa.Op` says
    what each means."""

    NOTHING = 0
    GIVEN = 1  # from the ROM of values: what the special registers hold, and other lanes
    # compare operands with the ROM of values: address, what a store writes; a load gives what the ROM holds
    MEMORY = 2
    MOV = 3
    SEL = 4
    ADD = 5
    ADDC = 6
    SUB = 7
    SUBC = 8
    MUL = 9  # low word of a * b + c
    MULHI = 10
    MULW = 11  # both words of a * b + c
    MIN = 12
    MAX = 13
    ABS = 14
    AND = 15
    OR = 16
    XOR = 17
    NOT = 18
    SHL = 19
    SHR = 20
    SHF = 21
    SETP = 22
    SETPX = 23
    PLOP = 24


#: A selector beyond the source slots: the constant of that operand.
CONSTANT = MAX_SOURCES
#: Operands of an instruction in 32-bit words: a, b, c, and the high word of a c that is a pair.
OPERANDS = ("a", "b", "c", "c_high")
#: Predicate sources and results; number 7 is constant true, or no result.
READ = ("q0", "q1", "q2")
WRITTEN = ("p0", "p1")
NO_PREDICATES = dict.fromkeys(WRITTEN, 7)

#: One instruction: what to do, where each operand is (a source slot, or `CONSTANT`) and its constant, the
#: predicates it reads (bit 3: negated) and writes, and the modifiers of `warpbank.program.isa.Instr`.
MICRO = data.StructLayout(
    {
        "do": 5,
        **{f"{name}_from": 3 for name in OPERANDS},
        **{f"{name}_constant": 32 for name in OPERANDS},
        **dict.fromkeys(READ, 4),
        **dict.fromkeys(WRITTEN, 3),
        "signed": 1,
        "cmp": 3,
        "boolop": 2,
        "aux": 8,
    }
)


def micro_fields(micro: int) -> dict[str, int]:
    """Fields of one instruction, taken from its bits."""
    return {name: micro >> field.offset & (1 << field.width) - 1 for name, field in MICRO}


@dataclass(frozen=True)
class Step:
    """Executed uop of a warp.

    Parameters
    ----------
    pc : its instruction.
    uop : its answer to `warpbank.hdl.interfaces.Fill`.
    line : first of its memory lines in `Image.lines`.
    values : row of `Image.values`, of a load, a store or a special register.
    """

    pc: int
    uop: int
    line: int
    values: int


@dataclass(frozen=True)
class Image:
    """Image of one launch, all of whose CTAs fit the machine at once, so that warp i of the launch is in slot
    i.

    Parameters
    ----------
    kernel : its name.
    config : the machine; one sub-core.
    registers : of a warp.
    launch : answer to `warpbank.hdl.sm.Sm.launch`.
    micro : per pc, as `MICRO` has it.
    steps : all executed uops, warp after warp.
    first : per warp slot, its first row of `steps`.
    lines : memory lines, byte address / 128, each with the mask of its sectors touched above the number.
    values : rows of 32-bit words of all lanes, lane 0 lowest: the operands of a memory instruction in slot
        order, then what it, or a special register, gives.
    operands, given : words of either kind in a row.
    checks : uops whose operands are compared.
    """

    kernel: str
    config: SmConfig
    registers: int
    launch: int
    micro: tuple[int, ...]
    steps: tuple[Step, ...]
    first: tuple[int, ...]
    lines: tuple[int, ...]
    values: tuple[int, ...]
    operands: int
    given: int
    checks: int
