"""Flag instructions: their bits, and what they cover."""

from __future__ import annotations

import pytest

from warpbank import workloads
from warpbank.arch.uop import Control
from warpbank.program.cfg import Cfg
from warpbank.program.isa import Block, Imm, Instr, Kernel, Op, Reg
from warpbank.program.liveness import members
from warpbank.program.release.flags import OPERANDS, Flags, release_flags
from warpbank.program.release.words import (
    COVERED,
    PBR_OPCODE,
    PIR_OPCODE,
    FlagWord,
    flag_words,
    number_bits,
    unpack,
)
from warpbank.program.runner import compile_job


def straight(count: int, registers: int = 4) -> Kernel:
    """A block of `count` instructions, each of which reads the result before it."""
    code = [Instr(Op.IADD, dst=Reg(i % 2), srcs=(Reg(1 - i % 2), Imm(1))) for i in range(count - 1)]
    return Kernel("k", [Block("A", [*code, Instr(Op.EXIT)])], {}, 0, registers=registers)


def test_the_bits_of_a_pir() -> None:
    """Fig. 6: flags of 3 bits, the first operand's lowest; opcode split into 6 and 4 bits around them."""
    word = FlagWord(Control.PIR, 0, 2, 0b011_001)
    assert word.bits == (PIR_OPCODE >> 4) << 58 | 0b011_001 << 4 | PIR_OPCODE & 15
    assert word.bits < 1 << 64
    assert unpack(word.bits, 3) == (PIR_OPCODE, [1, 3, *[0] * 16])
    assert word.text == "PIR 001 011"
    assert word.registers == 0
    assert (PIR_OPCODE, PBR_OPCODE) == (0x2A8, 0x2A9)


def test_a_pir_every_18_instructions() -> None:
    kernel = straight(40)
    words = flag_words(kernel, release_flags(kernel))
    assert [(w.first, w.covers) for w in words] == [(0, 18), (18, 18), (36, 4)]
    assert COVERED == 18
    pir = [flag for w in words for flag in unpack(w.bits, OPERANDS)[1][: w.covers]]
    assert pir == release_flags(kernel).pir.tolist()
    assert words[0].text.startswith("PIR 001 001")


def test_a_pir_without_flags_is_left_out() -> None:
    kernel = Kernel("k", [Block("A", [Instr(Op.NOP)] * 20), Block("B", [Instr(Op.EXIT)])], {}, 0, registers=1)
    assert flag_words(kernel, release_flags(kernel)) == []
    assert [(w.first, w.covers) for w in flag_words(kernel, release_flags(kernel), empty=True)] == [
        (0, 18),
        (18, 2),
        (20, 1),
    ]


@pytest.mark.parametrize(("registers", "width", "each"), [(64, 6, 9), (65, 8, 6)])
def test_a_pbr_holds_as_many_registers_as_fit(registers: int, width: int, each: int) -> None:
    kernel = straight(3, registers)
    assert number_bits(kernel) == width
    mask = (1 << 11) - 1
    flags = Flags(release_flags(kernel).pir, release_flags(kernel).dead, (mask,), ())
    assert flags.exempt == 0
    first, second, pir = flag_words(kernel, flags)
    assert [w.control for w in (first, second, pir)] == [
        Control.PBR,
        Control.PBR,
        Control.PIR,
    ]  # the pbr are first
    assert [w.covers for w in (first, second, pir)] == [0, 0, 3]
    assert list(members(first.registers)) == list(range(each))
    assert list(members(second.registers)) == list(range(each, 11))
    assert [w.width for w in (first, second, pir)] == [width, width, 3]
    assert unpack(first.bits, width) == (PBR_OPCODE, list(range(each)))
    assert unpack(second.bits, width) == (PBR_OPCODE, [*range(each, 11), *[each] * (2 * each - 11)])
    assert second.text == f"PBR {', '.join(f'R{r}' for r in range(each, 11))}"


@pytest.mark.quick("False-[a-r]*")
@pytest.mark.parametrize("name", workloads.names())
@pytest.mark.parametrize("empty", [False, True])
def test_a_decoder_finds_the_flags_again(name: str, empty: bool) -> None:
    for kernel in compile_job(workloads.get(name).job("tiny")).values():
        flags, starts, width = release_flags(kernel), Cfg(kernel).starts, number_bits(kernel)
        pir, pbr = [0] * len(flags.pir), [0] * len(flags.pbr)
        words = flag_words(kernel, flags, empty=empty)
        assert [w.first for w in words] == sorted(w.first for w in words)
        for word in words:
            if word.bits >> 58 << 4 | word.bits & 15 == PIR_OPCODE:
                pir[word.first : word.first + word.covers] = unpack(word.bits, OPERANDS)[1][: word.covers]
                assert not any(word.first < start < word.first + word.covers for start in starts)
            else:
                for r in unpack(word.bits, width)[1]:
                    pbr[[b for b in range(len(pbr)) if starts[b] == word.first][-1]] |= 1 << r
        assert pir == flags.pir.tolist()
        assert pbr == list(flags.pbr)


def test_virtual_registers_are_refused() -> None:
    kernel = Kernel("k", [Block("a", [Instr(Op.EXIT)])], {256: 1}, 0)
    with pytest.raises(ValueError, match="virtual registers"):
        flag_words(kernel, release_flags(kernel))
