"""Engine interface: one way to run a trace on a machine."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from warpbank.arch.parameters import SmConfig
from warpbank.arch.schemes import Scheme
from warpbank.golden.result import Result
from warpbank.program.trace.schema import CODE, DYNAMIC, FLAG_WAIT, LAUNCH, WARP, Trace
from warpbank.sim.errors import EngineError
from warpbank.sim.events import BatchSink
from warpbank.sim.output import check_file

#: Called with (warp instructions retired, of how many) now and then.
Progress = Callable[[int, int], None]
#: Called when the RTL has to be built, with (0, 0), and then with the bytes of C++ that have been compiled,
#: and of how many.
OnBuild = Callable[[int, int], None]


@dataclass(frozen=True)
class Waves:
    """Waveform request.

    Parameters
    ----------
    path : file to write, .vcd or .fst.
    start, end : cycles of it, `end` not included; None: to the end of the run.

    Raises
    ------
    EngineError : a name with another ending, or no cycles.
    OutputError : the file cannot be written.
    """

    path: Path
    start: int = 0
    end: int | None = None

    def __post_init__(self) -> None:
        if self.path.suffix not in (".vcd", ".fst"):
            raise EngineError(f"--waves takes a file name that ends in .vcd or .fst, not {self.path.name!r}")
        if self.end is not None and self.end <= self.start:
            raise EngineError(
                f"--wave-cycles {self.start}:{self.end} holds no cycle; write first:last+1, for example "
                "100:200"
            )
        check_file(self.path)


class Engine(Protocol):
    """Simulator of the SM."""

    @property
    def name(self) -> str:
        """Name on the command line."""

    def run(
        self,
        trace: Trace,
        config: SmConfig,
        scheme: Scheme,
        *,
        events: BatchSink | None = None,
        progress: Progress | None = None,
        check_operands: bool = True,
        waves: Waves | None = None,
    ) -> Result:
        """Run the trace to its end.

        Raises
        ------
        EngineError : this engine cannot run it: a tool is missing, the configuration cannot be built, the
            trace is not one.
        OperandMismatch : the register file delivered a wrong value.
        LaunchError, ExecutionError : a CTA does not fit; no warp can ever proceed.
        """


def check_trace(trace: Trace) -> None:
    """Raise EngineError unless the trace's arrays are those of this schema, and its warps can end."""
    for name, dtype in (("code", CODE), ("launches", LAUNCH), ("warps", WARP), ("dynamic", DYNAMIC)):
        found = getattr(trace, name).dtype
        if found != dtype:
            raise EngineError(
                f"the trace of {trace.meta.get('name', 'this job')} has another schema: its {name!r} rows "
                f"are {found}, this version's are {dtype}; make the trace anew"
            )
    if trace.values.ndim != 2 or trace.values.shape[1] != 32 or trace.values.dtype != np.uint32:
        raise EngineError("the trace's values are not rows of 32 unsigned 32-bit lanes; make the trace anew")
    ends = trace.warps["first"].astype(np.uint64) + trace.warps["length"]
    if len(ends) and int(ends.max()) > len(trace.dynamic):
        raise EngineError("the trace is cut off: a warp's rows go beyond the end; make the trace anew")
    last = ends[trace.warps["length"] > 0].astype(np.int64) - 1
    waits = last[trace.dynamic["flags"][last] & FLAG_WAIT != 0]
    if len(waits):
        raise EngineError(
            f"pc {trace.dynamic['pc'][waits[0]]} is the last instruction of a warp and waits at a barrier, "
            "from which nobody would go on; a warp ends with an instruction that does not wait"
        )
