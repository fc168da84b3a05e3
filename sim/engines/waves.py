"""Waves: both RTL engines write VCD; FST, ten times smaller, is made of it with the FST library of the pylibfst wheel."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sim.engines.base import EngineError, Waves


def need(waves: Waves) -> None:
    """Raise EngineError if the file cannot be written, before anything is simulated."""
    if waves.path.suffix == ".fst":
        _fst_library()
    if not waves.path.parent.is_dir() or not os.access(waves.path.parent, os.W_OK):
        raise EngineError(f"cannot write {waves.path}: its folder does not exist or cannot be written to")


def finish(vcd: Path, waves: Waves) -> None:
    """Make the file that was asked for of a complete VCD file, which is gone then."""
    fst = vcd.with_suffix(".fst")
    try:
        if waves.path.suffix == ".fst":
            to_fst(vcd, fst)
            os.replace(fst, waves.path)
        else:
            os.replace(vcd, waves.path)
    finally:
        vcd.unlink(missing_ok=True)
        fst.unlink(missing_ok=True)


def _fst_library() -> Any:
    try:
        import pylibfst
    except ImportError:
        raise EngineError(
            "FST waves need the pylibfst package; install it with: pip install 'warpbank[rtl]', or write .vcd instead"
        ) from None
    return pylibfst


def to_fst(vcd: Path, fst: Path) -> None:
    """Convert a VCD file."""
    from vcd.reader import TokenKind, tokenize

    library = _fst_library()
    lib, ffi = library.lib, library.ffi
    writer = lib.fstWriterCreate(str(fst).encode(), 1)
    if writer == ffi.NULL:
        raise EngineError(f"cannot write {fst}")
    handles: dict[str, tuple[int, int]] = {}
    try:
        lib.fstWriterSetTimescaleFromString(writer, b"1ns")
        with vcd.open("rb") as file:
            for token in tokenize(file):
                kind = token.kind
                data: Any = token.data  # its type goes with the kind
                if kind is TokenKind.SCOPE:
                    lib.fstWriterSetScope(writer, lib.FST_ST_VCD_MODULE, data.ident.encode(), ffi.NULL)
                elif kind is TokenKind.UPSCOPE:
                    lib.fstWriterSetUpscope(writer)
                elif kind is TokenKind.VAR:
                    alias, _ = handles.get(data.id_code, (0, 0))
                    name = data.ref_str.encode()
                    handle = lib.fstWriterCreateVar(writer, lib.FST_VT_VCD_WIRE, lib.FST_VD_IMPLICIT, data.size, name, alias)
                    handles.setdefault(data.id_code, (handle, data.size))
                elif kind is TokenKind.CHANGE_TIME:
                    lib.fstWriterEmitTimeChange(writer, data)
                elif kind is TokenKind.CHANGE_SCALAR:
                    handle, _ = handles[data.id_code]
                    lib.fstWriterEmitValueChange(writer, handle, data.value.encode())
                elif kind is TokenKind.CHANGE_VECTOR:
                    handle, size = handles[data.id_code]
                    text = format(data.value, f"0{size}b") if isinstance(data.value, int) else data.value.rjust(size, "x")
                    lib.fstWriterEmitValueChange(writer, handle, text.encode())
    finally:
        lib.fstWriterClose(writer)
