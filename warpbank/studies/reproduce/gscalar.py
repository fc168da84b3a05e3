"""G-Scalar (HPCA 2017): figures about the values of warp registers, from traces, and about power, from
runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import Any

from warpbank.program.similarity.statistics import CLASSES
from warpbank.program.similarity.steps import WARP_SIZES
from warpbank.sim.runs import Task
from warpbank.sim.runs.spec import AnalysisSpec
from warpbank.studies.reproduce import counted
from warpbank.studies.reproduce.measures import gain
from warpbank.studies.reproduce.paper import Figure, Paper, Results
from warpbank.studies.reproduce.power import (
    BASELINE,
    PRESET,
    SCHEMES,
    SFU_WEIGHT,
    efficiency,
    registers,
    run,
    runs,
)

_MIX = "our kernels, compiled from our own PTX, are another mix than the paper's benchmarks"
_CONSTANTS = (
    "parameters and constants are operands of their own in our code, so that fewer registers hold scalars"
)


def _values(kernel: str, size: str, warp_size: int = 32) -> AnalysisSpec:
    return AnalysisSpec(
        kernel, size, "warpbank.studies.reproduce.analyses:values", (("warp_size", warp_size),), PRESET
    )


def _tasks(kernel: str, size: str) -> list[Task]:
    return [_values(kernel, size)]


def _percent(part: float, whole: float) -> float:
    return 100 * part / whole if whole else 0.0


def _fig1_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    found = results[_values(kernel, size)]
    scalar = found["by_values"]["divergent"]
    return (
        _percent(found["divergent"], found["instructions"]),
        _percent(scalar, found["instructions"]),
        _percent(scalar, found["divergent"]),
    )


def _fig1_means(rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Means, and of the last column what the others' means give: a kernel without divergence has no share."""
    divergent, scalar, _ = (fmean(column) for column in zip(*rows, strict=True))
    return divergent, scalar, _percent(scalar, divergent)


def _fig8_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    found = results[_values(kernel, size)]
    counts = [read + written for read, written in zip(found["reads"], found["writes"], strict=True)]
    shares = dict(zip(CLASSES, (_percent(count, sum(counts)) for count in counts), strict=True))
    return tuple(shares[name] for name in _FIG8)


def _shares(found: dict[str, Any], how: str) -> tuple[float, ...]:
    """The classes of Fig. 9, and their sum."""
    counts = found[how]
    parts = counts["alu"], counts["sfu"] + counts["memory"], counts["part"], counts["divergent"]
    return tuple(_percent(count, found["instructions"]) for count in (*parts, sum(parts)))


def _fig9_row(how: str) -> Callable[[str, str, Results], tuple[float, ...]]:
    """Rows of Fig. 9: eligible `by_hardware` or `by_values`."""
    return lambda kernel, size, results: _shares(results[_values(kernel, size)], how)


def _fig10_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    found = [results[_values(kernel, size, warp_size)] for warp_size in WARP_SIZES]
    return tuple(_percent(each["by_hardware"]["part"], each["instructions"]) for each in found)


def _moves_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    found = results[_values(kernel, size)]
    return (_percent(found["moves"], found["instructions"]),)


def _ratio_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    sizes = results[_values(kernel, size)]["sizes"]
    return tuple(sizes["plain"] / sizes[how] if sizes[how] else 1.0 for how in ("bytewise", "parts", "bdi"))


def _fig11_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    plain, *found = (
        efficiency(kernel, size, scheme, results) for scheme in ("scalar-rf", "gscalar", "gscalar-half")
    )
    gains = [100 * value - 100 for value in (plain, *found)]
    return (*gains, 100 * found[-1] / plain - 100)


def _ipc_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    before = results[run(kernel, size, BASELINE)]
    return tuple(gain(results[run(kernel, size, scheme)], before) for scheme in SCHEMES)


def _fig12_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    before = results[run(kernel, size, BASELINE)]["cycles"]
    return tuple(
        100 * registers(kernel, size, scheme, results) * before / results[run(kernel, size, scheme)]["cycles"]
        for scheme in SCHEMES
    )


_FIG8 = ("scalar", "3 bytes", "2 bytes", "1 byte", "none", "divergent")
_FIG9 = ("ALU", "SFU and memory", "half-warp", "divergent", "all")

