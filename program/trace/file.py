"""Trace files: a zip of numpy arrays (`.npz`) that `numpy.load` reads as it is; docs/trace.md is their
page."""

from __future__ import annotations

import json
import os
import secrets
import zipfile
import zlib
from enum import IntEnum
from pathlib import Path
from typing import Any

import numpy as np

from warpbank.arch.uop import LINE_WIDTH, MAX_DESTINATIONS, MAX_SOURCES, SECTORS, Control, Memory, Unit
from warpbank.program.cache import behind_links, whole
from warpbank.program.errors import TraceError
from warpbank.program.isa import DType, Op
from warpbank.program.trace.schema import CODE, DYNAMIC, LAUNCH, SCHEMA_VERSION, WARP, Trace

_MEMBERS = {"code": CODE, "launches": LAUNCH, "warps": WARP, "dynamic": DYNAMIC}
_PLAIN = {"values": np.dtype("u4"), "lines": np.dtype("u8"), "ptx_line": np.dtype("u4")}
#: Lists of the header and what they hold; fields of CODE that are numbers of a name.
_LISTS = {"kernels": str, "first_pc": int, "text": str}
_NAMES: dict[str, type[IntEnum]] = {
    "unit": Unit,
    "memory": Memory,
    "control": Control,
    "opcode": Op,
    "dtype": DType,
}
#: What numpy, zipfile and zlib raise for files that are not what they seem.
_DAMAGE = (
    OSError,
    ValueError,
    KeyError,
    IndexError,
    EOFError,
    AttributeError,
    TypeError,
    MemoryError,
    OverflowError,
    RuntimeError,
    zipfile.BadZipFile,
    zlib.error,
)
#: A file that expands beyond this many bytes, and more than so many times, is not read: even registers that
#: are the same in all lanes and warps compress less.
_EXPANDED, _TIMES = 1 << 28, 200
#: Fastest deflate: values compress three times or more, and reading is no slower than reading them raw.
_LEVEL = 1


