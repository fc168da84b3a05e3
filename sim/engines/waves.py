"""Waveform files: both RTL engines write VCD; FST, ten times smaller, is made of it with the FST library of
the pylibfst wheel."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any, TextIO

from warpbank.sim.engines.base import EngineError, Waves


def need(waves: Waves) -> None:
    """Check that a waveform file can be written, before anything is simulated; raises EngineError."""
    if waves.path.suffix == ".fst":
        _fst_library()
    if not waves.path.parent.is_dir() or not os.access(waves.path.parent, os.W_OK):
        raise EngineError(f"cannot write {waves.path}: its folder does not exist or cannot be written to")


def finish(vcd: Path, waves: Waves) -> None:
    """Finish the waveform file that was asked for, from a complete VCD file, which is gone then."""
    fst, target = vcd.with_suffix(".fst"), os.path.realpath(waves.path)
    try:
        if waves.path.suffix == ".fst":
            to_fst(vcd, fst)
            shutil.move(fst, target)
        else:
            shutil.move(vcd, target)
    finally:
        vcd.unlink(missing_ok=True)
        fst.unlink(missing_ok=True)


def cut(vcd: Path, start: int, end: int | None) -> None:
    """Cut a VCD file to the times from `start` up to, not including, `end`, with every value that holds at
    `start`."""
    part = vcd.with_suffix(".part")
    try:
        with vcd.open() as source, part.open("w") as target:
            for line in source:
                target.write(line)
                if line.startswith("$enddefinitions"):
                    break
            _copy_between(source, target, start, end)
        os.replace(part, vcd)
    finally:
        part.unlink(missing_ok=True)


def _copy_between(source: TextIO, target: TextIO, start: int, end: int | None) -> None:
    held: dict[str, str] = {}  # last change of every signal before `start`
    inside = False
    for line in source:
        if line.startswith("#"):
            time = int(line[1:])
            if end is not None and time >= end:
                break
            if time >= start and not inside:
                inside = True
                target.write(f"#{start}\n" + "".join(held.values()))
            if inside and time != start:
                target.write(line)
        elif inside:
            target.write(line)
        elif not line.startswith("$") and line.strip():
            held[line.split()[-1] if line[0] in "bBrRsS" else line[1:].strip()] = line


def _fst_library() -> Any:
    try:
        import pylibfst
    except ImportError:
        raise EngineError(
            "FST waves need the pylibfst package; install it with: pip install 'warpbank[rtl]', or write "
            ".vcd instead"
        ) from None
    return pylibfst


def to_fst(vcd: Path, fst: Path) -> None:
    """Convert a VCD file."""
    library = _fst_library()
    lib, ffi = library.lib, library.ffi
    writer = lib.fstWriterCreate(str(fst).encode(), 1)
    if writer == ffi.NULL:
        raise EngineError(f"cannot write {fst}")
    try:
        with vcd.open() as file:
            handles = _declare(file, writer, lib, ffi)
            for line in file:
                kind = line[0]
                if kind == "#":
                    lib.fstWriterEmitTimeChange(writer, int(line[1:]))
                elif kind in "01xz":
                    lib.fstWriterEmitValueChange(writer, handles[line[1:].strip()][0], kind.encode())
                elif kind == "b":
                    value, code = line[1:].split()
                    handle, size = handles[code]
                    lib.fstWriterEmitValueChange(
                        writer, handle, value.rjust(size, "0" if value[0] == "1" else value[0]).encode()
                    )
    finally:
        lib.fstWriterClose(writer)


def _declare(file: TextIO, writer: Any, lib: Any, ffi: Any) -> dict[str, tuple[int, int]]:
    """Read the head of a VCD file and declare its signals: identifier -> (handle, bits)."""
    handles: dict[str, tuple[int, int]] = {}
    for line in file:
        words = line.split()
        if not words:
            continue
        if words[0] == "$timescale":
            unit = "".join(words[1:]).replace("$end", "") or next(file).strip()
            lib.fstWriterSetTimescaleFromString(writer, unit.encode())
        elif words[0] == "$scope":
            lib.fstWriterSetScope(writer, lib.FST_ST_VCD_MODULE, words[2].encode(), ffi.NULL)
        elif words[0] == "$upscope":
            lib.fstWriterSetUpscope(writer)
        elif words[0] == "$var":
            size, code, name = int(words[2]), words[3], " ".join(words[4:-1])
            alias = handles[code][0] if code in handles else 0
            handle = lib.fstWriterCreateVar(
                writer, lib.FST_VT_VCD_WIRE, lib.FST_VD_IMPLICIT, size, name.encode(), alias
            )
            handles.setdefault(code, (handle, size))
        elif words[0] == "$enddefinitions":
            break
    return handles
