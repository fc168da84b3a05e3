"""LTRF: figures about the register file cache with prefetched working sets, on its Maxwell machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Any

from warpbank.arch.config import SmConfig, preset, with_overrides
from warpbank.arch.register_files import REGISTER_FILES
from warpbank.sim.runs import RunSpec, Task
from warpbank.sim.runs.spec import AnalysisSpec
from warpbank.studies.reproduce import counted
from warpbank.studies.reproduce.measures import percent
from warpbank.studies.reproduce.paper import Figure, Paper, Results
from warpbank.synth.energy import energy, table

_PRESET = "maxwell"
_BANKS, _ROWS = preset(_PRESET).sub_core.banks, preset(_PRESET).sub_core.rows
#: The baseline's banks grow by what the cache of the others holds: 16 KB of 256.
_WITH_CACHE = f"sub_core.rows={_ROWS + _ROWS // 16}"
#: Eight times the register file, as slow as the machine's own: "ideal" in Fig. 3 and 9.
_IDEAL = ("rf7", "sub_core.bank_latency=100")
#: As many banks as the slow configurations of Table 2 have. They keep their rows: a warp has its registers in
#: rows of all banks, so with an eighth of the rows a quarter of the warps would fit, whatever they need.
_MANY_BANKS = (f"sub_core.banks={8 * _BANKS}",)
#: Main register files of Fig. 3, 9 and 10, Table 2: configurations 6 and 7.
_CONFIGURATIONS = {"#6": "rf6", "#7": "rf7"}
#: Readings of the table's latencies (`warpbank.arch.register_files`): suffixes of a figure and of its files.
_READINGS = {"": "", "-average": ", latencies read as averages with queueing"}
#: Readings of Fig. 11's "performance loss", of which the paper does not say against what.
_LOSSES = {"": "", "-own": ", against the design itself at 1x"}
_SCHEMES = {
    "BL": "baseline",
    "RFC": "rfc",
    "SHRF": "sw-rfc",
    "LTRF": "ltrf",
    "LTRF+": "ltrf-plus",
    "LTRF (strand)": "ltrf-strand",
}
#: The published machine's way to prefetch: its code has bit-vectors, and no instruction for them (section 5).
_BY_BIT = "sub_core.cache.prefetch=bit"
_LATENCIES = tuple(range(100, 900, 100))
_SIZES = (8, 16, 32)
_ACTIVE = (4, 8, 16)
#: Schemes of Fig. 9, and those of Fig. 10.
_LARGE = ("BL", "RFC", "LTRF", "LTRF+")
_POWERED = ("RFC", "LTRF", "LTRF+")
#: Those of Fig. 14, and its curves.
_SHOWN = (100, 200, 400, 600, 800)
_CURVES = ("BL", "RFC", "SHRF", "LTRF (strand)", "LTRF")
#: Latencies of Fig. 12 and 13.
_SOME = (100, 280, 630)
_MIX = (
    "our kernels, compiled from our own PTX and scheduled by our list scheduler, are another mix than the "
    "paper's benchmarks"
)
_RFC = "RFC and SHRF keep results only, of 8 active warps, and hit as often as Fig. 4 says"
_SHORT = "our kernels are short and few of them are limited by registers"


def _run(scheme: str, kernel: str, size: str, *overrides: str) -> RunSpec:
    published = (_BY_BIT,) if scheme.startswith("LTRF") else ()
    return RunSpec(kernel, size, _SCHEMES[scheme], _PRESET, (*published, *overrides))


def _base(kernel: str, size: str) -> RunSpec:
    """Configuration 1 with the room of the cache added."""
    return _run("BL", kernel, size, _WITH_CACHE)


def _plain(kernel: str, size: str) -> RunSpec:
    """Configuration 1 as it is."""
    return _run("BL", kernel, size)


def _faster(result: Mapping[str, Any], base: Mapping[str, Any]) -> float:
    """Change in speed, in percent. Not of the IPC as counted: PREFETCH instructions, where a machine has
    them, are none of the kernel."""
    return percent(base["cycles"], result["cycles"]) - 100


# --- Table 4 and section 4.3: intervals.


def _intervals(kernel: str, size: str) -> AnalysisSpec:
    arguments = (("limit", preset(_PRESET).sub_core.cache.registers),)
    return AnalysisSpec(kernel, size, "warpbank.studies.reproduce.analyses:intervals", arguments, _PRESET)


def _lengths_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    found = results[_intervals(kernel, size)]
    return tuple(found[kind][name] for kind in ("real", "optimal") for name in ("mean", "least", "most"))


def _averages(rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    """Average, least and greatest of the kernels' average lengths, real and optimal."""
    real, optimal = ([row[place] for row in rows] for place in (0, 3))
    return tuple(made(lengths) for lengths in (real, optimal) for made in (fmean, min, max))


