"""BTREE snippet of BOW, Fig. 6, in machine code, with its registers, order and constants, and a run of it.

Its global loads become shared ones, whose addresses are single registers as in the figure. The half-word
products become whole ones. All registers start as zero, so every address is in range. NOPs follow it, so that
its last results leave the window as they would in the kernel; a warp that ends writes nothing back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from warpbank.arch.config import config_hash, preset, with_overrides
from warpbank.arch.events import EVENTS, Record
from warpbank.arch.schemes import parse_scheme
from warpbank.golden.sm import simulate
from warpbank.program import emulator
from warpbank.program.hint_passes import with_hints
from warpbank.program.isa import (
    CONST_DYNAMIC_SHARED,
    Block,
    Cmp,
    Const,
    DType,
    Imm,
    Instr,
    Kernel,
    Op,
    Reg,
    Space,
)
from warpbank.program.launch import Job, Launch
from warpbank.program.trace.schema import Trace
from warpbank.sim import experiment as exp
from warpbank.sim.runs import store

#: First line of the figure that is an instruction.
FIRST_LINE = 2
#: Lines of the figure, 2 to 14.
SNIPPET = [
    Instr(Op.LD, dst=Reg(3), srcs=(Reg(8),), space=Space.SHARED),
    Instr(Op.MOV, dst=Reg(2), srcs=(Imm(0xFF4),)),
    Instr(Op.IMUL, dst=Reg(1), srcs=(Reg(0), Reg(2))),
    Instr(Op.IMAD, dst=Reg(1), srcs=(Reg(0), Reg(2), Reg(1))),
    Instr(Op.SHL, dst=Reg(1), srcs=(Reg(1), Imm(0x10))),
    Instr(Op.IMAD, dst=Reg(0), srcs=(Reg(0), Reg(2), Reg(1))),
    Instr(Op.IADD, dst=Reg(0), srcs=(Const(CONST_DYNAMIC_SHARED), Reg(0))),
    Instr(Op.IADD, dst=Reg(0), srcs=(Reg(9), Reg(0))),
    Instr(Op.IADD, dst=Reg(1), srcs=(Reg(0), Imm(0x7F8))),
    Instr(Op.LD, dst=Reg(2), srcs=(Reg(1),), space=Space.SHARED),
    Instr(Op.SHL, dst=Reg(2), srcs=(Reg(2), Imm(0x100))),
    Instr(Op.IADD, dst=Reg(4), srcs=(Reg(2), Imm(0x8F))),
    Instr(Op.ISETP, DType.S32, srcs=(Reg(3), Reg(1)), cmp=Cmp.NE, pdst=(0,)),
]
#: Registers that it writes: r0 and on.
WRITTEN = 5


def snippet_kernel(after: int = 0, without: int = 0) -> Kernel:
    """Kernel of the snippet without one of its lines (0: with all), a number of NOPs, and an EXIT."""
    lines = [instr for line, instr in enumerate(SNIPPET, FIRST_LINE) if line != without]
    code = [*lines, *(Instr(Op.NOP) for _ in range(after)), Instr(Op.EXIT)]
    return Kernel("btree_snippet", [Block("entry", code)], {}, 1, registers=10, shared_bytes=4096)


def snippet_trace(after: int = 0, without: int = 0) -> Trace:
    """One full warp through `snippet_kernel`."""
    job = Job(
        "btree_snippet",
        "tiny",
        "",
        "btree_snippet.ptx",
        {"out": np.zeros(1, np.uint32)},
        [Launch("btree_snippet", (1, 1, 1), (32, 1, 1), ())],
    )
    trace = emulator.run_job(job, {"btree_snippet": snippet_kernel(after, without)}, trace=True).trace
    assert trace is not None
    return trace


@dataclass(frozen=True)
class SnippetSpec:
    """Description of a run of the snippet on the golden model, as a task of `warpbank.sim.runs`.

    Parameters
    ----------
    scheme, preset, overrides : as in `warpbank.sim.runs.RunSpec`.
    without : line of the figure that is left out; 0: none.
    """

    scheme: str
    preset: str
    overrides: tuple[str, ...] = ()
    without: int = 0
    #: NOPs that follow: more than any window is wide, and than a result takes.
    after: int = 32

    @property
    def label(self) -> str:
        """Label: the snippet, scheme and what else is unusual."""
        less = f"without line {self.without}" if self.without else ""
        return " ".join(filter(None, ("btree_snippet", less, self.scheme, *self.overrides)))

    def check(self) -> None:
        """Raise WarpbankError that says which field is wrong."""
        exp.find_config(self.preset, None, list(self.overrides))
        exp.find_scheme(self.scheme)

    def key(self) -> str:
        """Key of machine, scheme, and the code."""
        machine = config_hash(with_overrides(preset(self.preset), list(self.overrides)))
        return store.key(
            "snippet",
            machine,
            self.preset,
            self.scheme,
            self.after,
            self.without,
            store.code_digest("warpbank.arch", "warpbank.golden", "warpbank.sim.experiment", __name__),
        )

    def compute(self) -> dict[str, Any]:
        """Bank writes of each register r0..r4 (`writes`), and what `warpbank.sim.experiment.Report.to_dict`
        says of the machine."""
        config, scheme = with_overrides(preset(self.preset), list(self.overrides)), parse_scheme(self.scheme)
        kernel = snippet_kernel(self.after, self.without)
        trace = with_hints(
            snippet_trace(self.after, self.without),
            scheme.hints,
            scheme.machine(config),
            lambda: {kernel.name: kernel},
        )
        events: list[Record] = []
        simulate(trace, config, scheme, events=events)
        return {"preset": self.preset, "config_hash": config_hash(config), "writes": bank_writes(events)}


def bank_writes(events: list[Record]) -> list[int]:
    """Writes of r0..r4 into the banks: of results, and of values that leave a collector."""
    counts = [0] * WRITTEN
    for _, _, name, values in events:
        if name in ("write", "write_back"):
            register = values[[field for field, _ in EVENTS[name].fields].index("register")]
            if register < WRITTEN:
                counts[register] += 1
    return counts
