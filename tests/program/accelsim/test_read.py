"""Reading `.traceg` files of every version and address mode; what opcodes tell; what is refused, by file and
line."""

from __future__ import annotations

import gzip
import lzma
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.program.accelsim.writer import Line, traceg
from warpbank.arch.uop import LINE_MASK, LINE_WIDTH, SECTORS, Control, Memory, Unit
from warpbank.program.accelsim import read_accelsim
from warpbank.program.accelsim.addresses import global_lines, local_lines, shared_passes
from warpbank.program.accelsim.lines import Executed, Reader
from warpbank.program.accelsim.sass import group, meaning
from warpbank.program.errors import WarpbankError
from warpbank.program.trace.builder import of_line
from warpbank.program.trace.schema import FLAG_ARRIVE, FLAG_LAST, FLAG_WAIT, Trace

EXIT = Line(0xF0, "EXIT")
ROW = tuple(0x7000_1000 + 4 * lane for lane in range(32))


def _trace(tmp_path: Path, *lines: Line, **options: int) -> Trace:
    path = tmp_path / "kernel-1.traceg"
    path.write_text(traceg([[[*lines, EXIT]]], threads=32, **options))
    return read_accelsim([path])


class _Kept:
    """Sink that keeps every instruction."""

    def __init__(self) -> None:
        self.all: list[Executed] = []

    def warp(self, number: int) -> None:
        pass

    def executed(self, instruction: Executed) -> None:
        self.all.append(instruction)

    def again(self, kept: bytes) -> None:
        raise AssertionError

    def block(self, number: int) -> None:
        pass