GSCALAR = Paper(
    "gscalar",
    "G-Scalar: Cost-Effective Generalized Scalar Execution Architecture for Power-Efficient GPUs (HPCA 2017)",
    (
        Figure(
            "fig1",
            "Fig. 1: executed instructions that are divergent; of these, with scalar operands on the lanes "
            "that run",
            "%",
            ("divergent", "divergent scalar", "scalar of divergent"),
            _tasks,
            _fig1_row,
            "The mean of the last column is that of the second over that of the first, since a kernel "
            f"without divergence has no share; {_MIX}.",
            means=_fig1_means,
        ),
        Figure(
            "fig8",
            "Fig. 8: register accesses by the leading bytes that are equal on all lanes",
            "%",
            _FIG8,
            _tasks,
            _fig8_row,
            f"Reads and results are counted, each word of a pair; {_CONSTANTS}; and {_MIX}.",
            shape="parts",
        ),
        Figure(
            "fig9",
            "Fig. 9: executed instructions eligible for scalar execution, as the hardware knows",
            "%",
            _FIG9,
            _tasks,
            _fig9_row("by_hardware"),
            "Each instruction counts once, in the first class that covers it. Branches and barriers are "
            f"never eligible; our kernels use the special-function unit on values that differ between "
            f"threads; {_CONSTANTS}; and {_MIX}.",
            shape="parts",
            beside=("all",),
        ),
        Figure(
            "fig9-values",
            "Fig. 9, by the values themselves",
            "%",
            _FIG9,
            _tasks,
            _fig9_row("by_values"),
            "More than in fig9 by what the hardware does not know: predicates that are the same in all "
            "lanes, scalars that several divergent writes made, and those of which fewer lanes are read "
            "than a divergent instruction wrote.",
            shape="parts",
            beside=("all",),
        ),
        Figure(
            "fig10",
            "Fig. 10: executed instructions that are scalar only on some group of 16 threads",
            "%",
            tuple(f"warp of {warp_size}" for warp_size in WARP_SIZES),
            lambda kernel, size: [_values(kernel, size, warp_size) for warp_size in WARP_SIZES],
            _fig10_row,
            "CTAs of a single warp have no warps of 64 threads, and a kernel whose groups of 16 are "
            f"scalar by its shape has as many with both; {_MIX}.",
        ),
        Figure(
            "moves",
            "Section 3.3: decompress moves, of the executed instructions",
            "%",
            ("moves",),
            _tasks,
            _moves_row,
            "The published value is of another compression (Warped-Compression). None is left out here "
            f"because liveness shows that the old value is dead; {_MIX}.",
        ),
        Figure(
            "compression",
            "Section 5.3: compression ratio of register writes",
            "times",
            ("byte-wise", "half-warp", "BDI"),
            _tasks,
            _ratio_row,
            f"Divergent writes are not compressed; {_CONSTANTS}; and {_MIX}. The paper does not say what "
            "its mean is over.",
            digits=2,
        ),
        Figure(
            "fig11",
            "Fig. 11: change in work per energy of the GPU (IPC/W)",
            "%",
            ("scalar-rf", "gscalar", "gscalar-half", "gscalar-half over scalar-rf"),
            runs,
            _fig11_row,
            "Nothing but the register file and the lanes is simulated: each takes the share of the "
            "baseline's power that the paper gives as a mean (16 and 24 %), and all else takes the same "
            f"power in every cycle and kernel; a lane of the special-function unit counts as "
            f"{SFU_WEIGHT:g} of others; fewer operands are scalar here (fig9); and {_MIX}.",
            mean="change",
        ),
        Figure(
            "fig11-ipc",
            "Fig. 11: change in IPC",
            "%",
            SCHEMES,
            runs,
            _ipc_row,
            "Three more cycles between dependent uops (one with a scalar bank), and decompress moves; our "
            f"latencies are round numbers, and no kernel here divides integers for long as LC does; {_MIX}.",
            mean="change",
        ),
        Figure(
            "fig12",
            "Fig. 12: dynamic power of the register file, of the baseline's",
            "%",
            SCHEMES,
            runs,
            _fig12_row,
            "By the energy table gscalar: arrays that are activated, base arrays, scalar bank, "
            "compressors, decompressors; the baseline's divergent writes activate the arrays of their "
            "lanes only. An array is an eighth of a published bank, and what the paper charges for the "
            f"crossbar and for base-delta-immediate is not printed; {_CONSTANTS}; and {_MIX}.",
        ),
        *counted.GSCALAR,
    ),
)
