"""Opcodes of NVIDIA machine code (SASS): unit, memory operation and register widths of an instruction.

A trace names the first register of an operand only. What follows is what opcodes tell; docs/accelsim.md lists
it.
"""

from __future__ import annotations

from dataclasses import dataclass

from warpbank.arch.uop import MAX_DESTINATIONS, RZ, Control, Memory, Unit

_CONTROL = {
    **dict.fromkeys(
        ("BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "CALL", "RET", "SYNC", "BRK", "CONT", "BREAK"),
        Control.BRANCH,
    ),
    "EXIT": Control.EXIT,
    "BAR": Control.BARRIER,
    **dict.fromkeys(
        (
            "BSSY",
            "BSYNC",
            "SSY",
            "PBK",
            "PCNT",
            "WARPSYNC",
            "YIELD",
            "NOP",
            "DEPBAR",
            "LDGDEPBAR",
            "NANOSLEEP",
            "BPT",
            "BMOV",
            "KILL",
            "RTT",
            "ENDCOLLECTIVE",
            "PREEXIT",
            "ERRBAR",
            "CCTL",
            "CCTLL",
            "UTMACCTL",
            "UTMACMDFLUSH",
        ),
        Control.NONE,
    ),
}
_MEMORY = {
    "LDG": Memory.LOAD_GLOBAL,
    "STG": Memory.STORE_GLOBAL,
    "LDS": Memory.LOAD_SHARED,
    "LDSM": Memory.LOAD_SHARED,
    "STS": Memory.STORE_SHARED,
    "LDL": Memory.LOAD_LOCAL,
    "STL": Memory.STORE_LOCAL,
    "LD": Memory.LOAD_GLOBAL,
    "ST": Memory.STORE_GLOBAL,
    "ATOM": Memory.ATOMIC_GLOBAL,
    "ATOMG": Memory.ATOMIC_GLOBAL,
    "ATOMS": Memory.ATOMIC_SHARED,
    "RED": Memory.REDUCE_GLOBAL,
    "REDG": Memory.REDUCE_GLOBAL,
    "LDC": Memory.LOAD_CONST,
    "SHFL": Memory.SHUFFLE,
    "MEMBAR": Memory.FENCE,
    "FENCE": Memory.FENCE,
    "LDGSTS": Memory.LOAD_GLOBAL,
    **dict.fromkeys(
        ("TEX", "TLD", "TLD4", "TMML", "TXD", "TXQ", "TEXS", "TLDS", "TLD4S", "SULD"), Memory.LOAD_CONST
    ),
}
#: Opcodes that must come with an address for every active lane.
ADDRESSED = frozenset(
    base
    for base, memory in _MEMORY.items()
    if memory
    in (
        Memory.LOAD_GLOBAL,
        Memory.STORE_GLOBAL,
        Memory.ATOMIC_GLOBAL,
        Memory.REDUCE_GLOBAL,
        Memory.LOAD_LOCAL,
        Memory.STORE_LOCAL,
    )
)
#: Bulk copies of the tensor memory accelerator: no register of the warp holds what they move, and their
#: addresses are written in a form of their own.
BULK = frozenset(("UTMALDG", "UTMASTG", "UTMAPF", "UTMAREDG", "UBLKCP", "UBLKPF", "UBLKRED"))
#: Loads and stores whose address may be shared or local: generic ones.
GENERIC = ("LD", "ST", "ATOM")
_DOUBLE = ("DADD", "DMUL", "DFMA", "DMNMX", "DSETP", "DSET")
_FMA = (
    "FFMA",
    "FMUL",
    "FADD",
    "FFMA32I",
    "FMUL32I",
    "FADD32I",
    "IMAD",
    "IMUL",
    "XMAD",
    "IDP",
    "IDP4A",
    "HFMA2",
    "HMUL2",
    "HADD2",
    "FSWZADD",
)
_SFU = ("MUFU", "I2F", "F2I", "F2F", "I2I", "FRND", "POPC", "FLO", "BREV", "I2FP", "F2FP", "F2IP")
_ALU = (
    "IADD3",
    "IADD",
    "IADD32I",
    "IADD2",
    "LOP3",
    "LOP",
    "LOP32I",
    "ISETP",
    "ISET",
    "ICMP",
    "SHF",
    "SHL",
    "SHR",
    "LEA",
    "ISCADD",
    "MOV",
    "MOV32I",
    "MOVM",
    "SEL",
    "PRMT",
    "IMNMX",
    "VIMNMX",
    "FMNMX",
    "FSETP",
    "FSET",
    "FSEL",
    "FCHK",
    "FCMP",
    "PLOP3",
    "PSETP",
    "PSET",
    "P2R",
    "R2P",
    "CS2R",
    "S2R",
    "S2UR",
    "R2UR",
    "UMOV",
    "IABS",
    "BMSK",
    "SGXT",
    "BFE",
    "BFI",
    "VABSDIFF",
    "VABSDIFF4",
    "HSETP2",
    "HSET2",
    "HMNMX2",
    "VOTE",
    "VOTEU",
    "MATCH",
    "REDUX",
    "RPCMOV",
    "LEPC",
    "GETLMEMBASE",
    "B2R",
    "R2B",
    "VADD",
    "VIADD",
    "VMAD",
    "ISAD",
    "CSET",
    "CSETP",
    "ULDC",
    "ULEA",
    "ULOP3",
    "UIADD3",
    "USHF",
    "USEL",
    "UISETP",
    "UIMAD",
    "UPLOP3",
    "UPRMT",
    "UFLO",
    "UPOPC",
    "USGXT",
    "UBMSK",
    "UBREV",
    "UP2UR",
    "UR2UP",
    "PLOP",
)
#: Registers of (destination, a, b, c) of tensor instructions: shape and accumulator.
_TENSOR = {
    ("HMMA", "884", "F16"): (2, 2, 2, 2),
    ("HMMA", "884", "F32"): (2, 2, 2, 2),
    ("HMMA", "1688", "F16"): (2, 2, 1, 2),
    ("HMMA", "1688", "F32"): (4, 2, 1, 4),
    ("HMMA", "16816", "F16"): (2, 4, 2, 2),
    ("HMMA", "16816", "F32"): (4, 4, 2, 4),
    ("IMMA", "8816", ""): (2, 1, 1, 2),
    ("IMMA", "8832", ""): (2, 1, 1, 2),
    ("IMMA", "16816", ""): (4, 2, 1, 4),
    ("IMMA", "16832", ""): (4, 4, 2, 4),
    ("IMMA", "16864", ""): (4, 4, 2, 4),
    ("BMMA", "88128", ""): (2, 1, 1, 2),
    ("BMMA", "168128", ""): (4, 2, 1, 4),
    ("BMMA", "168256", ""): (4, 4, 2, 4),
    ("DMMA", "884", ""): (4, 2, 2, 4),
}


@dataclass(frozen=True)
class Meaning:
    """Properties of an instruction that follow from its opcode.

    Parameters
    ----------
    unit, memory, control : as in a uop.
    size : bytes per lane of a memory access.
    destination : registers of the destination; sources: of each source in the order of the trace; those not
        named have one.
    known : the opcode is in a table here.
    """

    unit: Unit
    memory: Memory = Memory.NONE
    control: Control = Control.NONE
    size: int = 4
    destination: int = 1
    sources: tuple[int, ...] = ()
    known: bool = True


def meaning(opcode: str, sources: int) -> Meaning:
    """Properties of an instruction from its opcode and the number of sources that the trace lists."""
    base, *words = opcode.split(".")
    if base in BULK:
        return Meaning(Unit.CONTROL, destination=0)
    if base in _CONTROL:
        return Meaning(Unit.CONTROL, control=_CONTROL[base], destination=int(base == "BMOV"))
    if base in _MEMORY:
        return _memory(base, words)
    if base in ("HMMA", "IMMA", "BMMA", "DMMA"):
        return _tensor(base, words)
    if base in _DOUBLE:
        return Meaning(Unit.FP64, destination=2, sources=(2,) * sources)
    if base in _SFU:
        return _conversion(base, words)
    if base in ("IMAD", "UIMAD") and "WIDE" in words:
        return Meaning(Unit.FMA, destination=2, sources=(1, 1, 2))
    if base == "CS2R":
        return Meaning(Unit.ALU, destination=1 if "32" in words else 2)
    return Meaning(Unit.FMA if base in _FMA else Unit.ALU, known=base in _FMA or base in _ALU)


def _memory(base: str, words: list[str]) -> Meaning:
    memory = _MEMORY[base]
    bits = next(
        (int(word.lstrip("US")) for word in words if word.lstrip("US") in ("8", "16", "32", "64", "128")), 32
    )
    size = bits // 8
    data = max(size // 4, 1)
    if memory in (Memory.SHUFFLE, Memory.FENCE, Memory.LOAD_CONST):
        return Meaning(Unit.LSU, memory, size=size, destination=data if base == "LDC" else 1)
    if base == "LDSM":
        count = next((int(word) for word in words if word in ("2", "4")), 1)
        return Meaning(Unit.LSU, memory, size=16, destination=count)
    address = 2 if "E" in words else 1
    if base == "LDGSTS":  # first the address in shared memory
        return Meaning(Unit.LSU, memory, size=size, destination=0, sources=(1, address))
    return Meaning(Unit.LSU, memory, size=size, destination=data, sources=(address, data, data))


def _tensor(base: str, words: list[str]) -> Meaning:
    shape = next((word for word in words if word.isdecimal()), "")
    kind = next((word for word in words if word in ("F16", "F32")), "") if base == "HMMA" else ""
    found = _TENSOR.get((base, shape, kind or ("F32" if base == "HMMA" else "")))
    if found is None:
        return Meaning(Unit.TENSOR, known=False)
    return Meaning(Unit.TENSOR, destination=found[0], sources=found[1:])


def _conversion(base: str, words: list[str]) -> Meaning:
    """Conversions name the type of the result first, then that of the operand. One that names a single type
    has 32 bits on the other side: F64 is that of the floating side, U64 and S64 that of the integer. FRND has
    one type on both."""
    wide = ("F64", "U64", "S64")
    types = [word for word in words if word.lstrip("FUSB").isdecimal()]
    if base == "MUFU" or not any(word in wide for word in types):
        return Meaning(Unit.SFU)
    if len(types) >= 2:
        result, operand = types[0] in wide, types[1] in wide
    elif base == "FRND":
        result = operand = True
    else:
        result = (base == "I2F") == (types[0] == "F64")
        operand = not result
    return Meaning(Unit.FP64 if "F64" in types else Unit.SFU, destination=1 + result, sources=(1 + operand,))


def group(first: int, count: int) -> range:
    """The registers of an operand of `count` registers. RZ stands for none; one that is not aligned is a
    single register, since hardware aligns groups."""
    if first == RZ:
        return range(0)
    if first % count or first + count > RZ:
        count = 1
    return range(first, first + min(count, MAX_DESTINATIONS))
