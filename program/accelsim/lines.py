"""Line reader of a `.traceg` file: header, thread blocks, warps, instructions."""

from __future__ import annotations

import gzip
import lzma
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from warpbank.program.accelsim.sass import ADDRESSED
from warpbank.program.errors import TraceError

#: Versions of the tracer whose instructions are understood.
VERSIONS = (3, 4, 5)
#: Most threads of a block, blocks of a grid, bytes of shared memory, lines of a source: what hardware and our
#: trace hold.
MOST_THREADS, MOST_BLOCKS, MOST_SHARED, MOST_LINES = 1024, (1 << 32) - 1, (1 << 31) - 1, (1 << 32) - 1
#: How the addresses of a memory instruction are written.
LIST, STRIDE, DELTAS = range(3)

_DIMENSIONS = re.compile(r"\(?(\d+),(\d+),(\d+)\)?")
_REGISTER = re.compile(r"R(\d{1,3})")
_UNIFORM = re.compile(r"UR\d+")


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
    version : of the tracer.
    line_info : instructions begin with a line number.
    shared_base, local_base : where generic addresses are shared or local; 0: the trace does not say.
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


@dataclass
class Block:
    """Thread block of a `.traceg` file: linear number in its grid, and the instructions of each warp."""

    number: int
    warps: dict[int, list[Executed]] = field(default_factory=dict)


class Reader:
    """Reader of one `.traceg` file: first `header`, then `blocks`. Raises Malformed that names file and
    line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._number = 0
        self._lines = self._open()
        self._pending: str | None = None
        self._statics: dict[tuple[str, ...], Static] = {}
        self.header = self._header()

    def _open(self) -> Iterator[str]:
        opener = {".gz": gzip.open, ".xz": lzma.open}.get(self._path.suffix, open)
        try:
            with opener(self._path, "rt", encoding="ascii", errors="replace") as file:  # type: ignore[operator]
                for line in file:
                    self._number += 1
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
        missing = {"kernel name", "grid dim", "block dim", "accelsim tracer version"} - seen
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
            header.registers = self._count(value, key, 255)
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

    def blocks(self) -> Iterator[Block]:
        """Thread blocks in the order of the file."""
        block: Block | None = None
        warp: list[Executed] = []
        expected = 0
        seen: set[int] = set()
        for line in self._body():
            words = line.split()
            if not words or (line.startswith("#") and words[0] not in ("#BEGIN_TB", "#END_TB")):
                continue
            if words[0] == "#BEGIN_TB":
                if block is not None:
                    raise self.fail("a thread block begins before the one before it ended")
                block = Block(-1)
            elif block is None:
                raise self.fail(f"{line!r} stands outside of a thread block (#BEGIN_TB to #END_TB)")
            elif words[0] in ("#END_TB", "thread", "warp", "insts", "cluster"):
                if len(warp) != expected and words[0] != "insts":
                    raise self.fail(
                        f"the warp before this line has {len(warp)} instructions instead of the {expected} "
                        "announced"
                    )
                if words[0] == "#END_TB":
                    if block.number < 0:
                        raise self.fail("a thread block ends that has no 'thread block = x,y,z'")
                    yield block
                    block = None
                elif words[0] == "thread":
                    block.number = self._block_number(line)
                    if block.number in seen:
                        raise self.fail("this thread block stands in the file twice")
                    seen.add(block.number)
                elif words[0] == "warp":
                    number = self._value(line)
                    if number in block.warps:
                        raise self.fail(f"warp {number} stands in its thread block twice")
                    warp = block.warps.setdefault(number, [])
                    expected = 0
                elif words[0] == "insts":
                    expected = self._value(line)
            elif not block.warps:
                raise self.fail(f"{line!r} is no instruction of a warp: no 'warp = n' stands before it")
            else:
                warp.append(self._instruction(words))
        if block is not None:
            raise self.fail("the file ends within a thread block; it may be cut off")

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
        return (z * rows + y) * columns + x

    def _instruction(self, words: list[str]) -> Executed:
        """One line: [line number] PC mask ndst [Rd] opcode nsrc [Rs ...] mem_width [mode addresses]
        [immediate]."""
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
                f"many registers as it announces, not {' '.join(words)!r}"
            ) from None
        static = self._statics.get(head)
        if static is None:
            static = self._statics[head] = self._static(head)
        mask = self._number_in(words[at - 1], "the mask", 16)
        if not 0 <= mask < 1 << 32:
            raise self.fail(f"the mask {words[at - 1]} has more than 32 lanes")
        rest = words[ends + 1 :]
        if self._number_in(width, "the memory width") == 0:
            if mask and static.opcode.partition(".")[0] in ADDRESSED:
                raise self.fail(f"{static.opcode} has active lanes and no addresses")
            return Executed(static, mask, [], self._number_in(rest[0], "the immediate") if rest else 0)
        return Executed(static, mask, self._addresses(rest, mask.bit_count()) if mask else [], 0)

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
