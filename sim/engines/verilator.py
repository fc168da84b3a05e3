"""Engine of the RTL compiled by Verilator, with the C++ harness, under ctypes."""

from __future__ import annotations

import ctypes
import tempfile
from ctypes import POINTER, byref, c_char_p, c_uint32, c_uint64, c_void_p
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from warpbank.arch.counters import COUNTERS
from warpbank.arch.events import Stall
from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden.result import Result
from warpbank.hdl.cta_dispatch import launch_layout
from warpbank.hdl.layouts import uop_layout
from warpbank.program.trace.schema import Trace
from warpbank.sim.engines import packing
from warpbank.sim.engines import waves as waves_
from warpbank.sim.engines.abi import Setup, State, Status, words_of
from warpbank.sim.engines.base import EngineError, OnBuild, Waves
from warpbank.sim.engines.host import launch_rows
from warpbank.sim.engines.model import Build, library
from warpbank.sim.engines.rtl import RtlEngine, Session, mismatch, patience, stuck
from warpbank.sim.events import RECORD

#: Events that the harness keeps before Python takes them.
_CAPACITY = 1 << 17


class VerilatorEngine(RtlEngine):
    """Engine of the RTL compiled by Verilator.

    Parameters
    ----------
    build : how the model is compiled.
    """

    name = "verilator"

    def __init__(self, build: Build | None = None) -> None:
        self._build = build or Build()

    def _session(
        self,
        trace: Trace,
        config: SmConfig,
        scheme: Scheme,
        *,
        events: bool,
        check_operands: bool,
        waves: Waves | None,
        on_build: OnBuild | None,
    ) -> Session:
        if waves is not None:
            waves_.need(waves)
        build = replace(self._build, waves=waves is not None)
        path = library(config, scheme, build, on_build=on_build)
        return VerilatorSession(
            path, trace, config, events=events, check_operands=check_operands, waves=waves
        )


def _load(path: Path) -> Any:
    try:
        model = ctypes.CDLL(str(path))
    except OSError as error:
        remedy = "remove its folder, and it is built anew"
        raise EngineError(f"the compiled model {path} cannot be loaded ({error}); {remedy}") from None
    model.warpbank_new.restype = c_void_p
    model.warpbank_new.argtypes = [POINTER(Setup)]
    model.warpbank_status.restype = POINTER(Status)
    model.warpbank_status.argtypes = [c_void_p]
    model.warpbank_run.restype = c_uint32
    model.warpbank_run.argtypes = [c_void_p, c_uint64]
    model.warpbank_delete.restype = None
    model.warpbank_delete.argtypes = [c_void_p]
    return model