def _share_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    lengths = _lengths_row(kernel, size, results)
    return tuple(percent(real, optimal) for real, optimal in zip(lengths[:3], lengths[3:], strict=True))


def _growth_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    found = results[_intervals(kernel, size)]
    return 100 * found["growth_vectors"], 100 * found["growth_instructions"]


# --- Fig. 3 and 9: eight times the register file.


def _fig3_tasks(reading: str) -> Callable[[str, str], list[Task]]:
    return lambda kernel, size: [
        _run("BL", kernel, size, *_IDEAL),
        _run("BL", kernel, size, _CONFIGURATIONS["#6"] + reading),
    ]


def _fig9_tasks(reading: str) -> Callable[[str, str], list[Task]]:
    def tasks(kernel: str, size: str) -> list[Task]:
        files = [name + reading for name in _CONFIGURATIONS.values()]
        runs = [_run(scheme, kernel, size, file) for file in files for scheme in _LARGE]
        return [*runs, _run("BL", kernel, size, *_IDEAL)]

    return tasks


def _against_base(
    tasks: Callable[[str, str], list[Task]], base: Callable[[str, str], RunSpec] = _base
) -> Callable[[str, str, Results], tuple[float, ...]]:
    """Row: the change in speed of each task."""
    return lambda kernel, size, results: tuple(
        _faster(results[task], results[base(kernel, size)]) for task in tasks(kernel, size)
    )


def _with_base(
    tasks: Callable[[str, str], list[Task]], base: Callable[[str, str], RunSpec] = _base
) -> Callable[[str, str], list[Task]]:
    return lambda kernel, size: [base(kernel, size), *tasks(kernel, size)]


def _ideal_row(reading: str) -> Callable[[str, str, Results], tuple[float, ...]]:
    """Row: Fig. 9, against the large register file without its latency."""

    def row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
        *large, ideal = (results[task] for task in _fig9_tasks(reading)(kernel, size))
        return tuple(_faster(result, ideal) for result in large)

    return row


# --- Fig. 11 to 14: one register file in many banks, ever slower.


def _slow(scheme: str, kernel: str, size: str, latency: int, *overrides: str) -> RunSpec:
    slow = f"sub_core.bank_latency={latency}"
    return _run(scheme, kernel, size, *_MANY_BANKS, slow, *overrides)


def _fast(kernel: str, size: str) -> RunSpec:
    """The baseline with the register file of Fig. 11 to 14, as fast as the machine's own."""
    return _slow("BL", kernel, size, 100)


def _fig11_tasks(kernel: str, size: str) -> list[Task]:
    return [_slow(scheme, kernel, size, latency) for scheme in _SCHEMES for latency in _LATENCIES]


def _fig11_row(loss: int, own: bool) -> Callable[[str, str, Results], tuple[float, ...]]:
    """Row: the largest latency up to which the loss of speed is at most so many percent, 0 if there is none.
    What is lost is lost against the baseline at 1x, or against the design itself there (`own`)."""

    def row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
        found = []
        for scheme in _SCHEMES:
            base = results[_slow(scheme, kernel, size, 100) if own else _fast(kernel, size)]
            kept = 0
            for latency in _LATENCIES:
                if _faster(results[_slow(scheme, kernel, size, latency)], base) < -loss:
                    break
                kept = latency
            found.append(kept / 100)
        return tuple(found)

    return row


