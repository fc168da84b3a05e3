"""Writes `.traceg` files of every tracer version and address mode, as docs/accelsim.md describes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise


@dataclass(frozen=True)
class Line:
    """An executed instruction; `addresses`: of the active lanes; None: not memory."""

    pc: int
    opcode: str
    destinations: tuple[int, ...] = ()
    sources: tuple[int, ...] = ()
    mask: int = 0xFFFFFFFF
    addresses: tuple[int, ...] | None = None
    width: int = 4
    immediate: int = 0


def text_of(
    line: Line, version: int, mode: int, line_info: bool = False, place: tuple[int, ...] = (0, 0, 0, 0)
) -> str:
    """One line. Mode 1 needs addresses with one stride. Versions below 3 repeat the thread block and the
    warp, `place`; 0 is such a file without a line that tells the version."""
    words = [str(number) for number in place] if version < 3 else []
    words += ["17"] if line_info else []
    words += [
        f"{line.pc:04x}",
        f"{line.mask:08x}",
        str(len(line.destinations)),
        *(f"R{r}" for r in line.destinations),
    ]
    words += [line.opcode, str(len(line.sources)), *(f"R{r}" for r in line.sources)]
    if line.addresses is None:
        words.append("0")
    else:
        words += [str(line.width), str(mode)]
        found = line.addresses or (0,)
        if mode == 0:
            words += [f"0x{address:016x}" for address in line.addresses]
        elif mode == 1:
            words += [f"0x{found[0]:x}", str(found[1] - found[0] if len(found) > 1 else 0)]
        else:
            words += [f"0x{found[0]:x}", *(str(after - before) for before, after in pairwise(found))]
    if version == 5:
        words.append(str(line.immediate))
    elif version == 6:
        words += [hex(line.immediate), "0", "Val" if line.destinations else "NoVal"]
        words += ["0x2a"] * len(line.destinations)
    return " ".join(words) + " "


def traceg(
    blocks: Sequence[Sequence[Sequence[Line]]],
    *,
    version: int = 5,
    mode: int = 0,
    threads: int = 64,
    registers: int = 16,
    shared: int = 0,
    line_info: bool = False,
    name: str = "hand",
) -> str:
    """A whole file: blocks of warps of lines."""
    made = [
        f"-kernel name = {name}",
        "-kernel id = 1",
        f"-grid dim = ({len(blocks)},1,1)",
        f"-block dim = ({threads},1,1)",
        f"-shmem = {shared}",
        f"-nregs = {registers}",
        "-binary version = 75",
        "-cuda stream id = 0",
        "-shmem base_addr = 0x00007f0000000000",
        "-local mem base_addr = 0x00007f0002000000",
        "-nvbit version = 1.5.5",
        *([f"-accelsim tracer version = {version}"] if version else []),
        f"-enable lineinfo = {int(line_info)}",
        "",
        "#traces format = PC mask dest_num [reg_dests] opcode src_num ...",
    ]
    for number, block in enumerate(blocks):
        made += ["", "#BEGIN_TB", "", f"thread block = {number},0,0"]
        if version == 6:
            made += ["cluster id = 0,0,0", "cluster cta = 0,0,0", "cluster rank = 0"]
        for warp, lines in enumerate(block):
            made += [
                "",
                f"warp = {warp}",
                f"insts = {len(lines)}",
                *(text_of(line, version, mode, line_info, (number, 0, 0, warp)) for line in lines),
            ]
        made += ["", "#END_TB"]
    return "\n".join(made) + "\n"