class VerilatorSession:
    """Session of a run of the compiled SM. See `warpbank.sim.engines.rtl.Session`."""

    def __init__(
        self,
        path: Path,
        trace: Trace,
        config: SmConfig,
        *,
        events: bool,
        check_operands: bool,
        waves: Waves | None,
    ) -> None:
        self._trace = trace
        self._config = config
        self._model = _load(path)
        uops, collects = packing.uops(trace, config)
        words = words_of(uops, uop_layout(config).size)
        payloads = words_of(packing.launches(trace, config), launch_layout(config).size)
        arrays = {
            "code": trace.code,
            "words": words,
            "collects": np.array(collects, np.uint8),
            "launches": trace.launches,
            "payloads": payloads,
            "warps": trace.warps,
            "dynamic": trace.dynamic,
            "values": trace.values,
            "lines": trace.lines.astype(np.uint64, copy=False),
            "immediates": trace.immediates,
        }
        self._records = np.zeros(_CAPACITY if events else 0, RECORD)
        self._arrays = {
            name: np.ascontiguousarray(array) for name, array in arrays.items()
        }  # kept alive for the harness
        pointers = {name: array.ctypes.data for name, array in self._arrays.items()}
        self._setup = Setup(
            **pointers,
            records=self._records.ctypes.data if events else None,
            record_capacity=len(self._records),
            launch_count=len(trace.launches),
            patience=patience(config),
            check_operands=int(check_operands),
        )
        self._harness = self._model.warpbank_new(byref(self._setup))
        if not self._harness:
            raise EngineError("there is not enough memory for the compiled model")
        self._status = self._model.warpbank_status(self._harness).contents
        self._taken: list[np.ndarray] = []
        self._waves = waves
        self._vcd: Path | None = None
        self.cycle = 0
        self.finished = False
        if waves is not None:
            self._open_waves(waves)

    def advance(self, until: int) -> None:
        """Run up to cycle `until` (or to the end), in compiled C++."""
        while self.cycle < until and not self.finished:
            state = State(self._model.warpbank_run(self._harness, until))
            self.cycle = int(self._status.cycle)
            if self._status.records:
                self._taken.append(self._records[: self._status.records].copy())
            if state is State.FINISHED:
                self.finished = True
            elif state is State.MISMATCH:
                raise mismatch(self._trace, *(int(number) for number in self._status.wrong))
            elif state is State.STUCK:
                raise stuck(self._trace, self.cycle, self._slots())
            elif state is State.PROTOCOL:
                reason = self._status.message.decode()
                raise EngineError(f"the RTL asked for something impossible in cycle {self.cycle}: {reason}")

    def take(self) -> np.ndarray:
        """Events made since the last call (`warpbank.sim.events.RECORD`)."""
        taken = self._taken
        self._taken = []
        return np.concatenate(taken) if taken else np.zeros(0, RECORD)

    @property
    def retired(self) -> int:
        """Warp instructions retired so far."""
        return int(self._status.counters[list(COUNTERS).index("retire.uops")])

    def _slots(self) -> list[tuple[int, int, int, int, int]]:
        found = []
        warps = self._config.sub_core.warps
        for place in range(self._config.warps):
            slot = self._status.slots[place]
            if slot.row != 0xFFFFFFFF and slot.retired < int(self._trace.warps[slot.row]["length"]):
                found.append((place // warps, place % warps, slot.row, slot.issued, slot.retired))
        return found

    def result(self) -> Result:
        """Result of a finished run."""
        status, trace = self._status, self._trace
        counters = dict(zip(COUNTERS, status.counters[: len(COUNTERS)], strict=True))
        reasons = [reason.name.lower() for reason in Stall]
        width = len(reasons)
        numbers = status.stalls[: width * self._config.sub_cores]
        per_scheduler = [
            dict(zip(reasons, numbers[width * core : width * (core + 1)], strict=True))
            for core in range(self._config.sub_cores)
        ]
        cycles = {
            place: int(status.launch_cycles[place])
            for place, launch in enumerate(trace.launches)
            if launch["ctas"]
        }
        return Result(
            cycles=int(status.ended),
            warp_instructions=counters["retire.uops"],
            stalls={reason: sum(stall[reason] for stall in per_scheduler) for reason in reasons},
            stalls_per_scheduler=per_scheduler,
            counters=counters,
            operands_checked=int(status.checked),
            launches=launch_rows(trace, self._config, cycles),
        )

    def _open_waves(self, waves: Waves) -> None:
        self._vcd = Path(
            tempfile.mkstemp(prefix=f".{waves.path.name}.", suffix=".vcd", dir=waves.path.parent)[1]
        )
        call = self._model.warpbank_open_waves
        call.restype = None
        call.argtypes = [c_void_p, c_char_p, c_uint64, c_uint64]
        call(
            self._harness, str(self._vcd).encode(), waves.start, (1 << 63) if waves.end is None else waves.end
        )

    def close(self) -> None:
        """Free the compiled SM; waves are complete then."""
        if not self._harness:
            return
        if self._vcd is not None and self._waves is not None:
            self._model.warpbank_close_waves.restype = None
            self._model.warpbank_close_waves.argtypes = [c_void_p]
            self._model.warpbank_close_waves(self._harness)
            waves_.finish(self._vcd, self._waves)
        self._model.warpbank_delete(self._harness)
        self._harness = None