def _fig12_tasks(kernel: str, size: str) -> list[Task]:
    return [
        _slow("LTRF", kernel, size, latency, f"sub_core.cache.registers={count}")
        for count in _SIZES
        for latency in _SOME
    ]


def _fig13_tasks(kernel: str, size: str) -> list[Task]:
    return [
        _slow("LTRF", kernel, size, latency, f"sub_core.active_warps={count}")
        for count in _ACTIVE
        for latency in _SOME
    ]


def _fig13_gain_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    few, more = (
        results[_slow("LTRF", kernel, size, _SOME[-1], f"sub_core.active_warps={count}")] for count in (4, 8)
    )
    return (_faster(more, few),)


def _fig14_tasks(kernel: str, size: str) -> list[Task]:
    return [_slow(scheme, kernel, size, latency) for scheme in _CURVES for latency in _SHOWN]


def _accesses_tasks(kernel: str, size: str) -> list[Task]:
    return [_run(scheme, kernel, size) for scheme in ("BL", "LTRF", "LTRF+")]


def _accesses_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    counters = [results[task]["counters"] for task in _accesses_tasks(kernel, size)]
    baseline, *cached = (each["rf.reads"] + each["rf.writes"] for each in counters)
    return tuple(baseline / accesses for accesses in cached)


# --- Fig. 4: hit rates.


def _fig4_tasks(kernel: str, size: str) -> list[Task]:
    return [_run(scheme, kernel, size) for scheme in ("RFC", "SHRF")]


def _fig4_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    row = []
    for task in _fig4_tasks(kernel, size):
        counters = results[task]["counters"]
        row.append(percent(counters["cache.reads"], counters["cache.reads"] + counters["rf.reads"]))
    return tuple(row)


# --- Fig. 10: power.


def _fig10_tasks(reading: str) -> Callable[[str, str], list[Task]]:
    return lambda kernel, size: [
        _run("BL", kernel, size),
        *(_run(scheme, kernel, size, "rf7" + reading) for scheme in _POWERED),
    ]


def _power(result: Mapping[str, Any], main: float) -> float:
    """Energy per cycle; the main register file's power is `main` times that of the machine's own."""
    spent = energy(result, table("common"), preset(_PRESET))
    banks = spent.dynamic["banks"] + spent.leakage["banks"]
    return (spent.dynamic_total + spent.leakage_total + (main - 1) * banks) / result["cycles"]


def _fig10_row(reading: str) -> Callable[[str, str, Results], tuple[float, ...]]:
    """Row: the change in power of each scheme."""

    def row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
        base, *large = (results[task] for task in _fig10_tasks(reading)(kernel, size))
        factor = REGISTER_FILES["rf7"].power
        return tuple(percent(_power(result, factor), _power(base, 1)) - 100 for result in large)

    return row


# --- Section 2.1: warps and registers that a larger register file has room for.


def _occupancy_row(kernel: str, size: str, results: Results) -> tuple[float, ...]:
    small, large = (results[run] for run in _occupancy_tasks(kernel, size))
    before, after = (
        [_resident(launch, machine) for launch in result["launches"]]
        for result, machine in ((small, preset(_PRESET)), (large, with_overrides(preset(_PRESET), _IDEAL)))
    )
    return (
        max(launch["registers"] for launch in small["launches"]),
        max(launch["registers"] for launch in large["launches"]),
        min(before),
        min(after),
        _faster(large, small),
    )


def _occupancy_tasks(kernel: str, size: str) -> list[Task]:
    return [_run("BL", kernel, size), _run("BL", kernel, size, *_IDEAL)]


