"""Uop record: one warp instruction as the register file sees it. It crosses every interface between rooms."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Final

#: Most register sources one uop may name: a double-precision FMA reads three pairs.
MAX_SOURCES: Final = 6
#: Most consecutive registers one uop may write: a 128-bit load.
MAX_DESTINATIONS: Final = 4
#: R255 (RZ) reads as zero, is never fetched and never written; it never appears in a uop.
RZ: Final = 255
#: General predicates P0..P6; P7 (PT) is constant true and never appears in a uop.
PREDICATES: Final = 7
#: Bit of a `seq` that marks a move which the hardware inserts before the uop of that number (G-Scalar).
MOVE: Final = 1 << 31
#: Bytes of a memory line and of a sector, the part of it that memory may move by itself.
LINE_BYTES: Final = 128
SECTOR_BYTES: Final = 32
#: Bits of a memory line's number: a 64-bit byte address without the 7 bits inside a line. In a trace the
#: mask of the sectors touched stands above them.
LINE_WIDTH: Final = 57
LINE_MASK: Final = (1 << LINE_WIDTH) - 1
#: Sectors of a line, and the mask of them all.
SECTORS: Final = LINE_BYTES // SECTOR_BYTES
WHOLE_LINE: Final = (1 << SECTORS) - 1
#: Bits of `Uop.write_back`.
TO_COLLECTOR: Final = 1
TO_BANKS: Final = 2


class Unit(IntEnum):
    """Execution unit of a uop."""

    ALU = 0
    FMA = 1
    SFU = 2
    TENSOR = 3
    FP64 = 4
    LSU = 5
    CONTROL = 6


class Memory(IntEnum):
    """Memory operation of a uop, as the load/store unit tells them apart."""

    NONE = 0
    LOAD_GLOBAL = 1
    STORE_GLOBAL = 2
    ATOMIC_GLOBAL = 3  # returns a value
    REDUCE_GLOBAL = 4  # does not
    LOAD_SHARED = 5
    STORE_SHARED = 6
    ATOMIC_SHARED = 7
    LOAD_LOCAL = 8
    STORE_LOCAL = 9
    LOAD_CONST = 10
    SHUFFLE = 11  # lane exchange: uses the LSU's crossbar, touches no memory
    FENCE = 12


#: Operations whose result comes from beyond the SM: what a warp waits long for.
DISTANT: Final = (Memory.LOAD_GLOBAL, Memory.ATOMIC_GLOBAL, Memory.LOAD_LOCAL)


class Control(IntEnum):
    """Control operation of a uop, for the front end."""

    NONE = 0
    BRANCH = 1
    BARRIER = 2
    EXIT = 3
    PREFETCH = 4  # of the registers of an interval (LTRF)
    PIR = 5  # release flags of the instructions that follow (register renaming)
    PBR = 6  # registers that are released here (register renaming)


#: Messages to the register file, which are no instructions of the program. Whatever counts a warp's uops
#: passes over them.
NOTICES: Final = (Control.PREFETCH, Control.PIR, Control.PBR)


class Scalar(IntEnum):
    """Kind of scalar execution, by which a uop uses fewer lanes than it has (G-Scalar): none; one lane for
    all, by unit; one lane for each half that is scalar; one lane for the lanes of a divergent uop."""

    NONE = 0
    ALU = 1
    SFU = 2
    MEMORY = 3
    HALF = 4
    DIVERGENT = 5


@dataclass(slots=True)
class Uop:
    """Warp instruction as the register file sees it.

    Parameters (widths in bits where the RTL carries them)
    ----------
    warp : warp slot of the sub-core.
    seq : per-warp counter in program order; wide enough never to alias in flight.
    pc : index of the machine instruction in the program.
    unit : execution unit (3).
    sources : distinct source registers in operand order, at most `MAX_SOURCES` (6 x 8 plus 6 valid bits); a
        register named twice is listed once; RZ never.
    destination, count : first register written and how many consecutive ones, 0..4 (8, 3).
    predicates_read, predicates_written : bit masks over P0..P6 (7 each); dependences only.
    mask : active lanes that execute (active and guard true) (32).
    memory, control : what the load/store unit or the front end has to do (4, 3).
    write_back : where the compiler wants the result: bit 0 the collector, bit 1 the banks (BOW-WR; 3 without
        hints) (2).
    near : bit k: the next reuse of source k is near; bit 6: that of the destination (Malekeh) (7).
    dead : bit k: the read of source k is the last of its register, for all lanes (LTRF+, renaming) (6).
    scalar : one lane can execute it for all, if its register operands are scalar (G-Scalar) (1).
    fresh : no lane needs what its destinations held before (G-Scalar) (1).
    enters : the extra bit: its warp prefetches before it (LTRF) (1, if the machine takes such bits).
    """

    warp: int
    seq: int
    pc: int
    unit: Unit
    sources: tuple[int, ...]
    destination: int
    count: int
    predicates_read: int
    predicates_written: int
    mask: int
    memory: Memory
    control: Control
    write_back: int = TO_COLLECTOR | TO_BANKS
    near: int = 0
    dead: int = 0
    scalar: int = 0
    fresh: int = 0
    enters: bool = False
