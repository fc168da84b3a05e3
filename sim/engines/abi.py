"""The structures of harness/trace.h and harness.cpp for ctypes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_uint32, c_uint64, c_void_p
from enum import IntEnum

import numpy as np

from arch.rooms import SmConfig
from arch.uop import Unit
from hdl.cta_dispatch import launch_layout
from hdl.seams import uop_layout
from program.trace.schema import CODE, DYNAMIC, LAUNCH, WARP, Trace
from sim.events import RECORD

assert (CODE.itemsize, LAUNCH.itemsize, WARP.itemsize, DYNAMIC.itemsize, RECORD.itemsize) == (18, 46, 28, 30, 64), (
    "harness/trace.h does not follow program/trace/schema.py"
)


class State(IntEnum):
    """How a call of `warpbank_run` ended."""

    RUNNING = 0
    FINISHED = 1
    DRAIN = 2
    MISMATCH = 3
    STUCK = 4
    PROTOCOL = 5


class Setup(ctypes.Structure):
    """See harness/trace.h."""

    _fields_ = (
        *((name, c_void_p) for name in ("code", "words", "collects", "launches", "payloads", "warps", "dynamic", "values", "lines",
                                        "records")),
        ("record_capacity", c_uint64),
        ("launch_count", c_uint64),
        ("patience", c_uint64),
        ("check_operands", c_uint32),
        ("spare", c_uint32),
    )


class Slot(ctypes.Structure):
    """See harness/trace.h."""

    _fields_ = tuple((name, c_uint32) for name in ("row", "filled", "issued", "retired"))


class Status(ctypes.Structure):
    """See harness.cpp."""

    _fields_ = (
        *((name, c_uint64) for name in ("cycle", "checked", "records", "ended")),
        ("counters", POINTER(c_uint64)),
        ("stalls", POINTER(c_uint64)),
        ("slots", POINTER(Slot)),
        ("launch_cycles", POINTER(c_uint64)),
        ("wrong", c_uint32 * 8),
        ("message", c_char_p),
    )


def uop_words(trace: Trace, config: SmConfig) -> tuple[np.ndarray, np.ndarray]:
    """Per pc: the constant fields of its uop, packed as `hdl.seams.uop_layout` has them; and whether it goes through a collector."""
    layout = uop_layout(config)
    words = -(-layout.size // 32)
    packed = np.zeros((len(trace.code), words), np.uint32)
    collects = np.zeros(len(trace.code), np.uint8)
    for pc, row in enumerate(trace.code):
        sources = [int(register) for register in row["sources"][: int(row["source_count"])]]
        fields = {
            "pc": pc,
            "unit": int(row["unit"]),
            "sources": sum(register << (8 * slot) for slot, register in enumerate(sources)),
            "source_valid": (1 << len(sources)) - 1,
            "destination": int(row["destination"]),
            "count": int(row["count"]),
            "predicates_read": int(row["predicates_read"]),
            "predicates_written": int(row["predicates_written"]),
            "control": int(row["control"]),
        }
        value = sum(content << layout[name].offset for name, content in fields.items())
        packed[pc] = [value >> (32 * place) & 0xFFFFFFFF for place in range(words)]
        collects[pc] = needs_collector(fields)
    return packed, collects


def launch_payloads(trace: Trace, config: SmConfig) -> np.ndarray:
    """Per launch, `hdl.cta_dispatch.launch_layout` in 32-bit words."""
    layout = launch_layout(config)
    words = -(-layout.size // 32)
    packed = np.zeros((len(trace.launches), words), np.uint32)
    for number, launch in enumerate(trace.launches):
        rows = config.rows_per_warp(int(launch["registers"]))
        fields = {
            "ctas": int(launch["ctas"]),
            "warps_per_cta": int(launch["warps_per_cta"]),
            "shared_bytes": int(launch["shared_bytes"]),
            "rows": rows,
            "slots": min(config.sub_core.warps, config.sub_core.rows // rows),
        }
        value = sum(content << layout[name].offset for name, content in fields.items())
        packed[number] = [value >> (32 * place) & 0xFFFFFFFF for place in range(words)]
    return packed


def needs_collector(fields: dict[str, int]) -> bool:
    """Whether such a uop goes through a collector if any lane executes."""
    writes = fields["count"] or fields["predicates_written"]
    return bool(fields["unit"] != Unit.CONTROL or fields["source_valid"] or writes)