def _instructions(path: Path) -> list[Executed]:
    reader, kept = Reader(path), _Kept()
    reader.read(kept, 32)
    return kept.all


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4, 5, 6])
@pytest.mark.parametrize("mode", [0, 1, 2])
@pytest.mark.parametrize("line_info", [False, True])
def test_every_version_and_mode(version: int, mode: int, line_info: bool, tmp_path: Path) -> None:
    lines = [
        Line(0, "LDG.E.SYS", (4,), (2,), addresses=ROW),
        Line(16, "FADD", (5,), (4, 4)),
        Line(32, "STG.E.SYS", (), (2, 5), addresses=ROW, mask=0xFFFFFFFF),
        EXIT,
    ]
    path = tmp_path / "k.traceg"
    path.write_text(traceg([[lines, lines], [lines, lines]], version=version, mode=mode, line_info=line_info))
    trace = read_accelsim([path])
    assert len(trace.warps) == 4
    assert trace.warps["length"].tolist() == [4] * 4
    assert trace.launches["ctas"].tolist() == [2]
    assert trace.launches["registers"].tolist() == [16]
    assert trace.lines.tolist() == [of_line(0x7000_1000 // 128)] * 8
    assert trace.text[:2] == ["LDG.E.SYS R4, R2", "FADD R5, R4, R4"]
    assert trace.ptx_line.tolist() == [17 * line_info] * 4
    assert trace.dynamic["flags"].tolist() == [0, 0, 0, FLAG_LAST] * 4
    assert trace.meta["values"] is False
    assert trace.values.any() == 0


@given(
    mask=st.integers(1, (1 << 32) - 1),
    base=st.integers(1 << 20, 1 << 48),
    version=st.sampled_from((0, 2, 3, 4, 5, 6)),
    data=st.data(),
)
def test_addresses_come_back(
    tmp_path_factory: pytest.TempPathFactory, mask: int, base: int, version: int, data: st.DataObject
) -> None:
    """What a mode writes is what is read, for any mask; modes 0 and 2 take any addresses, mode 1 those of one
    stride."""
    mode = data.draw(st.sampled_from((0, 1, 2)))
    active = mask.bit_count()
    if mode == 1:
        stride = data.draw(st.integers(-1000, 1000))
        addresses = tuple(base + stride * lane for lane in range(active))
    else:
        addresses = tuple(
            data.draw(st.lists(st.integers(0, (1 << 49) - 1), min_size=active, max_size=active))
        )
    path = tmp_path_factory.mktemp("mode") / "k.traceg"
    line = Line(0, "LDG.E", (4,), (2,), mask=mask, addresses=addresses)
    path.write_text(traceg([[[line, EXIT]]], version=version, mode=mode, threads=32))
    assert tuple(_instructions(path)[0].addresses) == addresses


@pytest.mark.parametrize(("suffix", "opener"), [(".gz", gzip.open), (".xz", lzma.open)])
def test_compressed_files(suffix: str, opener: object, tmp_path: Path) -> None:
    path = tmp_path / f"k.traceg{suffix}"
    with opener(path, "wt") as file:  # type: ignore[operator]
        file.write(traceg([[[EXIT], [EXIT]]]))
    assert len(read_accelsim([path]).warps) == 2
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(WarpbankError, match=r"k\.traceg"):
        read_accelsim([path])


@pytest.mark.parametrize(
    ("opcode", "destinations", "sources", "unit", "read", "written"),
    [
        ("LDG.E.SYS", (4,), (2,), Unit.LSU, [2, 3], [4]),
        ("LDG.E.64.SYS", (4,), (2,), Unit.LSU, [2, 3], [4, 5]),
        ("LDG.E.128", (8,), (2,), Unit.LSU, [2, 3], [8, 9, 10, 11]),
        ("LDG.E.U8", (4,), (2,), Unit.LSU, [2, 3], [4]),
        ("STG.E.64.SYS", (), (2, 6), Unit.LSU, [2, 3, 6, 7], []),
        ("STS.128", (), (2, 8), Unit.LSU, [2, 8, 9, 10, 11], []),
        ("LDS.U.64", (4,), (1,), Unit.LSU, [1], [4, 5]),
        ("LDSM.16.M88.4", (4,), (1,), Unit.LSU, [1], [4, 5, 6, 7]),
        ("ATOMG.E.CAS.64", (4,), (2, 6, 8), Unit.LSU, [2, 3, 6, 7, 8, 9], [4, 5]),
        ("IMAD.WIDE", (2,), (0, 1, 4), Unit.FMA, [0, 1, 4, 5], [2, 3]),
        ("IMAD.WIDE.U32", (2,), (0, 1), Unit.FMA, [0, 1], [2, 3]),
        ("DFMA", (2,), (4, 6, 8), Unit.FP64, [4, 5, 6, 7, 8, 9], [2, 3]),
        ("DSETP.GT.AND", (), (4, 6), Unit.FP64, [4, 5, 6, 7], []),
        ("I2F.F64", (2,), (5,), Unit.FP64, [5], [2, 3]),
        ("F2F.F32.F64", (3,), (4,), Unit.FP64, [4, 5], [3]),
        ("F2F.F64.F32", (4,), (3,), Unit.FP64, [3], [4, 5]),
        ("F2I.F64.TRUNC", (3,), (4,), Unit.FP64, [4, 5], [3]),
        ("F2I.S64.F64", (2,), (4,), Unit.FP64, [4, 5], [2, 3]),
        ("I2F.S64", (3,), (4,), Unit.SFU, [4, 5], [3]),
        ("F2I.S64.TRUNC", (4,), (3,), Unit.SFU, [3], [4, 5]),
        ("FRND.F64", (4,), (6,), Unit.FP64, [6, 7], [4, 5]),
        ("MUFU.RCP64H", (3,), (5,), Unit.SFU, [5], [3]),
        ("HMMA.1688.F32", (4,), (8, 10, 12), Unit.TENSOR, [15], [4, 5, 6, 7]),
        ("HMMA.16816.F16", (4,), (8, 12, 14), Unit.TENSOR, [14, 15], [4, 5]),
        ("CS2R", (2,), (), Unit.ALU, [], [2, 3]),
        ("CS2R.32", (3,), (), Unit.ALU, [], [3]),
        ("LOP3.LUT", (3,), (1, 2, 255), Unit.ALU, [1, 2], [3]),
        ("IADD3", (255,), (1, 2), Unit.ALU, [1, 2], []),
        ("DADD", (5,), (7, 8), Unit.FP64, [7, 8, 9], [5]),  # registers that cannot be the first of a pair
    ],
)
def test_what_opcodes_tell(
    opcode: str,
    destinations: tuple[int, ...],
    sources: tuple[int, ...],
    unit: Unit,
    read: list[int],
    written: list[int],
    tmp_path: Path,
) -> None:
    """Of an instruction of several uops, the last."""
    memory = ROW if unit is Unit.LSU else None
    trace = _trace(tmp_path, Line(0, opcode, destinations, sources, addresses=memory))
    row = trace.code[trace.dynamic["pc"][len(trace.dynamic) - 2]]
    assert row["unit"] == unit
    assert row["sources"][: row["source_count"]].tolist() == read
    assert list(range(row["destination"], row["destination"] + row["count"])) == written
    assert trace.meta["unknown"] == []


def test_an_instruction_of_too_many_registers_is_several_uops(tmp_path: Path) -> None:
    trace = _trace(tmp_path, Line(0, "HMMA.16816.F32", (4,), (8, 12, 16)))
    assert trace.code["source_count"].tolist() == [6, 4, 0]
    assert trace.code["count"].tolist() == [0, 4, 0]
    assert trace.dynamic["pc"].tolist() == [0, 1, 2]


def test_unknown_opcodes_are_told(tmp_path: Path) -> None:
    trace = _trace(tmp_path, Line(0, "FROB.X", (4,), (2, 3)))
    assert trace.meta["unknown"] == ["FROB"]
    assert trace.code[0]["unit"] == Unit.ALU


def test_memory_spaces(tmp_path: Path) -> None:
    shared, local = 0x7F00_0000_0000, 0x7F00_0200_0000
    trace = _trace(
        tmp_path,
        Line(0, "LD.E", (4,), (2,), addresses=tuple(shared + 8 * lane for lane in range(32))),
        Line(16, "ST.E", (), (2, 4), addresses=(local,) * 32),
        Line(32, "LDL", (4,), (2,), addresses=(8,) * 32),
        Line(48, "ATOMS.ADD", (4,), (2, 3), addresses=(64,) * 32),
        Line(64, "RED.E.ADD", (), (2, 3), addresses=ROW),
        Line(80, "LDS", (4,), (2,), mask=0, addresses=()),
        Line(96, "LDC", (4,), (2,)),
    )
    kinds = [
        Memory.LOAD_SHARED,
        Memory.STORE_LOCAL,
        Memory.LOAD_LOCAL,
        Memory.ATOMIC_SHARED,
        Memory.REDUCE_GLOBAL,
        Memory.NONE,
        Memory.LOAD_CONST,
        Memory.NONE,
    ]
    assert trace.dynamic["memory"].tolist() == kinds
    assert trace.dynamic["passes"].tolist() == [2, 0, 0, 32, 0, 0, 0, 0]
    assert trace.dynamic["line_count"].tolist() == [0, 1, 1, 0, 1, 0, 0, 0]
    assert len(set(trace.lines.tolist())) == 3


def test_barriers_and_the_end_of_a_warp(tmp_path: Path) -> None:
    path = tmp_path / "k.traceg"
    lines = [
        Line(0, "BAR.SYNC.DEFER_BLOCKING", immediate=3),
        Line(16, "BAR.ARV", immediate=-1),
        Line(32, "BRA"),
        EXIT,
    ]
    path.write_text(traceg([[lines, [], lines[:3]]], threads=80))
    trace = read_accelsim([path])
    assert trace.warps["mask"].tolist() == [0xFFFFFFFF, 0xFFFFFFFF, 0xFFFF]
    assert trace.warps["length"].tolist() == [4, 1, 4], "a warp without an EXIT at its end gets one"
    assert trace.dynamic["flags"].tolist()[:4] == [FLAG_ARRIVE | FLAG_WAIT, FLAG_ARRIVE, 0, FLAG_LAST]
    assert trace.dynamic["barrier"].tolist()[:2] == [3, 0]
    assert trace.code["control"].tolist()[:4] == [
        Control.BARRIER,
        Control.BARRIER,
        Control.BRANCH,
        Control.EXIT,
    ]


@given(st.lists(st.integers(0, 1 << 14), min_size=1, max_size=32), st.sampled_from((1, 2, 4, 8, 16)))
def test_lines_and_passes(addresses: list[int], size: int) -> None:
    addresses = [address // size * size for address in addresses]
    expected = {byte // 32 for address in addresses for byte in range(address, address + size)}
    assert _sectors(global_lines(addresses, size)) == expected
    lanes = list(enumerate(addresses))
    local = {(byte // 4, lane // 8) for lane, a in lanes for byte in range(a, a + size)}
    assert len(local_lines(lanes, size, 3)) == len({word for word, _ in local})
    assert len(_sectors(local_lines(lanes, size, 3))) == len(local)
    passes = shared_passes(lanes, size, False)
    assert passes <= shared_passes(lanes, size, True)
    if size == 4:
        words = {address // 4 for address in addresses}
        assert passes == np.bincount([word % 32 for word in words]).max()


def _sectors(lines: list[int]) -> set[int]:
    """Numbers of the sectors that lines of a trace name: byte address / 32."""
    return {
        (line & LINE_MASK) * SECTORS + place
        for line in lines
        for place in range(SECTORS)
        if line >> LINE_WIDTH + place & 1
    }


def test_groups_of_registers() -> None:
    assert list(group(4, 2)) == [4, 5]
    assert list(group(255, 2)) == []
    assert list(group(3, 2)) == [3]
    assert meaning("LDG.E.128", 1).destination == 4


GOOD = traceg([[[Line(0, "LDG.E", (4,), (2,), addresses=ROW), EXIT]]], threads=32, mode=1)


@pytest.mark.parametrize(
    ("before", "after", "number", "says"),
    [
        ("-accelsim tracer version = 5", "-accelsim tracer version = 7", 12, "versions 1 to 6"),
        ("-accelsim tracer version = 5", "-accelsim tracer version = 2", 23, "thread block and warp"),
        ("-grid dim = (1,1,1)\n", "", 14, "grid dim"),
        ("EXIT 0 0 0", "EXIT 0 0 zero", 24, "the immediate"),
        ("-grid dim = (1,1,1)", "-grid dim = (1,0,1)", 3, "above 0"),
        ("-nregs = 16", "-nregs = many", 6, "'many'"),
        ("-shmem = 0", "-shmem 0", 5, "-name = value"),
        ("1 R4 LDG.E", "1 X4 LDG.E", 23, "R0 to R255"),
        ("1 R4 LDG.E", "1 R256 LDG.E", 23, "R0 to R255"),
        ("1 R4 LDG.E", "2 R4 LDG.E", 23, "as many registers"),
        ("0000 ffffffff", "00zz ffffffff", 23, "the PC"),
        ("0000 ffffffff", "0000 1ffffffff", 23, "32 lanes"),
        ("R2 4 1 0x", "R2 4 7 0x", 23, "address mode"),
        ("R2 4 1 0x70001000 4 0", "R2 4 1 0x70001000", 23, "need 2 numbers"),
        ("R2 4 1 0x70001000 4 0", "R2 4 2 0x70001000 4 0", 23, "need 32 numbers"),
        ("R2 4 1 0x70001000 4 0", "R2 4 1 0x7zz 4 0", 23, "base address"),
        ("R2 4 1 0x70001000 4 0", "R2 4 1 0x10 -4 0", 23, "64 bits"),
        ("R2 4 1 0x70001000 4 0", "R2 0 0", 23, "no addresses"),
        ("insts = 2", "insts = 3", 26, "instead of the 3 announced"),
        ("insts = 2", "insts = -2", 22, "not be negative"),
        ("warp = 0", "warp = 1", 21, "of 1 warps"),
        ("thread block = 0,0,0", "thread block = 5,0,0", 19, "outside of the grid"),
        ("thread block = 0,0,0", "thread block = 0", 19, "x,y,z"),
        ("#BEGIN_TB\n", "", 18, "outside of a thread block"),
        ("warp = 0\n", "", 22, "no 'warp = n'"),
        ("#END_TB\n", "", 25, "cut off"),
        ("1 R4 LDG.E 1 R2", "1 R4 LDG.E -4 R2", 23, "as many registers"),
        ("1 R4 LDG.E 1 R2", "-2 R4 LDG.E 1 R2", 23, "as many registers"),
        ("1 R4 LDG.E 1 R2", f"1 R4 LDG.E {'9' * 30} R2", 23, "as many registers"),
        ("R2 4 1 0x", f"R2 {'9' * 5000} 1 0x", 23, "the memory width"),
        ("-block dim = (32,1,1)", "-block dim = (99999999,1,1)", 4, "at most 1024"),
        ("-grid dim = (1,1,1)", "-grid dim = (4294967296,1,1)", 3, "at most 4294967295"),
        ("-nregs = 16", "-nregs = -1", 6, "not be negative"),
        ("-shmem = 0", "-shmem = 99999999999", 5, "0 to 2147483647"),
        ("#END_TB\n", "#END_TB\n#BEGIN_TB\nthread block = 0,0,0\n", 28, "twice"),
    ],
)
def test_malformed_lines_are_named(before: str, after: str, number: int, says: str, tmp_path: Path) -> None:
    assert before in GOOD
    path = tmp_path / "bad.traceg"
    path.write_text(GOOD.replace(before, after, 1))
    with pytest.raises(WarpbankError) as refused:
        read_accelsim([path])
    text = str(refused.value)
    assert text.startswith(f"{path}, line {number}: "), text
    assert says in text
    assert "\n" not in text


def _read_or_refused(path: Path) -> bool:
    """Whether it is refused, with a sentence that names the file; anything else that is raised fails the
    test."""
    try:
        return not len(read_accelsim([path]).warps)
    except WarpbankError as error:
        said = str(error)
    assert str(path) in said
    assert "\n" not in said
    return True


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz"])
def test_no_damage_is_a_traceback(suffix: str, tmp_path: Path) -> None:
    """Cut anywhere, bytes changed, words put in the place of others: numbers far too large, negative, none at
    all."""
    rng = random.Random(20261121)
    path = tmp_path / f"k.traceg{suffix}"
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[suffix]
    words = [
        "",
        "-1",
        "-2",
        "-5",
        "0",
        "3",
        "255",
        "4294967296",
        "9" * 30,
        "9" * 5000,
        "0x",
        "1e9",
        "nan",
        "(1,1)",
        "R255",
        "RZ",
        "UR3",
        "EXIT",
        "LDS.U.128",
        "ATOM.E",
        "#END_TB",
        "warp = 0",
        "\ufffd",
        "\0",
    ]
    refused = 0
    for _ in range(40 if suffix else 200):
        kind = rng.randrange(3)
        text = GOOD
        if kind == 0:
            parts = re.split(r"([ \n]+)", GOOD)
            for _ in range(rng.randrange(1, 3)):
                parts[rng.randrange(len(parts))] = rng.choice(words)
            text = "".join(parts)
        packed = bytearray(pack(text.encode()))
        if kind == 1:
            del packed[rng.randrange(len(packed)) :]
        elif kind == 2:
            for _ in range(rng.randrange(1, 4)):
                packed[rng.randrange(len(packed))] = rng.randrange(256)
        path.write_bytes(packed)
        refused += _read_or_refused(path)
    assert refused > 15


def test_version_6(tmp_path: Path) -> None:
    """Several destinations, two immediates of which the first is hexadecimal, values of results; the line of
    a bulk copy, which has a form of its own."""
    text = traceg([[[Line(0, "BAR.SYNC", immediate=11), EXIT]]], threads=32, version=6)
    lines = [
        "0020 ffffffff 2 R30 R31 LDSM.16.M88.4 1 R10 16 1 0x100 16 0x0 0x0 NoVal",
        "0030 ffffffff 4 R20 R21 R22 R23 HMMA.16816.F32 3 R20 R24 R26 0 0 0 NoVal",
        "0040 00000001 0 UTMALDG.3D 1 R2 16 0 2 0x7f00 0x7f80 0x0 0x0 NoVal",
    ]
    text = text.replace("insts = 2", "insts = 5").replace("00f0 ", "\n".join([*lines, "00f0 "]))
    path = tmp_path / "k.traceg"
    path.write_text(text)
    trace = read_accelsim([path])
    assert trace.dynamic["barrier"].tolist()[0] == 11
    assert trace.code["destination"].tolist() == [0, 30, 0, 20, 0, 0]
    assert trace.code["count"].tolist() == [0, 2, 0, 4, 0, 0]
    assert trace.code["unit"].tolist()[4] == Unit.CONTROL
    assert trace.dynamic["line_count"].tolist()[4] == 0


def test_registers_that_cannot_be(tmp_path: Path) -> None:
    """A number of registers that no thread has is a note; what occurs is counted. A byte-order mark is no
    part of the first line."""
    path = tmp_path / "k.traceg"
    path.write_text("\ufeff" + GOOD.replace("-nregs = 16", "-nregs = 21955"), encoding="utf-8")
    trace = read_accelsim([path])
    assert trace.launches["registers"].tolist() == [5]
    (note,) = trace.meta["notes"]
    assert "21955" in note
    assert str(path) in note


def test_blocks_that_were_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "k.traceg"
    path.write_text(re.sub(r"-grid dim = .*", "-grid dim = (9,1,1)", GOOD), encoding="utf-8")
    (note,) = read_accelsim([path]).meta["notes"]
    assert re.search(r"k\.traceg has \d of the 9 thread blocks of its grid", note)


def test_progress_of_reading(tmp_path: Path) -> None:
    paths = [tmp_path / "a.traceg", tmp_path / "b.traceg.gz"]
    text = traceg([[[Line(0, "FADD", (4,), (2,))] * 30_000]], threads=32)
    paths[0].write_text(text)
    with gzip.open(paths[1], "wt") as file:
        file.write(text)
    told: list[tuple[int, int]] = []
    read_accelsim(paths, lambda done, total: told.append((done, total)))
    size = sum(path.stat().st_size for path in paths)
    assert {total for _, total in told} == {size}
    assert [done for done, _ in told] == sorted(done for done, _ in told)
    assert len(told) == 2
    assert 0 < told[0][0] < told[1][0] <= size


def test_files_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(WarpbankError, match="no trace"):
        read_accelsim([tmp_path / "nothere.traceg"])
    (tmp_path / "empty.traceg").write_text("")
    with pytest.raises(WarpbankError, match="header"):
        read_accelsim([tmp_path / "empty.traceg"])
    (tmp_path / "none.traceg").write_text(traceg([[[EXIT]]]).split("#BEGIN_TB")[0])
    with pytest.raises(WarpbankError, match="no thread block"):
        read_accelsim([tmp_path / "none.traceg"])
