"""Statistics of values that need no machine: divergence, similarity, scalar execution, compression (G-Scalar,
Fig. 1, 8, 9, 10).

An instruction is divergent if it runs on some, not all, of the lanes that its warp has; a register access of
a divergent instruction is a divergent access. Values are scalar if they are equal on all lanes that run;
among the lanes that a warp has, if the instruction is not divergent.

Whether an instruction could be executed by one lane is decided twice: by the values themselves, and as the
paper's hardware does, from what it noted when each operand was written. That is the equality of the written
lanes and, if the write was divergent, these lanes (D and the mask in the base register); a divergent result
is not known to be scalar for other lanes than these, though its values may be. Values of predicates are not
in a trace: by the values, a predicate operand is scalar if the instruction that computed it was, for its
lanes. The hardware notes nothing of predicates, and an instruction with one as operand is not eligible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np

from warpbank.program.isa import Kernel
from warpbank.program.similarity.instructions import instructions
from warpbank.program.similarity.scan import scan
from warpbank.program.similarity.steps import active_lanes, steps
from warpbank.program.trace.schema import Trace

#: Accesses by the number of equal bytes, most significant first: 4 is scalar. The last class: of divergent
#: instructions.
CLASSES = ("none", "1 byte", "2 bytes", "3 bytes", "scalar", "divergent")


@dataclass(frozen=True)
class Eligible:
    """Executed instructions that one lane could execute, each counted once.

    Parameters
    ----------
    alu, sfu, memory : not divergent, all operands scalar.
    part : not divergent and not scalar, but scalar on the lanes of some part of 16.
    divergent : divergent, all operands scalar on the lanes that run.
    """

    alu: int
    sfu: int
    memory: int
    part: int
    divergent: int

    @property
    def total(self) -> int:
        """Sum of all classes."""
        return self.alu + self.sfu + self.memory + self.part + self.divergent


@dataclass(frozen=True)
class Sizes:
    """Compressed sizes: bytes of the results of all register writes, each as its register is stored;
    divergent writes are not compressed.

    Parameters
    ----------
    plain : as they are.
    bytewise : equal leading bytes once, the others of every lane.
    parts : the same for each 16 lanes.
    bdi : base-delta-immediate: the first lane's value, and the differences of all lanes from it in 0, 1 or 2
        bytes.
    """

    plain: int
    bytewise: int
    parts: int
    bdi: int


@dataclass(frozen=True)
class Similarity:
    """Statistics of one trace.

    Parameters
    ----------
    warp_size : threads of a warp, 32 or 64.
    instructions : executed warp instructions.
    idle : of these, those whose guard no lane met.
    divergent : those that are divergent.
    no_operands : scalar by the values, and without register operands.
    moves : divergent writes of a register that is compressed, which must be decompressed first (whatever is
        known of liveness).
    by_values, by_hardware : those that one lane could execute, decided by the values and by the hardware's
        notes.
    reads, writes : register accesses in the order of `CLASSES`.
    sizes : of all results written.
    """

    warp_size: int
    instructions: int
    idle: int
    divergent: int
    no_operands: int
    moves: int
    by_values: Eligible
    by_hardware: Eligible
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    sizes: Sizes


def similarity(trace: Trace, kernels: Mapping[str, Kernel], warp_size: int = 32) -> Similarity:
    """The statistics of a trace whose kernels are these, in the order of `trace.kernels`. Registers hold zero
    until written.

    Raises
    ------
    ValueError : the warp size is not 32 or 64.
    """
    code = instructions(kernels)
    made = steps(trace, code, warp_size)
    dynamic, static = trace.dynamic, trace.code
    counts = np.zeros(5, np.int64)
    eligible = np.zeros((2, len(fields(Eligible))), np.int64)
    accesses = np.zeros((2, len(CLASSES)), np.int64)
    stored = np.zeros(len(fields(Sizes)), np.int64)
    scan(
        (made.rows, made.first, made.existing),
        (
            np.ascontiguousarray(dynamic["pc"]),
            active_lanes(trace, code),
            np.ascontiguousarray(dynamic["mask"]),
            dynamic["value"].astype(np.int64),
            trace.values,
        ),
        (
            np.ascontiguousarray(static["sources"]),
            static["source_count"].astype(np.int64),
            static["destination"].astype(np.int64),
            static["count"].astype(np.int64),
            code.kind,
            code.predicates_read,
            np.ascontiguousarray(static["predicates_written"]),
        ),
        (counts, eligible, accesses, stored),
    )
    executed, idle, divergent, no_operands, moves = counts.tolist()
    by_values, by_hardware = (Eligible(*row) for row in eligible.tolist())
    reads, writes = (tuple(row) for row in accesses.tolist())
    return Similarity(
        warp_size,
        executed,
        idle,
        divergent,
        no_operands,
        moves,
        by_values,
        by_hardware,
        reads,
        writes,
        Sizes(*stored.tolist()),
    )