def _resident(launch: Mapping[str, Any], machine: SmConfig) -> int:
    """Warps of a launch that may run at a time, as far as registers, warp slots and CTA slots go."""
    slots = machine.launch_shape(launch["registers"])[1] * machine.sub_cores
    return int(min(slots // launch["warps_per_cta"], machine.cta.max_ctas) * launch["warps_per_cta"])


def _at(latencies: tuple[int, ...], *names: str) -> tuple[str, ...]:
    return tuple(f"{name}, {latency / 100:g}x" for name in names for latency in latencies)


def _by_reading(
    name: str,
    title: str,
    columns: tuple[str, ...],
    tasks: Callable[[str], Callable[[str, str], list[Task]]],
    row: Callable[[str], Callable[[str, str, Results], tuple[float, ...]]],
    reason: str,
    mean: str = "change",
) -> list[Figure]:
    """A figure of change in percent, with either reading of the latencies of Table 2."""
    return [
        Figure(name + reading, title + words, "%", columns, tasks(reading), row(reading), reason, mean=mean)
        for reading, words in _READINGS.items()
    ]


LTRF = Paper(
    "ltrf",
    "LTRF: Enabling High-Capacity Register Files for GPUs via Hardware/Software Cooperative Register "
    "Prefetching",
    (
        *_by_reading(
            "fig3",
            "Fig. 3: change in speed with eight times the register file, ideal and as slow as configuration "
            "6",
            ("ideal", "real"),
            lambda reading: _with_base(_fig3_tasks(reading), _plain),
            lambda reading: _against_base(_fig3_tasks(reading), _plain),
            f"The paper's mean is of its register-sensitive kernels, the ideal file's; {_SHORT}.",
        ),
        Figure(
            "occupancy",
            "Section 2.1: registers per thread, warps that may run at a time, and the change in speed with "
            "eight times the register file at the same latency",
            "registers, warps, %",
            ("registers, 1x", "registers, 8x", "warps, 1x", "warps, 8x", "speed"),
            _occupancy_tasks,
            _occupancy_row,
            f"The paper's Table 1 compares register files that 35 benchmarks need on two GPUs; {_SHORT}.",
        ),
        Figure(
            "fig4",
            "Fig. 4: operands found in the register file cache",
            "%",
            ("hardware", "software"),
            _fig4_tasks,
            _fig4_row,
            "The paper states 8 to 30 % and no mean. Our two-level scheduler keeps a warp active until it "
            "waits for memory, so that it seldom loses what it has in the cache; the compiler keeps "
            f"values within straight code only. And {_MIX}.",
        ),
        *_by_reading(
            "fig9",
            "Fig. 9: change in speed with eight times the register file, against configuration 1 with 16 KB "
            "more",
            (*(f"{scheme} {name}" for name in _CONFIGURATIONS for scheme in _LARGE), "ideal"),
            lambda reading: _with_base(_fig9_tasks(reading)),
            lambda reading: _against_base(_fig9_tasks(reading)),
            f"For {_SHORT}. {_RFC}.",
        ),
        *_by_reading(
            "fig9-ideal",
            "Fig. 9: change in speed against the ideal file of eight times the size",
            tuple(f"{scheme} {name}" for name in _CONFIGURATIONS for scheme in _LARGE),
            _fig9_tasks,
            _ideal_row,
            f"As for Fig. 9: {_MIX}.",
        ),
        *_by_reading(
            "fig10",
            "Fig. 10: change in power of the register file on configuration 7",
            _POWERED,
            _fig10_tasks,
            _fig10_row,
            "Our energy table with the paper's Table 2: the main register file takes 0.65 of the power, "
            f"for accesses and leakage alike, since the table gives one figure for both. And {_MIX}.",
            mean="arithmetic",
        ),
        *(
            Figure(
                f"fig11{suffix}{reading}",
                f"Fig. 11: latency of the main register file tolerated at a loss of {loss} %{against}",
                "x",
                tuple(_SCHEMES),
                _fig11_tasks,
                _fig11_row(loss, reading != ""),
                f"Latencies from 1x to {_LATENCIES[-1] // 100}x were tried; 0: the loss is larger at 1x "
                f"already, with 8 active warps of 64 and a cache to be filled. And {_MIX}. {_RFC}.",
            )
            for reading, against in _LOSSES.items()
            for suffix, loss in (("-1", 1), ("", 5), ("-10", 10))
        ),
        Figure(
            "fig12",
            "Fig. 12: change in speed of LTRF by registers of an interval",
            "%",
            _at(_SOME, *(f"N = {count}" for count in _SIZES)),
            _with_base(_fig12_tasks, _fast),
            _against_base(_fig12_tasks, _fast),
            f"The paper prints no mean; {_MIX}.",
            mean="change",
            shape="curves",
        ),
        Figure(
            "fig13",
            "Fig. 13: change in speed of LTRF by active warps",
            "%",
            _at(_SOME, *(f"{count} active" for count in _ACTIVE)),
            _with_base(_fig13_tasks, _fast),
            _against_base(_fig13_tasks, _fast),
            f"The paper prints no mean; {_MIX}.",
            mean="change",
            shape="curves",
        ),
        Figure(
            "fig13-gain",
            "Fig. 13: change in speed from 4 to 8 active warps on the slowest register file",
            "%",
            ("LTRF",),
            _fig13_tasks,
            _fig13_gain_row,
            f"At small sizes of our kernels few warps are there to be activated; and {_MIX}.",
            mean="change",
        ),
        Figure(
            "fig14",
            "Fig. 14: change in speed by latency of the main register file",
            "%",
            _at(_SHOWN, *_CURVES),
            _with_base(_fig14_tasks, _fast),
            _against_base(_fig14_tasks, _fast),
            f"The paper prints no mean; {_MIX}. {_RFC}.",
            mean="change",
            digits=0,
            shape="curves",
        ),
        Figure(
            "accesses",
            "Section 4.2: accesses to the main register file, baseline over LTRF",
            "x",
            ("LTRF", "LTRF+"),
            _accesses_tasks,
            _accesses_row,
            "Without dirty bits a wait for global memory writes a warp's whole working set back and "
            f"fetches all of it again; and {_MIX}.",
        ),
        Figure(
            "table4",
            "Table 4: instructions that a warp executes in a register-interval",
            "instructions",
            ("average", "minimum", "maximum", "optimal average", "optimal minimum", "optimal maximum"),
            lambda kernel, size: [_intervals(kernel, size)],
            _lengths_row,
            "Minima and maxima are means over kernels of each kernel's; a loop that fits an interval runs "
            f"to its end in it; and {_MIX}.",
        ),
        Figure(
            "table4-kernels",
            "Beside Table 4: the kernels' average register-intervals, their average, minimum and maximum",
            "instructions",
            ("average", "minimum", "maximum", "optimal average", "optimal minimum", "optimal maximum"),
            lambda kernel, size: [_intervals(kernel, size)],
            _lengths_row,
            "The paper does not say whether its minimum is that of the workloads' averages, or an "
            "average of their minima.",
            together=_averages,
        ),
        Figure(
            "table4-share",
            "Section 6.5: real of optimal lengths of register-intervals",
            "%",
            ("average", "minimum", "maximum"),
            lambda kernel, size: [_intervals(kernel, size)],
            _share_row,
            "Ours is a mean of the kernels' shares, the paper's a share of its means; a loop that fits an "
            f"interval runs to its end in it; and {_MIX}.",
        ),
        Figure(
            "code",
            "Section 4.3: code growth",
            "%",
            ("bit-vectors", "with instructions"),
            lambda kernel, size: [_intervals(kernel, size)],
            _growth_row,
            f"An instruction has 8 bytes and a bit-vector 32; and {_MIX}.",
        ),
        *counted.LTRF,
    ),
)
