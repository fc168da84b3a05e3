"""Line reader of a `.traceg` file: header, thread blocks, warps, instructions."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from warpbank.program.accelsim.sass import ADDRESSED, BULK
from warpbank.program.errors import TraceError

#: Versions of the tracer whose instructions are understood. Up to version 2 every instruction repeats its
#: thread block and warp; version 5 adds an immediate, version 6 a second one and the values of results.
VERSIONS = range(1, 7)
#: First version whose instructions do not repeat their thread block and warp.
_SHORT = 3
#: Most registers that a thread of hardware has. A tracer that found none writes anything.
MOST_REGISTERS = 255
#: Most threads of a block, blocks of a grid, bytes of shared memory, lines of a source: what hardware and our
#: trace hold.
MOST_THREADS, MOST_BLOCKS, MOST_SHARED, MOST_LINES = 1024, (1 << 32) - 1, (1 << 31) - 1, (1 << 32) - 1
#: How the addresses of a memory instruction are written.
LIST, STRIDE, DELTAS = range(3)

_DIMENSIONS = re.compile(r"\(?(\d+),(\d+),(\d+)\)?")
_REGISTER = re.compile(r"R(\d{1,3})")
_UNIFORM = re.compile(r"UR\d+")
#: What stands behind the immediates of version 6: whether values of results follow.
_VALUES = ("Val", "NoVal")
#: Lines between two reports of progress, and most different lines whose meaning is kept.
_REPORT_LINES, _MOST_KEPT = 1 << 14, 1 << 16


class Malformed(TraceError):
    """Error of a line that is not what the format asks for."""

    def __init__(self, path: Path, number: int, what: str) -> None:
        super().__init__(f"{path}, line {number}: {what}")


@dataclass
class Header:
    """Header of a `.traceg` file, which stands before the instructions.

    Parameters
    ----------
    name : of the kernel.
    grid, block : dimensions.
    shared_bytes, registers : of a CTA, of a thread.
    version : of the tracer; 0: the file has no such line.
    line_info : instructions begin with a line number.
    shared_base, local_base : where generic addresses are shared or local; 0: the trace does not say.
    notes : sentences about what the header says and cannot mean.
    """

    name: str = "kernel"
    grid: tuple[int, int, int] = (1, 1, 1)
    block: tuple[int, int, int] = (1, 1, 1)
    shared_bytes: int = 0
    registers: int = 0
    version: int = 0
    line_info: bool = False
    shared_base: int = 0
    local_base: int = 0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Static:
    """Static part of an instruction, which all its executions share: source line, address, opcode, registers
    as the trace lists them."""

    line: int
    pc: int
    opcode: str
    destinations: tuple[int, ...]
    sources: tuple[int, ...]


@dataclass(slots=True)
class Executed:
    """An executed warp instruction: `addresses` by active lane, in lane order; empty where it has none."""

    static: Static
    mask: int
    addresses: list[int]
    immediate: int


class Sink(Protocol):
    """Receiver of a file's instructions, in the order of the file."""

    def warp(self, number: int) -> None:
        """A warp of the thread block begins; its number in the block."""

    def executed(self, instruction: Executed) -> bytes | None:
        """The warp executes an instruction. Returns what to hand to `again` when the same line, which does
        not access memory, comes once more; None: parse it again."""

    def again(self, kept: bytes) -> None:
        """The warp executes what an earlier line said, word for word."""

    def block(self, number: int) -> None:
        """The thread block ends; its linear number in the grid."""


#: Called with bytes of the file that have been read, and how many it has.
OnRead = Callable[[int, int], None]


