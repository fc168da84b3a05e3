"""A kernel's machine code with its liveness, its release flags or its register-intervals, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from warpbank.program.errors import WarpbankError
from warpbank.program.intervals.formation import form
from warpbank.program.isa import Kernel
from warpbank.program.listing import Listing, listing
from warpbank.program.liveness import thread_liveness
from warpbank.program.release.flags import release_flags
from warpbank.program.release.words import FlagWord, flag_words
from warpbank.program.simt_liveness import simt_liveness


class Liveness(StrEnum):
    """Liveness to show: the thread's, or what is safe for the whole warp."""

    THREAD = "thread"
    SIMT = "simt"


@dataclass(frozen=True)
class Explained:
    """Machine code of all kernels of a job, with what is alive after each instruction.

    Parameters
    ----------
    liveness : which liveness the listings hold.
    kernels : a listing per kernel.
    """

    liveness: Liveness
    kernels: tuple[Listing, ...]

    def to_dict(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON."""
        return {"liveness": str(self.liveness), "kernels": [asdict(kernel) for kernel in self.kernels]}


@dataclass(frozen=True)
class ReleaseListing:
    """Machine code of a kernel with its release flags.

    Parameters
    ----------
    code : blocks and instructions.
    flags : per pc, the flags of a pir: bit k releases the k-th operand after this read.
    words : the flag instructions, each with the pc that it stands before.
    released : per pc, the registers that the instruction releases after reading them.
    """

    code: Listing
    flags: tuple[int, ...]
    words: tuple[FlagWord, ...]
    released: tuple[tuple[int, ...], ...]

    def to_dict(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON: a flag per pc, and the flag instructions."""
        written = [{"before": w.first, "text": w.text, "bits": f"{w.bits:#018x}"} for w in self.words]
        return {"name": self.code.name, "flags": list(self.flags), "flag_instructions": written}


@dataclass(frozen=True)
class Released:
    """Release flags of all kernels of a job.

    Parameters
    ----------
    kernels : a listing per kernel.
    """

    kernels: tuple[ReleaseListing, ...]

    def to_dict(self) -> dict[str, Any]:
        """Result as plain dictionaries for JSON."""
        return {"kernels": [kernel.to_dict() for kernel in self.kernels]}


def explain(kernels: Mapping[str, Kernel], liveness: Liveness = Liveness.THREAD) -> Explained:
    """List the machine code of kernels."""
    find = simt_liveness if liveness is Liveness.SIMT else thread_liveness
    return Explained(liveness, tuple(listing(kernel, find) for kernel in kernels.values()))


def release(kernels: Mapping[str, Kernel]) -> Released:
    """List the machine code of kernels with the release flags of register renaming.

    Raises
    ------
    WarpbankError : a kernel's registers are not allocated.
    """
    return Released(tuple(_release(kernel) for kernel in kernels.values()))


def _release(kernel: Kernel) -> ReleaseListing:
    flags = release_flags(kernel)
    try:
        words = flag_words(kernel, flags)
    except ValueError as error:
        raise WarpbankError(str(error)) from None
    released = tuple(
        tuple(r for k, r in enumerate(instr.registers_read()) if flags.dead[pc] >> k & 1)
        for pc, instr in enumerate(kernel.instructions())
    )
    code = listing(kernel, simt_liveness)
    return ReleaseListing(code, tuple(flags.pir.tolist()), tuple(words), released)


def interval_drawing(kernels: Mapping[str, Kernel], limit: int) -> str:
    """Draw every kernel's control flow graph with its register-intervals, as SVG; each has at most `limit`
    registers.

    Raises
    ------
    WarpbankError : a kernel's registers are not allocated, or an instruction needs more of them than `limit`.
    """
    # Its library is slow to load, and nothing else needs it.
    from warpbank.program.intervals.drawing import draw

    try:
        return draw(kernels, {name: form(kernel, limit) for name, kernel in kernels.items()})
    except ValueError as error:
        raise WarpbankError(str(error)) from None