def write_trace(trace: Trace, path: Path | str) -> None:
    """Write a trace. The file appears whole or not at all.

    Raises TraceError if the folder cannot be written.
    """
    path = Path(path)
    header = {
        "schema": SCHEMA_VERSION,
        "meta": trace.meta,
        "kernels": trace.kernels,
        "first_pc": [int(pc) for pc in trace.first_pc],
        "text": trace.text,
    }
    arrays: dict[str, np.ndarray] = {"header": np.frombuffer(json.dumps(header).encode(), np.uint8)}
    arrays |= {name: getattr(trace, name) for name in (*_MEMBERS, *_PLAIN)}
    try:
        target = behind_links(path)
        temporary = target.with_name(f"{target.name}.{os.getpid()}-{secrets.token_hex(4)}.part")
        with whole(target, temporary), temporary.open("xb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
                for name, array in arrays.items():
                    # A fixed date: the same trace is the same file.
                    info = zipfile.ZipInfo(f"{name}.npy", (1980, 1, 1, 0, 0, 0))
                    info.compress_type = zipfile.ZIP_DEFLATED
                    with archive.open(info, "w", force_zip64=True) as member:
                        np.lib.format.write_array(member, np.ascontiguousarray(array), allow_pickle=False)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise TraceError(f"trace file {path} cannot be written: {error.strerror or error}.") from error


def read_trace(path: Path | str) -> Trace:
    """Read a trace.

    Raises TraceError for a file that is missing, damaged, no trace, or of another schema version.
    """
    path = Path(path)
    remedy = "Write it again with `warpbank trace write`."
    try:
        archive = np.load(path, allow_pickle=False)
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise TraceError(f"{path} is not a trace file. {remedy}")
        with archive:
            _check_size(path, archive.zip)
            if "header" not in archive.files:
                raise TraceError(f"{path} is not a trace file. {remedy}")
            header = json.loads(bytes(archive["header"]))
            if not isinstance(header, dict):
                raise TraceError(f"{path} is not a trace file. {remedy}")
            if header.get("schema") != SCHEMA_VERSION:
                raise TraceError(
                    f"trace file {path} has schema version {header.get('schema')}; this program reads "
                    f"{SCHEMA_VERSION}. {remedy}"
                )
            arrays = {name: archive[name] for name in (*_MEMBERS, *_PLAIN)}
    except FileNotFoundError as error:
        raise TraceError(f"there is no trace file {path}.") from error
    except _DAMAGE as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise TraceError(f"trace file {path} cannot be read: {error.strerror}.") from error
        raise TraceError(
            f"trace file {path} is damaged or truncated, or no trace at all. {remedy}"
        ) from error
    for name, dtype in (_MEMBERS | _PLAIN).items():
        if arrays[name].dtype != dtype:
            raise TraceError(f"trace file {path} is damaged: {name} has an unexpected layout. {remedy}")
    if any(
        not isinstance(header.get(name), list) or any(type(item) is not kind for item in header[name])
        for name, kind in _LISTS.items()
    ) or not isinstance(header.get("meta"), dict):
        raise TraceError(f"trace file {path} is damaged: its header is not whole. {remedy}")
    trace = Trace(
        header["meta"],
        header["kernels"],
        header["first_pc"],
        header["text"],
        **arrays,
        hints=None,
        flag_words={},
        exempt=(),
        working_sets={},
    )
    problem = _inconsistency(trace)
    if problem:
        raise TraceError(f"trace file {path} is damaged: {problem}. {remedy}")
    return trace


def _check_size(path: Path, archive: zipfile.ZipFile | None) -> None:
    """Raise TraceError if the arrays of a file would take far more memory than any trace of its size."""
    if archive is None:
        return
    packed, whole_size = path.stat().st_size, sum(member.file_size for member in archive.infolist())
    if whole_size > max(_EXPANDED, _TIMES * packed):
        raise TraceError(
            f"trace file {path} of {packed} bytes would expand to {whole_size}; no trace is packed more than "
            f"{_TIMES} times."
        )


def _inconsistency(trace: Trace) -> str:
    """Why the arrays do not belong together, or nothing."""

    def past(places: np.ndarray, counts: Any, size: int) -> bool:
        if not len(places):
            return False
        return int(places.max()) > size or int((places.astype(np.int64) + counts).max()) > size

    d, launches = trace.dynamic, trace.launches
    if any(array.ndim != 1 for array in (trace.code, launches, trace.warps, d, trace.lines, trace.ptx_line)):
        return "an array has the wrong number of dimensions"
    if trace.values.ndim != 2 or trace.values.shape[1] != 32:
        return "a value has not 32 lanes"
    if len(trace.text) != len(trace.code) or len(trace.ptx_line) != len(trace.code):
        return "code and listing differ in length"
    for name, known in _NAMES.items():
        if len(trace.code) and not np.isin(trace.code[name], [int(member) for member in known]).all():
            return f"the code has an unknown {name}"
    if not np.isin(d["memory"], [int(member) for member in Memory]).all():
        return "an instruction has an unknown memory operation"
    if past(trace.code["source_count"], 0, MAX_SOURCES) or past(trace.code["count"], 0, MAX_DESTINATIONS):
        return "an instruction has too many registers"
    if len(trace.first_pc) != len(trace.kernels) or any(
        not 0 <= pc <= len(trace.code) for pc in trace.first_pc
    ):
        return "kernels and their first instructions do not fit"
    if past(launches["kernel"], 1, len(trace.kernels)):
        return "a launch has no kernel"
    if past(trace.warps["launch"], 1, len(launches)):
        return "a warp has no launch"
    if past(
        launches["first_warp"],
        launches["ctas"].astype(np.int64) * launches["warps_per_cta"],
        len(trace.warps),
    ):
        return "a launch is past the end of the warps"
    if past(d["pc"], 1, len(trace.code)):
        return "a pc is past the end of the code"
    if past(trace.warps["first"], trace.warps["length"], len(d)):
        return "a warp is past the end of the instructions"
    if past(d["line"], d["line_count"], len(trace.lines)):
        return "a line is past the end of the lines"
    if (
        not (trace.lines >> np.uint64(LINE_WIDTH)).all()
        or (trace.lines >> np.uint64(LINE_WIDTH + SECTORS)).any()
    ):
        return "a line has none of its sectors, or a fifth"
    if past(d["value"], np.where(d["mask"] != 0, trace.code["count"][d["pc"]], 0), len(trace.values)):
        return "a value is past the end of the values"
    return ""