class Reader:
    """Reader of one `.traceg` file: first `header`, then `read` hands the instructions to a sink, one by one,
    so that a file of any length needs no more memory than its static code. Raises Malformed that names file
    and line."""

    def __init__(self, path: Path, on_read: OnRead | None = None) -> None:
        self._path = path
        self._number = 0
        self._on_read = on_read
        self._lines = self._open()
        self._pending: str | None = None
        self._statics: dict[tuple[str, ...], Static] = {}
        self._place: tuple[str, ...] = ()  # what an instruction up to version 2 repeats
        self.header = self._header()
        self._repeats = 0 < self.header.version < _SHORT
        self._guess = not self.header.version

    def _open(self) -> Iterator[str]:
        openers: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".xz": lzma.open}
        opener = openers.get(self._path.suffix)
        report = self._on_read
        try:
            with self._path.open("rb") as raw:
                size = os.fstat(raw.fileno()).st_size
                unpacked = raw if opener is None else opener(raw)
                # A byte-order mark is no part of the first line.
                with io.TextIOWrapper(unpacked, encoding="utf-8-sig", errors="replace") as file:
                    for line in file:
                        self._number += 1
                        if report is not None and not self._number % _REPORT_LINES:
                            report(raw.tell(), size)
                        yield line.rstrip("\r\n")
        except FileNotFoundError:
            raise TraceError(f"there is no trace {self._path}") from None
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            raise TraceError(f"{self._path} cannot be read: {error}") from None

    def fail(self, what: str) -> Malformed:
        """Error to raise for the current line."""
        return Malformed(self._path, self._number, what)

    def _number_in(self, text: str, what: str, base: int = 10) -> int:
        try:
            return int(text, base)
        except ValueError:
            raise self.fail(f"{what} should be a number, not {text!r}") from None

    def _count(self, text: str, what: str, most: int) -> int:
        found = self._number_in(text, what)
        if not 0 <= found <= most:
            raise self.fail(f"{what} should be 0 to {most}, and is {text}")
        return found

    def _header(self) -> Header:
        header = Header()
        seen: set[str] = set()
        for line in self._lines:
            if line.startswith("#") or (line.strip() and not line.startswith("-")):
                self._pending = line
                break
            if line.startswith("-"):
                key, equals, value = (part.strip() for part in line[1:].partition("="))
                if not equals:
                    raise self.fail(f"a line of the header reads '-name = value', not {line!r}")
                seen.add(key)
                self._enter(header, key, value)
        missing = {"kernel name", "grid dim", "block dim"} - seen
        if missing:
            raise self.fail(
                f"the header ends without '-{sorted(missing)[0]}', so that this is no .traceg file of "
                "Accel-Sim"
            )
        return header

    def _enter(self, header: Header, key: str, value: str) -> None:
        if key == "kernel name":
            header.name = value
        elif key in ("grid dim", "block dim"):
            found = _DIMENSIONS.fullmatch(value)
            if found is None or not all(map(int, found.groups())):
                raise self.fail(f"{key} should be three numbers above 0, (x,y,z), not {value!r}")
            x, y, z = map(int, found.groups())
            most = MOST_THREADS if key == "block dim" else MOST_BLOCKS
            if x * y * z > most:
                raise self.fail(f"{key} {value} makes {x * y * z}, and at most {most} are possible")
            setattr(header, key.partition(" ")[0], (x, y, z))
        elif key == "shmem":
            header.shared_bytes = self._count(value, key, MOST_SHARED)
        elif key == "nregs":
            found_registers = self._number_in(value, key)
            if found_registers < 0:
                raise self.fail(f"{key} should not be negative, and is {value}")
            if found_registers > MOST_REGISTERS:
                header.notes.append(
                    f"{self._path} says -nregs = {value}, and a thread has at most {MOST_REGISTERS}: "
                    "the registers that occur are counted instead"
                )
            else:
                header.registers = found_registers
        elif key == "shmem base_addr":
            header.shared_base = self._number_in(value, key, 16)
        elif key == "local mem base_addr":
            header.local_base = self._number_in(value, key, 16)
        elif key == "enable lineinfo":
            header.line_info = self._number_in(value, key) != 0
        elif key == "accelsim tracer version":
            header.version = self._number_in(value, key)
            if header.version not in VERSIONS:
                raise self.fail(
                    f"traces of tracer versions {VERSIONS[0]} to {VERSIONS[-1]} are understood, not {value}"
                )

    def read(self, sink: Sink, warps: int) -> int:
        """Hand every instruction to the sink. Returns the number of thread blocks.

        Parameters
        ----------
        sink : receives them.
        warps : warps of a thread block.
        """
        inside = False
        number = -1
        count = expected = blocks = 0
        current = -1
        begun: set[int] = set()
        seen = np.zeros(-(-prod(self.header.grid) // 8), np.uint8)  # a bit for each thread block
        kept: dict[str, bytes] = {}
        for line in self._body():
            again = kept.get(line)
            if again is not None and current >= 0:
                count += 1
                sink.again(again)
                continue
            words = line.split()
            if not words or (line.startswith("#") and words[0] not in ("#BEGIN_TB", "#END_TB")):
                continue
            if words[0] == "#BEGIN_TB":
                if inside:
                    raise self.fail("a thread block begins before the one before it ended")
                inside, number, current = True, -1, -1
                begun.clear()
            elif not inside:
                raise self.fail(f"{line!r} stands outside of a thread block (#BEGIN_TB to #END_TB)")
            elif words[0] in ("#END_TB", "thread", "warp", "insts", "cluster"):
                if count != expected and words[0] != "insts":
                    raise self.fail(
                        f"the warp before this line has {count} instructions instead of the {expected} "
                        "announced"
                    )
                if words[0] == "#END_TB":
                    if number < 0:
                        raise self.fail("a thread block ends that has no 'thread block = x,y,z'")
                    sink.block(number)
                    inside, current = False, -1
                    count = expected = 0
                    blocks += 1
                elif words[0] == "thread":
                    number = self._block_number(line)
                    if int(seen[number >> 3]) >> (number & 7) & 1:
                        raise self.fail("this thread block stands in the file twice")
                    seen[number >> 3] |= 1 << (number & 7)
                elif words[0] == "warp":
                    current = self._value(line)
                    if current >= warps:
                        raise self.fail(f"warp {current} stands in a thread block of {warps} warps")
                    if current in begun:
                        raise self.fail(f"warp {current} stands in its thread block twice")
                    begun.add(current)
                    count = expected = 0
                    if self._repeats or self._guess:
                        kept.clear()  # lines name their warp
                    self._place = (*self._place[:3], str(current))
                    sink.warp(current)
                elif words[0] == "insts":
                    expected = self._value(line)
            elif current < 0:
                raise self.fail(f"{line!r} is no instruction of a warp: no 'warp = n' stands before it")
            else:
                count += 1
                once = sink.executed(self._instruction(words))
                if once is not None and len(kept) < _MOST_KEPT:
                    kept[line] = once
        if inside:
            raise self.fail("the file ends within a thread block; it may be cut off")
        return blocks

    def _body(self) -> Iterator[str]:
        if self._pending is not None:
            yield self._pending
        yield from self._lines

    def _value(self, line: str) -> int:
        name, _, value = line.partition("=")
        found = self._number_in(value.strip(), name.strip())
        if found < 0:
            raise self.fail(f"{name.strip()} should not be negative, and is {found}")
        return found

    def _block_number(self, line: str) -> int:
        found = _DIMENSIONS.fullmatch(line.partition("=")[2].strip())
        if found is None:
            raise self.fail(f"a thread block is named 'thread block = x,y,z', not {line!r}")
        x, y, z = map(int, found.groups())
        columns, rows, layers = self.header.grid
        if x >= columns or y >= rows or z >= layers:
            raise self.fail(f"thread block {x},{y},{z} is outside of the grid {columns},{rows},{layers}")
        self._place = (str(x), str(y), str(z), "")
        return (z * rows + y) * columns + x

    def _unprefixed(self, words: list[str]) -> list[str]:
        """Words of an instruction without the thread block and warp that old tracers repeat. A file without
        a version is taken for one of those if its first instruction begins so."""
        mine = tuple(words[:4]) == self._place
        if self._guess:
            self._guess, self._repeats = False, mine
        if not self._repeats:
            return words
        if not mine:
            raise self.fail(
                f"an instruction of tracer versions 1 and 2 begins with its thread block and warp, "
                f"{' '.join(self._place)}, not {' '.join(words[:4])!r}"
            )
        return words[4:]

    def _instruction(self, words: list[str]) -> Executed:
        """One line: [block and warp] [line number] PC mask ndst [Rd] opcode nsrc [Rs ...] mem_width
        [mode addresses] [immediates] [values]."""
        if self._guess or self._repeats:
            words = self._unprefixed(words)
        at = 3 if self.header.line_info else 2
        try:
            if int(words[at]) < 0:
                raise ValueError
            ends = at + 1 + int(words[at])
            if int(words[ends + 1]) < 0:
                raise ValueError
            ends += 2 + int(words[ends + 1])
            head = (*words[: at - 1], *words[at:ends])
            width = words[ends]
        except (ValueError, IndexError):
            raise self.fail(
                "an instruction reads 'PC mask ndst [Rd] opcode nsrc [Rs ...] mem_width ...', with as "
                f"many registers as it announces, not {' '.join(words)[:200]!r}"
            ) from None
        static = self._statics.get(head)
        if static is None:
            static = self._statics[head] = self._static(head)
        mask = self._number_in(words[at - 1], "the mask", 16)
        if not 0 <= mask < 1 << 32:
            raise self.fail(f"the mask {words[at - 1]} has more than 32 lanes")
        rest = words[ends + 1 :]
        bytes_each = self._number_in(width, "the memory width")
        base = static.opcode.partition(".")[0]
        if base in BULK:
            return Executed(static, mask, [], 0)
        if bytes_each == 0:
            if mask and base in ADDRESSED:
                raise self.fail(f"{static.opcode} has active lanes and no addresses")
            return Executed(static, mask, [], self._immediate(rest))
        return Executed(static, mask, self._addresses(rest, mask.bit_count()) if mask else [], 0)

    def _immediate(self, words: list[str]) -> int:
        """First of the immediates that end a line, 0 if there is none; decimal or hexadecimal."""
        found = []
        for word in words:
            if word in _VALUES:
                break
            digits = word.removeprefix("-")
            found.append(self._number_in(word, "the immediate", 16 if digits[:2].lower() == "0x" else 10))
        return found[0] if found else 0

    def _static(self, head: tuple[str, ...]) -> Static:
        line = self._count(head[0], "the line number", MOST_LINES) if self.header.line_info else 0
        words = head[1:] if self.header.line_info else head
        count = int(words[1])
        opcode = words[2 + count]
        if not opcode[:1].isalpha():
            raise self.fail(f"{opcode!r} stands where the opcode should be")
        registers = [
            [self._register(word) for word in part if not _UNIFORM.fullmatch(word)]
            for part in (words[2 : 2 + count], words[4 + count :])
        ]
        return Static(
            line, self._number_in(words[0], "the PC", 16), opcode, tuple(registers[0]), tuple(registers[1])
        )

    def _register(self, word: str) -> int:
        found = _REGISTER.fullmatch(word)
        if found is None or int(found[1]) > 255:
            raise self.fail(f"a register is R0 to R255, not {word!r}")
        return int(found[1])

    def _addresses(self, words: list[str], active: int) -> list[int]:
        """Addresses of the active lanes."""
        needed = {LIST: active, STRIDE: 2, DELTAS: active}
        mode = self._number_in(words[0], "the address mode") if words else -1
        if mode not in needed:
            raise self.fail(
                f"a memory instruction has an address mode of 0, 1 or 2, not {words[0] if words else 'none'}"
            )
        if len(words) <= needed[mode]:
            found = len(words) - 1
            raise self.fail(
                f"{active} active lanes in address mode {mode} need {needed[mode]} numbers, and {found} "
                "stand there"
            )
        if mode == LIST:
            addresses = [self._number_in(word, "an address", 16) for word in words[1 : 1 + active]]
        else:
            addresses = [self._number_in(words[1], "the base address", 16)]
            if mode == STRIDE:
                stride = self._number_in(words[2], "the stride")
                addresses += (addresses[0] + stride * lane for lane in range(1, active))
            else:
                for word in words[2 : 1 + active]:
                    addresses.append(addresses[-1] + self._number_in(word, "an address difference"))
        if any(not 0 <= address < 1 << 64 for address in addresses):
            raise self.fail("an address does not fit 64 bits")
        return addresses
