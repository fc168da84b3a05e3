"""Structures of harness/trace.h and harness.cpp for ctypes."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_uint32, c_uint64, c_void_p
from enum import IntEnum

import numpy as np

from warpbank.program.trace.schema import CODE, DYNAMIC, LAUNCH, WARP
from warpbank.sim.events import RECORD

assert (CODE.itemsize, LAUNCH.itemsize, WARP.itemsize, DYNAMIC.itemsize, RECORD.itemsize) == (
    18,
    46,
    28,
    30,
    64,
), "harness/trace.h does not follow program/trace/schema.py"


class State(IntEnum):
    """Final state of a call of `warpbank_run`."""

    RUNNING = 0
    FINISHED = 1
    DRAIN = 2
    MISMATCH = 3
    STUCK = 4
    PROTOCOL = 5


class Setup(ctypes.Structure):
    """Setup of a run: the arrays of the trace and the limits, laid out as in harness/trace.h."""

    _fields_ = (
        *(
            (name, c_void_p)
            for name in ("code", "words", "collects", "launches", "payloads", "warps", "dynamic", "values")
        ),
        *((name, c_void_p) for name in ("lines", "immediates", "records")),
        ("record_capacity", c_uint64),
        ("launch_count", c_uint64),
        ("patience", c_uint64),
        ("check_operands", c_uint32),
        ("spare", c_uint32),
    )


class Slot(ctypes.Structure):
    """Slot of a warp: its row of the trace and progress, laid out as in harness/trace.h."""

    _fields_ = tuple((name, c_uint32) for name in ("row", "filled", "issued", "retired"))


class Status(ctypes.Structure):
    """Status of a run: cycles, counters and the first mistake, laid out as in harness.cpp."""

    _fields_ = (
        *((name, c_uint64) for name in ("cycle", "checked", "records", "ended")),
        ("counters", POINTER(c_uint64)),
        ("stalls", POINTER(c_uint64)),
        ("slots", POINTER(Slot)),
        ("launch_cycles", POINTER(c_uint64)),
        ("wrong", c_uint32 * 8),
        ("message", c_char_p),
    )


def words_of(numbers: list[int], width: int) -> np.ndarray:
    """Numbers of `width` bits as rows of 32-bit words, the lowest first."""
    words = -(-width // 32)
    return np.array(
        [[number >> (32 * place) & 0xFFFFFFFF for place in range(words)] for number in numbers], np.uint32
    ).reshape(-1, words)
